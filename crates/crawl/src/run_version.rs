//! The version that a run becomes: seals the run and points HEAD to its manifest.

use varve_core::fact::{Manifest, RunSummary, StateChanges};
use varve_core::history::Coverage;
use varve_core::{RecordId, RunId, VersionId};
use varve_repository::history::{ArchiveHistoryWriter, KeptIntent, write_version};
use varve_repository::search::index_new_versions;

use super::event::{CrawlTally, RunEnd};
use crate::error::CrawlError;

/// A version that exists already.
pub(crate) fn existing_version(
    history: &ArchiveHistoryWriter,
    version: VersionId,
) -> Result<RunVersion, CrawlError> {
    let info = history.catalog().version(&version)?.ok_or(CrawlError::NoRun)?;
    Ok(RunVersion {
        version: Some(version),
        parent: info.version.parent,
        captures: info.captures,
        is_unindexed: false,
    })
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
    /// What it covers, if it is known.
    pub coverage: Option<Coverage>,
    /// What it says about pages that it did not capture.
    pub changes: StateChanges,
}

/// The version that a run became.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunVersion {
    /// The version; `None` if the run says nothing about any page.
    pub version: Option<VersionId>,
    /// Its parent.
    pub parent: Option<VersionId>,
    /// The number of its captures.
    pub captures: u64,
    /// Whether it could not be added to the search index. The next search tries again, and reports
    /// the error.
    pub is_unindexed: bool,
}

impl RunVersion {
    /// The end of the run that became this version.
    pub(crate) fn run_end(self, run: RunId, tally: CrawlTally, queued: u64) -> RunEnd {
        let Self { version, parent, captures, is_unindexed } = self;
        RunEnd {
            run,
            version,
            parent,
            tally,
            captures,
            is_unindexed,
            queued,
            stopped: false,
            hosts_left: false,
            retry_at: None,
        }
    }
}

/// Seals a run, makes it a version and points HEAD to it. A run that says nothing about any page
/// becomes no version.
pub fn version_of_run(history: &ArchiveHistoryWriter, new: NewRunVersion) -> Result<RunVersion, CrawlError> {
    let summary = seal(history, new.run)?;
    if summary.captures == 0 && new.changes.unreachable.is_empty() {
        return Ok(RunVersion::default());
    }
    let captures = summary.captures + new.changes.pages.len() as u64;
    let parent = history.head()?;
    let manifest = Manifest {
        parent,
        message: new.message,
        author: new.author,
        time: history.now(),
        run: Some(summary),
        coverage: new.coverage,
        inline: new.changes,
        changes: Vec::new(),
        plan: new.intent.plan,
        expectations: new.intent.expectations,
        source: None,
    };
    let version = write_version(&history.into(), &manifest)?;
    history.move_head(parent, version)?;
    let is_unindexed = index_new_versions(history).is_err();
    Ok(RunVersion { version: Some(version), parent, captures, is_unindexed })
}

fn seal(history: &ArchiveHistoryWriter, run: RunId) -> Result<RunSummary, CrawlError> {
    let mut records: Vec<RecordId> = Vec::new();
    history.rows().each_record_of_run(&run, &mut |record| records.push(record))?;
    let captures = records.len() as u64;
    Ok(RunSummary { id: run, captures, seal: RunSummary::seal_of(records) })
}
