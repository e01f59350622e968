//! The paths in a Moku site, with those of the files that varve adds.

use std::path::{Path, PathBuf};

use varve_sqlite::DatabasePath;

/// The lock file of the writing process, below the folder of the site.
pub const MOKU_LOCK_FILE: &str = ".moku/varve.lock";

/// The paths in a Moku site.
#[derive(Clone, Debug)]
pub struct MokuPaths {
    root: PathBuf,
}

impl MokuPaths {
    /// The paths in the site at `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The folder of the site, which is its working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub fn database(&self) -> DatabasePath {
        DatabasePath::below(&self.root, ".moku/moku.db")
    }

    /// The file with the id of the current version.
    pub fn head(&self) -> PathBuf {
        self.root.join(".moku/HEAD")
    }

    /// The folder of the bodies.
    pub fn bodies(&self) -> PathBuf {
        self.root.join(".moku/blobs")
    }

    /// The lock of varve, which Moku does not know.
    pub fn lock(&self) -> PathBuf {
        self.root.join(MOKU_LOCK_FILE)
    }

    /// The stamps of the files of the last committed folder. A cache of varve.
    pub fn seen_files(&self) -> PathBuf {
        self.root.join(".moku/varve.seen")
    }
}
