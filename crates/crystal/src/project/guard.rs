//! Whether anyone else has the database open: as near to a lock as a running Crystal allows.
//!
//! Crystal opens a project for writing in WAL mode, and leaves that mode when it closes the
//! project. In WAL mode every connection holds a shared lock from its first read on, and leaving
//! the mode needs the exclusive one. So asking SQLite to leave it answers the question exactly: it
//! succeeds if nobody is there (a log that a crash left is merged on the way), and says busy if
//! somebody is. A Crystal that only reads cannot be seen, and need not be.
//!
//! While a writer here recovers or migrates, it keeps SQLite's exclusive lock between transactions
//! too, so that no Crystal can open the project and migrate it at the same time, with the other's
//! folders vanishing under each. For the rest of the session the log is used and readers are
//! welcome; should Crystal come then, both insert rows, each with ids of its own, which is what two
//! Crystals do.

use rusqlite::Connection;
use std::time::Duration;

use super::Project;
use crate::database::{BUSY_TIMEOUT, journal_mode, set_journal_mode};
use crate::error::{Error, Result, database_at};

/// How long to wait for somebody who may be about to close.
const SHORT_BUSY_TIMEOUT: Duration = Duration::from_millis(500);

impl Project {
    /// Takes the database for this process alone, or says that it is in use.
    pub(crate) fn take_alone(&self) -> Result<()> {
        let taken = self.with_patience(SHORT_BUSY_TIMEOUT, |connection| {
            if journal_mode(connection)? != "delete" {
                set_journal_mode(connection, "delete")?;
            }
            set_locking(connection, "exclusive")?;
            // Between a commit and the removal of its journal's name, a lost name would undo the
            // commit.
            connection.pragma_update(None, "synchronous", "extra")?;
            connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")
        });
        taken.map_err(|error| {
            let _ = self.share();
            if error.is_busy() { Error::InUse { path: self.layout.dir.clone() } } else { error }
        })
    }

    /// Lets others read again, and write where they must.
    pub(crate) fn share(&self) -> Result<()> {
        self.with_patience(BUSY_TIMEOUT, |connection| {
            set_locking(connection, "normal")?;
            // The lock is given up at the next read.
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "full")
        })
    }

    /// Begins to use the log, as Crystal does while a project is open for writing. It is the first
    /// write, too: a file system that only claims to be writable fails here. The log is there from
    /// then on, so that readers know that somebody writes.
    pub(crate) fn begin_log(&self) -> Result<()> {
        self.with_patience(BUSY_TIMEOUT, |connection| {
            set_journal_mode(connection, "wal")?;
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        })
    }

    /// Merges the log and removes it, as a project at rest has none. With others there it stays
    /// until they go.
    pub(crate) fn end_log(&self) -> Result<()> {
        self.with_patience(SHORT_BUSY_TIMEOUT, |connection| set_journal_mode(connection, "delete").map(drop))
    }

    /// Leaves it to the caller to make transactions durable.
    pub(crate) fn defer_syncs(&self) -> Result<()> {
        self.connection.pragma_update(None, "synchronous", "off").map_err(database_at(&self.layout.dir))
    }

    fn with_patience(
        &self,
        patience: Duration,
        act: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let done = self.connection.busy_timeout(patience).and_then(|()| act(&self.connection));
        let restored = self.connection.busy_timeout(BUSY_TIMEOUT);
        done.and(restored).map_err(database_at(&self.layout.dir))
    }
}

fn set_locking(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "locking_mode", mode, |_| Ok(()))
}
