//! Files of both databases: locked, damaged, foreign, read-only, on a full disk, after a kill.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

mod kill;
mod trouble;

use std::path::Path;

use varve_catalog::SqliteCatalog;
use varve_core::catalog::{Catalog, CatalogError};
use varve_moku::{MokuCatalog, MokuOptions};

/// A kind of database.
pub(crate) struct DatabaseKind {
    /// The name of its file.
    pub(crate) file: &'static str,
    write: fn(&Path) -> Result<Box<dyn Catalog>, CatalogError>,
    read: fn(&Path) -> Result<Box<dyn Catalog>, CatalogError>,
}

impl DatabaseKind {
    pub(crate) fn try_open(&self, folder: &Path) -> Result<Box<dyn Catalog>, CatalogError> {
        (self.write)(&folder.join(self.file))
    }

    pub(crate) fn open(&self, folder: &Path) -> Box<dyn Catalog> {
        self.try_open(folder).unwrap()
    }

    pub(crate) fn open_to_read(&self, folder: &Path) -> Result<Box<dyn Catalog>, CatalogError> {
        (self.read)(&folder.join(self.file))
    }
}

/// Both databases.
pub(crate) const DATABASE_KINDS: [DatabaseKind; 2] = [
    DatabaseKind {
        file: "catalog.db",
        write: |path| Ok(Box::new(SqliteCatalog::open_to_write(path)?)),
        read: |path| Ok(Box::new(SqliteCatalog::open_to_read(path)?)),
    },
    DatabaseKind {
        file: "moku.db",
        write: |path| Ok(Box::new(MokuCatalog::open_to_write(path, &MokuOptions::default())?.into_tables())),
        read: |path| Ok(Box::new(MokuCatalog::open_to_read(path)?.into_tables())),
    },
];
