//! The files of one layout by their full paths, reached without following a link below its root.
//!
//! Callers name files by paths, for messages, and every path must be below the root. The root is
//! opened at the first use, because a layout may be named before it exists. Errors are those of
//! [`Folder`], as [`io::Error`]: callers add operation and path themselves.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::{EntryInfo, EntryKind, Folder, FolderEntry, FolderError, PendingFile};

/// The files below one root. Clones share the handle of the root.
#[derive(Clone, Debug)]
pub struct RootedFiles {
    root: PathBuf,
    folder: Arc<OnceLock<Folder>>,
}

impl RootedFiles {
    /// The files below `root`, which may be reached through links and need not exist yet.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), folder: Arc::default() }
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files below a folder of this root, which is opened now.
    pub fn below(&self, path: &Path) -> io::Result<Self> {
        let folder = self.run(path, |folder, name| folder.subfolder(name))?;
        Ok(Self { root: path.to_owned(), folder: Arc::new(OnceLock::from(folder)) })
    }

    /// Reads a file of at most `limit` bytes; `None` when it does not exist.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        match self.run(path, |folder, name| folder.read(name, limit)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Reads a text of at most `limit` bytes; `None` when there is no file. Bytes that are not UTF-8
    /// are `InvalidData`.
    pub fn read_text(&self, path: &Path, limit: u64) -> io::Result<Option<String>> {
        let not_text = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        self.read(path, limit)?.map(String::from_utf8).transpose().map_err(not_text)
    }

    /// Opens a regular file for reading.
    pub fn open_to_read(&self, path: &Path) -> io::Result<File> {
        self.run(path, |folder, name| folder.open_to_read(name))
    }

    /// Opens an existing regular file for reading and writing.
    pub fn open_to_write(&self, path: &Path) -> io::Result<File> {
        self.run(path, |folder, name| folder.open_to_write(name))
    }

    /// Creates a file. Fails with `AlreadyExists` when the name is taken, also by a link.
    pub fn create_new(&self, path: &Path) -> io::Result<File> {
        self.run(path, |folder, name| folder.create_new(name))
    }

    /// A new file that gets the name when it is published, complete.
    pub fn pending_file(&self, path: &Path) -> io::Result<PendingFile> {
        self.run(path, |folder, name| folder.pending_file(name))
    }

    /// Replaces a regular file, or creates it, durably.
    pub fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.run(path, |folder, name| folder.replace(name, content))
    }

    /// Replaces a regular file, or creates it, durably, by what `write` writes.
    pub fn replace_with(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.run(path, |folder, name| folder.replace_with(name, write))
    }

    /// The metadata of an entry, which is not followed if it is a link; `None` when it, or the root,
    /// does not exist.
    pub fn entry(&self, path: &Path) -> io::Result<Option<EntryInfo>> {
        match self.run(path, |folder, name| folder.entry(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found,
        }
    }

    /// Whether an entry exists and is a folder.
    pub fn is_folder(&self, path: &Path) -> io::Result<bool> {
        Ok(self.entry(path)?.is_some_and(|found| found.kind == EntryKind::Folder))
    }

    /// The entries of a folder, by name; none when it does not exist.
    pub fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        match self.run(path, |folder, name| folder.list(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// Creates a folder and those above it. Succeeds when it exists.
    pub fn make_folders(&self, path: &Path) -> io::Result<()> {
        if self.folder().is_err_and(|error| error.is_absent()) {
            // The user named the root, so links on the way to it are followed.
            fs::create_dir_all(&self.root)?;
        }
        self.run(path, |folder, name| folder.make_folders(name).map(drop))
    }

    /// Creates a folder in an existing one. Fails with `AlreadyExists` when the name is taken, also by
    /// a link.
    pub fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.run(path, |folder, name| folder.create_folder(name))
    }

    /// Opens a folder as a file, which can be locked.
    pub fn open_folder(&self, path: &Path) -> io::Result<File> {
        self.run(path, |folder, name| folder.subfolder(name))?.to_file()
    }

    /// Renames an entry of any kind, replacing an existing one. Links are renamed, not followed.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(from, |folder, name| folder.rename(name, self.name(to)?))
    }

    /// Exchanges two entries of any kind in one step.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.run(one, |folder, name| folder.exchange(name, self.name(other)?))
    }

    /// Gives a regular file a second name.
    pub fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(from, |folder, name| folder.hard_link(name, self.name(to)?))
    }

    /// Removes an entry that is not a folder. A link is removed, not followed. Succeeds when the
    /// entry does not exist.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        match self.run(path, |folder, name| folder.remove(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.run(path, |folder, name| folder.remove_folder(name))
    }

    /// Removes an entry, and everything in it if it is a folder. No link is entered. Succeeds when
    /// the entry does not exist.
    pub fn remove_tree(&self, path: &Path) -> io::Result<()> {
        self.run(path, |folder, name| folder.remove_tree(name))
    }

    /// Waits until the names in a folder survive a power cut.
    pub fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.run(path, |folder, name| folder.sync(name))
    }

    /// Runs an operation of the root on the name of `path` below it.
    pub fn run<T>(
        &self,
        path: &Path,
        operation: impl FnOnce(&Folder, &Path) -> Result<T, FolderError>,
    ) -> io::Result<T> {
        let done = self.folder().and_then(|folder| operation(folder, self.name(path)?));
        done.map_err(io::Error::from)
    }

    fn folder(&self) -> Result<&Folder, FolderError> {
        match self.folder.get() {
            Some(folder) => Ok(folder),
            None => {
                let folder = Folder::open(&self.root)?;
                Ok(self.folder.get_or_init(|| folder))
            }
        }
    }

    fn name<'p>(&self, path: &'p Path) -> Result<&'p Path, FolderError> {
        path.strip_prefix(&self.root)
            .map_err(|_| FolderError::OutsideName { folder: self.root.clone(), name: path.to_owned() })
    }
}
