//! One process's part of a run: starts its threads and dispatches until it ends.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, mpsc};
use std::thread;

use varve_catalog::Frontier;

use super::checkpoint::{Checkpoints, run_checkpoints};
use super::clock::RunClock;
use super::crawl_policy::CrawlPolicy;
use super::destination::Destination;
use super::dispatcher::{CrawlContext, CrawlDispatcher, CrawlThreads, RunEnding};
use super::event::{CrawlEvent, CrawlTally};
use super::fetchers::CrawlFetchers;
use super::link_backlog::{BacklogGuard, LinkBacklog};
use super::request_loop::RequestLoop;
use super::run_coverage::RunGaps;
use super::writer_pool::{WriterQueue, run_writer};
use crate::error::CrawlError;

/// The input of a run.
pub(crate) struct RunInput<'a> {
    /// Where responses are stored.
    pub(crate) destination: &'a dyn Destination,
    /// The URLs that are still to be requested.
    pub(crate) frontier: &'a dyn Frontier,
    /// The rules.
    pub(crate) policy: &'a CrawlPolicy,
    /// Who sends the requests.
    pub(crate) fetchers: CrawlFetchers,
    /// Whether the run was begun by an earlier process.
    pub(crate) is_resumed: bool,
    /// The number of writers.
    pub(crate) threads: usize,
    /// The clock.
    pub(crate) clock: RunClock<'a>,
    /// Set by the caller to stop the run.
    pub(crate) stop: &'a AtomicBool,
}

/// Starts all threads of a run, and runs it.
pub(crate) fn run_crawl(
    input: RunInput<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<(RunEnding, CrawlTally, RunGaps), CrawlError> {
    let RunInput { destination, frontier, policy, fetchers, is_resumed, threads, clock, stop } = input;
    let (job_sender, jobs) = mpsc::channel();
    let (batch_sender, batches) = mpsc::channel();
    let requests =
        RequestLoop::new(threads / 2, policy.settings.politeness.concurrency).map_err(CrawlError::Threads)?;
    let run = frontier.run();
    let writers = destination.writers(run, policy)?;
    let (backlog, jobs) = (LinkBacklog::default(), Mutex::new(jobs));
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (writers, jobs, done, backlog) = (&*writers, &jobs, requests.sender(), &backlog);
            scope.spawn(move || run_writer(writers, jobs, backlog, &done));
        }
        let done = requests.sender();
        scope.spawn(move || run_checkpoints(&batches, destination, frontier, &done));
        if let Some(gate) = &fetchers.gate {
            gate.open(requests.sender());
        }
        let _guard = BacklogGuard(&backlog);
        let context = CrawlContext { destination, frontier, policy, run, clock, stop };
        let threads = CrawlThreads {
            requests,
            fetchers,
            writers: WriterQueue::new(job_sender),
            backlog: &backlog,
            checkpoints: Checkpoints::new(batch_sender, clock.instant()),
        };
        let mut dispatcher = CrawlDispatcher::new(context, threads, report);
        if is_resumed {
            dispatcher.restore()?;
        }
        dispatcher.push_seeds()?;
        dispatcher.push_members()?;
        let ending = dispatcher.run()?;
        Ok((ending, dispatcher.tally(), dispatcher.take_gaps()))
    })
}
