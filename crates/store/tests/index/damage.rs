//! Every bit flipped, every length cut, every file lost: lookups are right or fail, and `verify`
//! reports the place.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use varve_store::disk::Disk;
use varve_store::index::{IndexEntry, IndexError, IndexFindingKind, IndexReader, PrefixRange, verify};
use varve_testkit::MemoryDisk;

use crate::scene::{SMALL, create, entries, files, folder, open, rebuild};

fn path(name: &str) -> PathBuf {
    folder().join(name)
}

/// One shard of two blocks, a rotated appendix and a live one, each of several batches.
fn small() -> (Arc<MemoryDisk>, BTreeSet<IndexEntry>) {
    let disk = Arc::new(MemoryDisk::new());
    let options = varve_store::index::IndexOptions { shard_limit: 1000, ..SMALL };
    let mut rebuild = varve_store::index::IndexRebuild::begin(&*disk, folder(), options).unwrap();
    entries(0..260).into_iter().for_each(|entry| rebuild.push(entry).unwrap());
    rebuild.finish().unwrap();
    let (writer, _) = open(disk.clone());
    for number in [260, 262] {
        let _ = writer.append(&entries(number..number + 2)).unwrap();
    }
    disk.rename(&path("appendix"), &path("appendix-1")).unwrap();
    let (writer, _) = open(disk.clone());
    for number in [264, 266, 268] {
        let _ = writer.append(&entries(number..number + 2)).unwrap();
    }
    (disk, entries(0..270).into_iter().collect())
}

fn overwrite(disk: &MemoryDisk, name: &str, bytes: &[u8]) {
    let file = disk.open_to_write(&path(name)).unwrap();
    file.truncate(0).unwrap();
    file.write_at(bytes, 0).unwrap();
}

/// Looks up everything; every successful lookup must be right for the sorted shard.
fn ask(disk: &MemoryDisk, truth: &BTreeSet<IndexEntry>, sorted: bool) {
    let index = match IndexReader::open(disk, folder()) {
        Ok(index) => index,
        Err(IndexError::Damaged { .. }) => return,
        Err(other) => panic!("{other}"),
    };
    for entry in truth.iter().step_by(13) {
        match index.find(entry.prefix) {
            Ok(places) => assert!(!sorted || places.iter().any(|place| place == entry.place), "{entry:?}"),
            Err(error) => assert!(matches!(error, IndexError::Damaged { .. }), "{error}"),
        }
    }
    let prefixes: Vec<_> = truth.iter().map(|entry| entry.prefix).collect();
    let mut found = 0;
    match index.find_many(&prefixes, |_, _| found += 1) {
        Ok(()) => assert!(!sorted || found == truth.len()),
        Err(error) => assert!(matches!(error, IndexError::Damaged { .. }), "{error}"),
    }
}

#[test]
fn every_flipped_bit_is_reported_and_no_lookup_is_wrong_or_panics() {
    let (disk, truth) = small();
    for (name, bytes) in files(&*disk, folder()) {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            overwrite(&disk, &name, &damaged);
            let findings = verify(&*disk, folder()).unwrap().findings;
            let named = findings.iter().any(|finding| {
                let extent = finding.offset..finding.offset + finding.length;
                finding.file == path(&name) && extent.contains(&(bit as u64 / 8))
            });
            assert!(named, "bit {bit} of {name}: {findings:?}");
            assert_eq!(findings.len(), 1, "bit {bit} of {name}: {findings:?}");
            // `verify` covers every bit above; lookups after each flip would take minutes.
            if bit % 7 == 0 {
                ask(&disk, &truth, name == "sorted");
            }
        }
        overwrite(&disk, &name, &bytes);
    }
    assert_eq!(verify(&*disk, folder()).unwrap().findings, []);
}

#[test]
fn every_cut_is_noticed_and_no_lookup_panics() {
    let (disk, truth) = small();
    for (name, bytes) in files(&*disk, folder()) {
        for length in 0..bytes.len() {
            overwrite(&disk, &name, &bytes[..length]);
            let findings = verify(&*disk, folder()).unwrap().findings;
            // A cut between two batches leaves a valid, shorter appendix; only the silos show the
            // loss.
            let between_batches = name.starts_with("appendix") && length % 48 == 0;
            assert_eq!(findings.is_empty(), between_batches, "{name} cut to {length}");
            assert!(findings.iter().all(|finding| finding.file == path(&name)));
            if name == "sorted" {
                assert!(matches!(IndexReader::open(&*disk, folder()), Err(IndexError::Damaged { .. })));
            } else {
                ask(&disk, &truth, false);
            }
        }
        overwrite(&disk, &name, &bytes);
    }
}

#[test]
fn bytes_behind_the_end_are_noticed() {
    let (disk, _) = small();
    for (name, mut bytes) in files(&*disk, folder()) {
        let good = bytes.clone();
        bytes.push(0);
        overwrite(&disk, &name, &bytes);
        let findings = verify(&*disk, folder()).unwrap().findings;
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].file.clone(), findings[0].offset), (path(&name), good.len() as u64));
        overwrite(&disk, &name, &good);
    }
}

#[test]
fn a_shard_that_is_missing_or_in_the_place_of_another_is_noticed() {
    let disk = MemoryDisk::new();
    rebuild(&disk, folder(), &entries(0..100)).unwrap();
    for name in files(&disk, folder()).keys().filter(|name| name.starts_with("sorted")) {
        disk.rename(&path(name), std::path::Path::new("/museum/aside")).unwrap();
        assert!(matches!(IndexReader::open(&disk, folder()), Err(IndexError::Incomplete { .. })));
        let findings = verify(&disk, folder()).unwrap().findings;
        assert_eq!(
            findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(),
            [IndexFindingKind::Missing]
        );
        disk.rename(std::path::Path::new("/museum/aside"), &path(name)).unwrap();
    }
    disk.rename(&path("sorted-3"), &path("aside")).unwrap();
    disk.rename(&path("sorted-4"), &path("sorted-3")).unwrap();
    disk.rename(&path("aside"), &path("sorted-4")).unwrap();
    assert!(matches!(IndexReader::open(&disk, folder()), Err(IndexError::Damaged { .. })));
    let findings = verify(&disk, folder()).unwrap().findings;
    let named: Vec<_> = findings.iter().map(|finding| finding.file.clone()).collect();
    assert_eq!(named, [path("sorted-3"), path("sorted-4")]);
}

#[test]
fn foreign_files_are_reported() {
    let (disk, _) = small();
    disk.create_new(&path("notes.txt")).unwrap();
    let findings = verify(&*disk, folder()).unwrap().findings;
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].kind, findings[0].file.clone()), (IndexFindingKind::Foreign, path("notes.txt")));
}

#[test]
fn a_folder_without_an_index_is_an_error_and_not_an_empty_index() {
    let disk = MemoryDisk::new();
    assert!(matches!(IndexReader::open(&disk, folder()), Err(IndexError::Disk(_))));
    disk.make_folders(folder()).unwrap();
    assert!(matches!(IndexReader::open(&disk, folder()), Err(IndexError::Incomplete { .. })));
    let opened = varve_store::index::IndexWriter::open(Arc::new(disk.clone()), folder(), SMALL);
    assert!(matches!(opened, Err(IndexError::Incomplete { .. })));
}

#[test]
fn housekeeping_refuses_damaged_files_and_leaves_them_as_they_are() {
    for (name, offset) in [("sorted", 4096 + 17), ("sorted", 4096 + 4100), ("appendix-1", 20)] {
        let (disk, truth) = small();
        let before = files(&*disk, folder());
        let mut damaged = before[name].clone();
        damaged[offset] ^= 4;
        overwrite(&disk, name, &damaged);
        let (writer, _) = open(disk.clone());
        let error = writer.housekeeping().unwrap_err();
        assert!(matches!(&error, IndexError::Damaged { file, .. } if *file == path(name)), "{error}");
        assert_eq!(files(&*disk, folder())[name], damaged, "left as it was found");
        drop(writer);
        rebuild(&*disk, folder(), &truth.iter().copied().collect::<Vec<_>>()).unwrap();
        assert_eq!(verify(&*disk, folder()).unwrap().findings, []);
    }
}

#[test]
fn damage_in_one_block_leaves_the_others_readable() {
    let (disk, truth) = small();
    let mut damaged = files(&*disk, folder())["sorted"].clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    overwrite(&disk, "sorted", &damaged);
    let index = IndexReader::open(&*disk, folder()).unwrap();
    let found = truth.iter().filter(|entry| index.find(entry.prefix).is_ok_and(|places| !places.is_empty()));
    assert!(found.count() >= 255);
    let listed: Vec<_> = index.entries(PrefixRange::ALL).unwrap().collect();
    assert!(listed.last().unwrap().is_err());
    assert_eq!(listed.iter().filter(|entry| entry.is_err()).count(), 1);
}

#[test]
fn files_of_a_later_format_are_refused_by_name() {
    let disk = MemoryDisk::new();
    create(&disk);
    let mut bytes = files(&disk, folder())["sorted"].clone();
    bytes[11] = 2;
    let check = crc32(&bytes[..60]).to_be_bytes();
    bytes[60..64].copy_from_slice(&check);
    overwrite(&disk, "sorted", &bytes);
    let error = IndexReader::open(&disk, folder()).unwrap_err();
    assert_eq!(error.to_string(), "`/museum/index/sorted` has format 2, which this version cannot read");
    assert_eq!(verify(&disk, folder()).unwrap().findings[0].kind, IndexFindingKind::Unsupported);
}

/// CRC-32, written from the description of the format.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    };
    !bytes.iter().fold(u32::MAX, step)
}
