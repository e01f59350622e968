//! The errors of the store, each with the silo, offset or path it concerns.

use std::io;

use varve_core::RecordId;
use varve_core::id::IdError;
use varve_warc::write::{RecordPackError, RecordUri, RecordUriError};

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
    Pack(#[from] RecordPackError),
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
    /// A record has an id that is not `urn:sha256:` and 64 hex digits.
    #[error("`{id}` is not a record id")]
    RecordId {
        /// The text.
        id: String,
        /// What is wrong with it.
        source: IdError,
    },
    /// A reference to a record is not a URI.
    #[error(transparent)]
    Reference(#[from] RecordUriError),
    /// A record that was just written has no receipt, because a header field is missing or invalid.
    #[error("the header of record `{id}` yields no receipt")]
    NoReceipt {
        /// The record.
        id: String,
    },
    /// An object to store has no segments.
    #[error("an object without segments cannot be stored")]
    NoSegments,
    /// An earlier write failed for this reason. This writer accepts nothing more.
    #[error("an earlier write failed; open the archive again, which puts it in order")]
    Stopped(#[source] io::Error),
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
        /// Whether the index led here and another record or none is here: the index may be wrong.
        misdirected: bool,
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
}

/// The record id in a URI that varve made.
pub(crate) fn parse_record_uri(uri: &RecordUri) -> Result<RecordId, StoreError> {
    uri.as_str().parse().map_err(|source| StoreError::RecordId { id: uri.to_string(), source })
}

impl StoreError {
    pub(crate) fn read(silo: u32, source: varve_warc::Error) -> Self {
        Self::Read { silo, source }
    }

    /// Whether a lookup failed that may succeed with an index made from the silos.
    pub fn may_be_index_damage(&self) -> bool {
        matches!(
            self,
            Self::Index(_) | Self::Damaged { misdirected: true, .. } | Self::Silo(SiloError::Missing { .. })
        )
    }

    pub(crate) fn walk(silo: u32, error: WalkError) -> Self {
        match error {
            WalkError::Read(source) => Self::Read { silo, source },
            WalkError::Place(error) => Self::Place(error),
        }
    }
}

/// An error with its causes, on one line.
pub fn error_text(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether an error is a full disk or an exceeded quota.
pub fn is_out_of_space(error: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| matches!(cause.kind(), StorageFull | QuotaExceeded))
    })
}
