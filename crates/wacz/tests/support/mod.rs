//! ZIP archives of any shape, also wrong ones.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// A member to be written.
#[derive(Clone)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// Its content.
    pub(crate) content: Vec<u8>,
    /// Whether to deflate it.
    pub(crate) deflate: bool,
    /// Whether sizes follow the content, and are zero in the local header.
    pub(crate) sizes_follow: bool,
}

/// A stored member.
pub(crate) fn stored(name: &str, content: impl Into<Vec<u8>>) -> Member {
    Member { name: name.to_owned(), content: content.into(), deflate: false, sizes_follow: false }
}

/// A deflated member.
pub(crate) fn deflated(name: &str, content: impl Into<Vec<u8>>) -> Member {
    Member { deflate: true, ..stored(name, content) }
}

/// An archive: its local part, and where the directory begins.
pub(crate) struct ZipFile {
    /// All bytes.
    pub(crate) bytes: Vec<u8>,
    /// The offset of the directory.
    pub(crate) directory: usize,
    /// The offsets of the local headers.
    pub(crate) headers: Vec<u64>,
}

/// Writes an archive. With `zip64`, all sizes and offsets are in ZIP64 fields.
pub(crate) fn zip(members: &[Member], zip64: bool) -> ZipFile {
    let (mut bytes, mut directory, mut headers) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        let offset = bytes.len() as u64;
        headers.push(offset);
        let packed = packed(member);
        let crc = crc32fast::hash(&member.content);
        let (size, packed_size) = (member.content.len() as u64, packed.len() as u64);
        let method: u16 = if member.deflate { 8 } else { 0 };
        let flags: u16 = if member.sizes_follow { 8 } else { 0 };
        let local = if member.sizes_follow { [0; 3] } else { [crc, packed_size as u32, size as u32] };
        bytes.extend(0x0403_4b50_u32.to_le_bytes());
        put16(&mut bytes, &[20, flags, method, 0, 0]);
        put32(&mut bytes, &local);
        put16(&mut bytes, &[member.name.len() as u16, 0]);
        bytes.extend(member.name.as_bytes());
        bytes.extend(&packed);
        if member.sizes_follow {
            put32(&mut bytes, &[0x0807_4b50, crc, packed_size as u32, size as u32]);
        }
        directory.extend(0x0201_4b50_u32.to_le_bytes());
        put16(&mut directory, &[20, 20, flags, method, 0, 0]);
        let small = |number: u64| if zip64 { u32::MAX } else { number as u32 };
        put32(&mut directory, &[crc, small(packed_size), small(size)]);
        put16(&mut directory, &[member.name.len() as u16, if zip64 { 28 } else { 0 }, 0, 0, 0]);
        put32(&mut directory, &[0, small(offset)]);
        directory.extend(member.name.as_bytes());
        if zip64 {
            put16(&mut directory, &[1, 24]);
            directory.extend([size, packed_size, offset].iter().flat_map(|number| number.to_le_bytes()));
        }
    }
    let start = bytes.len();
    bytes.extend(&directory);
    end(&mut bytes, start as u64, members.len() as u64, zip64);
    ZipFile { bytes, directory: start, headers }
}

fn end(bytes: &mut Vec<u8>, start: u64, entries: u64, zip64: bool) {
    let length = bytes.len() as u64 - start;
    if zip64 {
        let record = bytes.len() as u64;
        put32(bytes, &[0x0606_4b50, 44, 0]);
        put16(bytes, &[45, 45]);
        put32(bytes, &[0, 0]);
        bytes.extend([entries, entries, length, start].iter().flat_map(|number| number.to_le_bytes()));
        put32(bytes, &[0x0706_4b50, 0]);
        bytes.extend(record.to_le_bytes());
        put32(bytes, &[1]);
    }
    let full = |number: u64| if zip64 { u32::MAX } else { number as u32 };
    let count = if zip64 { u16::MAX } else { entries as u16 };
    put32(bytes, &[0x0605_4b50]);
    put16(bytes, &[0, 0, count, count]);
    put32(bytes, &[full(length), full(start)]);
    put16(bytes, &[0]);
}

fn packed(member: &Member) -> Vec<u8> {
    if !member.deflate {
        return member.content.clone();
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&member.content).expect("memory");
    encoder.finish().expect("memory")
}

fn put16(bytes: &mut Vec<u8>, numbers: &[u16]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put32(bytes: &mut Vec<u8>, numbers: &[u32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}
