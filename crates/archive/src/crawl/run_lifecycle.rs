//! A run from its beginning to its end: it is begun or resumed, crawled, sealed and made a version, also when it is stopped.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use varve_repository::RepositoryError;

use serde::Serialize;
use uuid::Uuid;
use varve_catalog::{Frontier, FrontierStore as _, SqliteFrontierStore};
use varve_core::fact::{Manifest, Page, RunSummary};
use varve_core::{RecordId, RunId, VersionId, WorkerId};

use super::crawl_policy::CrawlPolicy;
use super::destination::{ArchiveDestination, Destination};
use super::dispatcher::{Crawl, CrawlContext, RunEnding};
use super::event::{CrawlEvent, CrawlTally, RunEnd};
use super::link_backlog::{self, LinkBacklog};
use super::request_pool::{CrawlFetchers, RequestPool};
use super::resumable_run::ResumableRun;
use super::settings::CrawlSettings;
use super::writer_pool;
use crate::crawl::error::CrawlError;
use crate::network_options::SavedNetworkOptions;
use varve_repository::history::{ArchiveHistory, HistoryWriter, Holdings};
use varve_repository::history::{Intent, write_version};

/// The media type of what is written down about a run when it begins.
const RUN_MEDIA_TYPE: &str = "application/vnd.varve.run+json";

/// Whoever conducts runs in an archive.
pub(crate) struct RunEnvironment<'a> {
    /// The archive.
    pub(crate) history: &'a ArchiveHistory,
    /// How many threads keep answers.
    pub(crate) threads: usize,
    /// Says that it is time to stop.
    pub(crate) stop: &'a AtomicBool,
    /// The plan and the expectations in force.
    pub(crate) intent: Intent,
}

/// What is written down about a run: by which rules it asked.
#[derive(Serialize)]
struct RunFact<'a> {
    run: String,
    time: varve_core::Moment,
    robots: &'static str,
    settings: &'a CrawlSettings,
    /// The versions that were made when it was stopped.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stops: &'a [VersionId],
}

/// Begins a run, and crawls.
pub(crate) fn begin(
    conduct: &RunEnvironment<'_>,
    settings: CrawlSettings,
    run: RunId,
    fetchers: CrawlFetchers,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, CrawlError> {
    let history = conduct.history;
    let course = ResumableRun::new(settings);
    record_run_settings(history, run, &course)?;
    let store = SqliteFrontierStore::new(Arc::clone(history.sqlite()));
    let frontier = store.begin_run(run, only_worker(run), history.now(), &course.to_json())?;
    report(CrawlEvent::Began { run, resumed: false });
    crawl(conduct, frontier, course, fetchers, false, report)
}

/// Goes on with a run. `change` may change its settings, and says who asks.
pub(crate) fn resume(
    conduct: &RunEnvironment<'_>,
    run: RunId,
    change: impl FnOnce(&mut CrawlSettings) -> Result<CrawlFetchers, CrawlError>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, CrawlError> {
    let history = conduct.history;
    let (mut frontier, mut course) = open_run(history, run)?;
    let begun = course.settings.clone();
    let fetchers = change(&mut course.settings)?;
    if course.settings.message.trim().is_empty() {
        return Err(RepositoryError::NoMessage.into());
    }
    let version = history.sqlite().version_of_run(&run)?;
    course.stop_versions.extend(version);
    if version.is_some() || course.settings != begun {
        let next = if version.is_some() { RunId::new(Uuid::now_v7()) } else { run };
        record_run_settings(history, next, &course)?;
        frontier.continue_as(next, &course.to_json())?;
    }
    report(CrawlEvent::Began { run: frontier.run(), resumed: true });
    crawl(conduct, frontier, course, fetchers, true, report)
}

/// Makes a version of what a run has captured, without asking for more. If that was done when it was stopped, it is that one.
pub(crate) fn finish(conduct: &RunEnvironment<'_>, run: RunId) -> Result<RunEnd, CrawlError> {
    let history = conduct.history;
    let (frontier, course) = open_run(history, run)?;
    let made = match history.sqlite().version_of_run(&run)? {
        Some(version) => existing_version(history, version)?,
        None => make_version(conduct, run, &course, course.settings.message.clone())?,
    };
    frontier.finish()?;
    Ok(made.run_end(run, CrawlTally::default(), 0))
}

/// The worker of a run that one process fetches: the lock of the archive keeps others out.
pub(crate) fn only_worker(run: RunId) -> WorkerId {
    WorkerId::new(run.into_inner())
}

fn open_run(history: &ArchiveHistory, run: RunId) -> Result<(Box<dyn Frontier>, ResumableRun), CrawlError> {
    let store = SqliteFrontierStore::new(Arc::clone(history.sqlite()));
    let frontier = store.resume_run(run, only_worker(run))?.ok_or(CrawlError::NoRun)?;
    let course = ResumableRun::parse(&frontier.settings()?)?;
    Ok((frontier, course))
}

/// Says in the silo by which rules a run asks, for whoever reads its records.
fn record_run_settings(
    history: &ArchiveHistory,
    run: RunId,
    course: &ResumableRun,
) -> Result<(), CrawlError> {
    let ResumableRun { settings, stop_versions: stops } = course;
    let settings = &CrawlSettings { network: SavedNetworkOptions::default(), ..settings.clone() };
    let robots = if settings.obey_robots { "obey" } else { "ignore" };
    let fact = RunFact { run: run.to_string(), time: history.now(), robots, settings, stops };
    let json = serde_json::to_vec(&fact).expect("a run can be written as JSON");
    history.keep_fact(&format!("urn:uuid:{run}"), RUN_MEDIA_TYPE, &json)?;
    Ok(())
}

fn crawl(
    conduct: &RunEnvironment<'_>,
    frontier: Box<dyn Frontier>,
    course: ResumableRun,
    fetchers: CrawlFetchers,
    resumed: bool,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, CrawlError> {
    let plan = CrawlPolicy::new(course.settings.clone());
    let RunEnvironment { history, threads, stop, .. } = *conduct;
    let destination =
        &ArchiveDestination { history, stops: &course.stop_versions, proxy: fetchers.proxy.clone() };
    let share = RunInput { destination, frontier: &*frontier, plan: &plan, fetchers, resumed, threads, stop };
    let (ending, tally) = run_crawl(share, report)?;
    let limited = tally.limit_reached.map(|which| format!(" (limit of {which} reached)")).unwrap_or_default();
    let (run, message) = (frontier.run(), format!("{}{limited}", course.settings.message));
    if ending == RunEnding::Finished {
        let captures = history.catalog().captures_of_run(&run)?;
        if course.stop_versions.is_empty() && captures > 0 && captures == tally.robots {
            // What a host asks of robots is nothing to look at.
            frontier.finish()?;
            return Ok(RunVersion::default().run_end(run, tally, 0));
        }
        let made = make_version(conduct, run, &course, message)?;
        frontier.finish()?;
        return Ok(made.run_end(run, tally, 0));
    }
    let counts = frontier.counts()?;
    let queued = counts.ready + counts.claimed + counts.waiting;
    let made = make_version(conduct, run, &course, format!("{message} (stopped while {queued} waited)"))?;
    let left = ending == RunEnding::Left;
    let again = if left { frontier.next_retry_at()? } else { None };
    Ok(RunEnd { stopped: true, hosts_left: left, retry_at: again, ..made.run_end(run, tally, queued) })
}

/// One process's share of a run.
pub(crate) struct RunInput<'a> {
    /// Where everything goes.
    pub(crate) destination: &'a dyn Destination,
    /// What is still to be asked for.
    pub(crate) frontier: &'a dyn Frontier,
    /// What is wanted.
    pub(crate) plan: &'a CrawlPolicy,
    /// Who asks.
    pub(crate) fetchers: CrawlFetchers,
    /// Whether the run began earlier.
    pub(crate) resumed: bool,
    /// How many threads keep answers.
    pub(crate) threads: usize,
    /// Says that it is time to stop.
    pub(crate) stop: &'a AtomicBool,
}

/// Starts all threads of a run, and runs it.
pub(crate) fn run_crawl(
    share: RunInput<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<(RunEnding, CrawlTally), CrawlError> {
    let RunInput { destination, frontier, plan, fetchers, resumed, threads, stop } = share;
    let (job_sender, job_receiver) = mpsc::channel();
    let (sender, messages) = mpsc::channel();
    let fetching = RequestPool::new(fetchers, sender.clone(), threads).map_err(CrawlError::Threads)?;
    let keepers = destination.keepers(frontier.run(), plan)?;
    let backlog = LinkBacklog::default();
    let jobs = Mutex::new(job_receiver);
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (keepers, jobs, sender, backlog) = (&*keepers, &jobs, sender.clone(), &backlog);
            scope.spawn(move || writer_pool::run_writer(keepers, jobs, backlog, &sender));
        }
        drop(sender);
        let run = frontier.run();
        let _ending = link_backlog::BacklogGuard(&backlog);
        let (jobs, backlog) = (job_sender, &backlog);
        let around = CrawlContext {
            destination,
            frontier,
            plan,
            run,
            fetching,
            jobs,
            backlog,
            messages,
            stop,
            report,
        };
        let mut crawl = Crawl::new(around);
        if resumed {
            crawl.recall()?;
        }
        crawl.sow(&plan.settings.seeds)?;
        crawl.sow_members()?;
        let ending = crawl.run()?;
        Ok((ending, crawl.tally()))
    })
}

/// Makes a version of what a run has captured, and of what lies behind it. If it captured nothing, that of its last stop
/// says it all.
fn make_version(
    conduct: &RunEnvironment<'_>,
    run: RunId,
    course: &ResumableRun,
    message: String,
) -> Result<RunVersion, CrawlError> {
    let history = conduct.history;
    let captures = history.catalog().captures_of_run(&run)?;
    if let Some(stop) = course.last_stop_version().filter(|_| captures == 0) {
        return existing_version(history, stop);
    }
    let new = NewRunVersion {
        run,
        message,
        author: course.settings.author.clone(),
        intent: conduct.intent.clone(),
        verdicts: None,
        pages: course.earlier_pages(history)?,
    };
    version_of_run(history, new)
}

/// A version that is there already.
fn existing_version(history: &ArchiveHistory, version: VersionId) -> Result<RunVersion, CrawlError> {
    let info = history.catalog().version(&version)?.ok_or(CrawlError::NoRun)?;
    Ok(RunVersion { version: Some(version), parent: info.version.parent, captures: info.captures })
}

/// A version to be made of a run.
pub(crate) struct NewRunVersion {
    /// The run.
    pub(crate) run: RunId,
    /// Why it is made.
    pub(crate) message: String,
    /// Who makes it.
    pub(crate) author: Option<String>,
    /// The plan and the expectations in force.
    pub(crate) intent: Intent,
    /// The verdicts that the captures are the evidence of.
    pub(crate) verdicts: Option<RecordId>,
    /// Pages that are in it besides what the run captured.
    pub(crate) pages: Vec<Page>,
}

/// The version that a run became.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunVersion {
    /// The version; none when there was nothing to make it of.
    pub(crate) version: Option<VersionId>,
    /// What it descends from.
    pub(crate) parent: Option<VersionId>,
    /// How many captures it holds.
    pub(crate) captures: u64,
}

impl RunVersion {
    /// How the run ended that it was made of.
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

/// Seals a run and makes it a version, to which HEAD then points. A run without captures becomes none.
pub(crate) fn version_of_run(history: &ArchiveHistory, new: NewRunVersion) -> Result<RunVersion, CrawlError> {
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

fn seal(history: &ArchiveHistory, run: RunId) -> Result<RunSummary, CrawlError> {
    let mut records: Vec<RecordId> = Vec::new();
    history.sqlite().each_record_of_run(&run, &mut |record| records.push(record))?;
    let captures = records.len() as u64;
    Ok(RunSummary { id: run, captures, seal: RunSummary::seal_of(records) })
}
