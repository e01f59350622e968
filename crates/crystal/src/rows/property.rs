//! Properties: the settings of a project, texts under names.
//!
//! Four names have a meaning to Crystal and typed readers here; `hibernated_state` has its own
//! file. All others are kept as they are: Crystal leaves unknown ones alone, and so does this. An
//! empty text counts as absent.

use rusqlite::Row;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::format_error::{ColumnProblem, RowError};

/// The names of the properties that Crystal knows.
pub mod property_name {
    /// How bodies are stored.
    pub const MAJOR_VERSION: &str = "major_version";
    /// The version that a move to packs began at; there only while one is under way.
    pub const MAJOR_VERSION_OLD: &str = "major_version_old";
    /// The prefix that is left out where URLs are shown, and whose pages the session's cookie is
    /// for.
    pub const DEFAULT_URL_PREFIX: &str = "default_url_prefix";
    /// Which parser reads pages.
    pub const HTML_PARSER_TYPE: &str = "html_parser_type";
    /// How entities are labelled.
    pub const ENTITY_TITLE_FORMAT: &str = "entity_title_format";
    /// The tasks to go on with.
    pub const HIBERNATED_STATE: &str = "hibernated_state";
}

/// Which parser Crystal reads pages with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HtmlParser {
    /// The classic one, which projects without the property have.
    HtmlParser,
    /// The one that new projects have.
    Lxml,
    /// A name that no Crystal known here has; it opens such a project and fails at the first page.
    Other(String),
}

/// How Crystal labels entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityTitleFormat {
    /// First the URL, then the name.
    UrlName,
    /// First the name, then the URL.
    NameUrl,
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
