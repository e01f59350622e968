//! `filter`: which of many ids are in the archive.

use varve_core::RecordId;
use varve_core::id::IdError;

use crate::archive::{Archive, without_brackets};
use crate::error::ArchiveError;

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
