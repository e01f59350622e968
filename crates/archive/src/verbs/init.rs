//! `init`: makes an archive.
//!
//! The folder is new, or empty. Its settings are written last of what makes it an archive and first of what it holds:
//! under another name, then renamed, so that there is never half a `varve.toml`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use varve_repository::RepositoryError;

use crate::error::ArchiveError;
use varve_file::NewFile;
use varve_repository::archive_paths::ArchivePaths;
use varve_repository::archive_writer::WriterOptions;
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::settings::ArchiveSettings;
use varve_repository::tree::require_empty;

/// Makes an archive in `folder`, which is made if need be, and opens it once so that everything is in its place.
pub fn init(folder: &Path, settings: &ArchiveSettings, opening: WriterOptions) -> Result<(), ArchiveError> {
    let layout = ArchivePaths::new(folder);
    if layout.is_archive() {
        return Err(ArchiveError::Already { path: folder.to_owned() });
    }
    let as_settings = |source| RepositoryError::Settings { path: layout.settings(), source };
    settings.check().map_err(as_settings)?;
    require_empty(folder)?;
    fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
    write_whole(&layout.settings(), settings.text().as_bytes()).map_err(ArchiveError::write(folder))?;
    for place in [layout.silos(), layout.index(), layout.temporary()] {
        fs::create_dir_all(&place).map_err(ArchiveError::write(&place))?;
    }
    ArchiveHistoryWriter::open(folder, opening)?;
    Ok(())
}

/// Writes a file that is there whole or not at all, also after a power cut.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut draft = NewFile::new_in(folder)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    draft.persist_noclobber(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}
