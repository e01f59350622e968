//! Scans the headers of an AardWARC silo without its blocks.
//!
//! AardWARC writes the length of each gzip member into an extra field, so a reader can go from
//! header to header. From the first member without it on, the silo is read as an ordinary WARC
//! file.

use std::fs::File;
use std::io;
use std::path::Path;

use varve_warc::record::RecordHeader;
use varve_warc::{Error, Format, WarcReader};
use varve_wire::ReadAt;

use super::folder::AardwarcSilo;
use super::{AardwarcError, AardwarcFinding, is_damage};
use crate::audit::AuditKind;

/// Bytes of a member header, length field included.
pub(super) const MEMBER_HEADER_BYTES: usize = 24;
/// The member that ends every record: four bytes, always packed alike.
pub(super) const RECORD_END_MEMBER: [u8; 24] = [
    0x1f, 0x8b, 0x08, 0x00, 0x20, 0x01, 0x19, 0x66, 0x02, 0x03, 0xe3, 0xe5, 0xe2, 0xe5, 0x02, 0x00, 0x44,
    0x15, 0xc2, 0x8b, 0x04, 0x00, 0x00, 0x00,
];

/// Passes each header of a silo and its offset to `seen`. Returns the damage that is visible
/// without reading blocks.
pub(super) fn scan(
    silo: &AardwarcSilo,
    seen: &mut dyn FnMut(&RecordHeader, u64),
) -> Result<Vec<AardwarcFinding>, AardwarcError> {
    let unread = |source| silo.unread(source);
    let file = silo.open().map_err(unread)?;
    let size = file.size().map_err(unread)?;
    let mut offset = 0;
    while offset < size {
        let Some((header, next)) = step(&file, offset, size).map_err(unread)? else {
            return scan_slowly(&file, silo.path(), offset, seen);
        };
        seen(&header, offset);
        offset = next;
    }
    Ok(Vec::new())
}

/// The header of a record and the offset of the next one; `None` when they are not as AardWARC
/// writes them.
fn step(file: &File, offset: u64, size: u64) -> io::Result<Option<(RecordHeader, u64)>> {
    let Some(block) = end_of_member(file, offset, size)? else { return Ok(None) };
    let Some(end) = end_of_member(file, block, size)? else { return Ok(None) };
    let mut ending = [0; RECORD_END_MEMBER.len()];
    if read_all(file, end, &mut ending)? < RECORD_END_MEMBER.len() || ending != RECORD_END_MEMBER {
        return Ok(None);
    }
    let record = match WarcReader::at(file, offset).and_then(WarcReader::into_record) {
        Ok(record) => record,
        Err(Error::Io { source, .. }) => return Err(source),
        Err(_) => None,
    };
    let Some(mut record) = record else { return Ok(None) };
    if record.take_findings().iter().any(is_damage) {
        return Ok(None);
    }
    Ok(Some((record.header().clone(), end + RECORD_END_MEMBER.len() as u64)))
}

/// The end of the member at `offset`, by its length field.
fn end_of_member(file: &File, offset: u64, size: u64) -> io::Result<Option<u64>> {
    let mut bytes = [0; MEMBER_HEADER_BYTES];
    if read_all(file, offset, &mut bytes)? < MEMBER_HEADER_BYTES {
        return Ok(None);
    }
    let (fixed, length) = bytes.split_at(16);
    let is_aardwarc = fixed.starts_with(&[0x1f, 0x8b, 8, 4]) && fixed.ends_with(&[12, 0, b'A', b'a', 8, 0]);
    let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
    let end = offset.checked_add(length).filter(|end| *end <= size && length > MEMBER_HEADER_BYTES as u64);
    Ok(end.filter(|_| is_aardwarc))
}

pub(super) fn read_all(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads a silo from `offset` on as an ordinary WARC file.
fn scan_slowly(
    file: &File,
    path: &Path,
    offset: u64,
    seen: &mut dyn FnMut(&RecordHeader, u64),
) -> Result<Vec<AardwarcFinding>, AardwarcError> {
    let failed = |source| AardwarcError::Silo { path: path.to_owned(), source };
    let reader =
        if offset == 0 { WarcReader::new(file) } else { WarcReader::resume(file, offset, Format::Warc) };
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(source @ Error::Io { .. }) => return Err(failed(source)),
        Err(error) => {
            return Ok(vec![AardwarcFinding::new(AuditKind::Damaged, path, offset, error.to_string())]);
        }
    };
    let mut findings = Vec::new();
    while let Some(record) = reader.next_record().map_err(failed)? {
        seen(record.header(), record.offset());
        reader.finish_record().map_err(failed)?;
        findings.extend(reader.take_findings());
    }
    findings.extend(reader.take_findings());
    findings.retain(is_damage);
    Ok(findings.iter().map(|finding| AardwarcFinding::of(finding, path)).collect())
}
