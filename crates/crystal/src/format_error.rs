//! What can be wrong with the formats inside a project: rows, packs and JSON texts.
//!
//! These errors know no path; the error of the crate adds it.

use std::io;

use rusqlite::types::Type;

/// A value that a row of a project cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("row {id} of table `{table}` has {problem} in column `{column}`")]
pub struct RowError {
    /// The table.
    pub table: &'static str,
    /// The row.
    pub id: i64,
    /// The column.
    pub column: &'static str,
    /// What is wrong with the value.
    pub problem: ColumnProblem,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnProblem {
    /// A value of another type.
    #[error("a value of type {0}")]
    WrongType(Type),
    /// Bytes that are no text.
    #[error("a text that is not UTF-8")]
    NotUtf8,
    /// An unexpected word.
    #[error("the unknown word {0:?}")]
    UnknownWord(String),
}

/// What is wrong with a pack.
#[derive(Debug, thiserror::Error)]
pub enum BodyPackError {
    /// The file could not be read.
    #[error("it cannot be read")]
    Io(#[from] io::Error),
    /// It is no zip, or its directory is not where its end says.
    #[error("its directory cannot be found")]
    NoDirectory,
    /// The directory is not one of a pack.
    #[error("its directory is damaged")]
    BadDirectory,
    /// The entry's place or size cannot be.
    #[error("its entry is damaged")]
    BadEntry,
    /// The entry is packed or encrypted in a way that packs are not.
    #[error("its entry is packed by method {0}")]
    UnknownMethod(u16),
}

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
    pub(crate) fn parse(text: &str) -> Result<serde_json::Value, Self> {
        serde_json::from_str(text).map_err(|error| Self::NotJson { column: error.column() })
    }
}
