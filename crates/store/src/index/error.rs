//! The errors of the index.

use std::path::{Path, PathBuf};

use super::entry::IndexPrefix;
use crate::disk::DiskError;

/// An error of the index.
///
/// None of these loses data: the index can be rebuilt from the silos.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file is damaged.
    #[error("`{}` is damaged at byte {offset}: {what}", file.display())]
    Damaged {
        /// The damaged file.
        file: PathBuf,
        /// Where in it.
        offset: u64,
        /// The violated property.
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
    /// A range of ids has no sorted file.
    #[error("the index in `{}` is incomplete: no file holds the ids from {first} on", folder.display())]
    Incomplete {
        /// The folder of the index.
        folder: PathBuf,
        /// The first id without a file.
        first: IndexPrefix,
    },
    /// A sorted file would exceed its maximum number of entries.
    #[error("`{}` cannot hold {count} entries", file.display())]
    TooMany {
        /// The file.
        file: PathBuf,
        /// The number of entries.
        count: u64,
    },
}

impl IndexError {
    pub(super) fn damaged(file: &Path, offset: u64, what: &'static str) -> Self {
        Self::Damaged { file: file.to_path_buf(), offset, what }
    }
}
