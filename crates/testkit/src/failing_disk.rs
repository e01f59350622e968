//! A disk that fails at a chosen call.
//!
//! Only calls that change something count and fail, because only they can leave something half
//! done. [`at_every_call`] runs a scenario repeatedly, failing one call later each time, until it
//! completes without a failure.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use varve_file::TemporaryFolder;
use varve_store::disk::{Disk, DiskError, DiskFile, Operation, Stat};

/// How a disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFailure {
    /// The call fails without effect; later calls succeed.
    Fail,
    /// A write writes half of its bytes and fails; later calls succeed.
    ShortWrite,
    /// As [`DiskFailure::ShortWrite`], and later writes and creations fail; other calls succeed.
    OutOfSpace,
    /// The process ends before the call: it and every later call fails, reads included.
    Crash,
    /// The process ends during the call: a write is half done, and every later call fails.
    CrashInside,
}

impl DiskFailure {
    /// All of them, for tests that try each.
    pub const ALL: [Self; 5] =
        [Self::Fail, Self::ShortWrite, Self::OutOfSpace, Self::Crash, Self::CrashInside];
}

/// When and how a disk fails. Calls are counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailurePlan {
    /// The number of changing calls that succeed before.
    pub after: u64,
    /// The failure.
    pub failure: DiskFailure,
}

impl FailurePlan {
    /// Never fails.
    pub const NEVER: Self = Self { after: u64::MAX, failure: DiskFailure::Fail };
}

/// Runs a scenario with a plan that fails its first changing call, then its second, and so on,
/// until the scenario ends before the planned call. The scenario returns the disk that it made for
/// the plan. Returns the number of failed calls.
pub fn at_every_call(failure: DiskFailure, mut scenario: impl FnMut(FailurePlan) -> Arc<FailingDisk>) -> u64 {
    let mut after = 0;
    while scenario(FailurePlan { after, failure }).is_broken() {
        after += 1;
    }
    after
}

/// A disk that fails as planned.
pub struct FailingDisk {
    disk: Arc<dyn Disk>,
    breaker: Arc<FailureTrigger>,
}

struct FailureTrigger {
    plan: FailurePlan,
    calls: AtomicU64,
}

/// The planned outcome of a call.
enum CallOutcome {
    Succeed,
    Fail(ErrorKind),
    WriteHalf(ErrorKind),
}

impl FailingDisk {
    /// Wraps a disk.
    pub fn new(disk: Arc<dyn Disk>, plan: FailurePlan) -> Arc<Self> {
        Arc::new(Self { disk, breaker: Arc::new(FailureTrigger { plan, calls: AtomicU64::new(0) }) })
    }

    /// The number of changing calls so far.
    pub fn calls(&self) -> u64 {
        self.breaker.calls.load(Ordering::SeqCst)
    }

    /// Whether the planned call was reached.
    pub fn is_broken(&self) -> bool {
        self.calls() > self.breaker.plan.after
    }

    fn wrap(&self, file: Box<dyn DiskFile>, path: &Path) -> Box<dyn DiskFile> {
        Box::new(FailingFile { file, path: path.to_path_buf(), breaker: Arc::clone(&self.breaker) })
    }
}

impl FailureTrigger {
    /// Counts a changing call and decides its outcome.
    fn fate(&self, operation: Operation) -> CallOutcome {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let needs_space = matches!(operation, Operation::Write | Operation::Create | Operation::MakeFolders);
        match (number.cmp(&self.plan.after), self.plan.failure) {
            (std::cmp::Ordering::Less, _) => CallOutcome::Succeed,
            (std::cmp::Ordering::Equal, DiskFailure::Fail | DiskFailure::Crash) => {
                CallOutcome::Fail(ErrorKind::Other)
            }
            (std::cmp::Ordering::Equal, DiskFailure::OutOfSpace) => {
                CallOutcome::WriteHalf(ErrorKind::StorageFull)
            }
            (std::cmp::Ordering::Equal, _) => CallOutcome::WriteHalf(ErrorKind::Other),
            (_, DiskFailure::Fail | DiskFailure::ShortWrite) => CallOutcome::Succeed,
            (_, DiskFailure::OutOfSpace) if needs_space => CallOutcome::Fail(ErrorKind::StorageFull),
            (_, DiskFailure::OutOfSpace) => CallOutcome::Succeed,
            (_, DiskFailure::Crash | DiskFailure::CrashInside) => CallOutcome::Fail(ErrorKind::Other),
        }
    }

    fn change(&self, operation: Operation, path: &Path) -> Result<(), DiskError> {
        match self.fate(operation) {
            CallOutcome::Succeed => Ok(()),
            CallOutcome::Fail(kind) | CallOutcome::WriteHalf(kind) => Err(broken(operation, path, kind)),
        }
    }

    /// Reads succeed until the process ends.
    fn read(&self, operation: Operation, path: &Path) -> Result<(), DiskError> {
        let ended = matches!(self.plan.failure, DiskFailure::Crash | DiskFailure::CrashInside)
            && self.calls.load(Ordering::SeqCst) > self.plan.after;
        if ended { Err(broken(operation, path, ErrorKind::Other)) } else { Ok(()) }
    }
}

fn broken(operation: Operation, path: &Path, kind: ErrorKind) -> DiskError {
    DiskError::new(operation, path, io::Error::new(kind, "broken on purpose"))
}

impl Disk for FailingDisk {
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.breaker.read(Operation::Open, path)?;
        Ok(self.wrap(self.disk.open(path)?, path))
    }

    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.breaker.read(Operation::Open, path)?;
        Ok(self.wrap(self.disk.open_to_write(path)?, path))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.breaker.change(Operation::Create, path)?;
        Ok(self.wrap(self.disk.create_new(path)?, path))
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        self.breaker.read(Operation::Stat, path)?;
        self.disk.stat(path)
    }

    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError> {
        self.breaker.read(Operation::List, folder)?;
        self.disk.list(folder)
    }

    fn make_folders(&self, folder: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::MakeFolders, folder)?;
        self.disk.make_folders(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::Rename, from)?;
        self.disk.rename(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::Exchange, one)?;
        self.disk.exchange(one, other)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::Remove, path)?;
        self.disk.remove(path)
    }

    fn remove_tree(&self, folder: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::RemoveTree, folder)?;
        self.disk.remove_tree(folder)
    }

    fn set_read_only(&self, path: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::SetReadOnly, path)?;
        self.disk.set_read_only(path)
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::SyncFolder, folder)?;
        self.disk.sync_folder(folder)
    }

    fn temporary_folder(&self, folder: &Path) -> TemporaryFolder {
        self.disk.temporary_folder(folder)
    }
}

struct FailingFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    breaker: Arc<FailureTrigger>,
}

impl DiskFile for FailingFile {
    fn length(&self) -> Result<u64, DiskError> {
        self.breaker.read(Operation::Stat, &self.path)?;
        self.file.length()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError> {
        self.breaker.read(Operation::Read, &self.path)?;
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        match self.breaker.fate(Operation::Write) {
            CallOutcome::Succeed => self.file.write_at(bytes, offset),
            CallOutcome::Fail(kind) => Err(broken(Operation::Write, &self.path, kind)),
            CallOutcome::WriteHalf(kind) => {
                self.file.write_at(&bytes[..bytes.len() / 2], offset)?;
                Err(broken(Operation::Write, &self.path, kind))
            }
        }
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.breaker.change(Operation::Truncate, &self.path)?;
        self.file.truncate(length)
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.breaker.change(Operation::Sync, &self.path)?;
        self.file.sync()
    }
}
