//! History in SQLite: opening a database, reading and writing it, and errors that name the file.
//!
//! `catalog.db` and `moku.db` hold the same kind of history in different tables. This crate owns
//! what they share. Readers change nothing, also on a disk that is read-only or full. Errors say
//! whether the file is damaged, locked, foreign or out of reach. [`TableCatalog`] implements the
//! seam of [`varve_core::catalog`] over any [`TableLayout`], which names the tables and reads
//! captures.

pub mod column;
mod database_path;
mod error;
mod open;
mod read_annotations;
mod read_catalog;
mod reader_pool;
mod table_catalog;
mod table_layout;
mod verdicts;
mod versions;

use rusqlite::{Connection, Params, Row};
use varve_core::history::TimeOrder;

pub use database_path::DatabasePath;
pub use error::UnlocatedError;
pub use open::{configure_writer, open_to_write};
pub use read_annotations::parsed_state;
pub use reader_pool::ReaderPool;
pub use table_catalog::TableCatalog;
pub use table_layout::{
    BatchEffect, CaptureTables, DiffTable, ExtractionTables, RemovalTables, SealedLogTables, TableLayout,
    TagTable, VersionTable, WriteCache,
};
pub use verdicts::{store_check, store_verdict};

/// The result of a function over a connection, which does not know the path of its database.
pub type SqlResult<T> = Result<T, UnlocatedError>;

/// Converts a limit to the signed number that SQL takes.
pub fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The comparison with the cursor and the direction of `ORDER BY` for an order.
pub fn sql_order(order: TimeOrder) -> (&'static str, &'static str) {
    match order {
        TimeOrder::OldestFirst => (">", "ASC"),
        TimeOrder::NewestFirst => ("<", "DESC"),
    }
}

/// The values of a cursor before all rows, and after all rows with the same time.
pub fn cursor_limits(order: TimeOrder) -> (i64, i64) {
    match order {
        TimeOrder::OldestFirst => (i64::MIN, i64::MAX),
        TimeOrder::NewestFirst => (i64::MAX, i64::MIN),
    }
}

/// Runs a statement that returns no rows.
pub fn execute(connection: &Connection, sql: &str, params: impl Params) -> SqlResult<()> {
    connection.prepare_cached(sql)?.execute(params)?;
    Ok(())
}

/// Reads all rows of a query.
pub fn collect_rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<Vec<T>> {
    connection.prepare_cached(sql)?.query_and_then(params, read)?.collect()
}
