//! Properties: the settings of a project, texts under names.
//!
//! Four names have a meaning to Crystal and typed readers here; `hibernated_state` has its own file. All others
//! are kept as they are: Crystal leaves unknown ones alone, and so does this. An empty text counts as absent.

use rusqlite::Row;
use serde::Serialize;

use super::{ColumnProblem, RowError};
use crate::database::stream::{Stream, text_up};
use crate::error::{Error, Result};
use crate::project::Project;

/// The names of the properties that Crystal knows.
pub mod property_name {
    /// How bodies are stored.
    pub const MAJOR_VERSION: &str = "major_version";
    /// The version that a move to packs began at; there only while one is under way.
    pub const MAJOR_VERSION_OLD: &str = "major_version_old";
    /// The prefix that is left out where URLs are shown, and whose pages the session's cookie is for.
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

impl Project {
    /// The text of a property, exactly as it is kept.
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        let sql = "SELECT value FROM project_property WHERE name = ?1";
        self.one(sql, [name], |row| property_text(row, 0)).map(Option::flatten)
    }

    /// All properties with their texts, in the order of their names.
    pub fn properties(&self) -> Stream<'_, (String, Option<String>)> {
        let mut query = self.id_query(
            "SELECT name, value FROM project_property WHERE name >= CAST(?1 AS TEXT) AND name < x'' ORDER BY name",
        );
        query.first = rusqlite::types::Value::Blob(Vec::new());
        query.after = text_up;
        query.read = Box::new(|row| Ok(Some((property_name_of(row)?, property_text(row, 1)?))));
        Stream::new(query)
    }

    fn known_property(&self, name: &str) -> Result<Option<String>> {
        Ok(self.property(name)?.filter(|text| !text.is_empty()))
    }

    /// The prefix that is left out where URLs are shown.
    pub fn default_url_prefix(&self) -> Result<Option<String>> {
        self.known_property(property_name::DEFAULT_URL_PREFIX)
    }

    /// Which parser Crystal reads this project's pages with.
    pub fn html_parser(&self) -> Result<HtmlParser> {
        Ok(match self.known_property(property_name::HTML_PARSER_TYPE)?.as_deref() {
            None | Some("html_parser") => HtmlParser::HtmlParser,
            Some("lxml") => HtmlParser::Lxml,
            Some(other) => HtmlParser::Other(other.to_owned()),
        })
    }

    /// How Crystal labels this project's entities; a name that it does not know counts as the first.
    pub fn entity_title_format(&self) -> Result<EntityTitleFormat> {
        Ok(match self.known_property(property_name::ENTITY_TITLE_FORMAT)?.as_deref() {
            Some("name_url") => EntityTitleFormat::NameUrl,
            _ => EntityTitleFormat::UrlName,
        })
    }
}

/// A text of the table that has no ids: a wrong value is said of row 0.
fn property_text(row: &Row<'_>, index: usize) -> Result<Option<String>> {
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

fn property_name_of(row: &Row<'_>) -> Result<String> {
    let wrong =
        RowError { table: "project_property", id: 0, column: "name", problem: ColumnProblem::NotUtf8 };
    row.get::<_, String>(0).map_err(|_| Error::Row(wrong))
}
