//! A folder as a medium.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Algorithm, Digest, Medium, MediumError, MediumObject, ReadAt, check_name};
use crate::disk::{Disk, DiskError, FileSource};

/// Bytes copied at a time.
const COPY_CHUNK_BYTES: usize = 1 << 20;

/// The name suffix of an object that is not complete yet.
const UNFINISHED_SUFFIX: &str = ".unfinished";

/// Objects as files below a folder. Those that [`Medium::put`] writes are read-only.
pub struct LocalMedium {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

impl LocalMedium {
    /// Uses `folder`, which is created with the first object.
    pub fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> Self {
        Self { disk, folder }
    }

    fn path(&self, name: &str) -> Result<PathBuf, MediumError> {
        Ok(self.folder.join(check_name(name)?.split('/').collect::<PathBuf>()))
    }

    /// Copies content to a new file and returns its digest.
    fn write(&self, name: &str, path: &Path, content: &mut dyn Read) -> Result<Digest, MediumError> {
        let failed = |error| medium_error(name, error);
        // An earlier, interrupted put may have left it.
        if self.disk.stat(path).map_err(failed)?.is_some() {
            self.disk.remove(path).map_err(failed)?;
        }
        let file = self.disk.create_new(path).map_err(failed)?;
        let mut hasher = Algorithm::Sha256.hasher();
        let mut buffer = vec![0; COPY_CHUNK_BYTES];
        let mut length = 0;
        loop {
            let unread = |source| MediumError::Io { name: name.to_owned(), source };
            let count = content.read(&mut buffer).map_err(unread)?;
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            file.write_at(&buffer[..count], length).map_err(failed)?;
            length += count as u64;
        }
        file.sync().map_err(failed)?;
        Ok(hasher.finish())
    }

    fn publish(&self, unfinished: &Path, path: &Path) -> Result<(), DiskError> {
        self.disk.set_read_only(unfinished)?;
        self.disk.rename(unfinished, path)?;
        self.disk.sync_folder(path.parent().unwrap_or(&self.folder))
    }

    fn walk(&self, folder: &Path, name: &str, found: &mut Vec<MediumObject>) -> Result<(), DiskError> {
        let entries = match self.disk.list(folder) {
            Err(error) if error.is_absent() => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let Some(part) = entry.to_str() else { continue };
            let path = folder.join(part);
            let name = if name.is_empty() { part.to_owned() } else { format!("{name}/{part}") };
            match self.disk.stat(&path)? {
                Some(stat) if stat.folder => self.walk(&path, &name, found)?,
                Some(stat) if check_name(&name).is_ok() && !name.ends_with(UNFINISHED_SUFFIX) => {
                    found.push(MediumObject { name, length: stat.length, read_only: stat.read_only });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn medium_error(name: &str, error: DiskError) -> MediumError {
    if error.is_absent() {
        return MediumError::Absent { name: name.to_owned() };
    }
    error.into()
}

impl Medium for LocalMedium {
    fn put(&self, name: &str, content: &mut dyn Read, checksum: &Digest) -> Result<(), MediumError> {
        let failed = |error| medium_error(name, error);
        let path = self.path(name)?;
        if self.disk.stat(&path).map_err(failed)?.is_some() {
            return Err(MediumError::Taken { name: name.to_owned() });
        }
        self.disk.make_folders(path.parent().unwrap_or(&self.folder)).map_err(failed)?;
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(UNFINISHED_SUFFIX);
        let unfinished = Path::new(&unfinished);
        let found = self.write(name, unfinished, content)?;
        if found != *checksum {
            self.disk.remove(unfinished).map_err(failed)?;
            let (expected, found) = (Box::new(*checksum), Box::new(found));
            return Err(MediumError::Checksum { name: name.to_owned(), expected, found });
        }
        self.publish(unfinished, &path).map_err(failed)
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, MediumError> {
        let file = self.disk.open(&self.path(name)?).map_err(|error| medium_error(name, error))?;
        Ok(Arc::new(FileSource::new(file)))
    }

    fn delete(&self, name: &str) -> Result<(), MediumError> {
        let failed = |error| medium_error(name, error);
        let path = self.path(name)?;
        if self.disk.stat(&path).map_err(failed)?.is_none() {
            return Err(MediumError::Absent { name: name.to_owned() });
        }
        self.disk.remove(&path).map_err(failed)?;
        self.disk.sync_folder(path.parent().unwrap_or(&self.folder)).map_err(failed)
    }

    fn list(&self, prefix: &str) -> Result<Vec<MediumObject>, MediumError> {
        let mut found = Vec::new();
        self.walk(&self.folder, "", &mut found).map_err(|error| medium_error(prefix, error))?;
        found.retain(|object| object.name.starts_with(prefix));
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }
}
