//! A temporary index of an AardWARC store, made by reading the headers of all its silos.
//!
//! Sixteen bytes per record, in bounded memory. The time is proportional to the number of records.

use super::folder::AardwarcSilo;
use super::segments::AardwarcSegments;
use super::{AardwarcError, AardwarcFinding, digits_of, scan};
use crate::disk::{DiskError, LocalDisk, Operation};
use crate::error::StoreError;
use crate::index::{
    IndexEntry, IndexOptions, IndexPrefix, IndexReader, IndexRebuild, PrefixRange, SiloPlace,
};
use varve_warc::record::RecordHeader;

/// The places of all records of a store.
pub(super) struct ScannedSilos {
    pub(super) segments: AardwarcSegments,
    index: IndexReader,
    pub(super) findings: Vec<AardwarcFinding>,
    /// The folder of the temporary index.
    _scratch: tempfile::TempDir,
}

impl ScannedSilos {
    /// Reads the headers of all silos. Passes each number of processed bytes to `progress`.
    pub(super) fn read(silos: &[AardwarcSilo], progress: &dyn Fn(u64)) -> Result<Self, AardwarcError> {
        let scratch = tempfile::tempdir().map_err(|source| {
            let error = DiskError::new(Operation::MakeFolders, &std::env::temp_dir(), source);
            AardwarcError::Index(error.into())
        })?;
        let disk = LocalDisk::new(scratch.path());
        let options = IndexOptions::default();
        let mut index = IndexRebuild::begin(&disk, scratch.path(), options).map_err(index_error)?;
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
        index.finish().map_err(index_error)?;
        let index = IndexReader::open(&disk, scratch.path()).map_err(index_error)?;
        Ok(Self { segments, index, findings, _scratch: scratch })
    }

    /// The places of at most `limit` records whose ids may be in the range.
    pub(super) fn places(&self, range: PrefixRange, limit: usize) -> Result<Vec<SiloPlace>, AardwarcError> {
        let entries = self.index.entries(range).map_err(index_error)?.take(limit);
        entries.map(|entry| Ok(entry.map_err(index_error)?.place)).collect()
    }

    /// The places of records that may have one of the ids, each with the number of the id.
    pub(super) fn places_of_many(
        &self,
        prefixes: &[IndexPrefix],
    ) -> Result<Vec<(SiloPlace, usize)>, AardwarcError> {
        let mut places = Vec::new();
        let found = self.index.find_many(prefixes, |number, place| places.push((place, number)));
        found.map_err(index_error)?;
        Ok(places)
    }
}

fn index_error(error: impl Into<StoreError>) -> AardwarcError {
    AardwarcError::Index(error.into())
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
pub(super) fn prefix_of(digits: &str) -> IndexPrefix {
    let leading: String = digits.chars().take(16).collect();
    IndexPrefix(u64::from_str_radix(&format!("{leading:0<16}"), 16).unwrap_or(0))
}
