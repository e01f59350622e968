//! A cache of committed files, so that unchanged files are not read again.
//!
//! A file counts as unchanged if its length, times, inode and device equal those recorded when it
//! was read. A file rewritten within the resolution of its own timestamp would look unchanged. A
//! file is therefore recorded only if its times were older than that resolution when it was read.
//! The reference time is that of the lock file, which was written a moment before, by the same kind
//! of clock.
//!
//! The cache covers only the last folder committed, and losing it loses no data. A body counts as
//! stored only if the index of an archive knows it, or a site has a file of its name and length. A
//! command that removes bodies from the silos deletes the cache.
//!
//! The cache also says which version was committed, and how names became pages. As long as that
//! version is the parent of the next one, an unchanged file is a page that did not change: neither
//! the file nor the catalog is read for it.
//!
//! The files of a folder and the entries of the cache have one order, so both are read side by side
//! and none of them is held.

mod cache_file;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use varve_core::body::StoredBody;
use varve_core::{BodyId, VersionId};
use varve_file::RootedFiles;

use crate::error::RepositoryError;
use crate::history::HistoryWriter;
use cache_file::{AboutCache, CacheReader, CacheWriter};

/// Resolution assumed for timestamps with a fraction of a second.
const FINE_CLOCK_NANOSECONDS: i128 = 20_000_000;
/// Resolution assumed for timestamps in whole seconds, as some file systems store them.
const COARSE_CLOCK_NANOSECONDS: i128 = 2_000_000_000;

/// Identifies the state of a file: length, modification time, change time, inode, device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp(u64, (i64, i64), (i64, i64), u64, u64);

impl FileStamp {
    fn of(about: &Metadata) -> Self {
        let written = (about.mtime(), about.mtime_nsec());
        Self(about.len(), written, (about.ctime(), about.ctime_nsec()), about.ino(), about.dev())
    }

    /// Whether a write after `now` is certain to change the timestamps.
    fn is_settled(&self, now: i128) -> bool {
        [self.1, self.2].into_iter().all(|(seconds, nanos)| {
            let grain = if nanos == 0 { COARSE_CLOCK_NANOSECONDS } else { FINE_CLOCK_NANOSECONDS };
            i128::from(seconds) * 1_000_000_000 + i128::from(nanos) + grain < now
        })
    }
}

/// A file of the last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// Its path relative to the folder.
    name: PathBuf,
    /// What it was when its body was stored. `None` if it may have changed since without a trace.
    stored: Option<(FileStamp, BodyId)>,
}

impl SeenFile {
    /// Its path relative to the folder.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The body of the file, if the file did not change since it was stored.
    fn body_if_unchanged(&self, path: &Path) -> Option<StoredBody> {
        let (stamp, body) = self.stored?;
        let about = std::fs::symlink_metadata(path).ok()?;
        let is_same = about.is_file() && FileStamp::of(&about) == stamp;
        is_same.then_some(StoredBody { id: body, length: stamp.0, new: false })
    }
}

/// The commit that a cache was written for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCommit {
    /// The version.
    pub version: VersionId,
    /// The URL below which it has all pages.
    pub covers: Option<String>,
    /// How the names of files became pages: all else that their URLs, status and headers were made
    /// from.
    pub pages: String,
}

/// The files of the last commit of a folder, in the order of their paths.
#[derive(Default)]
pub struct SeenFiles {
    reader: Option<CacheReader>,
    /// The commit that the cache was written for.
    last: Option<SeenCommit>,
}

/// Records the files of a commit for the next one.
#[derive(Default)]
pub struct SeenFilesWriter {
    /// The canonical path of the folder, and the new cache. `None` if a cache cannot be written:
    /// that only costs time.
    cache: Option<(PathBuf, CacheWriter)>,
    /// When the layout was opened for writing, in nanoseconds since 1970.
    now: i128,
}

impl SeenFiles {
    /// Opens the cache for a folder. It is empty if there is none, or it is of another folder.
    pub fn of(history: &HistoryWriter, folder: &Path) -> (Self, SeenFilesWriter) {
        let cache = match history {
            HistoryWriter::Archive(archive) => archive.seen_files(),
            HistoryWriter::Moku(site) => Some(site.seen_files()),
        };
        let (Ok(folder), Some((path, opened))) = (folder.canonicalize(), cache) else {
            return Default::default();
        };
        let files = match history {
            HistoryWriter::Archive(archive) => archive.writer().layout().files().clone(),
            HistoryWriter::Moku(site) => RootedFiles::new(site.site_root()),
        };
        let now = opened.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        let known = CacheReader::open(&files, &path).filter(|(_, about)| about.folder == folder);
        let (reader, last) = known.map(|(reader, about)| (reader, about.commit)).unzip();
        let cache = CacheWriter::begin(files, path).ok().map(|cache| (folder, cache));
        (Self { reader, last }, SeenFilesWriter { cache, now })
    }

    /// Whether the cache was written for this commit.
    pub fn is_of(&self, commit: &SeenCommit) -> bool {
        self.last.as_ref() == Some(commit)
    }

    /// The next file that comes before `name`, or the next one at all.
    pub fn next_before(&mut self, name: Option<&Path>) -> Option<SeenFile> {
        self.reader.as_mut()?.next_before(name)
    }

    /// The file with this name, if it is the next one.
    pub fn next_with(&mut self, name: &Path) -> Option<SeenFile> {
        self.reader.as_mut()?.next_with(name)
    }
}

/// For each file, given with its path now, its body if the file did not change and the body is
/// stored.
pub fn unchanged_bodies(
    history: &HistoryWriter,
    files: &[(&Path, Option<&SeenFile>)],
) -> Result<Vec<Option<StoredBody>>, RepositoryError> {
    let unchanged = |(path, seen): &(&Path, Option<&SeenFile>)| seen.as_ref()?.body_if_unchanged(path);
    let mut bodies: Vec<Option<StoredBody>> = files.iter().map(unchanged).collect();
    let wanted: Vec<&StoredBody> = bodies.iter().flatten().collect();
    let known = match history {
        _ if wanted.is_empty() => Vec::new(),
        HistoryWriter::Archive(archive) => {
            archive.are_indexed(&wanted.iter().map(|body| body.id).collect::<Vec<_>>())?
        }
        HistoryWriter::Moku(site) => {
            site.have_lengths(&wanted.iter().map(|body| (body.id, body.length)).collect::<Vec<_>>())?
        }
    };
    for (body, is_stored) in bodies.iter_mut().filter(|body| body.is_some()).zip(known) {
        body.take_if(|_| !is_stored);
    }
    Ok(bodies)
}

/// Stores a file with `keep`, and finds out what to record of it.
///
/// `now` is that of [`SeenFilesWriter::now`].
pub fn watch(
    (path, name): (&Path, PathBuf),
    now: i128,
    keep: impl FnOnce(File) -> Result<StoredBody, RepositoryError>,
) -> Result<(StoredBody, SeenFile), RepositoryError> {
    let file = open_file(path)?;
    let again = file.try_clone().map_err(RepositoryError::read(path))?;
    let before = again.metadata().map_err(RepositoryError::read(path))?;
    let kept = keep(file)?;
    let after = again.metadata().map_err(RepositoryError::read(path))?;
    let stamp = FileStamp::of(&before);
    let is_known =
        before.is_file() && stamp == FileStamp::of(&after) && kept.length == stamp.0 && stamp.is_settled(now);
    let stored = is_known.then_some((stamp, kept.id));
    Ok((kept, SeenFile { name, stored }))
}

/// Opens a file that is not a folder.
pub fn open_file(path: &Path) -> Result<File, RepositoryError> {
    let file = File::open(path).map_err(RepositoryError::read(path))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(RepositoryError::read(path)(io::ErrorKind::IsADirectory.into()));
    }
    Ok(file)
}

impl SeenFilesWriter {
    /// When the layout was opened for writing, in nanoseconds since 1970 by the clock of its files.
    pub fn now(&self) -> i128 {
        self.now
    }

    /// Records a file. Files come in the order of their paths.
    pub fn add(&mut self, seen: &SeenFile) {
        if self.cache.as_mut().is_some_and(|(_, cache)| cache.add(seen).is_err()) {
            self.cache = None;
        }
    }

    /// Makes this the cache for the next commit. A failure only costs time then.
    pub fn publish(self, commit: SeenCommit) {
        if let Some((folder, cache)) = self.cache {
            let _ = cache.publish(&AboutCache::new(folder, commit));
        }
    }
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
        // Programs can set the modification time, but not the change time.
        assert!(!at((5, 5), (99, 990_000_000)).is_settled(now));
        // Some file systems store only whole seconds.
        assert!(!at((99, 0), (99, 0)).is_settled(now));
        assert!(at((97, 0), (97, 0)).is_settled(now));
        assert!(!at((101, 5), (101, 5)).is_settled(now));
    }
}
