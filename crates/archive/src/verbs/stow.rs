//! `stow`: keeps a tree of files, each content once, and a manifest that brings it back.
//!
//! Files are stored on all cores while the walk goes on; the lines of the manifest come out in order and are spooled, so
//! that neither the tree nor its manifest is ever in memory. The manifest is stored behind all that it names.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use varve_store::Stored;
use varve_warc::write::Packer;

use crate::content::{About, Kept, store_file};
use crate::error::ArchiveError;
use crate::in_order::{Crew, in_order};
use crate::media_type;
use crate::tree::{self, Entry, Kind, Step, Walk};
use crate::writer::ArchiveWriter;

pub use crate::tree::{Exclude, Skipped, Survey};

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

/// Something that is not in the manifest.
#[derive(Debug)]
pub enum Note {
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
}

/// What became of one step of the walk.
enum Outcome {
    Entry(Entry, Option<Kept>),
    Note(Note),
    Fatal(ArchiveError),
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
    let unwritten = |source| ArchiveError::Write { path: temporary.clone(), source };
    let spool = BufWriter::new(tempfile::tempfile_in(&temporary).map_err(unwritten)?);
    let mut gathering =
        Gathering { spool, note, survey: Survey::default(), new: (0, 0), mended: 0, left: (0, 0) };
    writeln!(gathering.spool, "{}", tree::FIRST_LINE).map_err(unwritten)?;
    let mut unsynced = 0;
    in_order(
        Crew { threads: request.threads, together: TOGETHER },
        walk,
        || worker(writer, progress),
        |outcome| {
            unsynced += u64::from(matches!(&outcome, Outcome::Entry(_, Some(kept)) if kept.new));
            if unsynced >= GROUP {
                writer.store().sync()?;
                unsynced = 0;
            }
            gathering.take(outcome, &temporary)
        },
    )?;
    let Gathering { spool, survey, new, mended, left, .. } = gathering;
    let mut spool = spool.into_inner().map_err(|error| unwritten(error.into_error()))?;
    spool.rewind().map_err(unwritten)?;
    let about = About { date: writer.now(), media_type: tree::MEDIA_TYPE.to_owned(), refers_to: None };
    let mut packer = writer.store().packer()?;
    let stored = store_file(writer, &mut packer, &about, (spool, &temporary), &|_| {})?;
    writer.store().sync()?;
    let survey = Survey { folders: survey.folders - 1, ..survey };
    let ((new_objects, new_bytes), (skipped, failed)) = (new, left);
    Ok(Stowed { manifest: Kept::from(&stored), survey, new_objects, new_bytes, mended, skipped, failed })
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
}

impl<F: FnMut(Note)> Gathering<F> {
    fn take(&mut self, outcome: Outcome, temporary: &Path) -> Result<(), ArchiveError> {
        let (entry, kept) = match outcome {
            Outcome::Entry(entry, kept) => (entry, kept),
            Outcome::Fatal(error) => return Err(error),
            Outcome::Note(note) => {
                match note {
                    Note::Skipped(..) => self.left.0 += 1,
                    Note::Failed(_) => self.left.1 += 1,
                }
                (self.note)(note);
                return Ok(());
            }
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

fn worker(writer: &ArchiveWriter, progress: &(dyn Fn(u64) + Sync)) -> impl FnMut(Step) -> Outcome {
    let mut packer: Option<Packer> = None;
    move |step| {
        let (name, path) = match step {
            Step::Known(entry) => return Outcome::Entry(entry, None),
            Step::Skipped(path, why) => return Outcome::Note(Note::Skipped(path, why)),
            Step::Failed(error) => return Outcome::Note(Note::Failed(error)),
            Step::File(name, path) => (name, path),
        };
        let packer = match &mut packer {
            Some(packer) => packer,
            none => match writer.store().packer() {
                Ok(packer) => none.insert(packer),
                Err(error) => return Outcome::Fatal(error.into()),
            },
        };
        match keep_file(writer, packer, name, &path, progress) {
            Ok(outcome) => outcome,
            Err(error) if error.ends_all() => Outcome::Fatal(error),
            Err(error) => Outcome::Note(Note::Failed(error)),
        }
    }
}

fn keep_file(
    writer: &ArchiveWriter,
    packer: &mut Packer,
    name: Vec<u8>,
    path: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Outcome, ArchiveError> {
    let file = open(path).map_err(ArchiveError::read(path))?;
    let metadata = file.metadata().map_err(ArchiveError::read(path))?;
    if !metadata.is_file() {
        let why = tree::special(metadata.file_type());
        return Ok(Outcome::Note(Note::Skipped(path.to_owned(), why)));
    }
    let about =
        About { date: writer.now(), media_type: media_type::of_name(path).to_owned(), refers_to: None };
    let stored: Stored = store_file(writer, packer, &about, (file, path), progress)?;
    let kept = Kept::from(&stored);
    let kind = Kind::File { mode: metadata.mode() & 0o7777, size: kept.length, id: kept.id };
    Ok(Outcome::Entry(Entry { path: name, modified: tree::modified(&metadata), kind }, Some(kept)))
}

/// Opens what was a file a moment ago: were it a link or a pipe by now, it is not followed and not waited for.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)
}
