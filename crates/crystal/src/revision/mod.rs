//! The JSON texts of a revision: status and headers, or the error.
//!
//! Parses and writes the texts of a row, without any file.

mod failure;
mod metadata;
pub(crate) mod python_json;

pub use failure::DownloadError;
pub use metadata::ResponseMetadata;
