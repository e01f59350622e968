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
//! The cache also names the version that was committed, and the page of each file in it. As long as
//! that version is the parent of the next one, an unchanged file is a page that did not change:
//! neither the file nor the catalog is read for it.

use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use varve_core::body::StoredBody;
use varve_core::headers::Headers;
use varve_core::{BodyId, VersionId};
use varve_file::RootedFiles;

use crate::atomic_replace::replace;
use crate::error::RepositoryError;
use crate::history::HistoryWriter;

/// Version number of the cache format.
const FORMAT_NUMBER: u32 = 2;
/// Maximum length of the cache, in bytes: about two million files.
const MAX_CACHE_BYTES: u64 = 512 << 20;
/// Resolution assumed for timestamps with a fraction of a second.
const FINE_CLOCK_NANOSECONDS: i128 = 20_000_000;
/// Resolution assumed for timestamps in whole seconds, as some file systems store them.
const COARSE_CLOCK_NANOSECONDS: i128 = 2_000_000_000;

/// Identifies the state of a file: length, modification time, change time, inode, device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A file, its body and its page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SeenFile {
    state: FileStamp,
    body: BodyId,
    page: PageMark,
}

/// The page that a commit makes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageMark {
    /// A checksum of URL, status and headers.
    checksum: u64,
    /// Its URL.
    url: String,
}

impl PageMark {
    /// The mark of a page.
    pub fn of(url: &str, status: u16, headers: &Headers) -> Self {
        // Another release of the standard library may give other numbers. Then all files are read.
        let mut hasher = DefaultHasher::new();
        (url, status).hash(&mut hasher);
        for (name, value) in headers.iter() {
            (name, value).hash(&mut hasher);
        }
        Self { checksum: hasher.finish(), url: url.to_owned() }
    }
}

/// The commit that the cache was written for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCommit {
    /// The version.
    pub version: VersionId,
    /// The URL below which it has all pages.
    pub covers: Option<String>,
}

/// The cache file, as JSON.
#[derive(Serialize, Deserialize)]
struct SeenFilesJson {
    format: u32,
    folder: PathBuf,
    commit: SeenCommit,
    /// Paths are relative to `folder`.
    files: Vec<(PathBuf, FileStamp, BodyId, PageMark)>,
    /// The URLs of pages of the version whose files are not recorded.
    other_pages: Vec<String>,
}

/// Files by their paths relative to the folder.
type FilesByName = HashMap<PathBuf, SeenFile>;

/// The committed files of one folder.
#[derive(Default)]
pub struct SeenFiles {
    /// The folder as the caller gave it; the paths of its files begin with it.
    given: PathBuf,
    /// The canonical path of the folder.
    folder: PathBuf,
    /// The cache, a file of the archive.
    kept_in: Option<(RootedFiles, PathBuf)>,
    now: i128,
    before: FilesByName,
    /// Files that have not changed and whose bodies are stored.
    unchanged: HashMap<PathBuf, SeenFile>,
    /// The commit that the cache was written for, and the pages of it whose files are not recorded.
    last: Option<(SeenCommit, Vec<String>)>,
    /// Files read in this run, to be recorded for the next one.
    read: Mutex<Vec<(PathBuf, SeenFile)>>,
    /// The URLs of files that were read and cannot be recorded.
    unrecorded: Mutex<Vec<String>>,
}

impl SeenFiles {
    /// Loads the cache for a folder. It is empty if `folder` is `None`.
    pub fn of(history: &HistoryWriter, folder: Option<&Path>) -> Self {
        let Some(given) = folder else { return Self::default() };
        let cache = match history {
            HistoryWriter::Archive(archive) => archive.seen_files(),
            HistoryWriter::Moku(site) => Some(site.seen_files()),
        };
        let (Ok(folder), Some((kept_in, opened))) = (given.canonicalize(), cache) else {
            return Self::default();
        };
        let now = opened.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        let files = match history {
            HistoryWriter::Archive(archive) => archive.writer().layout().files().clone(),
            HistoryWriter::Moku(site) => RootedFiles::new(site.site_root()),
        };
        let (before, last) = read(&files, &kept_in, &folder).unzip();
        let kept_in = Some((files, kept_in));
        let before = before.unwrap_or_default();
        Self { given: given.to_owned(), folder, kept_in, now, before, last, ..Self::default() }
    }

    /// Determines which files are unchanged and have their bodies stored.
    pub fn look_up<'a>(
        &mut self,
        history: &HistoryWriter,
        files: impl Iterator<Item = &'a Path>,
    ) -> Result<(), RepositoryError> {
        if self.before.is_empty() {
            return Ok(());
        }
        let same: Vec<(&Path, SeenFile)> =
            files.filter_map(|path| Some((path, self.as_before(path)?))).collect();
        let known = match history {
            HistoryWriter::Archive(archive) => {
                archive.are_indexed(&same.iter().map(|(_, seen)| seen.body).collect::<Vec<BodyId>>())?
            }
            HistoryWriter::Moku(site) => {
                let bodies: Vec<_> = same.iter().map(|(_, seen)| (seen.body, seen.state.0)).collect();
                site.have_lengths(&bodies)?
            }
        };
        let here = same.into_iter().zip(known).filter(|(_, known)| *known);
        self.unchanged = here.map(|((path, seen), _)| (path.to_owned(), seen)).collect();
        Ok(())
    }

    fn as_before(&self, path: &Path) -> Option<SeenFile> {
        let seen = self.before.get(self.name_of(path)?)?;
        let about = std::fs::symlink_metadata(path).ok()?;
        (about.is_file() && FileStamp::of(&about) == seen.state).then(|| seen.clone())
    }

    /// Whether the cache was written for this commit.
    pub fn is_of(&self, commit: &SeenCommit) -> bool {
        self.last.as_ref().is_some_and(|(last, _)| last == commit)
    }

    /// Whether a file is unchanged and its page was the same in the commit of the cache.
    pub fn has_page(&self, path: &Path, page: &PageMark) -> bool {
        self.unchanged.get(path).is_some_and(|seen| seen.page == *page)
    }

    /// The URLs of pages in the commit of the cache whose files are not in `files`.
    pub fn missing_pages<'a>(&self, files: impl Iterator<Item = &'a Path>) -> HashSet<String> {
        let here: HashSet<&Path> = files.filter_map(|path| self.name_of(path)).collect();
        let gone = self.before.iter().filter(|(name, _)| !here.contains(name.as_path()));
        let others = self.last.iter().flat_map(|(_, others)| others.iter().cloned());
        gone.map(|(_, seen)| seen.page.url.clone()).chain(others).collect()
    }

    /// The path of a file relative to the folder.
    fn name_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.given).ok()
    }

    /// The body of an unchanged file, which is recorded with this page.
    pub fn body_of(&self, path: &Path, page: &PageMark) -> Option<StoredBody> {
        let seen = self.unchanged.get(path)?;
        if seen.page != *page {
            self.record(path, SeenFile { page: page.clone(), ..seen.clone() });
        }
        Some(StoredBody { id: seen.body, length: seen.state.0, new: false })
    }

    fn record(&self, path: &Path, seen: SeenFile) {
        if let Some(name) = self.name_of(path) {
            self.read.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), seen));
        }
    }

    /// Opens a file, stores it with `keep`, and records it if it did not change meanwhile.
    pub fn watch(
        &self,
        path: &Path,
        page: PageMark,
        keep: impl FnOnce(File) -> Result<StoredBody, RepositoryError>,
    ) -> Result<StoredBody, RepositoryError> {
        let file = File::open(path).map_err(RepositoryError::read(path))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(RepositoryError::read(path)(io::ErrorKind::IsADirectory.into()));
        }
        if self.kept_in.is_none() || self.name_of(path).is_none() {
            return keep(file);
        }
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
            self.record(path, SeenFile { state, body: kept.id, page });
        } else {
            self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).push(page.url);
        }
        Ok(kept)
    }

    /// Writes the cache for the next run. A failed write only costs time then.
    pub fn write_down(self, commit: SeenCommit) {
        let Some((kept_files, kept_in)) = &self.kept_in else { return };
        let read = std::mem::take(&mut *self.read.lock().unwrap_or_else(PoisonError::into_inner));
        let other_pages =
            std::mem::take(&mut *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner));
        let again: HashSet<&PathBuf> = read.iter().map(|(name, _)| name).collect();
        let unchanged = self.unchanged.iter().filter_map(|(path, seen)| {
            let name = self.name_of(path)?.to_owned();
            (!again.contains(&name)).then(|| (name, seen.clone()))
        });
        let all = unchanged.chain(read.iter().cloned());
        let files = all.map(|(path, seen)| (path, seen.state, seen.body, seen.page)).collect();
        let folder = self.folder.clone();
        let written = SeenFilesJson { format: FORMAT_NUMBER, folder, commit, files, other_pages };
        // A path that is not UTF-8 cannot be written as JSON: then no cache is written.
        if let Ok(text) = serde_json::to_vec(&written) {
            let _ = replace(kept_files, kept_in, &mut text.as_slice(), false);
        }
    }
}

/// Reads the cache of a folder. `None` if it is of another folder or cannot be read.
fn read(files: &RootedFiles, path: &Path, folder: &Path) -> Option<(FilesByName, (SeenCommit, Vec<String>))> {
    let written: SeenFilesJson = serde_json::from_slice(&files.read(path, MAX_CACHE_BYTES).ok()??).ok()?;
    let is_this = written.format == FORMAT_NUMBER && written.folder == folder;
    let files = written.files.into_iter();
    let files = files.map(|(path, state, body, page)| (path, SeenFile { state, body, page }));
    is_this.then(|| (files.collect(), (written.commit, written.other_pages)))
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
