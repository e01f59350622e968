//! Asking the live web whether promises are kept.
//!
//! [`WebProber`] is the [`Prober`] over real sockets. One thread decides who is asked when, by the agenda of all
//! fetching, so that hosts are treated as politely as by a crawl; requests run on a small runtime. Redirects are followed
//! here, each a request of its own that waits its turn at its own host. Nothing is kept and nothing is judged here.

mod observe;
mod options;
mod probe_round;
mod redirect_chain;

pub use options::ProbeOptions;

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use varve_fetch::Fetcher;

use crate::crawl::error::CrawlError;
use crate::expectations::{OnAnswer, ProbeRequest, Prober};
use crate::network_options::ClientOptions;
use crate::run_description::RunDescription;
use probe_round::ProbeRound;

/// Threads for sockets and digests, as many as there are processors: the one that decides has little to do. More would
/// only wait for it.
const MOST_THREADS: usize = 4;

/// Asks the live web.
pub struct WebProber {
    fetcher: Arc<dyn Fetcher>,
    runtime: Option<Runtime>,
    asking: ProbeOptions,
}

impl WebProber {
    /// One that asks in that manner.
    pub fn new(asking: ProbeOptions) -> Result<Self, CrawlError> {
        let client = asking.network.client(&ClientOptions {
            temporary: &asking.temporary,
            user_agent: &asking.user_agent,
            limits: asking.limits(),
            budget: None,
            per_host: asking.per_host(),
            seeds: &[],
        })?;
        let threads = asking.threads.clamp(1, MOST_THREADS);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("probe")
            .enable_all()
            .build()
            .map_err(CrawlError::Threads)?;
        Ok(Self { fetcher: Arc::new(client), runtime: Some(runtime), asking })
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime is there until this is dropped")
    }
}

impl Prober for WebProber {
    fn probe(&self, questions: &[ProbeRequest], answer: OnAnswer<'_>) {
        ProbeRound::new(self, questions).run(answer);
    }

    fn run_description(&self) -> Option<RunDescription> {
        Some(self.asking.etiquette())
    }
}

impl Drop for WebProber {
    /// Gives up what is under way, without waiting for it.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
