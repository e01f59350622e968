//! The real disk. Each method makes one or two system calls and adds the path to errors.
//!
//! Requires Unix: positioned reads and writes, syncing a folder, and renaming over a mapped file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Disk, DiskError, DiskFile, MappedFile, Operation, Stat};
use crate::steps::{self, step};

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

struct LocalFile {
    file: File,
    path: PathBuf,
}

impl Disk for LocalDisk {
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        open(path, OpenOptions::new().read(true), Operation::Open)
    }

    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        open(path, OpenOptions::new().read(true).write(true), Operation::Open)
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        step("create", path);
        open(path, OpenOptions::new().read(true).write(true).create_new(true), Operation::Create)
    }

    fn map(&self, path: &Path) -> Result<MappedFile, DiskError> {
        let file = File::open(path).map_err(failed(Operation::Map, path))?;
        // Some file systems cannot map files; then the file is read.
        match MappedFile::map(&file) {
            Ok(mapped) => Ok(mapped),
            Err(_) => Ok(MappedFile::from(fs::read(path).map_err(failed(Operation::Read, path))?)),
        }
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Stat {
                length: found.len(),
                read_only: found.permissions().readonly(),
                folder: found.is_dir(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(DiskError::new(Operation::Stat, path, error)),
        }
    }

    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError> {
        let names = fs::read_dir(folder).and_then(|entries| {
            entries.map(|entry| entry.map(|found| found.file_name())).collect::<io::Result<Vec<_>>>()
        });
        let mut names = names.map_err(failed(Operation::List, folder))?;
        names.sort_unstable();
        Ok(names)
    }

    fn make_folders(&self, folder: &Path) -> Result<(), DiskError> {
        step("make folders", folder);
        fs::create_dir_all(folder).map_err(failed(Operation::MakeFolders, folder))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        step("rename", to);
        fs::rename(from, to).map_err(failed(Operation::Rename, from))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        step("remove", path);
        fs::remove_file(path).map_err(failed(Operation::Remove, path))
    }

    fn set_read_only(&self, path: &Path) -> Result<(), DiskError> {
        step("set read-only", path);
        let change = || {
            let mut permissions = fs::metadata(path)?.permissions();
            permissions.set_readonly(true);
            fs::set_permissions(path, permissions)
        };
        change().map_err(failed(Operation::SetReadOnly, path))
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError> {
        step("sync a folder", folder);
        File::open(folder).and_then(|file| file.sync_all()).map_err(failed(Operation::SyncFolder, folder))
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

fn open(path: &Path, how: &OpenOptions, operation: Operation) -> Result<Box<dyn DiskFile>, DiskError> {
    let file = how.open(path).map_err(failed(operation, path))?;
    Ok(Box::new(LocalFile { file, path: path.to_path_buf() }))
}

fn failed(operation: Operation, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    move |source| DiskError::new(operation, path, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_read_cut_and_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = LocalDisk.create_new(&path).unwrap();
        file.write_at(b"hello world", 0).unwrap();
        file.truncate(5).unwrap();
        file.sync().unwrap();
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(&mut buffer, 1).unwrap(), 4);
        assert_eq!(&buffer[..4], b"ello");
        assert_eq!(&*LocalDisk.map(&path).unwrap(), b"hello");
        assert_eq!(file.length().unwrap(), 5);
    }

    #[test]
    fn errors_name_the_operation_and_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent");
        let error = LocalDisk.open(&path).err().unwrap();
        assert!(error.is_absent());
        assert_eq!(error.to_string(), format!("cannot open `{}`", path.display()));
        assert_eq!(LocalDisk.stat(&path).unwrap(), None);
    }

    #[test]
    fn a_name_that_is_taken_is_not_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        LocalDisk.create_new(&path).unwrap();
        assert_eq!(LocalDisk.create_new(&path).err().unwrap().operation, Operation::Create);
        LocalDisk.set_read_only(&path).unwrap();
        assert!(LocalDisk.stat(&path).unwrap().unwrap().read_only);
        assert_eq!(LocalDisk.list(folder.path()).unwrap(), ["a"]);
    }

    #[test]
    fn an_empty_file_maps_to_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        LocalDisk.create_new(&path).unwrap();
        assert!(LocalDisk.map(&path).unwrap().is_empty());
    }
}
