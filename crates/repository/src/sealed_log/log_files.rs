//! The files of the log in the folder `seal`.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped};
use varve_file::RootedFiles;
use varve_store::steps::step;
use varve_tlog::{MAX_NOTE_BYTES, TileName, TileStorage, decode_base64};

use crate::archive_paths::ArchivePaths;
use crate::error::RepositoryError;

/// The files of the log of an archive.
#[derive(Clone)]
pub struct LogFiles {
    files: RootedFiles,
    folder: PathBuf,
}

impl LogFiles {
    /// Those of the archive with this layout.
    pub fn new(layout: &ArchivePaths) -> Self {
        Self { files: layout.files().clone(), folder: layout.seal() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The newest checkpoint, if the file is there.
    pub fn checkpoint(&self) -> Result<Option<Vec<u8>>, RepositoryError> {
        let path = self.folder.join("checkpoint");
        self.files.read(&path, MAX_NOTE_BYTES as u64).map_err(RepositoryError::read(&path))
    }

    /// Writes a checkpoint under its size.
    pub(super) fn write_sized_checkpoint(&self, signed: &CheckpointSigned) -> Result<(), RepositoryError> {
        self.replace(&checkpoint_name(signed), signed.note.as_bytes())
    }

    /// Writes the newest checkpoint. All other files must be there.
    pub(super) fn write_checkpoint(&self, signed: &CheckpointSigned) -> Result<(), RepositoryError> {
        self.replace("checkpoint", signed.note.as_bytes())
    }

    /// Writes a timestamp.
    pub fn write_timestamp(&self, stamped: &CheckpointTimestamped) -> Result<(), RepositoryError> {
        self.replace(&timestamp_name(stamped), &answer_bytes(stamped))
    }

    /// The content of a file of the log, up to `limit` bytes. One that cannot be read is none.
    pub(super) fn content(&self, name: &str, limit: usize) -> Option<Vec<u8>> {
        self.files.read(&self.folder.join(name), limit as u64).ok().flatten()
    }

    /// Removes all files.
    pub(super) fn remove_all(&self) -> Result<(), RepositoryError> {
        self.files.remove_tree(&self.folder).map_err(RepositoryError::write(&self.folder))
    }

    fn replace(&self, name: &str, content: &[u8]) -> Result<(), RepositoryError> {
        let path = self.folder.join(name);
        self.write(&path, content).map_err(RepositoryError::write(&path))
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.files.make_folders(path.parent().unwrap_or(&self.folder))?;
        step("write a file of the log", path);
        self.files.replace(path, content)
    }
}

/// The name of the file of a checkpoint.
pub(super) fn checkpoint_name(signed: &CheckpointSigned) -> String {
    format!("checkpoints/{}", signed.size)
}

/// The name of the file of a timestamp.
pub(super) fn timestamp_name(stamped: &CheckpointTimestamped) -> String {
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(answer_bytes(stamped))[..4]);
    format!("timestamps/{}-{digest}.tsr", stamped.size)
}

/// The answer of the authority. One that is not base64 is reported by the audit, and is empty here.
pub(super) fn answer_bytes(stamped: &CheckpointTimestamped) -> Vec<u8> {
    decode_base64(&stamped.answer).unwrap_or_default()
}

impl TileStorage for LogFiles {
    fn read_tile(&self, name: &TileName, limit: usize) -> io::Result<Option<Vec<u8>>> {
        self.files.read(&self.folder.join(name.to_string()), limit as u64)
    }

    fn write_tile(&mut self, name: &TileName, content: &[u8]) -> io::Result<()> {
        self.write(&self.folder.join(name.to_string()), content)
    }

    fn remove_partial_tiles(&mut self, name: &TileName) -> io::Result<()> {
        let folder = self.folder.join(name.partial_folder());
        step("remove partial tiles", &folder);
        self.files.remove_tree(&folder)
    }
}
