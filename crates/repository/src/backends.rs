//! The one place that decides which implementation of each seam an archive uses.
//!
//! `varve.toml` names them. Everything else in this crate gets catalog, frontier, silos, HEAD and
//! lock from here, and does not know which implementation it has. A new implementation is one more
//! name here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_catalog::{
    Catalog, CatalogError, CatalogRead, DatabasePath, FrontierStore, SqliteCatalog, SqliteFrontierStore,
    SqliteSearchIndex,
};
use varve_core::head_store::HeadStore;
use varve_core::search_index::{SearchIndex, SearchIndexRead};
use varve_core::writer_lock::WriterLock;
use varve_file::RootedFiles;
use varve_store::lock::FileLock;
use varve_store::silo::SiloFiles;
use varve_store::steps::step;

use crate::archive_paths::{ArchivePaths, CATALOG_FILE, LOCK_FILE, SEARCH_FILE, TEMPORARY_FOLDER};
use crate::error::RepositoryError;
use crate::head_file::FileHead;
use crate::settings::{ArchiveSettings, SettingsError};

/// The known values of `catalog`, the default first.
const CATALOG_NAMES: [&str; 1] = ["sqlite"];
/// Size of the page cache while a whole catalog is filled.
const NEW_CATALOG_CACHE_KIB: u32 = 64 << 10;
/// The known values of `silos`, the default first.
const SILO_NAMES: [&str; 1] = ["folder"];

/// An open catalog, with the queues of crawls that it holds.
pub struct OpenCatalog<C: ?Sized> {
    /// The rows.
    pub rows: Arc<C>,
    /// The queues.
    pub frontier: Arc<dyn FrontierStore>,
}

/// Shares the open catalog.
impl<C: ?Sized> Clone for OpenCatalog<C> {
    fn clone(&self) -> Self {
        Self { rows: Arc::clone(&self.rows), frontier: Arc::clone(&self.frontier) }
    }
}

fn frontier_in(catalog: &Arc<SqliteCatalog>) -> Arc<dyn FrontierStore> {
    Arc::new(SqliteFrontierStore::new(Arc::clone(catalog)))
}

/// The implementations that one archive uses. Opening them is left to the methods.
#[derive(Clone)]
pub struct Backends {
    layout: ArchivePaths,
    head: Arc<dyn HeadStore>,
    lock: Arc<dyn WriterLock>,
}

impl Backends {
    /// Chooses the implementations that the settings name. HEAD and lock are files as long as the
    /// catalog is one.
    pub fn open(layout: &ArchivePaths, settings: &ArchiveSettings) -> Result<Self, RepositoryError> {
        let unknown = |source| RepositoryError::Settings { path: layout.settings(), source };
        choose("catalog", settings.catalog.as_deref(), &CATALOG_NAMES).map_err(unknown)?;
        choose("silos", settings.silos.as_deref(), &SILO_NAMES).map_err(unknown)?;
        Ok(Self::in_files(layout))
    }

    /// The same implementations for an archive in another folder, such as one that is being
    /// prepared.
    pub fn for_layout(&self, layout: &ArchivePaths) -> Self {
        Self::in_files(layout)
    }

    fn in_files(layout: &ArchivePaths) -> Self {
        Self {
            layout: layout.clone(),
            head: file_head(layout.files().clone(), layout.head()),
            lock: file_lock(layout.root(), &format!("{TEMPORARY_FOLDER}/{LOCK_FILE}")),
        }
    }

    /// The paths of the archive.
    pub(crate) fn layout(&self) -> &ArchivePaths {
        &self.layout
    }

    /// The silos.
    pub fn silos(&self) -> SiloFiles {
        SiloFiles::new(Arc::clone(self.layout.disk()), self.layout.silos(), None)
    }

    /// HEAD.
    pub fn head(&self) -> &dyn HeadStore {
        &*self.head
    }

    /// The lock of the writer.
    pub fn lock(&self) -> &dyn WriterLock {
        &*self.lock
    }

    /// Opens the catalog for reading.
    pub fn read_catalog(&self) -> Result<OpenCatalog<dyn CatalogRead>, RepositoryError> {
        let path = self.layout.catalog();
        if self.layout.cache_files().entry(&path).map_err(RepositoryError::read(&path))?.is_none() {
            return Err(RepositoryError::NoCatalog { path });
        }
        let rows = Arc::new(SqliteCatalog::open_to_read(&path)?);
        Ok(OpenCatalog { frontier: frontier_in(&rows), rows })
    }

    /// The first inconsistency within the catalog, if there is one.
    pub fn catalog_problem(&self) -> Result<Option<String>, RepositoryError> {
        Ok(SqliteCatalog::open_to_read(&self.layout.catalog())?.integrity_problem()?)
    }

    /// Opens the catalog for writing, and creates it if there is none.
    pub fn write_catalog(&self) -> Result<OpenCatalog<dyn Catalog>, RepositoryError> {
        let rows = Arc::new(SqliteCatalog::open_to_write(&self.layout.catalog())?);
        Ok(OpenCatalog { frontier: frontier_in(&rows), rows })
    }

    /// Creates a catalog of the same kind in another folder, to be compared with that of the
    /// archive.
    pub fn new_catalog(&self, folder: &Path) -> Result<Box<dyn Catalog>, RepositoryError> {
        let path = folder.join(CATALOG_FILE);
        // Below the archive no link is followed.
        let database = match path.strip_prefix(self.layout.root()) {
            Ok(name) => DatabasePath::below(self.layout.root(), name),
            Err(_) => DatabasePath::from(&path),
        };
        let catalog = SqliteCatalog::open_to_write(database)?;
        catalog.set_writer_cache(NEW_CATALOG_CACHE_KIB)?;
        Ok(Box::new(catalog))
    }

    /// Replaces the catalog by one that [`new_catalog`](Self::new_catalog) created in `folder` and
    /// no process has open. The caller holds the lock.
    pub fn install_catalog(&self, folder: &Path) -> Result<(), RepositoryError> {
        // SQLite would apply the log of the old catalog to the new one.
        self.remove_catalog_log()?;
        let path = self.layout.catalog();
        step("rename", &path);
        let renamed = self.layout.files().rename(&folder.join(CATALOG_FILE), &path);
        renamed.map_err(RepositoryError::write(&path))
    }

    /// Whether [`new_catalog`](Self::new_catalog) created a catalog in `folder`.
    pub fn has_catalog_in(&self, folder: &Path) -> Result<bool, RepositoryError> {
        let path = folder.join(CATALOG_FILE);
        Ok(self.layout.files().entry(&path).map_err(RepositoryError::read(&path))?.is_some())
    }

    /// Removes the catalog. It can be rebuilt from the silos.
    pub fn remove_catalog(&self) -> Result<(), RepositoryError> {
        self.remove_catalog_log()?;
        self.remove_file(&self.layout.catalog())
    }

    fn remove_catalog_log(&self) -> Result<(), RepositoryError> {
        let log = |ending| self.layout.root().join(format!("{CATALOG_FILE}{ending}"));
        ["-wal", "-shm"].iter().try_for_each(|ending| self.remove_file(&log(ending)))
    }

    /// Opens the search index for reading. `None` if there is none.
    pub fn read_search_index(&self) -> Result<Option<Box<dyn SearchIndexRead>>, RepositoryError> {
        let path = self.layout.search_index();
        if self.layout.cache_files().entry(&path).map_err(RepositoryError::read(&path))?.is_none() {
            return Ok(None);
        }
        Ok(Some(Box::new(SqliteSearchIndex::open_to_read(&path)?)))
    }

    /// Opens the search index for writing, and creates it if there is none.
    pub fn write_search_index(&self) -> Result<Box<dyn SearchIndex>, RepositoryError> {
        step("open the search index", &self.layout.search_index());
        Ok(Box::new(SqliteSearchIndex::open_to_write(&self.layout.search_index())?))
    }

    /// Removes the search index, with all text in it. It can be rebuilt from the silos.
    pub fn remove_search_index(&self) -> Result<(), RepositoryError> {
        let path = self.layout.search_index();
        for ending in ["-wal", "-shm", ""] {
            let path = path.with_file_name(format!("{SEARCH_FILE}{ending}"));
            step("remove", &path);
            self.layout.cache_files().remove(&path).map_err(RepositoryError::write(&path))?;
        }
        Ok(())
    }

    /// Whether an error means that a cache is damaged or has another format, so that it must be made
    /// again.
    pub(crate) fn is_unusable_cache(error: &CatalogError) -> bool {
        matches!(
            error,
            CatalogError::Damaged { .. }
                | CatalogError::Foreign { .. }
                | CatalogError::Older { .. }
                | CatalogError::Database { .. }
        )
    }

    fn remove_file(&self, path: &Path) -> Result<(), RepositoryError> {
        step("remove", path);
        self.layout.files().remove(path).map_err(RepositoryError::write(path))
    }
}

/// HEAD in a file, as a Moku site always has it.
pub(crate) fn file_head(files: RootedFiles, head: PathBuf) -> Arc<dyn HeadStore> {
    Arc::new(FileHead::new(files, head))
}

/// A lock on a file, as a Moku site always has it.
pub(crate) fn file_lock(root: &Path, name: &str) -> Arc<dyn WriterLock> {
    Arc::new(FileLock::new(root.to_owned(), PathBuf::from(name)))
}

/// The implementation that `key` names: one of `known`, of which the first is the default.
fn choose(
    key: &'static str,
    name: Option<&str>,
    known: &'static [&'static str],
) -> Result<&'static str, SettingsError> {
    let Some(name) = name else { return Ok(known[0]) };
    let found = known.iter().find(|known| **known == name).copied();
    found.ok_or_else(|| SettingsError::Backend { key, name: name.to_owned(), known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_implementation_is_refused_with_those_that_are_known() {
        let layout = ArchivePaths::new(Path::new("/museum"));
        let open = |text: &str| {
            let settings = ArchiveSettings::parse(&format!("format = 1\nname = \"x\"\n{text}")).unwrap();
            Backends::open(&layout, &settings).map(drop)
        };
        open("").unwrap();
        open("catalog = \"sqlite\"\nsilos = \"folder\"\n").unwrap();
        for (text, message) in [
            ("catalog = \"oracle\"", "`catalog` is `oracle`, and may be `sqlite`"),
            ("silos = \"tape\"", "`silos` is `tape`, and may be `folder`"),
        ] {
            match open(text) {
                Err(RepositoryError::Settings { path, source }) => {
                    assert_eq!((path, source.to_string()), (layout.settings(), message.to_owned()));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
