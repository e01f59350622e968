//! `.moku/moku.db`: the database of a Moku site.
//!
//! Owns the tables of Moku (`sql/tables.sql`) and, beside them, tables of varve (`varve_…`) for
//! values that Moku has no column for: tags, records, lengths, runs, verdicts. Sites of every era
//! are read. Only the current schema is written; an earlier one is upgraded when the caller asks.
//!
//! Implements the seam of [`varve_core::catalog`], and knows neither silos nor the catalog of an
//! archive. Times are whole seconds. Headers are returned as they were stored: Moku normalises and
//! redacts some of them and not others.

mod audit_rows;
mod audit_scores;
mod era;
mod read_captures;
mod read_derived;
mod read_versions;
mod remove_version;
mod schema;
mod score;
mod tables;
mod upgrade;
mod vacuum;
mod write;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use varve_core::headers::Redaction;
use varve_core::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, TimeOrder,
    VersionFilter, VersionInfo, VersionTag,
};
use varve_core::{BodyId, Moment, RunId, VersionId};

use varve_core::catalog::CatalogError;
use varve_core::catalog::{Catalog, CatalogRead, CatalogRow};
use varve_sqlite::UnlocatedError;
use varve_sqlite::{ReaderPool, verdicts};

pub use audit_rows::{MokuFinding, SnapshotRow};
pub use audit_scores::MokuDiffRow;
use era::Era;

/// Options for opening a site to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MokuOptions {
    /// The project that the site must belong to. A site without one is assigned to it.
    pub project_id: Option<String>,
    /// Whether a site of another project is assigned to this one.
    pub force_project_id: bool,
    /// Whether a site with the tables of an early Moku is upgraded to the current schema.
    pub upgrade: bool,
}

/// The catalog of a Moku site.
pub struct MokuCatalog {
    // Dropped before the writer, so that the last connection to close can checkpoint the log.
    readers: ReaderPool,
    writer: Option<Mutex<Connection>>,
}

impl MokuCatalog {
    /// Opens `moku.db` of any era to read, and changes nothing.
    pub fn open_to_read(path: &Path) -> Result<Self, CatalogError> {
        Ok(Self { readers: ReaderPool::open(path, prepare_reader)?, writer: None })
    }

    /// Opens `moku.db` to write, and creates it if it does not exist. The caller holds the lock of the site.
    pub fn open_to_write(path: &Path, options: &MokuOptions) -> Result<Self, CatalogError> {
        let connection = open_writer(path, options).map_err(|problem| problem.at(path))?;
        let readers = ReaderPool::open(path, prepare_reader)?;
        Ok(Self { readers, writer: Some(Mutex::new(connection)) })
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        self.readers.path()
    }

    /// The project that the site belongs to.
    pub fn project_id(&self) -> Result<Option<String>, CatalogError> {
        self.readers.query(schema::project)
    }

    /// Whether sensitive headers of new captures are redacted. The default is yes.
    pub fn redaction(&self) -> Result<Redaction, CatalogError> {
        self.readers.query(schema::redaction)
    }

    /// Changes whether sensitive headers of new captures are redacted.
    pub fn set_redaction(&self, redaction: Redaction) -> Result<(), CatalogError> {
        self.write(|connection| schema::set_redaction(connection, redaction))
    }

    /// A version that HEAD named and that has no rows. It stays until a user accepts the loss.
    pub fn lost_head(&self) -> Result<Option<VersionId>, CatalogError> {
        self.readers.query(schema::lost_head)
    }

    /// Versions that varve committed and that have lost their rows without retention.
    pub fn lost_versions(&self) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.query(|connection| {
            let parse = |id: String| {
                id.parse()
                    .map_err(|error| UnlocatedError::Damaged("varve_versions", format!("{id}: {error}")))
            };
            audit_rows::lost_versions(connection)?.into_iter().map(parse).collect()
        })
    }

    /// Stores the version that HEAD named and that has no rows. `None` accepts its loss.
    pub fn set_lost_head(&self, version: Option<VersionId>) -> Result<(), CatalogError> {
        self.write(|connection| schema::set_lost_head(connection, version))
    }

    /// The parent that a version was committed with, if retention has given it another.
    pub fn first_parent(&self, id: &VersionId) -> Result<Option<VersionId>, CatalogError> {
        self.readers.query(|connection| schema::first_parent(connection, id))
    }

    fn write(
        &self,
        change: impl FnOnce(&Connection) -> Result<(), UnlocatedError>,
    ) -> Result<(), CatalogError> {
        let Some(writer) = &self.writer else {
            return Err(CatalogError::ReadOnly { path: self.path().to_owned() });
        };
        let connection = writer.lock().unwrap_or_else(PoisonError::into_inner);
        change(&connection).map_err(|problem| problem.at(self.path()))
    }

    /// Runs `work` while no process, Moku included, can add rows.
    pub fn alone<E: From<CatalogError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut done = Ok(());
        self.write(|connection| {
            let _write_lock = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            done = work();
            Ok(())
        })?;
        done
    }

    /// Returns the space of deleted rows to the disk. A failure leaves all rows as they were.
    pub fn vacuum(&self) -> Result<(), CatalogError> {
        self.write(|_| vacuum::vacuum(self.path()))
    }

    /// Reports what is wrong with the rows. `quick` leaves out checks that read all of them.
    pub fn audit_rows(&self, quick: bool, report: &mut dyn FnMut(MokuFinding)) -> Result<(), CatalogError> {
        self.readers.query(|connection| audit_rows::audit_rows(connection, quick, report))
    }

    /// Reports what is wrong with the rows of scores. Scores by `rules` must be between 0 and 100.
    pub fn audit_scores(&self, rules: &str, report: &mut dyn FnMut(MokuFinding)) -> Result<(), CatalogError> {
        self.readers.query(|connection| audit_scores::audit_scores(connection, rules, report))
    }

    /// The row numbers of the stored diffs.
    pub fn diff_numbers(&self) -> Result<Vec<i64>, CatalogError> {
        self.readers.query(audit_scores::diff_numbers)
    }

    /// The raw row of a diff.
    pub fn diff_row(&self, number: i64) -> Result<Option<MokuDiffRow>, CatalogError> {
        self.readers.query(|connection| audit_scores::diff(connection, number))
    }

    /// Calls `each` with the raw row of every capture, also if it is invalid.
    pub fn each_snapshot(&self, each: &mut dyn FnMut(SnapshotRow)) -> Result<(), CatalogError> {
        self.readers.query(|connection| audit_rows::each_snapshot(connection, each))
    }
}

fn prepare_reader(connection: &Connection) -> Result<(), UnlocatedError> {
    match Era::of(connection)? {
        Era::Empty => Err(UnlocatedError::Foreign("this database is empty".to_owned())),
        era => era.create_views(connection),
    }
}

fn open_writer(path: &Path, options: &MokuOptions) -> Result<Connection, UnlocatedError> {
    let mut connection = varve_sqlite::open_to_write(path)?;
    schema::prepare_to_write(&mut connection, options)?;
    varve_sqlite::configure_writer(&connection)?;
    Era::Current.create_views(&connection)?;
    Ok(connection)
}

impl CatalogRead for MokuCatalog {
    fn version(&self, id: &VersionId) -> Result<Option<VersionInfo>, CatalogError> {
        self.readers.query(|connection| read_versions::version(connection, id))
    }

    fn versions_beginning(&self, prefix: &str, limit: usize) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.query(|connection| read_versions::beginning(connection, prefix, limit))
    }

    fn versions(
        &self,
        filter: &VersionFilter,
        cursor: ListCursor<VersionId>,
    ) -> Result<Vec<VersionInfo>, CatalogError> {
        self.readers.query(|connection| read_versions::versions(connection, filter, cursor))
    }

    fn count_versions(&self, limit: u64) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_versions::count(connection, limit))
    }

    fn children(&self, id: &VersionId) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.query(|connection| read_versions::children(connection, id))
    }

    fn captures_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::in_version(connection, version, cursor))
    }

    fn captures_at_path(&self, version: &VersionId, path: &str) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::at_path(connection, version, path))
    }

    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.captures_of_any(&[url], filter, order, cursor)
    }

    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::of_urls(connection, urls, filter, order, cursor))
    }

    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::of_urls_in(connection, version, urls))
    }

    fn spellings_of(&self, url: &str) -> Result<Vec<String>, CatalogError> {
        self.readers.query(|connection| read_captures::spellings(connection, url))
    }

    fn urls(&self, prefix: &str, cursor: ListCursor<&str>) -> Result<Vec<String>, CatalogError> {
        self.readers.query(|connection| read_captures::urls(connection, prefix, cursor))
    }

    fn tags(&self) -> Result<Vec<VersionTag>, CatalogError> {
        self.readers.query(read_derived::tags)
    }

    fn tag(&self, name: &str) -> Result<Option<VersionTag>, CatalogError> {
        self.readers.query(|connection| read_derived::tag(connection, name))
    }

    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Result<Option<StoredDiff>, CatalogError> {
        self.readers.query(|connection| read_derived::diff(connection, base, head))
    }

    fn diffs_with(&self, version: &VersionId) -> Result<Vec<StoredDiffInfo>, CatalogError> {
        self.readers.query(|connection| read_derived::diffs_with(connection, version))
    }

    fn diffs_before(&self, before: Moment) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_derived::diffs_before(connection, before))
    }

    fn scores(&self, version: &VersionId) -> Result<Vec<StoredScore>, CatalogError> {
        self.readers.query(|connection| read_derived::scores(connection, version))
    }

    fn verdicts_of(&self, url: &str, limit: usize) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.query(|connection| verdicts::verdicts_of(connection, "varve_verdicts", url, limit))
    }

    fn last_verdicts(&self, cursor: ListCursor<&str>) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.query(|connection| verdicts::last_verdicts(connection, "varve_verdicts", cursor))
    }

    fn open_runs(&self) -> Result<Vec<RunId>, CatalogError> {
        self.readers.query(read_derived::open_runs)
    }

    fn captures_of_run(&self, run: &RunId) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_derived::captures_of_run(connection, run))
    }

    fn head(&self) -> Result<Option<VersionId>, CatalogError> {
        self.readers.query(read_derived::head)
    }

    fn scanned_up_to(&self) -> Result<Option<u64>, CatalogError> {
        Ok(None)
    }

    fn last_gc(&self) -> Result<Option<Moment>, CatalogError> {
        self.readers.query(schema::last_gc)
    }

    fn each_body(
        &self,
        each: &mut dyn FnMut(BodyId) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        self.readers.query(|connection| read_captures::each_body(connection, each))
    }
}

impl Catalog for MokuCatalog {
    fn apply(&self, rows: &mut dyn Iterator<Item = CatalogRow>) -> Result<(), CatalogError> {
        self.write(|connection| apply(connection, rows))
    }

    fn as_read(&self) -> &dyn CatalogRead {
        self
    }
}

fn apply(connection: &Connection, rows: &mut dyn Iterator<Item = CatalogRow>) -> Result<(), UnlocatedError> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    write::apply(&transaction, rows)?;
    Ok(transaction.commit()?)
}
