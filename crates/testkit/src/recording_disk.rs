//! A disk that records its calls, for tests that assert how many of each an action makes.
//!
//! Knows nothing of the content. The counts of an action are part of its contract: a test that
//! asserts them fails when a change adds a read, a write or a sync.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_file::TemporaryFolder;
use varve_store::disk::{Disk, DiskError, DiskFile, Operation, Stat};

/// One recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskCall {
    /// The operation.
    pub operation: Operation,
    /// The file or folder.
    pub path: PathBuf,
}

/// A disk that passes every call to another disk and records it.
pub struct RecordingDisk {
    disk: Arc<dyn Disk>,
    calls: CallLog,
}

/// The calls so far, shared with the open files.
#[derive(Clone, Default)]
struct CallLog(Arc<Mutex<Vec<DiskCall>>>);

impl CallLog {
    fn lock(&self) -> MutexGuard<'_, Vec<DiskCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, operation: Operation, path: &Path) {
        self.lock().push(DiskCall { operation, path: path.to_path_buf() });
    }
}

impl RecordingDisk {
    /// Records the calls to `disk`.
    pub fn new(disk: Arc<dyn Disk>) -> Arc<Self> {
        Arc::new(Self { disk, calls: CallLog::default() })
    }

    /// Returns the calls since the last time, in order, and forgets them.
    pub fn take_calls(&self) -> Vec<DiskCall> {
        std::mem::take(&mut *self.calls.lock())
    }

    /// As [`Self::take_calls`], as text: the number of calls of each operation in a fixed order,
    /// such as `list 1, open 2, read 3`.
    pub fn take_counts(&self) -> String {
        call_counts(&self.take_calls())
    }

    fn wrap(&self, file: Box<dyn DiskFile>, path: &Path) -> Box<dyn DiskFile> {
        Box::new(RecordedFile { file, path: path.to_path_buf(), calls: self.calls.clone() })
    }
}

fn call_counts(calls: &[DiskCall]) -> String {
    let count = |operation: &Operation| calls.iter().filter(|call| call.operation == *operation).count();
    let counted = COUNT_ORDER.iter().map(|operation| (operation, count(operation)));
    let named = counted.filter(|(_, count)| *count > 0);
    named.map(|(operation, count)| format!("{operation} {count}")).collect::<Vec<_>>().join(", ")
}

/// The order of operations in [`call_counts`].
const COUNT_ORDER: [Operation; 13] = [
    Operation::MakeFolders,
    Operation::List,
    Operation::Stat,
    Operation::Open,
    Operation::Read,
    Operation::Create,
    Operation::Write,
    Operation::Truncate,
    Operation::Sync,
    Operation::SetReadOnly,
    Operation::Rename,
    Operation::Remove,
    Operation::SyncFolder,
];

impl Disk for RecordingDisk {
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.calls.add(Operation::Open, path);
        Ok(self.wrap(self.disk.open(path)?, path))
    }

    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.calls.add(Operation::Open, path);
        Ok(self.wrap(self.disk.open_to_write(path)?, path))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.calls.add(Operation::Create, path);
        Ok(self.wrap(self.disk.create_new(path)?, path))
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        self.calls.add(Operation::Stat, path);
        self.disk.stat(path)
    }

    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError> {
        self.calls.add(Operation::List, folder);
        self.disk.list(folder)
    }

    fn make_folders(&self, folder: &Path) -> Result<(), DiskError> {
        self.calls.add(Operation::MakeFolders, folder);
        self.disk.make_folders(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.calls.add(Operation::Rename, from);
        self.disk.rename(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), DiskError> {
        self.calls.add(Operation::Exchange, one);
        self.disk.exchange(one, other)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.calls.add(Operation::Remove, path);
        self.disk.remove(path)
    }

    fn remove_tree(&self, folder: &Path) -> Result<(), DiskError> {
        self.calls.add(Operation::RemoveTree, folder);
        self.disk.remove_tree(folder)
    }

    fn set_read_only(&self, path: &Path) -> Result<(), DiskError> {
        self.calls.add(Operation::SetReadOnly, path);
        self.disk.set_read_only(path)
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError> {
        self.calls.add(Operation::SyncFolder, folder);
        self.disk.sync_folder(folder)
    }

    fn temporary_folder(&self, folder: &Path) -> TemporaryFolder {
        self.disk.temporary_folder(folder)
    }
}

struct RecordedFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    calls: CallLog,
}

impl DiskFile for RecordedFile {
    fn length(&self) -> Result<u64, DiskError> {
        self.calls.add(Operation::Stat, &self.path);
        self.file.length()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError> {
        self.calls.add(Operation::Read, &self.path);
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        self.calls.add(Operation::Write, &self.path);
        self.file.write_at(bytes, offset)
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.calls.add(Operation::Truncate, &self.path);
        self.file.truncate(length)
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.calls.add(Operation::Sync, &self.path);
        self.file.sync()
    }
}
