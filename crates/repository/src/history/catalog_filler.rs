//! Fills a catalog from silo records, in batches.
//!
//! The caller reads the silos: a rebuild and an audit read every record anyway and pass it on. If a
//! record is lost, everything else still gets its rows; rows that depend on it are left out and
//! reported.

use std::fmt;

use varve_catalog::{Catalog, CatalogRow};
use varve_core::VersionId;
use varve_core::headers::Redaction;
use varve_store::exchange::ScannedRecord;

use crate::error::RepositoryError;
use crate::error::UnreadableFact;
use crate::rows::{MissingPageList, RowMaker};

/// Number of rows applied per batch.
const ROWS_PER_BATCH: usize = 4096;

/// A row that could not be made because a record is unreadable or lost.
#[derive(Debug)]
pub enum OmittedRow {
    /// A record that cannot be parsed, or not without another record that is lost.
    Fact(UnreadableFact),
    /// The pages of a version that are in a lost page list. The version is kept, with the pages in
    /// its own manifest.
    List(MissingPageList),
    /// The score of a version that is not here.
    Score(VersionId),
    /// A move of HEAD to a version that is not here.
    Head(VersionId),
    /// A tag of a version that is not here. The tag is kept.
    Tag {
        /// Its name.
        name: String,
        /// The version.
        version: VersionId,
    },
}

impl fmt::Display for OmittedRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fact(UnreadableFact { record, source }) => {
                write!(formatter, "record {record} cannot be understood: {source}: {}", source.source)
            }
            Self::List(MissingPageList { version, list, known }) => {
                write!(formatter, "version {version} has pages of a list that is lost, record {list}: ")?;
                write!(
                    formatter,
                    "{known} of its pages are known, and nobody knows how many others there were"
                )
            }
            Self::Score(version) => {
                write!(formatter, "there is a score of version {version}, which is not in this archive")
            }
            Self::Head(version) => {
                write!(formatter, "HEAD was moved to version {version}, which is not in this archive")
            }
            Self::Tag { name, version } => {
                write!(formatter, "tag `{name}` stands for version {version}, which is not in this archive")
            }
        }
    }
}

impl OmittedRow {
    /// The omitted row in the form that is reported.
    pub(super) fn of_row(row: CatalogRow) -> Option<Self> {
        match row {
            CatalogRow::Score(score) => Some(Self::Score(score.version)),
            CatalogRow::Head(version) => Some(Self::Head(version)),
            _ => None,
        }
    }
}

/// A filled catalog, and the rows that were left out.
pub struct FilledCatalog {
    /// The catalog.
    pub catalog: Box<dyn Catalog>,
    /// The rows that were left out.
    pub left_out: Vec<OmittedRow>,
}

/// A catalog being filled. The first error is returned by `finish`, and nothing is added after it.
pub struct CatalogFiller {
    catalog: Box<dyn Catalog>,
    maker: RowMaker<'static>,
    rows: Vec<CatalogRow>,
    left_out: Vec<OmittedRow>,
    failure: Result<(), RepositoryError>,
}

impl CatalogFiller {
    /// Starts with an empty catalog.
    pub fn new(catalog: Box<dyn Catalog>, redaction: Redaction) -> Self {
        let maker = RowMaker::new(redaction);
        Self { catalog, maker, rows: Vec::new(), left_out: Vec::new(), failure: Ok(()) }
    }

    /// Adds the rows of a record.
    pub fn add(&mut self, scanned: &ScannedRecord) {
        if self.failure.is_err() {
            return;
        }
        match self.maker.rows_of(scanned) {
            Ok(rows) => self.rows.extend(rows),
            Err(odd) => match self.maker.rows_without_list(scanned) {
                Some((rows, lost)) => {
                    self.rows.extend(rows);
                    self.left_out.push(OmittedRow::List(lost));
                }
                None => self.left_out.push(OmittedRow::Fact(odd)),
            },
        }
        if count_rows(&self.rows) >= ROWS_PER_BATCH {
            self.failure = self.apply();
        }
    }

    fn apply(&mut self) -> Result<(), RepositoryError> {
        let Self { catalog, rows, left_out, .. } = self;
        Ok(catalog
            .apply_leniently(&mut rows.drain(..), &mut |row| left_out.extend(OmittedRow::of_row(row)))?)
    }

    /// Returns the catalog, after applying all rows.
    pub fn finish(mut self) -> Result<FilledCatalog, RepositoryError> {
        std::mem::replace(&mut self.failure, Ok(()))?;
        self.apply()?;
        let Self { catalog, mut left_out, .. } = self;
        for tag in catalog.tags()? {
            if catalog.version(&tag.version)?.is_none() {
                left_out.push(OmittedRow::Tag { name: tag.name, version: tag.version });
            }
        }
        Ok(FilledCatalog { catalog, left_out })
    }
}

/// The number of rows, counting each capture.
pub(super) fn count_rows(rows: &[CatalogRow]) -> usize {
    let held =
        |row: &CatalogRow| if let CatalogRow::Pages { captures, .. } = row { captures.len() } else { 0 };
    rows.len() + rows.iter().map(held).sum::<usize>()
}
