//! Purging pages: a purged page is in no version, even if another page has its body, and its
//! response is not shown.

use std::path::Path;
use varve_archive::RepositoryError;

use crate::purge::*;
use crate::scene::*;
use varve_archive::history::{HistoryReader, StatePages, open_reader};
use varve_archive::verbs::cat::{self, CaptureSelector, look_up, removal_of};
use varve_archive::verbs::commit::{NewPage, Request as CommitRequest, commit};
use varve_archive::verbs::purge::{AtSign, GroupPattern, Request};
use varve_archive::verbs::{rebuild, score};
use varve_archive::{ArchiveError, ArchivePaths, VersionId};
use varve_core::history::PageState;

const ORIGINAL: &str = "https://e.org/orig";
const COPY: &str = "https://e.org/copy";

/// URL and body of every page in the state of a version that is shown.
pub(crate) fn shown(reader: &HistoryReader, version: VersionId) -> Vec<(String, String)> {
    let pages = StatePages::new(reader.catalog(), Some(version)).map(|page| page.expect("read"));
    let shown = pages.filter_map(PageState::into_shown).filter_map(|page| match reader.open_body(&page) {
        Err(RepositoryError::Absent { .. }) => None,
        _ => Some((page.url.clone(), body(reader, &page))),
    });
    shown.collect()
}

/// Asserts that a rebuild from the silos gives the catalog that is there.
fn assert_same_when_rebuilt(root: &Path) {
    let before = rows(&open_reader(root).expect("opened"));
    for name in ["catalog.db", "HEAD"] {
        std::fs::remove_file(root.join(name)).expect("removed");
    }
    std::fs::remove_dir_all(root.join("index")).expect("removed");
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert_eq!(rows(&open_reader(root).expect("opened")), before);
    assert_sound(root);
}

#[test]
fn a_purged_page_leaves_all_versions_although_another_page_has_its_body() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let first = commit_pages(&writer, "1", &[(ORIGINAL, "its own")]).version;
    let second = commit_pages(&writer, "2", &[(ORIGINAL, "shared"), (COPY, "shared")]).version;
    let third = commit_pages(&writer, "3", &[(ORIGINAL, "shared"), (COPY, "shared")]).version;
    score::score(&writer, third, &|_| {}).expect("scored");
    drop(writer);
    let receipt = rewrite(root, &request(&[ORIGINAL]));
    assert_eq!(by_kind(&receipt)["resource"], 1, "the body that nobody shares");
    assert_eq!(by_kind(&receipt)["metadata"], 1, "a score that told of it");
    assert_eq!((receipt.pages.len(), receipt.pages_alone().count()), (2, 1), "{receipt:?}");
    assert_sound(root);
    let look = || {
        let reader = open_reader(root).expect("opened");
        assert_eq!(shown(&reader, first), []);
        for version in [second, third] {
            assert_eq!(shown(&reader, version), texts(&[(COPY, "shared")]));
            let listed = look_up(&reader, ORIGINAL, &CaptureSelector::Version(version)).expect("listed");
            let removal = removal_of(&reader, &listed).expect("read").expect("told");
            assert_eq!((removal.tombstone.who.as_str(), removal.tombstone.page()), ("Ada", Some(ORIGINAL)));
            for told in
                [cat::body(&reader, &listed).err().map(ArchiveError::from), cat::head(&reader, &listed).err()]
            {
                assert!(
                    matches!(told, Some(ArchiveError::Repository(RepositoryError::Removed { .. }))),
                    "{told:?}"
                );
            }
            let copy = look_up(&reader, COPY, &CaptureSelector::Version(version)).expect("listed");
            assert_eq!(removal_of(&reader, &copy).expect("read"), None);
        }
        let to = tempfile::tempdir().expect("a folder");
        let done = export(&reader, second, &to.path().join("out"), &mut |_| {});
        assert_eq!(done.expect("written").written, 1);
    };
    look();
    assert_same_when_rebuilt(root);
    look();
    // What is committed from now on is there, and what was before is not.
    let fourth = commit_pages(&history(root), "4", &[(ORIGINAL, "shared"), (COPY, "shared")]).version;
    look();
    assert_same_when_rebuilt(root);
    look();
    let reader = open_reader(root).expect("opened");
    assert_eq!(shown(&reader, fourth), texts(&[(COPY, "shared"), (ORIGINAL, "shared")]));
}

#[test]
fn a_purged_page_references_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    commit_pages(&history(root), "1", &[(ORIGINAL, "shared secret"), (COPY, "shared secret")]);
    assert!(rewrite(root, &request(&[ORIGINAL])).tombstones.is_empty());
    assert!(holds(&all_bytes(root), "shared secret"));
    let receipt = rewrite(root, &request(&[COPY]));
    assert_eq!((by_kind(&receipt)["resource"], receipt.pages.len()), (1, 1));
    assert!(!holds(&all_bytes(root), "shared secret"));
    assert_sound(root);
    assert_same_when_rebuilt(root);
    // Committed under another URL, the same body brings neither back.
    let last = commit_pages(&history(root), "2", &[("https://e.org/other", "shared secret")]);
    let reader = open_reader(root).expect("opened");
    assert_eq!(shown(&reader, last.parent.expect("a parent")), []);
}

#[test]
fn all_purged_pages_with_one_body_are_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    commit_pages(&history(root), "1", &[(ORIGINAL, "same"), (COPY, "same"), ("https://f.org/", "other")]);
    let pattern = GroupPattern::new("https://e.org/**", AtSign::default());
    let receipt = rewrite(root, &Request { patterns: vec![pattern], ..request(&[]) });
    assert_eq!((receipt.tombstones.len(), receipt.pages.len(), receipt.pages_alone().count()), (1, 2, 1));
    assert_sound(root);
}

/// A page with headers of its own.
fn with_header(url: &str, body: &str, value: &str) -> NewPage {
    let mut page = page(url, body);
    page.headers.push("X-User", value);
    page.headers.push("ETag", value);
    page
}

/// Whether the catalog, or a file beside it, has a text somewhere.
fn catalog_holds(root: &Path, text: &str) -> bool {
    let files =
        ["catalog.db", "catalog.db-wal"].map(|name| std::fs::read(root.join(name)).unwrap_or_default());
    files.iter().any(|bytes| holds(bytes, text))
}

#[test]
fn headers_of_a_purged_page_are_not_in_the_catalog_and_not_shown() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let commit_with = |message: &str, body: &str| {
        // Enough pages that rows fill more than a page of the database.
        let mut pages: Vec<_> = (0..200)
            .map(|number| with_header(&format!("https://e.org/{number}"), "x", &format!("value {number}")))
            .collect();
        pages.push(with_header(ORIGINAL, body, "SECRETHEADER"));
        pages.push(with_header(COPY, "shared", "another"));
        let request = CommitRequest { message: message.to_owned(), threads: 1, ..CommitRequest::default() };
        commit(&history(root), &request, pages, &|_| {}).expect("committed").version
    };
    let versions = [commit_with("1", "its own"), commit_with("2", "shared")];
    assert!(catalog_holds(root, "SECRETHEADER"));
    rewrite(root, &request(&[ORIGINAL]));
    let look = || {
        assert!(!catalog_holds(root, "SECRETHEADER"));
        let reader = open_reader(root).expect("opened");
        assert!(!rows(&reader).iter().any(|row| row.contains("SECRETHEADER")));
        for version in versions {
            let listed = look_up(&reader, ORIGINAL, &CaptureSelector::Version(version)).expect("listed");
            assert!(listed.headers.is_empty());
            assert!(matches!(
                cat::head(&reader, &listed),
                Err(ArchiveError::Repository(RepositoryError::Removed { .. }))
            ));
            let copy = look_up(&reader, COPY, &CaptureSelector::Version(version)).expect("listed");
            assert_eq!(copy.headers.get("x-user"), Some(&["another".to_owned()][..]));
        }
    };
    look();
    assert_same_when_rebuilt(root);
    look();
    // The silos alone have them, in manifests whose digests are the ids of versions.
    assert!(holds(&all_bytes(root), "SECRETHEADER"));
    let third = commit_with("3", "shared");
    let reader = open_reader(root).expect("opened");
    let again = look_up(&reader, ORIGINAL, &CaptureSelector::Version(third)).expect("listed");
    assert_eq!(again.headers.get("x-user"), Some(&["SECRETHEADER".to_owned()][..]), "it came again");
    drop(reader);
    assert_same_when_rebuilt(root);
}

/// Pages that stay from version to version are listed once.
#[test]
fn pages_that_did_not_change_are_purged_too() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let pages: Vec<_> =
        (0..40).map(|number| (format!("https://e.org/{number}"), "same".to_owned())).collect();
    let pages: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
    let versions = ["1", "2", "3"].map(|message| commit_pages(&history(root), message, &pages).version);
    let receipt = rewrite(root, &request(&["https://e.org/7"]));
    assert_eq!((receipt.tombstones.len(), receipt.pages.len()), (0, 1));
    let again = commit_pages(&history(root), "4", &pages).version;
    let look = || {
        let reader = open_reader(root).expect("opened");
        for version in versions {
            let shown = shown(&reader, version);
            assert!(shown.len() == 39 && shown.iter().all(|(url, _)| url != "https://e.org/7"), "{shown:?}");
        }
        assert_eq!(shown(&reader, again).len(), 40);
    };
    look();
    assert_same_when_rebuilt(root);
    look();
}

/// A body that was captured before is not kept again when it is committed: the answer holds it for
/// the page.
#[test]
fn the_body_of_a_purged_response_stays_if_a_page_references_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    capture(root, 1, &[(COPY, b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nshared")]);
    let second = commit_pages(&history(root), "2", &[(ORIGINAL, "shared")]).version;
    rewrite(root, &request(&[COPY]));
    assert_sound(root);
    let reader = open_reader(root).expect("opened");
    assert_eq!(shown(&reader, second), texts(&[(ORIGINAL, "shared")]));
    assert!(matches!(
        look_up(&reader, COPY, &CaptureSelector::Newest),
        Err(ArchiveError::Repository(RepositoryError::Removed { .. }))
    ));
    drop(reader);
    assert_same_when_rebuilt(root);
    // And goes with the page.
    rewrite(root, &request(&[ORIGINAL]));
    assert!(!holds(&all_bytes(root), "shared"));
    assert_sound(root);
}
