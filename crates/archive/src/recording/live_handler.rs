//! Answers the requests of clients from the live web, and gives every exchange to the recorder.
//!
//! An exchange goes on when its client goes away, and the received bytes are recorded.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use varve_fetch::{Client, FetchError, FetchRequest, ResponseTap};
use varve_proxy::{ProxyAnswer, ProxyHandler, ProxyRequest, ProxyResponse, plain_response};

use super::client_response::{client_response, complete_length, complete_response, end_to_end, failure};
use super::forwarded_request::{ClientRequest, forwarded_request};
use super::recorded_urls::RecordedUrls;
use super::recorder::RecordJob;
use super::web_socket;

/// Maximum length of the body of a request, which is held in memory.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// Maximum length of all bodies of requests together.
const MAX_ALL_REQUEST_BYTES: usize = 128 << 20;

/// Unit in which these bytes are counted.
const REQUEST_BYTES_UNIT: usize = 64 << 10;

/// How long a client may take to send the body of a request.
const REQUEST_BODY_TIMEOUT: Duration = Duration::from_secs(300);

/// Exchanges in flight; further requests wait.
const MAX_EXCHANGES: usize = 1000;

/// Whether clients are active.
pub(crate) struct RecordingActivity {
    in_flight: AtomicUsize,
    /// Set when the recording ends: responses in flight are recorded as far as they are.
    is_ending: Arc<AtomicBool>,
    last: Mutex<Instant>,
}

impl RecordingActivity {
    pub(crate) fn new() -> Self {
        let (in_flight, is_ending) = (AtomicUsize::new(0), Arc::default());
        Self { in_flight, is_ending, last: Mutex::new(Instant::now()) }
    }

    /// Ends the exchanges in flight with their next bytes.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }

    /// The number of exchanges in flight, web sockets included.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// How long there has been no exchange.
    pub(crate) fn idle_time(&self) -> Duration {
        match self.in_flight() {
            0 => self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed(),
            _ => Duration::ZERO,
        }
    }
}

/// An exchange in flight.
struct InFlight(Arc<RecordingActivity>);

impl InFlight {
    fn new(activity: &Arc<RecordingActivity>) -> Self {
        activity.in_flight.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(activity))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Makes the requests of clients, and records them.
pub(crate) struct LiveHandler {
    client: Client,
    urls: Arc<RecordedUrls>,
    jobs: mpsc::Sender<RecordJob>,
    activity: Arc<RecordingActivity>,
    request_bytes: Arc<Semaphore>,
    exchanges: Arc<Semaphore>,
    is_ending: Arc<AtomicBool>,
}

impl LiveHandler {
    pub(crate) fn new(
        client: Client,
        urls: Arc<RecordedUrls>,
        jobs: mpsc::Sender<RecordJob>,
        activity: Arc<RecordingActivity>,
    ) -> Self {
        let request_bytes = Arc::new(Semaphore::new(MAX_ALL_REQUEST_BYTES / REQUEST_BYTES_UNIT));
        let exchanges = Arc::new(Semaphore::new(MAX_EXCHANGES));
        let is_ending = Arc::clone(&activity.is_ending);
        Self { client, urls, jobs, activity, request_bytes, exchanges, is_ending }
    }

    async fn forward(&self, request: ProxyRequest) -> ProxyResponse {
        let in_flight = InFlight::new(&self.activity);
        if request.method == Method::TRACE {
            return plain_response(StatusCode::METHOD_NOT_ALLOWED, "TRACE would show credentials");
        }
        if request.upgrade.as_ref().is_some_and(|upgrade| upgrade.protocol.eq_ignore_ascii_case("websocket"))
        {
            return self.open_web_socket(request, in_flight).await;
        }
        let ProxyRequest { url, method, headers, body, is_http2, .. } = request;
        let (body, body_permit) = match self.read_body(body).await {
            Ok(read) => read,
            Err((status, why)) => return plain_response(status, why),
        };
        let client = ClientRequest { url: &url, method: &method, headers: &headers, is_http2 };
        let mut fetch = forwarded_request(&client, body, self.urls.is_complete(&url));
        let (tap, tapped) = ResponseTap::new(Arc::clone(&self.is_ending));
        fetch.tap = Some(tap);
        let (done, result) = oneshot::channel();
        let (client, jobs) = (self.client.clone(), self.jobs.clone());
        let exchanges = Arc::clone(&self.exchanges);
        // A task of its own, so that it ends when the exchange does and not when the client leaves.
        tokio::spawn(async move {
            let _permit = exchanges.acquire_owned().await;
            let outcome = exchange(&client, fetch, &jobs).await;
            drop((in_flight, body_permit));
            // The client may be gone.
            let _ = done.send(outcome);
        });
        let mut response = client_response(tapped, result).await;
        if method == Method::HEAD {
            *response.body_mut() = empty_body();
        }
        response
    }

    /// Reads the body of a request, with a permit for its bytes.
    async fn read_body(
        &self,
        body: hyper::body::Incoming,
    ) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), (StatusCode, &'static str)> {
        use hyper::body::Body;
        let hint = body.size_hint();
        if hint.exact() == Some(0) {
            return Ok((Vec::new(), None));
        }
        let too_large = (
            StatusCode::PAYLOAD_TOO_LARGE,
            "varve: the proxy passes on requests of up to 16 MiB; send this one without the proxy",
        );
        let most = hint.upper().and_then(|upper| usize::try_from(upper).ok()).unwrap_or(MAX_REQUEST_BYTES);
        if most > MAX_REQUEST_BYTES && hint.lower() > MAX_REQUEST_BYTES as u64 {
            return Err(too_large);
        }
        let units = most.min(MAX_REQUEST_BYTES).div_ceil(REQUEST_BYTES_UNIT);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.request_bytes).acquire_many_owned(units).await.ok();
        let reading = Limited::new(body, MAX_REQUEST_BYTES).collect();
        match tokio::time::timeout(REQUEST_BODY_TIMEOUT, reading).await {
            Ok(Ok(collected)) => Ok((collected.to_bytes().to_vec(), permit)),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large),
            Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body of the request is not complete")),
            Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body of the request took too long")),
        }
    }

    /// Opens a web socket to the server, and joins it with that of the client.
    async fn open_web_socket(&self, request: ProxyRequest, in_flight: InFlight) -> ProxyResponse {
        let ProxyRequest { url, method, mut headers, is_http2, upgrade, .. } = request;
        // Without extensions the frames can be read by everyone who reads the record.
        headers.remove("sec-websocket-extensions");
        let client = ClientRequest { url: &url, method: &method, headers: &headers, is_http2 };
        let mut fetch = forwarded_request(&client, Vec::new(), true);
        fetch.upgrade = Some("websocket".to_owned());
        let outcome = match self.client.upgrade(fetch).await {
            Ok(outcome) => outcome,
            Err(error) => {
                report_failure(&self.jobs, url, &error).await;
                return failure(&error);
            }
        };
        let handshake = outcome.exchange;
        // The recorder ends only with the whole recording.
        let _ = self.jobs.send(RecordJob::Exchange(Box::new(handshake.clone()))).await;
        let (Some(server), Some(upgrade)) = (outcome.connection, upgrade) else {
            return complete_response(handshake).await;
        };
        let mut response = ProxyResponse::new(empty_body());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        if let Ok(Some(head)) = handshake.response.head() {
            *response.headers_mut() = end_to_end(head);
        }
        let fixed = |value| http::HeaderValue::from_static(value);
        response.headers_mut().insert(http::header::CONNECTION, fixed("Upgrade"));
        response.headers_mut().insert(http::header::UPGRADE, fixed("websocket"));
        let jobs = self.jobs.clone();
        tokio::spawn(async move {
            let _in_flight = in_flight;
            web_socket::pass_on(upgrade, server, &handshake, jobs).await;
        });
        response
    }
}

impl ProxyHandler for LiveHandler {
    fn answer(&self, request: ProxyRequest) -> ProxyAnswer<'_> {
        Box::pin(self.forward(request))
    }
}

fn empty_body() -> varve_proxy::ProxyBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Makes an exchange and gives it to the recorder. Returns the length of a complete response.
async fn exchange(
    client: &Client,
    request: FetchRequest,
    jobs: &mpsc::Sender<RecordJob>,
) -> Result<Option<u64>, FetchError> {
    let url = request.url.clone();
    match client.exchange(request).await {
        Ok(exchange) => {
            let length = complete_length(&exchange);
            // The recorder ends only with the whole recording.
            let _ = jobs.send(RecordJob::Exchange(Box::new(exchange))).await;
            Ok(length)
        }
        Err(error) => {
            report_failure(jobs, url, &error).await;
            Err(error)
        }
    }
}

async fn report_failure(jobs: &mpsc::Sender<RecordJob>, url: String, error: &FetchError) {
    let job = RecordJob::Failure { url, kind: error.kind.word(), message: error.to_string() };
    // The recorder ends only with the whole recording.
    let _ = jobs.send(job).await;
}
