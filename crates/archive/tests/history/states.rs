//! Versions say what they changed, and each has a whole state all the same.

use std::io::Read;
use std::path::Path;

use crate::losing::rebuilt;
use crate::purge::{assert_sound, request, rewrite};
use crate::scene::*;
use varve_archive::history::{CapturePairs, HistoryWriter, PageChange, VersionPages};
use varve_archive::verbs::cat::{CaptureSelector, find};
use varve_archive::verbs::commit::{Report, Request, commit};
use varve_archive::verbs::purge::Request as PurgeRequest;
use varve_archive::{Archive, VersionId};
use varve_core::fact::{ChangesRecord, Manifest, media_type};
use varve_core::history::CoverageScope;

const PAGES: usize = 40;

/// A site with one page that says something else, and without the first ones.
fn commit_site(root: &Path, message: &str, pages: usize, other: usize, without: usize) -> VersionId {
    let pages: Vec<(String, String)> = (without..pages)
        .map(|number| {
            let text = if number == other { message } else { "as ever" };
            (format!("https://e.org/{number:05}"), format!("{text} {}", number % 7))
        })
        .collect();
    let borrowed: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
    commit_pages(&history(root), message, &borrowed).version
}

/// Commits pages that are all there are below a URL, or some of many.
fn commit_below(history: &HistoryWriter, covers: Option<&str>, pages: &[(&str, &str)]) -> Report {
    let pages: Vec<_> = pages.iter().map(|(url, body)| page(url, body)).collect();
    let covers = covers.map(str::to_owned);
    let request = Request { message: "some".to_owned(), threads: 1, covers, ..Request::default() };
    commit(history, &request, pages, &|_| {}).expect("committed")
}

/// The manifests and the records of changes in the silos, in their order.
fn facts(root: &Path) -> (Vec<Manifest>, Vec<ChangesRecord>) {
    let archive = Archive::open(root).expect("opened");
    let (mut manifests, mut changes) = (Vec::new(), Vec::new());
    for number in archive.store().files().list().expect("listed").into_keys() {
        let source = archive.store().files().open(number).expect("opened");
        let mut reader = varve_warc::WarcReader::new(&*source).expect("a silo");
        while let Some(mut record) = reader.next_record().expect("read") {
            let kind = record.header().fields.get("Content-Type").unwrap_or_default().to_vec();
            let mut json = Vec::new();
            record.read_to_end(&mut json).expect("read");
            if kind == media_type::VERSION.as_bytes() {
                manifests.push(serde_json::from_slice(&json).expect("a manifest"));
            } else if kind == media_type::CHANGES.as_bytes() {
                changes.push(serde_json::from_slice(&json).expect("changes"));
            }
        }
    }
    (manifests, changes)
}

/// The rows of an archive, which are the same when they are made again.
fn assert_same_when_rebuilt(root: &Path) {
    let before = rows(&reader(root));
    for name in ["catalog.db", "HEAD"] {
        std::fs::remove_file(root.join(name)).expect("removed");
    }
    let again = rebuilt(root);
    assert!(again.left_out.is_empty(), "{:?}", again.left_out);
    assert_eq!(rows(&reader(root)), before);
    assert_sound(root);
}

/// The URLs of the pages that differ between two versions, and the number of others.
fn differences(writer: &HistoryWriter, base: VersionId, head: VersionId) -> (Vec<(String, PageChange)>, u64) {
    let mut all = CapturePairs::that_differ(writer.catalog(), Some(base), Some(head)).expect("read");
    let pairs = all.by_ref().map(|pair| pair.expect("read"));
    let pairs = pairs.filter(|pair| pair.change() != PageChange::Unchanged);
    (pairs.map(|pair| (pair.any().url.clone(), pair.change())).collect(), all.left_out())
}

#[test]
fn a_version_lists_differences_and_its_state_is_complete() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let versions: Vec<_> = (0..6)
        .map(|number| commit_site(root, &format!("text {number}"), PAGES, number, number % 3))
        .collect();
    let (manifests, changes) = facts(root);
    assert!(changes.is_empty());
    let listed: Vec<_> =
        manifests.iter().map(|manifest| (manifest.inline.pages.len(), manifest.inline.gone.len())).collect();
    assert_eq!(listed, [(40, 0), (1, 1), (1, 1), (4, 0), (2, 1), (2, 1)]);
    for (number, version) in versions.iter().enumerate() {
        let open = reader(root);
        let contents = contents(&open, *version);
        assert_eq!(contents.len(), PAGES - number % 3);
        let other = format!("text {number} {}", number % 7);
        assert_eq!(contents.iter().filter(|(_, body)| *body == other).count(), 1, "{number}");
        assert_eq!(open.catalog().state_counts(version).expect("read").shown(), contents.len() as u64);
        let info = open.catalog().version(version).expect("read").expect("there");
        assert_eq!(info.captures, contents.len() as u64, "pages that were taken in");
    }
    assert_same_when_rebuilt(root);
}

#[test]
fn a_commit_of_one_page_says_nothing_about_others() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let all = [("https://e.org/a", "1"), ("https://e.org/b", "2"), ("https://e.org/c", "3")];
    let first = commit_pages(&writer, "all", &all).version;
    let second = commit_below(&writer, None, &[("https://e.org/b", "new")]);
    assert_eq!((second.captures, second.changed), (1, 1));
    let second = second.version;
    assert_eq!(VersionPages::new(writer.catalog(), Some(second)).count(), 1);
    assert_eq!(
        differences(&writer, first, second),
        (vec![("https://e.org/b".to_owned(), PageChange::Changed)], 2)
    );
    let found =
        find(writer.as_reader(), "https://e.org/c", &CaptureSelector::Version(second)).expect("found");
    assert_eq!(body(writer.as_reader(), &found), "3");
    let to = root.join("out");
    assert_eq!(export(writer.as_reader(), second, &to, &mut |_| {}).expect("written").written, 3);
    let coverage = facts(root).0[1].coverage.clone().expect("said");
    assert_eq!((coverage.scope, coverage.complete, coverage.unchanged), (CoverageScope::Pages, true, 0));
}

#[test]
fn a_folder_says_nothing_about_other_sites() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let (one, two) = (Some("https://one.example"), Some("https://two.example/docs/"));
    let site = [("https://one.example/", "1"), ("https://one.example/robots.txt", "2")];
    let first = commit_below(&writer, one, &site).version;
    let other = [("https://two.example/docs/", "3"), ("https://two.example/docs/robots.txt", "4")];
    let second = commit_below(&writer, two, &other).version;
    let third = commit_below(&writer, one, &site[..1]).version;
    let fourth = commit_below(&writer, one, &site).version;
    let count = |version| contents(writer.as_reader(), version).len();
    assert_eq!([first, second, third, fourth].map(count), [2, 4, 3, 4]);
    let robots = "https://one.example/robots.txt".to_owned();
    assert_eq!(differences(&writer, second, third), (vec![(robots.clone(), PageChange::Gone)], 3));
    assert_eq!(differences(&writer, third, fourth), (vec![(robots, PageChange::Back)], 3));
    assert_eq!(differences(&writer, second, fourth), (Vec::new(), 3));
    drop(writer);
    assert_same_when_rebuilt(root);
}

#[test]
fn many_changes_are_written_in_parts() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let first = commit_site(root, "first", 1_201, 0, 0);
    let second = commit_site(root, "second", 1_201, 0, 700);
    let third = commit_site(root, "third", 1_201, 0, 0);
    let fourth = commit_site(root, "fourth", 1_201, 0, 700);
    let (manifests, changes) = facts(root);
    assert!(manifests.iter().all(|manifest| manifest.inline.is_empty()));
    let parts: Vec<_> = manifests.iter().map(|manifest| manifest.changes.len()).collect();
    // What the fourth says is what the second said, and is written again.
    assert_eq!((parts, changes.len()), (vec![2, 1, 1, 1], 5));
    let lengths: Vec<_> =
        changes.iter().map(|part| (part.changes.pages.len(), part.changes.gone.len())).collect();
    assert_eq!(lengths, [(1_000, 0), (201, 0), (0, 700), (700, 0), (0, 700)]);
    let open = reader(root);
    let pages =
        [first, second, third, fourth].map(|id| open.catalog().state_counts(&id).expect("read").shown());
    assert_eq!(pages, [1_201, 501, 1_201, 501]);
    drop(open);
    assert_same_when_rebuilt(root);
}

/// What one changed page costs does not depend on how many others there are.
#[test]
fn a_commit_of_one_changed_page_writes_the_same_among_few_and_many() {
    let cost = |pages: usize| {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make(Kind::Archive, root);
        commit_site(root, "first", pages, 0, 0);
        commit_site(root, "second", pages, 1, 0);
        let bytes = || std::fs::metadata(root.join("warc/0/00000000.warc.gz")).expect("there").len();
        let before = (bytes(), rows(&reader(root)).len());
        commit_site(root, "third", pages, 2, 0);
        (bytes() - before.0, rows(&reader(root)).len() - before.1)
    };
    let (few, many) = (cost(50), cost(2_000));
    assert_eq!(few.1, many.1, "rows");
    assert!(many.0 < few.0 + 100, "bytes: {few:?} among few, {many:?} among many");
}

#[test]
fn states_stay_when_a_version_before_them_is_removed() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let below = Some("");
    let site = |a: &'static str, b: &'static str| [("https://e.org/a", a), ("https://e.org/b", b)];
    let first = commit_pages(&writer, "1", &[("https://e.org/a", "1"), ("https://e.org/gone", "1")]).version;
    let second = commit_below(&writer, below, &site("2", "2")).version;
    let third = commit_below(&writer, below, &site("3", "2")).version;
    let fourth = commit_below(&writer, below, &site("3", "4")).version;
    let before = [first, third, fourth].map(|version| contents(writer.as_reader(), version));
    drop(writer);
    let versions = vec![second];
    let receipt = rewrite(root, &PurgeRequest { versions, ..request(&[]) });
    let manifest = receipt.tombstones.iter().find(|tombstone| tombstone.version == Some(second));
    assert_eq!(manifest.expect("a tombstone").parent, Some(first));
    let look = || {
        let open = reader(root);
        assert!(open.catalog().version(&second).expect("read").is_none());
        assert_eq!([first, third, fourth].map(|version| contents(&open, version)), before);
        assert_eq!(open.catalog().state_counts(&fourth).expect("read").shown(), 2);
    };
    look();
    assert_same_when_rebuilt(root);
    look();
    // The adopted pages go with the version that adopted them, unless its child shows them.
    rewrite(root, &PurgeRequest { versions: vec![third], ..request(&[]) });
    let open = reader(root);
    assert_eq!(
        [first, fourth].map(|version| contents(&open, version)),
        [before[0].clone(), before[2].clone()]
    );
    drop(open);
    assert_same_when_rebuilt(root);
}
