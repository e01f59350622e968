//! A file without its name yet: it appears whole or not at all, and leaves nothing behind even when
//! the process is killed.
//!
//! Where the system can, it is a file that is in no folder until it is given its name, so even a kill leaves no trace. On
//! other file systems it has a hidden name beside the place that it is for, and is removed when it is dropped.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that waits for its name.
pub struct NewFile(Storage);

enum Storage {
    #[cfg(target_os = "linux")]
    Nameless {
        file: File,
        folder: PathBuf,
    },
    Hidden(NamedTempFile),
}

/// Naming the file failed.
#[derive(Debug)]
pub struct NotNamed {
    /// The error of the system call.
    pub error: io::Error,
}

impl From<io::Error> for NotNamed {
    fn from(error: io::Error) -> Self {
        Self { error }
    }
}

impl NewFile {
    /// A file for that folder, with the permissions of the umask.
    pub fn new_in(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless(folder) {
            return Ok(Self(Storage::Nameless { file, folder: folder.to_owned() }));
        }
        hidden_builder().tempfile_in(folder).map(Storage::Hidden).map(Self)
    }

    /// The file.
    pub fn as_file(&self) -> &File {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Storage::Nameless { file, .. } => file,
            Storage::Hidden(file) => file.as_file(),
        }
    }

    /// Gives it its name, unless something has that name.
    pub fn persist_noclobber(self, path: &Path) -> Result<(), NotNamed> {
        match self.0 {
            #[cfg(target_os = "linux")]
            Storage::Nameless { file, .. } => Ok(link(&file, path)?),
            Storage::Hidden(file) => {
                file.persist_noclobber(path).map(|_| ()).map_err(|failed| failed.error.into())
            }
        }
    }

    /// Gives it its name, in place of what has that name.
    pub fn persist(self, path: &Path) -> Result<(), NotNamed> {
        match self.0 {
            #[cfg(target_os = "linux")]
            Storage::Nameless { file, folder } => {
                // A link never replaces anything, a rename does: so it has a hidden name for a moment.
                let hidden = hidden_builder().make_in(&folder, |hidden| link(&file, hidden))?;
                hidden.into_temp_path().persist(path).map_err(|failed| failed.error.into())
            }
            Storage::Hidden(file) => file.persist(path).map(|_| ()).map_err(|failed| failed.error.into()),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.as_file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.as_file().flush()
    }
}

fn hidden_builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".varve-");
    builder
}

/// A file that is in no folder; none where the file system cannot, or where it could not be given a name later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    descriptor_path(&file).exists().then_some(file)
}

#[cfg(target_os = "linux")]
fn descriptor_path(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn made(folder: &Path, text: &str) -> NewFile {
        let mut file = NewFile::new_in(folder).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file
    }

    #[test]
    fn it_appears_with_its_name_and_replaces_only_when_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("layer");
        made(folder.path(), "one").persist_noclobber(&path).expect("named");
        let refused = made(folder.path(), "two").persist_noclobber(&path).expect_err("there already");
        assert_eq!(refused.error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "one");
        made(folder.path(), "three").persist(&path).expect("named");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "three");
        drop(made(folder.path(), "never named"));
        assert_eq!(names(folder.path()), ["layer"]);
    }

    /// Nothing is in the folder while it is written, so nothing can stay there when the process is killed.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_killed_process_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = made(folder.path(), "half a");
        if let Storage::Nameless { .. } = file.0 {
            assert_eq!(names(folder.path()), [""; 0]);
            // What a kill does: the descriptor is closed and nobody cleans up.
            std::mem::forget(file);
            assert_eq!(names(folder.path()), [""; 0]);
        }
    }
}
