//! Pages of a Moku site whose paths were written in other ways are the same pages all the same.

use std::path::Path;

use crate::scene::*;
use rusqlite::Connection;
use varve_archive::VersionId;
use varve_archive::history::{Change, Pairs};
use varve_archive::verbs::checkout;

const URLS: [&str; 6] = [
    "https://e.org/",
    "https://e.org/?top=1",
    "https://e.org/new",
    "https://e.org/s.html",
    "https://e.org/s/below",
    "https://e.org/s?y=2&x=1",
];

/// A site with two versions of these pages, of which the first has its paths written as `sql` says.
fn site(root: &Path, sql: &str) -> [VersionId; 2] {
    make(Kind::Moku, root);
    let version = |text: &str| {
        let pages: Vec<_> = URLS.map(|url| (url, text)).into();
        commit_pages(&*history(root), text, &pages).version
    };
    let first = version("old");
    let database = Connection::open(root.join(".moku/moku.db")).expect("opened");
    assert!(database.execute(sql, []).expect("changed") > 0, "{sql}");
    drop(database);
    [first, version("new")]
}

const WRITTEN: [&str; 4] = [
    // As Moku does.
    "UPDATE snapshots SET file_path = substr(file_path, 1, instr(file_path, '?') - 1) WHERE file_path LIKE '%?%'",
    // As a later one does.
    "UPDATE snapshots SET file_path = ltrim(iif(file_path LIKE '%?%', substr(file_path, 1, instr(file_path, '?') - 1), file_path), '/')",
    // As varve once did.
    "UPDATE snapshots SET file_path = '/s?y=2&x=1' WHERE url LIKE '%/s?%'",
    "UPDATE snapshots SET file_path = ltrim(file_path, '/')",
];

#[test]
fn a_page_is_itself_however_its_path_was_written() {
    for sql in WRITTEN {
        let root = tempfile::tempdir().expect("a folder");
        let [first, second] = site(root.path(), sql);
        let holdings = holdings(root.path());
        for (base, head) in [(first, second), (second, first)] {
            let pairs: Vec<_> = Pairs::new(holdings.catalog(), Some(base), Some(head))
                .map(|pair| pair.expect("read"))
                .map(|pair| (pair.change(), pair.any().url.clone()))
                .collect();
            assert_eq!(pairs.len(), URLS.len(), "{sql}: {pairs:?}");
            for (change, url) in &pairs {
                assert!(*change == Change::Changed && URLS.contains(&url.as_str()), "{sql}: {pairs:?}");
            }
        }
        let kept = holdings.catalog().diff(Some(&first), &second).expect("read").expect("kept").json;
        let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
        assert_eq!(kept["files"].as_array().expect("a list").len(), URLS.len(), "{kept}");
    }
}

#[test]
fn a_checkout_leaves_nothing_where_another_version_has_its_pages() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root, WRITTEN[2]);
    let there = |name: &str| root.join(name).join(".page_body").exists();
    let writer = history(root);
    checkout::checkout(&*writer, first, &mut |_| {}).expect("moved");
    assert!(there("s?y=2&x=1") && !there("s?x=1&y=2"));
    checkout::checkout(&*writer, second, &mut |_| {}).expect("moved");
    assert!(there("s?x=1&y=2") && !there("s?y=2&x=1") && there("s/below"));
}
