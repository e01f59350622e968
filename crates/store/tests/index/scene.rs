//! Shared by the tests of the index: entries, a starting index, and full comparisons.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use varve_store::disk::Disk;
use varve_store::index::{
    IndexEntry, IndexError, IndexOptions, IndexPrefix, IndexReader, IndexRebuild, IndexRecovery, IndexWriter,
    PrefixRange, SiloPlace,
};

/// Small enough that a few dozen entries split shards, fill appendices and need runs.
pub(crate) const SMALL: IndexOptions = IndexOptions { shard_limit: 16, appendix_limit: 8, sort_limit: 16 };

pub(crate) fn folder() -> &'static Path {
    Path::new("/museum/index")
}

/// The n-th entry of an archive: evenly spread ids, places in the order of writing.
pub(crate) fn entry(number: u64) -> IndexEntry {
    IndexEntry {
        prefix: IndexPrefix(mixed(number)),
        place: SiloPlace::new((number >> 8) as u32, number & 0xff).unwrap(),
    }
}

pub(crate) fn entries(numbers: std::ops::Range<u64>) -> Vec<IndexEntry> {
    numbers.map(entry).collect()
}

pub(crate) fn mixed(number: u64) -> u64 {
    let value = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (value ^ value >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

pub(crate) fn create(disk: &dyn Disk) {
    IndexWriter::create(disk, folder()).unwrap();
}

pub(crate) fn open(disk: Arc<dyn Disk>) -> (IndexWriter, IndexRecovery) {
    IndexWriter::open(disk, folder(), SMALL).unwrap()
}

pub(crate) fn rebuild(disk: &dyn Disk, folder: &Path, entries: &[IndexEntry]) -> Result<(), IndexError> {
    let mut rebuild = IndexRebuild::begin(disk, folder, SMALL)?;
    entries.iter().try_for_each(|entry| rebuild.push(*entry))?;
    rebuild.finish().map(drop)
}

/// All entries of an index.
pub(crate) fn all(index: &IndexReader) -> BTreeSet<IndexEntry> {
    let listed: Vec<_> = index.entries(PrefixRange::ALL).unwrap().map(Result::unwrap).collect();
    assert!(listed.is_sorted_by(|a, b| a < b), "in order and each once");
    listed.into_iter().collect()
}

/// Fails unless the index has exactly these entries, by single lookups, batched lookups and ranges.
pub(crate) fn answers(index: &IndexReader, expected: &BTreeSet<IndexEntry>) {
    assert_eq!(all(index), *expected);
    let prefixes: Vec<_> = expected.iter().map(|entry| entry.prefix).collect();
    for prefix in &prefixes {
        let places: Vec<_> = index.find(*prefix).unwrap().into_iter().collect();
        let range = IndexEntry { prefix: *prefix, place: SiloPlace::new(0, 0).unwrap() }..;
        let alike = expected.range(range).take_while(|entry| entry.prefix == *prefix);
        assert_eq!(places, alike.map(|entry| entry.place).collect::<Vec<_>>());
    }
    let mut together = Vec::new();
    index.find_many(&prefixes, |number, place| together.push((number, place))).unwrap();
    let apart = prefixes.iter().enumerate().flat_map(|(number, prefix)| {
        index.find(*prefix).unwrap().into_iter().map(move |place| (number, place))
    });
    assert_eq!(together, apart.collect::<Vec<_>>());
}

/// All files of a folder.
pub(crate) fn files(disk: &dyn Disk, folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: std::ffi::OsString| {
        let file = disk.open(&folder.join(&name)).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
        (name.into_string().unwrap(), bytes)
    };
    disk.list(folder).unwrap().into_iter().map(read).collect()
}

/// Fails unless an index equals a rebuild from its entries byte for byte.
pub(crate) fn is_canonical(disk: &dyn Disk, expected: &BTreeSet<IndexEntry>) {
    let beside = Path::new("/museum/rebuilt");
    let mut shuffled: Vec<_> = expected.iter().copied().collect();
    shuffled.sort_by_key(|entry| entry.prefix.0.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    rebuild(disk, beside, &shuffled).unwrap();
    assert_eq!(files(disk, folder()), files(disk, beside));
}
