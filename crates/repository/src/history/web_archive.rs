//! The history of a web archive: WARC, ARC and WACZ files that other programs wrote.
//!
//! The files are read in place. Their index, a catalog among it, is in a folder of the user's caches
//! or in a temporary one.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use varve_catalog::{Catalog, CatalogError, CatalogRead, SqliteCatalog};
use varve_core::VersionId;
use varve_core::history::Capture;
use varve_webarchive::{CatalogMaker, IndexPlace, OpenProgress, WebArchive};

use super::RecordPlace;
use crate::error::RepositoryError;
use crate::page_path::page_path;

/// Size of the page cache while the catalog is filled: its rows change pages everywhere.
const WRITER_CACHE_KIBIBYTES: u32 = 64 << 10;

/// A web archive, open for reading.
#[derive(Clone)]
pub struct WebArchiveHistoryReader {
    archive: WebArchive,
    catalog: Arc<SqliteCatalog>,
}

impl WebArchiveHistoryReader {
    /// Opens the file or folder at `root`.
    pub fn open(
        root: &Path,
        index: &IndexPlace,
        progress: &dyn OpenProgress,
    ) -> Result<Self, RepositoryError> {
        let maker = CatalogMaker { create: &create_catalog, path_of: page_path };
        let archive = WebArchive::open(root, index, &maker, progress)?;
        let catalog = Arc::new(SqliteCatalog::open_to_read(archive.catalog_path().as_path())?);
        Ok(Self { archive, catalog })
    }

    /// The files.
    pub fn files(&self) -> &WebArchive {
        &self.archive
    }

    /// The catalog rows.
    pub fn catalog(&self) -> &dyn CatalogRead {
        &*self.catalog
    }

    /// The newest version.
    pub fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        Ok(CatalogRead::head(&*self.catalog)?)
    }

    pub(super) fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        Ok(self.archive.open_body(capture)?)
    }

    pub(super) fn open_payload(
        &self,
        capture: &Capture,
    ) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        Ok(self.archive.open_payload(capture)?)
    }

    pub(super) fn open_wire(
        &self,
        capture: &Capture,
    ) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        Ok(self.archive.open_wire(capture)?)
    }

    pub(super) fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        Ok(self.archive.wire_head(capture)?)
    }

    pub(super) fn record_place(&self, capture: &Capture) -> Result<Option<RecordPlace>, RepositoryError> {
        let found = self.archive.location(capture)?;
        Ok(found.map(|place| RecordPlace { file: place.file, offset: place.offset, length: None }))
    }

    pub(super) fn read_order(&self, captures: &[&Capture]) -> Result<Vec<u64>, RepositoryError> {
        Ok(self.archive.read_order(captures)?)
    }
}

fn create_catalog(path: &Path) -> Result<Box<dyn Catalog>, CatalogError> {
    let catalog = SqliteCatalog::open_to_write(path)?;
    catalog.set_writer_cache(WRITER_CACHE_KIBIBYTES)?;
    Ok(Box::new(catalog))
}
