//! A pool of connections that only read. Each query sees one state of the database.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use varve_core::catalog::CatalogResult;

use crate::database_path::DatabasePath;
use crate::open::{PooledReader, open_to_read};
use crate::{SqlResult, UnlocatedError};

/// The number of idle connections that the pool keeps.
const MAX_IDLE_READERS: usize = 4;

/// Prepares a new connection: checks the schema, makes temporary views.
type PrepareReader = Box<dyn Fn(&Connection) -> SqlResult<()> + Send + Sync>;

/// Device and inode: a database that is rebuilt is another file under the same name.
type FileIdentity = Option<(u64, u64)>;

fn file_identity(path: &Path) -> FileIdentity {
    std::fs::symlink_metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

/// Connections that no query uses, all to the same file.
struct ReaderConnections {
    file: FileIdentity,
    readers: Vec<PooledReader>,
}

/// Connections to read with. They are opened when they are needed.
pub struct ReaderPool {
    path: DatabasePath,
    prepare: PrepareReader,
    idle: Mutex<ReaderConnections>,
}

impl ReaderPool {
    /// Opens the first connection, which checks that the database can be used. `prepare` is applied
    /// to each new connection.
    pub fn open(
        path: &DatabasePath,
        prepare: impl Fn(&Connection) -> SqlResult<()> + Send + Sync + 'static,
    ) -> CatalogResult<Self> {
        let idle = ReaderConnections { file: file_identity(path.as_path()), readers: Vec::new() };
        let pool = Self { path: path.clone(), prepare: Box::new(prepare), idle: Mutex::new(idle) };
        let first = pool.connect().map_err(|error| error.at(path.as_path()))?;
        pool.put_back(first, file_identity(path.as_path()));
        Ok(pool)
    }

    /// The path of the database.
    pub fn path(&self) -> &DatabasePath {
        &self.path
    }

    /// Runs queries that all see the same state of the database.
    pub fn query<T>(&self, queries: impl FnOnce(&Connection) -> SqlResult<T>) -> CatalogResult<T> {
        let in_transaction = |connection: &Connection| {
            let snapshot = connection.unchecked_transaction()?;
            let answer = queries(connection);
            snapshot.finish()?;
            answer
        };
        self.query_statement(in_transaction)
    }

    /// Runs one statement, which sees one state of the database without a transaction around it.
    pub fn query_statement<T>(
        &self,
        statement: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> CatalogResult<T> {
        self.try_query(statement).map_err(|error| error.at(self.path.as_path()))
    }

    fn try_query<T>(&self, queries: impl FnOnce(&Connection) -> SqlResult<T>) -> SqlResult<T> {
        let file = file_identity(self.path.as_path());
        let reader = match self.take_idle(file).filter(|reader| reader.is_current(self.path.as_path())) {
            Some(reader) => reader,
            None => self.connect()?,
        };
        let answer = queries(&reader.connection);
        if reader.was_overwritten(self.path.as_path()) {
            return Err(UnlocatedError::Busy);
        }
        // A connection whose transaction could not be ended is closed.
        if reader.connection.is_autocommit() {
            self.put_back(reader, file);
        }
        answer
    }

    fn connect(&self) -> SqlResult<PooledReader> {
        let reader = open_to_read(&self.path)?;
        (self.prepare)(&reader.connection)?;
        reader.connection.pragma_update(None, "query_only", true)?;
        Ok(reader)
    }

    /// An idle connection to this file. Connections to an earlier file of the same name are closed.
    fn take_idle(&self, file: FileIdentity) -> Option<PooledReader> {
        let mut idle = self.idle();
        if idle.file != file {
            *idle = ReaderConnections { file, readers: Vec::new() };
        }
        idle.readers.pop()
    }

    fn put_back(&self, reader: PooledReader, file: FileIdentity) {
        let mut idle = self.idle();
        if idle.file == file && idle.readers.len() < MAX_IDLE_READERS {
            idle.readers.push(reader);
        }
    }

    fn idle(&self) -> MutexGuard<'_, ReaderConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
