//! `stow`: stores a tree of files, each content once, with a manifest that restores it.
//!
//! Files are stored on all cores while the walk continues. The lines of the manifest are produced
//! in order and spooled to disk, so neither the tree nor its manifest is ever held in memory. The
//! manifest is stored after everything it names.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use varve_store::{BufferedObject, StoredObject};
use varve_warc::write::Packer;

use crate::error::ArchiveError;
use varve_repository::content::{ContentDescription, StoredContent, hold_file, store_file};
use varve_repository::media_type;
use varve_repository::ordered_workers::{WorkerCount, together_in_order};
use varve_repository::tree::{self, TreeEntry, TreeEntryKind, TreeWalk, WalkStep};
use varve_repository::{ArchiveWriter, RepositoryError};

pub use varve_repository::tree::{Exclude, Skipped, TreeSurvey};

/// Number of new objects after which the silo is synced. It bounds the possible loss and the memory
/// in use.
const FILES_PER_SYNC: u64 = 8192;

/// Number of files that a thread takes at a time.
const FILES_PER_BATCH: usize = 16;

/// The options of a stow.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder.
    pub folder: PathBuf,
    /// Paths to exclude.
    pub exclude: Exclude,
    /// Number of threads that store files.
    pub threads: usize,
}

/// An entry that is missing from the manifest, or was changed while it was read.
#[derive(Debug)]
pub enum StowNote {
    /// The file changed while it was read; the bytes that were read are stored.
    Changed(PathBuf),
    /// The entry is not a file, folder or link.
    Skipped(PathBuf, Skipped),
    /// The entry could not be read.
    Failed(ArchiveError),
}

/// The result of a stow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stowed {
    /// The manifest.
    pub manifest: StoredContent,
    /// Counts of the entries it lists.
    pub survey: TreeSurvey,
    /// Number of objects that the archive did not have, without the manifest.
    pub new_objects: u64,
    /// Their total length in bytes.
    pub new_bytes: u64,
    /// Number of those that the archive had in damaged form and that were written again.
    pub mended: u64,
    /// Number of entries skipped because of their kind.
    pub skipped: u64,
    /// Number of entries that could not be read.
    pub failed: u64,
    /// Number of files that changed while they were read.
    pub changed: u64,
}

/// The result of one step of the walk.
enum StowStep {
    /// A folder or a link.
    Known(TreeEntry),
    File(TreeEntry, StoredContent),
    /// A file that changed while it was read.
    Changed(TreeEntry, StoredContent, PathBuf),
    Skipped(PathBuf, Skipped),
    Failed(ArchiveError),
    Fatal(ArchiveError),
}

impl StowStep {
    fn is_new(&self) -> bool {
        matches!(self, Self::File(_, kept) | Self::Changed(_, kept, _) if kept.new)
    }
}

/// Stows the tree. `progress` is called from any thread with the number of bytes just read. `note`
/// is called for each entry that was skipped, failed or changed.
pub fn stow(
    writer: &ArchiveWriter,
    request: &Request,
    progress: &(dyn Fn(u64) + Sync),
    note: impl FnMut(StowNote),
) -> Result<Stowed, ArchiveError> {
    let root = writer.layout().root();
    let walk = TreeWalk::new(&request.folder, &request.exclude, root)?;
    let temporary = writer.layout().temporary();
    let unwritten = |source| RepositoryError::Write { path: temporary.clone(), source };
    let spool = BufWriter::new(writer.layout().temporary_folder().unnamed_file().map_err(unwritten)?);
    let mut gathering = ManifestBuilder {
        spool,
        note,
        survey: TreeSurvey::default(),
        new: (0, 0),
        mended: 0,
        left: (0, 0),
        changed: 0,
    };
    writeln!(gathering.spool, "{}", tree::FIRST_LINE).map_err(unwritten)?;
    let mut unsynced = 0;
    together_in_order(
        WorkerCount { threads: request.threads, together: FILES_PER_BATCH },
        walk,
        || {
            let mut worker = StowWorker { writer, progress, packer: None, buffers: Vec::new() };
            move |steps| worker.keep(steps).unwrap_or_else(|error| vec![StowStep::Fatal(error)])
        },
        |outcome| {
            unsynced += u64::from(outcome.is_new());
            if unsynced >= FILES_PER_SYNC {
                writer.store().sync()?;
                unsynced = 0;
            }
            gathering.take(outcome, &temporary)
        },
    )?;
    let ManifestBuilder { spool, survey, new, mended, left, changed, .. } = gathering;
    let mut spool = spool.into_inner().map_err(|error| unwritten(error.into_error()))?;
    spool.rewind().map_err(unwritten)?;
    let about =
        ContentDescription { date: writer.now(), media_type: tree::MEDIA_TYPE.to_owned(), refers_to: None };
    let mut packer = writer.store().packer()?;
    let stored = store_file(writer, &mut packer, &about, (&spool, &temporary), &|_| {})?;
    writer.store().sync()?;
    let survey = TreeSurvey { folders: survey.folders - 1, ..survey };
    let ((new_objects, new_bytes), (skipped, failed)) = (new, left);
    let manifest = StoredContent::from(&stored);
    Ok(Stowed { manifest, survey, new_objects, new_bytes, mended, skipped, failed, changed })
}

/// The manifest under construction, with its counts.
struct ManifestBuilder<F> {
    spool: BufWriter<File>,
    note: F,
    survey: TreeSurvey,
    /// Objects and bytes.
    new: (u64, u64),
    mended: u64,
    /// Skipped and failed.
    left: (u64, u64),
    changed: u64,
}

impl<F: FnMut(StowNote)> ManifestBuilder<F> {
    fn take(&mut self, outcome: StowStep, temporary: &Path) -> Result<(), ArchiveError> {
        let (entry, kept) = match outcome {
            StowStep::Known(entry) => (entry, None),
            StowStep::File(entry, kept) => (entry, Some(kept)),
            StowStep::Changed(entry, kept, path) => {
                self.changed += 1;
                (self.note)(StowNote::Changed(path));
                (entry, Some(kept))
            }
            StowStep::Skipped(path, why) => {
                self.left.0 += 1;
                (self.note)(StowNote::Skipped(path, why));
                return Ok(());
            }
            StowStep::Failed(error) => {
                self.left.1 += 1;
                (self.note)(StowNote::Failed(error));
                return Ok(());
            }
            StowStep::Fatal(error) => return Err(error),
        };
        match entry.kind {
            TreeEntryKind::Folder { .. } => self.survey.folders += 1,
            TreeEntryKind::Link { .. } => self.survey.links += 1,
            TreeEntryKind::File { size, .. } => {
                self.survey.files += 1;
                self.survey.bytes += size;
            }
        }
        if let Some(kept) = kept.filter(|kept| kept.new) {
            self.new.0 += 1;
            self.new.1 += kept.length;
            self.mended += u64::from(kept.mended);
        }
        self.spool.write_all(&entry.line()).map_err(ArchiveError::write(temporary))
    }
}

/// A worker that stores files in batches, the small files of a batch together.
struct StowWorker<'a> {
    writer: &'a ArchiveWriter,
    progress: &'a (dyn Fn(u64) + Sync),
    packer: Option<Packer>,
    /// Used buffers that are free again.
    buffers: Vec<Vec<u8>>,
}

/// The state of a step.
enum StowProgress {
    Done(StowStep),
    /// A small file that was read and waits for the rest of the batch.
    Held(Box<(OpenedFile, BufferedObject)>),
}

/// A file with its metadata from when it was opened.
struct OpenedFile {
    /// Its path in the tree.
    name: Vec<u8>,
    path: PathBuf,
    metadata: Metadata,
    /// Whether it changed while it was read.
    changed: bool,
}

impl OpenedFile {
    /// Checks whether the file has changed since it was opened.
    fn look_again(&mut self, file: &File) -> Result<(), ArchiveError> {
        let now = file.metadata().map_err(ArchiveError::read(&self.path))?;
        let state = |metadata: &Metadata| (metadata.len(), tree::modified(metadata));
        self.changed = state(&now) != state(&self.metadata);
        Ok(())
    }

    /// Its manifest entry, and the object stored for it.
    fn kept(self, stored: &StoredObject) -> StowStep {
        let kept = StoredContent::from(stored);
        let kind =
            TreeEntryKind::File { mode: self.metadata.mode() & 0o7777, size: kept.length, id: kept.id };
        let entry = TreeEntry { path: self.name, modified: tree::modified(&self.metadata), kind };
        if self.changed { StowStep::Changed(entry, kept, self.path) } else { StowStep::File(entry, kept) }
    }
}

impl StowWorker<'_> {
    /// The result of each step, in order. A fatal error ends the batch.
    fn keep(&mut self, steps: Vec<WalkStep>) -> Result<Vec<StowStep>, ArchiveError> {
        let (mut outcomes, mut files, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for (number, step) in steps.into_iter().enumerate() {
            match self.begin(step) {
                Ok(StowProgress::Done(outcome)) => outcomes.push(Some(outcome)),
                Ok(StowProgress::Held(file)) => {
                    let (found, content) = *file;
                    files.push((number, found));
                    held.push(content);
                    outcomes.push(None);
                }
                Err(error) if error.is_fatal() => return Err(error),
                Err(error) => outcomes.push(Some(StowStep::Failed(error))),
            }
        }
        let stored = self.writer.store().store_buffered(packer(self.writer, &mut self.packer)?, &mut held)?;
        self.buffers.extend(held.into_iter().map(BufferedObject::into_buffer));
        for ((number, found), stored) in files.into_iter().zip(stored) {
            outcomes[number] = Some(found.kept(&stored));
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    fn begin(&mut self, step: WalkStep) -> Result<StowProgress, ArchiveError> {
        let (name, path) = match step {
            WalkStep::Known(entry) => return Ok(StowProgress::Done(StowStep::Known(entry))),
            WalkStep::Skipped(path, why) => return Ok(StowProgress::Done(StowStep::Skipped(path, why))),
            WalkStep::Failed(error) => return Err(error.into()),
            WalkStep::File(name, path) => (name, path),
        };
        let file = open(&path).map_err(ArchiveError::read(&path))?;
        let metadata = file.metadata().map_err(ArchiveError::read(&path))?;
        if !metadata.is_file() {
            let why = tree::special(metadata.file_type());
            return Ok(StowProgress::Done(StowStep::Skipped(path, why)));
        }
        let mut found = OpenedFile { name, path, metadata, changed: false };
        let media_type = media_type::of_name(&found.path).to_owned();
        let about = ContentDescription { date: self.writer.now(), media_type, refers_to: None };
        let buffer = self.buffers.pop().unwrap_or_default();
        match hold_file(&about, (&file, &found.metadata), &found.path, buffer, self.progress)? {
            Ok(held) => {
                found.look_again(&file)?;
                return Ok(StowProgress::Held(Box::new((found, held))));
            }
            Err(buffer) => self.buffers.push(buffer),
        }
        let packer = packer(self.writer, &mut self.packer)?;
        let stored = store_file(self.writer, packer, &about, (&file, &found.path), self.progress)?;
        found.look_again(&file)?;
        Ok(StowProgress::Done(found.kept(&stored)))
    }
}

/// The packer of a worker, created on first use.
fn packer<'a>(
    writer: &ArchiveWriter,
    packer: &'a mut Option<Packer>,
) -> Result<&'a mut Packer, ArchiveError> {
    match packer {
        Some(packer) => Ok(packer),
        none => Ok(none.insert(writer.store().packer()?)),
    }
}

/// Opens a path that was a regular file during the walk. If it has become a link or a pipe, the
/// open does not follow it and does not block.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)
}
