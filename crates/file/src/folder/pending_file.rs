//! A file of a folder that does not have its name yet: it appears complete or not at all.
//!
//! Where the system can, the file is in no folder until it is published, so even a kill leaves no
//! trace. Elsewhere it has a hidden name beside its later one, and is removed when it is dropped.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::{AtFlags, linkat, renameat, unlinkat};
use rustix::io::Errno;

use super::{EntryKind, ExpectedKind, Folder, FolderError, folder_error};

/// The beginning of hidden names.
const HIDDEN_PREFIX: &str = ".varve-";
/// Random names tried before a collision is an error.
const MAX_NAME_ATTEMPTS: usize = 64;

/// A file that is written now and published later.
pub struct PendingFile {
    folder: Folder,
    name: OsString,
    file: File,
    /// Its hidden name, if it has one.
    hidden: Option<OsString>,
}

impl PendingFile {
    /// A file that will be `name` in `folder`.
    pub(super) fn new(folder: Folder, name: &OsStr) -> Result<Self, FolderError> {
        let name = name.to_owned();
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless(&folder) {
            return Ok(Self { folder, name, file, hidden: None });
        }
        let (hidden, file) = with_random_name(&folder, HIDDEN_PREFIX, |hidden| folder.create_new(hidden))?;
        Ok(Self { folder, name, file, hidden: Some(hidden) })
    }

    /// The file.
    pub fn as_file(&self) -> &File {
        &self.file
    }

    /// Gives it its name. Fails with `AlreadyExists` when the name is taken.
    pub fn publish_new(self) -> Result<(), FolderError> {
        match &self.hidden {
            None => self.link(&self.name),
            Some(hidden) => {
                let folder = self.folder.handle();
                linkat(folder, hidden, folder, &self.name, AtFlags::empty())
                    .map_err(|error| self.failed(error))
            }
        }
    }

    /// Gives it its name, in place of the regular file that has it. A link or another kind under
    /// that name is an error and stays.
    pub fn publish(mut self) -> Result<(), FolderError> {
        self.check_replaced()?;
        if self.hidden.is_none() {
            // A link never replaces anything, a rename does: so it has a hidden name for a moment.
            let (hidden, ()) = with_random_name(&self.folder, HIDDEN_PREFIX, |hidden| self.link(hidden))?;
            self.hidden = Some(hidden);
        }
        if let Some(hidden) = &self.hidden {
            let folder = self.folder.handle();
            renameat(folder, hidden, folder, &self.name).map_err(|error| self.failed(error))?;
        }
        self.hidden = None;
        Ok(())
    }

    fn check_replaced(&self) -> Result<(), FolderError> {
        match self.folder.entry(&self.name)? {
            Some(found) if found.kind != EntryKind::File => Err(FolderError::WrongKind {
                path: self.path(),
                found: found.kind,
                expected: ExpectedKind::File,
            }),
            _ => Ok(()),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    fn failed(&self, error: Errno) -> FolderError {
        folder_error("create", &self.path(), error)
    }

    #[cfg(target_os = "linux")]
    fn link(&self, name: &OsStr) -> Result<(), FolderError> {
        use rustix::fs::CWD;
        let from = descriptor_path(&self.file);
        linkat(CWD, from, self.folder.handle(), name, AtFlags::SYMLINK_FOLLOW)
            .map_err(|error| self.failed(error))
    }

    #[cfg(not(target_os = "linux"))]
    fn link(&self, _name: &OsStr) -> Result<(), FolderError> {
        Err(self.failed(Errno::NOTSUP))
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            // A file that stays behind is removed when the folder of unfinished files is emptied.
            let _ = unlinkat(self.folder.handle(), hidden, AtFlags::empty());
        }
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is in no folder.
pub(super) fn create_unnamed(folder: &Folder) -> Result<File, FolderError> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = open_unnamed(folder) {
        return Ok(file);
    }
    let (name, file) = with_random_name(folder, HIDDEN_PREFIX, |hidden| folder.create_new(hidden))?;
    folder.remove(&name)?;
    Ok(file)
}

/// Calls `create` with random names until one is not taken.
pub(super) fn with_random_name<T>(
    folder: &Folder,
    prefix: &str,
    mut create: impl FnMut(&OsStr) -> Result<T, FolderError>,
) -> Result<(OsString, T), FolderError> {
    for _ in 0..MAX_NAME_ATTEMPTS {
        let name = OsString::from(format!("{prefix}{:016x}", RandomState::new().build_hasher().finish()));
        match create(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|value| (name, value)),
        }
    }
    Err(folder_error("create a file in", folder.path(), Errno::EXIST))
}

/// A file that is in no folder; none where the file system cannot, or where it could not be given a
/// name later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Folder) -> Option<File> {
    let file = open_unnamed(folder).ok()?;
    descriptor_path(&file).exists().then_some(file)
}

#[cfg(target_os = "linux")]
fn open_unnamed(folder: &Folder) -> rustix::io::Result<File> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    openat(folder.handle(), ".", flags, Mode::from_raw_mode(0o666)).map(File::from)
}

#[cfg(target_os = "linux")]
fn descriptor_path(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
