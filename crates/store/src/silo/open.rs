//! The silo that grows.
//!
//! Records are appended whole, at the end of what is known to be good, so a write that failed half-way is overwritten
//! or cut off and never read. Small records are gathered and written together; nothing is promised to anybody before
//! [`OpenSilo::file`] was synced.

use std::path::Path;
use std::sync::Arc;

use varve_warc::write::PackedRecord;

use super::name;
use crate::disk::{Disk, DiskError, DiskFile, Operation};

/// So much is gathered before it is written: what fits the processor's cache is copied from there.
const GATHERED: usize = 256 << 10;

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
}

impl OpenSilo {
    /// Takes up a silo whose good part is `length` bytes.
    pub(crate) fn resume(number: u32, file: Box<dyn DiskFile>, length: u64, has_records: bool) -> Self {
        Self { number, file: file.into(), written: length, gathered: Vec::new(), has_records }
    }

    /// Where the next record goes.
    pub(crate) fn length(&self) -> u64 {
        self.written + self.gathered.len() as u64
    }

    /// Adds a record and says where.
    pub(crate) fn append(&mut self, record: PackedRecord) -> Result<u64, DiskError> {
        let offset = self.length();
        if record.length() > GATHERED as u64 {
            self.flush()?;
            let mut target = FileEnd { file: &*self.file, offset: self.written, failure: None };
            let result = record.write_to(&mut target);
            let end = target.offset;
            if let Some(failure) = target.failure {
                return Err(failure);
            }
            result.map_err(|source| {
                DiskError::new(Operation::Write, Path::new(&name::file_name(self.number, "")), source)
            })?;
            self.written = end;
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

    /// Adds bytes that are no record: what a packed file must begin with.
    pub(crate) fn append_raw(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= GATHERED { self.flush() } else { Ok(()) }
    }

    /// Writes what was gathered.
    pub(crate) fn flush(&mut self) -> Result<(), DiskError> {
        if !self.gathered.is_empty() {
            self.file.write_at(self.written, &self.gathered)?;
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

/// The end of a file as something to write to.
struct FileEnd<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
    failure: Option<DiskError>,
}

impl std::io::Write for FileEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.file.write_at(self.offset, bytes) {
            Ok(()) => {
                self.offset += bytes.len() as u64;
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
