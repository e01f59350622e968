//! Ids that are not spread like hashes: right results in a logarithmic number of steps.
//!
//! No clock is used: with these sizes a linear search or merge would not end.

use std::collections::BTreeSet;
use std::sync::Arc;

use varve_store::index::{
    IndexEntry, IndexOptions, IndexPrefix, IndexReader, IndexRebuild, IndexWriter, PrefixRange, SiloPlace,
    verify,
};
use varve_testkit::MemoryDisk;

use crate::scene::{SMALL, answers, entries, files, folder, is_canonical, open, rebuild};

const MANY: u64 = 100_000;

fn place(number: u64) -> SiloPlace {
    SiloPlace::new((number >> 30) as u32, number).unwrap()
}

/// An index of these prefixes, by a rebuild with default options.
fn index_of(prefixes: impl Iterator<Item = u64>) -> IndexReader {
    let disk = MemoryDisk::new();
    let mut rebuild = IndexRebuild::begin(&disk, folder(), IndexOptions::default()).unwrap();
    for (number, prefix) in prefixes.enumerate() {
        rebuild.push(IndexEntry { prefix: IndexPrefix(prefix), place: place(number as u64) }).unwrap();
    }
    rebuild.finish().unwrap();
    assert_eq!(verify(&disk, folder()).unwrap().findings, []);
    IndexReader::open(&disk, folder()).unwrap()
}

fn finds_each_and_no_others(prefix: impl Fn(u64) -> u64) {
    let index = index_of((0..MANY).map(&prefix));
    let prefixes: Vec<_> = (0..MANY).map(|number| IndexPrefix(prefix(number))).collect();
    let mut found = vec![None; MANY as usize];
    index.find_many(&prefixes, |number, place| found[number] = Some(place)).unwrap();
    for number in 0..MANY {
        assert_eq!(found[number as usize], Some(place(number)));
        assert!(index.find(prefixes[number as usize]).unwrap().iter().eq([place(number)]));
    }
    for absent in [0x7777_7777_7777_7777, u64::MAX - 1, 1 << 63] {
        assert!(
            prefixes.contains(&IndexPrefix(absent)) || index.find(IndexPrefix(absent)).unwrap().is_empty()
        );
    }
}

#[test]
fn sequential_ids() {
    finds_each_and_no_others(|number| number);
}

#[test]
fn ids_that_share_all_but_the_last_bits() {
    finds_each_and_no_others(|number| 0xabcd_ef01_2345_0000 + number);
}

#[test]
fn ids_at_both_ends_and_none_between() {
    finds_each_and_no_others(|number| if number % 2 == 0 { number } else { u64::MAX - number });
}

#[test]
fn ids_that_are_cubes() {
    finds_each_and_no_others(|number| number.pow(3));
}

#[test]
fn ids_that_are_all_the_same() {
    let index = index_of((0..MANY).map(|_| 42));
    let places = index.find(IndexPrefix(42)).unwrap();
    assert!(places.iter().eq((0..MANY).map(place)));
    assert!(
        index.find(IndexPrefix(41)).unwrap().is_empty() && index.find(IndexPrefix(43)).unwrap().is_empty()
    );
    let mut hits = 0;
    index
        .find_many(&[IndexPrefix(41), IndexPrefix(42), IndexPrefix(43)], |number, _| {
            assert_eq!(number, 1);
            hits += 1;
        })
        .unwrap();
    assert_eq!(hits, MANY);
}

#[test]
fn two_ids_with_one_prefix_are_both_found_wherever_they_are() {
    let disk = Arc::new(MemoryDisk::new());
    crate::scene::create(&*disk);
    let (writer, _) = open(disk);
    let twins = [7, 3, 5].map(|offset| IndexEntry { prefix: IndexPrefix(99), place: place(offset) });
    let mut expected = BTreeSet::new();
    for twin in twins {
        let _ = writer.append(&[twin, twin]).unwrap();
        expected.insert(twin);
        answers(&writer.reader(), &expected);
        writer.housekeeping().unwrap();
        let _ = writer.append(&[twin]).unwrap();
        answers(&writer.reader(), &expected);
    }
}

#[test]
fn a_shard_that_cannot_be_divided_grows() {
    let disk = Arc::new(MemoryDisk::new());
    let crowd: Vec<_> = (0..500)
        .map(|number| IndexEntry { prefix: IndexPrefix(0xbeef << 48 | number), place: place(number) })
        .collect();
    rebuild(&*disk, folder(), &crowd).unwrap();
    let names = files(&*disk, folder());
    assert_eq!(names.keys().filter(|name| name.starts_with("sorted")).count(), 4 * 15 + 1);
    assert_eq!(names["sorted-beef"].len(), 4096 + 500 * 16);
    let (writer, _) = open(disk.clone());
    answers(&writer.reader(), &crowd.iter().copied().collect());
    let _ = writer.append(&entries(0..50)).unwrap();
    writer.housekeeping().unwrap();
    let all: BTreeSet<_> = crowd.into_iter().chain(entries(0..50)).collect();
    answers(&writer.reader(), &all);
    is_canonical(&*disk, &all);
}

#[test]
fn a_rebuild_of_more_runs_than_are_read_at_once() {
    let disk = MemoryDisk::new();
    let numbers = 16 * 64 * 3 + 5;
    let twice: Vec<_> = entries(0..numbers).into_iter().chain(entries(0..numbers)).collect();
    rebuild(&disk, folder(), &twice).unwrap();
    let index = IndexReader::open(&disk, folder()).unwrap();
    assert_eq!(index.entry_count(), numbers);
    assert_eq!(index.entries(PrefixRange::ALL).unwrap().count() as u64, numbers);
    assert!(files(&disk, folder()).keys().all(|name| !name.starts_with("tmp")));
}

#[test]
fn growing_through_many_housekeepings_is_the_same_as_growing_at_once() {
    let disk = Arc::new(MemoryDisk::new());
    crate::scene::create(&*disk);
    let (writer, _) = IndexWriter::open(disk.clone(), folder(), SMALL).unwrap();
    for number in (0..1200).step_by(40) {
        let _ = writer.append(&entries(number..number + 40)).unwrap();
        writer.housekeeping().unwrap();
    }
    drop(writer);
    is_canonical(&*disk, &entries(0..1200).into_iter().collect());
}
