//! Purging versions that runs became: pages that a child adopted are captures of the child alone.

use std::path::Path;

use crate::purge::*;
use crate::scene::*;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::captures;
use varve_archive::verbs::purge::Request;
use varve_archive::verbs::rebuild;
use varve_archive::{ArchivePaths, VersionId};
use varve_core::history::{CaptureFilter, CaptureOwner, ListCursor};

const SHOWN: &str = "https://e.org/shown";
const REPLACED: &str = "https://e.org/replaced";

fn response(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Three runs that became versions. The page [`SHOWN`] of the first is in the states of all.
fn three_runs(root: &Path) -> [VersionId; 3] {
    make(Kind::Archive, root);
    let (shown, old, new) = (response("adopted page"), response("old page"), response("new page"));
    [
        capture(root, 1, &[(SHOWN, &shown), (REPLACED, &old)]),
        capture(root, 2, &[(REPLACED, &new)]),
        capture(root, 3, &[("https://e.org/", &new)]),
    ]
}

fn drop_version(root: &Path, version: VersionId) {
    rewrite(root, &Request { versions: vec![version], ..request(&[]) });
}

fn rebuild_all(root: &Path) {
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
}

/// The owners of the captures of a page.
fn owners(reader: &HistoryReader, url: &str) -> Vec<CaptureOwner> {
    let found = captures(reader, url, &CaptureFilter::default(), ListCursor::first(10)).expect("read");
    found.into_iter().map(|capture| capture.owner).collect()
}

#[test]
fn an_adopted_page_is_a_capture_of_the_child_alone() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second, third] = three_runs(root);
    let states = |root: &Path| [second, third].map(|version| contents(&reader(root), version));
    let before = states(root);
    drop_version(root, first);
    let look = || {
        let open = reader(root);
        assert_eq!(open.catalog().open_runs().expect("read"), []);
        assert_eq!(owners(&open, SHOWN), [CaptureOwner::Version(second)]);
        assert_eq!(owners(&open, REPLACED), [CaptureOwner::Version(second)]);
        assert_eq!(states(root), before);
    };
    look();
    let kept = rows(&reader(root));
    rebuild_all(root);
    look();
    assert_eq!(rows(&reader(root)), kept);
    assert_sound(root);
}

#[test]
fn an_adopted_page_is_removed_with_the_last_version_that_has_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second, third] = three_runs(root);
    for (version, stays) in [(first, true), (second, true), (third, false)] {
        drop_version(root, version);
        assert_eq!(holds(&all_bytes(root), "adopted page"), stays);
        assert_eq!(reader(root).catalog().open_runs().expect("read"), []);
        assert_sound(root);
    }
    let kept = rows(&reader(root));
    rebuild_all(root);
    assert_eq!(rows(&reader(root)), kept);
}
