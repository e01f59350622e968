//! The tables and indexes of a site in the current schema.

use rusqlite::Connection;
use varve_sqlite::SqlResult;

/// The tables of Moku and those that varve adds, as a layout of [`varve_sqlite`].
pub enum MokuTables {}

/// The tables of Moku.
pub(crate) const MOKU_TABLES: &str = include_str!("../sql/moku_tables.sql");
/// The tables that varve adds.
pub(crate) const VARVE_TABLES: &str = include_str!("../sql/varve_tables.sql");
/// The indexes of Moku.
const MOKU_INDEXES: &str = include_str!("../sql/moku_indexes.sql");
/// The indexes of the tables that varve adds.
const VARVE_INDEXES: &str = include_str!("../sql/varve_indexes.sql");

/// Creates missing tables and indexes.
pub(crate) fn create_tables(connection: &Connection) -> SqlResult<()> {
    for sql in [MOKU_TABLES, MOKU_INDEXES, VARVE_TABLES, VARVE_INDEXES] {
        connection.execute_batch(sql)?;
    }
    connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '2')", [])?;
    Ok(())
}
