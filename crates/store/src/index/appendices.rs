//! The appendix files: reads them whole and writes the live one.
//!
//! There is one live appendix and, during or after an interrupted housekeeping, some rotated ones
//! with numbers. A rotated appendix was synced before its rename, so a bad batch in it is damage. A
//! bad batch in the live one may be the rest of an unacknowledged write and is cut off when the
//! index is opened for writing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::appendix::{self, DecodedAppendix, UnknownFormat};
use super::appendix_entries::AppendixEntries;
use super::entry::IndexEntry;
use super::error::IndexError;
use super::file_names::{self, IndexFileName};
use crate::disk::{Disk, DiskFile};

/// A rotated appendix, which waits to be merged.
#[derive(Clone, Debug)]
pub(super) struct RotatedAppendix {
    pub(super) number: u64,
    pub(super) memory: Arc<AppendixEntries>,
    /// The offset of its first damaged batch, if any.
    pub(super) damage: Option<u64>,
}

/// Maximum length of an appendix, which is read into memory: far longer than it is
/// when housekeeping is due.
const MAX_APPENDIX_BYTES: u64 = 1 << 30;

/// The numbers of the rotated appendices, oldest first.
pub(super) fn list_rotated(disk: &dyn Disk, folder: &Path) -> Result<Vec<u64>, IndexError> {
    let names = disk.list(folder)?;
    let mut numbers: Vec<_> = names
        .iter()
        .filter_map(|name| match IndexFileName::parse(name) {
            IndexFileName::Rotated(number) => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Loads the rotated appendices. One that vanishes between listing and opening was merged.
pub(super) fn read_rotated(disk: &dyn Disk, folder: &Path) -> Result<Vec<RotatedAppendix>, IndexError> {
    let mut all = Vec::new();
    for number in list_rotated(disk, folder)? {
        if let Some((decoded, _)) = read(disk, &folder.join(file_names::rotated(number)))? {
            let damage = decoded.gaps.first().map(|gap| gap.start);
            all.push(RotatedAppendix {
                number,
                damage,
                memory: Arc::new(AppendixEntries::from(decoded.entries)),
            });
        }
    }
    Ok(all)
}

/// Reads an appendix and its length; `None` when it does not exist.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<(DecodedAppendix, u64)>, IndexError> {
    match disk.open(path) {
        Ok(file) => decode(&*file, path).map(Some),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn decode(file: &dyn DiskFile, path: &Path) -> Result<(DecodedAppendix, u64), IndexError> {
    let length = file.length()?;
    if length > MAX_APPENDIX_BYTES {
        return Err(IndexError::damaged(path, MAX_APPENDIX_BYTES, "it is longer than an appendix can be"));
    }
    let mut bytes = vec![0; length as usize];
    let length = file.read_at(&mut bytes, 0)?;
    let decoded = appendix::decode(&bytes[..length]);
    let unsupported = |UnknownFormat(format)| IndexError::Unsupported { file: path.to_path_buf(), format };
    Ok((decoded.map_err(unsupported)?, length as u64))
}

/// The live appendix, open for writing.
pub(super) struct LiveAppendix {
    path: PathBuf,
    /// `None` after a rotation that failed to create the next file; the next append retries.
    file: Option<Box<dyn DiskFile>>,
    /// The length of the valid batches.
    good: u64,
    /// Whether a failed write may have left bytes after `good`.
    torn: bool,
}

/// The tail that was cut off an appendix when it was opened for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendixCut {
    /// The remaining length.
    pub offset: u64,
    /// The number of bytes cut.
    pub bytes: u64,
}

impl LiveAppendix {
    /// Opens or creates the live appendix and cuts it back to the last valid batch before any gap.
    pub(super) fn open(
        disk: &dyn Disk,
        folder: &Path,
    ) -> Result<(Self, AppendixEntries, Option<AppendixCut>), IndexError> {
        let path = folder.join(file_names::APPENDIX_FILE);
        if disk.stat(&path)?.is_none() {
            let mut live = Self { path, file: None, good: 0, torn: false };
            live.ensure(disk, folder)?;
            return Ok((live, AppendixEntries::new(), None));
        }
        let file = disk.open_to_write(&path)?;
        let (mut decoded, length) = decode(&*file, &path)?;
        let good = decoded.good_length(length);
        let cut = (good < length).then_some(AppendixCut { offset: good, bytes: length - good });
        if cut.is_some() {
            file.truncate(good)?;
            file.sync()?;
        }
        decoded.entries.truncate(decoded.before_gap);
        let live = Self { path, file: Some(file), good, torn: false };
        Ok((live, AppendixEntries::from(decoded.entries), cut))
    }

    /// Appends a batch with one write. After an error none of it counts.
    pub(super) fn append(
        &mut self,
        disk: &dyn Disk,
        folder: &Path,
        entries: &[IndexEntry],
    ) -> Result<(), IndexError> {
        let bytes = appendix::encode(entries);
        let good = self.good;
        let file = self.ensure(disk, folder)?;
        if let Err(error) = file.write_at(&bytes, good) {
            self.torn = true;
            return Err(error.into());
        }
        self.good += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn sync(&mut self, disk: &dyn Disk, folder: &Path) -> Result<(), IndexError> {
        Ok(self.ensure(disk, folder)?.sync()?)
    }

    /// Syncs the live appendix and renames it to its number.
    pub(super) fn rotate(&mut self, disk: &dyn Disk, folder: &Path, number: u64) -> Result<(), IndexError> {
        self.sync(disk, folder)?;
        disk.rename(&self.path, &folder.join(file_names::rotated(number)))?;
        // The open file must not be written to from here on.
        self.file = None;
        self.good = 0;
        Ok(())
    }

    /// The file, created if absent, without the remains of a failed write.
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
            // An earlier attempt created it and failed afterwards; it is empty.
            Err(error) if error.source.kind() == ErrorKind::AlreadyExists => {
                disk.open_to_write(&self.path)?
            }
            created => created?,
        };
        disk.sync_folder(folder)?;
        Ok(file)
    }
}
