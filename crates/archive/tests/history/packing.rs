//! Changing the compression of an archive and training dictionaries: existing silos stay readable.

use std::fs;
use std::path::Path;

use crate::purge::{assert_sound, request, rewrite};
use crate::scene::*;
use varve_archive::history::{ArchiveHistoryWriter, open_reader};
use varve_archive::verbs::purge::{AtSign, Dictionaries, GroupPattern, Request};
use varve_archive::verbs::{init::init, rebuild, train};
use varve_archive::{ArchiveError, ArchivePaths, ArchiveSettings};

fn make_zstd(root: &Path) {
    let mut settings = ArchiveSettings::new("test");
    settings.packing = serde_json::from_value("zstd".into()).expect("a packing");
    init(root, &settings, opening()).expect("made");
}

fn pages(from: usize, count: usize) -> Vec<(String, String)> {
    let page = |number: usize| {
        let text: String = (0..40).map(|at| format!("<li class=entry>{}</li>", at * number)).collect();
        (format!("https://e.org/{number}"), format!("<html><body class=museum><ul>{text}</ul></body></html>"))
    };
    (from..from + count).map(page).collect()
}

fn commit_all(root: &Path, message: &str, pages: &[(String, String)]) -> varve_archive::VersionId {
    let borrowed: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
    commit_pages(&history(root), message, &borrowed).version
}

fn silo(root: &Path, number: u32, ending: &str) -> Vec<u8> {
    fs::read(root.join(format!("warc/0/{number:08}.warc.{ending}"))).expect("read")
}

#[test]
fn a_silo_is_not_continued_with_another_compression() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let first = commit_all(root, "1", &pages(0, 3));
    let settings = fs::read_to_string(root.join("varve.toml")).expect("read");
    for (number, packing) in [(1, "zstd"), (2, "gzip")] {
        let other: String = settings
            .lines()
            .filter(|line| !line.starts_with("packing"))
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(root.join("varve.toml"), format!("{other}packing = \"{packing}\"\n")).expect("written");
        let version = commit_all(root, packing, &pages(number * 10, 3));
        assert_sound(root);
        let reader = open_reader(root).expect("opened");
        assert_eq!(contents(&reader, version).len(), 3);
        assert_eq!(contents(&reader, first).len(), 3);
    }
    assert!(silo(root, 0, "gz").starts_with(&[0x1f, 0x8b]));
    assert!(silo(root, 1, "zst").starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    assert!(silo(root, 2, "gz").starts_with(&[0x1f, 0x8b]));
}

#[test]
fn new_silos_begin_with_the_dictionary_and_are_smaller() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make_zstd(root);
    let first = commit_all(root, "1", &pages(0, 300));
    let before = silo(root, 0, "zst").len();
    let done = train::train(&ArchiveHistoryWriter::open(root, opening()).expect("opened"), 16 << 10)
        .expect("trained");
    assert!(done.samples > 300 && done.size <= 16 << 10, "{done:?}");
    let second = commit_all(root, "2", &pages(1000, 300));
    let with = silo(root, 1, "zst");
    assert!(with.starts_with(&[0x5d, 0x2a, 0x4d, 0x18]));
    assert!(with.len() < before * 3 / 4, "{} of {before}", with.len());
    // The next writer continues the same silo.
    let third = commit_all(root, "3", &pages(2000, 3));
    assert!(!root.join("warc/0/00000002.warc.zst").exists());
    assert_sound(root);
    let check = || {
        let reader = open_reader(root).expect("opened");
        for (version, from, count) in [(first, 0, 300), (second, 1000, 300), (third, 2000, 3)] {
            let mut wanted = pages(from, count);
            wanted.sort();
            assert_eq!(contents(&reader, version), wanted);
        }
    };
    check();
    // No silo needs the file, and without it the next silo begins without.
    fs::remove_file(root.join("dictionary.zstd")).expect("removed");
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    check();
    commit_all(root, "4", &pages(3000, 3));
    assert!(silo(root, 2, "zst").starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    assert_sound(root);
    let receipt = rewrite(root, &request(&["https://e.org/1001"]));
    assert_eq!(by_kind(&receipt)["resource"], 1);
    assert_sound(root);
}

/// Whether a text stands in any dictionary of the archive, in its own file or at the beginning of a
/// silo; and how many there are.
fn in_dictionaries(root: &Path, text: &str) -> (bool, usize) {
    let mut stored: Vec<Vec<u8>> = fs::read(root.join("dictionary.zstd")).into_iter().collect();
    for entry in fs::read_dir(root.join("warc/0")).expect("listed") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("read");
        if let Some(rest) = bytes.strip_prefix(&[0x5d, 0x2a, 0x4d, 0x18]) {
            let length = u32::from_le_bytes(rest[..4].try_into().expect("four bytes")) as usize;
            stored.push(rest[4..4 + length].to_vec());
        }
    }
    let count = stored.len();
    let holds = |stored: Vec<u8>| {
        let dictionary = varve_warc::write::Dictionary::new(stored);
        crate::purge::holds(dictionary.plain().expect("a dictionary"), text)
    };
    (stored.into_iter().any(holds), count)
}

/// Pages, one with a secret. The secret is in the dictionary file and in a silo that loses no
/// record.
fn with_secret_in_dictionary(root: &Path, rest: usize) -> Vec<(String, String)> {
    make_zstd(root);
    let secret = format!("{}SECRETWORD lives at Elm street 5{}", unlike(1), unlike(2));
    let mut site = pages(0, rest);
    site.push(("https://e.org/private".to_owned(), secret));
    commit_all(root, "1", &site);
    train::train(&ArchiveHistoryWriter::open(root, opening()).expect("opened"), 1 << 20).expect("trained");
    commit_all(root, "2", &pages(rest, 3));
    assert_eq!(in_dictionaries(root, "SECRETWORD"), (true, 2));
    pages(0, rest)
}

#[test]
fn purged_content_is_removed_from_dictionaries() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let rest = with_secret_in_dictionary(root, 300);
    let receipt = rewrite(root, &request(&["https://e.org/private"]));
    assert_eq!(receipt.dictionaries, Dictionaries::MadeAgain);
    assert_eq!(in_dictionaries(root, "SECRETWORD"), (false, 2), "one in its file, one in the silo");
    assert_sound(root);
    let reader = open_reader(root).expect("opened");
    let first = reader.catalog().version(&reader.head().expect("read").expect("a version")).expect("read");
    let first = first.and_then(|second| second.version.parent).expect("a parent");
    let mut wanted = rest;
    wanted.sort();
    assert_eq!(crate::purge_pages::shown(&reader, first), wanted);
    drop(reader);
    // Writing goes on in the same silo, by the same dictionary.
    commit_all(root, "3", &pages(900, 3));
    assert_eq!(in_dictionaries(root, "SECRETWORD"), (false, 2));
    assert_sound(root);
}

#[test]
fn a_purge_that_leaves_too_little_data_removes_the_dictionary() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    with_secret_in_dictionary(root, 60);
    let pattern = GroupPattern::new("https://e.org/**", AtSign::default());
    let receipt = rewrite(root, &Request { patterns: vec![pattern], ..request(&[]) });
    assert_eq!(receipt.dictionaries, Dictionaries::Removed);
    assert_eq!(in_dictionaries(root, "SECRETWORD"), (false, 0));
    assert_sound(root);
}

/// A page whose body stays leaves dictionaries as they are.
#[test]
fn a_purge_without_removed_records_keeps_dictionaries() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    with_secret_in_dictionary(root, 60);
    commit_all(root, "3", &[("https://e.org/again".to_owned(), pages(0, 1).remove(0).1)]);
    let before = fs::read(root.join("dictionary.zstd")).expect("read");
    let receipt = rewrite(root, &request(&["https://e.org/0"]));
    assert_eq!((receipt.tombstones.len(), receipt.dictionaries), (0, Dictionaries::AsTheyWere));
    assert_eq!(fs::read(root.join("dictionary.zstd")).expect("read"), before);
}

/// Text that no other page has.
fn unlike(number: usize) -> String {
    let mut state = number as u64 * 2 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("<p>{:x}</p>", state >> 20)
    };
    (0..1_500).map(|_| word()).collect()
}

#[test]
fn a_later_capture_of_a_page_is_packed_to_its_difference() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make_zstd(root);
    let site = |version: usize| -> Vec<(String, String)> {
        let page = |number| {
            let note = if number < version { "<b>noted</b>" } else { "" };
            (
                format!("https://e.org/{number:03}"),
                format!("{}{note}{}", unlike(number), unlike(number + 500)),
            )
        };
        (0..40).map(page).collect()
    };
    commit_all(root, "1", &site(0));
    let before = silo(root, 0, "zst").len();
    let done = train::train(&ArchiveHistoryWriter::open(root, opening()).expect("opened"), 4 << 20)
        .expect("trained");
    assert!(done.pages == 40 && done.packed < done.size, "{done:?}");
    let second = commit_all(root, "2", &site(40));
    let after = silo(root, 1, "zst").len() - done.packed as usize;
    assert!(after * 10 < before, "{after} for forty pages that changed, {before} for forty new ones");
    assert_sound(root);
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    let reader = open_reader(root).expect("opened");
    assert_eq!(contents(&reader, second), site(40));
    assert_sound(root);
}

#[test]
fn pages_without_common_content_give_no_dictionary() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make_zstd(root);
    let made = train::train(&ArchiveHistoryWriter::open(root, opening()).expect("opened"), 16 << 10);
    assert!(matches!(made, Err(ArchiveError::NoDictionary { .. })));
    let gzip = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, gzip.path());
    let made = train::train(&ArchiveHistoryWriter::open(gzip.path(), opening()).expect("opened"), 16 << 10);
    assert!(matches!(made, Err(ArchiveError::NotZstd)));
}
