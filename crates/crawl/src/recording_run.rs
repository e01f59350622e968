//! A run whose requests are made by someone else: a browser or program behind the recording proxy.
//!
//! It has no queue, but it is a run like any other: its records carry its id, it is listed as
//! unfinished until it is a version, and a run that was interrupted is resumed or finished. So a
//! process that is killed loses only what it had not made durable.

use uuid::Uuid;
use varve_catalog::Frontier;
use varve_core::RunId;
use varve_repository::RepositoryError;

use super::archive_run::{RunEnvironment, make_version, only_worker, record_run_settings};
use super::crawl_policy::CrawlPolicy;
use super::event::{CrawlTally, RunEnd};
use super::resume::open_run;
use super::run_coverage::EndedRun;
use super::saved_run::SavedRun;
use super::settings::CrawlSettings;
use crate::error::CrawlError;
use crate::wire_exchange::RunRecord;

/// A run whose exchanges the caller stores.
pub struct RecordingRun<'a> {
    environment: RunEnvironment<'a>,
    frontier: Box<dyn Frontier>,
    state: SavedRun,
    record: RunRecord,
}

impl<'a> RecordingRun<'a> {
    /// Begins a run.
    pub fn begin(environment: RunEnvironment<'a>, settings: CrawlSettings) -> Result<Self, CrawlError> {
        let history = environment.history;
        if settings.message.trim().is_empty() {
            return Err(RepositoryError::NoMessage.into());
        }
        if !history.frontier_store().unfinished_runs()?.is_empty() {
            return Err(CrawlError::UnfinishedRun);
        }
        let run = RunId::new(Uuid::now_v7());
        let state = SavedRun::new(settings);
        record_run_settings(history, run, &state)?;
        let store = history.frontier_store();
        let frontier = store.begin_run(run, only_worker(run), history.now(), &state.to_json())?;
        Self::described(environment, frontier, state)
    }

    /// Resumes the unfinished recording. `change` may change its settings.
    pub fn resume(
        environment: RunEnvironment<'a>,
        change: impl FnOnce(&mut CrawlSettings) -> Result<(), CrawlError>,
    ) -> Result<Self, CrawlError> {
        let history = environment.history;
        let unfinished = history.frontier_store().unfinished_runs()?;
        let run = unfinished.first().map(|open| open.run).ok_or(CrawlError::NoRun)?;
        let (mut frontier, mut state) = open_run(history, run)?;
        if !state.settings.is_recording {
            return Err(CrawlError::UnfinishedRun);
        }
        change(&mut state.settings)?;
        let version = history.rows().version_of_run(&run)?;
        state.stop_versions.extend(version);
        let next = if version.is_some() { RunId::new(Uuid::now_v7()) } else { run };
        record_run_settings(history, next, &state)?;
        frontier.continue_as(next, &state.to_json())?;
        Self::described(environment, frontier, state)
    }

    fn described(
        environment: RunEnvironment<'a>,
        frontier: Box<dyn Frontier>,
        state: SavedRun,
    ) -> Result<Self, CrawlError> {
        let id = frontier.run();
        let fields = [
            ("robots", "ignore".to_owned()),
            ("varve-run", id.to_string()),
            ("varve-recording", "proxy".to_owned()),
        ];
        let described_by = Some(environment.history.writer().store().describe_run(&fields)?);
        Ok(Self { environment, frontier, state, record: RunRecord { id, described_by } })
    }

    /// The run that stored exchanges belong to.
    pub fn record(&self) -> RunRecord {
        self.record
    }

    /// The settings.
    pub fn settings(&self) -> &CrawlSettings {
        &self.state.settings
    }

    /// Makes a version of the stored captures, and ends the run.
    pub fn finish(self, tally: CrawlTally) -> Result<RunEnd, CrawlError> {
        let policy = CrawlPolicy::new(self.state.settings.clone());
        let ended = EndedRun { policy: &policy, frontier: &*self.frontier, gaps: None };
        let message = self.state.settings.message.clone();
        let made = make_version(&self.environment, &ended, &self.state, (message, 0))?;
        self.frontier.finish()?;
        Ok(made.run_end(self.record.id, tally, 0))
    }
}
