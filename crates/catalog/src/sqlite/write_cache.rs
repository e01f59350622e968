//! The writer's cache of row numbers: of URLs and of sets of headers that it used recently.
//!
//! Its size is limited. It is cleared when a transaction fails and when another connection has
//! written.

use std::collections::HashMap;

use rusqlite::Connection;
use varve_core::BodyId;
use varve_sqlite::WriteCache;

/// The maximum number of cached URLs: about six megabytes.
const MAX_CACHED_URLS: usize = 32_768;
/// The maximum number of cached sets of headers.
const MAX_CACHED_HEADERS: usize = 4_096;

/// Row numbers that stay valid from one transaction to the next.
#[derive(Default)]
pub struct UrlCache {
    urls: HashMap<Box<str>, CachedUrl>,
    headers: HashMap<Box<str>, i64>,
    /// SQLite's counter of changes by other connections.
    data_version: i64,
}

/// A row of `page_urls` and its newest capture.
pub(super) struct CachedUrl {
    /// Its number.
    pub(super) no: i64,
    /// Its path.
    pub(super) path: Box<str>,
    /// Whether no other row has this URL.
    pub(super) is_only_row: bool,
    /// Its newest capture.
    pub(super) newest: Option<NewestCapture>,
}

/// The newest capture of a URL.
#[derive(Clone, Copy)]
pub(super) struct NewestCapture {
    /// Its time in microseconds.
    pub(super) time: i64,
    /// Its body.
    pub(super) body: BodyId,
    /// The number of the capture whose row holds the id of the body.
    pub(super) body_at: i64,
}

impl WriteCache for UrlCache {
    fn begin(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let version = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.data_version {
            self.clear();
            self.data_version = version;
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.urls.clear();
        self.headers.clear();
    }
}

impl UrlCache {
    /// The row of a URL with this path.
    pub(super) fn url(&mut self, url: &str, path: &str) -> Option<&mut CachedUrl> {
        self.urls.get_mut(url).filter(|cached| &*cached.path == path)
    }

    /// Adds the row of a URL. It replaces one with another path.
    pub(super) fn insert_url(&mut self, url: &str, cached: CachedUrl) {
        if self.urls.len() >= MAX_CACHED_URLS {
            self.urls.clear();
        }
        self.urls.insert(url.into(), cached);
    }

    /// The number of a set of headers.
    pub(super) fn headers(&self, json: &str) -> Option<i64> {
        self.headers.get(json).copied()
    }

    /// Adds the number of a set of headers.
    pub(super) fn insert_headers(&mut self, json: &str, no: i64) {
        if self.headers.len() >= MAX_CACHED_HEADERS {
            self.headers.clear();
        }
        self.headers.insert(json.into(), no);
    }
}
