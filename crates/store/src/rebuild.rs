//! The index made again from the silos alone.
//!
//! Every record of every silo is read on all cores; its header gives its entries, through the same function that made
//! them when it was written. The result is the same file, byte for byte, that housekeeping would have come to. What the
//! records say to a catalog is told on the way, so that nobody needs to read them twice.

use std::path::{Path, PathBuf};

use varve_warc::rule::Finding;

use crate::error::StoreError;
use crate::exchange::{Scanned, look_at};
use crate::index::{Entry, Index, IndexError, IndexOptions, Rebuild};
use crate::silo::{SiloFiles, Stretch, numbers, walk};
use crate::writer::recover::{Settled, set_aside, settle};
use crate::writer::segments;

/// What a rebuild came to.
#[derive(Debug, Default)]
pub struct RebuildDone {
    /// Silos that were read.
    pub silos: u64,
    /// Records in them.
    pub records: u64,
    /// Entries in the new index.
    pub entries: u64,
    /// What was not as it should be, with the silo: records that cannot be read have no entry.
    pub findings: Vec<(u32, Finding)>,
    /// Where the end of the last silo lies that could not be read and was cut off, if anybody may have been promised it.
    pub set_aside: Option<PathBuf>,
}

/// Bytes that a rebuild will read, for those who show progress.
pub fn bytes_to_read(files: &SiloFiles) -> Result<u64, StoreError> {
    Ok(files.list()?.values().map(|silo| silo.length).sum())
}

/// Makes the index in `folder` again, and tells `told` what the records say, in order. Nobody else may write meanwhile.
///
/// The silos are put in order on the way, as opening for writing does: segments that were being named get their names,
/// and a torn record at the end of the last silo is cut off. Where no index is left to tell whether that record was torn
/// in a crash or damaged later, what is cut off is kept beside the silo.
pub fn rebuild(
    files: &SiloFiles,
    folder: &Path,
    options: IndexOptions,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    told: &mut dyn FnMut(Scanned),
) -> Result<RebuildDone, StoreError> {
    let mut done = RebuildDone::default();
    segments::complete(files)?;
    files.disk.make_folders(folder)?;
    // The old index is asked for one thing, and need not know: which of the last records was promised to somebody.
    let known = Index::open(&*files.disk, folder).ok().and_then(|index| index.greatest_place());
    let mut index = Rebuild::begin(&*files.disk, folder, options)?;
    let silos = files.list()?;
    // The new index will not know of silos that are lost: their numbers are remembered elsewhere.
    numbers::remember(files, known.map_or(0, |known| known.silo() + 1))?;
    let last = silos.keys().next_back().copied();
    for (number, silo) in &silos {
        let source = files.open(*number)?;
        let mut whole = WholeFirst {
            index: &mut index,
            told: &mut *told,
            held: Vec::new(),
            held_back: Vec::new(),
            failure: Ok(()),
        };
        let mut walked = walk(&*source, *number, threads, progress, &look_at, &mut |part| whole.take(part))
            .map_err(|error| StoreError::walk(*number, error))?;
        let Held { entries: mut held, said: held_back } = whole.finish()?;
        let settled = if last == Some(*number) {
            if known.is_none() && !silo.read_only {
                done.set_aside = set_aside(files, silo, &*source, walked.good)?;
            }
            settle(files, silo, known, &walked)?
        } else {
            Settled::Sealed
        };
        if matches!(settled, Settled::Open | Settled::Removed) {
            // What was cut off was promised to nobody, and is no finding.
            held.dedup_by_key(|entry| entry.place);
            walked.records = walked.records.saturating_sub(held.len() as u64);
            walked.findings.retain(|finding| finding.offset < walked.good);
        } else {
            held.into_iter().try_for_each(|entry| index.push(entry))?;
            held_back.into_iter().for_each(|(_, said)| told(said));
        }
        done.silos += u64::from(settled != Settled::Removed);
        done.records += walked.records;
        done.findings.extend(walked.findings.into_iter().map(|finding| (*number, finding)));
    }
    done.entries = index.finish()?.entries;
    Ok(done)
}

/// What may be cut off.
struct Held {
    entries: Vec<Entry>,
    said: Vec<(u64, Scanned)>,
}

/// Records on their way into a new index: at once for what is whole, and later, perhaps, for what may be cut off.
struct WholeFirst<'a, 'b> {
    index: &'a mut Rebuild<'b>,
    told: &'a mut dyn FnMut(Scanned),
    held: Vec<Entry>,
    held_back: Vec<(u64, Scanned)>,
    failure: Result<(), IndexError>,
}

impl WholeFirst<'_, '_> {
    /// Takes a stretch of a silo, in which whole records reach to `good`.
    fn take(&mut self, Stretch { entries, seen, good }: Stretch<Scanned>) {
        for entry in std::mem::take(&mut self.held).into_iter().chain(entries) {
            if entry.place.offset() >= good {
                self.held.push(entry);
            } else if self.failure.is_ok() {
                self.failure = self.index.push(entry);
            }
        }
        for (offset, said) in std::mem::take(&mut self.held_back).into_iter().chain(seen) {
            if offset >= good {
                self.held_back.push((offset, said));
            } else {
                (self.told)(said);
            }
        }
    }

    /// What is behind the last whole record.
    fn finish(self) -> Result<Held, IndexError> {
        self.failure.map(|()| Held { entries: self.held, said: self.held_back })
    }
}
