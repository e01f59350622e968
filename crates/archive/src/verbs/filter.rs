//! `filter`: reports which of many ids are stored, in an archive or an AardWARC store.
//!
//! An id is complete, or has at least the sixteen digits that AardWARC's shortest ids have. With
//! fewer, a stored id could match by chance.

use varve_core::id::{IdError, IdPrefix};
use varve_store::MIN_LOOKUP_DIGITS;

use crate::error::ArchiveError;
use varve_repository::archive::id_digits;
use varve_repository::{Objects, RepositoryError};

/// Parses the id at the beginning of a line, the first word, and returns its digits. It may be
/// written as varve or as AardWARC prints it, in any case, with or without brackets and prefix.
pub fn parse(line: &str) -> Result<String, IdError> {
    let digits = id_digits(line.split_whitespace().next().unwrap_or_default())?;
    match digits.len() {
        MIN_LOOKUP_DIGITS.. => Ok(digits),
        found => Err(IdError::PrefixLength { kind: "id", least: MIN_LOOKUP_DIGITS, most: 64, found }),
    }
}

/// Whether each of the parsed ids is stored, in order. A batch is looked up several times faster
/// than single ids. In an archive, an id matches stored ids that begin with it. In an AardWARC
/// store, a full digest matches the object stored under its first digits.
pub fn here(objects: &Objects, ids: &[String]) -> Result<Vec<bool>, ArchiveError> {
    match objects {
        Objects::Archive(archive) => {
            let prefix = |id: &String| {
                id.parse::<IdPrefix>().map_err(|source| RepositoryError::NotAnId { text: id.clone(), source })
            };
            let prefixes = ids.iter().map(prefix).collect::<Result<Vec<_>, _>>()?;
            Ok(archive.ask(|store| Ok(store.have_beginnings(&prefixes)?))?)
        }
        Objects::Aardwarc(store) => {
            let path = store.silos().first().map(|silo| silo.path().to_owned()).unwrap_or_default();
            Ok(store.have(ids).map_err(|source| RepositoryError::Aardwarc { path, source })?)
        }
    }
}
