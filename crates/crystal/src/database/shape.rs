//! Which optional tables and columns a database has, read once when it is opened.
//!
//! Older projects lack columns and a table. A reader may not add them, so statements are written
//! with stand-ins for what is missing, and this says for what. What no project ever lacked is asked
//! for by name, so that a database of something else is refused at the door and not at the first
//! query.

use rusqlite::{Connection, OptionalExtension};
use std::path::Path;

use super::schema::{self, has_column};
use crate::error::{Error, Result, database_at};

/// The columns that every project has.
const REQUIRED_COLUMNS: [(&str, &[&str]); 5] = [
    ("project_property", &["name", "value"]),
    ("resource", &["id", "url"]),
    ("root_resource", &["id", "name", "resource_id"]),
    ("resource_group", &["id", "name", "url_pattern", "source_type", "source_id"]),
    ("resource_revision", &["id", "resource_id", "error", "metadata"]),
];
const ALIAS_COLUMNS: &[&str] = &["id", "source_url_prefix", "target_url_prefix", "target_is_external"];

/// What this database has beyond what every project has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) has_request_cookie: bool,
    pub(crate) has_do_not_download: bool,
    pub(crate) has_alias: bool,
    /// Whether there is an index on status codes, and so none of the metadata is broken JSON.
    pub(crate) has_status_index: bool,
}

impl Shape {
    /// Learns the shape of the database of the project at `dir`.
    pub(crate) fn learn(connection: &Connection, dir: &Path) -> Result<Self> {
        for (table, columns) in REQUIRED_COLUMNS {
            need(connection, dir, table, columns)?;
        }
        let failed = database_at(dir);
        let has_alias = is_table(connection, "alias").map_err(&failed)?;
        if has_alias {
            need(connection, dir, "alias", ALIAS_COLUMNS)?;
        }
        // Where texts are UTF-16, their order is not that of their bytes, and a prefix is no range.
        let encoding: String =
            connection.pragma_query_value(None, "encoding", |row| row.get(0)).map_err(&failed)?;
        if encoding != "UTF-8" {
            return Err(Error::Schema { path: dir.to_owned(), what: "texts in UTF-8".to_owned() });
        }
        Ok(Self {
            has_request_cookie: has_column(connection, "resource_revision", "request_cookie")
                .map_err(&failed)?,
            has_do_not_download: has_column(connection, "resource_group", "do_not_download")
                .map_err(&failed)?,
            has_alias,
            has_status_index: schema::has_status_index(connection).map_err(&failed)?,
        })
    }

    /// How a statement names the cookie column.
    pub(crate) const fn request_cookie(self) -> &'static str {
        if self.has_request_cookie { "request_cookie" } else { "NULL" }
    }

    /// How a statement names the do-not-download column.
    pub(crate) const fn do_not_download(self) -> &'static str {
        if self.has_do_not_download { "do_not_download" } else { "0" }
    }
}

fn need(connection: &Connection, dir: &Path, table: &str, columns: &[&str]) -> Result<()> {
    let lacking = |what| Error::Schema { path: dir.to_owned(), what };
    if !is_table(connection, table).map_err(database_at(dir))? {
        return Err(lacking(format!("table `{table}`")));
    }
    for column in columns {
        if !has_column(connection, table, column).map_err(database_at(dir))? {
            return Err(lacking(format!("column `{table}.{column}`")));
        }
    }
    Ok(())
}

/// Whether there is a real table of that name: neither a view nor a virtual one, behind which
/// anything may stand.
fn is_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM pragma_table_list(?1) WHERE schema = 'main' AND type = 'table'";
    connection.query_row(sql, [name], |_| Ok(())).optional().map(|found| found.is_some())
}
