//! `filter`: which of many ids are in the archive.

use varve_core::RecordId;
use varve_core::id::IdError;
use varve_repository::RepositoryError;

use varve_store::aardwarc::AardwarcStore;

use crate::error::ArchiveError;
use varve_repository::archive::{Archive, without_brackets};
use varve_repository::objects::aardwarc_digits;

/// Reads one whole id, in either form and any case, with or without brackets: the first word of a line.
pub fn parse(text: &str) -> Result<RecordId, IdError> {
    let word = text.split_whitespace().next().unwrap_or_default();
    without_brackets(word).to_ascii_lowercase().parse()
}

/// Whether each of the ids is here, in their order. Many at once are looked up several times faster than one by one.
pub fn here(archive: &Archive, ids: &[RecordId]) -> Result<Vec<bool>, ArchiveError> {
    let wanted: Vec<[u8; 32]> = ids.iter().map(|id| *id.as_bytes()).collect();
    Ok(archive.store().have(&wanted)?)
}

/// Reads one id as AardWARC writes it, with its prefix or without: its digits.
pub fn parse_aardwarc(text: &str) -> Result<String, IdError> {
    aardwarc_digits(text.split_whitespace().next().unwrap_or_default())
}

/// Whether each of the ids is in an AardWARC store. A digest in full means what is kept under its first digits.
pub fn here_in_aardwarc(store: &AardwarcStore, ids: &[String]) -> Result<Vec<bool>, ArchiveError> {
    let path = store.silos().first().cloned().unwrap_or_default();
    Ok(store.have(ids).map_err(|source| RepositoryError::Aardwarc { path, source })?)
}
