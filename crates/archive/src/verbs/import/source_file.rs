//! A file to import: its name, its bytes and its digest.

use std::fs::File;
use std::path::{Path, PathBuf};

use varve_core::fact::VersionSource;
use varve_warc::digest::Algorithm;
use varve_wire::ReadAt;

use crate::error::ArchiveError;

/// Bytes that are hashed at a time.
const HASH_CHUNK_BYTES: usize = 1 << 20;

/// A file to import.
pub(super) struct SourceFile {
    /// Its path, for messages.
    pub(super) path: PathBuf,
    /// Its bytes.
    pub(super) bytes: Box<dyn ReadAt>,
    /// Its length when it was hashed.
    pub(super) length: u64,
    /// Its SHA-256.
    sha256: [u8; 32],
}

impl SourceFile {
    /// Opens a file and hashes it. `progress` gets the number of bytes just read.
    pub(super) fn open(path: &Path, progress: &dyn Fn(u64)) -> Result<Self, ArchiveError> {
        let failed = |source| ArchiveError::ImportOpen { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        Self::of_bytes(path, Box::new(file), progress)
    }

    fn of_bytes(path: &Path, bytes: Box<dyn ReadAt>, progress: &dyn Fn(u64)) -> Result<Self, ArchiveError> {
        let failed = |source| ArchiveError::ImportOpen { path: path.to_owned(), source };
        let mut hasher = Algorithm::Sha256.hasher();
        let mut chunk = vec![0; HASH_CHUNK_BYTES];
        let mut length = 0;
        loop {
            match bytes.read_at(&mut chunk, length) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.update(&chunk[..count]);
                    length += count as u64;
                    progress(count as u64);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let sha256 = hasher.finish().sha256().unwrap_or_default();
        Ok(Self { path: path.to_owned(), bytes, length, sha256 })
    }

    /// The digest in hex.
    pub(super) fn hex_digest(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.sha256)
    }

    /// The name of the file.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// The source of a version that begins at `offset`.
    pub(super) fn version_source(&self, offset: u64) -> VersionSource {
        VersionSource { file: self.name(), sha256: self.hex_digest(), offset, wire: true }
    }
}
