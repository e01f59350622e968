//! Packs: sixteen bodies in one zip, as projects of version 3 have them: reading them.
//!
//! A pack is a zip of at most a few entries, stored or deflated. It is read here by hand and not by
//! a zip library for two reasons: a body must be a stream that owns its file, and a directory that
//! claims a million entries must cost nothing. The directory is found from the end, its size is
//! capped, every offset is checked against the file's length, and the checksum is checked when the
//! last byte was read.

use flate2::read::DeflateDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::format_error::BodyPackError;

/// A directory larger than this belongs to no pack: sixteen entries take one or two thousand bytes.
const MAX_DIRECTORY_BYTES: u64 = 1 << 16;
/// How far from the end the end record can be: itself, and the longest comment.
const MAX_TAIL_BYTES: u64 = 22 + 65_535;
/// Deflate cannot shrink anything further than this.
const MAX_DEFLATE_RATIO: u64 = 1_032;

/// One body in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackEntry {
    method: u16,
    checksum: u32,
    packed: u64,
    pub(crate) length: u64,
    header_at: u64,
}

/// Finds the entry of that name; the last one, if there are several.
pub(crate) fn find_entry(file: &mut File, name: &str) -> Result<Option<PackEntry>, BodyPackError> {
    let mut found = None;
    for_each_entry(file, |entry_name, entry| {
        if entry_name == name.as_bytes() {
            found = Some(entry);
        }
    })?;
    found.map(checked).transpose()
}

/// The names of all entries of a pack.
pub(crate) fn entry_names(file: &mut File) -> Result<Vec<Vec<u8>>, BodyPackError> {
    let mut names = Vec::new();
    for_each_entry(file, |name, _| names.push(name.to_vec()))?;
    Ok(names)
}

fn for_each_entry(
    file: &mut File,
    mut each: impl FnMut(&[u8], Result<PackEntry, BodyPackError>),
) -> Result<(), BodyPackError> {
    let directory = read_directory(file)?;
    let mut rest = directory.as_slice();
    while !rest.is_empty() {
        let (name, entry, behind) = read_entry(rest).ok_or(BodyPackError::BadDirectory)?;
        each(name, entry);
        rest = behind;
    }
    Ok(())
}

fn checked(entry: Result<PackEntry, BodyPackError>) -> Result<PackEntry, BodyPackError> {
    let entry = entry?;
    let possible = match entry.method {
        0 => entry.packed == entry.length,
        8 => entry.length / MAX_DEFLATE_RATIO <= entry.packed,
        method => return Err(BodyPackError::UnknownMethod(method)),
    };
    if possible { Ok(entry) } else { Err(BodyPackError::BadEntry) }
}

/// The bytes of the central directory.
fn read_directory(file: &mut File) -> Result<Vec<u8>, BodyPackError> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail_at = length.saturating_sub(MAX_TAIL_BYTES);
    let tail = read_at(file, tail_at, length - tail_at)?;
    let end =
        (0..tail.len()).rev().find(|&at| is_end_record(&tail[at..])).ok_or(BodyPackError::NoDirectory)?;
    let record = &tail[end..];
    let (mut size, mut at) = (u64::from(u32_at(record, 12)), u64::from(u32_at(record, 16)));
    if size == u64::from(u32::MAX) || at == u64::from(u32::MAX) || u16_at(record, 10) == u16::MAX {
        (size, at) = read_large_end(file, tail_at + end as u64)?;
    }
    let fits = at.checked_add(size).is_some_and(|end| end <= length) && size <= MAX_DIRECTORY_BYTES;
    if !fits {
        return Err(BodyPackError::NoDirectory);
    }
    Ok(read_at(file, at, size)?)
}

/// Whether this is the end record of a zip whose comment reaches exactly to the end.
fn is_end_record(bytes: &[u8]) -> bool {
    bytes.len() >= 22
        && bytes.starts_with(b"PK\x05\x06")
        && bytes.len() - 22 == usize::from(u16_at(bytes, 20))
}

/// Size and place of the directory from the 64-bit end record, which a locator before the other one
/// points to.
fn read_large_end(file: &mut File, end_at: u64) -> Result<(u64, u64), BodyPackError> {
    let locator_at = end_at.checked_sub(20).ok_or(BodyPackError::NoDirectory)?;
    let locator = read_at(file, locator_at, 20)?;
    if !locator.starts_with(b"PK\x06\x07") {
        return Err(BodyPackError::NoDirectory);
    }
    let record_at = u64_at(&locator, 8);
    if record_at.checked_add(56).is_none_or(|end| end > locator_at) {
        return Err(BodyPackError::NoDirectory);
    }
    let record = read_at(file, record_at, 56)?;
    if !record.starts_with(b"PK\x06\x06") {
        return Err(BodyPackError::NoDirectory);
    }
    Ok((u64_at(&record, 40), u64_at(&record, 48)))
}

type EntryAndRest<'a> = (&'a [u8], Result<PackEntry, BodyPackError>, &'a [u8]);

/// The name of the first entry of a directory, the entry, and the rest of the directory.
fn read_entry(bytes: &[u8]) -> Option<EntryAndRest<'_>> {
    if bytes.len() < 46 || !bytes.starts_with(b"PK\x01\x02") {
        return None;
    }
    let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(bytes, at)));
    let behind = bytes.get(46 + name + extra + comment..)?;
    let is_encrypted = u16_at(bytes, 8) & 1 != 0;
    let entry = PackEntry {
        method: u16_at(bytes, 10),
        checksum: u32_at(bytes, 16),
        packed: u32_at(bytes, 20).into(),
        length: u32_at(bytes, 24).into(),
        header_at: u32_at(bytes, 42).into(),
    };
    let entry = if is_encrypted {
        Err(BodyPackError::UnknownMethod(entry.method))
    } else {
        with_large_sizes(entry, &bytes[46 + name..46 + name + extra])
    };
    Some((&bytes[46..46 + name], entry, behind))
}

/// Replaces the sizes that do not fit 32 bits by those in the 64-bit extra field.
fn with_large_sizes(mut entry: PackEntry, mut extra: &[u8]) -> Result<PackEntry, BodyPackError> {
    let mut large: &[u8] = &[];
    while extra.len() >= 4 {
        let length = usize::from(u16_at(extra, 2));
        let field = extra.get(4..4 + length).ok_or(BodyPackError::BadDirectory)?;
        if u16_at(extra, 0) == 1 {
            large = field;
        }
        extra = &extra[4 + length..];
    }
    for value in [&mut entry.length, &mut entry.packed, &mut entry.header_at] {
        if *value == u64::from(u32::MAX) {
            let bytes = large.get(..8).ok_or(BodyPackError::BadDirectory)?;
            *value = u64_at(bytes, 0);
            large = &large[8..];
        }
    }
    Ok(entry)
}

/// A body as it comes out of a pack.
pub(crate) struct Unpacked {
    reader: Box<dyn Read + Send>,
    left: u64,
    checksum: crc32fast::Hasher,
    expected: u32,
}

/// Opens an entry for reading.
pub(crate) fn open_entry(mut file: File, entry: PackEntry) -> Result<Unpacked, BodyPackError> {
    let length = file.seek(SeekFrom::End(0))?;
    let header = read_at(&mut file, entry.header_at, 30)?;
    if !header.starts_with(b"PK\x03\x04") {
        return Err(BodyPackError::BadEntry);
    }
    let names = u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
    let start = entry.header_at + 30 + names;
    if start.checked_add(entry.packed).is_none_or(|end| end > length) {
        return Err(BodyPackError::BadEntry);
    }
    file.seek(SeekFrom::Start(start))?;
    let bytes = file.take(entry.packed);
    let reader: Box<dyn Read + Send> = if entry.method == 0 {
        Box::new(bytes)
    } else {
        Box::new(DeflateDecoder::new(BufReader::new(bytes)))
    };
    Ok(Unpacked { reader, left: entry.length, checksum: crc32fast::Hasher::new(), expected: entry.checksum })
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if room == 0 {
            return Ok(0);
        }
        let read = self.reader.read(&mut buffer[..room])?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the packed body is cut short"));
        }
        self.checksum.update(&buffer[..read]);
        self.left -= read as u64;
        if self.left == 0 && self.checksum.clone().finalize() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the packed body has another checksum"));
        }
        Ok(read)
    }
}

/// Reads `length` bytes from an offset. The caller has checked both against the length of the file.
fn read_at(file: &mut File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
