//! Revisions: what one download of a resource gave, or why it failed. The body lies beside the
//! database.
//!
//! The two JSON texts are kept as texts and read on demand, so that one that cannot be read costs
//! nobody the row, and a copy of a project is exact.

use rusqlite::Row;
use varve_core::secret::Secret;

use super::RowColumns;
use crate::error::Result;
use crate::format_error::JsonProblem;
use crate::ids::{ResourceId, RevisionId};
use crate::revision::{DownloadError, ResponseMetadata};

/// One download of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its id, from which the name of its body's file is made. Ids of deleted revisions are given
    /// again.
    pub id: RevisionId,
    /// The resource. A damaged project may not have it.
    pub resource: ResourceId,
    /// The `Cookie` header that was sent.
    pub request_cookie: Option<Secret<String>>,
    /// `null`, or the error as JSON, exactly as it is kept.
    pub error: String,
    /// `null`, or status and headers as JSON, exactly as it is kept.
    pub metadata: String,
}

impl Revision {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        Self::read_from(row, 0)
    }

    /// Reads the columns from the one with the number `first` on.
    pub(crate) fn read_from(row: &Row<'_>, first: usize) -> Result<Self> {
        let columns = RowColumns::of("resource_revision", row, first);
        Ok(Self {
            id: RevisionId(columns.id()),
            resource: ResourceId(columns.integer(first + 1, "resource_id")?),
            request_cookie: columns.optional_text(first + 2, "request_cookie")?.map(Secret::new),
            error: columns.text(first + 3, "error")?,
            metadata: columns.text(first + 4, "metadata")?,
        })
    }

    /// Whether the download has a body, which may be empty: exactly if no error is recorded.
    pub fn has_body(&self) -> bool {
        self.error.trim_ascii() == "null"
    }

    /// The recorded error, if the download failed.
    pub fn download_error(&self) -> Result<Option<DownloadError>, JsonProblem> {
        DownloadError::read(&self.error)
    }

    /// Status and headers, where the download had any: failed ones and those that were no HTTP have
    /// none.
    pub fn metadata(&self) -> Result<Option<ResponseMetadata>, JsonProblem> {
        ResponseMetadata::read(&self.metadata)
    }
}
