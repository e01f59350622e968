//! Moku sites: the database `.moku/moku.db`, the paths, HEAD, and the form of files in a tree.
//!
//! Owns the tables of Moku (`sql/moku_tables.sql`) and, beside them, tables of varve (`varve_…`)
//! for values that Moku has no column for: tags, records, lengths, runs, verdicts. Sites of every
//! era are read. Only the current schema is written; an earlier one is upgraded when the caller
//! asks.
//!
//! Implements the seam of [`varve_core::catalog`], and knows neither silos nor the catalog of an
//! archive. Times are whole seconds. Headers are returned as they were stored: Moku normalises and
//! redacts some of them and not others.

mod audit_rows;
mod audit_scores;
mod create_tables;
mod era;
mod head_rule;
mod intended_head;
mod page_files;
mod read_captures;
mod read_scores;
mod remove_version;
mod schema;
mod score;
mod site_paths;
mod table_layout;
mod upgrade;
mod vacuum;
mod write;

use std::ops::Deref;

use varve_core::catalog::CatalogResult;
use varve_core::headers::Redaction;
use varve_core::{Moment, VersionId};
use varve_sqlite::{DatabasePath, TableCatalog, UnlocatedError};

pub use audit_rows::{MokuFinding, SnapshotRow};
pub use audit_scores::MokuDiffRow;
pub use create_tables::MokuTables;
pub use intended_head::IntendedHead;
pub use page_files::{BODY_FILE, HEADERS_FILE, are_headers_of, headers_json, original_folder};
pub use score::SnapshotScore;
pub use site_paths::{MOKU_LOCK_FILE, MokuPaths};

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

/// The catalog of a Moku site: that of its tables, and the operations that only a site has.
pub struct MokuCatalog(TableCatalog<MokuTables>);

impl Deref for MokuCatalog {
    type Target = TableCatalog<MokuTables>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl MokuCatalog {
    /// Opens `moku.db` of any era to read, and changes nothing.
    pub fn open_to_read(path: impl Into<DatabasePath>) -> CatalogResult<Self> {
        TableCatalog::open_to_read(path).map(Self)
    }

    /// Opens `moku.db` to write, and creates it if it does not exist. The caller holds the lock of
    /// the site.
    pub fn open_to_write(path: impl Into<DatabasePath>, options: &MokuOptions) -> CatalogResult<Self> {
        TableCatalog::open_with_options(path, options).map(Self)
    }

    /// The catalog of the tables alone.
    pub fn into_tables(self) -> TableCatalog<MokuTables> {
        self.0
    }

    /// The project that the site belongs to.
    pub fn project_id(&self) -> CatalogResult<Option<String>> {
        self.query(schema::project)
    }

    /// Whether sensitive headers of new captures are redacted. The default is yes.
    pub fn redaction(&self) -> CatalogResult<Redaction> {
        self.query(schema::redaction)
    }

    /// Changes whether sensitive headers of new captures are redacted.
    pub fn set_redaction(&self, redaction: Redaction) -> CatalogResult<()> {
        self.write(|connection| schema::set_redaction(connection, redaction))
    }

    /// A version that HEAD named and that has no rows. It stays until a user accepts the loss.
    pub fn lost_head(&self) -> CatalogResult<Option<VersionId>> {
        self.query(schema::lost_head)
    }

    /// Versions that varve committed and that have lost their rows without retention.
    pub fn lost_versions(&self) -> CatalogResult<Vec<VersionId>> {
        self.query(|connection| {
            let parse = |id: String| {
                id.parse()
                    .map_err(|error| UnlocatedError::Damaged("varve_versions", format!("{id}: {error}")))
            };
            audit_rows::lost_versions(connection)?.into_iter().map(parse).collect()
        })
    }

    /// Stores the version that HEAD named and that has no rows. `None` accepts its loss.
    pub fn set_lost_head(&self, version: Option<VersionId>) -> CatalogResult<()> {
        self.write(|connection| schema::set_lost_head(connection, version))
    }

    /// The parent that a version was committed with, if retention has given it another.
    pub fn first_parent(&self, id: &VersionId) -> CatalogResult<Option<VersionId>> {
        self.query(|connection| schema::first_parent(connection, id))
    }

    /// Returns the space of deleted rows to the disk. A failure leaves all rows as they were.
    pub fn vacuum(&self) -> CatalogResult<()> {
        self.maintain(|_| vacuum::vacuum(self.database_path()))
    }

    /// Reports what is wrong with the rows. `quick` leaves out checks that read all of them.
    pub fn audit_rows(&self, quick: bool, report: &mut dyn FnMut(MokuFinding)) -> CatalogResult<()> {
        self.query(|connection| audit_rows::audit_rows(connection, quick, report))
    }

    /// Reports what is wrong with the rows of scores. Scores by `rules` must be between 0 and 100.
    pub fn audit_scores(&self, rules: &str, report: &mut dyn FnMut(MokuFinding)) -> CatalogResult<()> {
        self.query(|connection| audit_scores::audit_scores(connection, rules, report))
    }

    /// Stores the scores of the snapshots of a version by some rules, unless `is_known` and each
    /// has a row already.
    pub fn store_snapshot_scores(
        &self,
        (version, rules, time): (&VersionId, &str, Moment),
        scores: &[SnapshotScore],
        is_known: bool,
    ) -> CatalogResult<()> {
        let id = version.to_string();
        if is_known && self.query(|connection| score::has_snapshot_scores(connection, &id, scores.len()))? {
            return Ok(());
        }
        self.write(|connection| {
            score::store_snapshot_scores(connection, (&id, rules, time.seconds()), scores)
        })
    }

    /// The row numbers of the stored diffs.
    pub fn diff_numbers(&self) -> CatalogResult<Vec<i64>> {
        self.query(audit_scores::diff_numbers)
    }

    /// The raw row of a diff.
    pub fn diff_row(&self, number: i64) -> CatalogResult<Option<MokuDiffRow>> {
        self.query(|connection| audit_scores::diff(connection, number))
    }

    /// Calls `each` with the raw row of every capture, also if it is invalid.
    pub fn each_snapshot(&self, each: &mut dyn FnMut(SnapshotRow)) -> CatalogResult<()> {
        self.query(|connection| audit_rows::each_snapshot(connection, each))
    }
}
