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
use crate::rows::{MissingChanges, OmittedFact, RowMaker};

/// Number of rows applied per batch.
const ROWS_PER_BATCH: usize = 16_384;

/// A row that could not be made because a record is unreadable or lost.
#[derive(Debug)]
pub enum OmittedRow {
    /// A record that cannot be parsed, or not without another record that is lost.
    Fact(UnreadableFact),
    /// Some of what a version says about pages. The version is kept, with the rest.
    Changes(MissingChanges),
    /// The files of the log, which contradicts itself.
    Log(varve_tlog::LogError),
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
            Self::Changes(MissingChanges { version, record }) => {
                write!(formatter, "version {version} has changes in a record that is lost, {record}: ")?;
                write!(formatter, "pages in it are as in the parent of the version")
            }
            Self::Log(error) => write!(formatter, "the files of the log cannot be made: {error}"),
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
        self.failure = self.add_rows(scanned);
    }

    fn add_rows(&mut self, scanned: &ScannedRecord) -> Result<(), RepositoryError> {
        let Self { catalog, maker, rows, left_out, .. } = self;
        let omitted = maker.each_row(scanned, &mut |row| {
            rows.push(row);
            if rows.len() >= ROWS_PER_BATCH { apply(&**catalog, rows, left_out) } else { Ok(()) }
        })?;
        match omitted {
            None => {}
            Some(OmittedFact::Unreadable(fact)) => left_out.push(OmittedRow::Fact(fact)),
            Some(OmittedFact::Changes(lost)) => left_out.extend(lost.into_iter().map(OmittedRow::Changes)),
        }
        Ok(())
    }

    /// Returns the catalog, after applying all rows.
    pub fn finish(mut self) -> Result<FilledCatalog, RepositoryError> {
        std::mem::replace(&mut self.failure, Ok(()))?;
        let Self { catalog, mut rows, mut left_out, .. } = self;
        apply(&*catalog, &mut rows, &mut left_out)?;
        for tag in catalog.tags()? {
            if catalog.version(&tag.version)?.is_none() {
                left_out.push(OmittedRow::Tag { name: tag.name, version: tag.version });
            }
        }
        Ok(FilledCatalog { catalog, left_out })
    }
}

fn apply(
    catalog: &dyn Catalog,
    rows: &mut Vec<CatalogRow>,
    left_out: &mut Vec<OmittedRow>,
) -> Result<(), RepositoryError> {
    Ok(catalog.apply_leniently(&mut rows.drain(..), &mut |row| left_out.extend(OmittedRow::of_row(row)))?)
}
