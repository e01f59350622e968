//! The entries of a folder one at a time, so that memory does not grow with the folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Dir, DirEntry};

use super::{EntryKind, Folder, FolderEntry, FolderError, folder_error};

/// The entries of a folder in no order. Entries that come or go meanwhile may be listed or not.
pub struct FolderListing {
    folder: Folder,
    entries: Dir,
}

impl FolderListing {
    pub(super) fn new(folder: Folder) -> Result<Self, FolderError> {
        let entries =
            Dir::read_from(folder.handle()).map_err(|error| folder_error("list", folder.path(), error))?;
        Ok(Self { folder, entries })
    }

    /// The entry; none for those that are not in the folder.
    fn examine(&self, entry: &DirEntry) -> Result<Option<FolderEntry>, FolderError> {
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        if name == "." || name == ".." {
            return Ok(None);
        }
        let kind = match EntryKind::from_type(entry.file_type()) {
            // Some file systems do not list kinds.
            EntryKind::Unknown => self.folder.entry(&name)?.map(|found| found.kind),
            kind => Some(kind),
        };
        Ok(kind.map(|kind| FolderEntry { name, kind }))
    }
}

impl Iterator for FolderListing {
    type Item = Result<FolderEntry, FolderError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let examined = match self.entries.next()? {
                Ok(entry) => self.examine(&entry),
                Err(error) => Err(folder_error("list", self.folder.path(), error)),
            };
            if let Some(entry) = examined.transpose() {
                return Some(entry);
            }
        }
    }
}
