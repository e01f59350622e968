//! The open silo.
//!
//! Records are appended whole, at the end of the valid bytes, so the remains of a failed write are
//! overwritten or cut off and never read. Small records are buffered and written together. A large
//! record reserves its space and is written while other records are appended, see
//! [`OpenSilo::reserve`]. Nothing is acknowledged before [`OpenSilo::file`] was synced.

use std::path::Path;
use std::sync::Arc;

use varve_warc::digest::{Algorithm, Hasher};
use varve_warc::write::PackedRecord;

use super::name;
use crate::disk::{Disk, DiskError, DiskFile, Operation};

/// Buffered records are written from this size on. It fits the processor's cache.
const FLUSH_THRESHOLD_BYTES: usize = 256 << 10;

/// Maximum size of the buffered records that wait for a large record.
const MAX_HELD_BACK_BYTES: u64 = 8 << 20;

/// A silo that is open for appending.
pub(crate) struct OpenSilo {
    pub(crate) number: u32,
    file: Arc<dyn DiskFile>,
    /// Bytes of complete records in the file, reserved space included.
    written: u64,
    /// Complete records that are not in the file yet.
    unwritten: Vec<u8>,
    /// Whether it has records besides its description.
    pub(crate) has_records: bool,
    /// The digest of the written bytes, for a silo that is hashed while it is written.
    hasher: Option<Hasher>,
    /// Whether a reserved record before the buffered ones is still being written.
    is_flush_blocked: bool,
}

/// Reserved space in a silo for a record that is not written yet.
pub(crate) struct ReservedSpace {
    file: Arc<dyn DiskFile>,
    pub(crate) offset: u64,
    length: u64,
    number: u32,
}

impl ReservedSpace {
    /// Writes the record into the space.
    pub(crate) fn write(&self, record: PackedRecord) -> Result<(), DiskError> {
        let end = write_record(&*self.file, self.offset, record, self.number, None)?;
        if end == self.offset + self.length {
            return Ok(());
        }
        let source = std::io::Error::other("a record has another length than it said");
        Err(DiskError::new(Operation::Write, Path::new(&name::file_name(self.number, "")), source))
    }
}

impl OpenSilo {
    /// Resumes a silo whose first `length` bytes are valid.
    pub(crate) fn resume(number: u32, file: Box<dyn DiskFile>, length: u64, has_records: bool) -> Self {
        Self {
            number,
            file: file.into(),
            written: length,
            unwritten: Vec::new(),
            has_records,
            hasher: None,
            is_flush_blocked: false,
        }
    }

    /// Begins a silo that is hashed while it is written.
    pub(crate) fn hashed(number: u32, file: Box<dyn DiskFile>) -> Self {
        let hasher = Some(Algorithm::Sha256.hasher());
        Self { hasher, ..Self::resume(number, file, 0, false) }
    }

    /// The hash state of all written bytes, for a silo made by [`Self::hashed`]. Ends the hashing.
    pub(crate) fn take_hasher(&mut self) -> Option<Hasher> {
        self.hasher.take()
    }

    /// The offset of the next record.
    pub(crate) fn length(&self) -> u64 {
        self.written + self.unwritten.len() as u64
    }

    /// The length of the part in the file, reserved space included.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Appends a record and returns its offset.
    pub(crate) fn append(&mut self, record: PackedRecord) -> Result<u64, DiskError> {
        let offset = self.length();
        if is_large(&record) {
            self.flush()?;
            self.written =
                write_record(&*self.file, self.written, record, self.number, self.hasher.as_mut())?;
        } else {
            // Writing to memory cannot fail, but a spooled block is read from a file.
            let start = self.unwritten.len();
            if let Err(source) = record.write_to(&mut self.unwritten) {
                self.unwritten.truncate(start);
                return Err(DiskError::new(Operation::Read, Path::new("a temporary file"), source));
            }
            if self.unwritten.len() >= FLUSH_THRESHOLD_BYTES {
                self.flush()?;
            }
        }
        Ok(offset)
    }

    /// Reserves space for a record of this length. Until [`OpenSilo::release`] no later record is
    /// written. The caller acknowledges none of them meanwhile and reserves one record at a time.
    pub(crate) fn reserve(&mut self, length: u64) -> Result<ReservedSpace, DiskError> {
        self.flush()?;
        let reserved = ReservedSpace { file: self.file(), offset: self.written, length, number: self.number };
        self.written += length;
        self.is_flush_blocked = true;
        Ok(reserved)
    }

    /// Ends the reservation: the record is written.
    pub(crate) fn release(&mut self) {
        self.is_flush_blocked = false;
    }

    /// Whether a record of this length can be appended now. Behind a reserved record, records are
    /// buffered up to a limit.
    pub(crate) fn can_append(&self, length: u64) -> bool {
        !self.is_flush_blocked
            || length <= FLUSH_THRESHOLD_BYTES as u64
                && self.unwritten.len() as u64 + length <= MAX_HELD_BACK_BYTES
    }

    /// Appends bytes that are not a record: the preamble of a packed file.
    pub(crate) fn append_raw(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.unwritten.extend_from_slice(bytes);
        if self.unwritten.len() >= FLUSH_THRESHOLD_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the buffered records, unless a reserved record before them is still being written.
    pub(crate) fn flush(&mut self) -> Result<(), DiskError> {
        if !self.unwritten.is_empty() && !self.is_flush_blocked {
            self.file.write_at(&self.unwritten, self.written)?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&self.unwritten);
            }
            self.written += self.unwritten.len() as u64;
            self.unwritten.clear();
        }
        Ok(())
    }

    /// The file, which the caller syncs after flushing.
    pub(crate) fn file(&self) -> Arc<dyn DiskFile> {
        Arc::clone(&self.file)
    }
}

/// Whether a record is too large to be buffered.
pub(crate) fn is_large(record: &PackedRecord) -> bool {
    record.length() > FLUSH_THRESHOLD_BYTES as u64
}

/// Writes a record at an offset of a file and returns its end.
fn write_record(
    file: &dyn DiskFile,
    offset: u64,
    record: PackedRecord,
    number: u32,
    hasher: Option<&mut Hasher>,
) -> Result<u64, DiskError> {
    let mut target = FileEnd { file, offset, failure: None, hasher };
    let result = record.write_to(&mut target);
    if let Some(failure) = target.failure {
        return Err(failure);
    }
    result.map_err(|source| {
        DiskError::new(Operation::Write, Path::new(&name::file_name(number, "")), source)
    })?;
    Ok(target.offset)
}

/// Writes to a file from an offset on.
struct FileEnd<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
    failure: Option<DiskError>,
    hasher: Option<&'a mut Hasher>,
}

impl std::io::Write for FileEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.file.write_at(bytes, self.offset) {
            Ok(()) => {
                self.offset += bytes.len() as u64;
                if let Some(hasher) = &mut self.hasher {
                    hasher.update(bytes);
                }
                Ok(bytes.len())
            }
            Err(failure) => {
                let kind = failure.source.kind();
                self.failure = Some(failure);
                Err(kind.into())
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Creates the file of a new silo, with its parent folders.
pub(crate) fn create(
    disk: &dyn Disk,
    folder: &Path,
    number: u32,
    ending: &str,
) -> Result<Box<dyn DiskFile>, DiskError> {
    let path = folder.join(name::path(number, ending));
    make_folders_durably(disk, folder, path.parent().unwrap_or(folder))?;
    let file = disk.create_new(&path)?;
    disk.sync_folder(path.parent().unwrap_or(folder))?;
    Ok(file)
}

/// Creates folders below `root` and syncs each parent.
fn make_folders_durably(disk: &dyn Disk, root: &Path, folder: &Path) -> Result<(), DiskError> {
    if disk.stat(folder)?.is_some() {
        return Ok(());
    }
    disk.make_folders(folder)?;
    let mut parent = folder.parent();
    while let Some(above) = parent {
        if disk.stat(above)?.is_some() {
            disk.sync_folder(above)?;
        }
        if above == root || !above.starts_with(root) {
            break;
        }
        parent = above.parent();
    }
    Ok(())
}
