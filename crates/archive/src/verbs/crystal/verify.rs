//! `crystal verify`: rows, bodies, and each against the other; and putting right what needs no guessing.

use std::path::Path;

use varve_crystal::{
    FindingRepair, OpenOptions, OpenReport, Project, ProjectFinding, ProjectWriter, RepairSummary,
    VerifyOptions, VerifySummary,
};

use crate::error::ArchiveError;

/// How many revisions there are to look at, for those who show progress: no fewer, and seldom many more.
pub fn revisions_at_most(path: &Path) -> Result<u64, ArchiveError> {
    let newest = Project::open(path)?.newest_revision()?;
    Ok(newest.map_or(0, |id| id.get().max(0).unsigned_abs()))
}

/// Looks at everything in a project, bodies to their end if `read_bodies`. `progress` hears of each revision.
pub fn verify(
    path: &Path,
    read_bodies: bool,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(ProjectFinding),
) -> Result<VerifySummary, ArchiveError> {
    let options = VerifyOptions { check_database: true, read_bodies };
    Ok(Project::open(path)?.verify_watched(options, &mut |_| progress(1), found)?)
}

/// Repairs what can be repaired without guessing. `found` hears each finding and what was done about it.
pub fn repair(
    path: &Path,
    found: &mut dyn FnMut(&ProjectFinding, &FindingRepair),
) -> Result<(RepairSummary, OpenReport), ArchiveError> {
    // Opening would delete a newest row without a body, as Crystal does; a repair keeps what the row said.
    let options = OpenOptions { keep_last_without_body: true, ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(path, options)?;
    let opened = writer.report().clone();
    let repaired = writer.repair(found)?;
    writer.close()?;
    Ok((repaired, opened))
}
