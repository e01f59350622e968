//! Writes the files of a version into a folder, in place of those of an earlier version.
//!
//! This thread makes folders and removes files; all threads write files, in batches. Pages with one
//! body are written together, so that their body is read once. Everything is
//! reached through [`RootedFiles`], so that no link in the folder is followed. Files are not synced:
//! they can be written again, and the caller marks the folder as unfinished until then.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use varve_core::VersionId;
use varve_core::body::BodyError;
use varve_core::history::Capture;
use varve_file::{EntryKind, RootedFiles};
use varve_repository::history::{CheckoutReport, HistoryReader, digest_of};
use varve_repository::ordered_workers::{WorkerCount, run_in_order};
use varve_repository::{BodyFailure, RepositoryError};
use varve_store::steps::step;

use super::{FileOptions, FilePlan, LinkTargets, MARK_FILE, PageContent, PagePlace};

/// Maximum size of a body that is written from one buffer.
const MAX_BUFFERED_BYTES: u64 = 4 << 20;
/// Maximum number of files waiting to be written.
const MAX_PENDING_FILES: usize = 4096;
/// Maximum number of files that one thread writes with one body.
const MAX_FILES_PER_BODY: usize = 64;
/// Number of bodies that a thread takes at a time.
const BODIES_PER_BATCH: usize = 16;

/// What a folder holds before an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeCondition {
    /// Nothing.
    New,
    /// Files of versions that were written with these options.
    Used {
        /// The versions.
        holds: Vec<(VersionId, FileOptions)>,
        /// Whether writing was interrupted, so that files may be missing or incomplete.
        unfinished: bool,
    },
}

/// An update of a folder.
pub(crate) struct FilesUpdate<'a> {
    history: &'a HistoryReader,
    root: &'a Path,
    files: RootedFiles,
    condition: TreeCondition,
    /// Paths known to be folders.
    folders: HashSet<PathBuf>,
    done: CheckoutReport,
}

/// A page and its file.
struct FileJob {
    capture: Capture,
    /// The path below the root.
    name: PathBuf,
    /// Whether a purge removed the page from its version.
    is_hidden: bool,
}

impl<'a> FilesUpdate<'a> {
    /// An update of the folder `root`, which has its mark.
    pub(crate) fn new(history: &'a HistoryReader, root: &'a Path, condition: TreeCondition) -> Self {
        let (files, folders) = (RootedFiles::new(root), HashSet::new());
        Self { history, root, files, condition, folders, done: CheckoutReport::default() }
    }

    /// Writes the files of a version, and removes those of the version before.
    pub(crate) fn run(
        mut self,
        version: VersionId,
        options: FileOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<CheckoutReport, RepositoryError> {
        let folds_case = self.folds_case()?;
        let (plan, content) = planned(self.history, version, options, folds_case)?;
        if let TreeCondition::Used { holds, .. } = self.condition.clone() {
            let names = names_of(&plan)?;
            for (before, options) in holds {
                self.remove_files_of((before, options), &names, folds_case)?;
            }
        }
        let mut jobs = Vec::new();
        // Elsewhere nothing has verified that the ids of bodies are those of their bytes.
        let shares_bodies = matches!(self.history, HistoryReader::Archive(_) | HistoryReader::Moku(_));
        for page in plan.pages() {
            match page? {
                (capture, PagePlace::File(name)) => {
                    jobs.push(FileJob { capture, name, is_hidden: false });
                }
                (_, PagePlace::Shared(_)) => self.done.written += 1,
                (_, PagePlace::Redirect(_)) => self.done.redirects += 1,
            }
            if jobs.len() >= MAX_PENDING_FILES {
                let bodies = self.in_read_order(std::mem::take(&mut jobs), shares_bodies)?;
                self.write(bodies, &content, progress)?;
            }
        }
        let bodies = self.in_read_order(jobs, shares_bodies)?;
        self.write(bodies, &content, progress)?;
        Ok(self.done)
    }

    /// Whether the file system finds the mark under a name with other case.
    fn folds_case(&self) -> Result<bool, RepositoryError> {
        let path = self.root.join(MARK_FILE.to_ascii_uppercase());
        Ok(self.files.entry(&path).map_err(RepositoryError::read(&path))?.is_some())
    }

    /// Removes the files of an earlier version that are not among `names`. A version that does not
    /// exist any more has none.
    fn remove_files_of(
        &mut self,
        (before, options): (VersionId, FileOptions),
        names: &HashSet<PathBuf>,
        folds_case: bool,
    ) -> Result<(), RepositoryError> {
        if self.history.has_versions() && self.history.catalog().version(&before)?.is_none() {
            return Ok(());
        }
        let (old, content) = planned(self.history, before, options, folds_case)?;
        for page in old.pages() {
            let (capture, PagePlace::File(name)) = page? else { continue };
            if !names.contains(&name) {
                self.remove(&content, &capture, &name)?;
            }
        }
        Ok(())
    }

    fn remove(
        &mut self,
        content: &PageContent,
        capture: &Capture,
        name: &Path,
    ) -> Result<(), RepositoryError> {
        let path = self.root.join(name);
        let is_unfinished = matches!(self.condition, TreeCondition::Used { unfinished: true, .. });
        // A file in the place of a folder is not ours, and neither is anything else in the way.
        let Ok(found) = self.files.entry(&path) else { return Ok(()) };
        let Some(found) = found else {
            if is_unfinished {
                // An interrupted update may have removed the file and not its folder.
                self.remove_empty_folders(&path);
            }
            return Ok(());
        };
        let is_ours = found.kind == EntryKind::File
            && (is_unfinished || self.is_as_written(content, capture, name, found.length));
        if !is_ours {
            self.done.stayed += 1;
            return Ok(());
        }
        step("remove", &path);
        self.files.remove(&path).map_err(RepositoryError::write(&path))?;
        self.done.removed += 1;
        self.remove_empty_folders(&path);
        Ok(())
    }

    /// Whether a file has the content that was written for a page. A page whose body cannot be read
    /// is not known, and its file stays.
    fn is_as_written(&self, content: &PageContent, capture: &Capture, name: &Path, length: u64) -> bool {
        let path = self.root.join(name);
        if content.is_body(capture, name) {
            let Ok(body) = self.history.body_id(capture) else { return false };
            return digest_of(&self.files, &path, &[capture.length]).is_ok_and(|found| found == Some(body));
        }
        let mut written = ContentDigest { digest: Sha256::new(), length: 0 };
        let Ok(body) = self.history.open_body(capture) else { return false };
        if content.write(capture, name, body, &mut written).is_err() || written.length != length {
            return false;
        }
        let found = digest_of(&self.files, &path, &[Some(length)]);
        found.is_ok_and(|found| {
            found.is_some_and(|found| found.as_bytes()[..] == written.digest.finalize()[..])
        })
    }

    fn remove_empty_folders(&mut self, path: &Path) {
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != self.root) {
            step("remove a folder", folder);
            match self.files.remove_folder(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => break,
                _ => {}
            }
            self.folders.remove(folder);
        }
    }

    /// Makes the folder of a file.
    fn make_folder_of(&mut self, name: &Path) -> Result<(), RepositoryError> {
        let mut folder = self.root.to_owned();
        for part in name.parent().into_iter().flat_map(Path::iter) {
            folder.push(part);
            if self.folders.contains(&folder) {
                continue;
            }
            step("make a folder", &folder);
            match self.files.create_folder(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !self.files.is_folder(&folder).map_err(RepositoryError::write(&folder))? {
                        return Err(RepositoryError::InTheWay { path: folder });
                    }
                }
                made => made.map_err(RepositoryError::write(&folder))?,
            }
            self.folders.insert(folder.clone());
        }
        Ok(())
    }

    /// Sorts files by the places of their bodies, and with `shares_bodies` puts those together whose
    /// pages have one body.
    fn in_read_order(
        &self,
        mut jobs: Vec<FileJob>,
        shares_bodies: bool,
    ) -> Result<Vec<Vec<FileJob>>, RepositoryError> {
        let captures: Vec<&Capture> = jobs.iter().map(|job| &job.capture).collect();
        let (order, are_hidden) = (self.history.read_order(&captures)?, self.history.are_hidden(&captures)?);
        jobs.iter_mut().zip(are_hidden).for_each(|(job, is_hidden)| job.is_hidden = is_hidden);
        let mut jobs: Vec<(u64, FileJob)> = order.into_iter().zip(jobs).collect();
        jobs.sort_by(|(place, job), (other_place, other)| {
            (place, job.capture.body).cmp(&(other_place, other.capture.body))
        });
        let mut bodies: Vec<Vec<FileJob>> = Vec::with_capacity(jobs.len());
        for (_, job) in jobs {
            let is_same = |files: &&mut Vec<FileJob>| {
                let shared = files.first().is_some_and(|file| file.has_body_of(&job));
                shares_bodies && shared && files.len() < MAX_FILES_PER_BODY
            };
            match bodies.last_mut().filter(is_same) {
                Some(files) => files.push(job),
                None => bodies.push(vec![job]),
            }
        }
        Ok(bodies)
    }

    fn write(
        &mut self,
        bodies: Vec<Vec<FileJob>>,
        content: &PageContent,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), RepositoryError> {
        if bodies.is_empty() {
            return Ok(());
        }
        bodies.iter().flatten().try_for_each(|job| self.make_folder_of(&job.name))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(bodies.len());
        let writer = FileWriter {
            history: self.history,
            root: self.root,
            files: &self.files,
            content,
            is_new: self.condition == TreeCondition::New,
        };
        let (done, mut failed) = (&mut self.done, Vec::new());
        run_in_order(
            WorkerCount { threads, together: BODIES_PER_BATCH },
            bodies.into_iter(),
            || {
                let mut buffer = Vec::new();
                move |files: Vec<FileJob>| writer.write_all(files, &mut buffer)
            },
            |files| {
                progress(files.len() as u64);
                for (written, job) in files {
                    match written {
                        Ok(()) => done.written += 1,
                        Err(error) => {
                            let failure: BodyFailure = error.body_failure().ok_or(error)?;
                            done.left_out.add(failure, &job.capture.url);
                            failed.push(job.name);
                        }
                    }
                }
                Ok::<(), RepositoryError>(())
            },
        )?;
        // No other thread writes now, so an empty folder stays empty.
        failed.iter().for_each(|name| self.remove_empty_folders(&self.root.join(name)));
        Ok(())
    }
}

impl FileJob {
    /// Whether both pages may be shown and have the same bytes. The body of a truncated response is
    /// read from its own record.
    fn has_body_of(&self, other: &Self) -> bool {
        let is_shareable = |job: &Self| !job.is_hidden && !job.capture.truncated;
        self.capture.body == other.capture.body && is_shareable(self) && is_shareable(other)
    }
}

/// The files of a version, and what is in them.
fn planned(
    history: &HistoryReader,
    version: VersionId,
    options: FileOptions,
    folds_case: bool,
) -> Result<(FilePlan<'_>, PageContent), RepositoryError> {
    let plan = FilePlan::new(history, version, options, folds_case)?;
    let targets = plan.options().relative_links.then(|| LinkTargets::of(&plan)).transpose()?;
    Ok((plan, PageContent::new(targets)))
}

fn names_of(plan: &FilePlan<'_>) -> Result<HashSet<PathBuf>, RepositoryError> {
    let mut names = HashSet::new();
    for page in plan.pages() {
        if let (_, PagePlace::File(name)) = page? {
            names.insert(name);
        }
    }
    Ok(names)
}

/// Writes single files, on any thread.
#[derive(Clone, Copy)]
struct FileWriter<'a> {
    history: &'a HistoryReader,
    root: &'a Path,
    files: &'a RootedFiles,
    content: &'a PageContent,
    is_new: bool,
}

impl FileWriter<'_> {
    /// Writes the files of pages with one body.
    fn write_all(
        &self,
        files: Vec<FileJob>,
        buffer: &mut Vec<u8>,
    ) -> Vec<(Result<(), RepositoryError>, FileJob)> {
        // If the body cannot be read, each page fails by itself.
        let is_read = files.len() > 1 && self.read_body(&files[0], buffer).is_ok_and(|is_read| is_read);
        let write = |job: FileJob| {
            let written = match is_read {
                true => {
                    let path = self.root.join(&job.name);
                    self.put(&job, &path, buffer.as_slice()).map_err(RepositoryError::write(&path))
                }
                false => self.write(&job, buffer),
            };
            (written, job)
        };
        files.into_iter().map(write).collect()
    }

    /// Reads the body of a page into a buffer. Returns false if it is longer than recorded, or long.
    fn read_body(&self, job: &FileJob, buffer: &mut Vec<u8>) -> Result<bool, RepositoryError> {
        let FileJob { capture, is_hidden, .. } = job;
        match (capture.length.is_some_and(|length| length <= MAX_BUFFERED_BYTES), is_hidden) {
            (false, _) => Ok(false),
            (true, true) => self.history.read_body(capture, MAX_BUFFERED_BYTES, buffer),
            (true, false) => self.history.read_shown_body(capture, MAX_BUFFERED_BYTES, buffer),
        }
    }

    /// Writes the file of a page. If the body cannot be read, no file of another page is left in its
    /// place. The same body, written earlier, stays: it may be the last good copy.
    fn write(&self, job: &FileJob, buffer: &mut Vec<u8>) -> Result<(), RepositoryError> {
        let path = self.root.join(&job.name);
        let written = self.write_to(job, &path, buffer);
        if written.as_ref().is_err_and(|error| error.body_failure().is_some()) {
            let capture = &job.capture;
            let is_copy = !self.is_new
                && self.content.is_body(capture, &job.name)
                && digest_of(self.files, &path, &[capture.length])
                    .is_ok_and(|found| found == Some(capture.body));
            if !is_copy {
                self.files.remove(&path).map_err(RepositoryError::write(&path))?;
            }
        }
        written
    }

    fn write_to(&self, job: &FileJob, path: &Path, buffer: &mut Vec<u8>) -> Result<(), RepositoryError> {
        // Other bodies are streamed.
        if self.read_body(job, buffer)? {
            return self.put(job, path, buffer.as_slice()).map_err(RepositoryError::write(path));
        }
        let mut body = CheckedReader { body: self.history.open_body(&job.capture)?, failed: false };
        self.put(job, path, &mut body).map_err(|error| match body.failed {
            true => RepositoryError::Body(BodyError::new(error)),
            false => RepositoryError::write(path)(error),
        })
    }

    fn put(&self, job: &FileJob, path: &Path, body: impl Read) -> io::Result<()> {
        if self.is_new {
            step("create", path);
            let mut file = self.files.create_new(path)?;
            step("write", path);
            return self.content.write(&job.capture, &job.name, body, &mut file);
        }
        let file = self.files.pending_file(path)?;
        self.content.write(&job.capture, &job.name, body, &mut file.as_file())?;
        step("rename", path);
        Ok(file.publish()?)
    }
}

/// A body that records whether reading it failed.
struct CheckedReader {
    body: Box<dyn Read + Send>,
    failed: bool,
}

impl Read for CheckedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer);
        self.failed |= matches!(&read, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        read
    }
}

/// Computes the digest and the length of what is written.
struct ContentDigest {
    digest: Sha256,
    length: u64,
}

impl Write for ContentDigest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.digest.update(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
