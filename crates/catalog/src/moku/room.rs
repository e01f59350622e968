//! The room that forgotten rows leave in `moku.db`.
//!
//! SQLite keeps pages that hold nothing any more for rows to come. A file that was made for it gives them back one by one; one
//! that was not, as Moku's are not, is written anew once, and can do so from then on. Readers see what they saw, and whatever
//! stops it leaves the file as it was. Both take room in the meantime, so that a full disk is a reason to leave it.

use std::path::Path;

use rusqlite::Connection;

use crate::connect;
use crate::problem::Problem;

/// `auto_vacuum` of a file that gives pages back when it is told to.
const INCREMENTAL: i64 = 2;

/// Lets a database that holds nothing yet give back its pages later.
pub(super) fn prepare(connection: &Connection) -> Result<(), Problem> {
    Ok(connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?)
}

/// Gives free pages back, where there are so many that it is worth it.
pub(super) fn give_back(path: &Path) -> Result<(), Problem> {
    // A connection of its own: what is put aside on the way may be as large as the database, and goes to a file.
    let connection = connect::to_write(path)?;
    connection.pragma_update(None, "temp_store", "FILE")?;
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (pages, free) = (number("page_count")?, number("freelist_count")?);
    if number("auto_vacuum")? == INCREMENTAL {
        // One page with each step.
        let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut steps = statement.query([])?;
        while steps.next()?.is_some() {}
    } else if free * 10 >= pages {
        prepare(&connection)?;
        connection.execute_batch("VACUUM")?;
    }
    // Until the log is put back the file is as long as it was. Where somebody reads, whoever closes last does it.
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}
