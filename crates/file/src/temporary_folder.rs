//! A folder for temporary files, which have no name, and for temporary folders.
//!
//! The folder is opened at the first use and stays open: a link that takes its name later leads
//! nowhere. In a layout it is reached from the root of the layout without following a link.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::{Folder, FolderError};

/// A folder for temporary files. Clones share the handle.
#[derive(Clone, Debug)]
pub struct TemporaryFolder {
    root: PathBuf,
    path: PathBuf,
    folder: Arc<OnceLock<Folder>>,
}

impl TemporaryFolder {
    /// The folder `name` below the folder `root` of a layout.
    pub fn below(root: &Path, name: impl AsRef<Path>) -> Self {
        Self { root: root.to_owned(), path: root.join(name), folder: Arc::default() }
    }

    /// The path of the folder, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new file for reading and writing. It is gone when it is closed, also after a crash.
    pub fn unnamed_file(&self) -> io::Result<File> {
        self.open().and_then(Folder::unnamed_file).map_err(io::Error::from)
    }

    /// A new folder with a name of its own, for a program that insists on a path.
    pub fn make_folder(&self, prefix: &str) -> io::Result<TemporarySubfolder> {
        let folder = self.open()?.clone();
        let name = folder.create_folder_with_prefix(prefix)?;
        // Another program that is given the path may have another working folder.
        let path = std::path::absolute(self.path.join(&name))?;
        Ok(TemporarySubfolder { path, folder, name: PathBuf::from(name) })
    }

    fn open(&self) -> Result<&Folder, FolderError> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let outside = || FolderError::OutsideName { folder: self.root.clone(), name: self.path.clone() };
        let name = self.path.strip_prefix(&self.root).map_err(|_| outside())?;
        let folder = Folder::open(&self.root)?.subfolder(name)?;
        Ok(self.folder.get_or_init(|| folder))
    }
}

/// A folder that the user named, or the folder of the system for temporary files. Links on the way to
/// it are followed.
impl From<&Path> for TemporaryFolder {
    fn from(path: &Path) -> Self {
        Self { root: path.to_owned(), path: path.to_owned(), folder: Arc::default() }
    }
}

/// As for [`Path`].
impl From<PathBuf> for TemporaryFolder {
    fn from(path: PathBuf) -> Self {
        Self::from(path.as_path())
    }
}

/// A folder that is removed with everything in it when this is dropped. No link is entered.
#[derive(Debug)]
pub struct TemporarySubfolder {
    folder: Folder,
    name: PathBuf,
    path: PathBuf,
}

impl TemporarySubfolder {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    pub fn remove(&self) -> io::Result<()> {
        self.folder.remove_tree(&self.name).map_err(io::Error::from)
    }
}

impl Drop for TemporarySubfolder {
    fn drop(&mut self) {
        // What stays behind is removed when the folder of temporary files is emptied.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::symlink;

    use super::*;

    fn names_in(folder: &Path) -> Vec<std::ffi::OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn a_file_is_written_and_read_and_has_no_name() {
        let place = tempfile::tempdir().unwrap();
        let mut file = TemporaryFolder::from(place.path()).unnamed_file().unwrap();
        file.write_all(b"hello").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), names_in(place.path()).len()), ("hello", 0));
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("victim")).unwrap();
        symlink("victim", place.path().join("tmp")).unwrap();
        let temporary = TemporaryFolder::below(place.path(), "tmp");
        assert!(temporary.unnamed_file().is_err() && temporary.make_folder("a-").is_err());
        assert!(names_in(&place.path().join("victim")).is_empty());
    }

    /// Whenever the link is swapped in: the handle refers to the folder that was opened.
    #[test]
    fn a_link_that_is_swapped_in_later_leads_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let [tmp, victim, moved] = ["tmp", "victim", "moved"].map(|name| place.path().join(name));
        fs::create_dir(&victim).unwrap();
        fs::create_dir(&tmp).unwrap();
        let temporary = TemporaryFolder::below(place.path(), "tmp");
        let folder = temporary.make_folder("a-").unwrap();
        let name = folder.path().file_name().unwrap().to_owned();
        fs::rename(&tmp, &moved).unwrap();
        symlink("victim", &tmp).unwrap();
        fs::create_dir(victim.join(&name)).unwrap();
        fs::write(victim.join(&name).join("precious"), "precious").unwrap();
        temporary.unnamed_file().unwrap().write_all(b"x").unwrap();
        let second = temporary.make_folder("b-").unwrap();
        assert!(moved.join(second.path().file_name().unwrap()).is_dir());
        drop((folder, second));
        assert!(names_in(&moved).is_empty());
        assert_eq!(names_in(&victim), std::slice::from_ref(&name));
        assert_eq!(fs::read(victim.join(name).join("precious")).unwrap(), b"precious");
    }
}
