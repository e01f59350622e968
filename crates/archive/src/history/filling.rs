//! A catalog being made from what the silos say, in batches.
//!
//! Who reads the silos is left to others: a rebuild and an audit read every record anyway and pass on what it says.

use varve_catalog::{Catalog, Row, SqliteCatalog};
use varve_core::headers::Redaction;
use varve_store::exchange::Scanned;

use crate::error::ArchiveError;
use crate::rows::RowMaker;

/// Rows are applied so many at a time.
const BATCH: usize = 4096;

/// A catalog that is being filled. The first failure is kept until the end, and nothing is done after it.
pub(crate) struct Filling {
    catalog: SqliteCatalog,
    maker: RowMaker<'static>,
    rows: Vec<Row>,
    failure: Result<(), ArchiveError>,
}

impl Filling {
    /// Begins with an empty catalog.
    pub(crate) fn new(catalog: SqliteCatalog, redaction: Redaction) -> Self {
        Self { catalog, maker: RowMaker::new(redaction), rows: Vec::new(), failure: Ok(()) }
    }

    /// Adds the rows of what a record says.
    pub(crate) fn add(&mut self, scanned: &Scanned) {
        if self.failure.is_err() {
            return;
        }
        // A fact that cannot be understood has no rows; audit names it.
        self.rows.extend(self.maker.rows_of(scanned).unwrap_or_default());
        if weight(&self.rows) >= BATCH {
            self.failure = self.catalog.apply(&mut self.rows.drain(..)).map_err(ArchiveError::from);
        }
    }

    /// The catalog, with all that was added.
    pub(crate) fn finish(self) -> Result<SqliteCatalog, ArchiveError> {
        self.failure?;
        self.catalog.apply(&mut self.rows.into_iter())?;
        Ok(self.catalog)
    }
}

/// How many rows these are, each capture counted.
pub(super) fn weight(rows: &[Row]) -> usize {
    let held = |row: &Row| if let Row::Pages { captures, .. } = row { captures.len() } else { 0 };
    rows.len() + rows.iter().map(held).sum::<usize>()
}
