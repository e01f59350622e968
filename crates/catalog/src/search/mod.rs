//! The search index in SQLite: `search.db`, with the inverted index of FTS5.
//!
//! Owns the tables of `sql/search.sql`. It is a file of its own, because the catalog is needed by
//! every verb and stays small, and because a user may delete this file to save its space.

mod candidates;
mod declarations;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use varve_core::VersionId;
use varve_core::catalog::{CatalogError, CatalogResult};
use varve_core::history::ListCursor;
use varve_core::search_index::{
    CandidateParts, IndexedPage, PartNumber, SearchIndex, SearchIndexRead, SearchPart, SearchRow,
    UrlDeclaration, WordLookup,
};
use varve_sqlite::{DatabasePath, ReaderPool, SqlResult, UnlocatedError, collect_rows, execute, sql_limit};

/// `vrvs`: the application id in SQLite's header.
const APPLICATION_ID: i64 = 0x7672_7673;
/// The format that this program reads and writes.
const SEARCH_FORMAT: i64 = 2;

/// The size of a page of the database. Records of a few kilobytes waste less of large pages.
const DATABASE_PAGE_BYTES: i64 = 16_384;
/// Free pages are given back when they are more than this part of the file.
const MAX_FREE_PART: i64 = 16;

const TABLES_SQL: &str = include_str!("../../sql/search.sql");

/// A search index in SQLite.
pub struct SqliteSearchIndex {
    // Dropped before the writer, so that the last connection to close can checkpoint the log.
    readers: ReaderPool,
    writer: Option<Mutex<Connection>>,
}

impl SqliteSearchIndex {
    /// Opens an index to read. Changes nothing.
    pub fn open_to_read(path: impl Into<DatabasePath>) -> CatalogResult<Self> {
        Self::open(&path.into(), None)
    }

    /// Opens an index to write, and creates it if it does not exist. The caller holds the lock of the
    /// archive.
    pub fn open_to_write(path: impl Into<DatabasePath>) -> CatalogResult<Self> {
        let path = path.into();
        let connection = open_writer(&path).map_err(|error| error.at(path.as_path()))?;
        Self::open(&path, Some(Mutex::new(connection)))
    }

    fn open(path: &DatabasePath, writer: Option<Mutex<Connection>>) -> CatalogResult<Self> {
        Ok(Self { readers: ReaderPool::open(path, check)?, writer })
    }

    fn path(&self) -> &Path {
        self.readers.path().as_path()
    }

    fn with_writer<T>(&self, work: impl FnOnce(&Connection) -> SqlResult<T>) -> CatalogResult<T> {
        let read_only = || CatalogError::ReadOnly { path: self.path().to_owned() };
        let writer = self.writer.as_ref().ok_or_else(read_only)?;
        let connection = writer.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|error| error.at(self.path()))
    }
}

fn open_writer(path: &DatabasePath) -> SqlResult<Connection> {
    let mut connection = varve_sqlite::open_to_write(path)?;
    create_if_empty(&mut connection)?;
    check(&connection)?;
    varve_sqlite::configure_writer(&connection)?;
    // The index can be made again, so a commit need not wait for the disk.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

fn create_if_empty(connection: &mut Connection) -> SqlResult<()> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
    // Both have an effect only before there is a table.
    connection.pragma_update(None, "page_size", DATABASE_PAGE_BYTES)?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if transaction.query_row(sql, [], |row| row.get(0))? {
        transaction.execute_batch(TABLES_SQL)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SEARCH_FORMAT)?;
    }
    Ok(transaction.commit()?)
}

/// Refuses a database that is no search index, or has another format.
fn check(connection: &Connection) -> SqlResult<()> {
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match (application, format) {
        (APPLICATION_ID, SEARCH_FORMAT) => Ok(()),
        (APPLICATION_ID, newer) if newer > SEARCH_FORMAT => Err(UnlocatedError::Newer(format!(
            "it was written by a newer varve (format {newer}; this one knows {SEARCH_FORMAT})"
        ))),
        (APPLICATION_ID, older) => Err(UnlocatedError::Older(older)),
        _ => Err(UnlocatedError::Foreign("this database is not a search index of varve".to_owned())),
    }
}

impl SearchIndexRead for SqliteSearchIndex {
    fn has_version(&self, version: &VersionId) -> CatalogResult<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM versions WHERE id = ?1)";
        self.readers.query(|connection| {
            Ok(connection.prepare_cached(sql)?.query_row([version.as_bytes()], |row| row.get(0))?)
        })
    }

    fn count_versions(&self) -> CatalogResult<u64> {
        let sql = "SELECT count(*) FROM versions";
        self.readers.query(|connection| Ok(connection.query_row(sql, [], |row| row.get(0))?))
    }

    fn candidates(&self, words: &[WordLookup], site: Option<&str>) -> CatalogResult<CandidateParts> {
        self.readers.query(|connection| candidates::find(connection, words, site))
    }

    fn page_of(&self, part: PartNumber) -> CatalogResult<Option<String>> {
        let sql = "SELECT g.page FROM parts AS p JOIN pages AS g ON g.no = p.page_no WHERE p.no = ?1";
        self.readers.query(|connection| {
            Ok(connection.prepare_cached(sql)?.query_row([part.0], |row| row.get(0)).optional()?)
        })
    }

    fn page(&self, page: &str) -> CatalogResult<Option<IndexedPage>> {
        self.readers.query(|connection| read_page(connection, page))
    }

    fn declarations_about(&self, target: &str, limit: usize) -> CatalogResult<Vec<UrlDeclaration>> {
        self.readers.query(|connection| declarations::about(connection, target, limit))
    }

    fn declarations_of(&self, page: &str) -> CatalogResult<Vec<UrlDeclaration>> {
        self.readers.query(|connection| declarations::of_page(connection, page))
    }

    fn pages(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<String>> {
        let sql = "SELECT page FROM pages WHERE page > ?1 ORDER BY page LIMIT ?2";
        let after = cursor.after.unwrap_or_default();
        self.readers.query(|connection| {
            collect_rows(connection, sql, params![after, sql_limit(cursor.limit)], |row| Ok(row.get(0)?))
        })
    }
}

fn read_page(connection: &Connection, page: &str) -> SqlResult<Option<IndexedPage>> {
    let sql = "SELECT g.page, g.url, p.record FROM pages AS g JOIN parts AS p ON p.page_no = g.no
         WHERE g.page = ?1 ORDER BY p.place";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let parts: Vec<(String, String, Vec<u8>)> = collect_rows(connection, sql, [page], read)?;
    let mut found: Option<IndexedPage> = None;
    for (page, url, record) in parts {
        found.get_or_insert(IndexedPage { page, url, records: Vec::new() }).records.push(record);
    }
    Ok(found)
}

impl SearchIndex for SqliteSearchIndex {
    fn apply(&self, rows: &mut dyn Iterator<Item = SearchRow>) -> CatalogResult<()> {
        self.with_writer(|connection| {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            for row in rows {
                match row {
                    SearchRow::Part(part) => store_part(&transaction, &part)?,
                    SearchRow::Declaration(declaration) => declarations::store(&transaction, &declaration)?,
                    SearchRow::Version(id) => {
                        let sql = "INSERT OR IGNORE INTO versions (id) VALUES (?1)";
                        execute(&transaction, sql, [id.as_bytes()])?;
                    }
                }
            }
            transaction.commit()?;
            release_free_pages(connection)
        })
    }

    fn as_read(&self) -> &dyn SearchIndexRead {
        self
    }
}

/// Shrinks the file: replaced rows leave free pages.
fn release_free_pages(connection: &Connection) -> SqlResult<()> {
    let count = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if count("freelist_count")? > count("page_count")? / MAX_FREE_PART {
        connection.execute_batch("PRAGMA incremental_vacuum")?;
    }
    Ok(())
}

fn store_part(connection: &Connection, part: &SearchPart) -> SqlResult<()> {
    let SearchPart { page, place, url, host, words, record } = part;
    let sql = "INSERT INTO pages (page, url, host) VALUES (?1, ?2, ?3)
        ON CONFLICT (page) DO UPDATE SET url = excluded.url RETURNING no";
    let page_no: i64 =
        connection.prepare_cached(sql)?.query_row(params![page, url, host], |row| row.get(0))?;
    let sql = "SELECT no FROM parts WHERE page_no = ?1 AND place = ?2";
    let known: Option<i64> =
        connection.prepare_cached(sql)?.query_row(params![page_no, place], |row| row.get(0)).optional()?;
    let no = match known {
        Some(no) => {
            execute(connection, "UPDATE parts SET record = ?2 WHERE no = ?1", params![no, record])?;
            no
        }
        None => {
            let sql = "INSERT INTO parts (page_no, place, record) VALUES (?1, ?2, ?3)";
            execute(connection, sql, params![page_no, place, record])?;
            connection.last_insert_rowid()
        }
    };
    let sql = "INSERT OR REPLACE INTO words (rowid, list) VALUES (?1, ?2)";
    execute(connection, sql, params![no, words.join(" ")])
}
