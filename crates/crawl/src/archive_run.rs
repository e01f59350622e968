//! A run into an archive: it is begun, crawled and made a version, also when it is stopped.
//!
//! `resume` continues a run; `run_version` makes the version.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use varve_catalog::Frontier;
use varve_core::history::{ListCursor, VersionFilter};
use varve_core::{RunId, VersionId, WorkerId};

use super::archive::ArchiveDestination;
use super::clock::RunClock;
use super::crawl_policy::CrawlPolicy;
use super::dispatcher::RunEnding;
use super::event::{CrawlEvent, RunEnd};
use super::fetchers::CrawlFetchers;
use super::run::{RunInput, run_crawl};
use super::run_coverage::EndedRun;
use super::run_version::{NewRunVersion, RunVersion, existing_version, version_of_run};
use super::saved_run::SavedRun;
use super::settings::CrawlSettings;
use crate::error::CrawlError;
use crate::network_options::SavedNetworkOptions;
use varve_repository::history::{ArchiveHistoryWriter, KeptIntent};

/// The media type of the record of a run and its settings.
const RUN_MEDIA_TYPE: &str = "application/vnd.varve.run+json";

/// The environment of a run in an archive, given by the caller.
pub struct RunEnvironment<'a> {
    /// The archive.
    pub history: &'a ArchiveHistoryWriter,
    /// The number of writers.
    pub threads: usize,
    /// Set by the caller to stop the run.
    pub stop: &'a AtomicBool,
    /// The plan and the expectations in force.
    pub intent: KeptIntent,
}

/// The record of a run and its settings.
#[derive(Serialize)]
struct RunFact<'a> {
    run: String,
    time: varve_core::Moment,
    robots: &'static str,
    settings: &'a CrawlSettings,
    /// The versions that were made when the run was stopped.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stops: &'a [VersionId],
}

/// Begins a run and crawls.
pub fn begin(
    environment: &RunEnvironment<'_>,
    settings: CrawlSettings,
    run: RunId,
    fetchers: CrawlFetchers,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, CrawlError> {
    let history = environment.history;
    let state = SavedRun::new(settings);
    record_run_settings(history, run, &state)?;
    let store = history.frontier_store();
    let frontier = store.begin_run(run, only_worker(run), history.now(), &state.to_json())?;
    report(CrawlEvent::Began { run, resumed: false });
    crawl(environment, frontier, state, fetchers, false, report)
}

/// The worker of a run in one process: the lock of the archive keeps others out.
pub fn only_worker(run: RunId) -> WorkerId {
    WorkerId::new(run.into_inner())
}

/// Records the settings of a run in the silo, for readers of its records.
pub(crate) fn record_run_settings(
    history: &ArchiveHistoryWriter,
    run: RunId,
    state: &SavedRun,
) -> Result<(), CrawlError> {
    let SavedRun { settings, stop_versions: stops } = state;
    let settings = &CrawlSettings { network: SavedNetworkOptions::default(), ..settings.clone() };
    let robots = if settings.politeness.obey_robots { "obey" } else { "ignore" };
    let fact = RunFact { run: run.to_string(), time: history.now(), robots, settings, stops };
    let json = serde_json::to_vec(&fact).expect("a run can be written as JSON");
    history.write_fact(&format!("urn:uuid:{run}"), RUN_MEDIA_TYPE, &json)?;
    Ok(())
}

/// Crawls until the run ends or is stopped, and makes a version.
pub(crate) fn crawl(
    environment: &RunEnvironment<'_>,
    frontier: Box<dyn Frontier>,
    state: SavedRun,
    fetchers: CrawlFetchers,
    resumed: bool,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, CrawlError> {
    let policy = CrawlPolicy::new(state.settings.clone());
    let RunEnvironment { history, threads, stop, .. } = *environment;
    report_clock_behind(history, report)?;
    let stop_versions = state.stop_versions.as_slice();
    let (proxy, wall_time) = (fetchers.proxy.clone(), || history.now());
    let input = RunInput {
        destination: &ArchiveDestination { history, stop_versions, proxy, refetch: state.settings.refetch },
        frontier: &*frontier,
        policy: &policy,
        fetchers,
        is_resumed: resumed,
        threads,
        clock: RunClock::new(&wall_time),
        stop,
    };
    let (ending, tally, gaps) = run_crawl(input, report)?;
    let limited = tally.limit_reached.map(|which| format!(" (limit of {which} reached)")).unwrap_or_default();
    let (run, message) = (frontier.run(), format!("{}{limited}", state.settings.message));
    if ending == RunEnding::Finished {
        // What an earlier process did not see is not known.
        let gaps = (!resumed).then_some(&gaps);
        let ended = EndedRun { policy: &policy, frontier: &*frontier, gaps };
        let made = make_version(environment, &ended, &state, (message, tally.robots))?;
        frontier.finish()?;
        return Ok(made.run_end(run, tally, 0));
    }
    let counts = frontier.counts()?;
    let queued = counts.ready + counts.claimed + counts.waiting;
    let ended = EndedRun { policy: &policy, frontier: &*frontier, gaps: None };
    let message = format!("{message} (stopped while {queued} waited)");
    let made = make_version(environment, &ended, &state, (message, 0))?;
    let left = ending == RunEnding::Left;
    let again = if left { frontier.next_retry_at()? } else { None };
    Ok(RunEnd { stopped: true, hosts_left: left, retry_at: again, ..made.run_end(run, tally, queued) })
}

/// Reports a version that is later than the clock shows.
fn report_clock_behind(
    history: &ArchiveHistoryWriter,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<(), CrawlError> {
    let newest = history.catalog().versions(&VersionFilter::default(), ListCursor::first(1))?;
    let now = history.now();
    for info in newest.iter().filter(|info| info.version.time > now) {
        report(CrawlEvent::ClockBehind { version: info.version.id, time: info.version.time, now });
    }
    Ok(())
}

/// Makes a version of the captures of a run, of which `robots` are `robots.txt` files. If it captured
/// nothing since its last stop, the version of that stop is complete. A run that captured nothing
/// else makes a version only if a page that was there before could not be reached.
pub(crate) fn make_version(
    environment: &RunEnvironment<'_>,
    ended: &EndedRun<'_>,
    state: &SavedRun,
    (message, robots): (String, u64),
) -> Result<RunVersion, CrawlError> {
    let (history, run) = (environment.history, ended.frontier.run());
    let captures = history.catalog().captures_of_run(&run)?;
    if let Some(stop) = state.last_stop_version().filter(|_| captures == 0) {
        return existing_version(history, stop);
    }
    let findings = ended.findings(history.catalog(), history.head()?)?;
    let has_page = captures > robots || !state.stop_versions.is_empty();
    if !has_page && !findings.has_lost_page {
        return Ok(RunVersion::default());
    }
    let new = NewRunVersion {
        run,
        message,
        author: state.settings.author.clone(),
        intent: environment.intent.clone(),
        coverage: Some(findings.coverage),
        changes: findings.changes,
    };
    version_of_run(history, new)
}
