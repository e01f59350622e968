//! Where things lie in an archive, and how one is found.
//!
//! Names only: nothing here opens or writes a file. An archive is a folder that holds `varve.toml`; everything else may
//! be missing and is made when it is first needed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_store::disk::{Disk, LocalDisk};

/// The file that makes a folder an archive.
pub const SETTINGS_FILE: &str = "varve.toml";

/// The places in one archive.
#[derive(Clone)]
pub struct ArchivePaths {
    root: PathBuf,
    /// The disk that silos and index are on.
    disk: Arc<dyn Disk>,
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
    /// The places in the archive at `root`.
    pub fn new(root: &Path) -> Self {
        Self::on_disk(root, Arc::new(LocalDisk))
    }

    /// As [`Self::new`], with silos and index on another disk than the local one.
    pub fn on_disk(root: &Path, disk: Arc<dyn Disk>) -> Self {
        Self { root: root.to_owned(), disk }
    }

    /// The disk that silos and index are on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The archive's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Name, format and how it is written.
    pub fn settings(&self) -> PathBuf {
        self.root.join(SETTINGS_FILE)
    }

    /// The silos: the truth.
    pub fn silos(&self) -> PathBuf {
        self.root.join("warc")
    }

    /// Says that the silos are others by now than those from which index, catalog and HEAD were made. It is there for a moment.
    pub fn pending_swap(&self) -> PathBuf {
        self.silos().join("unsettled")
    }

    /// The index, which can be made again from the silos.
    pub fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    /// The rows, which can be made again from the silos.
    pub fn catalog(&self) -> PathBuf {
        self.root.join("catalog.db")
    }

    /// The file that names the version which the next one descends from.
    pub fn head(&self) -> PathBuf {
        self.root.join("HEAD")
    }

    /// The plan: people's intent, one file.
    pub fn plan(&self) -> PathBuf {
        self.root.join("plan.yaml")
    }

    /// The expectations: people's intent, one file a domain.
    pub fn expectations(&self) -> PathBuf {
        self.root.join("urls")
    }

    /// What is not finished; emptied whenever the archive is opened for writing.
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The file that the one writing process holds.
    pub fn lock(&self) -> PathBuf {
        self.temporary().join(LOCK_FILE)
    }

    /// What new silos say once instead of in each record, where they are packed by zstd; each silo holds its own copy.
    pub fn dictionary(&self) -> PathBuf {
        self.root.join("dictionary.zstd")
    }

    /// What is known of files that were committed, so that those which stay as they are need not be read again.
    pub fn seen_files(&self) -> PathBuf {
        self.root.join("files.seen")
    }

    /// The key to secrets that came with imports. It is in no silo, so that whoever has the silos alone does not have them.
    pub fn secret_key(&self) -> PathBuf {
        self.root.join("secret.key")
    }

    /// Whether there is an archive at all.
    pub fn is_archive(&self) -> bool {
        self.settings().is_file()
    }
}

/// The name of the lock among what is not finished.
pub const LOCK_FILE: &str = "lock";

/// The archive that `start` is in: the nearest folder, itself included, that is one, or a site of another layout.
pub fn find_root(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|folder| crate::history::detect_layout(folder).is_some()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_archive_upwards_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("outer/inner/deep");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(find_root(&deep), None);
        std::fs::write(folder.path().join("outer/varve.toml"), "").unwrap();
        assert_eq!(find_root(&deep), Some(folder.path().join("outer")));
        std::fs::write(folder.path().join("outer/inner/varve.toml"), "").unwrap();
        assert_eq!(find_root(&deep), Some(folder.path().join("outer/inner")));
        assert_eq!(find_root(&folder.path().join("outer")), Some(folder.path().join("outer")));
    }
}
