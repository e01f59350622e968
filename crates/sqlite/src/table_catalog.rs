//! A catalog in a SQLite database with any [`TableLayout`]: a pool of readers, and one writer.
//!
//! Owns connections and transactions. `read_catalog` answers the queries.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use varve_core::catalog::{Catalog, CatalogError, CatalogRead, CatalogResult, CatalogRow};

use crate::database_path::DatabasePath;
use crate::table_layout::{BatchEffect, TableLayout, WriteCache};
use crate::{ReaderPool, SqlResult, UnlocatedError, versions};

/// A catalog in the tables of `L`.
pub struct TableCatalog<L: TableLayout> {
    // Dropped before the writer, so that the last connection to close can checkpoint the log.
    readers: ReaderPool,
    writer: Option<Mutex<TableWriter<L::Cache>>>,
    layout: PhantomData<fn() -> L>,
}

/// The connection that writes, with its cache.
struct TableWriter<C> {
    connection: Connection,
    sync: CommitSync,
    cache: C,
}

/// Whether a commit waits for the disk. Without, a power cut may lose the last commits, and the
/// database stays intact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitSync {
    Normal,
    Full,
}

impl<L: TableLayout> TableCatalog<L> {
    /// Opens the database to read. Changes nothing, and leaves no new file beside it.
    pub fn open_to_read(path: impl Into<DatabasePath>) -> CatalogResult<Self> {
        Self::open(&path.into(), None)
    }

    /// Opens the database to write, and creates it if it does not exist. The caller holds the lock
    /// of the archive or site.
    pub fn open_to_write(path: impl Into<DatabasePath>) -> CatalogResult<Self> {
        Self::open_with_options(path, &L::WriteOptions::default())
    }

    /// Opens the database to write, as [`open_to_write`](Self::open_to_write) does.
    pub fn open_with_options(
        path: impl Into<DatabasePath>,
        options: &L::WriteOptions,
    ) -> CatalogResult<Self> {
        let path = &path.into();
        let connection = L::open_writer(path, options).map_err(|error| error.at(path.as_path()))?;
        let writer = TableWriter { connection, sync: CommitSync::Full, cache: L::Cache::default() };
        Self::open(path, Some(Mutex::new(writer)))
    }

    fn open(path: &DatabasePath, writer: Option<Mutex<TableWriter<L::Cache>>>) -> CatalogResult<Self> {
        Ok(Self { readers: ReaderPool::open(path, L::prepare_reader)?, writer, layout: PhantomData })
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        self.readers.path().as_path()
    }

    /// The place of the database.
    pub fn database_path(&self) -> &DatabasePath {
        self.readers.path()
    }

    /// The first inconsistency within the database, in the words of SQLite: rows and the indexes of
    /// their table may disagree, and a query may use either.
    pub fn integrity_problem(&self) -> CatalogResult<Option<String>> {
        self.query(|connection| {
            let said: String =
                connection.query_row("PRAGMA main.integrity_check(1)", [], |row| row.get(0))?;
            Ok((said != "ok").then_some(said))
        })
    }

    /// Runs queries that all see the same state of the database.
    pub fn query<T>(&self, queries: impl FnOnce(&Connection) -> SqlResult<T>) -> CatalogResult<T> {
        self.readers.query(queries)
    }

    /// Sets the size of the page cache of the writer, for a catalog that is filled from the beginning:
    /// its rows change pages everywhere in the indexes.
    pub fn set_writer_cache(&self, kibibytes: u32) -> CatalogResult<()> {
        self.maintain(|connection| {
            // SQLite takes a negative number as a size.
            Ok(connection.pragma_update(None, "cache_size", -i64::from(kibibytes))?)
        })
    }

    /// Runs a query of one statement, which needs no transaction.
    pub fn query_statement<T>(
        &self,
        statement: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> CatalogResult<T> {
        self.readers.query_statement(statement)
    }

    /// Runs `work` in a transaction that survives a power cut.
    pub fn write<T>(&self, work: impl FnOnce(&Connection) -> SqlResult<T>) -> CatalogResult<T> {
        self.transact(CommitSync::Full, |connection, _| work(connection))
    }

    /// Runs `work` in a transaction whose commit does not wait for the disk.
    pub fn write_unsynced<T>(&self, work: impl FnOnce(&Connection) -> SqlResult<T>) -> CatalogResult<T> {
        self.transact(CommitSync::Normal, |connection, _| work(connection))
    }

    /// Runs `work` outside a transaction, while this process writes nothing else.
    pub fn maintain(&self, work: impl FnOnce(&Connection) -> SqlResult<()>) -> CatalogResult<()> {
        work(&self.writer()?.connection).map_err(|error| error.at(self.path()))
    }

    fn writer(&self) -> CatalogResult<MutexGuard<'_, TableWriter<L::Cache>>> {
        let read_only = || CatalogError::ReadOnly { path: self.path().to_owned() };
        Ok(self.writer.as_ref().ok_or_else(read_only)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn transact<T>(
        &self,
        sync: CommitSync,
        work: impl FnOnce(&Connection, &mut L::Cache) -> SqlResult<T>,
    ) -> CatalogResult<T> {
        self.writer()?.transact(sync, work).map_err(|error| error.at(self.path()))
    }

    fn store(&self, rows: &mut dyn Iterator<Item = CatalogRow>) -> CatalogResult<()> {
        let effect =
            self.transact(CommitSync::Full, |connection, cache| L::apply(connection, cache, rows))?;
        self.vacuum_after(effect)
    }

    /// Rewrites the file without erased rows, which SQLite leaves in free pages otherwise.
    fn vacuum_after(&self, effect: BatchEffect) -> CatalogResult<()> {
        match effect {
            BatchEffect::Added => Ok(()),
            BatchEffect::Erased => self.maintain(|connection| {
                Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?)
            }),
        }
    }
}

impl<C: WriteCache> TableWriter<C> {
    /// Runs `work` in a transaction.
    fn transact<T>(
        &mut self,
        sync: CommitSync,
        work: impl FnOnce(&Connection, &mut C) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if self.sync != sync {
            let value = if sync == CommitSync::Full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", value)?;
            self.sync = sync;
        }
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        self.cache.begin(&transaction)?;
        let done = work(&transaction, &mut self.cache)
            .and_then(|answer| transaction.commit().map(|()| answer).map_err(UnlocatedError::from));
        if done.is_err() {
            self.cache.clear();
        }
        done
    }
}

impl<L: TableLayout> Catalog for TableCatalog<L> {
    fn apply(&self, rows: &mut dyn Iterator<Item = CatalogRow>) -> CatalogResult<()> {
        self.store(rows)
    }

    fn apply_leniently(
        &self,
        rows: &mut dyn Iterator<Item = CatalogRow>,
        left_out: &mut dyn FnMut(CatalogRow),
    ) -> CatalogResult<()> {
        // Rows that a power cut takes are made from the silos again, because the place up to which they
        // were read goes with them.
        let effect = self.transact(CommitSync::Normal, |connection, cache| {
            let mut failure = Ok(());
            let mut kept = rows.filter_map(|row| match lacks_version::<L>(connection, &row) {
                Ok(false) => Some(row),
                Ok(true) => {
                    left_out(row);
                    None
                }
                Err(error) => {
                    failure = Err(error);
                    None
                }
            });
            let effect = L::apply(connection, cache, &mut kept);
            drop(kept);
            failure.and(effect)
        })?;
        self.vacuum_after(effect)
    }

    fn exclusively(&self, work: &mut dyn FnMut()) -> CatalogResult<()> {
        self.write_unsynced(|_| {
            work();
            Ok(())
        })
    }

    fn as_read(&self) -> &dyn CatalogRead {
        self
    }
}

/// Whether a score or a move of HEAD refers to a version that does not exist. Tags are stored all
/// the same: they show that the version existed.
fn lacks_version<L: TableLayout>(connection: &Connection, row: &CatalogRow) -> SqlResult<bool> {
    let version = match row {
        CatalogRow::Score(score) => &score.version,
        CatalogRow::Head(version) => version,
        _ => return Ok(false),
    };
    versions::exists::<L>(connection, version).map(|exists| !exists)
}
