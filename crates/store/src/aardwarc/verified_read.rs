//! A full read of an AardWARC store, for import and audit.
//!
//! The first pass verifies every record and notes the segments, the second yields the complete
//! objects. Damaged objects are reported and skipped, because an import would make them look valid.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use varve_warc::digest::Digest;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::rules::WarcFinding;
use varve_warc::validate_record::{CheckedRecord, DigestVerdict, RecordChecker};
use varve_warc::write::RecordUri;
use varve_warc::{Error, WarcReader};

use super::folder::{AardwarcFolder, AardwarcSilo};
use super::object::AardwarcObject;
use super::scan::scan;
use super::segments::AardwarcSegments;
use super::{AardwarcError, AardwarcFinding, digits_of, is_damage};
use crate::audit::{AuditKind, AuditSeverity};

/// An AardWARC store of which every byte was read and verified.
pub struct Aardwarc {
    silos: Vec<AardwarcSilo>,
    segments: AardwarcSegments,
    /// The damaged records: silo and offset.
    damaged: HashSet<(usize, u64)>,
    findings: Vec<AardwarcFinding>,
    records: u64,
}

impl Aardwarc {
    /// Opens the store in a folder: `0/`, `1/…` with silos below, or `aardwarc.conf`, which states
    /// where they are, and which may also be the path itself. `None` when it has no AardWARC silo. Reads all silos and verifies every
    /// digest. Passes each number of bytes read to `progress`.
    pub fn open(folder: &Path, progress: &dyn Fn(u64)) -> Result<Option<Self>, AardwarcError> {
        let Some(silos) = AardwarcFolder::open(folder)?.silos()? else { return Ok(None) };
        let (segments, damaged) = (AardwarcSegments::default(), HashSet::new());
        let mut store = Self { silos, segments, damaged, findings: Vec::new(), records: 0 };
        for number in 0..store.silos.len() {
            store.examine(number, progress)?;
        }
        Ok(Some(store))
    }

    /// The silos, in order of their names.
    pub fn silos(&self) -> &[AardwarcSilo] {
        &self.silos
    }

    /// The findings, in order of the silos. An id that a user forced on metadata is reported as
    /// [`AuditKind::Id`], because the record does not show that it was forced.
    pub fn findings(&self) -> &[AardwarcFinding] {
        &self.findings
    }

    /// The number of records read.
    pub fn records(&self) -> u64 {
        self.records
    }

    pub(super) fn segments(&self) -> &AardwarcSegments {
        &self.segments
    }

    /// Reads a silo, notes its segments and verifies every record.
    fn examine(&mut self, number: usize, progress: &dyn Fn(u64)) -> Result<(), AardwarcError> {
        let silo = self.silos[number].clone();
        let path = silo.path();
        let failed = |source| AardwarcError::Silo { path: path.to_owned(), source };
        let Some(mut reader) = open_silo(&silo)? else {
            self.findings.push(AardwarcFinding::new(
                AuditKind::Damaged,
                path,
                0,
                "it cannot be read as a silo",
            ));
            return Ok(());
        };
        let mut checker = RecordChecker::default();
        let mut done = 0;
        while let Some(mut record) = reader.next_record().map_err(failed)? {
            let offset = record.offset();
            let checked = checker.check(&mut record, false).map_err(failed)?;
            let (header, is_cut) = (record.header().clone(), record.is_cut());
            self.segments.note(&header, number, offset);
            self.records += 1;
            reader.finish_record().map_err(failed)?;
            let found = checker.take_findings().chain(reader.take_findings());
            self.judge(
                (number, offset),
                &header,
                (checked, is_cut),
                &found.filter(is_damage).collect::<Vec<_>>(),
            );
            progress(reader.position().saturating_sub(done));
            done = reader.position();
        }
        let rest = reader.take_findings().into_iter().filter(is_damage);
        self.findings.extend(rest.map(|finding| AardwarcFinding::of(&finding, path)));
        Ok(())
    }

    /// Adds the findings of a record.
    fn judge(
        &mut self,
        place: (usize, u64),
        header: &RecordHeader,
        (checked, is_cut): (CheckedRecord, bool),
        found: &[WarcFinding],
    ) {
        let is_wrong =
            checked.block != DigestVerdict::Right || checked.payload == DigestVerdict::Wrong || is_cut;
        let (silo, offset) = (self.silos[place.0].path(), place.1);
        if is_wrong || found.iter().any(|finding| finding.offset == offset) {
            self.damaged.insert(place);
            if found.is_empty() {
                let message = "nothing shows that this record is what was written";
                let finding = AardwarcFinding::new(AuditKind::Damaged, silo, offset, message);
                self.findings.push(finding.with_id(header.record_id()));
            }
        } else {
            self.findings.extend(odd_id(header, silo, offset));
        }
        for finding in found {
            let id = header.record_id().filter(|_| finding.offset == offset);
            self.findings.push(AardwarcFinding::of(finding, silo).with_id(id));
        }
    }

    /// Passes every resource and metadata record with all its segments to `visit`, in order of the
    /// silos. Incomplete objects are skipped and returned as findings, in addition to
    /// [`Self::findings`].
    pub fn objects<E: From<AardwarcError>>(
        &self,
        mut visit: impl FnMut(AardwarcObject) -> Result<(), E>,
    ) -> Result<Vec<AardwarcFinding>, E> {
        let mut left_out = Vec::new();
        for (number, silo) in self.silos.iter().enumerate() {
            let mut result = Ok(());
            scan(silo, &mut |header, offset| {
                let is_object = matches!(header.record_type(), RecordType::Resource | RecordType::Metadata);
                if !is_object || result.is_err() {
                    return;
                }
                let is_damaged = |place| self.damaged.contains(&place);
                match self.segments.parts(&self.silos, header, (number, offset), &is_damaged) {
                    Ok(parts) => result = visit(AardwarcObject::new(header.clone(), parts)),
                    Err(why) => {
                        let id = String::from_utf8_lossy(header.record_id().unwrap_or_default()).into_owned();
                        let message = format!("`{id}` is left out: {why}");
                        let finding = AardwarcFinding::new(AuditKind::Segment, silo.path(), offset, message);
                        left_out.push(finding.with_id(header.record_id()));
                    }
                }
            })?;
            result?;
        }
        Ok(left_out)
    }
}

/// The finding for an id that does not match its record, whose digests are right.
fn odd_id(header: &RecordHeader, silo: &Path, offset: u64) -> Option<AardwarcFinding> {
    let stated = digits_of(header.record_id()?);
    let block: Digest = header.block_digest()?.ok()?;
    let whole = if header.is_segment() { header.payload_digest().and_then(Result::ok) } else { None };
    let content = whole.unwrap_or(block);
    let is_metadata = header.record_type() == RecordType::Metadata;
    let expected = match header.record_type() {
        RecordType::Metadata => {
            let about = header.reference("WARC-Refers-To").map(String::from_utf8_lossy).unwrap_or_default();
            RecordUri::of_metadata(&about, &content)
        }
        RecordType::Continuation => RecordUri::of_content(&block),
        _ => RecordUri::of_content(&content),
    };
    let expected = digits_of(expected.as_str().as_bytes());
    if !stated.is_empty() && expected.starts_with(&stated) {
        return None;
    }
    let should = &expected[..stated.len().clamp(16, expected.len())];
    let mut message = format!("the id of this record does not follow from it, which would be `{should}`");
    if is_metadata {
        message.push_str("; AardWARC lets its users force an id on metadata");
    }
    let mut finding = AardwarcFinding::new(AuditKind::Id, silo, offset, message).with_id(header.record_id());
    if is_metadata {
        finding.severity = AuditSeverity::Warning;
    }
    Some(finding)
}

/// Opens a silo; `None` when it is not a WARC file.
fn open_silo(silo: &AardwarcSilo) -> Result<Option<WarcReader<File>>, AardwarcError> {
    let file = silo.open().map_err(|source| silo.unread(source))?;
    match WarcReader::new(file) {
        Ok(reader) => Ok(Some(reader)),
        Err(source @ Error::Io { .. }) => Err(AardwarcError::Silo { path: silo.path().to_owned(), source }),
        Err(_) => Ok(None),
    }
}
