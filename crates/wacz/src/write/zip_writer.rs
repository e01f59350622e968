//! A ZIP archive of stored members, written from its first byte to its last.
//!
//! The header of a member has its length and checksum, so its content is read twice. In return the
//! output needs no seeking and no data descriptors, which many readers of stored members refuse.
//! Dates are left out: the same content gives the same bytes.

use std::io::{self, Read, Seek, SeekFrom, Write};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

const LOCAL_HEADER_MAGIC: u32 = 0x0403_4b50;
const DIRECTORY_MAGIC: u32 = 0x0201_4b50;
const ZIP64_END_MAGIC: u32 = 0x0606_4b50;
const ZIP64_LOCATOR_MAGIC: u32 = 0x0706_4b50;
const END_MAGIC: u32 = 0x0605_4b50;
/// The version of ZIP that a reader needs: 4.5 for ZIP64.
const ZIP64_VERSION: u16 = 45;
const PLAIN_VERSION: u16 = 20;
/// Names are UTF-8.
const UTF8_FLAG: u16 = 1 << 11;
/// 1980-01-01, the first date there is.
const NO_DATE: u16 = 0x21;
/// The extra field with numbers of 64 bits.
const ZIP64_FIELD: u16 = 1;
/// Numbers from here on are in the extra field.
const MAX_PLAIN_NUMBER: u64 = 0xffff_ffff;
const MAX_PLAIN_COUNT: u64 = 0xffff;
const COPY_BUFFER_BYTES: usize = 64 << 10;

/// A member that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredMember {
    pub(super) name: String,
    pub(super) length: u64,
    /// `sha256:` and hex.
    pub(super) hash: String,
    crc: u32,
    offset: u64,
}

/// Writes members one after another.
pub(super) struct StoredZipWriter<W> {
    output: W,
    offset: u64,
    members: Vec<StoredMember>,
}

impl<W: Write> StoredZipWriter<W> {
    pub(super) fn new(output: W) -> Self {
        Self { output, offset: 0, members: Vec::new() }
    }

    /// Adds all of `content`.
    pub(super) fn add(&mut self, name: &str, content: &mut (impl Read + Seek)) -> io::Result<&StoredMember> {
        let (mut crc, mut hasher, mut length) = (crc32fast::Hasher::new(), Sha256::new(), 0_u64);
        content.seek(SeekFrom::Start(0))?;
        let mut buffer = vec![0; COPY_BUFFER_BYTES];
        loop {
            let count = content.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            crc.update(&buffer[..count]);
            hasher.update(&buffer[..count]);
            length += count as u64;
        }
        let hash = format!("sha256:{}", HEXLOWER.encode(&hasher.finalize()));
        let (crc, offset) = (crc.finalize(), self.offset);
        let member = StoredMember { name: name.to_owned(), length, hash, crc, offset };
        self.write(&member.local_header())?;
        content.seek(SeekFrom::Start(0))?;
        let copied = io::copy(content, &mut self.output)?;
        self.offset += copied;
        if copied != length {
            return Err(io::Error::other("the content of a member changed while it was written"));
        }
        self.members.push(member);
        Ok(self.members.last().expect("it was just added"))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.offset += bytes.len() as u64;
        self.output.write_all(bytes)
    }

    /// Writes the directory. Returns the length of the archive.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let begin = self.offset;
        for member in std::mem::take(&mut self.members) {
            self.write(&member.directory_entry())?;
            self.members.push(member);
        }
        let (length, count) = (self.offset - begin, self.members.len() as u64);
        if begin >= MAX_PLAIN_NUMBER || length >= MAX_PLAIN_NUMBER || count >= MAX_PLAIN_COUNT {
            let end = self.offset;
            let mut bytes = ZipBytes::default();
            bytes.u32(ZIP64_END_MAGIC).u64(44).u16(ZIP64_VERSION).u16(ZIP64_VERSION).u32(0).u32(0);
            bytes.u64(count).u64(count).u64(length).u64(begin);
            bytes.u32(ZIP64_LOCATOR_MAGIC).u32(0).u64(end).u32(1);
            self.write(&bytes.0)?;
        }
        let mut bytes = ZipBytes::default();
        let count = count.min(MAX_PLAIN_COUNT) as u16;
        bytes.u32(END_MAGIC).u16(0).u16(0).u16(count).u16(count);
        bytes.u32(length.min(MAX_PLAIN_NUMBER) as u32).u32(begin.min(MAX_PLAIN_NUMBER) as u32).u16(0);
        self.write(&bytes.0)?;
        self.output.flush()?;
        Ok(self.offset)
    }
}

impl StoredMember {
    fn local_header(&self) -> Vec<u8> {
        let is_large = self.length >= MAX_PLAIN_NUMBER;
        let mut extra = ZipBytes::default();
        if is_large {
            extra.u16(ZIP64_FIELD).u16(16).u64(self.length).u64(self.length);
        }
        let mut header = ZipBytes::default();
        header.u32(LOCAL_HEADER_MAGIC).u16(if is_large { ZIP64_VERSION } else { PLAIN_VERSION });
        self.common(&mut header, extra.0.len());
        header.0.extend_from_slice(self.name.as_bytes());
        header.0.extend_from_slice(&extra.0);
        header.0
    }

    /// The fields that both headers have.
    fn common(&self, header: &mut ZipBytes, extra_length: usize) {
        let length = self.length.min(MAX_PLAIN_NUMBER) as u32;
        header.u16(UTF8_FLAG).u16(0).u16(0).u16(NO_DATE).u32(self.crc).u32(length).u32(length);
        header.u16(self.name.len() as u16).u16(extra_length as u16);
    }

    fn directory_entry(&self) -> Vec<u8> {
        let mut numbers = ZipBytes::default();
        if self.length >= MAX_PLAIN_NUMBER {
            numbers.u64(self.length).u64(self.length);
        }
        if self.offset >= MAX_PLAIN_NUMBER {
            numbers.u64(self.offset);
        }
        let mut extra = ZipBytes::default();
        if !numbers.0.is_empty() {
            extra.u16(ZIP64_FIELD).u16(numbers.0.len() as u16);
            extra.0.extend_from_slice(&numbers.0);
        }
        let version = if extra.0.is_empty() { PLAIN_VERSION } else { ZIP64_VERSION };
        let mut entry = ZipBytes::default();
        entry.u32(DIRECTORY_MAGIC).u16(version).u16(version);
        self.common(&mut entry, extra.0.len());
        entry.u16(0).u16(0).u16(0).u32(0).u32(self.offset.min(MAX_PLAIN_NUMBER) as u32);
        entry.0.extend_from_slice(self.name.as_bytes());
        entry.0.extend_from_slice(&extra.0);
        entry.0
    }
}

/// Numbers in the order of bytes of ZIP.
#[derive(Default)]
struct ZipBytes(Vec<u8>);

impl ZipBytes {
    fn u16(&mut self, number: u16) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }
}
