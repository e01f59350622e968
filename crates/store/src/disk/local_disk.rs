//! The real disk below one folder. Each method makes a few system calls and adds the path to
//! errors.
//!
//! Files are reached through [`RootedFiles`]: no link below the root is followed, and only regular
//! files are opened. So an archive that someone else made cannot lead a write to another file.
//!
//! Requires Unix: positioned reads and writes, syncing a folder, and renaming over an open file.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use varve_file::{EntryKind, ExpectedKind, Folder, FolderError, RootedFiles, TemporaryFolder};

use super::{Disk, DiskError, DiskFile, Operation, Stat};
use crate::steps::{self, step};

/// The file system of this machine below a root folder. A path outside the root is an error.
#[derive(Debug)]
pub struct LocalDisk {
    files: RootedFiles,
}

struct LocalFile {
    file: File,
    path: PathBuf,
}

impl LocalDisk {
    /// The disk below `root`, which may be reached through links and need not exist yet.
    pub fn new(root: &Path) -> Self {
        Self { files: RootedFiles::new(root) }
    }

    /// Runs an operation on the name of `path` below the root.
    fn run<T>(
        &self,
        operation: Operation,
        path: &Path,
        run: impl FnOnce(&Folder, &Path) -> Result<T, FolderError>,
    ) -> Result<T, DiskError> {
        self.files.run(path, run).map_err(failed(operation, path))
    }

    fn open_file(
        &self,
        operation: Operation,
        path: &Path,
        open: impl FnOnce(&Folder, &Path) -> Result<File, FolderError>,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        let file = self.run(operation, path, open)?;
        Ok(Box::new(LocalFile { file, path: path.to_path_buf() }))
    }
}

impl Disk for LocalDisk {
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.open_file(Operation::Open, path, |folder, name| folder.open_to_read(name))
    }

    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.open_file(Operation::Open, path, |folder, name| folder.open_to_write(name))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        step("create", path);
        self.open_file(Operation::Create, path, |folder, name| folder.create_new(name))
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        // A root that does not exist contains nothing.
        match self.run(Operation::Stat, path, |folder, name| folder.entry(name)) {
            Ok(None) => Ok(None),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
            Ok(Some(found)) => match found.kind {
                kind @ (EntryKind::File | EntryKind::Folder) => Ok(Some(Stat {
                    length: found.length,
                    read_only: found.is_read_only(),
                    folder: kind == EntryKind::Folder,
                })),
                kind => {
                    let (path, expected) = (path.to_owned(), ExpectedKind::File);
                    let wrong = FolderError::WrongKind { path: path.clone(), found: kind, expected };
                    Err(DiskError::new(Operation::Stat, &path, wrong.into()))
                }
            },
        }
    }

    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError> {
        let entries = self.run(Operation::List, folder, |root, name| root.list(name))?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    fn make_folders(&self, folder: &Path) -> Result<(), DiskError> {
        step("make folders", folder);
        self.files.make_folders(folder).map_err(failed(Operation::MakeFolders, folder))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        step("rename", to);
        self.files.rename(from, to).map_err(failed(Operation::Rename, from))
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), DiskError> {
        step("exchange", other);
        self.files.exchange(one, other).map_err(failed(Operation::Exchange, one))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        step("remove", path);
        self.run(Operation::Remove, path, |folder, name| folder.remove(name))
    }

    fn remove_tree(&self, folder: &Path) -> Result<(), DiskError> {
        step("remove folders", folder);
        self.run(Operation::RemoveTree, folder, |root, name| root.remove_tree(name))
    }

    fn set_read_only(&self, path: &Path) -> Result<(), DiskError> {
        step("set read-only", path);
        self.run(Operation::SetReadOnly, path, |folder, name| folder.set_read_only(name))
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError> {
        step("sync a folder", folder);
        self.run(Operation::SyncFolder, folder, |root, name| root.sync(name))
    }

    fn temporary_folder(&self, folder: &Path) -> TemporaryFolder {
        // A path outside the root stays outside as a name, and is refused when it is opened.
        let root = self.files.root();
        TemporaryFolder::below(root, folder.strip_prefix(root).unwrap_or(folder))
    }
}

impl DiskFile for LocalFile {
    fn length(&self) -> Result<u64, DiskError> {
        self.file.metadata().map(|found| found.len()).map_err(failed(Operation::Stat, &self.path))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(DiskError::new(Operation::Read, &self.path, error)),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        step("write", &self.path);
        let (first, rest) = bytes.split_at(steps::torn_write_length(bytes.len()));
        if !first.is_empty() {
            self.file.write_all_at(first, offset).map_err(failed(Operation::Write, &self.path))?;
            step("write the rest", &self.path);
        }
        let offset = offset + first.len() as u64;
        self.file.write_all_at(rest, offset).map_err(failed(Operation::Write, &self.path))
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        step("truncate", &self.path);
        self.file.set_len(length).map_err(failed(Operation::Truncate, &self.path))
    }

    fn sync(&self) -> Result<(), DiskError> {
        step("sync", &self.path);
        self.file.sync_data().map_err(failed(Operation::Sync, &self.path))
    }
}

fn failed(operation: Operation, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    move |source| DiskError::new(operation, path, source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_written_cut_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::new(folder.path());
        let path = folder.path().join("a");
        let file = disk.create_new(&path).unwrap();
        file.write_at(b"hello world", 0).unwrap();
        file.truncate(5).unwrap();
        file.sync().unwrap();
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(&mut buffer, 1).unwrap(), 4);
        assert_eq!(&buffer[..4], b"ello");
        let again = disk.open(&path).unwrap();
        assert_eq!((again.read_at(&mut buffer, 0).unwrap(), &buffer[..5]), (5, &b"hello"[..]));
        assert_eq!(file.length().unwrap(), 5);
    }

    #[test]
    fn errors_name_the_operation_and_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::new(folder.path());
        let path = folder.path().join("absent");
        let error = disk.open(&path).err().unwrap();
        assert!(error.is_absent());
        assert_eq!(error.to_string(), format!("cannot open `{}`", path.display()));
        assert_eq!(disk.stat(&path).unwrap(), None);
    }

    #[test]
    fn a_name_that_is_taken_is_not_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::new(folder.path());
        let path = folder.path().join("a");
        disk.create_new(&path).unwrap();
        assert_eq!(disk.create_new(&path).err().unwrap().operation, Operation::Create);
        disk.set_read_only(&path).unwrap();
        assert!(disk.stat(&path).unwrap().unwrap().read_only);
        assert_eq!(disk.list(folder.path()).unwrap(), ["a"]);
    }

    #[test]
    fn folders_are_exchanged_in_one_step_and_removed_with_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::new(folder.path());
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        disk.make_folders(&one).unwrap();
        disk.make_folders(&other).unwrap();
        disk.create_new(&one.join("a")).unwrap();
        disk.exchange(&one, &other).unwrap();
        assert_eq!((disk.list(&one).unwrap().len(), disk.list(&other).unwrap().len()), (0, 1));
        disk.remove_tree(&other).unwrap();
        assert_eq!(disk.stat(&other).unwrap(), None);
        disk.remove_tree(&other).unwrap();
    }

    #[test]
    fn a_path_outside_the_root_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("outside"), "outside").unwrap();
        let disk = LocalDisk::new(&folder.path().join("root"));
        disk.make_folders(&folder.path().join("root/below")).unwrap();
        for path in ["outside", "root/../outside", "root/below/../../outside"] {
            let path = folder.path().join(path);
            assert!(disk.remove(&path).is_err());
            assert!(disk.rename(&folder.path().join("root/below"), &path).is_err());
            let error = disk.open_to_write(&path).err().unwrap();
            assert!(error.source.to_string().contains("is not a name below"), "{error:?}");
        }
        assert_eq!(fs::read(folder.path().join("outside")).unwrap(), b"outside");
    }

    #[test]
    fn a_link_is_an_error_and_its_target_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        fs::write(&outside, "outside").unwrap();
        let disk = LocalDisk::new(&root);
        disk.make_folders(&root).unwrap();
        let link = root.join("link");
        std::os::unix::fs::symlink("../outside", &link).unwrap();
        let message = format!("`{}` is a symbolic link, not a regular file", link.display());
        for error in [
            disk.open(&link).err(),
            disk.open_to_write(&link).err(),
            disk.stat(&link).err(),
            disk.set_read_only(&link).err(),
        ] {
            assert_eq!(error.unwrap().source.to_string(), message);
        }
        assert!(!fs::metadata(&outside).unwrap().permissions().readonly());
        assert_eq!(fs::read(&outside).unwrap(), b"outside");
    }
}
