//! The index against a model: a set of entries in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use varve_store::index::{IndexEntry, IndexPrefix, IndexReader, PrefixRange, SiloPlace, verify};
use varve_testkit::MemoryDisk;

use crate::scene::{all, answers, create, folder, is_canonical, open, rebuild};

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<IndexEntry>),
    Housekeeping,
    Rebuild,
}

/// Clustered ids, colliding ids, extreme ids and random ids.
fn prefix() -> impl Strategy<Value = IndexPrefix> {
    prop_oneof![
        0_u64..8,
        (0_u64..4).prop_map(|n| n << 60),
        (0_u64..40).prop_map(|n| 0xabcd << 48 | n),
        Just(u64::MAX),
        any::<u64>(),
    ]
    .prop_map(IndexPrefix)
}

fn one() -> impl Strategy<Value = IndexEntry> {
    (prefix(), 0_u32..3, 0_u64..4).prop_map(|(prefix, silo, offset)| IndexEntry {
        prefix,
        place: SiloPlace::new(silo, offset).unwrap(),
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(one(), 0..40).prop_map(Step::Append),
        2 => Just(Step::Housekeeping),
        1 => Just(Step::Rebuild),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_index_answers_like_a_set_after_any_steps(steps in prop::collection::vec(step(), 1..12), asked in prop::collection::vec(prefix(), 8), value: u64, bits in 0_u32..66) {
        let disk = Arc::new(MemoryDisk::new());
        create(&*disk);
        let mut model = BTreeSet::new();
        for step in steps {
            let (writer, _) = open(disk.clone());
            match step {
                Step::Append(entries) => {
                    let _ = writer.append(&entries).unwrap();
                    model.extend(entries);
                }
                Step::Housekeeping => drop(writer.housekeeping().unwrap()),
                Step::Rebuild => {
                    drop(writer);
                    rebuild(&*disk, folder(), &model.iter().rev().copied().collect::<Vec<_>>()).unwrap();
                }
            }
            let (writer, recovery) = open(disk.clone());
            prop_assert_eq!(recovery.cut, None);
            prop_assert_eq!(recovery.known, model.iter().map(|entry| entry.place).max());
            answers(&writer.reader(), &model);
            let index = IndexReader::open(&*disk, folder()).unwrap();
            answers(&index, &model);
            for prefix in &asked {
                let expected = model.iter().filter(|entry| entry.prefix == *prefix).count();
                prop_assert_eq!(index.find(*prefix).unwrap().len(), expected);
            }
            let range = PrefixRange::leading(value, bits);
            let found: Vec<_> = index.entries(range).unwrap().map(Result::unwrap).collect();
            let expected: Vec<_> = model.iter().filter(|entry| range.contains(entry.prefix)).copied().collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(verify(&*disk, folder()).unwrap().findings, []);
        }
        let (writer, _) = open(disk.clone());
        writer.housekeeping().unwrap();
        prop_assert_eq!(all(&writer.reader()), model.clone());
        is_canonical(&*disk, &model);
    }
}

#[test]
fn an_empty_index_answers_nothing() {
    let disk = Arc::new(MemoryDisk::new());
    create(&*disk);
    let (writer, recovery) = open(disk.clone());
    assert_eq!((recovery.cut, recovery.known), (None, None));
    answers(&writer.reader(), &BTreeSet::new());
    assert!(writer.find(IndexPrefix(5)).unwrap().is_empty());
    let mut hits = 0;
    writer.find_many(&[IndexPrefix(5); 100], |_, _| hits += 1).unwrap();
    assert_eq!(hits, 0);
    assert_eq!(writer.housekeeping().unwrap(), Default::default());
    is_canonical(&*disk, &BTreeSet::new());
}

#[test]
fn housekeeping_is_due_when_enough_is_waiting_and_not_before() {
    let disk = Arc::new(MemoryDisk::new());
    create(&*disk);
    let (writer, _) = open(disk);
    for number in 0..7 {
        assert!(!writer.append(&[crate::scene::entry(number)]).unwrap().housekeeping_due);
    }
    assert!(writer.append(&[crate::scene::entry(7)]).unwrap().housekeeping_due);
    assert_eq!(writer.housekeeping().unwrap().merged, 8);
    assert!(!writer.housekeeping_due());
}

#[test]
fn a_range_that_ends_before_it_begins_is_empty() {
    let disk = Arc::new(MemoryDisk::new());
    create(&*disk);
    let (writer, _) = open(disk);
    let _ = writer.append(&crate::scene::entries(0..5)).unwrap();
    let backwards = PrefixRange { first: IndexPrefix::MAX, last: IndexPrefix::MIN };
    assert_eq!(writer.reader().entries(backwards).unwrap().count(), 0);
}
