//! Versions of many pages: what they have in common is written once, and each is whole all the
//! same.

use std::io::Read;
use std::path::Path;

use crate::purge::{all_bytes, assert_sound, holds, request, rewrite};
use crate::scene::*;
use varve_archive::history::open_reader;
use varve_archive::verbs::commit::{self, NewPage};
use varve_archive::verbs::{purge::Request, rebuild};
use varve_archive::{Archive, ArchivePaths, VersionId};
use varve_core::fact::{Manifest, PageList, media_type};

const PAGES: usize = 40;

/// A site in which one page has another text and some pages are missing.
fn commit_site(root: &Path, message: &str, other: usize, without: usize) -> VersionId {
    let pages: Vec<(String, String)> = (without..PAGES)
        .map(|number| {
            let text = if number == other { message } else { "as ever" };
            (format!("https://e.org/{number:02}"), format!("{text} {number}"))
        })
        .collect();
    let borrowed: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
    commit_pages(&history(root), message, &borrowed).version
}

/// The manifests and the lists in the silos, in their order.
fn facts(root: &Path) -> (Vec<Manifest>, Vec<PageList>) {
    let archive = Archive::open(root).expect("opened");
    let (mut manifests, mut lists) = (Vec::new(), Vec::new());
    for number in archive.store().files().list().expect("listed").into_keys() {
        let source = archive.store().files().open(number).expect("opened");
        let mut reader = varve_warc::WarcReader::new(&*source).expect("a silo");
        while let Some(mut record) = reader.next_record().expect("read") {
            let kind = record.header().fields.get("Content-Type").unwrap_or_default().to_vec();
            let mut json = Vec::new();
            record.read_to_end(&mut json).expect("read");
            if kind == media_type::VERSION.as_bytes() {
                manifests.push(serde_json::from_slice(&json).expect("a manifest"));
            } else if kind == media_type::PAGES.as_bytes() {
                lists.push(serde_json::from_slice(&json).expect("a list"));
            }
        }
    }
    (manifests, lists)
}

fn texts(root: &Path, version: VersionId) -> Vec<String> {
    let reader = open_reader(root).expect("opened");
    contents(&reader, version).into_iter().map(|(_, body)| body).collect()
}

#[test]
fn a_version_stores_differences_and_is_complete() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let versions: Vec<_> =
        (0..6).map(|number| commit_site(root, &format!("text {number}"), number, number % 3)).collect();
    let (manifests, lists) = facts(root);
    assert_eq!(lists.len(), 1);
    assert_eq!(lists[0].pages.len(), PAGES);
    assert!(manifests.iter().all(|manifest| manifest.list.is_some() && manifest.pages.len() <= 2));
    assert_eq!(
        manifests.iter().map(|manifest| manifest.without.len()).collect::<Vec<_>>(),
        [0, 1, 2, 0, 1, 2]
    );
    let check = || {
        for (number, version) in versions.iter().enumerate() {
            let texts = texts(root, *version);
            assert_eq!(texts.len(), PAGES - number % 3);
            let other = if number < number % 3 { 0 } else { 1 };
            assert_eq!(texts.iter().filter(|text| text.starts_with("text")).count(), other, "{number}");
        }
    };
    check();
    assert_sound(root);
    std::fs::remove_file(root.join("catalog.db")).expect("removed");
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    check();
    // All that is said against a list is as much as the list, after a while: another is written.
    for number in 6..30 {
        commit_site(root, &format!("text {number}"), number, 0);
    }
    assert_eq!(facts(root).1.len(), 2);
    assert_sound(root);
    check();
}

#[test]
fn missing_rows_are_made_from_an_earlier_page_list() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    commit_site(root, "first", 1, 0);
    let (catalog, saved) = (root.join("catalog.db"), root.join("saved.db"));
    std::fs::copy(&catalog, &saved).expect("copied");
    commit_site(root, "second", 2, 1);
    let kept = rows(&open_reader(root).expect("opened"));
    // As if the power had gone between the silo and the catalog.
    std::fs::rename(&saved, &catalog).expect("put back");
    assert_ne!(rows(&open_reader(root).expect("opened")), kept);
    drop(history(root));
    assert_eq!(rows(&open_reader(root).expect("opened")), kept);
    commit_site(root, "third", 3, 0);
    assert_eq!(facts(root).1.len(), 1, "and the list goes on being used");
    assert_sound(root);
}

#[test]
fn a_small_version_lists_its_pages_itself() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    commit_pages(&history(root.path()), "small", &[("https://e.org/", "1")]);
    let (manifests, lists) = facts(root.path());
    assert!(lists.is_empty() && manifests[0].list.is_none() && manifests[0].pages.len() == 1);
}

#[test]
fn pages_with_individual_times_are_not_written_as_a_list() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let at = |number: i64| varve_core::Moment::from_micros(1_600_000_000_000_000 + number);
    let pages = (0..PAGES as i64)
        .map(|number| NewPage { time: Some(at(number)), ..page(&format!("https://e.org/{number}"), "text") });
    let request = commit::Request { message: "old".to_owned(), threads: 1, ..commit::Request::default() };
    commit::commit(&history(root.path()), &request, pages.collect(), &|_| {}).expect("committed");
    let (manifests, lists) = facts(root.path());
    assert!(lists.is_empty() && manifests[0].list.is_none() && manifests[0].pages.len() == PAGES);
}

/// Hex digits that pack to half their length and no better.
fn noise(length: usize, seed: u64) -> String {
    let mut state = seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{state:016x}")
    };
    let mut text = String::new();
    while text.len() < length {
        text += &next();
    }
    text
}

#[test]
fn a_fact_longer_than_a_silo_is_one_record() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let settings = std::fs::read_to_string(root.join("varve.toml")).expect("settings");
    std::fs::write(root.join("varve.toml"), settings.replace("1 GiB", "1 MiB")).expect("written");
    let pages = (0..PAGES as u64).map(|number| {
        let mut page = page(&format!("https://e.org/{number:02}"), "one body for all");
        page.headers.push("X-Noise", noise(70_000, number + 1));
        page
    });
    let request = commit::Request { message: "long".to_owned(), threads: 1, ..commit::Request::default() };
    let committed = commit::commit(&history(root), &request, pages.collect(), &|_| {}).expect("committed");
    commit_pages(&history(root), "short", &[("https://e.org/", "1")]);
    assert_eq!(facts(root).1.len(), 1);
    let longest = Archive::open(root).expect("opened").store().files().list().expect("listed");
    assert!(longest.values().any(|silo| silo.length > 1 << 20), "{longest:?}");
    assert_eq!(texts(root, committed.version).len(), PAGES);
    assert_sound(root);
    let kept = rows(&open_reader(root).expect("opened"));
    std::fs::remove_file(root.join("catalog.db")).expect("removed");
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert_eq!(rows(&open_reader(root).expect("opened")), kept);
}

#[test]
fn versions_that_share_a_page_list_with_a_purged_one_stay() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let first = commit_site(root, "secret", 3, 0);
    let second = commit_site(root, "text", 3, 0);
    let gone =
        Request { versions: vec![first], who: "Ada".into(), why: "asked for".into(), ..Request::default() };
    rewrite(root, &gone);
    assert_sound(root);
    assert!(!holds(&all_bytes(root), "secret 3"));
    assert_eq!(texts(root, second).len(), PAGES);
    assert_eq!(facts(root).1.len(), 1, "the list is still named");
    let third = commit_site(root, "more", 5, 0);
    assert_eq!((facts(root).1.len(), texts(root, third).len()), (1, PAGES));
    let gone = Request { versions: vec![second, third], ..gone };
    rewrite(root, &gone);
    assert_sound(root);
    assert_eq!(facts(root).1.len(), 0, "nobody names it any more");
}

#[test]
fn a_lost_list_is_named_by_the_audit() {
    use varve_archive::verbs::audit::{AuditKind, AuditRequest, audit};
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    commit_site(root, "text", 3, 0);
    // A manifest that names a list which never was.
    let lost = Manifest { list: Some(varve_archive::RecordId::new([7; 32])), ..facts(root).0[0].clone() };
    let json = serde_json::to_vec(&lost).expect("JSON");
    let about = format!("urn:uuid:{}", Manifest::version_id(&json));
    history(root).write_fact(&about, media_type::VERSION, &json).expect("kept");
    let archive = Archive::open(root).expect("opened");
    let mut found = Vec::new();
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding)).expect("audited");
    assert!(
        found
            .iter()
            .any(|finding| finding.kind == AuditKind::History && finding.message.contains("list of pages")),
        "{found:?}"
    );
}

/// A site in which every page has this text.
fn commit_all(root: &Path, text: &str) -> VersionId {
    let urls: Vec<String> = (0..PAGES).map(|number| format!("https://e.org/{number:02}")).collect();
    let pages: Vec<_> = urls.iter().map(|url| (url.as_str(), text)).collect();
    commit_pages(&history(root), text, &pages).version
}

#[test]
fn a_site_is_intact_after_its_old_database_is_restored() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let texts_of = ["old", "new", "old", "new", "newer", "old"];
    let versions = texts_of.map(|text| commit_all(root, text));
    assert_sound(root);
    let kept = rows(&reader(root));
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert_eq!(rows(&reader(root)), kept);
    for (version, text) in versions.iter().zip(texts_of) {
        assert_eq!(texts(root, *version), [text; PAGES]);
    }
    // What a version that goes shares with one that stays, stays.
    rewrite(root, &Request { versions: vec![versions[0], versions[2]], ..request(&[]) });
    assert_sound(root);
    assert_eq!(texts(root, versions[5]), ["old"; PAGES]);
}
