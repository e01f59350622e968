//! `demo`: a stage for the tour, an archive that is gone when the tour ends.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::init::init;
use super::store::{Kept, Request, Source, store};
use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::settings::ArchiveSettings;
use crate::writer::{ArchiveWriter, Opening};

/// An archive in a folder that goes with it.
pub struct Stage {
    folder: TempDir,
    opening: Opening,
}

impl Stage {
    /// Makes the archive.
    pub fn new(opening: Opening) -> Result<Self, ArchiveError> {
        let temporary = std::env::temp_dir();
        let folder = tempfile::tempdir().map_err(ArchiveError::write(&temporary))?;
        init(folder.path(), &ArchiveSettings::new("demo"), opening.clone())?;
        Ok(Self { folder, opening })
    }

    /// The archive, for reading.
    pub fn archive(&self) -> Result<Archive, ArchiveError> {
        Archive::open(self.folder.path())
    }

    /// Stores texts.
    pub fn store(&self, texts: &[&'static str]) -> Result<Vec<Kept>, ArchiveError> {
        let writer = ArchiveWriter::open(self.folder.path(), self.opening.clone())?;
        let sources = texts.iter().map(|text| Source::Stream(Box::new(text.as_bytes())));
        let request = Request { media_type: Some("text/plain".to_owned()), threads: 1, ..Request::default() };
        let mut kept = Vec::new();
        store(&writer, &request, sources, &|_| {}, |_, result| {
            kept.push(result?);
            Ok(())
        })?;
        Ok(kept)
    }

    /// The only silo.
    pub fn silo(&self) -> PathBuf {
        self.folder.path().join("warc/0/00000000.warc.gz")
    }

    /// Where a repaired silo may be written.
    pub fn repaired(&self) -> PathBuf {
        self.folder.path().join("repaired.warc.gz")
    }

    /// Flips one bit of the only silo, twenty bytes before its end.
    pub fn flip_a_bit(&self) -> Result<(), ArchiveError> {
        let silo = self.silo();
        let mut bytes = fs::read(&silo).map_err(ArchiveError::read(&silo))?;
        let place = bytes.len().saturating_sub(20);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1;
        }
        write(&silo, &bytes)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ArchiveError> {
    fs::write(path, bytes).map_err(ArchiveError::write(path))
}
