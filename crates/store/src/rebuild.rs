//! Rebuilds the index from the silos alone.
//!
//! Reads every record of every silo on all cores. The function that made the index entries when a
//! record was written makes them again from its header, so the result equals the index that
//! housekeeping produces, byte for byte. The same pass yields the records that a catalog needs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use varve_warc::rules::WarcFinding;
use varve_wire::ReadAt;

use crate::disk::Disk;
use crate::error::StoreError;
use crate::exchange::{ScannedRecord, extract_lossy};
use crate::index::{IndexEntry, IndexError, IndexOptions, IndexReader, IndexRebuild, PrefixRange, SiloPlace};
use crate::reader::OpenSilos;
use crate::silo::{
    SiloError, SiloFile, SiloFiles, SiloListing, SiloWalk, UnreadSiloFile, WalkedRecords, missing_ranges,
    next_number, walk,
};
use crate::verify_silo_chain::{ChainBreak, check_description, check_digest};
use crate::writer::recover::{LastSiloState, save_cut_tail, trim_last_silo};
use crate::writer::segments;

/// The result of a rebuild.
#[derive(Debug, Default)]
pub struct RebuildDone {
    /// Silos read.
    pub silos: u64,
    /// Records in them.
    pub records: u64,
    /// Entries in the new index.
    pub entries: u64,
    /// Damage, with the silo number. Unreadable records have no index entry.
    pub findings: Vec<(u32, WarcFinding)>,
    /// The file with the unreadable tail that was cut off the last silo. Present when no index
    /// shows whether that tail was acknowledged.
    pub set_aside: Option<PathBuf>,
    /// The numbers of silos that are missing, up to the last number that was used.
    pub lost_silos: Vec<RangeInclusive<u32>>,
    /// Entries of the old index that lead into missing silos or behind the end of a silo.
    pub lost_entries: u64,
    /// Silos that were changed, renamed or swapped: each silo states the digest of the one before.
    pub chain_breaks: Vec<ChainBreak>,
    /// Files that have the number of a silo and were not read.
    pub unread_files: Vec<UnreadSiloFile>,
    /// The damage of the file with the next silo number, which was written again.
    pub number_damage: Option<SiloError>,
}

/// The number of bytes that a rebuild reads, for progress bars.
pub fn bytes_to_read(files: &SiloFiles) -> Result<u64, StoreError> {
    Ok(files.list()?.values().map(|silo| silo.length).sum())
}

/// Rebuilds the index in `folder` and passes the scanned records to `scanned`, in order. The caller
/// holds the write lock.
///
/// Repairs the silos first, as opening for writing does: finishes interrupted renames of segments
/// and cuts a torn record off the last silo. Without an old index no reader can tell a torn record
/// from later damage, so the cut bytes are then saved beside the silo.
pub fn rebuild(
    files: &SiloFiles,
    folder: &Path,
    options: IndexOptions,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    scanned: &mut dyn FnMut(ScannedRecord),
) -> Result<RebuildDone, StoreError> {
    let mut done = RebuildDone::default();
    segments::complete(files)?;
    files.disk.make_folders(folder)?;
    let SiloListing { silos, unread } = files.survey()?;
    let known = read_old_index(files, folder, &silos, &mut done);
    let mut index = IndexRebuild::begin(&*files.disk, folder, options)?;
    // The new index has no entries of lost silos, so their numbers are recorded separately.
    done.number_damage = next_number::restore(files, known.map_or(0, |known| known.silo() + 1))?;
    done.lost_silos = lost_silos(files, &silos, &unread)?;
    done.unread_files = unread;
    let last = silos.keys().next_back().copied();
    let chain = OpenSilos::new(files.clone());
    for (number, silo) in &silos {
        let source = files.open(*number)?;
        let (mut walked, unconfirmed) = std::thread::scope(|scope| {
            let link = scope.spawn(|| chain_break(&chain, silo, silos.get(&(number + 1))));
            let indexed = index_silo(&*source, *number, threads, progress, &mut index, scanned);
            let link = link.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done.chain_breaks.extend(link?);
            indexed
        })?;
        let state = if last == Some(*number) {
            if known.is_none() && !silo.read_only {
                done.set_aside = save_cut_tail(files, silo, &*source, walked.good)?;
            }
            trim_last_silo(files, silo, known, &walked)?
        } else {
            LastSiloState::Sealed
        };
        if matches!(state, LastSiloState::Open | LastSiloState::Removed) {
            unconfirmed.discard(&mut walked);
        } else {
            unconfirmed.confirm(&mut index, scanned)?;
        }
        done.silos += u64::from(state != LastSiloState::Removed);
        done.records += walked.records;
        done.findings.extend(walked.findings.into_iter().map(|finding| (*number, finding)));
    }
    done.entries = index.finish()?.entries;
    Ok(done)
}

/// Counts the entries of the old index that lead nowhere. Returns the last place in it, which shows
/// up to where records were acknowledged; `None` without a readable index.
fn read_old_index(
    files: &SiloFiles,
    folder: &Path,
    silos: &BTreeMap<u32, SiloFile>,
    done: &mut RebuildDone,
) -> Option<SiloPlace> {
    let old = IndexReader::open(&*files.disk, folder).ok()?;
    done.lost_entries = count_lost_entries(&old, silos);
    old.greatest_place()
}

/// How a silo does not fit the chain. A silo without a readable description is damaged, which the
/// walk reports.
fn chain_break(
    silos: &OpenSilos,
    silo: &SiloFile,
    next: Option<&SiloFile>,
) -> Result<Option<ChainBreak>, StoreError> {
    let description = silos.description_of(silo.number)?;
    match description.and_then(|(header, _)| check_description(&header, silo)) {
        Some(renamed) => Ok(Some(renamed)),
        None => check_digest(silos, silo, next),
    }
}

/// The ranges of numbers that were used and that no file has.
fn lost_silos(
    files: &SiloFiles,
    silos: &BTreeMap<u32, SiloFile>,
    unread: &[UnreadSiloFile],
) -> Result<Vec<RangeInclusive<u32>>, SiloError> {
    let ambiguous = unread.iter().filter(|file| file.is_ambiguous()).map(|file| file.number);
    let numbers: BTreeSet<u32> = silos.keys().copied().chain(ambiguous).collect();
    let numbers: Vec<u32> = numbers.into_iter().collect();
    Ok(missing_ranges(&numbers, next_number::next_unused(files)?))
}

/// Counts the entries that lead to no byte of a silo. A damaged index is counted up to the damage.
fn count_lost_entries(index: &IndexReader, silos: &BTreeMap<u32, SiloFile>) -> u64 {
    let is_lost = |entry: &IndexEntry| {
        silos.get(&entry.place.silo()).is_none_or(|silo| entry.place.offset() >= silo.length)
    };
    let entries = index.entries(PrefixRange::ALL).into_iter().flatten();
    entries.map_while(Result::ok).filter(is_lost).count() as u64
}

/// Builds an index of the silos in `folder` of another disk, and changes nothing else. Passes the
/// scanned records to `scanned`, in order. For reading an archive without a usable index.
pub fn build_index_elsewhere(
    files: &SiloFiles,
    (disk, folder): (&dyn Disk, &Path),
    options: IndexOptions,
    threads: usize,
    scanned: &mut dyn FnMut(ScannedRecord),
) -> Result<(), StoreError> {
    disk.make_folders(folder)?;
    let mut index = IndexRebuild::begin(disk, folder, options)?;
    let silos = files.list()?;
    let last = silos.keys().next_back().copied();
    for (number, silo) in &silos {
        let source = files.open(*number)?;
        let (_, unconfirmed) = index_silo(&*source, *number, threads, &|_| {}, &mut index, scanned)?;
        // The end of the open silo was perhaps never acknowledged.
        if silo.read_only || last != Some(*number) {
            unconfirmed.confirm(&mut index, scanned)?;
        }
    }
    index.finish()?;
    Ok(())
}

/// Adds the records of a silo to the index and passes them to `scanned`, up to the last complete
/// one. Returns those behind it.
fn index_silo(
    source: &dyn ReadAt,
    number: u32,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    index: &mut IndexRebuild<'_>,
    scanned: &mut dyn FnMut(ScannedRecord),
) -> Result<(SiloWalk, UnconfirmedRecords), StoreError> {
    let mut whole =
        ConfirmedRecords { index, scanned, held: Vec::new(), held_back: Vec::new(), failure: Ok(()) };
    let walked = walk(source, number, threads, progress, &extract_lossy, &mut |part| whole.take(part))
        .map_err(|error| StoreError::walk(number, error))?;
    Ok((walked, whole.finish()?))
}

/// Records behind the last complete one, which may be cut off.
struct UnconfirmedRecords {
    entries: Vec<IndexEntry>,
    scanned: Vec<(u64, ScannedRecord)>,
}

impl UnconfirmedRecords {
    /// Adds the records to the index: they stay in the silo.
    fn confirm(
        self,
        index: &mut IndexRebuild<'_>,
        scanned: &mut dyn FnMut(ScannedRecord),
    ) -> Result<(), IndexError> {
        self.entries.into_iter().try_for_each(|entry| index.push(entry))?;
        self.scanned.into_iter().for_each(|(_, record)| scanned(record));
        Ok(())
    }

    /// Removes the records from the result of the walk: they were cut off. The cut bytes were never
    /// acknowledged, so they are not a finding.
    fn discard(mut self, walked: &mut SiloWalk) {
        self.entries.dedup_by_key(|entry| entry.place);
        walked.records = walked.records.saturating_sub(self.entries.len() as u64);
        walked.findings.retain(|finding| finding.offset < walked.good);
    }
}

/// Feeds records into the new index. Records behind the last complete one are held back until it is
/// known whether they are cut off.
struct ConfirmedRecords<'a, 'b> {
    index: &'a mut IndexRebuild<'b>,
    scanned: &'a mut dyn FnMut(ScannedRecord),
    held: Vec<IndexEntry>,
    held_back: Vec<(u64, ScannedRecord)>,
    failure: Result<(), IndexError>,
}

impl ConfirmedRecords<'_, '_> {
    /// Adds the records of a part of a silo; complete records end at `good`.
    fn take(&mut self, WalkedRecords { entries, seen, good }: WalkedRecords<ScannedRecord>) {
        for entry in std::mem::take(&mut self.held).into_iter().chain(entries) {
            if entry.place.offset() >= good {
                self.held.push(entry);
            } else if self.failure.is_ok() {
                self.failure = self.index.push(entry);
            }
        }
        for (offset, record) in std::mem::take(&mut self.held_back).into_iter().chain(seen) {
            if offset >= good {
                self.held_back.push((offset, record));
            } else {
                (self.scanned)(record);
            }
        }
    }

    /// The records behind the last complete one.
    fn finish(self) -> Result<UnconfirmedRecords, IndexError> {
        self.failure.map(|()| UnconfirmedRecords { entries: self.held, scanned: self.held_back })
    }
}
