//! Why a package or one of its members cannot be read.

use std::io;

/// Why a package cannot be read. The caller knows the path of the file and adds it.
#[derive(Debug, thiserror::Error)]
pub enum WaczError {
    /// Reading failed.
    #[error("cannot read at byte {offset}")]
    Io {
        /// Where in the file.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// It does not begin or end as a ZIP archive.
    #[error("not a ZIP archive, and so not a WACZ file")]
    NotZip,
    /// The directory has more members, or is larger, than is read.
    #[error("the directory at byte {offset} is too large: {what}")]
    DirectoryTooLarge {
        /// Where the directory begins.
        offset: u64,
        /// Which limit it exceeds.
        what: String,
    },
    /// A member cannot be read.
    #[error("member `{name}` at byte {offset}: {what}")]
    Member {
        /// Its name.
        name: String,
        /// Where its local header is.
        offset: u64,
        /// Why.
        what: String,
    },
    /// There is no such member.
    #[error("there is no member `{name}`")]
    NoMember {
        /// The name that was looked for.
        name: String,
    },
    /// A JSON text of the package is not what it must be.
    #[error("member `{name}` at byte {offset} is not valid")]
    Json {
        /// The name of the member.
        name: String,
        /// Where its local header is.
        offset: u64,
        /// What the parser reports, with line and column.
        source: serde_json::Error,
    },
}

impl WaczError {
    /// The error for a read at `offset` that failed.
    pub(crate) fn io(offset: u64) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { offset, source }
    }

    /// Where in the file, if the error has a place.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Io { offset, .. }
            | Self::DirectoryTooLarge { offset, .. }
            | Self::Member { offset, .. }
            | Self::Json { offset, .. } => Some(*offset),
            Self::NotZip | Self::NoMember { .. } => None,
        }
    }
}
