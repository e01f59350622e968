//! Restores a tree: names, content, modes, times and links.
//!
//! The manifest is read three times, with a few buffers each time. The first pass validates all of
//! it before anything is written. The second creates everything. The third sets the modes and times
//! of folders, which creating their content would have changed. Everything is reached through a
//! handle of the target folder without following a link: neither one that the tree contains, nor one
//! that another program puts there meanwhile.
//!
//! A missing or damaged object affects only its own file: it is reported, and the rest is restored.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::Timespec;
use varve_core::RecordId;
use varve_file::{EntryKind, Folder, FolderError};
use varve_store::ObjectReader;

use super::entry::{FileTime, TreeEntry, TreeEntryKind};
use super::read::ManifestReader;
use crate::archive::{Archive, hex_digits};
use crate::error::RepositoryError;
use crate::ordered_workers::{WorkerCount, run_in_order};
use crate::tree_manifest_error::ManifestError;

/// The mode bits that are restored. Set-user-id and set-group-id are not, because the restoring
/// user may be another owner.
const MODE_BITS: u32 = 0o1777;
/// Number of files that a thread takes at a time.
const FILES_PER_BATCH: usize = 16;

/// The content of a tree according to its manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
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

/// The result of restoring a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct RestoredTree {
    /// The entries in the manifest.
    #[serde(flatten)]
    pub survey: TreeSurvey,
    /// The number of entries that were not restored.
    pub failed: u64,
}

/// Reads a whole manifest and counts its entries. An invalid manifest is an error.
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

/// Restores the tree into `folder`, which must be new or empty. `failed` receives each error;
/// `progress` receives the number of bytes restored since the last call, from any thread.
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
    let root = Folder::open(folder).map_err(|error| unwritten(folder, error))?;
    make_all(archive, manifest, &root, threads, progress, &failures)?;
    finish_folders(archive, manifest, &root, &failures)?;
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

/// A file to restore.
struct RestoreJob {
    /// Its name below the target folder.
    name: PathBuf,
    mode: u32,
    modified: FileTime,
    size: u64,
    id: RecordId,
}

/// Creates folders and links on this thread, in order, and files on all threads.
fn make_all<F: FnMut(RepositoryError)>(
    archive: &Archive,
    manifest: RecordId,
    root: &Folder,
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
            let name = PathBuf::from(OsStr::from_bytes(&entry.path));
            match entry.kind {
                TreeEntryKind::File { mode, size, id } => {
                    return Some(RestoreJob { name, mode, modified: entry.modified, size, id });
                }
                TreeEntryKind::Folder { .. } if entry.path == super::ROOT_NAME => {}
                TreeEntryKind::Folder { .. } => failures.borrow_mut().note(make_folder(root, &name)),
                TreeEntryKind::Link { target } => {
                    failures.borrow_mut().note(make_link(root, &name, &target, entry.modified));
                }
            }
        }
    });
    let worker = || |job: RestoreJob| make_file(archive, root, &job, progress);
    run_in_order(WorkerCount { threads, together: FILES_PER_BATCH }, jobs, worker, |result| {
        failures.borrow_mut().note(result);
        Ok::<(), RepositoryError>(())
    })?;
    unread.map_or(Ok(()), Err)
}

fn unwritten(path: &Path, error: FolderError) -> RepositoryError {
    RepositoryError::Write { path: path.to_owned(), source: error.into() }
}

/// Creates a folder that only its owner can access until its content is complete.
fn make_folder(root: &Folder, name: &Path) -> Result<(), RepositoryError> {
    root.create_private_folder(name).map_err(|error| unwritten(&root.path().join(name), error))
}

fn make_link(root: &Folder, name: &Path, target: &[u8], modified: FileTime) -> Result<(), RepositoryError> {
    root.create_link(name, Path::new(OsStr::from_bytes(target)))
        .and_then(|()| root.set_modified(name, time_of(modified)))
        .map_err(|error| unwritten(&root.path().join(name), error))
}

fn make_file(
    archive: &Archive,
    root: &Folder,
    job: &RestoreJob,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(), RepositoryError> {
    let object = archive.object(job.id)?;
    let path = root.path().join(&job.name);
    let mut file = root.create_private_file(&job.name).map_err(|error| unwritten(&path, error))?;
    let written = fill((&mut file, &path), &mut object.read()?, job, progress);
    let finished = written.and_then(|()| {
        let mode = fs::Permissions::from_mode(job.mode & MODE_BITS);
        file.set_permissions(mode).map_err(RepositoryError::write(&path))?;
        root.set_modified(&job.name, time_of(job.modified)).map_err(|error| unwritten(&path, error))
    });
    if finished.is_err() {
        // An incomplete file must not look complete. A failure to remove it is the lesser problem.
        let _ = root.remove(&job.name);
    }
    finished
}

fn fill(
    (file, path): (&mut File, &Path),
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
        file.write_all(&buffer[..count]).map_err(RepositoryError::write(path))?;
        length += count as u64;
        progress(count as u64);
    }
    if length != job.size {
        let message = format!("it has {length} bytes, and the manifest says {}", job.size);
        return Err(broken(io::Error::new(io::ErrorKind::InvalidData, message)));
    }
    Ok(())
}

/// Sets the mode and time of each folder after those of its content: the innermost first.
fn finish_folders<F: FnMut(RepositoryError)>(
    archive: &Archive,
    manifest: RecordId,
    root: &Folder,
    failures: &RefCell<Failures<F>>,
) -> Result<(), RepositoryError> {
    let mut current = Vec::new();
    let mut open: Vec<(usize, u32, FileTime)> = Vec::new();
    let finish = |path: &[u8], (mode, modified): (u32, FileTime)| {
        let name = Path::new(OsStr::from_bytes(path));
        // A folder that could not be created was reported already.
        if matches!(root.entry(name), Ok(Some(found)) if found.kind == EntryKind::Folder) {
            failures.borrow_mut().note(finish_folder(root, name, mode, modified));
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

/// Whether the path is in the folder. The empty path is the tree itself.
fn is_in(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

fn finish_folder(root: &Folder, name: &Path, mode: u32, modified: FileTime) -> Result<(), RepositoryError> {
    let finished = root.subfolder(name).and_then(|folder| {
        folder.set_modified("", time_of(modified))?;
        folder.set_permissions(mode & MODE_BITS)
    });
    finished.map_err(|error| unwritten(&root.path().join(name), error))
}

fn time_of(time: FileTime) -> Timespec {
    Timespec { tv_sec: time.seconds, tv_nsec: i64::from(time.nanoseconds) }
}

/// Returns an error if the folder is not empty or is not a folder. A missing folder is accepted.
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
