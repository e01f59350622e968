//! Adapts a file of a [`super::Disk`] to the [`ReadAt`] of WARC readers.

use std::io;

use varve_wire::ReadAt;

use super::{DiskError, DiskFile};

/// A file of a disk as a [`ReadAt`].
pub struct FileSource {
    file: Box<dyn DiskFile>,
}

impl FileSource {
    /// Reads from that file.
    pub fn new(file: Box<dyn DiskFile>) -> Self {
        Self { file }
    }
}

fn plain(error: DiskError) -> io::Error {
    io::Error::new(error.source.kind(), error)
}

impl ReadAt for FileSource {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // Unix rejects such an offset as invalid; here it is past the end.
        if i64::try_from(offset).is_err() {
            return Ok(0);
        }
        self.file.read_at(buffer, offset).map_err(plain)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.length().map_err(plain)
    }
}
