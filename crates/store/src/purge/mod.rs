//! Purge: copies silos without some of their records. Nothing else removes records.
//!
//! A separate [`StoreWriter`] writes the new silos elsewhere; the old ones are only read. Records
//! keep ids and headers and, with equal packing, their packed bytes; each is read and verified
//! first. The first revisit whose original is dropped gets the payload and becomes a response with
//! a new id; further revisits then refer to it. The caller decides which records are dropped and
//! records why.

mod copy_record;
mod copy_verbatim;
mod promote_revisit;

use std::collections::{HashMap, HashSet};

pub use copy_record::{copied_draft, draft_of_revisit};
pub use promote_revisit::revisit_as_response;
use varve_core::RecordId;
use varve_warc::WarcReader;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::{DICTIONARY_MAGIC, Packer};

use crate::error::StoreError;
use crate::exchange::RevisitOriginal;
use crate::index::SiloPlace;
use crate::reader::{StoreReader, record_corruption};
use crate::record::parse_id;
use crate::silo::{SiloFiles, describes_silo};
use crate::writer::StoreWriter;

/// A revisit that became a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromotedRevisit {
    /// The revisit.
    pub was: RecordId,
    /// The response.
    pub is: RecordId,
    /// The id or URL that it describes.
    pub url: String,
}

/// The result of copying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeOutcome {
    /// Records copied.
    pub kept: u64,
    /// Records dropped.
    pub dropped: u64,
    /// Revisits that became responses.
    pub promoted: Vec<PromotedRevisit>,
}

/// Passes the header, id and silo number of every record with an id to `each`, in the order of the
/// silos.
pub fn each_header(
    files: &SiloFiles,
    each: &mut dyn FnMut(&RecordHeader, RecordId, u32),
) -> Result<(), StoreError> {
    for number in files.list()?.into_keys() {
        let source = files.open(number)?;
        let failed = |error| StoreError::read(number, error);
        let mut reader = WarcReader::new(&*source).map_err(failed)?;
        while let Some(record) = reader.next_record().map_err(failed)? {
            if let Some(id) = record.header().record_id().and_then(parse_id) {
                each(record.header(), id, number);
            }
        }
    }
    Ok(())
}

/// The first silo that must be copied if records from silo `first` on are dropped. The sealed silos
/// before it stay unchanged.
pub fn first_to_copy(files: &SiloFiles, first: Option<u32>) -> Result<u32, StoreError> {
    let silos = files.list()?;
    let end = silos.keys().next_back().map_or(0, |last| last + 1);
    let mut first = first.unwrap_or(end).min(end);
    // Consecutive sealed silos from number 0.
    let sound =
        (0..first).take_while(|number| silos.get(number).is_some_and(|silo| silo.read_only && !silo.moved));
    first = sound.count() as u32;
    while first > 0 && silos.contains_key(&first) && begins_with_continuation(files, first)? {
        first -= 1;
    }
    Ok(first)
}

/// The first silo with a dictionary, which may contain parts of any earlier record.
pub fn first_with_dictionary(files: &SiloFiles) -> Result<Option<u32>, StoreError> {
    for number in files.list()?.into_keys() {
        let mut beginning = [0; DICTIONARY_MAGIC.len()];
        let source = files.open(number)?;
        let failed = |source| StoreError::read(number, varve_warc::Error::Io { offset: 0, source });
        let read = source.read_at(&mut beginning, 0).map_err(failed)?;
        if beginning[..read] == DICTIONARY_MAGIC {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Whether a silo begins with a continuation of the previous one.
fn begins_with_continuation(files: &SiloFiles, number: u32) -> Result<bool, StoreError> {
    let source = files.open(number)?;
    let failed = |error| StoreError::read(number, error);
    let mut reader = WarcReader::new(&*source).map_err(failed)?;
    while let Some(record) = reader.next_record().map_err(failed)? {
        match record.header().record_type() {
            RecordType::Warcinfo => {}
            kind => return Ok(kind == RecordType::Continuation),
        }
    }
    Ok(false)
}

/// Copies the records of `source` from silo `first` on to `target`, without those in `dropped`.
/// Calls `progress` for each record.
pub fn copy_silos_without(
    source: &StoreReader,
    first: u32,
    target: &StoreWriter,
    dropped: &HashSet<RecordId>,
    progress: &dyn Fn(u64),
) -> Result<PurgeOutcome, StoreError> {
    let mut rewriting = SiloRewriter {
        source,
        target,
        packer: target.packer()?,
        object_packer: target.small_packer()?,
        dropped,
        originals: HashMap::new(),
        replaced: HashMap::new(),
        done: PurgeOutcome::default(),
    };
    for (number, silo) in source.files().list()?.into_iter().filter(|(number, _)| *number >= first) {
        rewriting.silo(number, silo.ending, progress)?;
        target.sync()?;
    }
    target.sync()?;
    Ok(rewriting.done)
}

struct SiloRewriter<'a> {
    source: &'a StoreReader,
    target: &'a StoreWriter,
    packer: Packer,
    /// For objects and facts, which users mostly stored themselves.
    object_packer: Packer,
    dropped: &'a HashSet<RecordId>,
    /// The new record with the payload of a dropped record.
    originals: HashMap<RecordId, RevisitOriginal>,
    /// The new id of each replaced record.
    replaced: HashMap<RecordId, RecordId>,
    done: PurgeOutcome,
}

impl SiloRewriter<'_> {
    fn silo(&mut self, number: u32, ending: &str, progress: &dyn Fn(u64)) -> Result<(), StoreError> {
        let silo = self.source.files().open(number)?;
        let is_packed_so = self.has_target_packing(&*silo, ending)?;
        let failed = |error| StoreError::read(number, error);
        let mut reader = WarcReader::new(&*silo).map_err(failed)?;
        while let Some(mut record) = reader.next_record().map_err(failed)? {
            let header = record.header().clone();
            if let Some(id) = self.kept_record_id(&header) {
                let place = SiloPlace::new(number, record.offset())?;
                if !is_packed_so || !self.can_copy_verbatim(&record) {
                    self.record(&header, id, &mut record)?;
                } else {
                    let is_right = record_corruption(&mut record, place)?.is_none();
                    reader.finish_record().map_err(failed)?;
                    match reader.next_offset().filter(|_| is_right) {
                        Some(end) => self.copy_bytes(&header, id, &*silo, place.offset()..end)?,
                        None => self.repack_record(&header, id, place)?,
                    }
                }
            }
            reader.finish_record().map_err(failed)?;
            progress(1);
        }
        Ok(())
    }

    /// The id of a record to copy; `None` for a dropped one.
    fn kept_record_id(&mut self, header: &RecordHeader) -> Option<RecordId> {
        if describes_silo(header) || header.record_type() == RecordType::Continuation {
            // The new silos have their own descriptions, and continuations are copied with their
            // first segment.
            return None;
        }
        let id = header.record_id().and_then(parse_id)?;
        if self.dropped.contains(&id) {
            self.done.dropped += 1;
            return None;
        }
        self.done.kept += 1;
        Some(id)
    }

    /// Repacks a record.
    fn record(
        &mut self,
        header: &RecordHeader,
        id: RecordId,
        block: &mut impl std::io::BufRead,
    ) -> Result<(), StoreError> {
        match header.record_type() {
            RecordType::Resource | RecordType::Metadata => self.copy_object(header, id),
            RecordType::Revisit => match original_of(header).filter(|one| self.dropped.contains(one)) {
                Some(original) => self.copy_revisit(header, id, original, block),
                None => self.copy_event(header, block),
            },
            _ => self.copy_event(header, block),
        }
    }
}

/// The record that a revisit refers to.
fn original_of(header: &RecordHeader) -> Option<RecordId> {
    header.reference("WARC-Refers-To").and_then(parse_id)
}
