//! The silos alone define the archive: after any history, a rebuilt catalog has the same rows.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::purge::{capture, request, rewrite, run_numbered, store_run};
use crate::scene::*;
use varve_archive::expectations::{
    Observed, OnAnswer, ProbeRequest, ProbeResponse, Prober, UrlDatabase, UrlsError,
};
use varve_archive::history::ArchiveHistoryWriter;
use varve_archive::verbs::check::{CheckLabel, ExpectationSource, Request, check};
use varve_archive::verbs::purge::Request as PurgeRequest;
use varve_archive::verbs::{checkout, rebuild, score, tag};
use varve_archive::{ArchiveError, ArchivePaths, Moment, VersionId};
use varve_core::exchange::Exchange;
use varve_core::{CheckId, WorkerId};

/// Something that people do.
#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(u8, u8)>),
    CommitFrom(usize, Vec<(u8, u8)>),
    /// More pages than a manifest holds inline, with some that differ and some that are missing.
    CommitSite(Vec<(u8, u8)>),
    /// As many, all of which say the same: the site becomes what it was before.
    CommitTemplate(u8),
    /// A run that becomes a version. The last bodies are answers that say that a page is gone.
    Capture(Vec<(u8, u8)>),
    /// A purge of a version.
    Drop(usize),
    Tag(u8, usize),
    Untag(u8),
    Checkout(usize),
    Score(usize),
    Check(Vec<(u8, u8)>),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pages =
        || prop::collection::btree_map(0u8..6, 0u8..4, 1..5).prop_map(|map| map.into_iter().collect());
    let step = prop_oneof![
        4 => pages().prop_map(Step::Commit),
        1 => (0usize..9, pages()).prop_map(|(parent, pages)| Step::CommitFrom(parent, pages)),
        4 => prop::collection::btree_map(0u8..30, 0u8..4, 0..8)
            .prop_map(|map| Step::CommitSite(map.into_iter().collect())),
        8 => (1u8..3).prop_map(Step::CommitTemplate),
        4 => pages().prop_map(Step::Capture),
        2 => (0usize..9).prop_map(Step::Drop),
        1 => (0u8..3, 0usize..9).prop_map(|(name, version)| Step::Tag(name, version)),
        1 => (0u8..3).prop_map(Step::Untag),
        1 => (0usize..9).prop_map(Step::Checkout),
        1 => (0usize..9).prop_map(Step::Score),
        2 => prop::collection::btree_map(0u8..6, 0u8..4, 1..5)
            .prop_map(|answers| Step::Check(answers.into_iter().collect())),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..14)
}

fn perform(root: &Path, steps: &[Step]) {
    let mut writer = Some(history(root));
    let mut made: Vec<VersionId> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let pick = |number: usize| made.get(number % made.len().max(1)).copied();
        let open = writer.get_or_insert_with(|| history(root));
        match step {
            Step::Commit(pages) => made.push(commit_numbers(open, None, pages)),
            Step::CommitSite(changes) => {
                let body =
                    |page| changes.iter().find(|(other, _)| *other == page).map_or(9, |(_, body)| *body);
                let pages: Vec<_> =
                    (0..30).map(|page| (page, body(page))).filter(|(_, body)| *body > 0).collect();
                made.push(commit_numbers(open, None, &pages));
            }
            Step::CommitTemplate(body) => {
                let pages: Vec<_> = (0..30).map(|page| (page, *body)).collect();
                made.push(commit_numbers(open, None, &pages));
            }
            Step::CommitFrom(parent, pages) => {
                let parent = pick(*parent);
                made.push(commit_numbers(open, parent, pages));
            }
            Step::Capture(pages) => {
                drop(writer.take());
                made.push(capture_numbers(root, number, pages));
            }
            Step::Drop(version) => {
                if let Some(version) = pick(*version) {
                    drop(writer.take());
                    made.retain(|other| *other != version);
                    drop_version(root, version, &made);
                }
            }
            Step::Tag(name, version) => {
                if let Some(version) = pick(*version) {
                    tag::set(open, &format!("tag-{name}"), Some(version)).expect("set");
                }
            }
            Step::Untag(name) => {
                // There may be none of that name.
                let _ = tag::set(open, &format!("tag-{name}"), None);
            }
            Step::Checkout(version) => {
                if let Some(version) = pick(*version) {
                    checkout::checkout(open, version, &mut |_| {}).expect("moved");
                }
            }
            Step::Score(version) => {
                if let Some(version) = pick(*version) {
                    match score::score(open, version, &|_| {}) {
                        // All its pages are gone.
                        Ok(_) | Err(ArchiveError::NoPages(_)) => {}
                        Err(error) => panic!("not scored: {error}"),
                    }
                }
            }
            Step::Check(answers) => {
                drop(writer.take());
                check_numbers(root, answers);
            }
            Step::Reopen => drop(writer.take()),
        }
    }
}

fn commit_numbers(
    writer: &varve_archive::history::HistoryWriter,
    parent: Option<VersionId>,
    pages: &[(u8, u8)],
) -> VersionId {
    let markup = |body: u8| format!("<form action=/login><input name=a{body} type=password></form>{body}");
    let pages: Vec<_> =
        pages.iter().map(|(url, body)| page(&format!("https://e.org/{url}"), &markup(*body))).collect();
    let request = varve_archive::verbs::commit::Request {
        message: "a step".to_owned(),
        parent,
        threads: 1,
        ..Default::default()
    };
    varve_archive::verbs::commit::commit(writer, &request, pages, &|_| {}).expect("committed").version
}

fn capture_numbers(root: &Path, number: usize, pages: &[(u8, u8)]) -> VersionId {
    let response = |body: u8| {
        let status = if body == 3 { "404 Not Found" } else { "200 OK" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 1\r\n\r\n{body}").into_bytes()
    };
    let pages: Vec<(String, Vec<u8>)> =
        pages.iter().map(|(url, body)| (format!("https://e.org/{url}"), response(*body))).collect();
    let pages: Vec<(&str, &[u8])> = pages.iter().map(|(url, response)| (&**url, &**response)).collect();
    // The number of a run is the second of its captures: after those of all commits.
    capture(root, 2_000_000_000 + number as u128, &pages)
}

/// Removes a version. The states of the others stay as they are.
fn drop_version(root: &Path, version: VersionId, others: &[VersionId]) {
    let states = |root: &Path| {
        let open = reader(root);
        others.iter().map(|other| contents(&open, *other)).collect::<Vec<_>>()
    };
    let before = states(root);
    rewrite(root, &PurgeRequest { versions: vec![version], ..request(&[]) });
    assert_eq!(states(root), before);
}

/// A web of numbered pages, each in one of four moods: there, elsewhere, missing, silent.
struct Numbers<'a>(&'a [(u8, u8)]);

impl Prober for Numbers<'_> {
    fn probe(&self, questions: &[ProbeRequest], answer: OnAnswer<'_>) {
        for (number, question) in questions.iter().enumerate() {
            let mood = self.0.iter().find(|(page, _)| question.url.ends_with(&format!("/{page}")));
            let found = mood
                .map_or_else(|| Observed::failed("silent").into(), |(_, mood)| told(&question.url, *mood));
            if answer(number, found).is_break() {
                return;
            }
        }
    }
}

fn told(url: &str, mood: u8) -> ProbeResponse {
    let status = match mood {
        0 => 200,
        1 => 302,
        2 => 404,
        _ => return Observed::failed("silent").into(),
    };
    let text = format!(
        "HTTP/1.1 {status} So\r\nContent-Type: text/html\r\nLocation: /there\r\nContent-Length: 1\r\n\r\n{mood}"
    );
    let at = Moment::from((opening().clock)().instant);
    let exchange = Exchange {
        request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        protocol: vec!["http/1.1".to_owned()],
        trailers: vec!["x-checksum: 1f".to_owned()],
        ..Exchange::of_response(url.to_owned(), at, text.into_bytes().into())
    };
    let observed = Observed { status: Some(status), ..Observed::default() };
    ProbeResponse { exchanges: vec![exchange], ..ProbeResponse::from(observed) }
}

pub(crate) fn check_numbers(root: &Path, answers: &[(u8, u8)]) -> Option<CheckId> {
    let folder = tempfile::tempdir().expect("a folder");
    let records: String = answers.iter().map(|(page, _)| format!("---\n_path: /{page}\n")).collect();
    fs::write(folder.path().join("e.org.yaml"), format!("---\n{records}")).expect("written");
    let database = UrlDatabase::open(folder.path()).expect("opened");
    let history = ArchiveHistoryWriter::open(root, opening()).expect("opened for writing");
    let label = CheckLabel { message: "check".to_owned(), author: None };
    let (request, web) = (Request::default(), Numbers(answers));
    let ended =
        check(&history, ExpectationSource::Database(&database), &request, label, &web, &mut |_| {}, |_| {
            Ok::<(), Wrong>(())
        });
    ended.expect("checked").check
}

/// An error of a check.
#[derive(Debug)]
struct Wrong(#[expect(dead_code, reason = "it is shown when the test fails")] String);

impl From<ArchiveError> for Wrong {
    fn from(error: ArchiveError) -> Self {
        Self(error.to_string())
    }
}

impl From<UrlsError> for Wrong {
    fn from(error: UrlsError) -> Self {
        Self(error.to_string())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_row_is_made_again(steps in steps()) {
        let root = tempfile::tempdir().expect("a folder");
        make(Kind::Archive, root.path());
        perform(root.path(), &steps);
        let before = reader(root.path());
        let (kept, head) = (rows(&before), before.head().expect("read"));
        drop(before);
        for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm", "HEAD"] {
            let _ = fs::remove_file(root.path().join(name));
        }
        fs::remove_dir_all(root.path().join("index")).expect("removed");
        rebuild::rebuild(&ArchivePaths::new(root.path()), opening(), &|_| {}).expect("rebuilt");
        let after = reader(root.path());
        prop_assert_eq!(rows(&after), kept);
        prop_assert_eq!(after.catalog().open_runs().expect("read"), []);
        prop_assert_eq!(after.head().expect("read"), head);
    }
}

/// The silos do not tell it from a run that saved a page and was killed before its version.
#[test]
fn a_run_whose_queue_is_lost_is_not_unfinished() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let run = run_numbered(1);
    let history = ArchiveHistoryWriter::open(root.path(), opening()).expect("opened");
    let worker = WorkerId::new(run.into_inner());
    drop(history.frontier_store().begin_run(run, worker, Moment::from_seconds(1), "{}").expect("begun"));
    store_run(&history, 1, &[("https://e.org/", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")]);
    history.writer().store().sync().expect("synced");
    drop(history);
    assert!(reader(root.path()).is_unfinished(run).expect("read"));
    rebuild::rebuild(&ArchivePaths::new(root.path()), opening(), &|_| {}).expect("rebuilt");
    let open = reader(root.path());
    assert_eq!(open.catalog().open_runs().expect("read"), [run]);
    assert!(!open.is_unfinished(run).expect("read"));
}

#[test]
fn opening_restores_a_lost_catalog() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    commit_pages(&writer, "first", &[("https://e.org/", "1")]);
    let kept = rows(writer.as_reader());
    drop(writer);
    fs::remove_file(root.path().join("catalog.db")).expect("removed");
    fs::remove_file(root.path().join("HEAD")).expect("removed");
    let writer = history(root.path());
    assert_eq!(rows(writer.as_reader()), kept);
    assert!(writer.head().expect("read").is_some());
}

#[test]
fn changed_rows_of_committed_versions_are_reported() {
    use varve_archive::verbs::audit::{AuditKind, AuditRequest, audit};
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    commit_pages(&writer, "first", &[("https://e.org/", "1")]);
    // A manifest that claims to be a version which its content does not make it.
    let forged = br#"{"parent":null,"message":"forged","time":"2026-11-16T00:00:00Z","pages":[]}"#;
    let about = format!("urn:uuid:{}", writer.head().expect("read").expect("a version"));
    writer.write_fact(&about, "application/vnd.varve.version+json", forged).expect("kept");
    drop(writer);
    drop(history(root.path()));
    let archive = varve_archive::Archive::open(root.path()).expect("opened");
    let mut found = Vec::new();
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding)).expect("audited");
    let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [AuditKind::History], "{found:?}");
}
