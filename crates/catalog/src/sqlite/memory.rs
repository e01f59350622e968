//! What the writer knows without asking the database: the numbers of URLs and of headers that it met lately.
//!
//! Bounded, and right by itself: forgotten when a transaction fails, and when another connection has written.

use std::collections::HashMap;

use rusqlite::Connection;
use varve_core::BodyId;

/// Forget all URLs when there are so many: some six megabytes.
const MOST_URLS: usize = 32_768;
/// Forget all headers when there are so many.
const MOST_HEADERS: usize = 4_096;

/// What the writer remembers from one transaction to the next.
#[derive(Default)]
pub(super) struct Memory {
    places: HashMap<Box<str>, Place>,
    headers: HashMap<Box<str>, i64>,
    /// What SQLite says when others have written.
    seen: i64,
}

/// A row of `urls`, and its newest capture.
pub(super) struct Place {
    /// Its number.
    pub(super) no: i64,
    /// The path in it.
    pub(super) path: Box<str>,
    /// Whether no other row has this URL.
    pub(super) alone: bool,
    /// Its newest capture.
    pub(super) newest: Option<Newest>,
}

/// The newest capture of a URL.
#[derive(Clone, Copy)]
pub(super) struct Newest {
    /// When.
    pub(super) time: i64,
    /// Its body.
    pub(super) body: BodyId,
    /// The capture that has the bytes of that id.
    pub(super) body_at: i64,
}

impl Memory {
    /// Begins a transaction, and forgets what may be wrong by now.
    pub(super) fn begin(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let seen = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if seen != self.seen {
            self.forget();
            self.seen = seen;
        }
        Ok(())
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.places.clear();
        self.headers.clear();
    }

    /// The place of a URL with this path.
    pub(super) fn place(&mut self, url: &str, path: &str) -> Option<&mut Place> {
        self.places.get_mut(url).filter(|place| &*place.path == path)
    }

    /// Remembers a place; the one that the URL had before is forgotten.
    pub(super) fn keep_place(&mut self, url: &str, place: Place) {
        if self.places.len() >= MOST_URLS {
            self.places.clear();
        }
        self.places.insert(url.into(), place);
    }

    /// The number of a set of headers.
    pub(super) fn headers(&self, json: &str) -> Option<i64> {
        self.headers.get(json).copied()
    }

    /// Remembers the number of a set of headers.
    pub(super) fn keep_headers(&mut self, json: &str, no: i64) {
        if self.headers.len() >= MOST_HEADERS {
            self.headers.clear();
        }
        self.headers.insert(json.into(), no);
    }
}
