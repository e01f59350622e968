//! What differs between the databases that hold history: names of tables and columns, the form of
//! ids and times, and how captures are stored.
//!
//! [`TableCatalog`](crate::TableCatalog) does everything else once, for every layout. A layout
//! gives SQL and functions over a connection, and knows neither pools nor locks nor paths.

use rusqlite::{Connection, Row};
use varve_core::catalog::{CatalogResult, CatalogRow, Removal, UrlMatch};
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped};
use varve_core::history::{
    Capture, CaptureFilter, ListCursor, PageAbsence, PageState, StateCounts, StoredScore, TimeOrder,
};
use varve_core::history::{KeyedUrl, StoredDomainSettings, StoredExtraction};
use varve_core::{BodyId, ManifestDigest, RecordId, VersionId};

use crate::SqlResult;
use crate::column::{ColumnIdForm, TimeUnit};
use crate::database_path::DatabasePath;

/// The table or view of versions. The SQL names it `v`.
pub struct VersionTable {
    /// Its name. Its column `id` holds the id of the version.
    pub table: &'static str,
    /// Selects id, parent, message, author, time, run, record and the JSON of the coverage.
    pub columns: &'static str,
    /// The column of the parent.
    pub parent: &'static str,
    /// The column of the time.
    pub time: &'static str,
    /// The column that grows in the order of writing.
    pub order: &'static str,
    /// The number of captures in the version with the id `?1`.
    pub capture_count: &'static str,
}

/// The table of computed diffs.
pub struct DiffTable {
    /// Its name.
    pub table: &'static str,
    /// The column of the version that a diff starts from.
    pub base: &'static str,
    /// The value of `base` for the empty version.
    pub no_base: &'static str,
    /// The column of the version that a diff leads to.
    pub head: &'static str,
    /// The column of the content.
    pub json: &'static str,
    /// The column of the time.
    pub time: &'static str,
}

/// The table of tags, with columns `name` and `time`. Its times are microseconds in every layout.
pub struct TagTable {
    /// Its name.
    pub table: &'static str,
    /// The column of the version.
    pub version: &'static str,
}

/// Row numbers that a writer keeps from one transaction to the next.
pub trait WriteCache: Default + Send {
    /// Begins a transaction. Clears the cache if another connection has written.
    fn begin(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// Removes all entries.
    fn clear(&mut self);
}

/// No cache.
impl WriteCache for () {
    fn begin(&mut self, _: &Connection) -> rusqlite::Result<()> {
        Ok(())
    }

    fn clear(&mut self) {}
}

/// The effect of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEffect {
    /// Rows were added.
    Added,
    /// Rows were also erased, and must not stay in free pages of the file.
    Erased,
}

/// A database that holds history. Functions are called in a transaction.
pub trait TableLayout: CaptureTables + RemovalTables + ExtractionTables + SealedLogTables + 'static {
    /// Options for opening the database to write.
    type WriteOptions: Default;
    /// The cache of the writer.
    type Cache: WriteCache;

    /// How the ids of versions and runs are stored.
    const ID_FORM: ColumnIdForm;
    /// The unit of the times of versions, diffs and scores.
    const TIME_UNIT: TimeUnit;
    /// The versions.
    const VERSIONS: VersionTable;
    /// The computed diffs.
    const DIFFS: DiffTable;
    /// The tags.
    const TAGS: TagTable;
    /// The table of checks.
    const CHECKS: &'static str;
    /// The table of verdicts.
    const VERDICTS: &'static str;
    /// The table of single values, with columns `key` and `value`.
    const STATE: &'static str;
    /// Selects scoring version, score, normalized score, confidence, JSON and time of the scores of
    /// the version `?1`, newest first. Further columns are for
    /// [`add_evidence`](Self::add_evidence).
    const SELECT_SCORES: &'static str;
    /// The runs that have captures and have not become versions, oldest first.
    const OPEN_RUNS: &'static str;
    /// The number of captures of the run `?1`.
    const CAPTURES_OF_RUN: &'static str;
    /// The version that the run `?1` became.
    const VERSION_OF_RUN: &'static str;
    /// The records of the captures of the run `?1`, without `NULL`.
    const RECORDS_OF_RUN: &'static str;

    /// Opens the database to write, and creates it if it does not exist.
    fn open_writer(path: &DatabasePath, options: &Self::WriteOptions) -> SqlResult<Connection>;

    /// Prepares a connection for reading: checks the schema, makes temporary views.
    fn prepare_reader(connection: &Connection) -> SqlResult<()>;

    /// Stores rows.
    fn apply(
        connection: &Connection,
        cache: &mut Self::Cache,
        rows: &mut dyn Iterator<Item = CatalogRow>,
    ) -> SqlResult<BatchEffect>;

    /// Reads evidence and attributions of a score from a row of `SELECT_SCORES`.
    fn add_evidence(connection: &Connection, row: &Row<'_>, score: &mut StoredScore) -> SqlResult<()>;
}

/// How a database stores captures and their URLs.
pub trait CaptureTables {
    /// A `FROM` clause with the versions `v` that hold a URL in any spelling, and the value of `?5`
    /// in it.
    fn versions_with_url(connection: &Connection, url: &str) -> SqlResult<(String, Option<String>)>;

    /// The captures of a version after the cursor. Those that share path and URL come in one batch.
    fn captures_in(
        connection: &Connection,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> SqlResult<Vec<Capture>>;

    /// The captures of a version with one path.
    fn captures_at_path(connection: &Connection, version: &VersionId, path: &str) -> SqlResult<Vec<Capture>>;

    /// The pages that a version found gone or unreachable without a capture.
    fn absences_in(
        _connection: &Connection,
        _version: &VersionId,
        _cursor: ListCursor<(&str, &str)>,
    ) -> SqlResult<Vec<PageAbsence>> {
        Ok(Vec::new())
    }

    /// The state of a version. By default its captures, as for a layout that lists all pages.
    fn state_in(
        connection: &Connection,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> SqlResult<Vec<PageState>> {
        let captures = Self::captures_in(connection, version, cursor)?;
        Ok(captures.into_iter().map(|capture| PageState::listed(*version, capture)).collect())
    }

    /// The pages in the state of a version at some paths.
    fn states_at(connection: &Connection, version: &VersionId, paths: &[&str]) -> SqlResult<Vec<PageState>> {
        let mut states = Vec::new();
        for path in paths {
            let captures = Self::captures_at_path(connection, version, path)?;
            states.extend(captures.into_iter().map(|capture| PageState::listed(*version, capture)));
        }
        Ok(states)
    }

    /// The pages of several URLs in the state of a version.
    fn states_of(
        connection: &Connection,
        version: &VersionId,
        urls: &[&str],
        matching: UrlMatch,
    ) -> SqlResult<Vec<Option<PageState>>> {
        let find = |url: &&str| {
            let spellings = match matching {
                UrlMatch::Exact => Vec::new(),
                UrlMatch::SamePage => Self::spellings_of(connection, url)?,
            };
            let others = spellings.iter().map(String::as_str).filter(|other| other != url);
            let urls: Vec<&str> = std::iter::once(*url).chain(others).collect();
            let newest = Self::captures_of_any_in(connection, version, &urls)?.pop();
            Ok(newest.map(|capture| PageState::listed(*version, capture)))
        };
        urls.iter().map(find).collect()
    }

    /// The number of pages in the state of a version; `None` if it is that of its captures.
    fn state_counts(_connection: &Connection, _version: &VersionId) -> SqlResult<Option<StateCounts>> {
        Ok(None)
    }

    /// Calls `each` with the path and the URL of every page in which the states of two versions
    /// may differ. Returns false if that costs more than to read both.
    fn each_page_that_differs(
        _connection: &Connection,
        _base: &VersionId,
        _head: &VersionId,
        _each: &mut dyn FnMut(&str, &str),
    ) -> SqlResult<bool> {
        Ok(false)
    }

    /// The captures of several URLs, in one list.
    fn captures_of_any(
        connection: &Connection,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> SqlResult<Vec<Capture>>;

    /// For each URL at most `limit` captures, newest first. The default reads one URL after the
    /// other; a layout that crawls ask reads all of them together.
    fn newest_captures(
        connection: &Connection,
        urls: &[&str],
        matching: UrlMatch,
        limit: usize,
    ) -> SqlResult<Vec<Vec<Capture>>> {
        let (filter, newest) = (CaptureFilter::default(), TimeOrder::NewestFirst);
        let find = |url: &&str| {
            let spellings = match matching {
                UrlMatch::Exact => Vec::new(),
                UrlMatch::SamePage => Self::spellings_of(connection, url)?,
            };
            let others = spellings.iter().map(String::as_str).filter(|other| other != url);
            let urls: Vec<&str> = std::iter::once(*url).chain(others).collect();
            Self::captures_of_any(connection, &urls, &filter, newest, ListCursor::first(limit))
        };
        urls.iter().map(find).collect()
    }

    /// The captures of several URLs in a version, by time.
    fn captures_of_any_in(
        connection: &Connection,
        version: &VersionId,
        urls: &[&str],
    ) -> SqlResult<Vec<Capture>>;

    /// All captures by URL, in batches of whole URLs; `None` if there is nothing better than to look
    /// up one URL after another.
    fn captures_by_url(
        _connection: &Connection,
        _cursor: ListCursor<&str>,
    ) -> SqlResult<Option<Vec<Capture>>> {
        Ok(None)
    }

    /// The URLs with the same page identity.
    fn spellings_of(connection: &Connection, url: &str) -> SqlResult<Vec<String>>;

    /// The URLs that begin with a text.
    fn urls(connection: &Connection, prefix: &str, cursor: ListCursor<&str>) -> SqlResult<Vec<String>>;

    /// Every body that a capture refers to.
    fn each_body(connection: &Connection, each: &mut dyn FnMut(BodyId) -> CatalogResult<()>)
    -> SqlResult<()>;
}

/// How a database stores saved extractions and the settings of domains. The default is for one that
/// has none.
pub trait ExtractionTables {
    /// The extraction that a requested URL leads to.
    fn extraction(_connection: &Connection, _requested: &KeyedUrl) -> SqlResult<Option<StoredExtraction>> {
        Ok(None)
    }

    /// All extractions, by canonical URL.
    fn extractions(_connection: &Connection, _cursor: ListCursor<&str>) -> SqlResult<Vec<StoredExtraction>> {
        Ok(Vec::new())
    }

    /// The requested URLs that lead to a page.
    fn requests_of(_connection: &Connection, _page: &KeyedUrl) -> SqlResult<Vec<KeyedUrl>> {
        Ok(Vec::new())
    }

    /// The settings of a domain.
    fn domain_settings(_connection: &Connection, _domain: &str) -> SqlResult<Option<StoredDomainSettings>> {
        Ok(None)
    }

    /// The settings of all domains, by domain.
    fn all_domain_settings(
        _connection: &Connection,
        _cursor: ListCursor<&str>,
    ) -> SqlResult<Vec<StoredDomainSettings>> {
        Ok(Vec::new())
    }
}

/// How a database stores the log of versions. The default is for one that has none.
pub trait SealedLogTables {
    /// The number of the last leaf, plus one.
    fn log_size(_connection: &Connection) -> SqlResult<u64> {
        Ok(0)
    }

    /// Leaves by number, from `first` on.
    fn log_leaves(
        _connection: &Connection,
        _first: u64,
        _limit: usize,
    ) -> SqlResult<Vec<(u64, ManifestDigest)>> {
        Ok(Vec::new())
    }

    /// The number of the leaf of a version.
    fn leaf_of_version(_connection: &Connection, _version: &VersionId) -> SqlResult<Option<u64>> {
        Ok(None)
    }

    /// The versions that are no leaves, in the order of writing.
    fn versions_without_leaf(_connection: &Connection, _limit: usize) -> SqlResult<Vec<VersionId>> {
        Ok(Vec::new())
    }

    /// Versions in the order of writing.
    fn versions_by_writing(
        _connection: &Connection,
        _cursor: ListCursor<VersionId>,
    ) -> SqlResult<Vec<VersionId>> {
        Ok(Vec::new())
    }

    /// Checkpoints by size.
    fn log_checkpoints(
        _connection: &Connection,
        _cursor: ListCursor<u64>,
    ) -> SqlResult<Vec<CheckpointSigned>> {
        Ok(Vec::new())
    }

    /// The checkpoint with the greatest size.
    fn last_log_checkpoint(_connection: &Connection) -> SqlResult<Option<CheckpointSigned>> {
        Ok(None)
    }

    /// The timestamps of the checkpoint with this size.
    fn log_timestamps(_connection: &Connection, _size: u64) -> SqlResult<Vec<CheckpointTimestamped>> {
        Ok(Vec::new())
    }
}

/// How a database stores removals. The default is for one that has none.
pub trait RemovalTables {
    /// The removals of a record, newest first.
    fn removals_of(_connection: &Connection, _record: &RecordId) -> SqlResult<Vec<Removal>> {
        Ok(Vec::new())
    }

    /// The newest removal of the page of a capture from its version.
    fn removal_of_page(_connection: &Connection, _: &Capture) -> SqlResult<Option<Removal>> {
        Ok(None)
    }

    /// The removed responses of a URL, last removed first.
    fn removals_at(_connection: &Connection, _: &str, _: usize) -> SqlResult<Vec<Removal>> {
        Ok(Vec::new())
    }

    /// All removals, by the records of their tombstones.
    fn removals(_connection: &Connection, _cursor: ListCursor<RecordId>) -> SqlResult<Vec<Removal>> {
        Ok(Vec::new())
    }
}
