//! Files that were committed before: what has not changed since then need not be read again.
//!
//! A file counts as unchanged if its length, its times, its inode and its device are what they were when it was read. A file
//! that is written again within the grain of its own time would look unchanged, so one is only remembered if its times were
//! older than that by the time it was read; the measure is the lock, which was written a moment before, by the same kind
//! of clock. What is remembered is a cache, of the last folder alone, and nothing is missing without it. A body is taken
//! for kept only if the index knows it; whoever takes bodies out of the silos forgets all of this.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use varve_core::BodyId;
use varve_core::body::StoredBody;

use crate::error::RepositoryError;
use crate::history::{HistoryWriter, replace};

/// What is written down in another way has another number.
const FORMAT_NUMBER: u32 = 1;
/// The grain of times that are told in full.
const FINE_CLOCK_NANOSECONDS: i128 = 20_000_000;
/// The grain of times that are whole seconds, as some file systems have them.
const COARSE_CLOCK_NANOSECONDS: i128 = 2_000_000_000;

/// What tells a file from what it becomes when it is written to: length, time of the last write, of the last change, inode, device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp(u64, (i64, i64), (i64, i64), u64, u64);

impl FileStamp {
    fn of(about: &Metadata) -> Self {
        let written = (about.mtime(), about.mtime_nsec());
        Self(about.len(), written, (about.ctime(), about.ctime_nsec()), about.ino(), about.dev())
    }

    /// Whether whoever reads it at this time can be sure that another write would show.
    fn is_settled(&self, now: i128) -> bool {
        [self.1, self.2].into_iter().all(|(seconds, nanos)| {
            let grain = if nanos == 0 { COARSE_CLOCK_NANOSECONDS } else { FINE_CLOCK_NANOSECONDS };
            i128::from(seconds) * 1_000_000_000 + i128::from(nanos) + grain < now
        })
    }
}

/// A file and its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeenFile {
    state: FileStamp,
    body: BodyId,
}

/// What is written down, as JSON.
#[derive(Serialize, Deserialize)]
struct SeenFilesJson {
    format: u32,
    folder: PathBuf,
    /// By path below the folder.
    files: Vec<(PathBuf, FileStamp, BodyId)>,
}

/// What is known of the files of one folder.
#[derive(Default)]
pub struct SeenFiles {
    /// The folder as it was given, which the paths of its files begin with.
    given: PathBuf,
    /// The folder wherever it is named from.
    folder: PathBuf,
    kept_in: Option<PathBuf>,
    now: i128,
    before: HashMap<PathBuf, SeenFile>,
    /// Files that are as they were.
    unchanged: HashMap<PathBuf, SeenFile>,
    /// Files that were read, and will be known the next time.
    read: Mutex<Vec<(PathBuf, SeenFile)>>,
}

impl SeenFiles {
    /// What was written down about the files of a folder; nothing, if there is no folder.
    pub fn of(history: &dyn HistoryWriter, folder: Option<&Path>) -> Self {
        let Some(given) = folder else { return Self::default() };
        let (Ok(folder), Some((kept_in, opened))) = (given.canonicalize(), history.seen_files()) else {
            return Self::default();
        };
        let now = opened.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        let before = read(&kept_in, &folder).unwrap_or_default();
        Self { given: given.to_owned(), folder, kept_in: Some(kept_in), now, before, ..Self::default() }
    }

    /// Finds out which files are as they were, and whose bodies are here.
    pub fn look_up<'a>(
        &mut self,
        history: &dyn HistoryWriter,
        files: impl Iterator<Item = &'a Path>,
    ) -> Result<(), RepositoryError> {
        if self.before.is_empty() {
            return Ok(());
        }
        let same: Vec<(&Path, SeenFile)> =
            files.filter_map(|path| Some((path, self.as_before(path)?))).collect();
        let bodies: Vec<BodyId> = same.iter().map(|(_, seen)| seen.body).collect();
        let known = history.are_indexed(&bodies)?;
        let here = same.into_iter().zip(known).filter(|(_, known)| *known);
        self.unchanged = here.map(|((path, seen), _)| (path.to_owned(), seen)).collect();
        Ok(())
    }

    fn as_before(&self, path: &Path) -> Option<SeenFile> {
        let seen = self.before.get(self.name_of(path)?)?;
        let about = std::fs::symlink_metadata(path).ok()?;
        (about.is_file() && FileStamp::of(&about) == seen.state).then_some(*seen)
    }

    /// A file by its path below the folder.
    fn name_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.given).ok()
    }

    /// The body of a file that is as it was.
    pub fn body_of(&self, path: &Path) -> Option<StoredBody> {
        let seen = self.unchanged.get(path)?;
        Some(StoredBody { id: seen.body, length: seen.state.0, new: false })
    }

    /// Opens a file, lets it be kept, and remembers it if it stayed the same meanwhile.
    pub fn watch(
        &self,
        path: &Path,
        keep: impl FnOnce(File) -> Result<StoredBody, RepositoryError>,
    ) -> Result<StoredBody, RepositoryError> {
        let file = File::open(path).map_err(RepositoryError::read(path))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(RepositoryError::read(path)(io::ErrorKind::IsADirectory.into()));
        }
        let Some(name) = self.name_of(path).filter(|_| self.kept_in.is_some()) else { return keep(file) };
        let again = file.try_clone().map_err(RepositoryError::read(path))?;
        let before = again.metadata().map_err(RepositoryError::read(path))?;
        let kept = keep(file)?;
        let after = again.metadata().map_err(RepositoryError::read(path))?;
        let state = FileStamp::of(&before);
        if before.is_file()
            && state == FileStamp::of(&after)
            && kept.length == state.0
            && state.is_settled(self.now)
        {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.push((name.to_owned(), SeenFile { state, body: kept.id }));
        }
        Ok(kept)
    }

    /// Writes down what is known now, for the next time. That it could not be written costs time then, and nothing else.
    pub fn write_down(self) {
        let Some(kept_in) = &self.kept_in else { return };
        let read = std::mem::take(&mut *self.read.lock().unwrap_or_else(PoisonError::into_inner));
        if read.is_empty() && self.unchanged.len() == self.before.len() {
            return;
        }
        let unchanged =
            self.unchanged.iter().filter_map(|(path, seen)| Some((self.name_of(path)?.to_owned(), *seen)));
        let files = unchanged.chain(read).map(|(path, seen)| (path, seen.state, seen.body)).collect();
        let written = SeenFilesJson { format: FORMAT_NUMBER, folder: self.folder.clone(), files };
        // A name that is no text cannot be written as JSON: then nothing is remembered.
        if let Ok(text) = serde_json::to_vec(&written) {
            let _ = replace(kept_in, &mut text.as_slice(), false);
        }
    }
}

/// What was written down about a folder; none when it is about another, or cannot be read.
fn read(path: &Path, folder: &Path) -> Option<HashMap<PathBuf, SeenFile>> {
    let written: SeenFilesJson = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let is_this = written.format == FORMAT_NUMBER && written.folder == folder;
    let files = written.files.into_iter().map(|(path, state, body)| (path, SeenFile { state, body }));
    is_this.then(|| files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_settled_once_a_write_would_show() {
        let second = 1_000_000_000;
        let at = |modified, changed| FileStamp(1, modified, changed, 1, 1);
        let now = 100 * i128::from(second);
        assert!(at((99, 900_000_000), (99, 900_000_000)).is_settled(now));
        assert!(!at((99, 990_000_000), (99, 990_000_000)).is_settled(now));
        // The time of a write can be set to anything, that of a change cannot.
        assert!(!at((5, 5), (99, 990_000_000)).is_settled(now));
        // Whole seconds may be all that a file system tells.
        assert!(!at((99, 0), (99, 0)).is_settled(now));
        assert!(at((97, 0), (97, 0)).is_settled(now));
        assert!(!at((101, 5), (101, 5)).is_settled(now));
    }
}
