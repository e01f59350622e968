//! One round of requests: all URLs of a pass, each until it has its last response.

use std::sync::Arc;
use std::time::Instant;

use varve_fetch::politeness::{HostTable, RequestOutcome, RequestVerdict};
use varve_fetch::{FetchError, FetchRequest, Fetcher};

use super::ProbeOptions;
use super::observe::{ObservedResponse, observe_response};
use super::redirect_chain::{ChainStep, RedirectChain};
use crate::clock::RunClock;
use crate::error_chain::error_chain;
use crate::probe::prober::{OnAnswer, ProbeRequest, ProbeResponse};
use crate::request_loop::{LoopState, RequestLoop, request_outcome};
use varve_expect::Observed;

/// The seed of the pauses, which need not be unpredictable.
const JITTER_SEED: u64 = 1;
/// Longer bodies are read on a thread for blocking work, so that other requests do not wait.
const MAX_INLINE_BYTES: u64 = 1 << 20;

/// A request that ended.
pub(super) struct FinishedProbe {
    host: Box<str>,
    chain: RedirectChain,
    tries: u32,
    begun: Instant,
    outcome: RequestOutcome,
    result: Result<ObservedResponse, FetchError>,
}

/// How a round sends requests.
#[derive(Clone, Copy)]
pub(super) struct RoundContext<'a> {
    pub(super) options: &'a ProbeOptions,
    pub(super) fetcher: &'a Arc<dyn Fetcher>,
    pub(super) clock: RunClock<'a>,
}

/// The requests of a round, some of them in flight.
pub(super) struct ProbeRound<'a> {
    context: RoundContext<'a>,
    requests: &'a mut RequestLoop<FinishedProbe>,
    hosts: HostTable<RedirectChain>,
}

impl<'a> ProbeRound<'a> {
    pub(super) fn new(
        context: RoundContext<'a>,
        requests: &'a mut RequestLoop<FinishedProbe>,
        questions: &[ProbeRequest],
    ) -> Self {
        let mut hosts = HostTable::new(context.options.policy(), JITTER_SEED);
        let now = context.clock.instant();
        for (number, question) in questions.iter().enumerate() {
            let chain = RedirectChain::new(number, question);
            hosts.push(&chain.host(), chain, now);
        }
        Self { context, requests, hosts }
    }

    /// Requests all; ends early when the caller wants no more responses.
    pub(super) fn run(mut self, answer: OnAnswer<'_>) {
        loop {
            let state = self.start_ready();
            if state == LoopState::Empty || self.context.options.is_over() {
                return;
            }
            let now = self.now();
            let Some(finished) = self.requests.receive(state.wait_until(), now) else { continue };
            self.requests.ended();
            for (number, found) in self.take(finished) {
                if answer(number, found).is_break() {
                    return;
                }
            }
        }
    }

    fn now(&self) -> Instant {
        self.context.clock.instant()
    }

    /// Starts the requests that may start now.
    fn start_ready(&mut self) -> LoopState {
        loop {
            let now = self.now();
            match self.requests.next_ready(&mut self.hosts, now) {
                Ok(ready) => self.send(ready.host, ready.item, ready.tries),
                Err(state) => return state,
            }
        }
    }

    fn send(&mut self, host: Box<str>, chain: RedirectChain, tries: u32) {
        let options = self.context.options;
        let request = FetchRequest::get(chain.url.clone()).limits(options.limits_of(&chain));
        let begun = self.now();
        let (fetcher, whole) = (Arc::clone(self.context.fetcher), self.context.options.whole);
        self.requests.start(async move {
            let (outcome, result) = fetch(&*fetcher, request, chain.content, whole).await;
            FinishedProbe { host, chain, tries, begun, outcome, result }
        });
    }

    /// What follows from a request that ended: responses, and perhaps another request.
    fn take(&mut self, finished: FinishedProbe) -> Vec<(usize, ProbeResponse)> {
        let FinishedProbe { host, mut chain, tries, begun, outcome, result } = finished;
        chain.spend(self.context.clock.elapsed(begun));
        let now = self.now();
        let (first, others) = match self.hosts.done(&host, chain, tries, outcome, now) {
            // The policy has no retries; a retry would start by itself.
            RequestVerdict::Again => return Vec::new(),
            RequestVerdict::Done(chain) | RequestVerdict::GivenUp(chain) => (Some(chain), Vec::new()),
            RequestVerdict::HostGivenUp(chains) => {
                let mut chains = chains.into_iter();
                (chains.next(), chains.collect())
            }
        };
        let why = format!("not asked, because `{host}` was given up: {}", cause(&result));
        let mut answers: Vec<_> = others.into_iter().map(|chain: RedirectChain| chain.leave(&why)).collect();
        if let Some(chain) = first {
            answers.extend(self.conclude(chain, result));
        }
        answers
    }

    fn conclude(
        &mut self,
        chain: RedirectChain,
        result: Result<ObservedResponse, FetchError>,
    ) -> Option<(usize, ProbeResponse)> {
        match result {
            Err(error) => Some(chain.fail_by(&error)),
            Ok(response) => match chain.see(response) {
                ChainStep::Arrived(number, answer) => Some((number, answer)),
                ChainStep::Onward(chain) => {
                    let now = self.now();
                    self.hosts.push(&chain.host(), chain, now);
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
