//! `init`: makes an archive.
//!
//! The folder is new, or empty. Its settings are written last of what makes it an archive and first of what it holds:
//! under another name, then renamed, so that there is never half a `varve.toml`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::error::ArchiveError;
use crate::history::ArchiveHistory;
use crate::layout::Layout;
use crate::settings::ArchiveSettings;
use crate::writer::Opening;
use varve_file::NewFile;

/// Makes an archive in `folder`, which is made if need be, and opens it once so that everything is in its place.
pub fn init(folder: &Path, settings: &ArchiveSettings, opening: Opening) -> Result<(), ArchiveError> {
    let layout = Layout::new(folder);
    if layout.is_archive() {
        return Err(ArchiveError::Already { path: folder.to_owned() });
    }
    let as_settings = |source| ArchiveError::Settings { path: layout.settings(), source };
    settings.check().map_err(as_settings)?;
    require_empty(folder)?;
    fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
    write_whole(&layout.settings(), settings.text().as_bytes()).map_err(ArchiveError::write(folder))?;
    for place in [layout.silos(), layout.index(), layout.temporary()] {
        fs::create_dir_all(&place).map_err(ArchiveError::write(&place))?;
    }
    ArchiveHistory::open(folder, opening).map(|_| ())
}

/// Refuses a folder that holds anything, or something else than a folder; a missing one is fine.
pub(crate) fn require_empty(folder: &Path) -> Result<(), ArchiveError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(ArchiveError::NotEmpty { path: folder.to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(ArchiveError::NotAFolder { path: folder.to_owned() })
        }
        Err(source) => Err(ArchiveError::Read { path: folder.to_owned(), source }),
    }
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
