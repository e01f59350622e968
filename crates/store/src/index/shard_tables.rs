//! The tables of a shard: numbers of four bytes that are read in pages, on first use.
//!
//! The bias table says where the entries of a bucket begin, the table of checks has the CRC of each
//! block. Both are too long to be read when a shard is opened, and too small to be read for every
//! lookup. A page that was read stays in memory. Of the bias table only every eighth number stays:
//! it places an id within a few entries, and blocks of entries are read whole. So the tables take a
//! fifth of a percent of the length of the shard.
//!
//! This module does not know what the numbers mean.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use crate::disk::{DiskError, DiskFile, Operation};

/// Numbers that are read together.
pub(super) const NUMBERS_PER_PAGE: usize = 1024;
/// The size of a number in bytes.
pub(super) const NUMBER_SIZE: usize = 4;

/// One table of a shard. Every call gets the file and path of the shard.
pub(super) struct NumberTable {
    /// The offset of the first number in the file.
    start: u64,
    /// Numbers in the file.
    count: usize,
    /// One number in this many is kept. A power of two, up to [`NUMBERS_PER_PAGE`].
    stride: usize,
    pages: Box<[OnceLock<Box<[u32]>>]>,
}

impl NumberTable {
    /// A table of `count` numbers from `start` on, of which one in `stride` is kept.
    pub(super) fn new(start: u64, count: usize, stride: usize) -> Self {
        let pages = (0..count.div_ceil(NUMBERS_PER_PAGE)).map(|_| OnceLock::new()).collect();
        Self { start, count, stride, pages }
    }

    /// The kept number at a position, which counts kept numbers only.
    pub(super) fn get(&self, file: &dyn DiskFile, path: &Path, position: usize) -> Result<u32, DiskError> {
        let number = position * self.stride;
        let page = &self.pages[number / NUMBERS_PER_PAGE];
        let within = number % NUMBERS_PER_PAGE / self.stride;
        if let Some(kept) = page.get() {
            return Ok(kept[within]);
        }
        let numbers = self.read_page(file, path, number / NUMBERS_PER_PAGE)?;
        let kept: Box<[u32]> = numbers.into_iter().step_by(self.stride).collect();
        // Another thread may have read the same numbers meanwhile.
        Ok(page.get_or_init(|| kept)[within])
    }

    /// All numbers of a page, as they are in the file.
    pub(super) fn read_page(
        &self,
        file: &dyn DiskFile,
        path: &Path,
        page: usize,
    ) -> Result<Vec<u32>, DiskError> {
        let first = page * NUMBERS_PER_PAGE;
        let mut bytes = [0; NUMBERS_PER_PAGE * NUMBER_SIZE];
        let bytes = &mut bytes[..NUMBER_SIZE * (self.count - first).min(NUMBERS_PER_PAGE)];
        read_exactly(file, path, bytes, self.start + (first * NUMBER_SIZE) as u64)?;
        Ok(bytes.as_chunks().0.iter().map(|number| u32::from_be_bytes(*number)).collect())
    }
}

/// Fills the buffer from an offset of a file that was long enough when it was opened.
pub(super) fn read_exactly(
    file: &dyn DiskFile,
    path: &Path,
    buffer: &mut [u8],
    offset: u64,
) -> Result<(), DiskError> {
    if file.read_at(buffer, offset)? == buffer.len() {
        return Ok(());
    }
    let message = "the file was truncated while it was in use";
    Err(DiskError::new(Operation::Read, path, io::Error::new(io::ErrorKind::UnexpectedEof, message)))
}
