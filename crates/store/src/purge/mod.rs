//! Copying silos without some of their records: the one way by which anything leaves them.
//!
//! The new silos are written by a [`StoreWriter`] of their own, elsewhere; the old ones are only read. Records keep their
//! ids and their headers, and where the packing is the same the very bytes that they have; each is read to its end and found
//! right first. A revisit whose original is left out gets the payload itself, and so becomes a response with
//! a new id; further revisits of that original refer to it from then on. What is left out, and why, is for others to
//! decide and to write down.

mod copy;
mod promote;
mod samples;
mod verbatim;

use std::collections::{HashMap, HashSet};

use varve_core::RecordId;
use varve_warc::Reader;
use varve_warc::record::{Header, RecordType};
use varve_warc::write::{DICTIONARY_MAGIC, Packer};

use crate::error::StoreError;
use crate::exchange::Original;
use crate::index::Place;
use crate::reader::{Store, fault_of};
use crate::record::parse_id;
use crate::silo::{SiloFiles, describes_silo};
use crate::writer::StoreWriter;

pub use samples::samples;

/// A revisit that became a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// The revisit.
    pub was: RecordId,
    /// The response.
    pub is: RecordId,
    /// What it is about.
    pub url: String,
}

/// What copying came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Records copied.
    pub kept: u64,
    /// Records left out.
    pub dropped: u64,
    /// Revisits that became responses.
    pub promoted: Vec<Promoted>,
}

/// Gives the header of every record that has an id, in the order of the silos, and the number of its silo.
pub fn each_header(
    files: &SiloFiles,
    each: &mut dyn FnMut(&Header, RecordId, u32),
) -> Result<(), StoreError> {
    for number in files.list()?.into_keys() {
        let source = files.open(number)?;
        let failed = |error| StoreError::read(number, error);
        let mut reader = Reader::new(&*source).map_err(failed)?;
        while let Some(record) = reader.next_record().map_err(failed)? {
            if let Some(id) = record.header().record_id().and_then(parse_id) {
                each(record.header(), RecordId::new(id), number);
            }
        }
    }
    Ok(())
}

/// The first silo that cannot stay as it is if something of `first` goes. Those before it are sealed for good, nothing in
/// them changes, and what follows them says so of them, so they need not be copied.
pub fn first_to_copy(files: &SiloFiles, first: Option<u32>) -> Result<u32, StoreError> {
    let silos = files.list()?;
    let end = silos.keys().next_back().map_or(0, |last| last + 1);
    let mut first = first.unwrap_or(end).min(end);
    // Numbers without a gap, each of a file that nobody writes to.
    let sound =
        (0..first).take_while(|number| silos.get(number).is_some_and(|silo| silo.read_only && !silo.moved));
    first = sound.count() as u32;
    while first > 0 && silos.contains_key(&first) && begins_with_rest(files, first)? {
        first -= 1;
    }
    Ok(first)
}

/// The first silo that begins with a dictionary, which may hold any of what was there when it was made.
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

/// Whether the first object of a silo began in the one before.
fn begins_with_rest(files: &SiloFiles, number: u32) -> Result<bool, StoreError> {
    let source = files.open(number)?;
    let failed = |error| StoreError::read(number, error);
    let mut reader = Reader::new(&*source).map_err(failed)?;
    while let Some(record) = reader.next_record().map_err(failed)? {
        match record.header().record_type() {
            RecordType::Warcinfo => {}
            kind => return Ok(kind == RecordType::Continuation),
        }
    }
    Ok(false)
}

/// Copies all of `source` from silo `first` on but the records in `dropped` to `target`. `progress` hears of each record.
pub fn copy_silos_without(
    source: &Store,
    first: u32,
    target: &StoreWriter,
    dropped: &HashSet<RecordId>,
    progress: &dyn Fn(u64),
) -> Result<Rewritten, StoreError> {
    let mut rewriting = Rewriting {
        source,
        target,
        packer: target.packer()?,
        object_packer: target.small_packer()?,
        dropped,
        originals: HashMap::new(),
        replaced: HashMap::new(),
        done: Rewritten::default(),
    };
    for (number, silo) in source.files().list()?.into_iter().filter(|(number, _)| *number >= first) {
        rewriting.silo(number, silo.ending, progress)?;
        target.sync()?;
    }
    target.sync()?;
    Ok(rewriting.done)
}

struct Rewriting<'a> {
    source: &'a Store,
    target: &'a StoreWriter,
    packer: Packer,
    /// For objects and facts, which are mostly what people handed over.
    object_packer: Packer,
    dropped: &'a HashSet<RecordId>,
    /// What holds the payload of a record that is left out.
    originals: HashMap<RecordId, Original>,
    /// Which record is in the place of another.
    replaced: HashMap<RecordId, RecordId>,
    done: Rewritten,
}

impl Rewriting<'_> {
    fn silo(&mut self, number: u32, ending: &str, progress: &dyn Fn(u64)) -> Result<(), StoreError> {
        let silo = self.source.files().open(number)?;
        let is_packed_so = self.is_packed_so(&*silo, ending)?;
        let failed = |error| StoreError::read(number, error);
        let mut reader = Reader::new(&*silo).map_err(failed)?;
        while let Some(mut record) = reader.next_record().map_err(failed)? {
            let header = record.header().clone();
            if let Some(id) = self.id_that_stays(&header) {
                let place = Place::new(number, record.offset())?;
                if !is_packed_so || !self.is_kept_as_it_is(&record) {
                    self.record(&header, id, &mut record)?;
                } else {
                    let is_right = fault_of(&mut record, place)?.is_none();
                    reader.finish_record().map_err(failed)?;
                    match reader.next_offset().filter(|_| is_right) {
                        Some(end) => self.copy_bytes(&header, id, &*silo, place.offset()..end)?,
                        None => self.record_again(&header, id, place)?,
                    }
                }
            }
            reader.finish_record().map_err(failed)?;
            progress(1);
        }
        Ok(())
    }

    /// The id of a record that is to be in the new silos.
    fn id_that_stays(&mut self, header: &Header) -> Option<RecordId> {
        if describes_silo(header) || header.record_type() == RecordType::Continuation {
            // The new silos describe themselves, and segments come with the first of them.
            return None;
        }
        let id = header.record_id().and_then(parse_id).map(RecordId::new)?;
        if self.dropped.contains(&id) {
            self.done.dropped += 1;
            return None;
        }
        self.done.kept += 1;
        Some(id)
    }

    /// Packs a record anew.
    fn record(
        &mut self,
        header: &Header,
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
fn original_of(header: &Header) -> Option<RecordId> {
    header.reference("WARC-Refers-To").and_then(parse_id).map(RecordId::new)
}
