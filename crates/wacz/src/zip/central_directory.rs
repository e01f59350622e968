//! The entries of the directory.

use std::io::{BufReader, Read};

use varve_wire::{ReadAt, ReadAtCursor};

use super::end_record::DirectoryPlace;
use super::fields::{ENTRY_BYTES, ENTRY_SIGNATURE, LargeNumbers, large_numbers, u16_at, u32_at};
use super::{MAX_DIRECTORY_BYTES, MAX_MEMBERS, ZipCompression, ZipFinding, ZipMember, ZipRule};
use crate::error::WaczError;

/// Bytes that are read at once.
const READ_BYTES: usize = 128 << 10;
/// The bit of the flags for encryption.
const ENCRYPTED_FLAG: u16 = 1;

/// Reads the directory. `None` when not even its first entry can be read, although there should be
/// one.
pub(super) fn read_directory(
    source: &impl ReadAt,
    place: &DirectoryPlace,
    findings: &mut Vec<ZipFinding>,
) -> Result<Option<Vec<ZipMember>>, WaczError> {
    let too_large = |what: String| WaczError::DirectoryTooLarge { offset: place.start, what };
    if place.length > MAX_DIRECTORY_BYTES {
        return Err(too_large(format!("{} bytes; at most {MAX_DIRECTORY_BYTES} are read", place.length)));
    }
    let mut bytes =
        BufReader::with_capacity(READ_BYTES, ReadAtCursor::new(source, place.start)).take(place.length);
    let mut members = Vec::new();
    let mut before: Vec<ZipFinding> = foreign_bytes(place).collect();
    loop {
        let offset = place.start + (place.length - bytes.limit());
        if bytes.limit() == 0 {
            break;
        }
        if members.len() >= MAX_MEMBERS {
            return Err(too_large(format!("more than {MAX_MEMBERS} members")));
        }
        match read_entry(&mut bytes, place.prefix).map_err(WaczError::io(offset))? {
            Some(member) => members.push(member),
            None => {
                let message = "an entry of the directory is damaged: what follows it is not read";
                before.push(ZipFinding::new(ZipRule::DirectoryEntry, offset, message));
                break;
            }
        }
    }
    if members.is_empty() && place.entries > 0 {
        return Ok(None);
    }
    findings.append(&mut before);
    let wanted = place.entries;
    if members.len() as u64 != wanted && findings.iter().all(|found| found.rule != ZipRule::DirectoryEntry) {
        let message =
            format!("the directory has {} entries, and its end record says {wanted}", members.len());
        findings.push(ZipFinding::new(ZipRule::DirectoryEntry, place.start, message));
    }
    Ok(Some(members))
}

fn foreign_bytes(place: &DirectoryPlace) -> impl Iterator<Item = ZipFinding> {
    let end = place.start + place.length;
    let found = |count: u64, offset: u64, place: &str| {
        let message = format!("{count} bytes stand {place}");
        (count > 0).then(|| ZipFinding::new(ZipRule::ForeignBytes, offset, message))
    };
    let first = found(place.prefix, 0, "before the first member");
    let last = found(place.suffix, end, "after the end record");
    first.into_iter().chain(last)
}

/// Reads one entry. `None` when it is damaged.
fn read_entry(bytes: &mut impl Read, prefix: u64) -> std::io::Result<Option<ZipMember>> {
    let mut fixed = [0; ENTRY_BYTES];
    if !fill(bytes, &mut fixed)? || u32_at(&fixed, 0) != Some(ENTRY_SIGNATURE) {
        return Ok(None);
    }
    let lengths = [28, 30, 32].map(|at| usize::from(u16_at(&fixed, at).unwrap_or(0)));
    let mut rest = vec![0; lengths.iter().sum()];
    if !fill(bytes, &mut rest)? {
        return Ok(None);
    }
    let (name, rest) = rest.split_at(lengths[0]);
    Ok(member_of(&fixed, name, &rest[..lengths[1]], prefix))
}

fn member_of(fixed: &[u8], name: &[u8], extra: &[u8], prefix: u64) -> Option<ZipMember> {
    let (packed, size, offset) = (u32_at(fixed, 20)?, u32_at(fixed, 24)?, u32_at(fixed, 42)?);
    let LargeNumbers { size, packed_size, header_offset } = large_numbers(size, packed, offset, extra)?;
    Some(ZipMember {
        name: String::from_utf8_lossy(name).into_owned(),
        header_offset: header_offset.checked_add(prefix)?,
        packed_size,
        size,
        crc32: u32_at(fixed, 16)?,
        method: method_of(u16_at(fixed, 10)?),
        is_encrypted: u16_at(fixed, 8)? & ENCRYPTED_FLAG != 0,
        limit: 0,
        is_unmeasured: false,
    })
}

/// The packing method of that number.
pub(super) fn method_of(number: u16) -> ZipCompression {
    match number {
        0 => ZipCompression::Stored,
        8 => ZipCompression::Deflated,
        other => ZipCompression::Other(other),
    }
}

/// Fills the buffer. False when the bytes end before.
fn fill(bytes: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match bytes.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
