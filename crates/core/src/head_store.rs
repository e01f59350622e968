//! HEAD: the version that becomes the parent of the next one.
//!
//! Defines the trait for storing HEAD, and the record of an intended move. It does not know where
//! HEAD is: in a file, or in a row of a database that several machines share. One suite in
//! `testkit` tests every implementation.

use std::io;
use std::path::PathBuf;

use crate::VersionId;

/// The place of HEAD.
///
/// Guarantees: a move is complete or did not happen, and survives a power cut once the call has
/// returned. The intended move is stored beside HEAD and does not change it.
pub trait HeadStore: Send + Sync {
    /// The version that HEAD names. `None` if it names none.
    fn read(&self) -> Result<Option<VersionId>, HeadError>;

    /// Moves HEAD from `from` to `to`. Fails with [`HeadError::Moved`] if it is elsewhere.
    fn advance(&self, from: Option<VersionId>, to: VersionId) -> Result<(), HeadError>;

    /// Points HEAD to a version, wherever it is now, even if it cannot be read.
    fn repair(&self, to: VersionId) -> Result<(), HeadError>;

    /// Makes HEAD name no version, wherever it is now, even if it cannot be read.
    fn clear(&self) -> Result<(), HeadError>;

    /// The intended move. `None` if there is none.
    fn intended(&self) -> Result<Option<IntendedHead>, HeadError>;

    /// Records the intended move, in place of any other.
    fn intend(&self, intended: &IntendedHead) -> Result<(), HeadError>;

    /// Removes the intended move, if there is one.
    fn clear_intended(&self) -> Result<(), HeadError>;
}

/// The operation that moves HEAD. It determines which pages stay in a working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMove {
    /// A new version was committed: its pages are written, and all others stay.
    Commit,
    /// A version was checked out: pages that only the previous HEAD has are removed.
    Checkout,
}

/// A move of HEAD that a writer is about to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntendedHead {
    /// The target version.
    pub to: VersionId,
    /// The operation.
    pub by: HeadMove,
    /// The previous version, if any.
    pub from: Option<VersionId>,
}

impl IntendedHead {
    /// Whether the intent is still valid: HEAD is at its previous or its target version. Otherwise
    /// HEAD has been moved since, and the intent is obsolete.
    pub fn stands(&self, head: Option<VersionId>) -> bool {
        self.from.is_none() || head.is_none() || head == self.from || head == Some(self.to)
    }
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
