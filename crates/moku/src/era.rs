//! The eras of `moku.db`. Moku changed its tables without changing their version number, so an era
//! is recognised by its columns.
//!
//! Every era is read through two temporary views of one shape, `commits` and `pages`. Empty
//! temporary tables stand in for tables that an era does not have. Nothing changes in the file, and
//! the SQL for reading is the same for all eras.

use std::collections::BTreeSet;

use rusqlite::Connection;
use varve_sqlite::{SqlResult, UnlocatedError};

use crate::create_tables::{MOKU_TABLES, VARVE_TABLES};

/// The greatest `schema_version` that Moku has written.
const NEWEST_SCHEMA_VERSION: i64 = 2;
/// The number of table names that the message about a foreign database lists.
const MAX_LISTED_TABLES: usize = 5;

/// How captures are tied to versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// The database has no tables.
    Empty,
    /// A version names one snapshot, and its files are in `version_files` (v1).
    VersionFiles,
    /// The table `version_snapshots` ties snapshots to versions (v2a to v2e).
    VersionSnapshots,
    /// A snapshot names its version (v2f, the schema of the seed).
    Current,
}

impl Era {
    /// Recognises the era by the columns.
    pub(crate) fn of(connection: &Connection) -> SqlResult<Self> {
        let tables = tables(connection)?;
        if tables.is_empty() {
            return Ok(Self::Empty);
        }
        let has = |table: &str| tables.contains(table);
        let foreign = || UnlocatedError::Foreign(foreign_message(&tables));
        if !has("versions") || !has("snapshots") {
            return Err(foreign());
        }
        refuse_newer(connection, has("meta"))?;
        let snapshots = columns(connection, "snapshots")?;
        if snapshots.contains("version_id") && snapshots.contains("blob_id") {
            Ok(Self::Current)
        } else if has("version_snapshots") && snapshots.contains("blob_id") {
            Ok(Self::VersionSnapshots)
        } else if has("version_files") && columns(connection, "versions")?.contains("snapshot_id") {
            Ok(Self::VersionFiles)
        } else {
            Err(foreign())
        }
    }

    /// Whether it must be upgraded before it can be written.
    pub(crate) fn is_old(self) -> bool {
        matches!(self, Self::VersionFiles | Self::VersionSnapshots)
    }

    /// Creates the temporary views and tables through which this era is read.
    pub(crate) fn create_views(self, connection: &Connection) -> SqlResult<()> {
        let existing = tables(connection)?;
        for statement in MOKU_TABLES.split(';').chain(VARVE_TABLES.split(';')) {
            if let Some((name, columns)) =
                table_shape(statement).filter(|(name, _)| !existing.contains(*name))
            {
                connection.execute_batch(&format!("CREATE TEMP TABLE {name} {columns}"))?;
            }
        }
        connection.execute_batch(&self.view_sql(connection)?)?;
        Ok(())
    }

    fn view_sql(self, connection: &Connection) -> SqlResult<String> {
        let columns = columns(connection, "snapshots")?;
        let column_or = |column: &str, default: &str| {
            if columns.contains(column) { format!("s.{column}") } else { default.to_owned() }
        };
        let page = format!("{} AS status_code, s.url", column_or("status_code", "0"));
        let rest = format!("s.created_at, {} AS headers", column_or("headers", "NULL"));
        let varve_join = "LEFT JOIN varve_snapshots AS x ON x.snapshot_id = s.id";
        let varve_columns = "x.record, x.length, coalesce(x.truncated, 0) AS truncated";
        let pages = match self {
            Self::Empty | Self::Current => format!(
                "SELECT s.rowid AS place, s.id, s.version_id, NULL AS run, {page}, s.file_path, s.blob_id, {rest},
                     {varve_columns} FROM snapshots AS s {varve_join}"
            ),
            Self::VersionSnapshots => format!(
                "SELECT t.rowid AS place, s.id, t.version_id, NULL AS run, {page}, s.file_path, s.blob_id, {rest},
                     {varve_columns} FROM version_snapshots AS t
                     CROSS JOIN snapshots AS s ON s.id = t.snapshot_id {varve_join}"
            ),
            Self::VersionFiles => format!(
                "SELECT f.rowid AS place, s.id, v.id AS version_id, NULL AS run, {page}, f.file_path, f.blob_id,
                     {rest}, {varve_columns} FROM versions AS v JOIN snapshots AS s ON s.id = v.snapshot_id
                     JOIN version_files AS f ON f.version_id = v.id {varve_join}"
            ),
        };
        Ok(format!(
            "CREATE TEMP VIEW commits AS
                 SELECT v.rowid AS place, v.id, v.parent_id, v.message, v.author, v.timestamp, x.run, x.record
                 FROM versions AS v LEFT JOIN varve_versions AS x ON x.version_id = v.id;
             CREATE TEMP VIEW pages AS {pages}
                 UNION ALL SELECT place + (1 << 62), id, NULL, run, status_code, url, file_path, blob_id,
                     created_at, headers, record, length, truncated FROM varve_run_snapshots;"
        ))
    }
}

/// Says that another program made the database, and lists some of its tables, by which users may
/// recognise it.
fn foreign_message(tables: &BTreeSet<String>) -> String {
    let names: Vec<String> =
        tables.iter().take(MAX_LISTED_TABLES).map(|name| format!("`{}`", name.escape_debug())).collect();
    let more = match tables.len().saturating_sub(MAX_LISTED_TABLES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("this database is not one of Moku: it has the tables {}{more}", names.join(", "))
}

fn refuse_newer(connection: &Connection, has_meta: bool) -> SqlResult<()> {
    if !has_meta {
        return Ok(());
    }
    let sql = "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM meta WHERE key = 'schema_version'";
    let version: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if version > NEWEST_SCHEMA_VERSION {
        return Err(UnlocatedError::Newer(format!(
            "it was written by a newer Moku (schema {version}; this varve knows {NEWEST_SCHEMA_VERSION})"
        )));
    }
    Ok(())
}

/// The name and the columns in a `CREATE TABLE` statement.
fn table_shape(statement: &str) -> Option<(&str, &str)> {
    statement.split_once("CREATE TABLE IF NOT EXISTS ")?.1.split_once(' ')
}

fn tables(connection: &Connection) -> SqlResult<BTreeSet<String>> {
    names(connection, "SELECT name FROM main.sqlite_schema WHERE type = 'table'", [])
}

/// The columns of a table.
pub(crate) fn columns(connection: &Connection, table: &str) -> SqlResult<BTreeSet<String>> {
    names(connection, "SELECT name FROM pragma_table_info(?1, 'main')", [table])
}

fn names(connection: &Connection, sql: &str, params: impl rusqlite::Params) -> SqlResult<BTreeSet<String>> {
    let mut statement = connection.prepare(sql)?;
    Ok(statement.query_map(params, |row| row.get(0))?.collect::<Result<_, _>>()?)
}
