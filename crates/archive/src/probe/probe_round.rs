//! One round of questions: who is asked when, and what comes back.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use varve_fetch::politeness::{HostTable, NextRequest, RequestOutcome, RequestVerdict};
use varve_fetch::{FetchError, FetchRequest, Fetcher};

use super::WebProber;
use super::observe::{ObservedResponse, observe_response};
use super::redirect_chain::{ChainStep, RedirectChain};
use crate::crawl::{error_chain, host_of, request_outcome};
use crate::expectations::{Observed, OnAnswer, ProbeRequest, ProbeResponse};

/// Pauses need not be unforeseeable.
const JITTER_SEED: u64 = 1;
/// Bodies up to this size are looked at where they arrive; longer ones would keep others waiting.
const MAX_INLINE_BYTES: u64 = 1 << 20;

/// Whether anybody wants more is asked so often.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A request that ended.
struct FinishedProbe {
    host: Box<str>,
    journey: RedirectChain,
    tries: u32,
    outcome: RequestOutcome,
    result: Result<ObservedResponse, FetchError>,
}

/// Questions, some of them under way.
pub(super) struct ProbeRound<'a> {
    prober: &'a WebProber,
    agenda: HostTable<RedirectChain>,
    sender: Sender<FinishedProbe>,
    ended: Receiver<FinishedProbe>,
}

impl<'a> ProbeRound<'a> {
    pub(super) fn new(prober: &'a WebProber, questions: &[ProbeRequest]) -> Self {
        let mut agenda = HostTable::new(prober.asking.policy(), JITTER_SEED);
        let now = Instant::now();
        for (number, question) in questions.iter().enumerate() {
            agenda.push(host_of(&question.url), RedirectChain::new(number, question), now);
        }
        let (sender, ended) = channel();
        Self { prober, agenda, sender, ended }
    }

    /// Asks all; ends early when nobody wants more answers.
    pub(super) fn run(mut self, answer: OnAnswer<'_>) {
        loop {
            let until = match self.start_what_may_start() {
                ControlFlow::Break(()) => return,
                ControlFlow::Continue(until) => until,
            };
            if self.prober.asking.is_over() {
                return;
            }
            let Some(ended) = self.wait(until) else { continue };
            for (number, found) in self.settle(ended) {
                if answer(number, found).is_break() {
                    return;
                }
            }
        }
    }

    /// Begins as many requests as there may be. Breaks when nothing is left; else says until when there is nothing to do
    /// but wait.
    fn start_what_may_start(&mut self) -> ControlFlow<(), Option<Instant>> {
        while self.agenda.under_way() < self.prober.asking.concurrency.max(1) {
            match self.agenda.next(Instant::now()) {
                NextRequest::Ask { host, item, tries } => self.ask(host, item, tries),
                NextRequest::Wait(until) => return ControlFlow::Continue(Some(until)),
                NextRequest::UnderWay => return ControlFlow::Continue(None),
                NextRequest::Empty => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(None)
    }

    fn wait(&self, until: Option<Instant>) -> Option<FinishedProbe> {
        let longest = until.map_or(STOP_POLL_INTERVAL, |until| {
            until.saturating_duration_since(Instant::now()).min(STOP_POLL_INTERVAL)
        });
        self.ended.recv_timeout(longest).ok()
    }

    fn ask(&self, host: Box<str>, mut journey: RedirectChain, tries: u32) {
        let (fetcher, sender) = (Arc::clone(&self.prober.fetcher), self.sender.clone());
        let asking = &self.prober.asking;
        let mut request = FetchRequest::get(journey.url.clone());
        if !journey.content && !asking.whole {
            request = request.limits(asking.brief_limits());
        } else if let Some(limits) = asking.limits_for(journey.length) {
            request = request.limits(limits);
        }
        let whole = asking.whole;
        self.prober.runtime().spawn(async move {
            let begun = Instant::now();
            let (outcome, result) = fetch(&*fetcher, request, journey.content, whole).await;
            journey.spend(begun.elapsed());
            // Nobody listens any more once the round is over.
            let _ = sender.send(FinishedProbe { host, journey, tries, outcome, result });
        });
    }

    /// What follows from a request that ended: answers, and perhaps another request.
    fn settle(&mut self, ended: FinishedProbe) -> Vec<(usize, ProbeResponse)> {
        let FinishedProbe { host, journey, tries, outcome, result } = ended;
        let (first, others) = match self.agenda.done(&host, journey, tries, outcome, Instant::now()) {
            // Nothing is tried again here; it would come up by itself.
            RequestVerdict::Again => return Vec::new(),
            RequestVerdict::Done(journey) | RequestVerdict::GivenUp(journey) => (Some(journey), Vec::new()),
            RequestVerdict::HostGivenUp(journeys) => {
                let mut journeys = journeys.into_iter();
                (journeys.next(), journeys.collect())
            }
        };
        let why = format!("not asked, because `{host}` was given up: {}", cause(&result));
        let mut answers: Vec<_> =
            others.into_iter().map(|journey: RedirectChain| journey.leave(&why)).collect();
        if let Some(journey) = first {
            answers.extend(self.conclude(journey, result));
        }
        answers
    }

    fn conclude(
        &mut self,
        journey: RedirectChain,
        result: Result<ObservedResponse, FetchError>,
    ) -> Option<(usize, ProbeResponse)> {
        match result {
            Err(error) => Some(journey.fail_by(&error)),
            Ok(glance) => match journey.see(glance) {
                ChainStep::Arrived(number, answer) => Some((number, answer)),
                ChainStep::Onward(journey) => {
                    let host = host_of(&journey.url).to_owned();
                    self.agenda.push(&host, journey, Instant::now());
                    None
                }
            },
        }
    }
}

/// How the last request to a host ended that was then given up.
fn cause(result: &Result<ObservedResponse, FetchError>) -> String {
    match result {
        Err(error) => error_chain(error),
        Ok(ObservedResponse { observed: Observed { error: Some(error), .. }, .. }) => error.clone(),
        Ok(ObservedResponse { observed: Observed { status, .. }, .. }) => {
            format!("it answers {} again and again", status.unwrap_or_default())
        }
    }
}

async fn fetch(
    fetcher: &dyn Fetcher,
    request: FetchRequest,
    content: bool,
    whole: bool,
) -> (RequestOutcome, Result<ObservedResponse, FetchError>) {
    let url = request.url.clone();
    let fetched = fetcher.fetch(request).await;
    let result = fetched.and_then(|fetched| {
        fetched.exchanges.into_iter().next().map(Box::new).ok_or_else(|| FetchError::nothing(&url))
    });
    let outcome = request_outcome(&result);
    let result = match result {
        Err(error) => Err(error),
        Ok(exchange) if exchange.response.len() <= MAX_INLINE_BYTES => {
            Ok(observe_response(exchange, content, whole))
        }
        Ok(exchange) => tokio::task::spawn_blocking(move || observe_response(exchange, content, whole))
            .await
            .map_err(|_| FetchError::nothing(&url)),
    };
    (outcome, result)
}
