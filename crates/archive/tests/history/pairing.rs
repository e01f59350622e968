//! Pages of a Moku site whose paths were written in other ways are the same pages all the same.

use std::path::Path;

use crate::scene::*;
use proptest::prelude::*;
use rusqlite::Connection;
use varve_archive::VersionId;
use varve_archive::history::{CapturePairs, PageChange};
use varve_archive::verbs::checkout;

const URLS: [&str; 6] = [
    "https://e.org/",
    "https://e.org/?top=1",
    "https://e.org/new",
    "https://e.org/s.html",
    "https://e.org/s/below",
    "https://e.org/s?y=2&x=1",
];

/// A site with two versions of these pages. `sql` rewrites the paths of the first.
fn site(root: &Path, sql: &str) -> [VersionId; 2] {
    make(Kind::Moku, root);
    let version = |text: &str| {
        let pages: Vec<_> = URLS.map(|url| (url, text)).into();
        commit_pages(&history(root), text, &pages).version
    };
    let first = version("old");
    let database = Connection::open(root.join(".moku/moku.db")).expect("opened");
    assert!(database.execute(sql, []).expect("changed") > 0, "{sql}");
    drop(database);
    [first, version("new")]
}

const WRITTEN: [&str; 3] = [
    // As Moku does.
    "UPDATE snapshots SET file_path = substr(file_path, 1, instr(file_path, '?') - 1) WHERE file_path LIKE '%?%'",
    // As a later one does.
    "UPDATE snapshots SET file_path = ltrim(iif(file_path LIKE '%?%', substr(file_path, 1, instr(file_path, '?') - 1), file_path), '/')",
    "UPDATE snapshots SET file_path = ltrim(file_path, '/')",
];

#[test]
fn a_page_is_paired_with_itself_however_its_path_was_written() {
    for sql in WRITTEN {
        let root = tempfile::tempdir().expect("a folder");
        let [first, second] = site(root.path(), sql);
        let reader = reader(root.path());
        for (base, head) in [(first, second), (second, first)] {
            let pairs: Vec<_> = CapturePairs::new(reader.catalog(), Some(base), Some(head))
                .map(|pair| pair.expect("read"))
                .map(|pair| (pair.change(), pair.any().url.clone()))
                .collect();
            assert_eq!(pairs.len(), URLS.len(), "{sql}: {pairs:?}");
            for (change, url) in &pairs {
                assert!(*change == PageChange::Changed && URLS.contains(&url.as_str()), "{sql}: {pairs:?}");
            }
        }
        let kept = reader.catalog().diff(Some(&first), &second).expect("read").expect("kept").json;
        let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
        assert_eq!(kept["files"].as_array().expect("a list").len(), URLS.len(), "{kept}");
    }
}

#[test]
fn a_checkout_leaves_nothing_where_another_version_has_its_pages() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root, "UPDATE snapshots SET file_path = '/s?y=2&x=1' WHERE url LIKE '%/s?%'");
    let there = |name: &str| root.join(name).join(".page_body").exists();
    let writer = history(root);
    checkout::checkout(&writer, first, &mut |_| {}).expect("moved");
    assert!(there("s?y=2&x=1") && !there("s?x=1&y=2"));
    checkout::checkout(&writer, second, &mut |_| {}).expect("moved");
    assert!(there("s?x=1&y=2") && !there("s?y=2&x=1") && there("s/below"));
}

/// A version of a site: of each page of a list, none, or one of a few bodies.
fn site_version() -> impl Strategy<Value = Vec<Option<u8>>> {
    prop::collection::vec(prop_oneof![12 => Just(Some(0)), 1 => Just(None), 1 => (1u8..3).prop_map(Some)], 40)
}

/// Pages of two hosts, of which some share their paths, some with queries.
fn url_of(place: usize) -> String {
    let (host, page) = (["a.example", "b.example"][place % 2], place / 2);
    if place.is_multiple_of(5) {
        format!("https://{host}/{page}?y=2&x=1")
    } else {
        format!("https://{host}/{page}")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pairs_that_differ_are_the_pairs_without_those_that_do_not(
        versions in prop::collection::vec(site_version(), 2..6),
    ) {
        let root = tempfile::tempdir().expect("a folder");
        make(Kind::Archive, root.path());
        let writer = history(root.path());
        let commit = |bodies: &Vec<Option<u8>>| {
            let pages = bodies.iter().enumerate().filter_map(|(place, body)| Some((place, (*body)?)));
            let pages: Vec<_> = pages.map(|(place, body)| (url_of(place), format!("<p>{body}"))).collect();
            let pages: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
            commit_pages(&writer, "a version", &pages).version
        };
        let versions: Vec<VersionId> = versions.iter().map(commit).collect();
        let catalog = writer.catalog();
        let told = |pairs: &mut CapturePairs<'_>| -> Vec<_> {
            let pairs = pairs.map(|pair| pair.expect("read"));
            let urls = |pair: varve_archive::history::CapturePair| [pair.base, pair.head].map(|page| page.map(|page| page.url));
            pairs.map(|pair| (pair.change(), urls(pair))).collect()
        };
        for (base, head) in versions.iter().flat_map(|base| versions.iter().map(move |head| (*base, *head))) {
            let all = told(&mut CapturePairs::new(catalog, Some(base), Some(head)));
            let mut some = CapturePairs::that_differ(catalog, Some(base), Some(head)).expect("read");
            let (some, left_out) = (told(&mut some), some.left_out());
            prop_assert_eq!(all.len() as u64, some.len() as u64 + left_out);
            let differ = |pairs: Vec<_>| -> Vec<_> {
                pairs.into_iter().filter(|(change, _)| *change != PageChange::Unchanged).collect()
            };
            prop_assert_eq!(differ(all), differ(some));
        }
    }
}
