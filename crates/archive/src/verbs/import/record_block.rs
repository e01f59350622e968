//! The block of a record, read once: kept in memory or in a temporary file, and checked on the way.

use std::fs::File;
use std::io::{self, BufRead, Write};

use varve_file::TemporaryFolder;
use varve_warc::Record;
use varve_warc::validate_record::RecordChecker;
use varve_wire::ReadAt;

/// Blocks up to this size are held in memory, in bytes.
const MAX_BYTES_IN_MEMORY: usize = 1 << 20;
/// Blocks beyond this size are not imported, in bytes: a small compressed file can hold petabytes.
const MAX_BLOCK_BYTES: u64 = 64 << 30;

/// The bytes of a block.
pub(super) enum RecordBlock {
    Memory(Vec<u8>),
    File { file: File, length: u64 },
}

impl RecordBlock {
    /// Reads the block of a record and passes its bytes to `checker`. `None` if it is too long.
    pub(super) fn read<S: ReadAt>(
        record: &mut Record<'_, S>,
        checker: &mut RecordChecker,
        temporary: &TemporaryFolder,
    ) -> io::Result<Option<Self>> {
        let mut memory = Vec::new();
        let mut spilled: Option<(File, u64)> = None;
        loop {
            let bytes = record.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            checker.push(bytes);
            let count = bytes.len();
            match &mut spilled {
                None if memory.len() + count <= MAX_BYTES_IN_MEMORY => memory.extend_from_slice(bytes),
                None => {
                    let mut file = temporary.unnamed_file()?;
                    file.write_all(&memory)?;
                    file.write_all(bytes)?;
                    spilled = Some((file, (memory.len() + count) as u64));
                    memory = Vec::new();
                }
                Some((_, length)) if *length > MAX_BLOCK_BYTES => return Ok(None),
                Some((file, length)) => {
                    file.write_all(bytes)?;
                    *length += count as u64;
                }
            }
            record.consume(count);
        }
        Ok(Some(match spilled {
            Some((file, length)) => Self::File { file, length },
            None => Self::Memory(memory),
        }))
    }

    /// The bytes that are in memory: all, or none of a long block.
    pub(super) fn in_memory(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File { .. } => &[],
        }
    }

    /// The length in bytes.
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// The first bytes, at most `limit` of them.
    pub(super) fn start(&self, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; limit];
        let mut filled = 0;
        while filled < limit {
            match self.read_at(&mut bytes[filled..], filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

impl ReadAt for RecordBlock {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read_at(buffer, offset),
            Self::File { file, .. } => ReadAt::read_at(file, buffer, offset),
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.length())
    }
}
