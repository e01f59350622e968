//! Returns the space of deleted rows in `moku.db` to the disk.
//!
//! SQLite keeps free pages for later rows. A file with `auto_vacuum` returns them one by one. Files
//! that Moku made do not have it: they are rewritten once, and have it from then on. An interrupted
//! vacuum leaves the file as it was, and readers are not disturbed. Both ways need disk space in
//! the meantime.

use rusqlite::Connection;
use varve_sqlite::{DatabasePath, SqlResult};

/// The value of `auto_vacuum` for files that return pages when they are asked to.
const AUTO_VACUUM_INCREMENTAL: i64 = 2;
/// A file is rewritten if at least one page in this number is free.
const REWRITE_FREE_FRACTION: i64 = 10;

/// Turns on incremental vacuum for a database without tables.
pub(crate) fn enable_incremental(connection: &Connection) -> SqlResult<()> {
    Ok(connection.pragma_update(None, "auto_vacuum", AUTO_VACUUM_INCREMENTAL)?)
}

/// Returns free pages, if there are enough of them.
pub(crate) fn vacuum(path: &DatabasePath) -> SqlResult<()> {
    // A connection of its own: temporary data may be as large as the database, and goes to a file.
    let connection = varve_sqlite::open_to_write(path)?;
    connection.pragma_update(None, "temp_store", "FILE")?;
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (pages, free) = (number("page_count")?, number("freelist_count")?);
    if number("auto_vacuum")? == AUTO_VACUUM_INCREMENTAL {
        // Each row of the result frees one page.
        let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut freed = statement.query([])?;
        while freed.next()?.is_some() {}
    } else if free * REWRITE_FREE_FRACTION >= pages {
        enable_incremental(&connection)?;
        connection.execute_batch("VACUUM")?;
    }
    // The file keeps its length until the log is checkpointed. If a reader prevents that, the last
    // connection to close does it.
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}
