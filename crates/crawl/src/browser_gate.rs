//! The gate in front of a browser: every request of a page obeys the rules of the run, and a
//! response that the run has is not requested again.
//!
//! The dispatcher decides, because it knows `robots.txt`, the exclude patterns and when a host may
//! be requested. The gate asks it for a verdict and then for a turn at the host. The scope does not
//! apply: a page may embed any URL.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_core::url::RequestUrl;
use varve_fetch::{GateDecision, PageRequest, Pending, RequestGate};

use super::message::CrawlMessage;
use super::response_cache::{CacheReservation, CacheSlot, ResponseCache};
use super::task::{AdmissionReply, HostTurn};

/// How long a page waits for a verdict: the `robots.txt` of a host may have to be fetched first.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(20);
/// The error of a request after the run has ended.
const RUN_ENDED: &str = "the run has ended";

/// The gate.
#[derive(Default)]
pub struct BrowserGate {
    /// Responses that pages got.
    cache: Arc<ResponseCache>,
    /// The dispatcher, while a run is in progress.
    dispatcher: Mutex<Option<Sender<CrawlMessage>>>,
}

impl BrowserGate {
    /// Sends questions to this dispatcher from now on.
    pub(crate) fn open(&self, dispatcher: Sender<CrawlMessage>) {
        *self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(dispatcher);
    }

    /// The run has ended.
    pub(crate) fn close(&self) {
        *self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Responses that pages got.
    pub(crate) fn cache(&self) -> &ResponseCache {
        &self.cache
    }

    /// Sends a question to the dispatcher; whether there is one.
    fn send(&self, question: CrawlMessage) -> bool {
        let dispatcher = self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner);
        dispatcher.as_ref().is_some_and(|dispatcher| dispatcher.send(question).is_ok())
    }

    /// A response that the run has, from the cache or from the archive.
    async fn look_up(&self, url: &RequestUrl) -> Option<Exchange> {
        match self.cache.look_when_quiet(url.as_str()).await {
            Some(CacheSlot::Held(exchange)) => return Some(*exchange),
            Some(CacheSlot::Outdated) => return None,
            Some(CacheSlot::Asking) | None => {}
        }
        let (reply, response) = oneshot::channel();
        if !self.send(CrawlMessage::Lookup(url.clone(), reply)) {
            return None;
        }
        tokio::time::timeout(ADMISSION_TIMEOUT, response).await.ok()?.ok()?
    }

    /// Waits for the verdict, and then for a turn at the host.
    async fn wait_for_turn(&self, url: RequestUrl) -> Result<HostTurn, String> {
        let (verdict_sender, verdict) = oneshot::channel();
        let (turn_sender, turn) = oneshot::channel();
        let reply = AdmissionReply { verdict: Some(verdict_sender), turn: turn_sender };
        if !self.send(CrawlMessage::Admission(url, reply)) {
            return Err(RUN_ENDED.to_owned());
        }
        match tokio::time::timeout(ADMISSION_TIMEOUT, verdict).await {
            Ok(Ok(None)) => turn.await.map_err(|_| RUN_ENDED.to_owned()),
            Ok(Ok(Some(rule))) => Err(rule.to_string()),
            Ok(Err(_)) => Err(RUN_ENDED.to_owned()),
            Err(_) => Err("robots:unknown".to_owned()),
        }
    }
}

impl RequestGate for BrowserGate {
    fn admit(&self, request: PageRequest) -> Pending<'_, Result<GateDecision, String>> {
        Box::pin(async move {
            let PageRequest { url, method, is_page, is_plain } = request;
            let url = RequestUrl::parse(&url).ok_or("url")?;
            let cached = url.as_str();
            let mut reservation = if is_plain && is_page { self.cache.ask(cached) } else { None };
            while is_plain && !is_page && reservation.is_none() {
                if let Some(exchange) = self.look_up(&url).await {
                    return Ok(GateDecision::Reuse(Box::new(exchange)));
                }
                // Another page may have been faster.
                reservation = self.cache.ask(cached);
            }
            if !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS") {
                self.cache.outdate(cached);
            }
            let turn = self.wait_for_turn(url).await?;
            Ok(GateDecision::Send(Box::new(AdmittedRequest { reservation, _turn: turn })))
        })
    }
}

/// A request of a page in flight.
struct AdmittedRequest {
    reservation: Option<CacheReservation>,
    _turn: HostTurn,
}

impl varve_fetch::RequestPermit for AdmittedRequest {
    fn answered(self: Box<Self>, exchange: &Exchange) {
        if let Some(reservation) = self.reservation {
            reservation.answered(exchange);
        }
    }
}
