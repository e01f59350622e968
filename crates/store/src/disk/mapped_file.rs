//! The bytes of a finished file: memory-mapped where the disk supports it, owned elsewhere.
//!
//! The only module of the store that maps memory. It does not interpret the bytes.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The content of a file that never changes again.
pub struct MappedFile(MappedContent);

enum MappedContent {
    Map(memmap2::Mmap),
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
        Ok(Self(MappedContent::Map(map)))
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
            MappedContent::Map(map) => map,
            MappedContent::Owned(bytes) => bytes,
        }
    }
}

impl fmt::Debug for MappedFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0 {
            MappedContent::Map(_) => "map",
            MappedContent::Owned(_) => "owned",
        };
        write!(formatter, "Mapped({kind}, {} bytes)", self.len())
    }
}
