//! A disk in memory that simulates power cuts.
//!
//! A killed process loses nothing that it wrote; a power cut loses any subset of the unsynced
//! changes. Bytes survive after [`DiskFile::sync`], names after [`Disk::sync_folder`].
//! [`MemoryDisk::after`] returns the disk after a power cut. Folders survive at once, unlike on a
//! real disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_file::TemporaryFolder;
use varve_store::disk::{Disk, DiskError, DiskFile, Operation, Stat};

/// The unsynced bytes that survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsyncedBytes {
    /// None: files are as at their last sync.
    Lost,
    /// All of them.
    Kept,
    /// Each sector of 512 bytes has its current or its last synced content, at random; files have
    /// their new length.
    Holes,
}

/// The changes that survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// The unsynced bytes that survive.
    pub bytes: UnsyncedBytes,
    /// The unsynced creations, renames and removals that survive: bit n, modulo 64, is the n-th
    /// change. Zero loses all, `u64::MAX` keeps all.
    pub names: u64,
}

/// A disk in memory.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<MemoryDiskState>>);

#[derive(Clone, Default)]
struct MemoryDiskState {
    files: Vec<MemoryFileContent>,
    names: BTreeMap<PathBuf, usize>,
    safe_names: BTreeMap<PathBuf, usize>,
    /// Name changes since the last sync of their folder, in order.
    pending: Vec<NameChange>,
    folders: BTreeSet<PathBuf>,
}

#[derive(Clone, Default)]
struct MemoryFileContent {
    bytes: Vec<u8>,
    safe: Vec<u8>,
    read_only: bool,
}

#[derive(Clone)]
struct NameChange {
    from: Option<PathBuf>,
    to: Option<(PathBuf, usize)>,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// The disk after a power cut now.
    pub fn after(&self, cut: PowerCut) -> Self {
        let state = self.state();
        let mut names = state.safe_names.clone();
        for (number, change) in state.pending.iter().enumerate() {
            if cut.names >> (number % 64) & 1 == 1 {
                change.apply(&mut names);
            }
        }
        let files = state.files.iter().map(|file| file.after(cut.bytes, cut.names)).collect();
        let folders = state.folders.clone();
        Self(Arc::new(Mutex::new(MemoryDiskState {
            files,
            safe_names: names.clone(),
            names,
            pending: Vec::new(),
            folders,
        })))
    }

    fn state(&self) -> MutexGuard<'_, MemoryDiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, path: &Path, number: usize) -> Box<dyn DiskFile> {
        Box::new(MemoryFile { disk: self.clone(), number, path: path.to_path_buf() })
    }

    fn number(&self, operation: Operation, path: &Path) -> Result<usize, DiskError> {
        let found = self.state().names.get(path).copied();
        found.ok_or_else(|| refused(operation, path, ErrorKind::NotFound))
    }

    fn names_that(&self, fits: impl Fn(&Path) -> bool) -> Vec<(PathBuf, usize)> {
        let state = self.state();
        let found = state.names.iter().filter(|(path, _)| fits(path));
        found.map(|(path, number)| (path.clone(), *number)).collect()
    }

    fn change(&self, change: NameChange) {
        let mut state = self.state();
        change.apply(&mut state.names);
        state.pending.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        if let Some(from) = &self.from {
            names.remove(from);
        }
        if let Some((to, number)) = &self.to {
            names.insert(to.clone(), *number);
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        let path = self.from.as_ref().or(self.to.as_ref().map(|(path, _)| path));
        path.is_some_and(|path| path.parent() == Some(folder))
    }
}

impl MemoryFileContent {
    fn after(&self, kept: UnsyncedBytes, chance: u64) -> Self {
        let bytes = match kept {
            UnsyncedBytes::Lost => self.safe.clone(),
            UnsyncedBytes::Kept => self.bytes.clone(),
            UnsyncedBytes::Holes => self.with_holes(chance),
        };
        Self { safe: bytes.clone(), bytes, read_only: self.read_only }
    }

    fn with_holes(&self, chance: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for (number, sector) in bytes.chunks_mut(512).enumerate() {
            let mixed = (chance ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if mixed >> 63 == 1 {
                let safe = self.safe.get(number * 512..).unwrap_or_default();
                let kept = safe.len().min(sector.len());
                sector[..kept].copy_from_slice(&safe[..kept]);
                sector[kept..].fill(0);
            }
        }
        bytes
    }
}

fn refused(operation: Operation, path: &Path, kind: ErrorKind) -> DiskError {
    DiskError::new(operation, path, io::Error::from(kind))
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        Ok(self.handle(path, self.number(Operation::Open, path)?))
    }

    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        let number = self.number(Operation::Open, path)?;
        if self.state().files[number].read_only {
            return Err(refused(Operation::Open, path, ErrorKind::PermissionDenied));
        }
        Ok(self.handle(path, number))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        let number = {
            let mut state = self.state();
            if state.names.contains_key(path) {
                return Err(refused(Operation::Create, path, ErrorKind::AlreadyExists));
            }
            if !path.parent().is_some_and(|folder| state.folders.contains(folder)) {
                return Err(refused(Operation::Create, path, ErrorKind::NotFound));
            }
            state.files.push(MemoryFileContent::default());
            state.files.len() - 1
        };
        self.change(NameChange { from: None, to: Some((path.to_path_buf(), number)) });
        Ok(self.handle(path, number))
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        let state = self.state();
        if state.folders.contains(path) {
            return Ok(Some(Stat { length: 0, read_only: false, folder: true }));
        }
        let file = state.names.get(path).map(|number| &state.files[*number]);
        Ok(file.map(|file| Stat {
            length: file.bytes.len() as u64,
            read_only: file.read_only,
            folder: false,
        }))
    }

    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError> {
        let state = self.state();
        if !state.folders.contains(folder) {
            return Err(refused(Operation::List, folder, ErrorKind::NotFound));
        }
        let paths = state.names.keys().chain(&state.folders);
        let inside = paths.filter(|path| path.parent() == Some(folder));
        let mut names: Vec<_> = inside.filter_map(|path| path.file_name()).map(OsString::from).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn make_folders(&self, folder: &Path) -> Result<(), DiskError> {
        self.state().folders.extend(folder.ancestors().map(PathBuf::from));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let number = self.number(Operation::Rename, from)?;
        self.change(NameChange { from: Some(from.to_path_buf()), to: Some((to.to_path_buf(), number)) });
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), DiskError> {
        let moved = |path: &Path| match (path.strip_prefix(one), path.strip_prefix(other)) {
            (Ok(name), _) => Some(other.join(name)),
            (_, Ok(name)) => Some(one.join(name)),
            _ => None,
        };
        let files = self.names_that(|path| moved(path).is_some());
        for (path, _) in &files {
            self.change(NameChange { from: Some(path.clone()), to: None });
        }
        for (path, number) in &files {
            self.change(NameChange { from: None, to: moved(path).map(|path| (path, *number)) });
        }
        let mut state = self.state();
        let folders = std::mem::take(&mut state.folders);
        state.folders = folders.into_iter().map(|path| moved(&path).unwrap_or(path)).collect();
        Ok(())
    }

    fn remove_tree(&self, folder: &Path) -> Result<(), DiskError> {
        for (path, _) in self.names_that(|path| path.starts_with(folder)) {
            self.change(NameChange { from: Some(path), to: None });
        }
        self.state().folders.retain(|path| !path.starts_with(folder));
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.number(Operation::Remove, path)?;
        self.change(NameChange { from: Some(path.to_path_buf()), to: None });
        Ok(())
    }

    fn set_read_only(&self, path: &Path) -> Result<(), DiskError> {
        let number = self.number(Operation::SetReadOnly, path)?;
        self.state().files[number].read_only = true;
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError> {
        let mut state = self.state();
        let (here, elsewhere) =
            std::mem::take(&mut state.pending).into_iter().partition(|change| change.is_in(folder));
        state.pending = elsewhere;
        let here: Vec<NameChange> = here;
        here.iter().for_each(|change| change.apply(&mut state.safe_names));
        Ok(())
    }

    fn temporary_folder(&self, _: &Path) -> TemporaryFolder {
        TemporaryFolder::from(std::env::temp_dir())
    }
}

struct MemoryFile {
    disk: MemoryDisk,
    number: usize,
    path: PathBuf,
}

impl DiskFile for MemoryFile {
    fn length(&self) -> Result<u64, DiskError> {
        Ok(self.disk.state().files[self.number].bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError> {
        let state = self.disk.state();
        let bytes = &state.files[self.number].bytes;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let length = buffer.len().min(bytes.len() - start);
        buffer[..length].copy_from_slice(&bytes[start..start + length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        let too_far = |_| refused(Operation::Write, &self.path, ErrorKind::FileTooLarge);
        let start = usize::try_from(offset).map_err(too_far)?;
        let mut state = self.disk.state();
        let file = &mut state.files[self.number].bytes;
        if file.len() < start + bytes.len() {
            file.resize(start + bytes.len(), 0);
        }
        file[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        let too_far = |_| refused(Operation::Truncate, &self.path, ErrorKind::FileTooLarge);
        let length = usize::try_from(length).map_err(too_far)?;
        self.disk.state().files[self.number].bytes.resize(length, 0);
        Ok(())
    }

    fn sync(&self) -> Result<(), DiskError> {
        let file = &mut self.disk.state().files[self.number];
        file.safe = file.bytes.clone();
        Ok(())
    }
}
