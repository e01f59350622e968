//! The index with a failure at every changing call: append, housekeeping, split, rebuild, opening,
//! creation.
//!
//! Three things must hold after every failure. An error is reported and never a panic. Acknowledged
//! entries are found by the same process, by a new reader and by the next writer. After the next
//! housekeeping the files equal those of a rebuild.

use std::collections::BTreeSet;
use std::sync::Arc;

use varve_store::disk::Disk;
use varve_store::index::{IndexEntry, IndexError, IndexReader, IndexRebuild, IndexWriter, verify};
use varve_testkit::{DiskFailure, FailingDisk, FailurePlan, MemoryDisk, at_every_call};

use crate::scene::{SMALL, all, answers, create, entries, entry, files, folder, is_canonical, open, rebuild};

/// The acknowledged and the attempted entries of a scenario.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) acknowledged: BTreeSet<IndexEntry>,
    pub(crate) attempted: BTreeSet<IndexEntry>,
    pub(crate) synced: BTreeSet<IndexEntry>,
}

impl Ledger {
    pub(crate) fn of(entries: Vec<IndexEntry>) -> Self {
        let all: BTreeSet<_> = entries.into_iter().collect();
        Self { acknowledged: all.clone(), attempted: all.clone(), synced: all }
    }

    pub(crate) fn append(&mut self, writer: &IndexWriter, entries: Vec<IndexEntry>) {
        self.attempted.extend(&entries);
        if writer.append(&entries).is_ok() {
            self.acknowledged.extend(entries);
        }
    }

    pub(crate) fn sync(&mut self, writer: &IndexWriter) {
        if writer.sync().is_ok() {
            self.synced = self.acknowledged.clone();
        }
    }

    pub(crate) fn agrees(&self, index: &IndexReader) {
        let found = all(index);
        assert!(found.is_superset(&self.acknowledged), "lost {:?}", self.acknowledged.difference(&found));
        assert!(found.is_subset(&self.attempted), "invented {:?}", found.difference(&self.attempted));
        answers(index, &found);
    }
}

/// An index with shards that are nearly full, a leftover of an interrupted housekeeping and a live
/// appendix.
pub(crate) fn begun() -> (Arc<MemoryDisk>, Ledger) {
    let disk = Arc::new(MemoryDisk::new());
    create(&*disk);
    let (writer, _) = open(disk.clone());
    let _ = writer.append(&entries(0..15)).unwrap();
    writer.housekeeping().unwrap();
    let _ = writer.append(&entries(15..20)).unwrap();
    writer.sync().unwrap();
    disk.rename(&folder().join("appendix"), &folder().join("appendix-1")).unwrap();
    let (writer, _) = open(disk.clone());
    let _ = writer.append(&entries(20..30)).unwrap();
    writer.sync().unwrap();
    (disk, Ledger::of(entries(0..30)))
}

/// Appends, merges, splits and appends again, ignoring failures. Lookups are checked while the disk
/// can be read: where it cannot, the process has ended.
pub(crate) fn busy_day(disk: Arc<dyn Disk>, ledger: &mut Ledger) {
    let agrees = |ledger: &Ledger, writer: &IndexWriter| {
        if disk.list(folder()).is_ok() {
            ledger.agrees(&writer.reader());
        }
    };
    let Ok((writer, _)) = IndexWriter::open(Arc::clone(&disk), folder(), SMALL) else { return };
    ledger.append(&writer, entries(30..35));
    ledger.sync(&writer);
    let _ = writer.housekeeping();
    agrees(ledger, &writer);
    ledger.append(&writer, entries(35..44));
    ledger.append(&writer, entries(44..46));
    let _ = writer.housekeeping();
    ledger.sync(&writer);
    ledger.append(&writer, vec![entry(46)]);
    agrees(ledger, &writer);
}

/// The remaining files are complete for a reader and a writer, and after housekeeping equal to a
/// rebuild.
fn is_whole(disk: Arc<MemoryDisk>, ledger: &Ledger) {
    ledger.agrees(&IndexReader::open(&*disk, folder()).unwrap());
    let (writer, _) = open(disk.clone());
    ledger.agrees(&writer.reader());
    assert_eq!(verify(&*disk, folder()).unwrap().findings, []);
    writer.housekeeping().unwrap();
    let found = all(&writer.reader());
    drop(writer);
    ledger.agrees(&IndexReader::open(&*disk, folder()).unwrap());
    is_canonical(&*disk, &found);
}

fn broken_at_every_call(failure: DiskFailure, at_least: u64) {
    let broken = at_every_call(failure, |plan| {
        let (disk, mut ledger) = begun();
        let broken = FailingDisk::new(disk.clone(), plan);
        busy_day(broken.clone(), &mut ledger);
        is_whole(disk, &ledger);
        broken
    });
    assert!(broken >= at_least, "only {broken} calls were broken");
}

#[test]
fn appending_merging_and_splitting_survive_a_call_that_fails() {
    broken_at_every_call(DiskFailure::Fail, 100);
}

#[test]
fn appending_merging_and_splitting_survive_a_short_write() {
    broken_at_every_call(DiskFailure::ShortWrite, 100);
}

#[test]
fn appending_merging_and_splitting_survive_a_full_disk() {
    broken_at_every_call(DiskFailure::OutOfSpace, 100);
}

#[test]
fn appending_merging_and_splitting_survive_a_crash() {
    broken_at_every_call(DiskFailure::Crash, 100);
    broken_at_every_call(DiskFailure::CrashInside, 100);
}

#[test]
fn a_single_failing_call_does_not_stop_later_work() {
    at_every_call(DiskFailure::Fail, |plan| {
        let (disk, mut ledger) = begun();
        let broken = FailingDisk::new(disk, plan);
        let Ok((writer, _)) = IndexWriter::open(broken.clone(), folder(), SMALL) else { return broken };
        let mut outcomes = vec![];
        for numbers in [30..35, 35..40] {
            outcomes.push(writer.append(&entries(numbers)).map(drop));
            outcomes.push(writer.housekeeping().map(drop));
        }
        assert!(outcomes.iter().filter(|outcome| outcome.is_err()).count() <= 1, "{outcomes:?}");
        if !broken.is_broken() {
            return broken;
        }
        ledger.append(&writer, entries(30..40));
        writer.housekeeping().unwrap();
        answers(&writer.reader(), &ledger.acknowledged);
        broken
    });
}

#[test]
fn a_rebuild_broken_anywhere_leaves_the_old_index_or_the_new() {
    for failure in DiskFailure::ALL {
        let broken = at_every_call(failure, |plan| {
            let (disk, mut ledger) = begun();
            // More entries than the old index, with another division and sorted runs on disk.
            let truth = entries(0..60);
            let broken = FailingDisk::new(disk.clone(), plan);
            let outcome = rebuild(&*broken, folder(), &truth);
            ledger.attempted.extend(&truth);
            if outcome.is_ok() {
                ledger.acknowledged.extend(&truth);
            }
            is_whole(disk, &ledger);
            broken
        });
        assert!(broken > 50, "only {broken} calls were broken");
    }
}

#[test]
fn a_rebuild_to_fewer_shards_broken_anywhere_loses_nothing() {
    let broken = at_every_call(DiskFailure::Crash, |plan| {
        let disk = Arc::new(MemoryDisk::new());
        rebuild(&*disk, folder(), &entries(0..60)).unwrap();
        let mut ledger = Ledger::of(entries(0..10));
        ledger.attempted.extend(entries(0..60));
        let broken = FailingDisk::new(disk.clone(), plan);
        if rebuild(&*broken, folder(), &entries(0..10)).is_ok() {
            assert_eq!(files(&*disk, folder()).into_keys().collect::<Vec<_>>(), ["appendix", "sorted"]);
        }
        ledger.agrees(&IndexReader::open(&*disk, folder()).unwrap());
        let (writer, _) = open(disk.clone());
        writer.housekeeping().unwrap();
        ledger.agrees(&writer.reader());
        broken
    });
    assert!(broken > 20);
}

#[test]
fn making_an_index_broken_anywhere_is_finished_by_making_it_again() {
    for failure in DiskFailure::ALL {
        at_every_call(failure, |plan| {
            let disk = Arc::new(MemoryDisk::new());
            let broken = FailingDisk::new(disk.clone(), plan);
            let _ = IndexWriter::create(&*broken, folder());
            create(&*disk);
            let (writer, _) = open(disk.clone());
            answers(&writer.reader(), &BTreeSet::new());
            is_canonical(&*disk, &BTreeSet::new());
            broken
        });
    }
}

#[test]
fn errors_say_what_was_done_to_which_file() {
    let (disk, _) = begun();
    let broken = FailingDisk::new(disk, FailurePlan { after: 0, failure: DiskFailure::OutOfSpace });
    let (writer, _) = IndexWriter::open(broken, folder(), SMALL).unwrap();
    let error = writer.append(&entries(30..40)).unwrap_err();
    assert_eq!(error.to_string(), "cannot write `/museum/index/appendix`");
    assert!(matches!(error, IndexError::Disk(_)));
}

#[test]
fn unfinished_files_are_swept_and_never_read() {
    let (disk, ledger) = begun();
    disk.create_new(&folder().join("tmp-sorted-3")).unwrap().write_at(b"rubbish", 0).unwrap();
    ledger.agrees(&IndexReader::open(&*disk, folder()).unwrap());
    open(disk.clone());
    assert!(!files(&*disk, folder()).contains_key("tmp-sorted-3"));
    disk.create_new(&folder().join("tmp-run-0")).unwrap();
    IndexRebuild::begin(&*disk, folder(), SMALL).unwrap();
    assert!(!files(&*disk, folder()).contains_key("tmp-run-0"));
}
