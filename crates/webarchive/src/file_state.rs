//! The state of a file, by which an index knows that it still describes it.

use std::fs::File;
use std::io;
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};
use varve_wire::ReadAt;

/// The number of bytes at both ends of a file that are part of its state.
const END_BYTES: usize = 8 << 10;

/// Size, modification time, and a digest of the first and last bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) size: u64,
    pub(crate) modified_nanos: i64,
    pub(crate) ends: [u8; 32],
}

impl FileState {
    /// The state of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let about = file.metadata()?;
        let size = about.len();
        let mut hasher = Sha256::new();
        let mut buffer = [0; END_BYTES];
        for offset in [0, size.saturating_sub(END_BYTES as u64)] {
            let count = ReadAt::read_at(file, &mut buffer, offset)?;
            hasher.update(&buffer[..count]);
        }
        let since = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified_nanos = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        Ok(Self { size, modified_nanos, ends: hasher.finalize().into() })
    }

    /// Whether an open file has this size and this modification time.
    pub(crate) fn may_be(&self, file: &File) -> io::Result<bool> {
        let about = file.metadata()?;
        let since = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified_nanos = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        Ok(about.len() == self.size && modified_nanos == self.modified_nanos)
    }

    /// Adds the state to a digest of many.
    pub(crate) fn add_to(&self, hasher: &mut Sha256) {
        hasher.update(self.size.to_be_bytes());
        hasher.update(self.modified_nanos.to_be_bytes());
        hasher.update(self.ends);
    }
}
