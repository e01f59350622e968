//! The bytes of a finished file: memory-mapped where the disk supports it, owned elsewhere.
//!
//! The only module of the store that maps memory. It does not interpret the bytes.
//!
//! Reading a map beyond the end of a file that became shorter kills the process (`SIGBUS`). Varve
//! never shortens a mapped file, but another program might. So a user of a map calls
//! [`MappedFile::check_length`] before it reads a part. What remains is a truncation between that
//! check and the read, a fraction of a millisecond later.
//!
//! Measured and declined: positioned reads instead of a map. In ten million entries a lookup takes
//! 0.07 microseconds in a map and 1.4 to 2.1 by `pread`, mostly for the system call. A check of the
//! length takes 0.7 to 0.9, once per lookup or per thousands of lookups in a batch.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The content of a file that never changes again.
pub struct MappedFile(MappedContent);

enum MappedContent {
    Map { map: memmap2::Mmap, file: File },
    Owned(Vec<u8>),
}

impl MappedFile {
    /// Maps a finished file of the local disk, read-only.
    pub(super) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: a map is unsound only if the file is changed or cut while it is mapped. Files are
        // mapped under their final name alone, and nothing ever opens a final name for writing: a
        // sorted shard is written under a temporary name and renamed into place, and is replaced by
        // renaming another file over it or removed. Both leave the mapped file itself untouched
        // until the last map of it is gone. That no other program writes into the folder is what
        // the format asks of its medium.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Self(MappedContent::Map { map, file: file.try_clone()? }))
    }

    /// Fails with `UnexpectedEof` if the file is now shorter than its map.
    pub fn check_length(&self) -> io::Result<()> {
        match &self.0 {
            MappedContent::Map { map, file } if file.metadata()?.len() < map.len() as u64 => Err(
                io::Error::new(io::ErrorKind::UnexpectedEof, "the file was truncated while it was in use"),
            ),
            _ => Ok(()),
        }
    }
}

impl From<Vec<u8>> for MappedFile {
    fn from(bytes: Vec<u8>) -> Self {
        Self(MappedContent::Owned(bytes))
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            MappedContent::Map { map, .. } => map,
            MappedContent::Owned(bytes) => bytes,
        }
    }
}

impl fmt::Debug for MappedFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0 {
            MappedContent::Map { .. } => "map",
            MappedContent::Owned(_) => "owned",
        };
        write!(formatter, "Mapped({kind}, {} bytes)", self.len())
    }
}
