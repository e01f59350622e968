//! The appendix files: reading them whole, and writing the live one.
//!
//! There is one live appendix and, while housekeeping runs or after it was interrupted, some that were rotated away
//! under a number. A rotated appendix was synced before it got its number, so damage in it is damage. Damage in the live
//! one may as well be what a power cut left of a write that nobody was promised, and is cut off when it is opened for
//! writing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::appendix::{self, Decoded, UnknownFormat};
use super::entry::Entry;
use super::error::IndexError;
use super::memory::Memory;
use super::names::{self, FileName};
use crate::disk::{Disk, DiskFile};

/// An appendix that nothing is added to any more, until it is merged.
#[derive(Clone, Debug)]
pub(super) struct Rotated {
    pub(super) number: u64,
    pub(super) memory: Arc<Memory>,
    /// Where its file is not what was written, if anywhere.
    pub(super) damage: Option<u64>,
}

/// The numbers of the rotated appendices, oldest first.
pub(super) fn list_rotated(disk: &dyn Disk, folder: &Path) -> Result<Vec<u64>, IndexError> {
    let names = disk.list(folder)?;
    let mut numbers: Vec<_> = names
        .iter()
        .filter_map(|name| match FileName::parse(name) {
            FileName::Rotated(number) => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Loads the rotated appendices. One that vanishes between listing and opening has been merged.
pub(super) fn read_rotated(disk: &dyn Disk, folder: &Path) -> Result<Vec<Rotated>, IndexError> {
    let mut all = Vec::new();
    for number in list_rotated(disk, folder)? {
        if let Some((decoded, _)) = read(disk, &folder.join(names::rotated(number)))? {
            let damage = decoded.gaps.first().map(|gap| gap.start);
            all.push(Rotated { number, damage, memory: Arc::new(Memory::from(decoded.entries)) });
        }
    }
    Ok(all)
}

/// Reads an appendix: what is in it, and its length. `None` when it is not there.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<(Decoded, u64)>, IndexError> {
    match disk.open(path) {
        Ok(file) => decode(&*file, path).map(Some),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn decode(file: &dyn DiskFile, path: &Path) -> Result<(Decoded, u64), IndexError> {
    let mut bytes = vec![0; usize::try_from(file.length()?).unwrap_or(usize::MAX)];
    let length = file.read_at(0, &mut bytes)?;
    let decoded = appendix::decode(&bytes[..length]);
    let unsupported = |UnknownFormat(format)| IndexError::Unsupported { file: path.to_path_buf(), format };
    Ok((decoded.map_err(unsupported)?, length as u64))
}

/// The live appendix, open for writing.
pub(super) struct LiveFile {
    path: PathBuf,
    /// `None` after a rotation that could not create the next one; the next append tries again.
    file: Option<Box<dyn DiskFile>>,
    /// Up to here the file is whole batches.
    good: u64,
    /// A write failed and may have left something behind `good`.
    torn: bool,
}

/// What was cut off an appendix when it was opened for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The length of what was kept.
    pub offset: u64,
    /// How many bytes went.
    pub bytes: u64,
}

impl LiveFile {
    /// Opens or creates the live appendix and cuts it back to the last whole batch before any gap.
    pub(super) fn open(disk: &dyn Disk, folder: &Path) -> Result<(Self, Memory, Option<Cut>), IndexError> {
        let path = folder.join(names::APPENDIX);
        if disk.stat(&path)?.is_none() {
            let mut live = Self { path, file: None, good: 0, torn: false };
            live.ensure(disk, folder)?;
            return Ok((live, Memory::new(), None));
        }
        let file = disk.open_to_write(&path)?;
        let (mut decoded, length) = decode(&*file, &path)?;
        let good = decoded.good_length(length);
        let cut = (good < length).then_some(Cut { offset: good, bytes: length - good });
        if cut.is_some() {
            file.truncate(good)?;
            file.sync()?;
        }
        decoded.entries.truncate(decoded.before_gap);
        let live = Self { path, file: Some(file), good, torn: false };
        Ok((live, Memory::from(decoded.entries), cut))
    }

    /// Appends a batch with one write. After an error nothing of it counts.
    pub(super) fn append(
        &mut self,
        disk: &dyn Disk,
        folder: &Path,
        entries: &[Entry],
    ) -> Result<(), IndexError> {
        let bytes = appendix::encode(entries);
        let good = self.good;
        let file = self.ensure(disk, folder)?;
        if let Err(error) = file.write_at(good, &bytes) {
            self.torn = true;
            return Err(error.into());
        }
        self.good += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn sync(&mut self, disk: &dyn Disk, folder: &Path) -> Result<(), IndexError> {
        Ok(self.ensure(disk, folder)?.sync()?)
    }

    /// Gives the live appendix a number and starts an empty one. The one with the number is complete and synced.
    pub(super) fn rotate(&mut self, disk: &dyn Disk, folder: &Path, number: u64) -> Result<(), IndexError> {
        self.sync(disk, folder)?;
        disk.rename(&self.path, &folder.join(names::rotated(number)))?;
        // From here on the open file must not be written to, whatever happens next.
        self.file = None;
        self.good = 0;
        Ok(())
    }

    /// The file, created if it is not there, without the remains of a write that failed.
    pub(super) fn ensure(&mut self, disk: &dyn Disk, folder: &Path) -> Result<&dyn DiskFile, IndexError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.create(disk, folder)?,
        };
        let file = self.file.insert(file);
        if self.torn {
            file.truncate(self.good)?;
            self.torn = false;
        }
        Ok(&**file)
    }

    fn create(&mut self, disk: &dyn Disk, folder: &Path) -> Result<Box<dyn DiskFile>, IndexError> {
        let file = match disk.create_new(&self.path) {
            // An earlier try created it and failed only afterwards; it is ours and empty.
            Err(error) if error.source.kind() == ErrorKind::AlreadyExists => {
                disk.open_to_write(&self.path)?
            }
            created => created?,
        };
        disk.sync_folder(folder)?;
        Ok(file)
    }
}
