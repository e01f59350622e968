//! Properties: the settings of a project, texts under names.
//!
//! `hibernated_state` has its own file. Properties that have no meaning here are stored unchanged,
//! as Crystal does. An empty text counts as absent.

use rusqlite::Row;

use crate::error::{Error, Result};
use crate::format_error::{ColumnProblem, RowError};

/// The names of the properties that Crystal knows.
pub mod property_name {
    /// How bodies are stored.
    pub const MAJOR_VERSION: &str = "major_version";
    /// The version before a move to packs; set only while one is under way.
    pub const MAJOR_VERSION_OLD: &str = "major_version_old";
    /// The prefix that Crystal leaves out of the URLs that it shows.
    pub const DEFAULT_URL_PREFIX: &str = "default_url_prefix";
    /// The tasks that Crystal continues.
    pub const HIBERNATED_STATE: &str = "hibernated_state";
}

/// A text of the table without ids: errors name row 0.
pub(crate) fn property_text(row: &Row<'_>, index: usize) -> Result<Option<String>> {
    use rusqlite::types::ValueRef;
    let problem = match row.get_ref(index) {
        Ok(ValueRef::Null) | Err(_) => return Ok(None),
        Ok(ValueRef::Text(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(Some(text.to_owned())),
            Err(_) => ColumnProblem::NotUtf8,
        },
        // The column turns numbers into texts, so that only a blob can be here.
        Ok(other) => ColumnProblem::WrongType(other.data_type()),
    };
    Err(Error::Row(RowError { table: "project_property", id: 0, column: "value", problem }))
}

pub(crate) fn property_name_of(row: &Row<'_>) -> Result<String> {
    let wrong =
        RowError { table: "project_property", id: 0, column: "name", problem: ColumnProblem::NotUtf8 };
    row.get::<_, String>(0).map_err(|_| Error::Row(wrong))
}
