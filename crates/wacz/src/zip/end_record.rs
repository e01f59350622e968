//! The end record, from which the directory is found.

use varve_wire::ReadAt;

use super::fields::{
    END_BYTES, END_SIGNATURE, END64_SIGNATURE, IN_ZIP64_FIELD, LOCATOR_SIGNATURE, u16_at, u32_at, u64_at,
};
use super::read_fully;
use crate::error::WaczError;

/// Longest comment after the end record.
const MAX_COMMENT_BYTES: u64 = u16::MAX as u64;
/// A tail with more signatures than this was made to cost time.
const MAX_END_RECORDS: usize = 16;
const LOCATOR_BYTES: u64 = 20;
const END64_BYTES: usize = 56;

/// Where the directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirectoryPlace {
    /// Its first byte in the file.
    pub(super) start: u64,
    /// The number of its bytes.
    pub(super) length: u64,
    /// The number of entries that it should have.
    pub(super) entries: u64,
    /// The number of bytes before the archive. All offsets inside it count from there.
    pub(super) prefix: u64,
    /// The number of bytes after the end record and its comment.
    pub(super) suffix: u64,
}

/// Finds the directory. `None` when the end of the file has no end record, or one whose numbers
/// lead out of the file.
pub(super) fn find_directory(source: &impl ReadAt, size: u64) -> Result<Option<DirectoryPlace>, WaczError> {
    let tail_start = size.saturating_sub(END_BYTES as u64 + MAX_COMMENT_BYTES);
    let tail_length = usize::try_from(size - tail_start).unwrap_or(0);
    let mut tail = vec![0; tail_length];
    let read = read_fully(source, &mut tail, tail_start).map_err(WaczError::io(tail_start))?;
    tail.truncate(read);
    // The last record that leads to a directory counts: a comment may contain the signature.
    let places = (0..tail.len().saturating_sub(END_BYTES - 1)).rev();
    let signed = places.filter(|at| u32_at(&tail, *at) == Some(END_SIGNATURE));
    for at in signed.take(MAX_END_RECORDS) {
        let Some(record) = tail.get(at..) else { continue };
        if let Some(place) = read_end_record(source, record, tail_start + at as u64)? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Reads the end record at `offset`.
fn read_end_record(
    source: &impl ReadAt,
    record: &[u8],
    offset: u64,
) -> Result<Option<DirectoryPlace>, WaczError> {
    let numbers =
        || Some((u16_at(record, 10)?, u32_at(record, 12)?, u32_at(record, 16)?, u16_at(record, 20)?));
    let Some((entries, length, start, comment)) = numbers() else { return Ok(None) };
    let Some(suffix) = (record.len() as u64).checked_sub(END_BYTES as u64 + u64::from(comment)) else {
        return Ok(None);
    };
    let is_large = entries == u16::MAX || length == IN_ZIP64_FIELD || start == IN_ZIP64_FIELD;
    if is_large && let Some(place) = read_end64(source, offset, suffix)? {
        return Ok(Some(place));
    }
    let (length, start) = (u64::from(length), u64::from(start));
    // Bytes may stand before the archive: then the directory begins later than its record says.
    let Some(prefix) = offset.checked_sub(length).and_then(|actual| actual.checked_sub(start)) else {
        return Ok(None);
    };
    Ok(Some(DirectoryPlace { start: prefix + start, length, entries: u64::from(entries), prefix, suffix }))
}

/// Reads the end record of ZIP64, to which the locator before the end record leads.
fn read_end64(
    source: &impl ReadAt,
    end_offset: u64,
    suffix: u64,
) -> Result<Option<DirectoryPlace>, WaczError> {
    let Some(locator_offset) = end_offset.checked_sub(LOCATOR_BYTES) else { return Ok(None) };
    let mut locator = [0; LOCATOR_BYTES as usize];
    read_fully(source, &mut locator, locator_offset).map_err(WaczError::io(locator_offset))?;
    if u32_at(&locator, 0) != Some(LOCATOR_SIGNATURE) {
        return Ok(None);
    }
    let told = u64_at(&locator, 8).unwrap_or(u64::MAX);
    // With bytes before the archive, the record is later than the locator says: right before it.
    for offset in [told, locator_offset.saturating_sub(END64_BYTES as u64)] {
        let mut record = [0; END64_BYTES];
        let read = read_fully(source, &mut record, offset).map_err(WaczError::io(offset))?;
        if read < record.len() || u32_at(&record, 0) != Some(END64_SIGNATURE) || offset < told {
            continue;
        }
        let numbers = || Some((u64_at(&record, 32)?, u64_at(&record, 40)?, u64_at(&record, 48)?));
        let Some((entries, length, start)) = numbers() else { continue };
        let prefix = offset - told;
        let place = start
            .checked_add(prefix)
            .filter(|start| start.checked_add(length).is_some_and(|end| end <= offset));
        if let Some(start) = place {
            return Ok(Some(DirectoryPlace { start, length, entries, prefix, suffix }));
        }
    }
    Ok(None)
}
