//! Power cuts at every call, with mixtures of the unsynced changes.
//!
//! Stricter than a kill: unsynced bytes and names may be lost in part. Synced entries must be
//! found. Appends are not synced one by one, so the stated greatest place must be right: reading
//! the silos forward from there finds the rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use varve_store::disk::Disk;
use varve_store::index::{IndexReader, IndexWriter, verify};
use varve_testkit::{
    DiskFailure, FailingDisk, FailurePlan, MemoryDisk, PowerCut, UnsyncedBytes, at_every_call,
};

use crate::crash::{Ledger, begun, busy_day};
use crate::scene::{SMALL, all, answers, create, entries, entry, folder, is_canonical, rebuild};

/// Names: none, all, every other, some. Bytes: none, some, all.
fn cuts() -> [PowerCut; 9] {
    let cut = |bytes, names| PowerCut { bytes, names };
    [
        cut(UnsyncedBytes::Lost, 0),
        cut(UnsyncedBytes::Lost, u64::MAX),
        cut(UnsyncedBytes::Lost, 0x5555_5555_5555_5555),
        cut(UnsyncedBytes::Lost, 0xaaaa_aaaa_aaaa_aaaa),
        cut(UnsyncedBytes::Holes, 0),
        cut(UnsyncedBytes::Holes, u64::MAX),
        cut(UnsyncedBytes::Holes, 0x9e37_79b9_7f4a_7c15),
        cut(UnsyncedBytes::Kept, 0),
        cut(UnsyncedBytes::Kept, 0x9e37_79b9_7f4a_7c15),
    ]
}

/// Synced entries are found, entries up to the stated greatest place are found, and the rest can be
/// added.
fn recovers(disk: Arc<MemoryDisk>, ledger: &Ledger) {
    let (writer, recovery) = IndexWriter::open(disk.clone(), folder(), SMALL).unwrap();
    let found = all(&writer.reader());
    assert!(found.is_superset(&ledger.synced), "lost {:?}", ledger.synced.difference(&found));
    let known = ledger.acknowledged.iter().filter(|entry| Some(entry.place) <= recovery.known);
    let unknown: Vec<_> = known.filter(|entry| !found.contains(entry)).collect();
    assert!(unknown.is_empty(), "believed to be known, and lost: {unknown:?}");
    assert_eq!(verify(&*disk, folder()).unwrap().findings, []);
    let mut forward: Vec<_> =
        ledger.acknowledged.iter().copied().filter(|entry| Some(entry.place) >= recovery.known).collect();
    forward.sort_by_key(|entry| entry.place);
    let _ = writer.append(&forward).unwrap();
    writer.housekeeping().unwrap();
    let found = all(&writer.reader());
    assert!(found.is_superset(&ledger.acknowledged));
    is_canonical(&*disk, &found);
}

#[test]
fn a_power_cut_at_any_call_loses_no_synced_entry() {
    let broken = at_every_call(DiskFailure::Crash, |plan| {
        let (disk, mut ledger) = begun();
        let broken = FailingDisk::new(disk.clone(), plan);
        busy_day(broken.clone(), &mut ledger);
        cuts().into_iter().for_each(|cut| recovers(Arc::new(disk.after(cut)), &ledger));
        broken
    });
    assert!(broken > 100);
}

#[test]
fn a_power_cut_anywhere_in_a_rebuild_loses_nothing() {
    at_every_call(DiskFailure::Crash, |plan| {
        let (disk, ledger) = begun();
        let broken = FailingDisk::new(disk.clone(), plan);
        let finished = rebuild(&*broken, folder(), &entries(0..60)).is_ok();
        for cut in cuts() {
            let disk = disk.after(cut);
            let found = all(&IndexReader::open(&disk, folder()).unwrap());
            assert!(found.is_superset(&ledger.synced));
            assert!(!finished || found.is_superset(&entries(0..60).into_iter().collect()));
        }
        broken
    });
}

#[test]
fn a_power_cut_while_an_index_is_made_leaves_one_that_can_be_made() {
    at_every_call(DiskFailure::Crash, |plan| {
        let disk = Arc::new(MemoryDisk::new());
        let broken = FailingDisk::new(disk.clone(), plan);
        let made = IndexWriter::create(&*broken, folder()).is_ok();
        for cut in cuts() {
            let disk = disk.after(cut);
            if made {
                answers(&IndexReader::open(&disk, folder()).unwrap(), &BTreeSet::new());
            }
            create(&disk);
            is_canonical(&disk, &BTreeSet::new());
        }
        broken
    });
}

#[test]
fn holes_in_what_was_not_synced_are_cut_off_and_what_is_before_them_is_kept() {
    let disk = MemoryDisk::new();
    create(&disk);
    let (writer, _) = IndexWriter::open(Arc::new(disk.clone()), folder(), SMALL).unwrap();
    let _ = writer.append(&entries(0..10)).unwrap();
    writer.sync().unwrap();
    for number in 10..100 {
        let _ = writer.append(&[entry(number)]).unwrap();
    }
    let mut cut_off = 0;
    for names in 0..16 {
        let disk = Arc::new(disk.after(PowerCut { bytes: UnsyncedBytes::Holes, names }));
        let (writer, recovery) = IndexWriter::open(disk, folder(), SMALL).unwrap();
        let kept = all(&writer.reader());
        assert!(kept.is_superset(&entries(0..10).into_iter().collect()));
        assert_eq!(
            kept,
            entries(0..kept.len() as u64).into_iter().collect(),
            "the kept ones are the first ones"
        );
        assert_eq!(recovery.known, kept.iter().map(|entry| entry.place).max());
        cut_off += u32::from(recovery.cut.is_some());
    }
    assert!(cut_off > 8);
}

#[test]
fn the_disk_of_these_tests_does_lose_what_was_not_synced() {
    let disk = MemoryDisk::new();
    create(&disk);
    let plan = FailurePlan::NEVER;
    let (writer, _) =
        IndexWriter::open(FailingDisk::new(Arc::new(disk.clone()), plan), folder(), SMALL).unwrap();
    let _ = writer.append(&entries(0..3)).unwrap();
    let lost = disk.after(PowerCut { bytes: UnsyncedBytes::Lost, names: 0 });
    assert!(all(&IndexReader::open(&lost, folder()).unwrap()).is_empty());
    writer.sync().unwrap();
    let kept = disk.after(PowerCut { bytes: UnsyncedBytes::Lost, names: 0 });
    assert_eq!(all(&IndexReader::open(&kept, folder()).unwrap()).len(), 3);
    assert!(kept.stat(&folder().join("appendix")).unwrap().is_some());
}
