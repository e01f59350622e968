//! `capture` into a Crystal project: single URLs, or the project's own roots and groups.
//!
//! [`crawl`](varve_crawl) does the work, as for an archive. The members of a group are the URLs
//! that match its pattern, regardless of the page that links to them. A source only says where to
//! look, and is read because it is a root or a member itself. Known members that were never
//! downloaded are requested as well.
//!
//! Where no run of ours waits, resuming continues the tasks that Crystal left (`hibernated_tasks`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use uuid::Uuid;
use varve_catalog::{DatabasePath, Frontier, FrontierStore, SqliteCatalog, SqliteFrontierStore};
use varve_core::RunId;
use varve_core::secret::ShownUrl;
use varve_crystal::{CAPTURE_FOLDER, DRAFT_FOLDER, OpenReport, ProjectWriter, RevisionId};
use varve_file::{Folder, TemporaryFolder};
use varve_plan::Plan;

use super::hibernated_tasks::{HibernatedTasks, forget_resumed_tasks};
use super::plan::PlanRows;
use crate::error::ArchiveError;
use crate::verbs::capture::{distinct_seeds, refuse_user_info_in_patterns, resumed, usual_and_pages};
use varve_crawl::{
    CrawlError, CrawlEvent, CrawlSettings, CrawlTally, NetworkOptions, ProjectRun, RunEnding, ScopeKind,
    SharedProject, SkipRule, crawl_into_project, only_worker,
};
use varve_repository::archive_writer::Clock;

/// The property that names the last revision before the unfinished capture.
const AFTER_PROPERTY: &str = "varve.capture_after";
/// The file with the queue of a capture.
const FRONTIER_FILE: &str = "frontier.db";

/// The options of a run.
pub struct ProjectRunOptions<'a> {
    /// The network options of this process.
    pub reach: NetworkOptions,
    /// Number of threads that store responses.
    pub threads: usize,
    /// Set by the caller to stop; the run can then be resumed.
    pub stop: &'a AtomicBool,
    /// The clock.
    pub clock: Clock,
}

/// The result of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectCaptured {
    /// The run.
    pub run: RunId,
    /// The counts of this process's part of the run.
    pub tally: CrawlTally,
    /// Number of revisions added by the run so far, including failures.
    pub revisions: u64,
    /// Number of URLs in the queue.
    pub queued: u64,
    /// Whether the run is finished; otherwise it can be resumed.
    pub finished: bool,
    /// Repairs made when the project was opened.
    pub opened: OpenReport,
}

/// Captures the given URLs or, without any, the project's roots and groups.
pub fn capture(
    path: &Path,
    mut settings: CrawlSettings,
    manner: &ProjectRunOptions<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<ProjectCaptured, ArchiveError> {
    if settings.browser {
        return Err(ArchiveError::NoPlaceForRenderings);
    }
    refuse_user_info_in_patterns(&settings.scope)?;
    let writer = ProjectWriter::open(path)?;
    writer.room()?;
    if is_unfinished(writer.path())? {
        return Err(CrawlError::UnfinishedRun.into());
    }
    let after = writer.newest_revision()?.unwrap_or(RevisionId(0));
    let rows = PlanRows::read(&writer)?;
    let open = SharedProject::new(writer, after)?;
    let mut external: Vec<String> = Vec::new();
    if settings.seeds.is_empty() {
        settings.seeds = rows.plan.roots.iter().filter_map(|root| open.address(&root.url)).collect();
        settings.scope.kind = ScopeKind::Plan;
    } else {
        external = settings.seeds.iter().filter(|text| open.is_external(text)).cloned().collect();
        if external.len() < settings.seeds.len() {
            settings.seeds.retain(|text| !external.contains(text));
        }
        settings.seeds = distinct_seeds(&settings.seeds, |text| open.address(text))?;
    }
    if settings.seeds.is_empty() && rows.plan.groups.is_empty() {
        return Err(ArchiveError::NoRoots);
    }
    let frontier = begin_run(&open, &mut settings, &rows, manner)?;
    report(CrawlEvent::Began { run: frontier.run(), resumed: false });
    for url in &external {
        let url = &ShownUrl(url).to_string();
        report(CrawlEvent::Skipped { url, rule: &SkipRule::External, is_seed: true });
    }
    crawl(&open, frontier, (settings, rows, false), (manner, &manner.reach), report)
}

/// Makes the queue of a run of these seeds, and completes its settings, which the queue stores.
fn begin_run(
    open: &SharedProject,
    settings: &mut CrawlSettings,
    rows: &PlanRows,
    manner: &ProjectRunOptions<'_>,
) -> Result<Box<dyn Frontier>, ArchiveError> {
    settings.plan = Some(followed(&rows.plan, settings.scope.kind));
    settings.network = manner.reach.to_save(&settings.seeds)?;
    let json = serde_json::to_string(&settings).expect("settings can be written as JSON");
    let after = open.after().to_string();
    open.change(|writer| writer.set_property(AFTER_PROPERTY, Some(&after)))?;
    let run = RunId::new(Uuid::now_v7());
    let now = varve_core::Moment::from((manner.clock)().instant);
    let (_, folder) = open.about()?;
    Ok(frontier_of(&folder)?.begin_run(run, only_worker(run), now, &json)?)
}

/// Continues the tasks that Crystal left in a project, as a run with these settings.
fn resume_tasks(
    writer: ProjectWriter,
    tasks: HibernatedTasks,
    mut settings: CrawlSettings,
    manner: &ProjectRunOptions<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<ProjectCaptured, ArchiveError> {
    let after = writer.newest_revision()?.unwrap_or(RevisionId(0));
    let open = SharedProject::new(writer, after)?;
    settings.seeds = tasks.urls.iter().filter_map(|url| open.address(url)).collect();
    settings.scope.kind = ScopeKind::Plan;
    open.change(|writer| tasks.mark_as_resumed(writer))?;
    let frontier = begin_run(&open, &mut settings, &tasks.rows, manner)?;
    report(CrawlEvent::Began { run: frontier.run(), resumed: true });
    crawl(&open, frontier, (settings, tasks.rows, false), (manner, &manner.reach), report)
}

/// Resumes the unfinished capture, or else the tasks that Crystal left, with `settings`. `change`
/// may replace the settings of the capture, and the new ones are stored with it.
pub fn resume(
    path: &Path,
    settings: CrawlSettings,
    change: impl FnOnce(&mut CrawlSettings),
    manner: &ProjectRunOptions<'_>,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<ProjectCaptured, ArchiveError> {
    let writer = ProjectWriter::open(path)?;
    writer.room()?;
    if !is_unfinished(writer.path())?
        && let Some(tasks) = HibernatedTasks::read(&writer)?
    {
        return resume_tasks(writer, tasks, settings, manner, report);
    }
    let (mut frontier, after) = unfinished(&writer)?;
    let begun: CrawlSettings =
        serde_json::from_str(&frontier.settings()?).map_err(CrawlError::RunSettings)?;
    let mut settings = begun.clone();
    change(&mut settings);
    let reach = resumed(&manner.reach, &mut settings)?;
    let (mut rows, run) = (PlanRows::read(&writer)?, frontier.run());
    if let Some(plan) = &settings.plan {
        rows.keep_groups_of(plan);
    }
    if settings != begun {
        let json = serde_json::to_string(&settings).expect("settings can be written as JSON");
        frontier.continue_as(run, &json)?;
    }
    report(CrawlEvent::Began { run, resumed: true });
    crawl(&SharedProject::new(writer, after)?, frontier, (settings, rows, true), (manner, &reach), report)
}

/// Ends the unfinished capture with the revisions it has.
pub fn finish(path: &Path) -> Result<ProjectCaptured, ArchiveError> {
    let writer = ProjectWriter::open(path)?;
    let (frontier, after) = unfinished(&writer)?;
    let run = frontier.run();
    let opened = writer.report().clone();
    let open = SharedProject::new(writer, after)?;
    let revisions = conclude(&open, frontier, after, true)?;
    let tally = CrawlTally::default();
    Ok(ProjectCaptured { run, tally, revisions, queued: 0, finished: true, opened })
}

/// The database of the queue, created if it does not exist. No link in the project is followed.
fn frontier_of(project: &Path) -> Result<Box<dyn FrontierStore>, ArchiveError> {
    let at = Path::new(CAPTURE_FOLDER).join(FRONTIER_FILE);
    let made = Folder::open(project).and_then(|folder| folder.make_folders(CAPTURE_FOLDER).map(drop));
    made.map_err(|error| ArchiveError::write(&project.join(&at))(error.into()))?;
    let catalog = SqliteCatalog::open_to_write(DatabasePath::below(project, at))?;
    Ok(Box::new(SqliteFrontierStore::new(Arc::new(catalog))))
}

fn is_unfinished(project: &Path) -> Result<bool, ArchiveError> {
    let at = Path::new(CAPTURE_FOLDER).join(FRONTIER_FILE);
    let found = Folder::open(project).and_then(|folder| folder.entry(&at));
    if found.map_err(|error| ArchiveError::read(&project.join(&at))(error.into()))?.is_none() {
        return Ok(false);
    }
    Ok(!frontier_of(project)?.unfinished_runs()?.is_empty())
}

fn unfinished(writer: &ProjectWriter) -> Result<(Box<dyn Frontier>, RevisionId), ArchiveError> {
    if !is_unfinished(writer.path())? {
        return Err(CrawlError::NoRun.into());
    }
    let store = frontier_of(writer.path())?;
    let run = store.unfinished_runs()?.first().map(|open| open.run).ok_or(CrawlError::NoRun)?;
    let frontier = store.resume_run(run, only_worker(run))?.ok_or(CrawlError::NoRun)?;
    let after = writer.property(AFTER_PROPERTY)?.and_then(|text| text.parse().ok()).map(RevisionId);
    Ok((frontier, after.unwrap_or(RevisionId(i64::MAX))))
}

/// The part of a project's plan that a run follows. Aliases are left to the code that spells URLs.
/// If URLs were given, groups only exclude pages.
fn followed(plan: &Plan, scope: ScopeKind) -> Plan {
    let mut followed = Plan { roots: plan.roots.clone(), groups: plan.groups.clone(), aliases: Vec::new() };
    for group in &mut followed.groups {
        group.found_on = None;
    }
    if scope != ScopeKind::Plan {
        followed.roots.clear();
        followed.groups.retain(|group| group.do_not_download);
    }
    followed
}

fn crawl(
    open: &Arc<SharedProject>,
    frontier: Box<dyn Frontier>,
    (settings, rows, resumed): (CrawlSettings, PlanRows, bool),
    (manner, reach): (&ProjectRunOptions<'_>, &NetworkOptions),
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<ProjectCaptured, ArchiveError> {
    let (opened, folder) = open.about()?;
    let fetchers = usual_and_pages(&TemporaryFolder::below(&folder, DRAFT_FOLDER), &settings, reach)?;
    let credentials = reach.credentials_for(&settings.seeds).map_err(CrawlError::Credentials)?;
    let run = ProjectRun {
        project: open,
        groups: members(&settings, rows),
        settings,
        credentials,
        frontier: &*frontier,
        fetchers,
        is_resumed: resumed,
        threads: manner.threads,
        wall_time: &|| varve_core::Moment::from((manner.clock)().instant),
        stop: manner.stop,
    };
    let (ending, tally) = crawl_into_project(run, report)?;
    let (run, counts) = (frontier.run(), frontier.counts()?);
    let finished = ending == RunEnding::Finished;
    let queued = if finished { 0 } else { counts.ready + counts.claimed + counts.waiting };
    let revisions = conclude(open, frontier, open.after(), finished)?;
    Ok(ProjectCaptured { run, tally, revisions, queued, finished, opened })
}

/// The groups whose known members are requested: all downloaded groups, if the run follows the
/// plan.
fn members(settings: &CrawlSettings, rows: PlanRows) -> Vec<(u32, varve_crystal::ResourceGroup)> {
    if settings.scope.kind != ScopeKind::Plan {
        return Vec::new();
    }
    let numbered = (1..).zip(rows.groups);
    numbered.filter(|(_, group)| !group.do_not_download).collect()
}

/// Ends the session, and deletes the run if it is finished. Returns the number of revisions that
/// the run added.
fn conclude(
    open: &SharedProject,
    frontier: Box<dyn Frontier>,
    after: RevisionId,
    finished: bool,
) -> Result<u64, ArchiveError> {
    let mut added = 0;
    if finished {
        frontier.finish()?;
    } else {
        drop(frontier);
    }
    open.close(|writer| {
        added = writer.revisions_after(after)?;
        if finished {
            // If this fails, the remaining files say that there is no unfinished run.
            let _ = Folder::open(writer.path()).and_then(|folder| folder.remove_tree(CAPTURE_FOLDER));
            writer.set_property(AFTER_PROPERTY, None)?;
            forget_resumed_tasks(writer)?;
        }
        Ok(())
    })?;
    Ok(added)
}
