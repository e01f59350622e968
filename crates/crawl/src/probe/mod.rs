//! Requests the URLs of a check from the live web.
//!
//! [`WebProber`] is the [`Prober`] over real sockets. It uses the request loop and the host table
//! of the crawl, so that a check is as polite as a crawl. Redirects are followed here, each as a
//! request that waits for its own host. Nothing is stored and nothing is judged here.

mod observe;
mod options;
mod probe_round;
mod prober;
mod redirect_chain;

pub use options::ProbeOptions;
pub use prober::{OnAnswer, ProbeFailure, ProbeRequest, ProbeResponse, Prober};

use std::sync::{Arc, Mutex, PoisonError};

use varve_fetch::Fetcher;

use crate::clock::RunClock;
use crate::error::CrawlError;
use crate::network_options::ClientOptions;
use crate::request_loop::RequestLoop;
use crate::run_description::RunDescription;
use probe_round::{FinishedProbe, ProbeRound, RoundContext};

/// Requests URLs from the live web.
pub struct WebProber {
    fetcher: Arc<dyn Fetcher>,
    requests: Mutex<RequestLoop<FinishedProbe>>,
    options: ProbeOptions,
    clock: RunClock<'static>,
}

impl WebProber {
    /// A prober with these options and this clock.
    pub fn new(options: ProbeOptions, clock: RunClock<'static>) -> Result<Self, CrawlError> {
        let client = options.network.client(&ClientOptions {
            temporary: &options.temporary,
            user_agent: &options.user_agent,
            limits: options.limits(),
            budget: None,
            per_host: options.per_host(),
            seeds: &[],
        })?;
        let requests = RequestLoop::new(options.threads, options.concurrency).map_err(CrawlError::Threads)?;
        Ok(Self { fetcher: Arc::new(client), requests: Mutex::new(requests), options, clock })
    }
}

impl Prober for WebProber {
    fn probe(&self, questions: &[ProbeRequest], answer: OnAnswer<'_>) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let context = RoundContext { options: &self.options, fetcher: &self.fetcher, clock: self.clock };
        ProbeRound::new(context, &mut requests, questions).run(answer);
        requests.reset();
    }

    fn run_description(&self) -> Option<RunDescription> {
        Some(self.options.run_description())
    }
}
