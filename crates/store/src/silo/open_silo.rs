//! The silo that grows.
//!
//! Records are appended whole, at the end of what is known to be good, so a write that failed half-way is overwritten
//! or cut off and never read. Small records are gathered and written together; a large one gets its place at once and
//! its bytes while others go on, see [`OpenSilo::reserve`]. Nothing is promised to anybody before [`OpenSilo::file`] was
//! synced.

use std::path::Path;
use std::sync::Arc;

use varve_warc::digest::{Algorithm, Hasher};
use varve_warc::write::PackedRecord;

use super::name;
use crate::disk::{Disk, DiskError, DiskFile, Operation};

/// So much is gathered before it is written: what fits the processor's cache is copied from there.
const GATHERED: usize = 256 << 10;

/// So much at most waits for a large record to be written.
const MOST_GATHERED: u64 = 8 << 20;

/// A silo that records are appended to.
pub(crate) struct OpenSilo {
    pub(crate) number: u32,
    file: Arc<dyn DiskFile>,
    /// Bytes in the file that are whole records.
    written: u64,
    /// Whole records that are not in the file yet.
    gathered: Vec<u8>,
    /// Holds more than its description.
    pub(crate) has_records: bool,
    /// The digest of what was written, where it is wanted as it grows.
    hasher: Option<Hasher>,
    /// A record before those that are gathered is still being written.
    held: bool,
}

/// A place in a silo for a record that is not there yet.
pub(crate) struct Reserved {
    file: Arc<dyn DiskFile>,
    pub(crate) offset: u64,
    length: u64,
    number: u32,
}

impl Reserved {
    /// Writes the record there.
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
    /// Takes up a silo whose good part is `length` bytes.
    pub(crate) fn resume(number: u32, file: Box<dyn DiskFile>, length: u64, has_records: bool) -> Self {
        Self {
            number,
            file: file.into(),
            written: length,
            gathered: Vec::new(),
            has_records,
            hasher: None,
            held: false,
        }
    }

    /// Begins a silo whose digest is taken while it is written.
    pub(crate) fn hashed(number: u32, file: Box<dyn DiskFile>) -> Self {
        let hasher = Some(Algorithm::Sha256.hasher());
        Self { hasher, ..Self::resume(number, file, 0, false) }
    }

    /// The digest of all that was written so far, if it was taken from the beginning; from here on it no longer is.
    pub(crate) fn take_hasher(&mut self) -> Option<Hasher> {
        self.hasher.take()
    }

    /// Where the next record goes.
    pub(crate) fn length(&self) -> u64 {
        self.written + self.gathered.len() as u64
    }

    /// How much of it is in the file.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Adds a record and says where.
    pub(crate) fn append(&mut self, record: PackedRecord) -> Result<u64, DiskError> {
        let offset = self.length();
        if is_large(&record) {
            self.flush()?;
            self.written =
                write_record(&*self.file, self.written, record, self.number, self.hasher.as_mut())?;
        } else {
            // Writing to memory cannot fail, but a spooled block is read from a file.
            let start = self.gathered.len();
            if let Err(source) = record.write_to(&mut self.gathered) {
                self.gathered.truncate(start);
                return Err(DiskError::new(Operation::Read, Path::new("a temporary file"), source));
            }
            if self.gathered.len() >= GATHERED {
                self.flush()?;
            }
        }
        Ok(offset)
    }

    /// Gives a record of that length its place, behind all others. Until [`OpenSilo::release`], when it is there, nothing
    /// that is behind it is written; the caller sees to it that nothing of that is promised, and reserves one at a time.
    pub(crate) fn reserve(&mut self, length: u64) -> Result<Reserved, DiskError> {
        self.flush()?;
        let reserved = Reserved { file: self.file(), offset: self.written, length, number: self.number };
        self.written += length;
        self.held = true;
        Ok(reserved)
    }

    /// What was reserved is written.
    pub(crate) fn release(&mut self) {
        self.held = false;
    }

    /// Whether a record of that length can be taken now: behind one that is being written, so much is kept in memory.
    pub(crate) fn has_room_to_gather(&self, length: u64) -> bool {
        !self.held || length <= GATHERED as u64 && self.gathered.len() as u64 + length <= MOST_GATHERED
    }

    /// Adds bytes that are no record: what a packed file must begin with.
    pub(crate) fn append_raw(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= GATHERED { self.flush() } else { Ok(()) }
    }

    /// Writes what was gathered, unless a record before it is still being written.
    pub(crate) fn flush(&mut self) -> Result<(), DiskError> {
        if !self.gathered.is_empty() && !self.held {
            self.file.write_at(self.written, &self.gathered)?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&self.gathered);
            }
            self.written += self.gathered.len() as u64;
            self.gathered.clear();
        }
        Ok(())
    }

    /// The file, to be synced by who has flushed.
    pub(crate) fn file(&self) -> Arc<dyn DiskFile> {
        Arc::clone(&self.file)
    }
}

/// Whether a record is too large to be gathered.
pub(crate) fn is_large(record: &PackedRecord) -> bool {
    record.length() > GATHERED as u64
}

/// Writes a record at an offset of a file, and says where it ends.
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

/// The end of a file as something to write to.
struct FileEnd<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
    failure: Option<DiskError>,
    hasher: Option<&'a mut Hasher>,
}

impl std::io::Write for FileEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.file.write_at(self.offset, bytes) {
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

/// Makes the file of a new silo, with the folders above it.
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

/// Makes folders below `root`, each name safe from a power cut.
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
