//! A run from beginning to end: it is begun or resumed, crawled, sealed and made a version, also
//! when it is stopped.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use uuid::Uuid;
use varve_catalog::Frontier;
use varve_core::fact::{Manifest, ManifestPage, RunSummary};
use varve_core::{RecordId, RunId, VersionId, WorkerId};

use super::archive::ArchiveDestination;
use super::clock::RunClock;
use super::crawl_policy::CrawlPolicy;
use super::dispatcher::RunEnding;
use super::event::{CrawlEvent, CrawlTally, RunEnd};
use super::fetchers::CrawlFetchers;
use super::resumable_run::ResumableRun;
use super::run::{RunInput, run_crawl};
use super::settings::CrawlSettings;
use varve_repository::RepositoryError;

use crate::error::CrawlError;
use crate::network_options::SavedNetworkOptions;
use varve_repository::history::{ArchiveHistoryWriter, HistoryReader, HistoryWriter};
use varve_repository::history::{KeptIntent, write_version};

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
    let state = ResumableRun::new(settings);
    record_run_settings(history, run, &state)?;
    let frontier =
        history.frontier_store().begin_run(run, only_worker(run), history.now(), &state.to_json())?;
    report(CrawlEvent::Began { run, resumed: false });
    crawl(environment, frontier, state, fetchers, false, report)
}

/// Resumes a run. `change` may change its settings, and returns who sends the requests.
pub fn resume(
    environment: &RunEnvironment<'_>,
    run: RunId,
    change: impl FnOnce(&mut CrawlSettings) -> Result<CrawlFetchers, CrawlError>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, CrawlError> {
    let history = environment.history;
    let (mut frontier, mut state) = open_run(history, run)?;
    let begun = state.settings.clone();
    let fetchers = change(&mut state.settings)?;
    if state.settings.message.trim().is_empty() {
        return Err(RepositoryError::NoMessage.into());
    }
    let version = history.rows().version_of_run(&run)?;
    state.stop_versions.extend(version);
    if version.is_some() || state.settings != begun {
        let next = if version.is_some() { RunId::new(Uuid::now_v7()) } else { run };
        record_run_settings(history, next, &state)?;
        frontier.continue_as(next, &state.to_json())?;
    }
    report(CrawlEvent::Began { run: frontier.run(), resumed: true });
    crawl(environment, frontier, state, fetchers, true, report)
}

/// Makes a version of the captures of a run, without further requests. Returns the version of its
/// last stop if there is one.
pub fn finish(environment: &RunEnvironment<'_>, run: RunId) -> Result<RunEnd, CrawlError> {
    let history = environment.history;
    let (frontier, state) = open_run(history, run)?;
    let made = match history.rows().version_of_run(&run)? {
        Some(version) => existing_version(history, version)?,
        None => make_version(environment, run, &state, state.settings.message.clone())?,
    };
    frontier.finish()?;
    Ok(made.run_end(run, CrawlTally::default(), 0))
}

/// The worker of a run in one process: the lock of the archive keeps others out.
pub fn only_worker(run: RunId) -> WorkerId {
    WorkerId::new(run.into_inner())
}

fn open_run(
    history: &ArchiveHistoryWriter,
    run: RunId,
) -> Result<(Box<dyn Frontier>, ResumableRun), CrawlError> {
    let frontier = history.frontier_store().resume_run(run, only_worker(run))?.ok_or(CrawlError::NoRun)?;
    let state = ResumableRun::parse(&frontier.settings()?)?;
    Ok((frontier, state))
}

/// Records the settings of a run in the silo, for readers of its records.
fn record_run_settings(
    history: &ArchiveHistoryWriter,
    run: RunId,
    state: &ResumableRun,
) -> Result<(), CrawlError> {
    let ResumableRun { settings, stop_versions: stops } = state;
    let settings = &CrawlSettings { network: SavedNetworkOptions::default(), ..settings.clone() };
    let robots = if settings.obey_robots { "obey" } else { "ignore" };
    let fact = RunFact { run: run.to_string(), time: history.now(), robots, settings, stops };
    let json = serde_json::to_vec(&fact).expect("a run can be written as JSON");
    history.write_fact(&format!("urn:uuid:{run}"), RUN_MEDIA_TYPE, &json)?;
    Ok(())
}

fn crawl(
    environment: &RunEnvironment<'_>,
    frontier: Box<dyn Frontier>,
    state: ResumableRun,
    fetchers: CrawlFetchers,
    resumed: bool,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, CrawlError> {
    let policy = CrawlPolicy::new(state.settings.clone());
    let RunEnvironment { history, threads, stop, .. } = *environment;
    let stop_versions = state.stop_versions.as_slice();
    let (proxy, wall_time) = (fetchers.proxy.clone(), || history.now());
    let input = RunInput {
        destination: &ArchiveDestination { history, stop_versions, proxy },
        frontier: &*frontier,
        policy: &policy,
        fetchers,
        is_resumed: resumed,
        threads,
        clock: RunClock::new(&wall_time),
        stop,
    };
    let (ending, tally) = run_crawl(input, report)?;
    let limited = tally.limit_reached.map(|which| format!(" (limit of {which} reached)")).unwrap_or_default();
    let (run, message) = (frontier.run(), format!("{}{limited}", state.settings.message));
    if ending == RunEnding::Finished {
        let captures = history.catalog().captures_of_run(&run)?;
        if state.stop_versions.is_empty() && captures > 0 && captures == tally.robots {
            // Only `robots.txt` files were captured.
            frontier.finish()?;
            return Ok(RunVersion::default().run_end(run, tally, 0));
        }
        let made = make_version(environment, run, &state, message)?;
        frontier.finish()?;
        return Ok(made.run_end(run, tally, 0));
    }
    let counts = frontier.counts()?;
    let queued = counts.ready + counts.claimed + counts.waiting;
    let made = make_version(environment, run, &state, format!("{message} (stopped while {queued} waited)"))?;
    let left = ending == RunEnding::Left;
    let again = if left { frontier.next_retry_at()? } else { None };
    Ok(RunEnd { stopped: true, hosts_left: left, retry_at: again, ..made.run_end(run, tally, queued) })
}

/// Makes a version of the captures of a run, before and after its stops. If it captured nothing,
/// the version of its last stop is complete.
fn make_version(
    environment: &RunEnvironment<'_>,
    run: RunId,
    state: &ResumableRun,
    message: String,
) -> Result<RunVersion, CrawlError> {
    let history = environment.history;
    let captures = history.catalog().captures_of_run(&run)?;
    if let Some(stop) = state.last_stop_version().filter(|_| captures == 0) {
        return existing_version(history, stop);
    }
    let new = NewRunVersion {
        run,
        message,
        author: state.settings.author.clone(),
        intent: environment.intent.clone(),
        verdicts: None,
        pages: state.earlier_pages(history)?,
    };
    version_of_run(history, new)
}

/// A version that exists already.
fn existing_version(history: &ArchiveHistoryWriter, version: VersionId) -> Result<RunVersion, CrawlError> {
    let info = history.catalog().version(&version)?.ok_or(CrawlError::NoRun)?;
    Ok(RunVersion { version: Some(version), parent: info.version.parent, captures: info.captures })
}

/// A version to be made of a run.
pub struct NewRunVersion {
    /// The run.
    pub run: RunId,
    /// The message.
    pub message: String,
    /// The author.
    pub author: Option<String>,
    /// The plan and the expectations in force.
    pub intent: KeptIntent,
    /// The record of the verdicts of a check.
    pub verdicts: Option<RecordId>,
    /// Pages besides those that the run captured.
    pub pages: Vec<ManifestPage>,
}

/// The version that a run became.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunVersion {
    /// The version; `None` if the run captured nothing.
    pub version: Option<VersionId>,
    /// Its parent.
    pub parent: Option<VersionId>,
    /// The number of its captures.
    pub captures: u64,
}

impl RunVersion {
    /// The end of the run that became this version.
    fn run_end(self, run: RunId, tally: CrawlTally, queued: u64) -> RunEnd {
        let Self { version, parent, captures } = self;
        RunEnd {
            run,
            version,
            parent,
            tally,
            captures,
            queued,
            stopped: false,
            hosts_left: false,
            retry_at: None,
        }
    }
}

/// Seals a run, makes it a version and points HEAD to it. A run without captures becomes no
/// version.
pub fn version_of_run(history: &ArchiveHistoryWriter, new: NewRunVersion) -> Result<RunVersion, CrawlError> {
    let summary = seal(history, new.run)?;
    if summary.captures == 0 {
        return Ok(RunVersion::default());
    }
    let captures = summary.captures + new.pages.len() as u64;
    let parent = history.head()?;
    let manifest = Manifest {
        parent,
        message: new.message,
        author: new.author,
        time: history.now(),
        run: Some(summary),
        list: None,
        without: Vec::new(),
        pages: new.pages,
        plan: new.intent.plan,
        expectations: new.intent.expectations,
        verdicts: new.verdicts,
    };
    let version = write_version(history, &manifest)?;
    history.set_head(&version)?;
    Ok(RunVersion { version: Some(version), parent, captures })
}

fn seal(history: &ArchiveHistoryWriter, run: RunId) -> Result<RunSummary, CrawlError> {
    let mut records: Vec<RecordId> = Vec::new();
    history.rows().each_record_of_run(&run, &mut |record| records.push(record))?;
    let captures = records.len() as u64;
    Ok(RunSummary { id: run, captures, seal: RunSummary::seal_of(records) })
}
