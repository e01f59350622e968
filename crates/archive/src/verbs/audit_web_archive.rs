//! The audit of a web archive: every record of its files, and every member of its packages.
//!
//! A web archive has no index or history of its own that could contradict its files. What was found
//! when its index was made is reported, then each file of records is inspected as `doctor` does.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use varve_repository::history::WebArchiveHistoryReader;
use varve_repository::{RepositoryError, WebArchiveError};
use varve_store::audit::{AuditFinding, AuditKind, AuditSeverity};
use varve_wacz::{Wacz, verify_package};
use varve_warc::inspect::{InspectOptions, inspect};
use varve_warc::rules::{Rule, RuleSeverity, WarcFinding};

use super::audit::{AuditReport, CheckedItems};
use crate::error::ArchiveError;

/// The number of bytes that an audit reads.
pub(super) fn bytes_to_read(archive: &WebArchiveHistoryReader) -> u64 {
    let files = archive.files();
    let records = files.record_file_names().filter_map(|name| files.open_record_file(name).ok().flatten());
    let records: u64 = records.filter_map(|source| source.size().ok()).sum();
    let packages = files.packages();
    let package_size = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    records + packages.iter().map(|(_, path)| package_size(path)).sum::<u64>()
}

/// Audits a web archive.
pub(super) fn audit_web_archive(
    archive: &WebArchiveHistoryReader,
    quick: bool,
    progress: &(dyn Fn(u64) + Sync),
    found: &mut dyn FnMut(AuditFinding),
) -> Result<AuditReport, ArchiveError> {
    let files = archive.files();
    let mut report =
        AuditReport { records: 0, bytes: 0, findings: 0, checked: CheckedItems::WebArchive { files: 0 } };
    let mut add = |finding| {
        report.findings += 1;
        found(finding);
    };
    for finding in files.findings().map_err(RepositoryError::from)? {
        // Those of records are found again below, unless records are not read.
        if finding.is_loss && (quick || !finding.is_of_records) {
            let place = if finding.file.is_empty() { String::new() } else { format!("{}: ", finding.file) };
            let mut audited = AuditFinding::new(
                AuditKind::Damaged,
                format!("{place}{}: {}", finding.rule, finding.message),
            );
            audited.offset = finding.offset;
            add(audited);
        }
    }
    let (mut records, mut bytes, mut count) = (0, 0, 0);
    if !quick {
        for name in files.record_file_names() {
            let Some(source) = files.open_record_file(name).map_err(RepositoryError::from)? else { continue };
            count += 1;
            match inspect(&*source, InspectOptions::default(), &|more| progress(more)) {
                Ok(inspected) => {
                    records += inspected.records;
                    bytes += inspected.size;
                    let complaints = inspected.findings.iter().filter_map(|found| of_record(name, found));
                    complaints.for_each(&mut add);
                }
                Err(error) => add(AuditFinding::new(
                    AuditKind::Damaged,
                    format!("{name}: {}", varve_store::error_text(&error)),
                )),
            }
        }
        for (name, path) in files.packages() {
            audit_package(&name, &path, progress, &mut add)?;
        }
    }
    report.records = records;
    report.bytes = bytes;
    report.checked = CheckedItems::WebArchive { files: count };
    Ok(report)
}

fn audit_package(
    name: &str,
    path: &Path,
    progress: &(dyn Fn(u64) + Sync),
    add: &mut dyn FnMut(AuditFinding),
) -> Result<(), ArchiveError> {
    let failed = |source| WebArchiveError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed).map_err(RepositoryError::from)?;
    let opened = Wacz::open(Arc::new(file));
    let package = opened
        .map_err(|source| WebArchiveError::Package { path: path.to_owned(), source })
        .map_err(RepositoryError::from)?;
    let known = package.findings().len();
    let mut passed = 0;
    verify_package(&package, &|more| progress(more), &mut |finding| {
        passed += 1;
        // The first ones are those of the ZIP archive, which the index has reported.
        if passed > known {
            let kind = if finding.rule.is_loss() { AuditKind::Damaged } else { AuditKind::Digest };
            let mut audited =
                AuditFinding::new(kind, format!("{name}: {}: {}", finding.rule.name(), finding.message));
            audited.offset = Some(finding.offset);
            add(audited);
        }
    });
    Ok(())
}

/// A finding of a record. Notices are not findings of an audit.
fn of_record(file: &str, found: &WarcFinding) -> Option<AuditFinding> {
    let severity = match found.rule.severity() {
        RuleSeverity::Error => AuditSeverity::Error,
        RuleSeverity::Warning => AuditSeverity::Warning,
        RuleSeverity::Notice => return None,
    };
    let kind = match found.rule {
        rule if rule.loses_bytes() => AuditKind::Damaged,
        Rule::BlockDigest | Rule::PayloadDigest => AuditKind::Digest,
        _ => AuditKind::Form,
    };
    let mut audited = AuditFinding::new(kind, format!("{file}: {}: {}", found.rule.code(), found.message));
    (audited.severity, audited.offset) = (severity, Some(found.offset));
    Some(audited)
}
