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
use varve_repository::content::{About, Kept, hold_file, store_file};
use varve_repository::in_order::{Crew, together_in_order};
use varve_repository::media_type;
use varve_repository::tree::{self, Entry, Kind, Step, Walk};
use varve_repository::writer::ArchiveWriter;

pub use varve_repository::tree::{Exclude, Skipped, Survey};

/// After so many new objects the silo is synced, so that little is lost and little is held in memory.
const GROUP: u64 = 8192;

/// So many files are given to a thread at a time.
const TOGETHER: usize = 16;

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
pub enum Note {
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
    pub manifest: Kept,
    /// What it lists.
    pub survey: Survey,
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
enum Outcome {
    /// A folder or a link.
    Known(Entry),
    File(Entry, Kept),
    /// A file that was another one when it had been read.
    Changed(Entry, Kept, PathBuf),
    Skipped(PathBuf, Skipped),
    Failed(ArchiveError),
    Fatal(ArchiveError),
}

impl Outcome {
    fn is_new(&self) -> bool {
        matches!(self, Self::File(_, kept) | Self::Changed(_, kept, _) if kept.new)
    }
}

/// Stows the tree. `progress` hears, from any thread, how many more bytes were read; `note` of what is left out.
pub fn stow(
    writer: &ArchiveWriter,
    request: &Request,
    progress: &(dyn Fn(u64) + Sync),
    note: impl FnMut(Note),
) -> Result<Stowed, ArchiveError> {
    let root = writer.layout().root();
    let walk = Walk::new(&request.folder, &request.exclude, root)?;
    let temporary = writer.layout().temporary();
    let unwritten = |source| RepositoryError::Write { path: temporary.clone(), source };
    let spool = BufWriter::new(tempfile::tempfile_in(&temporary).map_err(unwritten)?);
    let mut gathering = Gathering {
        spool,
        note,
        survey: Survey::default(),
        new: (0, 0),
        mended: 0,
        left: (0, 0),
        changed: 0,
    };
    writeln!(gathering.spool, "{}", tree::FIRST_LINE).map_err(unwritten)?;
    let mut unsynced = 0;
    together_in_order(
        Crew { threads: request.threads, together: TOGETHER },
        walk,
        || {
            let mut worker = Worker { writer, progress, packer: None, buffers: Vec::new() };
            move |steps| worker.keep(steps).unwrap_or_else(|error| vec![Outcome::Fatal(error)])
        },
        |outcome| {
            unsynced += u64::from(outcome.is_new());
            if unsynced >= GROUP {
                writer.store().sync()?;
                unsynced = 0;
            }
            gathering.take(outcome, &temporary)
        },
    )?;
    let Gathering { spool, survey, new, mended, left, changed, .. } = gathering;
    let mut spool = spool.into_inner().map_err(|error| unwritten(error.into_error()))?;
    spool.rewind().map_err(unwritten)?;
    let about = About { date: writer.now(), media_type: tree::MEDIA_TYPE.to_owned(), refers_to: None };
    let mut packer = writer.store().packer()?;
    let stored = store_file(writer, &mut packer, &about, (&spool, &temporary), &|_| {})?;
    writer.store().sync()?;
    let survey = Survey { folders: survey.folders - 1, ..survey };
    let ((new_objects, new_bytes), (skipped, failed)) = (new, left);
    let manifest = Kept::from(&stored);
    Ok(Stowed { manifest, survey, new_objects, new_bytes, mended, skipped, failed, changed })
}

/// The manifest as it grows, and what is counted.
struct Gathering<F> {
    spool: BufWriter<File>,
    note: F,
    survey: Survey,
    /// Objects and bytes.
    new: (u64, u64),
    mended: u64,
    /// Skipped and failed.
    left: (u64, u64),
    changed: u64,
}

impl<F: FnMut(Note)> Gathering<F> {
    fn take(&mut self, outcome: Outcome, temporary: &Path) -> Result<(), ArchiveError> {
        let (entry, kept) = match outcome {
            Outcome::Known(entry) => (entry, None),
            Outcome::File(entry, kept) => (entry, Some(kept)),
            Outcome::Changed(entry, kept, path) => {
                self.changed += 1;
                (self.note)(Note::Changed(path));
                (entry, Some(kept))
            }
            Outcome::Skipped(path, why) => {
                self.left.0 += 1;
                (self.note)(Note::Skipped(path, why));
                return Ok(());
            }
            Outcome::Failed(error) => {
                self.left.1 += 1;
                (self.note)(Note::Failed(error));
                return Ok(());
            }
            Outcome::Fatal(error) => return Err(error),
        };
        match entry.kind {
            Kind::Folder { .. } => self.survey.folders += 1,
            Kind::Link { .. } => self.survey.links += 1,
            Kind::File { size, .. } => {
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
struct Worker<'a> {
    writer: &'a ArchiveWriter,
    progress: &'a (dyn Fn(u64) + Sync),
    packer: Option<Packer>,
    /// Buffers that were used and are free again.
    buffers: Vec<Vec<u8>>,
}

/// Where a step has come to.
enum Begun {
    Done(Outcome),
    /// A small file that was read and waits for the others.
    Held(Box<(Found, BufferedObject)>),
}

/// A file, as it was when it was opened.
struct Found {
    /// Its path in the tree.
    name: Vec<u8>,
    path: PathBuf,
    metadata: Metadata,
    /// Whether it was another one when it had been read.
    changed: bool,
}

impl Found {
    /// Looks whether it has changed since it was opened.
    fn look_again(&mut self, file: &File) -> Result<(), ArchiveError> {
        let now = file.metadata().map_err(ArchiveError::read(&self.path))?;
        let state = |metadata: &Metadata| (metadata.len(), tree::modified(metadata));
        self.changed = state(&now) != state(&self.metadata);
        Ok(())
    }

    /// Its line, and what was stored for it.
    fn kept(self, stored: &StoredObject) -> Outcome {
        let kept = Kept::from(stored);
        let kind = Kind::File { mode: self.metadata.mode() & 0o7777, size: kept.length, id: kept.id };
        let entry = Entry { path: self.name, modified: tree::modified(&self.metadata), kind };
        if self.changed { Outcome::Changed(entry, kept, self.path) } else { Outcome::File(entry, kept) }
    }
}

impl Worker<'_> {
    /// What becomes of each step, in their order. An error ends all.
    fn keep(&mut self, steps: Vec<Step>) -> Result<Vec<Outcome>, ArchiveError> {
        let (mut outcomes, mut files, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for (number, step) in steps.into_iter().enumerate() {
            match self.begin(step) {
                Ok(Begun::Done(outcome)) => outcomes.push(Some(outcome)),
                Ok(Begun::Held(file)) => {
                    let (found, content) = *file;
                    files.push((number, found));
                    held.push(content);
                    outcomes.push(None);
                }
                Err(error) if error.ends_all() => return Err(error),
                Err(error) => outcomes.push(Some(Outcome::Failed(error))),
            }
        }
        let stored = self.writer.store().store_buffered(packer(self.writer, &mut self.packer)?, &mut held)?;
        self.buffers.extend(held.into_iter().map(BufferedObject::into_buffer));
        for ((number, found), stored) in files.into_iter().zip(stored) {
            outcomes[number] = Some(found.kept(&stored));
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    fn begin(&mut self, step: Step) -> Result<Begun, ArchiveError> {
        let (name, path) = match step {
            Step::Known(entry) => return Ok(Begun::Done(Outcome::Known(entry))),
            Step::Skipped(path, why) => return Ok(Begun::Done(Outcome::Skipped(path, why))),
            Step::Failed(error) => return Err(error.into()),
            Step::File(name, path) => (name, path),
        };
        let file = open(&path).map_err(ArchiveError::read(&path))?;
        let metadata = file.metadata().map_err(ArchiveError::read(&path))?;
        if !metadata.is_file() {
            let why = tree::special(metadata.file_type());
            return Ok(Begun::Done(Outcome::Skipped(path, why)));
        }
        let mut found = Found { name, path, metadata, changed: false };
        let media_type = media_type::of_name(&found.path).to_owned();
        let about = About { date: self.writer.now(), media_type, refers_to: None };
        let buffer = self.buffers.pop().unwrap_or_default();
        match hold_file(&about, (&file, &found.metadata), &found.path, buffer, self.progress)? {
            Ok(held) => {
                found.look_again(&file)?;
                return Ok(Begun::Held(Box::new((found, held))));
            }
            Err(buffer) => self.buffers.push(buffer),
        }
        let packer = packer(self.writer, &mut self.packer)?;
        let stored = store_file(self.writer, packer, &about, (&file, &found.path), self.progress)?;
        found.look_again(&file)?;
        Ok(Begun::Done(found.kept(&stored)))
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
