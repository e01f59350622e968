//! `demo`: a temporary archive for the tour, deleted when the tour ends unless the user keeps it.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::init::init;
use crate::error::ArchiveError;
use varve_repository::{ArchiveSettings, WriterOptions};

/// An archive, and a folder for temporary files.
pub struct DemoArchive {
    root: PathBuf,
    scratch: TempDir,
}

impl DemoArchive {
    /// Creates the archive in `keep`, or in a temporary folder that is deleted with this value.
    pub fn new(opening: WriterOptions, keep: Option<&Path>) -> Result<Self, ArchiveError> {
        let temporary = std::env::temp_dir();
        let scratch = tempfile::tempdir().map_err(ArchiveError::write(&temporary))?;
        let root = keep.map_or_else(|| scratch.path().join("museum"), Path::to_owned);
        init(&root, &ArchiveSettings::new("demo"), opening)?;
        Ok(Self { root, scratch })
    }

    /// The archive.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A copy of the first silo with one bit of its last checksum flipped.
    pub fn damaged_copy(&self) -> Result<PathBuf, ArchiveError> {
        let silo = self.root.join("warc/0/00000000.warc.gz");
        let mut bytes = fs::read(&silo).map_err(ArchiveError::read(&silo))?;
        let place = bytes.len().saturating_sub(6);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1;
        }
        let copy = self.scratch.path().join("damaged.warc.gz");
        fs::write(&copy, &bytes).map_err(ArchiveError::write(&copy))?;
        Ok(copy)
    }

    /// The path for a repaired silo.
    pub fn repaired(&self) -> PathBuf {
        self.scratch.path().join("repaired.warc.gz")
    }
}
