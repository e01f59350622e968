//! The errors of the store, each with the silo, offset or path it concerns.

use std::io;

use varve_warc::write::PackError;

use crate::disk::DiskError;
use crate::index::{IndexError, PlaceError};
use crate::lock::LockError;
use crate::silo::{SiloError, WalkError};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A silo file cannot be used.
    #[error(transparent)]
    Silo(#[from] SiloError),
    /// The index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Another process is writing.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A record could not be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// There are too many silos, or one is too large.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A silo cannot be read.
    #[error("cannot read silo {silo}")]
    Read {
        /// Its number.
        silo: u32,
        /// The cause.
        source: varve_warc::Error,
    },
    /// The content to store cannot be read.
    #[error("cannot read what is to be stored")]
    Content(#[source] io::Error),
    /// An earlier write failed. This writer accepts nothing more.
    #[error("an earlier write failed; open the archive again, which puts it in order")]
    Stopped,
    /// A record is damaged or does not match its id.
    #[error("the record of `{id}` at byte {offset} of silo {silo} is damaged: {message}")]
    Damaged {
        /// The requested id.
        id: String,
        /// The silo.
        silo: u32,
        /// Where in it.
        offset: u64,
        /// The message.
        message: String,
    },
    /// A segment of a large object is not where it should be.
    #[error("segment {number} of `{id}` is not in silo {silo}")]
    SegmentMissing {
        /// The object.
        id: String,
        /// The segment.
        number: u32,
        /// Where it should be.
        silo: u32,
    },
    /// An abbreviated id that matches several records.
    #[error("`{prefix}` is the beginning of {count} ids")]
    Ambiguous {
        /// The abbreviated id.
        prefix: String,
        /// The number of matching ids.
        count: usize,
    },
    /// A silo that is not the last one does not end with a complete record.
    #[error("silo {silo} is sealed but damaged from byte {offset} on")]
    SealedDamaged {
        /// The silo.
        silo: u32,
        /// The end of its last whole record.
        offset: u64,
    },
}

impl StoreError {
    pub(crate) fn read(silo: u32, source: varve_warc::Error) -> Self {
        Self::Read { silo, source }
    }

    pub(crate) fn walk(silo: u32, error: WalkError) -> Self {
        match error {
            WalkError::Read(source) => Self::Read { silo, source },
            WalkError::Place(error) => Self::Place(error),
        }
    }
}
