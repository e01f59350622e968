//! What can go wrong with the index, and nothing about how to say it to a person.

use std::path::{Path, PathBuf};

use super::entry::Prefix;
use crate::disk::DiskError;

/// Why the index could not do as asked.
///
/// None of these loses anything: the index can be made again from the silos.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file is not what was written.
    #[error("`{}` is damaged at byte {offset}: {what}", file.display())]
    Damaged {
        /// The damaged file.
        file: PathBuf,
        /// Where in it.
        offset: u64,
        /// What does not hold.
        what: &'static str,
    },
    /// A file was written by a later version of this program.
    #[error("`{}` has format {format}, which this version cannot read", file.display())]
    Unsupported {
        /// The file.
        file: PathBuf,
        /// Its format number.
        format: u32,
    },
    /// Some ids have no file that could hold them.
    #[error("the index in `{}` is incomplete: no file holds the ids from {first} on", folder.display())]
    Incomplete {
        /// The folder of the index.
        folder: PathBuf,
        /// The first id that no file holds.
        first: Prefix,
    },
    /// One sorted file would have more entries than it can count.
    #[error("`{}` cannot hold {count} entries", file.display())]
    TooMany {
        /// The file that would have been written.
        file: PathBuf,
        /// How many entries it would have had.
        count: u64,
    },
}

impl IndexError {
    pub(super) fn damaged(file: &Path, offset: u64, what: &'static str) -> Self {
        Self::Damaged { file: file.to_path_buf(), offset, what }
    }
}
