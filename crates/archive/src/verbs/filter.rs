//! `filter`: reports which of many ids are in the archive.

use varve_core::RecordId;
use varve_core::id::IdError;
use varve_repository::RepositoryError;

use varve_store::aardwarc::AardwarcStore;

use crate::error::ArchiveError;
use varve_repository::archive::{Archive, without_brackets};
use varve_repository::objects::aardwarc_digits;

/// Parses one complete id, in either form and any case, with or without brackets: the first word of
/// a line.
pub fn parse(text: &str) -> Result<RecordId, IdError> {
    let word = text.split_whitespace().next().unwrap_or_default();
    without_brackets(word).to_ascii_lowercase().parse()
}

/// Whether the archive has each of the ids, in order. A batch is looked up several times faster
/// than single ids.
pub fn here(archive: &Archive, ids: &[RecordId]) -> Result<Vec<bool>, ArchiveError> {
    Ok(archive.store().have(ids)?)
}

/// Parses one id as AardWARC writes it, with or without its prefix. Returns its digits.
pub fn parse_aardwarc(text: &str) -> Result<String, IdError> {
    aardwarc_digits(text.split_whitespace().next().unwrap_or_default())
}

/// Whether an AardWARC store has each of the ids. A full digest matches the object stored under its
/// first digits.
pub fn here_in_aardwarc(store: &AardwarcStore, ids: &[String]) -> Result<Vec<bool>, ArchiveError> {
    let path = store.silos().first().cloned().unwrap_or_default();
    Ok(store.have(ids).map_err(|source| RepositoryError::Aardwarc { path, source })?)
}
