//! What a revision says: status and headers, or the error, and which of several revisions to show.
//!
//! Pure readings of the texts in a row, with no file in sight.

mod choose;
mod conditional;
mod failure;
mod metadata;
pub(crate) mod python_json;

pub use choose::Session;
pub use conditional::Resolved as ResolvedRevision;
pub use failure::DownloadError;
pub use metadata::Metadata;
pub use varve_core::history::Choice;

/// Why a JSON text in a row cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonProblem {
    /// It is no JSON.
    #[error("it is not JSON, at column {column}")]
    NotJson {
        /// Where the reading failed, counted from 1.
        column: usize,
    },
    /// It is JSON of another form.
    #[error("{0}")]
    WrongForm(&'static str),
}

impl JsonProblem {
    /// Parses a text, or says where it stops being JSON.
    fn parse(text: &str) -> Result<serde_json::Value, Self> {
        serde_json::from_str(text).map_err(|error| Self::NotJson { column: error.column() })
    }
}
