//! An AardWARC store opened in place for reading objects by id.
//!
//! AardWARC's own index is not used: it may be behind its silos, and it trusts 96 bits of an id.
//! Opening reads the headers of all silos and builds a temporary index of sixteen bytes per record,
//! in bounded memory. The time is proportional to the number of records; for frequent use, import
//! the store.

use std::path::Path;

use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::{Error, WarcReader};

use super::folder::AardwarcSilo;
use super::object::AardwarcObject;
use super::segments::AardwarcSegments;
use super::{AardwarcError, AardwarcFinding, digits_of, folder, scan};
use crate::disk::{DiskError, LocalDisk, Operation};
use crate::error::StoreError;
use crate::index::{
    IndexEntry, IndexOptions, IndexPrefix, IndexReader, IndexRebuild, PrefixRange, SiloPlace,
};

/// Maximum number of records examined to count the ids with a common beginning.
const MAX_ID_CANDIDATES: usize = 1000;

/// An AardWARC store, open for reading.
pub struct AardwarcStore {
    silos: Vec<AardwarcSilo>,
    segments: AardwarcSegments,
    index: IndexReader,
    findings: Vec<AardwarcFinding>,
    /// The folder of the temporary index.
    _scratch: tempfile::TempDir,
}

/// A record that an id may refer to.
struct AardwarcCandidate {
    digits: String,
    header: RecordHeader,
    place: SiloPlace,
}

impl AardwarcCandidate {
    fn is_object(&self) -> bool {
        matches!(self.header.record_type(), RecordType::Resource | RecordType::Metadata)
    }
}

impl AardwarcStore {
    /// Opens the store in a folder; `None` when it has no AardWARC silo. Passes each number of
    /// processed bytes to `progress`.
    pub fn open(folder: &Path, progress: &dyn Fn(u64)) -> Result<Option<Self>, AardwarcError> {
        let Some(silos) = folder::silos(folder)? else { return Ok(None) };
        let scratch = tempfile::tempdir().map_err(|source| {
            let error = DiskError::new(Operation::MakeFolders, &std::env::temp_dir(), source);
            AardwarcError::Index(error.into())
        })?;
        let unmade = |error| AardwarcError::Index(StoreError::Index(error));
        let options = IndexOptions::default();
        let disk = LocalDisk::new(scratch.path());
        let mut index = IndexRebuild::begin(&disk, scratch.path(), options).map_err(unmade)?;
        let (mut segments, mut findings) = (AardwarcSegments::default(), Vec::new());
        for (number, silo) in silos.iter().enumerate() {
            let mut failure = Ok(());
            let found = scan::scan(silo, &mut |header, offset| {
                segments.note(header, number, offset);
                if failure.is_ok() {
                    failure = note(&mut index, header, number, offset);
                }
            })?;
            failure.map_err(AardwarcError::Index)?;
            findings.extend(found);
            progress(silo.length()?);
        }
        index.finish().map_err(unmade)?;
        let index = IndexReader::open(&disk, scratch.path()).map_err(unmade)?;
        Ok(Some(Self { silos, segments, index, findings, _scratch: scratch }))
    }

    /// The total length of the silos of the store in a folder.
    pub fn bytes_to_read(folder: &Path) -> Result<u64, AardwarcError> {
        let silos = folder::silos(folder)?.unwrap_or_default();
        silos.iter().try_fold(0, |sum, silo| Ok(sum + silo.length()?))
    }

    /// The silos, in order of their names.
    pub fn silos(&self) -> &[AardwarcSilo] {
        &self.silos
    }

    /// Unreadable headers. Their records are not found.
    pub fn findings(&self) -> &[AardwarcFinding] {
        &self.findings
    }

    /// The number of records.
    pub fn records(&self) -> u64 {
        self.index.entry_count()
    }

    /// The object whose id begins with these hex digits, or whose id is the beginning of these
    /// digits: a full SHA-256 finds an object stored under its first half. Objects take precedence
    /// over other records.
    pub fn object(&self, digits: &str) -> Result<Option<AardwarcObject>, AardwarcError> {
        let mut candidates = self.candidates(digits)?;
        if candidates.iter().any(AardwarcCandidate::is_object) {
            candidates.retain(AardwarcCandidate::is_object);
        }
        let mut ids: Vec<&str> = candidates.iter().map(|candidate| candidate.digits.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() > 1 {
            return Err(AardwarcError::Ambiguous { digits: digits.to_owned(), count: ids.len() });
        }
        // An object may be stored twice, and only one copy be complete.
        let mut problem = None;
        for candidate in candidates {
            match self.whole(candidate) {
                Ok(object) => return Ok(Some(object)),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        problem.map_or(Ok(None), Err)
    }

    /// Which of the ids are stored, in their order. Each must be at least as long as the stored id.
    pub fn have(&self, wanted: &[String]) -> Result<Vec<bool>, AardwarcError> {
        let prefixes: Vec<IndexPrefix> = wanted.iter().map(|digits| prefix_of(digits)).collect();
        let mut places: Vec<(SiloPlace, usize)> = Vec::new();
        let found = self.index.find_many(&prefixes, |number, place| places.push((place, number)));
        found.map_err(|error| AardwarcError::Index(error.into()))?;
        places.sort_unstable();
        let mut have = vec![false; wanted.len()];
        for (place, number) in places {
            if have[number] {
                continue;
            }
            let header = self.header_at(place)?;
            let id = header.as_ref().and_then(RecordHeader::record_id).map(digits_of);
            have[number] = id.is_some_and(|id| !id.is_empty() && wanted[number].starts_with(&id));
        }
        Ok(have)
    }

    fn candidates(&self, digits: &str) -> Result<Vec<AardwarcCandidate>, AardwarcError> {
        let leading = digits.len().min(16) as u32;
        let range = PrefixRange::leading(prefix_of(digits).0, leading * 4);
        let failed = |error| AardwarcError::Index(StoreError::Index(error));
        let mut found = Vec::new();
        for entry in self.index.entries(range).map_err(failed)?.take(MAX_ID_CANDIDATES) {
            let place = entry.map_err(failed)?.place;
            let Some(header) = self.header_at(place)? else { continue };
            let id = header.record_id().map(digits_of).unwrap_or_default();
            if !id.is_empty() && (id.starts_with(digits) || digits.starts_with(&id)) {
                found.push(AardwarcCandidate { digits: id, header, place });
            }
        }
        Ok(found)
    }

    fn header_at(&self, place: SiloPlace) -> Result<Option<RecordHeader>, AardwarcError> {
        let silo = &self.silos[place.silo() as usize];
        let file = silo.open().map_err(|source| silo.unread(source))?;
        match WarcReader::at(file, place.offset()).and_then(WarcReader::into_record) {
            Ok(record) => Ok(record.map(|record| record.header().clone())),
            Err(source @ Error::Io { .. }) => {
                Err(AardwarcError::Silo { path: silo.path().to_owned(), source })
            }
            Err(_) => Ok(None),
        }
    }

    /// The object of a record, with all its segments.
    fn whole(&self, candidate: AardwarcCandidate) -> Result<AardwarcObject, AardwarcError> {
        let AardwarcCandidate { header, place, .. } = candidate;
        let first = (place.silo() as usize, place.offset());
        match self.segments.parts(&self.silos, &header, first, &|_| false) {
            Ok(parts) => Ok(AardwarcObject::new(header, parts)),
            Err(why) => {
                let id = String::from_utf8_lossy(header.record_id().unwrap_or_default()).into_owned();
                let silo = self.silos[first.0].path().to_owned();
                Err(AardwarcError::NotWhole { id, silo, offset: first.1, why })
            }
        }
    }
}

fn note(
    index: &mut IndexRebuild<'_>,
    header: &RecordHeader,
    silo: usize,
    offset: u64,
) -> Result<(), StoreError> {
    let Some(id) = header.record_id() else { return Ok(()) };
    let place = SiloPlace::new(u32::try_from(silo).unwrap_or(u32::MAX), offset)?;
    Ok(index.push(IndexEntry { prefix: prefix_of(&digits_of(id)), place })?)
}

/// The index prefix of an id: its first sixteen digits.
fn prefix_of(digits: &str) -> IndexPrefix {
    let leading: String = digits.chars().take(16).collect();
    IndexPrefix(u64::from_str_radix(&format!("{leading:0<16}"), 16).unwrap_or(0))
}
