//! HEAD: the version that becomes the parent of the next one.
//!
//! Defines the trait for storing HEAD. It does not know where HEAD is: in a file, or in a row of a
//! database that several machines share. One suite in `testkit` tests every implementation.

use std::io;
use std::path::PathBuf;

use crate::VersionId;

/// The place of HEAD.
///
/// Guarantees: a move is complete or did not happen, and survives a power cut once the call has
/// returned.
pub trait HeadStore: Send + Sync {
    /// The version that HEAD names. `None` if it names none.
    fn read(&self) -> Result<Option<VersionId>, HeadError>;

    /// Moves HEAD from `from` to `to`. Fails with [`HeadError::Moved`] if it is elsewhere.
    fn advance(&self, from: Option<VersionId>, to: VersionId) -> Result<(), HeadError>;

    /// Points HEAD to a version, wherever it is now, even if it cannot be read.
    fn repair(&self, to: VersionId) -> Result<(), HeadError>;

    /// Makes HEAD name no version, wherever it is now, even if it cannot be read.
    fn clear(&self) -> Result<(), HeadError>;
}

/// An error of HEAD.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// HEAD is not where the writer expects it.
    #[error("HEAD was moved meanwhile")]
    Moved {
        /// The version that it should name.
        expected: Option<VersionId>,
        /// The version that it names.
        found: Option<VersionId>,
    },
    /// HEAD does not hold the id of a version.
    #[error("`{}` does not hold the id of a version", place.display())]
    NotAnId {
        /// Its place.
        place: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// HEAD cannot be read.
    #[error("cannot read `{}`", place.display())]
    Read {
        /// Its place.
        place: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// HEAD cannot be written.
    #[error("cannot write `{}`", place.display())]
    Write {
        /// Its place.
        place: PathBuf,
        /// The cause.
        source: io::Error,
    },
}
