//! `.moku/moku.db`: the catalog of a Moku site, exactly as Moku keeps it.
//!
//! Owns the tables of Moku (`sql/moku/tables.sql`) and, beside them, varve's own (`varve_…`) for what Moku has no place
//! for: tags, records, lengths, runs, verdicts. Sites of every era are read; only those of today are written, and an
//! early one becomes one of today when asked. Times are whole seconds here. Headers are given as they were kept: Moku
//! normalises and redacts some and not others.

mod era;
mod examine;
mod examine_derived;
mod forget;
mod read_captures;
mod read_rest;
mod read_versions;
mod room;
mod schema;
mod score;
mod upgrade;
mod write;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use varve_core::headers::Redaction;
use varve_core::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, Tag,
    TimeOrder, VersionFilter, VersionInfo,
};
use varve_core::{BodyId, Moment, RunId, VersionId};

use crate::connect::{self, Readers};
use crate::error::CatalogError;
use crate::problem::Problem;
use crate::read::CatalogRead;
use crate::row::{Catalog, CatalogRow};

use era::Era;
pub use examine::{RowTrouble, SnapshotRow};
pub use examine_derived::DiffRow;

/// How a site is opened to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MokuOptions {
    /// The project that the site must belong to; it is written down where none is.
    pub project_id: Option<String>,
    /// Whether the site becomes this project's if it is another's.
    pub force_project_id: bool,
    /// Whether a site with the tables of an early Moku is upgraded to those of today.
    pub upgrade: bool,
}

/// The catalog of a Moku site.
pub struct MokuCatalog {
    // Readers go before the writer, so that the last connection to close can put the log back into the database.
    readers: Readers,
    writer: Option<Mutex<Connection>>,
}

impl MokuCatalog {
    /// Opens `moku.db` to read, whatever its era. Nothing in it is changed.
    pub fn open_to_read(path: &Path) -> Result<Self, CatalogError> {
        Ok(Self { readers: Readers::open(path, Box::new(prepare_reader))?, writer: None })
    }

    /// Opens `moku.db` to write, and makes it where there is none. Whoever calls this holds the lock of the site.
    pub fn open_to_write(path: &Path, options: &MokuOptions) -> Result<Self, CatalogError> {
        let connection = open_writer(path, options).map_err(|problem| problem.at(path))?;
        let readers = Readers::open(path, Box::new(prepare_reader))?;
        Ok(Self { readers, writer: Some(Mutex::new(connection)) })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.readers.path()
    }

    /// The project that the site belongs to, if it says so.
    pub fn project_id(&self) -> Result<Option<String>, CatalogError> {
        self.readers.ask(schema::project)
    }

    /// Whether sensitive headers of new captures are hidden: they are, unless it was decided otherwise.
    pub fn redaction(&self) -> Result<Redaction, CatalogError> {
        self.readers.ask(schema::redaction)
    }

    /// Decides whether they are, for all who write from now on.
    pub fn set_redaction(&self, redaction: Redaction) -> Result<(), CatalogError> {
        self.write(|connection| schema::set_redaction(connection, redaction))
    }

    /// A version that HEAD named though it had no rows; nobody has accepted yet that they are lost.
    pub fn lost_head(&self) -> Result<Option<VersionId>, CatalogError> {
        self.readers.ask(schema::lost_head)
    }

    /// Versions that were committed here by varve and have no rows any more, though nobody forgot them.
    pub fn lost_versions(&self) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.ask(|connection| {
            let lost = examine::lost_versions(connection)?.into_iter();
            let parsed = |id: String| {
                id.parse().map_err(|error| Problem::Damaged("varve_versions", format!("{id}: {error}")))
            };
            lost.map(parsed).collect()
        })
    }

    /// Writes down such a version, or that its loss is accepted.
    pub fn set_lost_head(&self, version: Option<VersionId>) -> Result<(), CatalogError> {
        self.write(|connection| schema::set_lost_head(connection, version))
    }

    /// The parent that a version was committed with, where retention has given it another.
    pub fn first_parent(&self, id: &VersionId) -> Result<Option<VersionId>, CatalogError> {
        self.readers.ask(|connection| schema::first_parent(connection, id))
    }

    fn write(&self, change: impl FnOnce(&Connection) -> Result<(), Problem>) -> Result<(), CatalogError> {
        let Some(writer) = &self.writer else {
            return Err(CatalogError::ReadOnly { path: self.path().to_owned() });
        };
        let connection = writer.lock().unwrap_or_else(PoisonError::into_inner);
        change(&connection).map_err(|problem| problem.at(self.path()))
    }

    /// Does something while nobody can add rows, Moku included. What it reads are the rows that there are.
    pub fn alone<E: From<CatalogError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut done = Ok(());
        self.write(|connection| {
            let _nobody_else = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            done = work();
            Ok(())
        })?;
        done
    }

    /// Gives the room that forgotten rows took back to the disk. What fails here fails nothing else: the rows are what they were.
    pub fn give_back_room(&self) -> Result<(), CatalogError> {
        self.write(|_| room::give_back(self.path()))
    }

    /// Tells `found` what is wrong with the rows, for audits; `quick` leaves out what takes reading all of them.
    pub fn examine(&self, quick: bool, found: &mut dyn FnMut(RowTrouble)) -> Result<(), CatalogError> {
        self.readers.ask(|connection| examine::examine(connection, quick, found))
    }

    /// Tells `found` what is wrong with the rows of scores, for audits. The scale of scores by `rules` goes from 0 to 100.
    pub fn examine_scores(&self, rules: &str, found: &mut dyn FnMut(RowTrouble)) -> Result<(), CatalogError> {
        self.readers.ask(|connection| examine_derived::scores(connection, rules, found))
    }

    /// The numbers of the diffs that are kept.
    pub fn diff_numbers(&self) -> Result<Vec<i64>, CatalogError> {
        self.readers.ask(examine_derived::diff_numbers)
    }

    /// A diff by its number, as its row has it.
    pub fn diff_row(&self, number: i64) -> Result<Option<DiffRow>, CatalogError> {
        self.readers.ask(|connection| examine_derived::diff(connection, number))
    }

    /// Gives every capture as its row has it, also where no capture can be made of it.
    pub fn each_snapshot(&self, tell: &mut dyn FnMut(SnapshotRow)) -> Result<(), CatalogError> {
        self.readers.ask(|connection| examine::snapshots(connection, tell))
    }
}

fn prepare_reader(connection: &Connection) -> Result<(), Problem> {
    match Era::of(connection)? {
        Era::Empty => Err(Problem::Foreign("this database is empty".to_owned())),
        era => era.prepare(connection),
    }
}

fn open_writer(path: &Path, options: &MokuOptions) -> Result<Connection, Problem> {
    let mut connection = connect::to_write(path)?;
    schema::settle(&mut connection, options)?;
    connect::settle_writer(&connection)?;
    Era::Today.prepare(&connection)?;
    Ok(connection)
}

impl CatalogRead for MokuCatalog {
    fn version(&self, id: &VersionId) -> Result<Option<VersionInfo>, CatalogError> {
        self.readers.ask(|connection| read_versions::version(connection, id))
    }

    fn versions_beginning(&self, prefix: &str, limit: usize) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.ask(|connection| read_versions::beginning(connection, prefix, limit))
    }

    fn versions(
        &self,
        filter: &VersionFilter,
        page: ListCursor<VersionId>,
    ) -> Result<Vec<VersionInfo>, CatalogError> {
        self.readers.ask(|connection| read_versions::versions(connection, filter, page))
    }

    fn count_versions(&self, most: u64) -> Result<u64, CatalogError> {
        self.readers.ask(|connection| read_versions::count(connection, most))
    }

    fn children(&self, id: &VersionId) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.ask(|connection| read_versions::children(connection, id))
    }

    fn captures_in(
        &self,
        version: &VersionId,
        page: ListCursor<(&str, &str)>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.ask(|connection| read_captures::in_version(connection, version, page))
    }

    fn captures_at_path(&self, version: &VersionId, path: &str) -> Result<Vec<Capture>, CatalogError> {
        self.readers.ask(|connection| read_captures::at_path(connection, version, path))
    }

    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.captures_of_any(&[url], filter, order, page)
    }

    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.ask(|connection| read_captures::of_urls(connection, urls, filter, order, page))
    }

    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Result<Vec<Capture>, CatalogError> {
        self.readers.ask(|connection| read_captures::of_urls_in(connection, version, urls))
    }

    fn spellings_of(&self, url: &str) -> Result<Vec<String>, CatalogError> {
        self.readers.ask(|connection| read_captures::spellings(connection, url))
    }

    fn urls(&self, prefix: &str, page: ListCursor<&str>) -> Result<Vec<String>, CatalogError> {
        self.readers.ask(|connection| read_captures::urls(connection, prefix, page))
    }

    fn tags(&self) -> Result<Vec<Tag>, CatalogError> {
        self.readers.ask(read_rest::tags)
    }

    fn tag(&self, name: &str) -> Result<Option<Tag>, CatalogError> {
        self.readers.ask(|connection| read_rest::tag(connection, name))
    }

    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Result<Option<StoredDiff>, CatalogError> {
        self.readers.ask(|connection| read_rest::diff(connection, base, head))
    }

    fn diffs_with(&self, version: &VersionId) -> Result<Vec<StoredDiffInfo>, CatalogError> {
        self.readers.ask(|connection| read_rest::diffs_with(connection, version))
    }

    fn diffs_before(&self, before: Moment) -> Result<u64, CatalogError> {
        self.readers.ask(|connection| read_rest::diffs_before(connection, before))
    }

    fn scores(&self, version: &VersionId) -> Result<Vec<StoredScore>, CatalogError> {
        self.readers.ask(|connection| read_rest::scores(connection, version))
    }

    fn verdicts_of(&self, url: &str, limit: usize) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.ask(|connection| crate::verdict::of_url(connection, "varve_verdicts", url, limit))
    }

    fn last_verdicts(&self, page: ListCursor<&str>) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.ask(|connection| crate::verdict::last(connection, "varve_verdicts", page))
    }

    fn open_runs(&self) -> Result<Vec<RunId>, CatalogError> {
        self.readers.ask(read_rest::open_runs)
    }

    fn captures_of_run(&self, run: &RunId) -> Result<u64, CatalogError> {
        self.readers.ask(|connection| read_rest::captures_of_run(connection, run))
    }

    fn head(&self) -> Result<Option<VersionId>, CatalogError> {
        self.readers.ask(read_rest::head)
    }

    fn reached(&self) -> Result<Option<u64>, CatalogError> {
        Ok(None)
    }

    fn last_gc(&self) -> Result<Option<Moment>, CatalogError> {
        self.readers.ask(schema::last_gc)
    }

    fn each_body(
        &self,
        each: &mut dyn FnMut(BodyId) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        self.readers.ask(|connection| read_captures::each_body(connection, each))
    }

    fn each_row(&self, each: &mut dyn FnMut(&str) -> Result<(), CatalogError>) -> Result<(), CatalogError> {
        crate::every::each_row(self, each)
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

fn apply(connection: &Connection, rows: &mut dyn Iterator<Item = CatalogRow>) -> Result<(), Problem> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    write::apply(&transaction, rows)?;
    Ok(transaction.commit()?)
}
