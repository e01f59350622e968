//! The rows of versions and captures for the catalog.
//!
//! A version has the time of its last capture, and the one before it in time is its parent. So the
//! state of a version is what the archive showed at that time.

use std::path::Path;

use rusqlite::{Connection, Row};
use sha2::{Digest, Sha256};
use varve_core::catalog::{Catalog, CatalogRow};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, Version, uuid_of};
use varve_core::{BodyId, Moment, RecordId, VersionId};
use varve_sqlite::SqlResult;
use varve_wire::{Headers, MessageHead};

use crate::error::WebArchiveError;

/// Captures with the versions that they belong to, in the order of versions and times. A response to
/// a request with a method other than GET is no capture of its URL.
const SELECT_CAPTURES: &str = "
    SELECT v.rank, v.key, v.message, v.author, v.last, c.key, c.url, c.time, c.status, c.head, c.has_head,
        c.body, c.length, c.truncated, c.is_revisit, c.not_modified,
        o.status, o.head, o.has_head, o.body, o.length, o.truncated
    FROM shown AS c JOIN ranked AS v ON v.no = c.version
    LEFT JOIN captures AS o ON o.no = c.original
    ORDER BY v.rank, c.time, c.no";

const RANK_VERSIONS: &str = "
    CREATE TEMP VIEW shown AS SELECT * FROM captures AS c
        WHERE c.id IS NULL OR NOT (c.id IN (SELECT id FROM other_methods)
            OR coalesce(c.concurrent IN (SELECT id FROM other_methods), 0));
    CREATE TEMP TABLE ranked AS
        SELECT v.no, v.key, v.message, v.author, max(c.time) AS last,
            row_number() OVER (ORDER BY max(c.time), v.no) AS rank
        FROM versions AS v JOIN shown AS c ON c.version = v.no GROUP BY v.no;
    CREATE UNIQUE INDEX temp.ranked_by_no ON ranked (no)";

/// Maximum length of a message, such as the title of a package.
const MAX_MESSAGE_CHARS: usize = 400;

/// Stores the rows of everything that was read.
pub(crate) fn fill_catalog(
    staging: &Connection,
    catalog: &dyn Catalog,
    path_of: fn(&str) -> String,
    database: &Path,
) -> Result<(), WebArchiveError> {
    let mut failure = None;
    let applied = each_row(staging, path_of, &mut failure, &mut |rows| catalog.apply(rows));
    match (failure, applied) {
        (Some(error), _) | (None, Err(error)) => Err(error.at(database).into()),
        (None, Ok(applied)) => Ok(applied?),
    }
}

/// Passes the rows to `apply`. An error while they are made ends them and goes to `failure`.
fn each_row<T>(
    staging: &Connection,
    path_of: fn(&str) -> String,
    failure: &mut Option<varve_sqlite::UnlocatedError>,
    apply: &mut dyn FnMut(&mut dyn Iterator<Item = CatalogRow>) -> T,
) -> SqlResult<T> {
    staging.execute_batch(RANK_VERSIONS)?;
    let mut statement = staging.prepare(SELECT_CAPTURES)?;
    let mut rows = statement.query([])?;
    let mut order = VersionOrder::default();
    let mut waiting = None;
    let mut is_done = false;
    let mut made = std::iter::from_fn(|| {
        if let Some(row) = waiting.take() {
            return Some(row);
        }
        let read = rows.next().and_then(|row| row.map(|row| order.read(row, path_of)).transpose());
        match read {
            Ok(Some((Some(version), capture))) => {
                waiting = Some(capture);
                Some(version)
            }
            Ok(Some((None, capture))) => Some(capture),
            // The number means nothing: the files are compared with the index, and not with it.
            Ok(None) if !is_done => {
                is_done = true;
                Some(CatalogRow::ScannedUpTo(1))
            }
            Ok(None) => None,
            Err(error) => {
                *failure = Some(error.into());
                None
            }
        }
    });
    Ok(apply(&mut made))
}

/// The version whose captures are read now.
#[derive(Default)]
struct VersionOrder {
    rank: i64,
    current: Option<VersionId>,
}

impl VersionOrder {
    /// The row of a capture, after that of its version if the version is new.
    fn read(
        &mut self,
        row: &Row<'_>,
        path_of: fn(&str) -> String,
    ) -> rusqlite::Result<(Option<CatalogRow>, CatalogRow)> {
        let rank: i64 = row.get(0)?;
        let mut version = None;
        let id = match self.current.filter(|_| self.rank == rank) {
            Some(id) => id,
            None => {
                let id = version_id(&row.get::<_, String>(1)?);
                version = Some(CatalogRow::Version(Version {
                    id,
                    parent: self.current,
                    message: shortened(&row.get::<_, String>(2)?),
                    author: row.get::<_, Option<String>>(3)?.as_deref().map(shortened),
                    time: Moment::from_micros(row.get(4)?),
                    run: None,
                    record: None,
                    coverage: None,
                }));
                (self.rank, self.current) = (rank, Some(id));
                id
            }
        };
        Ok((version, CatalogRow::Capture(Box::new(read_capture(row, id, path_of)?))))
    }
}

fn version_id(key: &str) -> VersionId {
    let mut hasher = Sha256::new();
    hasher.update(b"version of a web archive\n");
    hasher.update(key.as_bytes());
    VersionId::new(uuid_of(&hasher.finalize().into()))
}

/// A text in one line, of bounded length.
fn shortened(text: &str) -> String {
    let line = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    line.take(MAX_MESSAGE_CHARS).collect()
}

/// What a capture shows: its own record's, or that of the record which it repeats.
struct ShownResponse {
    status: u16,
    head: Vec<u8>,
    has_head: bool,
    body: [u8; 32],
    length: Option<u64>,
    is_truncated: bool,
}

impl ShownResponse {
    /// Reads the columns from `first` on: status, head, has_head, body, length, truncated.
    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            status: row.get(first)?,
            head: row.get(first + 1)?,
            has_head: row.get(first + 2)?,
            body: row.get(first + 3)?,
            length: Some(row.get(first + 4)?),
            is_truncated: row.get(first + 5)?,
        })
    }

    fn headers(&self) -> HeaderView {
        let headers = match self.has_head {
            true => MessageHead::parse(&self.head).map(|head| head.headers).unwrap_or_default(),
            false => Headers::parse(&self.head, |_, _| {}),
        };
        HeaderView::of(&headers, Redaction::On)
    }
}

fn read_capture(row: &Row<'_>, version: VersionId, path_of: fn(&str) -> String) -> rusqlite::Result<Capture> {
    let record = RecordId::new(row.get(5)?);
    let url: String = row.get(6)?;
    let time = Moment::from_micros(row.get(7)?);
    let mut shown = ShownResponse::read(row, 8)?;
    let (is_revisit, is_not_modified): (bool, bool) = (row.get(14)?, row.get(15)?);
    if is_revisit {
        let has_original = row.get::<_, Option<u16>>(16)?.is_some();
        if has_original {
            let original = ShownResponse::read(row, 16)?;
            // The head of a revisit counts, unless it says only that nothing changed.
            if !shown.has_head || is_not_modified {
                (shown.status, shown.head, shown.has_head) =
                    (original.status, original.head.clone(), original.has_head);
            }
            (shown.body, shown.length) = (original.body, original.length);
            shown.is_truncated = original.is_truncated;
        } else {
            // A body that is in none of the files. No body has the id of its record.
            shown.body = *record.as_bytes();
            (shown.length, shown.is_truncated) = (None, true);
        }
    }
    let owner = CaptureOwner::Version(version);
    Ok(Capture {
        id: Capture::derive_id(owner, &url, time, &record),
        owner,
        path: path_of(&url),
        time,
        status: shown.status,
        headers: shown.headers(),
        body: BodyId::new(shown.body),
        length: shown.length,
        record: Some(record),
        truncated: shown.is_truncated,
        url,
    })
}
