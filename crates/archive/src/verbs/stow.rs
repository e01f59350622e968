//! `stow`: keeps a tree of files, each content once, and a manifest that brings it back.
//!
//! Files are stored on all cores while the walk goes on; the lines of the manifest come out in order and are spooled, so
//! that neither the tree nor its manifest is ever in memory. The manifest is stored behind all that it names.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use varve_repository::RepositoryError;

use rustix::fs::OFlags;
use varve_store::{BufferedObject, StoredObject};
use varve_warc::write::Packer;

use crate::error::ArchiveError;
use varve_repository::archive_writer::ArchiveWriter;
use varve_repository::content::{ContentDescription, StoredContent, hold_file, store_file};
use varve_repository::media_type;
use varve_repository::ordered_workers::{WorkerCount, together_in_order};
use varve_repository::tree::{self, TreeEntry, TreeEntryKind, TreeWalk, WalkStep};

pub use varve_repository::tree::{Exclude, Skipped, TreeSurvey};

/// After so many new objects the silo is synced, so that little is lost and little is held in memory.
const FILES_PER_SYNC: u64 = 8192;

/// So many files are given to a thread at a time.
const FILES_PER_BATCH: usize = 16;

/// What to stow, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder.
    pub folder: PathBuf,
    /// What to leave out.
    pub exclude: Exclude,
    /// How many threads store.
    pub threads: usize,
}

/// Something that is not in the manifest, or not as it was.
#[derive(Debug)]
pub enum StowNote {
    /// It changed while it was read, and is kept as it was read.
    Changed(PathBuf),
    /// It cannot be kept as a file, folder or link.
    Skipped(PathBuf, Skipped),
    /// It could not be read.
    Failed(ArchiveError),
}

/// What was stowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stowed {
    /// The manifest.
    pub manifest: StoredContent,
    /// What it lists.
    pub survey: TreeSurvey,
    /// Objects that the archive did not have, the manifest aside.
    pub new_objects: u64,
    /// The bytes in them.
    pub new_bytes: u64,
    /// Those of them that were here, but damaged: they were written anew.
    pub mended: u64,
    /// How many were left out because of what they are.
    pub skipped: u64,
    /// How many could not be read.
    pub failed: u64,
    /// How many changed while they were read.
    pub changed: u64,
}

/// What became of one step of the walk.
enum StowStep {
    /// A folder or a link.
    Known(TreeEntry),
    File(TreeEntry, StoredContent),
    /// A file that was another one when it had been read.
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

/// Stows the tree. `progress` hears, from any thread, how many more bytes were read; `note` of what is left out.
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
    let spool = BufWriter::new(tempfile::tempfile_in(&temporary).map_err(unwritten)?);
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

/// The manifest as it grows, and what is counted.
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

/// One who stores files, several at a time: the small ones together.
struct StowWorker<'a> {
    writer: &'a ArchiveWriter,
    progress: &'a (dyn Fn(u64) + Sync),
    packer: Option<Packer>,
    /// Buffers that were used and are free again.
    buffers: Vec<Vec<u8>>,
}

/// Where a step has come to.
enum StowProgress {
    Done(StowStep),
    /// A small file that was read and waits for the others.
    Held(Box<(OpenedFile, BufferedObject)>),
}

/// A file, as it was when it was opened.
struct OpenedFile {
    /// Its path in the tree.
    name: Vec<u8>,
    path: PathBuf,
    metadata: Metadata,
    /// Whether it was another one when it had been read.
    changed: bool,
}

impl OpenedFile {
    /// Looks whether it has changed since it was opened.
    fn look_again(&mut self, file: &File) -> Result<(), ArchiveError> {
        let now = file.metadata().map_err(ArchiveError::read(&self.path))?;
        let state = |metadata: &Metadata| (metadata.len(), tree::modified(metadata));
        self.changed = state(&now) != state(&self.metadata);
        Ok(())
    }

    /// Its line, and what was stored for it.
    fn kept(self, stored: &StoredObject) -> StowStep {
        let kept = StoredContent::from(stored);
        let kind =
            TreeEntryKind::File { mode: self.metadata.mode() & 0o7777, size: kept.length, id: kept.id };
        let entry = TreeEntry { path: self.name, modified: tree::modified(&self.metadata), kind };
        if self.changed { StowStep::Changed(entry, kept, self.path) } else { StowStep::File(entry, kept) }
    }
}

impl StowWorker<'_> {
    /// What becomes of each step, in their order. An error ends all.
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

/// The packer of a worker, made when it is first needed.
fn packer<'a>(
    writer: &ArchiveWriter,
    packer: &'a mut Option<Packer>,
) -> Result<&'a mut Packer, ArchiveError> {
    match packer {
        Some(packer) => Ok(packer),
        none => Ok(none.insert(writer.store().packer()?)),
    }
}

/// Opens what was a file a moment ago: were it a link or a pipe by now, it is not followed and not waited for.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)
}
