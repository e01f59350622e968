//! A folder as a medium.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_wire::ReadAt;

use super::{Listed, Medium, MediumError, checked};
use crate::disk::{Disk, DiskError, FileSource};

/// Bytes copied at a time.
const STEP: usize = 1 << 20;

/// Objects as read-only files below a folder.
pub struct LocalMedium {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

impl LocalMedium {
    /// Uses that folder, which is made when the first object is put.
    pub fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> Self {
        Self { disk, folder }
    }

    fn path(&self, name: &str) -> Result<PathBuf, MediumError> {
        Ok(self.folder.join(checked(name)?.split('/').collect::<PathBuf>()))
    }

    fn write(&self, path: &Path, unfinished: &Path, content: &mut dyn Read) -> Result<(), WriteError> {
        let parent = path.parent().unwrap_or(&self.folder);
        self.disk.make_folders(parent)?;
        // Something an earlier, interrupted put left behind.
        if self.disk.stat(unfinished)?.is_some() {
            self.disk.remove(unfinished)?;
        }
        let file = self.disk.create_new(unfinished)?;
        let mut buffer = vec![0; STEP];
        let mut length = 0;
        loop {
            let count = content.read(&mut buffer).map_err(WriteError::Content)?;
            if count == 0 {
                break;
            }
            file.write_at(length, &buffer[..count])?;
            length += count as u64;
        }
        file.sync()?;
        self.disk.set_read_only(unfinished)?;
        self.disk.rename(unfinished, path)?;
        self.disk.sync_folder(parent)?;
        Ok(())
    }

    fn walk(&self, folder: &Path, name: &str, found: &mut Vec<Listed>) -> Result<(), DiskError> {
        for entry in self.disk.list(folder)? {
            let Some(part) = entry.to_str() else { continue };
            let path = folder.join(part);
            let name = if name.is_empty() { part.to_owned() } else { format!("{name}/{part}") };
            match self.disk.stat(&path)? {
                Some(stat) if stat.folder => self.walk(&path, &name, found)?,
                Some(stat) if checked(&name).is_ok() && !name.ends_with(UNFINISHED) => {
                    found.push(Listed { name, length: stat.length });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The ending of an object that is not whole yet.
const UNFINISHED: &str = ".unfinished";

enum WriteError {
    Disk(DiskError),
    Content(std::io::Error),
}

impl From<DiskError> for WriteError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

fn failed(name: &str, error: DiskError) -> MediumError {
    if error.is_absent() {
        return MediumError::Absent { name: name.to_owned() };
    }
    let source = std::io::Error::new(error.source.kind(), error);
    MediumError::Io { name: name.to_owned(), source }
}

impl Medium for LocalMedium {
    fn put(&self, name: &str, content: &mut dyn Read) -> Result<(), MediumError> {
        let path = self.path(name)?;
        if self.disk.stat(&path).map_err(|error| failed(name, error))?.is_some() {
            return Err(MediumError::Taken { name: name.to_owned() });
        }
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(UNFINISHED);
        self.write(&path, Path::new(&unfinished), content).map_err(|error| match error {
            WriteError::Disk(error) => failed(name, error),
            WriteError::Content(source) => MediumError::Io { name: name.to_owned(), source },
        })
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, MediumError> {
        let path = self.path(name)?;
        let file = self.disk.open(&path).map_err(|error| failed(name, error))?;
        Ok(Arc::new(FileSource::new(file)))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, MediumError> {
        let mut found = Vec::new();
        match self.walk(&self.folder, "", &mut found) {
            Err(error) if error.is_absent() => {}
            other => other.map_err(|error| failed(prefix, error))?,
        }
        found.retain(|listed| listed.name.starts_with(prefix));
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }
}
