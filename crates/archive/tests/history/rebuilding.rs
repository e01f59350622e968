//! The silos alone define the archive: whatever happened, a catalog that is made again is the same.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::scene::*;
use varve_archive::verbs::{checkout, rebuild, score, tag};
use varve_archive::{Layout, VersionId};

/// Something that people do.
#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(u8, u8)>),
    CommitFrom(usize, Vec<(u8, u8)>),
    Tag(u8, usize),
    Untag(u8),
    Checkout(usize),
    Score(usize),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pages =
        || prop::collection::btree_map(0u8..6, 0u8..4, 1..5).prop_map(|map| map.into_iter().collect());
    let step = prop_oneof![
        4 => pages().prop_map(Step::Commit),
        1 => (0usize..9, pages()).prop_map(|(parent, pages)| Step::CommitFrom(parent, pages)),
        1 => (0u8..3, 0usize..9).prop_map(|(name, version)| Step::Tag(name, version)),
        1 => (0u8..3).prop_map(Step::Untag),
        1 => (0usize..9).prop_map(Step::Checkout),
        1 => (0usize..9).prop_map(Step::Score),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..14)
}

fn perform(root: &Path, steps: &[Step]) {
    let mut writer = Some(history(root));
    let mut made: Vec<VersionId> = Vec::new();
    for step in steps {
        let pick = |number: usize| made.get(number % made.len().max(1)).copied();
        let open = writer.get_or_insert_with(|| history(root));
        match step {
            Step::Commit(pages) => made.push(commit_numbers(&**open, None, pages)),
            Step::CommitFrom(parent, pages) => {
                let parent = pick(*parent);
                made.push(commit_numbers(&**open, parent, pages));
            }
            Step::Tag(name, version) => {
                if let Some(version) = pick(*version) {
                    tag::set(&**open, &format!("tag-{name}"), Some(version)).expect("set");
                }
            }
            Step::Untag(name) => {
                // There may be none of that name.
                let _ = tag::set(&**open, &format!("tag-{name}"), None);
            }
            Step::Checkout(version) => {
                if let Some(version) = pick(*version) {
                    checkout::checkout(&**open, version, &mut |_| {}).expect("moved");
                }
            }
            Step::Score(version) => {
                if let Some(version) = pick(*version) {
                    score::score(&**open, version, &|_| {}).expect("scored");
                }
            }
            Step::Reopen => drop(writer.take()),
        }
    }
}

fn commit_numbers(
    writer: &dyn varve_archive::history::HistoryWriter,
    parent: Option<VersionId>,
    pages: &[(u8, u8)],
) -> VersionId {
    let markup = |body: u8| format!("<form action=/login><input name=a{body} type=password></form>{body}");
    let pages =
        pages.iter().map(|(url, body)| page(&format!("https://e.org/{url}"), &markup(*body))).collect();
    let request = varve_archive::verbs::commit::Request {
        message: "a step".to_owned(),
        parent,
        threads: 1,
        ..Default::default()
    };
    varve_archive::verbs::commit::commit(writer, &request, pages, &|_| {}).expect("committed").version
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_row_is_made_again(steps in steps()) {
        let root = tempfile::tempdir().expect("a folder");
        make(Kind::Archive, root.path());
        perform(root.path(), &steps);
        let before = holdings(root.path());
        let (kept, head) = (rows(&*before), before.head().expect("read"));
        drop(before);
        for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm", "HEAD"] {
            let _ = fs::remove_file(root.path().join(name));
        }
        fs::remove_dir_all(root.path().join("index")).expect("removed");
        rebuild::rebuild(&Layout::new(root.path()), opening(), &|_| {}).expect("rebuilt");
        let after = holdings(root.path());
        prop_assert_eq!(rows(&*after), kept);
        prop_assert_eq!(after.head().expect("read"), head);
    }
}

#[test]
fn a_lost_catalog_comes_back_by_opening() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    commit_pages(&*writer, "first", &[("https://e.org/", "1")]);
    let kept = rows(writer.as_holdings());
    drop(writer);
    fs::remove_file(root.path().join("catalog.db")).expect("removed");
    fs::remove_file(root.path().join("HEAD")).expect("removed");
    let writer = history(root.path());
    assert_eq!(rows(writer.as_holdings()), kept);
    assert!(writer.head().expect("read").is_some());
}

#[test]
fn a_changed_past_is_noticed() {
    use varve_archive::verbs::audit::{AuditKind, AuditRequest, audit};
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    commit_pages(&*writer, "first", &[("https://e.org/", "1")]);
    // A manifest that claims to be a version which its content does not make it.
    let forged = br#"{"parent":null,"message":"forged","time":"2026-11-16T00:00:00Z","pages":[]}"#;
    let about = format!("urn:uuid:{}", writer.head().expect("read").expect("a version"));
    writer.keep_fact(&about, "application/vnd.varve.version+json", forged).expect("kept");
    drop(writer);
    drop(history(root.path()));
    let archive = varve_archive::Archive::open(root.path()).expect("opened");
    let mut found = Vec::new();
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding)).expect("audited");
    let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [AuditKind::History], "{found:?}");
}
