//! Dictionaries in a purge.
//!
//! A dictionary contains text of pages from when it was made. It is stored in its own file, and at
//! the beginning of each silo packed with it. If anything is removed, no dictionary stays. All
//! silos from the first one with a dictionary are repacked with a dictionary made from the
//! remaining data, or without one if that is too little.

use std::collections::HashSet;

use varve_core::RecordId;
use varve_store::purge::first_with_dictionary;
use varve_warc::write::{Dictionary, Packing};

use crate::error::ArchiveError;
use crate::verbs::train::{self, MAX_DICTIONARY_BYTES};
use varve_repository::archive_writer::ArchiveWriter;
use varve_repository::history::{ArchiveHistoryReader, HistoryReader};
use varve_repository::settings::{MAX_DICTIONARY_BYTES as LARGEST_STORED, PackingMethod};

/// What a purge does with the dictionaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dictionaries {
    /// There are none, or no removed data could be in them.
    #[default]
    AsTheyWere,
    /// One dictionary made from the remaining data replaced all others.
    MadeAgain,
    /// All were removed.
    Removed,
}

/// How the new silos are packed.
pub(super) struct Renewed {
    pub(super) fate: Dictionaries,
    pub(super) packing: Packing,
    /// The dictionary for future silos.
    pub(super) stored: Option<Vec<u8>>,
    /// The first silo that cannot stay because it begins with a dictionary.
    pub(super) first_silo: Option<u32>,
}

/// Determines how to pack the remaining data when `dropped` is removed.
pub(super) fn renewed(writer: &ArchiveWriter, dropped: &HashSet<RecordId>) -> Result<Renewed, ArchiveError> {
    let first_silo = match dropped.is_empty() {
        true => None,
        false => first_with_dictionary(&writer.backends().silos())?,
    };
    let path = writer.layout().dictionary();
    let old =
        writer.layout().files().read(&path, LARGEST_STORED as u64).map_err(ArchiveError::read(&path))?;
    if dropped.is_empty() || (first_silo.is_none() && old.is_none()) {
        let packing = writer.store().settings().packing.clone();
        return Ok(Renewed { fate: Dictionaries::AsTheyWere, packing, stored: None, first_silo });
    }
    let stored = match old {
        Some(old) if writer.settings().packing == PackingMethod::Zstd => made_of_rest(writer, old, dropped)?,
        _ => None,
    };
    let fate = if stored.is_some() { Dictionaries::MadeAgain } else { Dictionaries::Removed };
    let packing = writer.settings().packing(stored.clone().map(Dictionary::new));
    Ok(Renewed { fate, packing, stored, first_silo })
}

/// A dictionary of the remaining data, no larger than the old one. `None` if there is too little
/// data, or rows that identify the newest version are missing.
fn made_of_rest(
    writer: &ArchiveWriter,
    old: Vec<u8>,
    dropped: &HashSet<RecordId>,
) -> Result<Option<Vec<u8>>, ArchiveError> {
    let opened = ArchiveHistoryReader::open(writer.layout().root());
    let Ok(history) = opened.map(HistoryReader::Archive) else { return Ok(None) };
    let size = Dictionary::new(old).plain().map_or(MAX_DICTIONARY_BYTES, |plain| plain.len());
    let files = writer.backends().silos();
    match train::make(&history, &files, size, &|record| !dropped.contains(&record)) {
        Ok((_, stored)) => Ok(Some(stored)),
        Err(ArchiveError::NoDictionary { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
