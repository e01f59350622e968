//! `crystal verify`: checks rows and bodies against each other, and repairs faults that have only
//! one possible repair.

use std::path::Path;

use varve_crystal::{
    FindingRepair, OpenOptions, OpenReport, Project, ProjectFinding, ProjectWriter, RepairSummary,
    VerifyOptions, VerifySummary,
};

use crate::error::ArchiveError;

/// An upper bound of the number of revisions, for a progress display. It is seldom much too high.
pub fn revisions_at_most(path: &Path) -> Result<u64, ArchiveError> {
    let newest = Project::open(path)?.newest_revision()?;
    Ok(newest.map_or(0, |id| id.get().max(0).unsigned_abs()))
}

/// Checks everything in a project; with `read_bodies`, reads every body completely. `progress` is
/// called for each revision.
pub fn verify(
    path: &Path,
    read_bodies: bool,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(ProjectFinding),
) -> Result<VerifySummary, ArchiveError> {
    let options = VerifyOptions { check_database: true, read_bodies };
    Ok(Project::open(path)?.verify_watched(options, &mut |_| progress(1), found)?)
}

/// Makes the repairs that need no guessing. `found` is called with each finding and its repair.
pub fn repair(
    path: &Path,
    found: &mut dyn FnMut(&ProjectFinding, &FindingRepair),
) -> Result<(RepairSummary, OpenReport), ArchiveError> {
    // By default, opening deletes a newest row without a body, as Crystal does; a repair preserves
    // its contents.
    let options = OpenOptions { keep_last_without_body: true, ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(path, options)?;
    let opened = writer.report().clone();
    let repaired = writer.repair(found)?;
    writer.close()?;
    Ok((repaired, opened))
}
