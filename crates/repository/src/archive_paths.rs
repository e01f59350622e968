//! The paths in an archive, and how to find an archive.
//!
//! This module only builds paths; except for existence checks it touches no file. Files are opened
//! through [`ArchivePaths::files`], which follows no link below the archive's folder. An archive is
//! a folder that contains `varve.toml`; everything else may be missing and is created when it is
//! first needed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_file::{RootedFiles, TemporaryFolder};
use varve_store::disk::{Disk, LocalDisk};

use crate::cache_folder::CacheFolder;
use crate::substitute_store::SubstituteStore;

/// The file that makes a folder an archive.
pub const SETTINGS_FILE: &str = "varve.toml";

/// The paths in one archive.
#[derive(Clone)]
pub struct ArchivePaths {
    root: PathBuf,
    /// The files below the folder that the user named.
    files: RootedFiles,
    /// The disk that silos and index are on.
    disk: Arc<dyn Disk>,
    /// Where index and catalog are instead of the archive's folder.
    caches: Option<Arc<CacheFolder>>,
    /// What readers use if the index turns out to be damaged.
    substitute: Option<Arc<SubstituteStore>>,
}

impl fmt::Debug for ArchivePaths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ArchivePaths({})", self.root.display())
    }
}

impl PartialEq for ArchivePaths {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl ArchivePaths {
    /// The paths in the archive at `root`.
    pub fn new(root: &Path) -> Self {
        Self::on_disk(root, Arc::new(LocalDisk::new(root)))
    }

    /// Like [`Self::new`], with silos and index on a disk other than the local one.
    pub fn on_disk(root: &Path, disk: Arc<dyn Disk>) -> Self {
        Self { root: root.to_owned(), files: RootedFiles::new(root), disk, caches: None, substitute: None }
    }

    /// The paths of an archive in a folder of this one. No link is followed on the way from this
    /// one to it.
    pub(crate) fn inside(&self, folder: &Path) -> Self {
        let (files, disk) = (self.files.clone(), Arc::clone(&self.disk));
        Self { root: folder.to_owned(), files, disk, caches: None, substitute: None }
    }

    /// The files of the archive, by the paths that this value returns.
    pub fn files(&self) -> &RootedFiles {
        &self.files
    }

    /// The same archive, with index and catalog in another folder. For reading only.
    pub(crate) fn with_caches_in(&self, caches: Arc<CacheFolder>) -> Self {
        Self { caches: Some(caches), substitute: None, ..self.clone() }
    }

    /// The same archive, read with `substitute` where its index turns out to be damaged.
    #[must_use]
    pub fn with_substitute(self, substitute: SubstituteStore) -> Self {
        Self { substitute: Some(Arc::new(substitute)), ..self }
    }

    /// What readers use if the index turns out to be damaged.
    pub(crate) fn substitute(&self) -> Option<&SubstituteStore> {
        self.substitute.as_deref()
    }

    /// The disk that the index is on.
    pub(crate) fn index_disk(&self) -> Arc<dyn Disk> {
        match &self.caches {
            Some(caches) => Arc::new(LocalDisk::new(caches.path())),
            None => Arc::clone(&self.disk),
        }
    }

    /// The files of index and catalog.
    pub(crate) fn cache_files(&self) -> RootedFiles {
        match &self.caches {
            Some(caches) => RootedFiles::new(caches.path()),
            None => self.files.clone(),
        }
    }

    /// The folder of index and catalog.
    fn cache_root(&self) -> &Path {
        self.caches.as_ref().map_or(&self.root, |caches| caches.path())
    }

    /// The disk that silos and index are on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The archive's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The settings file: name, format and storage options.
    pub fn settings(&self) -> PathBuf {
        self.root.join(SETTINGS_FILE)
    }

    /// The silos, which are the source of truth.
    pub fn silos(&self) -> PathBuf {
        self.root.join("warc")
    }

    /// The marker that the silos were replaced and index, catalog and HEAD do not match them yet.
    /// It exists only briefly.
    pub fn pending_swap(&self) -> PathBuf {
        self.silos().join("pending-swap")
    }

    /// The index, which can be rebuilt from the silos.
    pub fn index(&self) -> PathBuf {
        self.cache_root().join("index")
    }

    /// The catalog, which can be rebuilt from the silos.
    pub fn catalog(&self) -> PathBuf {
        self.cache_root().join(CATALOG_FILE)
    }

    /// The index for full text search, which can be rebuilt from the silos.
    pub fn search_index(&self) -> PathBuf {
        self.cache_root().join(SEARCH_FILE)
    }

    /// Whether index and catalog are those in the archive's folder.
    pub(crate) fn has_own_caches(&self) -> bool {
        self.caches.is_none()
    }

    /// The file that names the parent of the next version.
    pub fn head(&self) -> PathBuf {
        self.root.join("HEAD")
    }

    /// The log of versions: tiles, checkpoints and timestamps, rebuilt from the silos.
    pub fn seal(&self) -> PathBuf {
        self.root.join("seal")
    }

    /// The private key of the log, unless it is kept elsewhere. It is not stored in the silos.
    pub fn seal_key(&self) -> PathBuf {
        self.root.join("seal.key")
    }

    /// The plan, which users write: one file.
    pub fn plan(&self) -> PathBuf {
        self.root.join("plan.yaml")
    }

    /// The expectations, which users write: one file per domain.
    pub fn expectations(&self) -> PathBuf {
        self.root.join("urls")
    }

    /// Unfinished files; emptied whenever the archive is opened for writing.
    pub fn temporary(&self) -> PathBuf {
        self.root.join(TEMPORARY_FOLDER)
    }

    /// The same folder, for files without a name.
    pub fn temporary_folder(&self) -> TemporaryFolder {
        TemporaryFolder::below(&self.root, TEMPORARY_FOLDER)
    }

    /// The lock file of the writing process.
    pub fn lock(&self) -> PathBuf {
        self.temporary().join(LOCK_FILE)
    }

    /// The zstd dictionary for new silos. Each silo holds its own copy.
    pub fn dictionary(&self) -> PathBuf {
        self.root.join("dictionary.zstd")
    }

    /// The cache of committed files, so that unchanged files are not read again.
    pub fn seen_files(&self) -> PathBuf {
        self.root.join("files.seen")
    }

    /// The key to secrets from imports. It is not stored in the silos, so the silos alone do not
    /// reveal the secrets.
    pub fn secret_key(&self) -> PathBuf {
        self.root.join("secret.key")
    }

    /// Whether the folder is an archive. Anything named `varve.toml` makes it one: reading the
    /// settings then fails with the kind that is there.
    pub fn is_archive(&self) -> bool {
        matches!(self.files.entry(&self.settings()), Ok(Some(_)))
    }
}

/// The name of the catalog.
pub(crate) const CATALOG_FILE: &str = "catalog.db";

/// The name of the search index.
pub(crate) const SEARCH_FILE: &str = "search.db";

/// The name of the temporary folder.
pub const TEMPORARY_FOLDER: &str = "tmp";

/// The name of the lock file in the temporary folder.
pub const LOCK_FILE: &str = "lock";
