//! Resumes an unfinished run of an archive, or finishes it without further requests.
//!
//! A run that was stopped has become a version and takes no more captures: another run continues
//! with its queue and its settings. A run whose process was killed continues under its own id.

use uuid::Uuid;
use varve_catalog::Frontier;
use varve_core::RunId;
use varve_repository::RepositoryError;
use varve_repository::history::ArchiveHistoryWriter;

use super::archive_run::{RunEnvironment, crawl, make_version, only_worker, record_run_settings};
use super::crawl_policy::CrawlPolicy;
use super::event::{CrawlEvent, CrawlTally, RunEnd};
use super::fetchers::CrawlFetchers;
use super::run_coverage::EndedRun;
use super::run_version::existing_version;
use super::saved_run::SavedRun;
use super::settings::CrawlSettings;
use crate::error::CrawlError;

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
        None => {
            let policy = CrawlPolicy::new(state.settings.clone());
            let ended = EndedRun { policy: &policy, frontier: &*frontier, gaps: None };
            make_version(environment, &ended, &state, (state.settings.message.clone(), 0))?
        }
    };
    frontier.finish()?;
    Ok(made.run_end(run, CrawlTally::default(), 0))
}

pub(crate) fn open_run(
    history: &ArchiveHistoryWriter,
    run: RunId,
) -> Result<(Box<dyn Frontier>, SavedRun), CrawlError> {
    let store = history.frontier_store();
    let frontier = store.resume_run(run, only_worker(run))?.ok_or(CrawlError::NoRun)?;
    let state = SavedRun::parse(&frontier.settings()?)?;
    Ok((frontier, state))
}
