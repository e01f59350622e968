//! A store read from end to end: for who brings its objects elsewhere, or wants to know whether they are what they were.
//!
//! Two passes: the first checks every record and notes where segments are, the second gives the objects that are whole.
//! What is damaged is said and left out: kept elsewhere, it would pass for good.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use varve_warc::check::{Checked, Checker, Verdict};
use varve_warc::digest::Digest;
use varve_warc::record::{Header, RecordType};
use varve_warc::rule::Finding;
use varve_warc::write::id;
use varve_warc::{Error, Reader};

use super::object::AardwarcObject;
use super::scan::scan;
use super::segments::Segments;
use super::{AardwarcError, AardwarcFinding, digits_of, folder, is_damage};
use crate::audit::{AuditKind, AuditSeverity};

/// An AardWARC store of which every byte was read.
pub struct Aardwarc {
    silos: Vec<PathBuf>,
    segments: Segments,
    /// Records that are not as they were written: silo and offset.
    damaged: HashSet<(usize, u64)>,
    findings: Vec<AardwarcFinding>,
    records: u64,
}

impl Aardwarc {
    /// Opens the store in a folder: `0/`, `1/…` with silos below, or `aardwarc.conf`, which says where they are. None when
    /// there is no silo of AardWARC in it. All silos are read, and every digest is checked. `progress` hears how many more
    /// bytes of silos were read.
    pub fn open(folder: &Path, progress: &dyn Fn(u64)) -> Result<Option<Self>, AardwarcError> {
        let Some(silos) = folder::silos(folder)? else { return Ok(None) };
        let (segments, damaged) = (Segments::default(), HashSet::new());
        let mut store = Self { silos, segments, damaged, findings: Vec::new(), records: 0 };
        for number in 0..store.silos.len() {
            store.examine(number, progress)?;
        }
        Ok(Some(store))
    }

    /// The silos, in order of their names.
    pub fn silos(&self) -> &[PathBuf] {
        &self.silos
    }

    /// What is not as it was written, in order of the silos. An id that was forced on metadata is among it, as
    /// [`AuditKind::Id`]: nothing shows that it was.
    pub fn findings(&self) -> &[AardwarcFinding] {
        &self.findings
    }

    /// How many records were read.
    pub fn records(&self) -> u64 {
        self.records
    }

    pub(super) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Reads a silo, notes where segments are, and holds every record against its digests.
    fn examine(&mut self, number: usize, progress: &dyn Fn(u64)) -> Result<(), AardwarcError> {
        let path = self.silos[number].clone();
        let failed = |source| AardwarcError::Silo { path: path.clone(), source };
        let Some(mut reader) = open_silo(&path)? else {
            self.findings.push(AardwarcFinding::new(
                AuditKind::Damaged,
                &path,
                0,
                "it cannot be read as a silo",
            ));
            return Ok(());
        };
        let mut checker = Checker::default();
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
        self.findings.extend(rest.map(|finding| AardwarcFinding::of(&finding, &path)));
        Ok(())
    }

    /// Says what is wrong with a record that was read.
    fn judge(
        &mut self,
        place: (usize, u64),
        header: &Header,
        (checked, is_cut): (Checked, bool),
        found: &[Finding],
    ) {
        let is_wrong = checked.block != Verdict::Right || checked.payload == Verdict::Wrong || is_cut;
        let (silo, offset) = (&self.silos[place.0], place.1);
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

    /// Gives every resource and metadata record to `visit`, with all its segments, in the order of the silos. What is not
    /// whole is left out; the answer says what that is, besides what [`Self::findings`] says.
    pub fn objects<E: From<AardwarcError>>(
        &self,
        mut visit: impl FnMut(AardwarcObject) -> Result<(), E>,
    ) -> Result<Vec<AardwarcFinding>, E> {
        let mut left_out = Vec::new();
        for (number, path) in self.silos.iter().enumerate() {
            let mut result = Ok(());
            scan(path, &mut |header, offset| {
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
                        let finding = AardwarcFinding::new(AuditKind::Segment, path, offset, message);
                        left_out.push(finding.with_id(header.record_id()));
                    }
                }
            })?;
            result?;
        }
        Ok(left_out)
    }
}

/// Says so if the id of a record does not follow from it. All its digests are right.
fn odd_id(header: &Header, silo: &Path, offset: u64) -> Option<AardwarcFinding> {
    let stated = digits_of(header.record_id()?);
    let block: Digest = header.block_digest()?.ok()?;
    let whole = if header.is_segment() { header.payload_digest().and_then(Result::ok) } else { None };
    let content = whole.unwrap_or(block);
    let is_metadata = header.record_type() == RecordType::Metadata;
    let expected = match header.record_type() {
        RecordType::Metadata => {
            let about = header.reference("WARC-Refers-To").map(String::from_utf8_lossy).unwrap_or_default();
            id::of_metadata(&about, &content)
        }
        RecordType::Continuation => id::of_content(&block),
        _ => id::of_content(&content),
    };
    let expected = digits_of(expected.as_bytes());
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

/// Opens a silo; none when it is nothing of the kind.
fn open_silo(path: &Path) -> Result<Option<Reader<File>>, AardwarcError> {
    let file = File::open(path).map_err(|source| AardwarcError::Io { path: path.to_owned(), source })?;
    match Reader::new(file) {
        Ok(reader) => Ok(Some(reader)),
        Err(source @ Error::Io { .. }) => Err(AardwarcError::Silo { path: path.to_owned(), source }),
        Err(_) => Ok(None),
    }
}
