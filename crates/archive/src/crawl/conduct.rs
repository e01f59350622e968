//! A run from its beginning to its end: it is begun or resumed, crawled, sealed and made a version.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use serde::Serialize;
use varve_catalog::Frontier;
use varve_core::fact::{Manifest, RunSummary};
use varve_core::{RecordId, RunId, VersionId};

use super::backlog::{self, Backlog};
use super::destination::Destination;
use super::event::{Ended, Event, Tally};
use super::fetching::{Fetchers, Fetching};
use super::keeper;
use super::plan::Plan;
use super::run::{Crawl, Ending, Surroundings};
use super::settings::Settings;
use crate::error::ArchiveError;
use crate::history::{ArchiveHistory, HistoryWriter, Holdings};
use crate::verbs::commit::{Intent, write_version};

/// The media type of what is written down about a run when it begins.
const RUN: &str = "application/vnd.varve.run+json";

/// Whoever conducts runs in an archive.
pub(crate) struct Conduct<'a> {
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
    settings: &'a Settings,
}

/// Begins a run, and crawls.
pub(crate) fn begin(
    conduct: &Conduct<'_>,
    settings: Settings,
    run: RunId,
    fetchers: Fetchers,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, ArchiveError> {
    let history = conduct.history;
    let json = serde_json::to_string(&settings).expect("settings can be written as JSON");
    note_down(history, run, &settings)?;
    let frontier = Frontier::begin(Arc::clone(history.sqlite()), run, history.now(), &json)?;
    report(Event::Began { run, resumed: false });
    crawl(conduct, frontier, settings, fetchers, false, report)
}

/// Goes on with a run.
pub(crate) fn resume(
    conduct: &Conduct<'_>,
    run: RunId,
    fetchers: impl FnOnce(&Settings) -> Result<Fetchers, ArchiveError>,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, ArchiveError> {
    let (frontier, settings) = open_run(conduct.history, run)?;
    let fetchers = fetchers(&settings)?;
    report(Event::Began { run, resumed: true });
    crawl(conduct, frontier, settings, fetchers, true, report)
}

/// Makes a version of what a run has captured, without asking for more.
pub(crate) fn finish(conduct: &Conduct<'_>, run: RunId) -> Result<Ended, ArchiveError> {
    let (frontier, settings) = open_run(conduct.history, run)?;
    commit(conduct, frontier, &settings, Tally::default())
}

fn open_run(history: &ArchiveHistory, run: RunId) -> Result<(Frontier, Settings), ArchiveError> {
    let frontier = Frontier::resume(Arc::clone(history.sqlite()), run)?.ok_or(ArchiveError::NoRun)?;
    let settings = serde_json::from_str(&frontier.settings()?).map_err(ArchiveError::RunSettings)?;
    Ok((frontier, settings))
}

/// Says in the silo by which rules a run asks, for whoever reads its records.
fn note_down(history: &ArchiveHistory, run: RunId, settings: &Settings) -> Result<(), ArchiveError> {
    let robots = if settings.robots { "obey" } else { "ignore" };
    let fact = RunFact { run: run.to_string(), time: history.now(), robots, settings };
    let json = serde_json::to_vec(&fact).expect("a run can be written as JSON");
    history.keep_fact(&format!("urn:uuid:{run}"), RUN, &json)?;
    Ok(())
}

fn crawl(
    conduct: &Conduct<'_>,
    frontier: Frontier,
    settings: Settings,
    fetchers: Fetchers,
    resumed: bool,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, ArchiveError> {
    let plan = Plan::new(settings);
    let Conduct { history, threads, stop, .. } = *conduct;
    let share =
        Work { destination: history, frontier: &frontier, plan: &plan, fetchers, resumed, threads, stop };
    let (ending, tally) = work(share, report)?;
    match ending {
        Ending::Finished => commit(conduct, frontier, &plan.settings, tally),
        Ending::Stopped => {
            let run = frontier.run();
            let counts = frontier.counts()?;
            let captures = conduct.history.catalog().captures_of_run(&run)?;
            let queued = counts.ready + counts.claimed + counts.waiting;
            Ok(Ended { run, version: None, parent: None, tally, captures, queued })
        }
    }
}

/// One process's share of a run.
pub(crate) struct Work<'a> {
    /// Where everything goes.
    pub(crate) destination: &'a dyn Destination,
    /// What is still to be asked for.
    pub(crate) frontier: &'a Frontier,
    /// What is wanted.
    pub(crate) plan: &'a Plan,
    /// Who asks.
    pub(crate) fetchers: Fetchers,
    /// Whether the run began earlier.
    pub(crate) resumed: bool,
    /// How many threads keep answers.
    pub(crate) threads: usize,
    /// Says that it is time to stop.
    pub(crate) stop: &'a AtomicBool,
}

/// Starts all threads of a run, and runs it.
pub(crate) fn work(
    share: Work<'_>,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(Ending, Tally), ArchiveError> {
    let Work { destination, frontier, plan, fetchers, resumed, threads, stop } = share;
    let (job_sender, job_receiver) = mpsc::channel();
    let (sender, messages) = mpsc::channel();
    let fetching = Fetching::new(fetchers, sender.clone(), threads).map_err(ArchiveError::Threads)?;
    let keepers = destination.keepers(frontier.run(), plan)?;
    let backlog = Backlog::default();
    let jobs = Mutex::new(job_receiver);
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (keepers, jobs, sender, backlog) = (&*keepers, &jobs, sender.clone(), &backlog);
            scope.spawn(move || keeper::work(keepers, jobs, backlog, &sender));
        }
        drop(sender);
        let run = frontier.run();
        let _ending = backlog::Ending(&backlog);
        let (jobs, backlog) = (job_sender, &backlog);
        let around = Surroundings {
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

/// Makes a version of a run that was crawled.
fn commit(
    conduct: &Conduct<'_>,
    frontier: Frontier,
    settings: &Settings,
    tally: Tally,
) -> Result<Ended, ArchiveError> {
    let run = frontier.run();
    let made = version_of_run(
        conduct.history,
        NewVersion {
            run,
            message: settings.message.clone(),
            author: settings.author.clone(),
            intent: conduct.intent.clone(),
            verdicts: None,
        },
    )?;
    frontier.finish()?;
    let MadeVersion { version, parent, captures } = made;
    Ok(Ended { run, version, parent, tally, captures, queued: 0 })
}

/// A version to be made of a run.
pub(crate) struct NewVersion {
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
}

/// The version that a run became.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MadeVersion {
    /// The version; none when there was nothing to make it of.
    pub(crate) version: Option<VersionId>,
    /// What it descends from.
    pub(crate) parent: Option<VersionId>,
    /// How many captures it holds.
    pub(crate) captures: u64,
}

/// Seals a run and makes it a version, to which HEAD then points. A run without captures becomes none.
pub(crate) fn version_of_run(history: &ArchiveHistory, new: NewVersion) -> Result<MadeVersion, ArchiveError> {
    let summary = seal(history, new.run)?;
    let captures = summary.captures;
    if captures == 0 {
        return Ok(MadeVersion::default());
    }
    let parent = history.head()?;
    let manifest = Manifest {
        parent,
        message: new.message,
        author: new.author,
        time: history.now(),
        run: Some(summary),
        list: None,
        without: Vec::new(),
        pages: Vec::new(),
        plan: new.intent.plan,
        expectations: new.intent.expectations,
        verdicts: new.verdicts,
    };
    let version = write_version(history, &manifest)?;
    history.set_head(&version)?;
    Ok(MadeVersion { version: Some(version), parent, captures })
}

fn seal(history: &ArchiveHistory, run: RunId) -> Result<RunSummary, ArchiveError> {
    let mut records: Vec<RecordId> = Vec::new();
    history.sqlite().each_record_of_run(&run, &mut |record| records.push(record))?;
    let captures = records.len() as u64;
    Ok(RunSummary { id: run, captures, seal: RunSummary::seal_of(records) })
}
