//! Brings a tree back: names, content, modes, times and links.
//!
//! The manifest is read three times, each time in a few buffers: once to see that all of it is harmless, before anything
//! is written; once to make everything; and once to give the folders their modes and times, which making their content
//! would have changed. Everything is made new, in folders made here, so nothing is ever written through a link.
//!
//! An object that is missing or damaged costs its file and no other: it is reported, and the rest comes back.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};
use varve_core::RecordId;
use varve_store::ObjectReader;

use super::entry::{FileTime, TreeEntry, TreeEntryKind};
use super::read::{ManifestError, ManifestReader};
use crate::archive::{Archive, hex_digits};
use crate::error::RepositoryError;
use crate::ordered_workers::{WorkerCount, run_in_order};

/// The bits that a restored file or folder may have. Those that lend the owner's rights to others are not given back:
/// who restores may be another owner.
const MODE_BITS: u32 = 0o1777;
/// So many files are given to a thread at a time.
const FILES_PER_BATCH: usize = 16;

/// What a tree holds, according to its manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSurvey {
    /// Files.
    pub files: u64,
    /// Folders, without the tree itself.
    pub folders: u64,
    /// Links.
    pub links: u64,
    /// Bytes in the files.
    pub bytes: u64,
}

/// What came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoredTree {
    /// What the manifest lists.
    pub survey: TreeSurvey,
    /// How many of those did not come back.
    pub failed: u64,
}

/// Reads all of a manifest and says what it holds, or why it must not be followed.
pub fn survey(archive: &Archive, manifest: RecordId) -> Result<TreeSurvey, RepositoryError> {
    let mut survey = TreeSurvey::default();
    for_each(archive, manifest, |entry| match entry.kind {
        TreeEntryKind::File { size, .. } => {
            survey.files += 1;
            survey.bytes = survey.bytes.saturating_add(size);
        }
        TreeEntryKind::Folder { .. } => survey.folders += 1,
        TreeEntryKind::Link { .. } => survey.links += 1,
    })?;
    survey.folders -= 1;
    Ok(survey)
}

/// Brings the tree back into `folder`, which must be new or empty. `failed` hears what did not come back, and why;
/// `progress`, from any thread, how many more bytes did.
pub fn restore(
    archive: &Archive,
    manifest: RecordId,
    folder: &Path,
    threads: usize,
    progress: &(dyn Fn(u64) + Sync),
    failed: impl FnMut(RepositoryError),
) -> Result<RestoredTree, RepositoryError> {
    let survey = survey(archive, manifest)?;
    require_empty(folder)?;
    fs::create_dir_all(folder).map_err(RepositoryError::write(folder))?;
    let failures = RefCell::new(Failures { count: 0, each: failed });
    make_all(archive, manifest, folder, threads, progress, &failures)?;
    finish_folders(archive, manifest, folder, &failures)?;
    Ok(RestoredTree { survey, failed: failures.into_inner().count })
}

struct Failures<F> {
    count: u64,
    each: F,
}

impl<F: FnMut(RepositoryError)> Failures<F> {
    fn note(&mut self, result: Result<(), RepositoryError>) {
        if let Err(error) = result {
            self.count += 1;
            (self.each)(error);
        }
    }
}

fn open(archive: &Archive, id: RecordId) -> Result<ManifestReader<ObjectReader>, RepositoryError> {
    let content = archive.object(id)?.read()?;
    ManifestReader::new(content).map_err(|source| not_followed(id, source))
}

fn not_followed(id: RecordId, source: ManifestError) -> RepositoryError {
    RepositoryError::Manifest { id: hex_digits(id), source }
}

fn for_each(archive: &Archive, id: RecordId, mut each: impl FnMut(TreeEntry)) -> Result<(), RepositoryError> {
    let mut reader = open(archive, id)?;
    while let Some(entry) = reader.next_entry().map_err(|source| not_followed(id, source))? {
        each(entry);
    }
    Ok(())
}

/// A file to be made.
struct RestoreJob {
    path: PathBuf,
    mode: u32,
    modified: FileTime,
    size: u64,
    id: RecordId,
}

/// Makes folders and links on this thread, in order, and files on all of them.
fn make_all<F: FnMut(RepositoryError)>(
    archive: &Archive,
    manifest: RecordId,
    folder: &Path,
    threads: usize,
    progress: &(dyn Fn(u64) + Sync),
    failures: &RefCell<Failures<F>>,
) -> Result<(), RepositoryError> {
    let mut reader = open(archive, manifest)?;
    let mut unread = None;
    let jobs = std::iter::from_fn(|| {
        loop {
            let entry = match reader.next_entry() {
                Ok(entry) => entry?,
                Err(error) => {
                    unread = Some(not_followed(manifest, error));
                    return None;
                }
            };
            let path = place(folder, &entry.path);
            match entry.kind {
                TreeEntryKind::File { mode, size, id } => {
                    return Some(RestoreJob { path, mode, modified: entry.modified, size, id });
                }
                TreeEntryKind::Folder { .. } if entry.path == super::ROOT_NAME => {}
                TreeEntryKind::Folder { .. } => failures.borrow_mut().note(make_folder(&path)),
                TreeEntryKind::Link { target } => {
                    failures.borrow_mut().note(make_link(&path, &target, entry.modified));
                }
            }
        }
    });
    let worker = || |job: RestoreJob| make_file(archive, &job, progress);
    run_in_order(WorkerCount { threads, together: FILES_PER_BATCH }, jobs, worker, |result| {
        failures.borrow_mut().note(result);
        Ok::<(), RepositoryError>(())
    })?;
    unread.map_or(Ok(()), Err)
}

fn place(folder: &Path, path: &[u8]) -> PathBuf {
    folder.join(OsStr::from_bytes(path))
}

/// For its owner alone until its content is there.
fn make_folder(path: &Path) -> Result<(), RepositoryError> {
    DirBuilder::new().mode(0o700).create(path).map_err(RepositoryError::write(path))
}

fn make_link(path: &Path, target: &[u8], modified: FileTime) -> Result<(), RepositoryError> {
    symlink(OsStr::from_bytes(target), path).map_err(RepositoryError::write(path))?;
    set_time(path, modified)
}

fn make_file(
    archive: &Archive,
    job: &RestoreJob,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(), RepositoryError> {
    let object = archive.object(job.id)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(&job.path).map_err(RepositoryError::write(&job.path))?;
    let written = fill(&mut file, &mut object.read()?, job, progress);
    let finished = written.and_then(|()| {
        let mode = fs::Permissions::from_mode(job.mode & MODE_BITS);
        file.set_permissions(mode).map_err(RepositoryError::write(&job.path))?;
        set_time(&job.path, job.modified)
    });
    if finished.is_err() {
        // Half a file must not look like a whole one. That it cannot be removed is the smaller trouble of the two.
        let _ = fs::remove_file(&job.path);
    }
    finished
}

fn fill(
    file: &mut fs::File,
    content: &mut ObjectReader,
    job: &RestoreJob,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(), RepositoryError> {
    let broken = |source| RepositoryError::ReadObject { id: hex_digits(job.id), source };
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        let count = content.read(&mut buffer).map_err(broken)?;
        if count == 0 {
            break;
        }
        file.write_all(&buffer[..count]).map_err(RepositoryError::write(&job.path))?;
        length += count as u64;
        progress(count as u64);
    }
    if length != job.size {
        let message = format!("it has {length} bytes, and the manifest says {}", job.size);
        return Err(broken(io::Error::new(io::ErrorKind::InvalidData, message)));
    }
    Ok(())
}

/// Gives each folder its mode and time when all that is in it has its own: the innermost first.
fn finish_folders<F: FnMut(RepositoryError)>(
    archive: &Archive,
    manifest: RecordId,
    folder: &Path,
    failures: &RefCell<Failures<F>>,
) -> Result<(), RepositoryError> {
    let mut current = Vec::new();
    let mut open: Vec<(usize, u32, FileTime)> = Vec::new();
    let finish = |path: &[u8], (mode, modified): (u32, FileTime)| {
        let path = place(folder, path);
        // One that could not be made was reported then.
        if path.is_dir() {
            failures.borrow_mut().note(finish_folder(&path, mode, modified));
        }
    };
    for_each(archive, manifest, |entry| {
        let TreeEntryKind::Folder { mode } = entry.kind else { return };
        while let Some((length, mode, modified)) =
            open.pop_if(|(length, ..)| !is_in(&entry.path, &current[..*length]))
        {
            finish(&current[..length], (mode, modified));
        }
        current = if entry.path == super::ROOT_NAME { Vec::new() } else { entry.path };
        open.push((current.len(), mode, entry.modified));
    })?;
    while let Some((length, mode, modified)) = open.pop() {
        finish(&current[..length], (mode, modified));
    }
    Ok(())
}

/// Whether the path lies in the folder. The empty path is the tree itself.
fn is_in(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

fn finish_folder(path: &Path, mode: u32, modified: FileTime) -> Result<(), RepositoryError> {
    set_time(path, modified)?;
    let mode = fs::Permissions::from_mode(mode & MODE_BITS);
    fs::set_permissions(path, mode).map_err(RepositoryError::write(path))
}

/// Sets when it was last written to; of a link, its own.
fn set_time(path: &Path, modified: FileTime) -> Result<(), RepositoryError> {
    let unchanged = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let written = Timespec { tv_sec: modified.seconds, tv_nsec: i64::from(modified.nanoseconds) };
    let times = Timestamps { last_access: unchanged, last_modification: written };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| RepositoryError::Write { path: path.to_owned(), source: error.into() })
}

/// Refuses a folder that holds anything, or something else than a folder; a missing one is fine.
pub fn require_empty(folder: &Path) -> Result<(), RepositoryError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(RepositoryError::NotEmpty { path: folder.to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(RepositoryError::NotAFolder { path: folder.to_owned() })
        }
        Err(source) => Err(RepositoryError::Read { path: folder.to_owned(), source }),
    }
}
