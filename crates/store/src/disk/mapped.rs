//! The bytes of a finished file: mapped where the disk can, owned where it cannot.
//!
//! This is the one place of the store that maps memory. It knows nothing of what the bytes mean.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The whole content of a file that never changes any more.
pub struct Mapped(Content);

enum Content {
    Map(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Mapped {
    /// Maps a finished file of the local disk, read-only.
    pub(super) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: a map is unsound only if the file is changed or cut while it is mapped. Files are mapped under their
        // final name alone, and nothing ever opens a final name for writing: a sorted shard is written under a
        // temporary name and renamed into place, and is replaced by renaming another file over it or removed. Both
        // leave the mapped file itself untouched until the last map of it is gone. That no other program writes into
        // the folder is what the format asks of its medium.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Self(Content::Map(map)))
    }
}

impl From<Vec<u8>> for Mapped {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Content::Owned(bytes))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Content::Map(map) => map,
            Content::Owned(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0 {
            Content::Map(_) => "map",
            Content::Owned(_) => "owned",
        };
        write!(formatter, "Mapped({kind}, {} bytes)", self.len())
    }
}
