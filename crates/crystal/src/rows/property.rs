//! Properties: the settings of a project, texts under names.
//!
//! `hibernated_state` has its own file. Properties that have no meaning here are stored unchanged,
//! as Crystal does. An empty text counts as absent.

use rusqlite::Row;

use super::hibernated::{HibernatedState, HibernatedTask};
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
    /// The parser of HTML pages.
    pub const HTML_PARSER_TYPE: &str = "html_parser_type";
    /// How Crystal labels roots and groups.
    pub const ENTITY_TITLE_FORMAT: &str = "entity_title_format";
}

/// What a value of a property must be, if this is none that Crystal can use. An empty value counts
/// as absent. Properties that Crystal does not know have any value.
pub(crate) fn expected_value(name: &str, value: &str) -> Option<&'static str> {
    use property_name::{DEFAULT_URL_PREFIX, ENTITY_TITLE_FORMAT, HIBERNATED_STATE, HTML_PARSER_TYPE};
    let (is_valid, expected) = match name {
        HTML_PARSER_TYPE => (matches!(value, "html_parser" | "lxml"), "`html_parser` or `lxml`"),
        ENTITY_TITLE_FORMAT => (matches!(value, "url_name" | "name_url"), "`url_name` or `name_url`"),
        DEFAULT_URL_PREFIX => {
            (is_url_prefix(value), "the beginning of a URL, with scheme and host, without spaces")
        }
        HIBERNATED_STATE => (is_hibernated_state(value), "the JSON of tasks that Crystal knows"),
        _ => return None,
    };
    (!is_valid && !value.is_empty()).then_some(expected)
}

fn is_url_prefix(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let has_host = !rest.is_empty() && !rest.starts_with(['/', '?', '#']);
    is_scheme && has_host && !value.contains(|char: char| char.is_whitespace() || char.is_control())
}

fn is_hibernated_state(value: &str) -> bool {
    let state: Result<HibernatedState, _> = serde_json::from_str(value);
    state.is_ok_and(|state| !state.tasks.contains(&HibernatedTask::Unknown))
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
