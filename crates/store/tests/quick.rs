//! The quick audit compares index and silos in both directions without reading blocks.

mod scene;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use scene::{files, noise, open, store};
use varve_core::RecordId;
use varve_store::StoreReader;
use varve_store::audit::{AuditFinding, AuditKind, AuditOptions, audit};
use varve_store::disk::LocalDisk;
use varve_store::index::{
    IndexEntry, IndexOptions, IndexPrefix, IndexReader, IndexRebuild, PrefixRange, SiloPlace,
};
use varve_warc::write::Packing;

const ZSTD: Packing = Packing::Zstd { level: 3, dictionary: None };

fn audited(root: &Path, quick: bool) -> Vec<AuditFinding> {
    let store =
        StoreReader::open(files(Arc::new(LocalDisk::new(root)), root), &root.join("index")).expect("opened");
    let options = AuditOptions {
        quick,
        chosen: &|_| true,
        threads: 2,
        index: IndexOptions { sort_limit: 16, ..IndexOptions::default() },
        is_written: &|| false,
        index_lost: None,
    };
    let mut findings = Vec::new();
    let mut found = |finding| findings.push(finding);
    audit(&store, &root.join("index"), &options, &|_| {}, &mut found, &mut |_| {}).expect("audited");
    findings
}

fn entries(root: &Path) -> Vec<IndexEntry> {
    let index = IndexReader::open(&LocalDisk::new(root), &root.join("index")).expect("opened");
    index.entries(PrefixRange::ALL).expect("read").collect::<Result<_, _>>().expect("read")
}

/// Rebuilds the index from these entries.
fn put_index(root: &Path, entries: impl IntoIterator<Item = IndexEntry>) {
    let folder = root.join("index");
    let disk = LocalDisk::new(&folder);
    let mut rebuild = IndexRebuild::begin(&disk, &folder, IndexOptions::default()).expect("begun");
    entries.into_iter().for_each(|entry| rebuild.push(entry).expect("sorted"));
    rebuild.finish().expect("written");
}

/// A store of objects that all have the same length, in several silos.
fn filled(root: &Path, packing: Packing) -> Vec<RecordId> {
    let writer = open(root, 40_000, packing);
    let ids = (0..20).map(|seed| store(&writer, &noise(5_000, seed)).id).collect();
    writer.housekeeping().expect("merged");
    ids
}

fn kinds(findings: &[AuditFinding]) -> Vec<(AuditKind, Option<u32>, Option<u64>)> {
    findings.iter().map(|finding| (finding.kind, finding.silo, finding.offset)).collect()
}

/// The kind of the finding for a record without an entry. The last record looks as after a crash.
fn kind_of_missing(lost: &IndexEntry, all: &[IndexEntry]) -> AuditKind {
    match all.iter().any(|entry| entry.place > lost.place) {
        true => AuditKind::IndexMissing,
        false => AuditKind::Behind,
    }
}

#[test]
fn every_record_without_an_entry_is_found() {
    for packing in [Packing::Gzip, ZSTD] {
        let root = tempfile::tempdir().expect("a folder");
        filled(root.path(), packing);
        let all = entries(root.path());
        assert_eq!(audited(root.path(), true), []);
        for lost in &all {
            put_index(root.path(), all.iter().filter(|entry| *entry != lost).copied());
            let expected =
                [(kind_of_missing(lost, &all), Some(lost.place.silo()), Some(lost.place.offset()))];
            assert_eq!(kinds(&audited(root.path(), true)), expected, "quick, {lost:?}");
            assert_eq!(kinds(&audited(root.path(), false)), expected, "whole, {lost:?}");
        }
        // All entries of a silo, and all but one.
        put_index(root.path(), all.iter().filter(|entry| entry.place.silo() != 1).copied());
        let count = all.iter().filter(|entry| entry.place.silo() == 1).count();
        assert_eq!(audited(root.path(), true).len(), count);
        put_index(root.path(), all[..1].iter().copied());
        // Those behind the only indexed record are one finding.
        let before = all.iter().filter(|entry| entry.place < all[0].place).count();
        let findings = audited(root.path(), true);
        let behind = all.len() - 1 - before;
        assert_eq!(findings.len(), before + usize::from(behind > 0), "{findings:?}");
        let counted = format!("{behind} records that the index does not have yet");
        assert!(behind < 2 || findings.iter().any(|one| one.message.starts_with(&counted)), "{findings:?}");
        put_index(root.path(), all);
        assert_eq!(audited(root.path(), true), []);
    }
}

#[test]
fn every_entry_without_a_record_is_found() {
    for packing in [Packing::Gzip, ZSTD] {
        let root = tempfile::tempdir().expect("a folder");
        filled(root.path(), packing);
        let all = entries(root.path());
        let some = all[7];
        let (silo, offset) = (some.place.silo(), some.place.offset());
        let inside = SiloPlace::new(silo, offset + 100).expect("a place");
        for stray in [
            // Beside the right one, and at a place where nothing begins.
            IndexEntry { prefix: IndexPrefix(42), place: some.place },
            IndexEntry { prefix: some.prefix, place: inside },
        ] {
            put_index(root.path(), all.iter().copied().chain([stray]));
            let findings = audited(root.path(), true);
            let place = (AuditKind::IndexStray, Some(silo), Some(stray.place.offset()));
            assert!(kinds(&findings).contains(&place), "{stray:?}: {findings:?}");
        }
        // Behind the end of the silo: what was indexed there was cut off.
        let place = SiloPlace::new(silo, 1 << 30).expect("a place");
        put_index(root.path(), all.iter().copied().chain([IndexEntry { prefix: IndexPrefix(42), place }]));
        for quick in [true, false] {
            let findings = audited(root.path(), quick);
            let is_loss = |one: &AuditFinding| one.kind == AuditKind::RecordsLost && one.silo == Some(silo);
            assert!(findings.iter().any(is_loss), "{findings:?}");
        }
        // In place of the right one: the record has no entry, and the entry no record.
        let wrong = IndexEntry { prefix: IndexPrefix(some.prefix.0 ^ 1), place: some.place };
        put_index(root.path(), all.iter().map(|entry| if *entry == some { wrong } else { *entry }));
        let mut found = kinds(&audited(root.path(), true));
        found.sort_unstable();
        let place = (Some(silo), Some(offset));
        let expected = [AuditKind::IndexMissing, AuditKind::IndexStray].map(|kind| (kind, place.0, place.1));
        assert_eq!(found, expected);
    }
}

#[test]
fn large_objects_are_stepped_over() {
    for packing in [Packing::Gzip, ZSTD] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 1 << 30, packing);
        for seed in 0..3 {
            // Packed in one call, streamed, and small ones between.
            store(&writer, &noise(3 << 20, seed));
            store(&writer, &noise(3_000, seed));
        }
        writer.housekeeping().expect("merged");
        assert_eq!(audited(root.path(), true), []);
        let all = entries(root.path());
        for lost in &all {
            put_index(root.path(), all.iter().filter(|entry| *entry != lost).copied());
            let expected =
                [(kind_of_missing(lost, &all), Some(lost.place.silo()), Some(lost.place.offset()))];
            assert_eq!(kinds(&audited(root.path(), true)), expected);
        }
    }
}

#[test]
fn bodies_are_left_to_the_whole_audit() {
    let root = tempfile::tempdir().expect("a folder");
    filled(root.path(), Packing::Gzip);
    let path = root.path().join("warc/0/00000000.warc.gz");
    let all = entries(root.path());
    let mut places: Vec<u64> =
        all.iter().filter(|entry| entry.place.silo() == 0).map(|entry| entry.place.offset()).collect();
    places.sort_unstable();
    let flip = |at: u64| {
        let permissions = fs::metadata(&path).expect("there").permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("allowed");
        let mut bytes = fs::read(&path).expect("read");
        bytes[at as usize] ^= 0x10;
        fs::write(&path, bytes).expect("written");
        fs::set_permissions(&path, permissions).expect("allowed");
    };
    let (record, next) = (places[2], places[3]);
    // The middle of the block, and the checksum of the member.
    for at in [(record + next) / 2, next - 7] {
        flip(at);
        assert_eq!(audited(root.path(), true), [], "byte {at} of {record} to {next}");
        assert!(!audited(root.path(), false).is_empty(), "byte {at}");
        flip(at);
    }
    // The header of the member, that of the record, and the length in its trailer.
    for at in [record, record + 4, record + 60, next - 3] {
        flip(at);
        let findings = audited(root.path(), true);
        assert!(
            findings.iter().any(|finding| finding.silo == Some(0) && finding.offset == Some(record)),
            "byte {at} of {record} to {next}: {findings:?}"
        );
        flip(at);
    }
    assert_eq!(audited(root.path(), true), []);
}
