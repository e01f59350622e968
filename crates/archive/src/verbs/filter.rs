//! `filter`: reports which of many ids are stored, in an archive or an AardWARC store.

use varve_core::RecordId;
use varve_core::id::IdError;

use crate::error::ArchiveError;
use varve_repository::archive::{hex_digits, without_brackets};
use varve_repository::objects::aardwarc_digits;
use varve_repository::{Objects, RepositoryError};

/// Parses one complete id, the first word of a line, and returns its digits. An id of an archive is
/// accepted in either form and any case, with or without brackets; one of an AardWARC store with or
/// without the prefix of the store.
pub fn parse(objects: &Objects, line: &str) -> Result<String, IdError> {
    let word = line.split_whitespace().next().unwrap_or_default();
    match objects {
        Objects::Archive(_) => without_brackets(word).to_ascii_lowercase().parse().map(hex_digits),
        Objects::Aardwarc(_) => aardwarc_digits(word),
    }
}

/// Whether each of the parsed ids is stored, in order. A batch is looked up several times faster
/// than single ids. In an AardWARC store, a full digest matches the object stored under its first
/// digits.
pub fn here(objects: &Objects, ids: &[String]) -> Result<Vec<bool>, ArchiveError> {
    match objects {
        Objects::Archive(archive) => {
            let record = |id: &String| {
                id.parse::<RecordId>().map_err(|source| RepositoryError::NotAnId { text: id.clone(), source })
            };
            let records = ids.iter().map(record).collect::<Result<Vec<_>, _>>()?;
            Ok(archive.ask(|store| Ok(store.have(&records)?))?)
        }
        Objects::Aardwarc(store) => {
            let path = store.silos().first().map(|silo| silo.path().to_owned()).unwrap_or_default();
            Ok(store.have(ids).map_err(|source| RepositoryError::Aardwarc { path, source })?)
        }
    }
}
