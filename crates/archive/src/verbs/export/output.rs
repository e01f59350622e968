//! Where an export goes: a new file, which appears complete or not at all, or a stream.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use varve_file::{NewFile, TemporaryFolder};

use crate::error::ArchiveError;

/// Where an export is written.
pub enum ExportTarget<'a> {
    /// A file, which must not exist.
    File(PathBuf),
    /// A stream, such as standard output. What was written before a failure stays.
    Stream(&'a mut dyn Write),
}

impl ExportTarget<'_> {
    /// The path of a file; `-` for a stream.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Stream(_) => PathBuf::from("-"),
        }
    }

    /// The folder for temporary files: that of the file. A stream has none.
    pub(super) fn temporary_folder(&self) -> Option<TemporaryFolder> {
        match self {
            Self::File(path) => Some(TemporaryFolder::from(folder_of(path))),
            Self::Stream(_) => None,
        }
    }

    /// Writes with `write`. The file gets its name if that succeeds.
    pub(super) fn write<T>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let target = self.path();
        match self {
            Self::Stream(stream) => {
                let mut output = BufWriter::new(stream);
                let written = write(&mut output)?;
                output.flush().map_err(ArchiveError::write(&target))?;
                Ok(written)
            }
            Self::File(path) => {
                if path.symlink_metadata().is_ok() {
                    return Err(ArchiveError::TargetExists(path));
                }
                let folder = folder_of(&path);
                let file = NewFile::new_in(folder).map_err(ArchiveError::write(&path))?;
                let mut output = BufWriter::new(file.as_file());
                let written = write(&mut output)?;
                output.flush().map_err(ArchiveError::write(&path))?;
                drop(output);
                finish(file, &path).map_err(ArchiveError::write(&path))?;
                Ok(written)
            }
        }
    }
}

fn finish(file: NewFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|failed| failed.error)?;
    File::open(folder_of(path))?.sync_all()
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
