//! A disk that breaks at a chosen call.
//!
//! Only calls that change something count and break, because only they can leave something half done. To show that
//! nothing is lost wherever it breaks, [`at_every_call`] runs a scenario again and again, each time breaking one call
//! later, until it comes to its end unharmed.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use varve_store::disk::{Disk, DiskError, DiskFile, Mapped, Operation, Stat};

/// How a disk breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The call fails and does nothing; the next ones work again.
    Fail,
    /// If the call writes bytes it writes half of them and fails; the next ones work again.
    ShortWrite,
    /// As [`Failure::ShortWrite`], and from then on nothing can be written or created; the rest still works.
    OutOfSpace,
    /// The process ends before the call: it and everything after it fails, reading too.
    Crash,
    /// The process ends during the call: bytes are half written, and everything after it fails.
    CrashInside,
}

impl Failure {
    /// All of them, for tests that try each.
    pub const ALL: [Self; 5] =
        [Self::Fail, Self::ShortWrite, Self::OutOfSpace, Self::Crash, Self::CrashInside];
}

/// When and how a disk breaks. Calls are counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many changing calls succeed before.
    pub after: u64,
    /// What happens then.
    pub failure: Failure,
}

impl Plan {
    /// Nothing ever breaks.
    pub const SOUND: Self = Self { after: u64::MAX, failure: Failure::Fail };
}

/// Runs a scenario with a plan that breaks its first changing call, then its second, and so on, until the plan is no
/// longer reached. The scenario returns the disk it made for the plan. The result is how many calls were broken.
pub fn at_every_call(failure: Failure, mut scenario: impl FnMut(Plan) -> Arc<BrokenDisk>) -> u64 {
    let mut after = 0;
    while scenario(Plan { after, failure }).is_broken() {
        after += 1;
    }
    after
}

/// A disk that breaks as planned.
pub struct BrokenDisk {
    disk: Arc<dyn Disk>,
    breaker: Arc<Breaker>,
}

struct Breaker {
    plan: Plan,
    calls: AtomicU64,
}

/// What is to become of a call.
enum Fate {
    Succeed,
    Fail(ErrorKind),
    WriteHalf(ErrorKind),
}

impl BrokenDisk {
    /// Wraps a disk.
    pub fn new(disk: Arc<dyn Disk>, plan: Plan) -> Arc<Self> {
        Arc::new(Self { disk, breaker: Arc::new(Breaker { plan, calls: AtomicU64::new(0) }) })
    }

    /// How many changing calls were made.
    pub fn calls(&self) -> u64 {
        self.breaker.calls.load(Ordering::SeqCst)
    }

    /// Whether the call that the plan names was reached.
    pub fn is_broken(&self) -> bool {
        self.calls() > self.breaker.plan.after
    }

    fn wrap(&self, file: Box<dyn DiskFile>, path: &Path) -> Box<dyn DiskFile> {
        Box::new(BrokenFile { file, path: path.to_path_buf(), breaker: Arc::clone(&self.breaker) })
    }
}

impl Breaker {
    /// Counts a changing call and decides what becomes of it.
    fn fate(&self, operation: Operation) -> Fate {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let needs_space = matches!(operation, Operation::Write | Operation::Create | Operation::MakeFolders);
        match (number.cmp(&self.plan.after), self.plan.failure) {
            (std::cmp::Ordering::Less, _) => Fate::Succeed,
            (std::cmp::Ordering::Equal, Failure::Fail | Failure::Crash) => Fate::Fail(ErrorKind::Other),
            (std::cmp::Ordering::Equal, Failure::OutOfSpace) => Fate::WriteHalf(ErrorKind::StorageFull),
            (std::cmp::Ordering::Equal, _) => Fate::WriteHalf(ErrorKind::Other),
            (_, Failure::Fail | Failure::ShortWrite) => Fate::Succeed,
            (_, Failure::OutOfSpace) if needs_space => Fate::Fail(ErrorKind::StorageFull),
            (_, Failure::OutOfSpace) => Fate::Succeed,
            (_, Failure::Crash | Failure::CrashInside) => Fate::Fail(ErrorKind::Other),
        }
    }

    fn change(&self, operation: Operation, path: &Path) -> Result<(), DiskError> {
        match self.fate(operation) {
            Fate::Succeed => Ok(()),
            Fate::Fail(kind) | Fate::WriteHalf(kind) => Err(broken(operation, path, kind)),
        }
    }

    /// Reading works until the process ends.
    fn read(&self, operation: Operation, path: &Path) -> Result<(), DiskError> {
        let ended = matches!(self.plan.failure, Failure::Crash | Failure::CrashInside)
            && self.calls.load(Ordering::SeqCst) > self.plan.after;
        if ended { Err(broken(operation, path, ErrorKind::Other)) } else { Ok(()) }
    }
}

fn broken(operation: Operation, path: &Path, kind: ErrorKind) -> DiskError {
    DiskError::new(operation, path, io::Error::new(kind, "broken on purpose"))
}

impl Disk for BrokenDisk {
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

    fn map(&self, path: &Path) -> Result<Mapped, DiskError> {
        self.breaker.read(Operation::Map, path)?;
        self.disk.map(path)
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

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::Remove, path)?;
        self.disk.remove(path)
    }

    fn set_read_only(&self, path: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::SetReadOnly, path)?;
        self.disk.set_read_only(path)
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError> {
        self.breaker.change(Operation::SyncFolder, folder)?;
        self.disk.sync_folder(folder)
    }
}

struct BrokenFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    breaker: Arc<Breaker>,
}

impl DiskFile for BrokenFile {
    fn length(&self) -> Result<u64, DiskError> {
        self.breaker.read(Operation::Stat, &self.path)?;
        self.file.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        self.breaker.read(Operation::Read, &self.path)?;
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        match self.breaker.fate(Operation::Write) {
            Fate::Succeed => self.file.write_at(offset, bytes),
            Fate::Fail(kind) => Err(broken(Operation::Write, &self.path, kind)),
            Fate::WriteHalf(kind) => {
                self.file.write_at(offset, &bytes[..bytes.len() / 2])?;
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
