//! Rows of any number, a few at a time.
//!
//! A statement that is stepped slowly holds a read transaction, and with it the writer's log, for
//! as long as its reader dawdles. So rows are fetched in pages, each its own short statement that
//! begins after the last key, and memory stays at one page however large the project. A page ends
//! early when its rows are large. A row that cannot be understood is yielded as an error and the
//! rows behind it still come; when the database itself fails, that is the last thing yielded.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use std::collections::VecDeque;
use std::path::Path;

use crate::error::{Result, database_at};

/// A page holds at most this many rows.
const PAGE_ROWS: usize = 512;
/// A page ends once its texts are together longer than this.
const PAGE_BYTES: usize = 1 << 20;

/// The rows of a query, in its order, read when they are requested.
pub struct RowStream<'p, T> {
    query: StreamQuery<'p, T>,
    page: VecDeque<Result<T>>,
    ended: bool,
}

/// Makes an item of a row; `None` for a row that is not wanted.
type ReadRow<'p, T> = Box<dyn FnMut(&Row<'_>) -> Result<Option<T>> + 'p>;

/// A statement whose rows come in the order of one key, told from where on.
///
/// Its column 0 is the key, and its parameter 1 is bound to the key to begin with.
pub(crate) struct StreamQuery<'p, T> {
    pub(crate) connection: &'p Connection,
    pub(crate) dir: &'p Path,
    pub(crate) sql: String,
    /// The value that parameter 1 has on the first page.
    pub(crate) first: Value,
    /// The value it has on the page after a row with this key, or nothing if no row can follow.
    pub(crate) after: fn(ValueRef<'_>) -> Option<Value>,
    /// The parameters from 2 on.
    pub(crate) others: Vec<Value>,
    pub(crate) read: ReadRow<'p, T>,
}

impl<'p, T> RowStream<'p, T> {
    pub(crate) fn new(query: StreamQuery<'p, T>) -> Self {
        Self { query, page: VecDeque::new(), ended: false }
    }

    /// A stream that yields nothing.
    pub(crate) fn empty(connection: &'p Connection, dir: &'p Path) -> Self {
        let read = Box::new(|_: &Row<'_>| Ok(None));
        let sql = String::new();
        let query = StreamQuery {
            connection,
            dir,
            sql,
            first: Value::Null,
            after: |_| None,
            others: Vec::new(),
            read,
        };
        Self { query, page: VecDeque::new(), ended: true }
    }

    /// Fetches the next page; it may be empty even when more pages follow, if no row of it was
    /// asked for.
    fn turn(&mut self) -> Result<()> {
        let query = &mut self.query;
        let failed = database_at(query.dir);
        let mut statement = query.connection.prepare_cached(&query.sql).map_err(&failed)?;
        let parameters = std::iter::once(&query.first).chain(&query.others);
        let mut rows = statement.query(params_from_iter(parameters)).map_err(&failed)?;
        let (mut seen, mut bytes) = (0, 0);
        let mut next = None;
        while let Some(row) = rows.next().map_err(&failed)? {
            if let Some(item) = (query.read)(row).transpose() {
                self.page.push_back(item);
            }
            seen += 1;
            bytes += length_of(row);
            if seen >= PAGE_ROWS || bytes >= PAGE_BYTES {
                // Only where a page ends does it matter where the next begins.
                next = (query.after)(row.get_ref(0).map_err(&failed)?);
                break;
            }
        }
        match next {
            Some(key) => query.first = key,
            None => self.ended = true,
        }
        Ok(())
    }
}

/// How many bytes the texts and blobs of a row take.
fn length_of(row: &Row<'_>) -> usize {
    (0..row.as_ref().column_count())
        .filter_map(|index| row.get_ref(index).ok())
        .map(|value| match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
            _ => 0,
        })
        .sum()
}

impl<T> Iterator for RowStream<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Some(item);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.turn() {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }
}

/// The next id upwards.
pub(crate) fn id_up(key: ValueRef<'_>) -> Option<Value> {
    key.as_i64().ok()?.checked_add(1).map(Value::Integer)
}

/// The next id downwards.
pub(crate) fn id_down(key: ValueRef<'_>) -> Option<Value> {
    key.as_i64().ok()?.checked_sub(1).map(Value::Integer)
}

/// The least text past this one, as bytes: a statement casts them back, so that even a text that is
/// no UTF-8 can be gone past.
pub(crate) fn text_up(key: ValueRef<'_>) -> Option<Value> {
    let mut bytes = key.as_bytes().ok()?.to_vec();
    bytes.push(0);
    Some(Value::Blob(bytes))
}
