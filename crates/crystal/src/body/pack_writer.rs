//! Writing a pack: a zip of stored entries, byte for byte as Crystal writes one.
//!
//! Every entry has the sizes of its 64-bit extra field, the date of no time at all (1980-01-01) and
//! the permissions 0600, not those of its file. The sizes and the checksum of an entry are written
//! over its header once its bytes have passed, so that a body of any length is read once. Which
//! bodies share a pack, and where it is, is not known here.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// The version that a reader of 64-bit sizes must have.
const ZIP64_VERSION: u16 = 45;
/// The system that the permissions are of: Unix.
const UNIX_SYSTEM: u16 = 3 << 8;
/// The first day that a zip can name.
const FIRST_DATE: u16 = 1 << 5 | 1;
/// The permissions of an entry: its owner may read and write it.
const ENTRY_ATTRIBUTES: u32 = 0o600 << 16;
/// A size that stands in the 64-bit field instead.
const LARGE_SIZE: u32 = u32::MAX;
/// How many bytes are copied at a time.
const COPY_BUFFER_BYTES: usize = 64 << 10;

/// A pack that is being written.
pub(crate) struct PackWriter {
    file: BufWriter<File>,
    /// Where the next entry begins.
    end: u64,
    entries: Vec<WrittenEntry>,
}

struct WrittenEntry {
    name: String,
    header_at: u64,
    length: u64,
    checksum: u32,
}

/// Why an entry was not written.
#[derive(Debug)]
pub(crate) enum EntryWriteError {
    /// Its bytes could not be read. The pack is as it was before, and others can be added.
    Source(io::Error),
    /// The pack could not be written.
    Pack(io::Error),
}

impl PackWriter {
    /// Begins a pack in an empty file.
    pub(crate) fn new(file: File) -> Self {
        Self { file: BufWriter::with_capacity(COPY_BUFFER_BYTES, file), end: 0, entries: Vec::new() }
    }

    /// Adds an entry with the bytes that `source` gives.
    pub(crate) fn add(&mut self, name: &str, source: &mut dyn Read) -> Result<(), EntryWriteError> {
        let mut entry = WrittenEntry { name: name.to_owned(), header_at: self.end, length: 0, checksum: 0 };
        self.file.write_all(&entry.local_header()).map_err(EntryWriteError::Pack)?;
        match self.copy(source, &mut entry) {
            Ok(()) => self.complete(entry).map_err(EntryWriteError::Pack),
            Err(EntryWriteError::Source(error)) => {
                self.cut_back(entry.header_at).map_err(EntryWriteError::Pack)?;
                Err(EntryWriteError::Source(error))
            }
            Err(error) => Err(error),
        }
    }

    fn copy(&mut self, source: &mut dyn Read, entry: &mut WrittenEntry) -> Result<(), EntryWriteError> {
        let mut checksum = crc32fast::Hasher::new();
        let mut buffer = vec![0; COPY_BUFFER_BYTES];
        loop {
            let read = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(EntryWriteError::Source(error)),
            };
            checksum.update(&buffer[..read]);
            entry.length += read as u64;
            self.file.write_all(&buffer[..read]).map_err(EntryWriteError::Pack)?;
        }
        entry.checksum = checksum.finalize();
        Ok(())
    }

    /// Writes the header again, now that the length and the checksum are known.
    fn complete(&mut self, entry: WrittenEntry) -> io::Result<()> {
        let header = entry.local_header();
        self.file.seek(SeekFrom::Start(entry.header_at))?;
        self.file.write_all(&header)?;
        self.end = entry.header_at + header.len() as u64 + entry.length;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Drops everything from an offset on.
    fn cut_back(&mut self, at: u64) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().set_len(at)?;
        self.file.seek(SeekFrom::Start(at)).map(drop)
    }

    /// Writes the directory, and gives the file with all bytes written to it. They are not durable
    /// yet.
    pub(crate) fn finish(mut self) -> io::Result<File> {
        let mut directory = Vec::new();
        for entry in &self.entries {
            entry.append_directory_entry(&mut directory);
        }
        let count = u16::try_from(self.entries.len()).map_err(io::Error::other)?;
        append_end(&mut directory, count, self.end);
        self.file.write_all(&directory)?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl WrittenEntry {
    fn local_header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(64);
        header.extend(b"PK\x03\x04");
        append(&mut header, &[ZIP64_VERSION, 0, 0, 0, FIRST_DATE]);
        for value in [self.checksum, LARGE_SIZE, LARGE_SIZE] {
            header.extend(value.to_le_bytes());
        }
        append(&mut header, &[self.name_length(), 20]);
        header.extend(self.name.as_bytes());
        append(&mut header, &[1, 16]);
        header.extend(self.length.to_le_bytes());
        header.extend(self.length.to_le_bytes());
        header
    }

    fn append_directory_entry(&self, directory: &mut Vec<u8>) {
        let mut large = Vec::new();
        let [length, header_at] = [self.length, self.header_at].map(small_or_large);
        if length == LARGE_SIZE {
            large.extend(self.length.to_le_bytes());
            large.extend(self.length.to_le_bytes());
        }
        if header_at == LARGE_SIZE {
            large.extend(self.header_at.to_le_bytes());
        }
        // At most three sizes.
        let large_length = large.len() as u16;
        directory.extend(b"PK\x01\x02");
        append(directory, &[UNIX_SYSTEM | ZIP64_VERSION, ZIP64_VERSION, 0, 0, 0, FIRST_DATE]);
        for value in [self.checksum, length, length] {
            directory.extend(value.to_le_bytes());
        }
        let extra_length = if large.is_empty() { 0 } else { large_length + 4 };
        append(directory, &[self.name_length(), extra_length, 0, 0, 0]);
        directory.extend(ENTRY_ATTRIBUTES.to_le_bytes());
        directory.extend(header_at.to_le_bytes());
        directory.extend(self.name.as_bytes());
        if !large.is_empty() {
            append(directory, &[1, large_length]);
            directory.extend(large);
        }
    }

    /// Names of entries have three letters.
    fn name_length(&self) -> u16 {
        self.name.len() as u16
    }
}

/// Appends the end of a zip behind its directory, which begins at `at`. A directory past 4 GiB has
/// its place in a 64-bit record before.
fn append_end(directory: &mut Vec<u8>, count: u16, at: u64) {
    let size = directory.len() as u64;
    let at_field = small_or_large(at);
    if at_field == LARGE_SIZE {
        let record_at = at + size;
        directory.extend(b"PK\x06\x06");
        directory.extend(44_u64.to_le_bytes());
        append(directory, &[ZIP64_VERSION, ZIP64_VERSION, 0, 0, 0, 0]);
        for value in [u64::from(count), u64::from(count), size, at] {
            directory.extend(value.to_le_bytes());
        }
        directory.extend(b"PK\x06\x07");
        directory.extend(0_u32.to_le_bytes());
        directory.extend(record_at.to_le_bytes());
        directory.extend(1_u32.to_le_bytes());
    }
    directory.extend(b"PK\x05\x06");
    append(directory, &[0, 0, count, count]);
    directory.extend(small_or_large(size).to_le_bytes());
    directory.extend(at_field.to_le_bytes());
    append(directory, &[0]);
}

/// A value as a field of 32 bits, which says so where it does not fit.
fn small_or_large(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(LARGE_SIZE)
}

fn append(bytes: &mut Vec<u8>, values: &[u16]) {
    for value in values {
        bytes.extend(value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::{entry_names, find_entry, open_entry};
    use super::*;

    /// Gives some bytes and fails.
    struct BadSectors(usize);

    impl Read for BadSectors {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = buffer.len().min(self.0);
            self.0 -= read;
            if read == 0 { Err(io::Error::other("bad sector")) } else { Ok(read) }
        }
    }

    fn written(bodies: &[(&str, &[u8])]) -> File {
        let mut pack = PackWriter::new(tempfile::tempfile().unwrap());
        for (name, body) in bodies {
            pack.add(name, &mut &**body).unwrap();
        }
        pack.finish().unwrap()
    }

    fn read(file: &mut File, name: &str) -> Vec<u8> {
        let entry = find_entry(file, name).unwrap().unwrap();
        let mut bytes = Vec::new();
        open_entry(file.try_clone().unwrap(), entry).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_packed_is_read_and_other_programs_read_it_too() {
        let large = vec![7; 3 * COPY_BUFFER_BYTES + 1];
        let mut file = written(&[("001", b"one"), ("002", b""), ("00f", &large)]);
        assert_eq!(entry_names(&mut file).unwrap(), [b"001", b"002", b"00f"]);
        assert_eq!(read(&mut file, "001"), b"one");
        assert_eq!(read(&mut file, "002"), b"");
        assert_eq!(read(&mut file, "00f"), large);
        let mut zip = zip::ZipArchive::new(file).unwrap();
        assert_eq!(zip.len(), 3);
        let mut bytes = Vec::new();
        zip.by_name("00f").unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, large);
    }

    #[test]
    fn an_entry_that_cannot_be_read_leaves_no_trace() {
        let mut pack = PackWriter::new(tempfile::tempfile().unwrap());
        pack.add("001", &mut &b"one"[..]).unwrap();
        let failed = pack.add("002", &mut BadSectors(2 * COPY_BUFFER_BYTES + 9));
        assert!(matches!(failed, Err(EntryWriteError::Source(_))));
        pack.add("003", &mut &b"three"[..]).unwrap();
        let mut file = pack.finish().unwrap();
        assert_eq!(entry_names(&mut file).unwrap(), [b"001", b"003"]);
        assert_eq!(read(&mut file, "003"), b"three");
        let without = written(&[("001", b"one"), ("003", b"three")]);
        assert_eq!(file.metadata().unwrap().len(), without.metadata().unwrap().len());
    }

    /// The bytes that Python's `zipfile` gives for the same entries, written as Crystal does.
    #[test]
    fn a_pack_is_byte_for_byte_that_of_crystal() {
        let mut file = written(&[("001", b"one"), ("00f", b"")]);
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        let expected = concat!(
            "504b03042d000000000000002100f1866c7affffffffffffffff0300140030303101001000030000",
            "000000000003000000000000006f6e65504b03042d00000000000000210000000000ffffffffffff",
            "ffff030014003030660100100000000000000000000000000000000000504b01022d032d00000000",
            "0000002100f1866c7a0300000003000000030000000000000000000000800100000000303031504b",
            "01022d032d0000000000000021000000000000000000000000000300000000000000000000008001",
            "38000000303066504b05060000000002000200620000006d0000000000",
        );
        assert_eq!(data_encoding::HEXLOWER.encode(&bytes), expected);
    }
}
