//! `crystal verify`: checks rows and bodies against each other, and repairs faults that have only
//! one possible repair.

use std::path::Path;

use varve_crystal::{
    FindingRepair, FindingSeverity, OpenOptions, OpenReport, Project, ProjectFinding, ProjectWriter,
    RepairSummary, VerifyOptions, VerifySummary,
};
use varve_store::audit::{AuditFinding, AuditKind, AuditSeverity};

use crate::error::ArchiveError;
use crate::verbs::audit::{AuditReport, CheckedItems};

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

/// Audits a project: the findings of [`verify`] in the form of an audit. An older schema is not
/// damage. `quick` reads no body.
pub(crate) fn audit_project(
    path: &Path,
    quick: bool,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(AuditFinding),
) -> Result<AuditReport, ArchiveError> {
    let mut findings = 0;
    let done = verify(path, !quick, progress, &mut |finding| {
        if !matches!(finding, ProjectFinding::SchemaOlder { .. }) {
            findings += 1;
            found(audit_finding(&finding));
        }
    })?;
    let VerifySummary { revisions, bodies, bytes, .. } = done;
    Ok(AuditReport { records: revisions, bytes, findings, checked: CheckedItems::Project { bodies } })
}

fn audit_finding(finding: &ProjectFinding) -> AuditFinding {
    let (kind, revision) = match finding {
        ProjectFinding::BodyMissing { revision, .. } => (AuditKind::BodyMissing, Some(revision)),
        ProjectFinding::BodyUnreadable { revision, .. } => (AuditKind::Damaged, Some(revision)),
        ProjectFinding::PackUnreadable { .. } => (AuditKind::Damaged, None),
        ProjectFinding::BodyWithoutRow { revision, .. }
        | ProjectFinding::BodyOfError { revision, .. }
        | ProjectFinding::MetadataUnreadable { revision, .. }
        | ProjectFinding::ErrorUnreadable { revision, .. }
        | ProjectFinding::ErrorPadded { revision }
        | ProjectFinding::IdOutOfRange { revision }
        | ProjectFinding::RevisionWithoutResource { revision, .. } => (AuditKind::Rows, Some(revision)),
        _ => (AuditKind::Rows, None),
    };
    let severity = match finding.severity() {
        FindingSeverity::Damage => AuditSeverity::Error,
        FindingSeverity::Warning | FindingSeverity::Note => AuditSeverity::Warning,
    };
    let id = revision.map(|revision| format!("revision {revision}"));
    AuditFinding { severity, id, ..AuditFinding::new(kind, finding.to_string()) }
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
