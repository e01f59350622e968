//! The errors of a [`super::Folder`]: the path, the kind found there and the kind expected.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::EntryKind;

/// Why an operation below a folder failed.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The name is absolute or contains `..`.
    #[error("`{}` is not a name below `{}`", name.display(), folder.display())]
    OutsideName {
        /// The folder.
        folder: PathBuf,
        /// The name.
        name: PathBuf,
    },
    /// The name, or a folder on the way to it, is of another kind than the operation needs.
    #[error("`{}` is {found}, not {expected}", path.display())]
    WrongKind {
        /// The entry of the wrong kind.
        path: PathBuf,
        /// Its kind.
        found: EntryKind,
        /// The kind that the operation needs.
        expected: ExpectedKind,
    },
    /// The file is longer than the caller reads.
    #[error("`{}` has more than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The maximum length in bytes.
        limit: u64,
    },
    /// A system call failed.
    #[error("cannot {operation} `{}`", path.display())]
    Io {
        /// The operation, a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The kind of entry that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Anything but a folder.
    NotFolder,
}

impl fmt::Display for ExpectedKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::File => "a regular file",
            Self::Folder => "a folder",
            Self::NotFolder => "a file",
        })
    }
}

impl FolderError {
    /// Whether the entry, or a folder on the way to it, does not exist.
    pub fn is_absent(&self) -> bool {
        self.kind() == io::ErrorKind::NotFound
    }

    /// The kind of the system's error; `InvalidInput` if the content of the folder is the reason.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Io { source, .. } => source.kind(),
            Self::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            Self::WrongKind { found: EntryKind::Folder, .. } => io::ErrorKind::IsADirectory,
            Self::OutsideName { .. } | Self::WrongKind { .. } => io::ErrorKind::InvalidInput,
        }
    }
}

/// For callers that add operation and path themselves: a system error stays as it was, and others
/// become the inner error.
impl From<FolderError> for io::Error {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io { source, .. } => source,
            other => Self::new(other.kind(), other),
        }
    }
}
