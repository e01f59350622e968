//! `init`: creates an archive.
//!
//! The folder is new or empty. The settings are written after everything else that makes it an
//! archive, and before any content. They are written under another name and renamed, so that
//! `varve.toml` is never incomplete.

use std::io::{self, Write};
use std::path::Path;

use crate::error::ArchiveError;
use varve_file::RootedFiles;
use varve_repository::archive_writer::WriterOptions;
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::settings::ArchiveSettings;
use varve_repository::tree::require_empty;
use varve_repository::{ArchivePaths, RepositoryError};

/// Creates an archive in `folder`, which is created if needed, and opens it once to create all its
/// files.
pub fn init(folder: &Path, settings: &ArchiveSettings, opening: WriterOptions) -> Result<(), ArchiveError> {
    let layout = ArchivePaths::new(folder);
    if layout.is_archive() {
        return Err(ArchiveError::Already(folder.to_owned()));
    }
    let as_settings = |source| RepositoryError::Settings { path: layout.settings(), source };
    settings.check().map_err(as_settings)?;
    require_empty(folder)?;
    let files = layout.files();
    files.make_folders(folder).map_err(ArchiveError::write(folder))?;
    write_whole(files, &layout.settings(), settings.text().as_bytes())
        .map_err(ArchiveError::write(folder))?;
    for place in [layout.silos(), layout.index(), layout.temporary()] {
        files.make_folders(&place).map_err(ArchiveError::write(&place))?;
    }
    ArchiveHistoryWriter::open(folder, opening)?;
    Ok(())
}

/// Writes a file that is complete or absent, even after a power failure.
fn write_whole(files: &RootedFiles, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = files.pending_file(path)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    draft.publish_new()?;
    files.sync_folder(files.root())
}
