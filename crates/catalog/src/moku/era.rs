//! The eras of `moku.db`. Moku changed its tables without changing their version number, so an era is known by its
//! columns alone.
//!
//! Every era is read through two temporary views of one shape, `commits` and `pages`, and through empty temporary
//! tables for those that it has not: nothing is changed in the file, and the SQL for reading is the same for all.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::schema::{OWN, TABLES};
use crate::problem::Problem;

/// The greatest `schema_version` that Moku has written.
const NEWEST: i64 = 2;

/// How captures are tied to versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Nothing is there yet.
    Empty,
    /// A version names one snapshot, and its files are in `version_files` (v1).
    Files,
    /// Snapshots and versions are tied by `version_snapshots` (v2a to v2e).
    Tied,
    /// A snapshot names its version (v2f, the seed's).
    Today,
}

impl Era {
    /// Looks at the columns.
    pub(super) fn of(connection: &Connection) -> Result<Self, Problem> {
        let tables = tables(connection)?;
        if tables.is_empty() {
            return Ok(Self::Empty);
        }
        let has = |table: &str| tables.contains(table);
        let not_moku = || Problem::Foreign(not_moku(&tables));
        if !has("versions") || !has("snapshots") {
            return Err(not_moku());
        }
        refuse_newer(connection, has("meta"))?;
        let snapshots = columns(connection, "snapshots")?;
        if snapshots.contains("version_id") && snapshots.contains("blob_id") {
            Ok(Self::Today)
        } else if has("version_snapshots") && snapshots.contains("blob_id") {
            Ok(Self::Tied)
        } else if has("version_files") && columns(connection, "versions")?.contains("snapshot_id") {
            Ok(Self::Files)
        } else {
            Err(not_moku())
        }
    }

    /// Whether varve can write to it as it is.
    pub(super) fn is_old(self) -> bool {
        matches!(self, Self::Files | Self::Tied)
    }

    /// Makes the views and the tables through which this era is read.
    pub(super) fn prepare(self, connection: &Connection) -> Result<(), Problem> {
        let here = tables(connection)?;
        for table in TABLES.split(';').chain(OWN.split(';')) {
            if let Some((name, shape)) = shape_of(table).filter(|(name, _)| !here.contains(*name)) {
                connection.execute_batch(&format!("CREATE TEMP TABLE {name} {shape}"))?;
            }
        }
        connection.execute_batch(&self.views(connection)?)?;
        Ok(())
    }

    fn views(self, connection: &Connection) -> Result<String, Problem> {
        let columns = columns(connection, "snapshots")?;
        let or = |column: &str, other: &str| {
            if columns.contains(column) { format!("s.{column}") } else { other.to_owned() }
        };
        let page = format!("{} AS status_code, s.url", or("status_code", "0"));
        let rest = format!("s.created_at, {} AS headers", or("headers", "NULL"));
        let own = "LEFT JOIN varve_snapshots AS x ON x.snapshot_id = s.id";
        let plain = "x.record, x.length, coalesce(x.truncated, 0) AS truncated";
        let pages = match self {
            Self::Empty | Self::Today => format!(
                "SELECT s.rowid AS place, s.id, s.version_id, NULL AS run, {page}, s.file_path, s.blob_id, {rest},
                     {plain} FROM snapshots AS s {own}"
            ),
            Self::Tied => format!(
                "SELECT t.rowid AS place, s.id, t.version_id, NULL AS run, {page}, s.file_path, s.blob_id, {rest},
                     {plain} FROM version_snapshots AS t CROSS JOIN snapshots AS s ON s.id = t.snapshot_id {own}"
            ),
            Self::Files => format!(
                "SELECT f.rowid AS place, s.id, v.id AS version_id, NULL AS run, {page}, f.file_path, f.blob_id,
                     {rest}, {plain} FROM versions AS v JOIN snapshots AS s ON s.id = v.snapshot_id
                     JOIN version_files AS f ON f.version_id = v.id {own}"
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

/// That a database is another program's, with some of its tables, by which people may know it.
fn not_moku(tables: &BTreeSet<String>) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> =
        tables.iter().take(SHOWN).map(|name| format!("`{}`", name.escape_debug())).collect();
    let more =
        if tables.len() > SHOWN { format!(" and {} more", tables.len() - SHOWN) } else { String::new() };
    format!("this database is not one of Moku: it has the tables {}{more}", names.join(", "))
}

fn refuse_newer(connection: &Connection, has_meta: bool) -> Result<(), Problem> {
    if !has_meta {
        return Ok(());
    }
    let sql = "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM meta WHERE key = 'schema_version'";
    let version: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if version > NEWEST {
        return Err(Problem::Newer(format!(
            "it was written by a newer Moku (schema {version}; this varve knows {NEWEST})"
        )));
    }
    Ok(())
}

/// The name and the columns in a statement that makes a table.
fn shape_of(statement: &str) -> Option<(&str, &str)> {
    statement.split_once("CREATE TABLE IF NOT EXISTS ")?.1.split_once(' ')
}

fn tables(connection: &Connection) -> Result<BTreeSet<String>, Problem> {
    names(connection, "SELECT name FROM main.sqlite_schema WHERE type = 'table'", [])
}

/// The columns of a table.
pub(super) fn columns(connection: &Connection, table: &str) -> Result<BTreeSet<String>, Problem> {
    names(connection, "SELECT name FROM pragma_table_info(?1, 'main')", [table])
}

fn names(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<BTreeSet<String>, Problem> {
    let mut statement = connection.prepare(sql)?;
    Ok(statement.query_map(params, |row| row.get(0))?.collect::<Result<_, _>>()?)
}
