//! Losing any one record of an archive: the rest stays readable, and facts about the lost record do
//! not stop a rebuild.

use std::fs;
use std::path::{Path, PathBuf};
use varve_archive::RepositoryError;

use crate::purge::{request, rewrite};
use crate::rebuilding::check_numbers;
use crate::scene::*;
use varve_archive::history::{HistoryWriter, open_writer};
use varve_archive::verbs::audit::{AuditFinding, AuditKind, AuditRequest, AuditSeverity, audit};
use varve_archive::verbs::log::{ListCursor, VersionFilter, versions};
use varve_archive::verbs::rebuild::{OmittedRow, Rebuilt, rebuild};
use varve_archive::verbs::{checkout, score, tag};
use varve_archive::{Archive, ArchivePaths, VersionId};

fn silo(root: &Path) -> PathBuf {
    root.join("warc/0/00000000.warc.gz")
}

/// Copies an archive that no process has open.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("copied");
        }
    }
}

/// Makes the record that begins at a byte of the silo unreadable.
fn spoil(root: &Path, offset: usize) {
    let mut bytes = fs::read(silo(root)).expect("read");
    // Behind the header of the member, so that it is still seen to begin there.
    bytes[offset + 30..offset + 38].fill(0);
    fs::write(silo(root), bytes).expect("written");
}

/// The place of the manifest of a version.
fn place_of(root: &Path, version: VersionId) -> usize {
    let info = reader(root).catalog().version(&version).expect("read").expect("there");
    let record = info.version.record.expect("in a silo");
    let archive = Archive::open(root).expect("opened");
    let located = archive.store().find(&record).expect("read").expect("there");
    usize::try_from(located.place.offset()).expect("a small silo")
}

fn forget_all_but_silos(root: &Path) {
    fs::remove_dir_all(root.join("index")).expect("removed");
    forget_rows(root);
}

fn forget_rows(root: &Path) {
    for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm", "HEAD"] {
        let _ = fs::remove_file(root.join(name));
    }
}

pub(crate) fn rebuilt(root: &Path) -> Rebuilt {
    rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt")
}

fn audited(root: &Path) -> Vec<AuditFinding> {
    let archive = Archive::open_to_audit(root).expect("opened");
    let mut found = Vec::new();
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding)).expect("audited");
    found
}

/// It can be read and added to.
pub(crate) fn assert_usable(root: &Path) {
    let open = reader(root);
    let filter = VersionFilter::default();
    let found = versions(&open, &filter, ListCursor { after: None, limit: 100 }).expect("listed");
    let head = open.head().expect("read");
    assert!(head.is_none_or(|head| found.iter().any(|info| info.version.id == head)), "HEAD is known");
    drop(open);
    let committed = commit_pages(&history(root), "and on", &[("https://e.org/new", "new")]);
    assert_eq!(contents(&reader(root), committed.version).len(), 1);
}

/// An archive with a version of three that has everything a version can have.
fn three(root: &Path, adorn: impl Fn(&HistoryWriter, VersionId)) -> VersionId {
    make(Kind::Archive, root);
    let writer = history(root);
    commit_pages(&writer, "first", &[("https://e.org/", "<p>1</p>")]);
    let second = commit_pages(&writer, "second", &[("https://e.org/", "<p>2</p>")]).version;
    commit_pages(&writer, "third", &[("https://e.org/", "<p>3</p>")]);
    adorn(&writer, second);
    second
}

#[test]
fn the_score_of_a_lost_version_is_reported_and_left_out() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let lost = three(root, |writer, version| {
        score::score(writer, version, &|_| {}).expect("scored");
    });
    spoil(root, place_of(root, lost));
    forget_all_but_silos(root);
    let Rebuilt { index, left_out, .. } = rebuilt(root);
    assert!(!index.findings.is_empty());
    assert!(matches!(left_out[..], [OmittedRow::Score(version)] if version == lost), "{left_out:?}");
    let message = format!("there is a score of version {lost}, which is not in this archive");
    assert_eq!(left_out[0].to_string(), message);
    let found = audited(root);
    assert!(
        found.iter().any(|found| found.kind == AuditKind::History && found.message == message),
        "{found:?}"
    );
    assert!(found.iter().all(|found| found.kind != AuditKind::NotCompared), "{found:?}");
    assert_usable(root);
}

#[test]
fn opening_restores_a_lost_catalog_without_the_score_of_a_lost_version() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let lost = three(root, |writer, version| {
        score::score(writer, version, &|_| {}).expect("scored");
    });
    spoil(root, place_of(root, lost));
    forget_rows(root);
    drop(history(root));
    assert_usable(root);
}

#[test]
fn tags_and_head_of_a_lost_version_are_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let lost = three(root, |writer, version| {
        tag::set(writer, "good", Some(version)).expect("set");
        checkout::checkout(writer, version, &mut |_| {}).expect("moved");
    });
    spoil(root, place_of(root, lost));
    forget_all_but_silos(root);
    let told: Vec<String> = rebuilt(root).left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            format!("HEAD was moved to version {lost}, which is not in this archive"),
            format!("tag `good` stands for version {lost}, which is not in this archive"),
        ]
    );
    assert_usable(root);
}

#[test]
fn versions_outlive_their_lost_changes() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let commit = |message: &str| {
        let text = |number| if number == 0 { message } else { "as ever" };
        let urls: Vec<String> = (0..601).map(|number| format!("https://e.org/{number:03}")).collect();
        let pages: Vec<(&str, &str)> =
            urls.iter().enumerate().map(|(number, url)| (url.as_str(), text(number))).collect();
        commit_pages(&history(root), message, &pages).version
    };
    let (first, second) = (commit("first"), commit("second"));
    // The changes are before their manifest.
    let whole = fs::read(silo(root)).expect("read");
    let manifest = place_of(root, first);
    let begins = |at: &usize| whole[*at..].starts_with(&[0x1f, 0x8b, 8]);
    spoil(root, (0..manifest).rfind(begins).expect("a record before it"));
    let told: Vec<String> = rebuilt(root).left_out.iter().map(ToString::to_string).collect();
    assert!(
        told.len() == 1
            && told[0]
                .starts_with(&format!("version {first} has changes in a record that is lost, urn:sha256:")),
        "{told:?}"
    );
    let open = reader(root);
    assert_eq!(open.head().expect("read"), Some(second));
    assert!(open.catalog().version(&first).expect("read").is_some());
    assert_eq!(contents(&open, second), [("https://e.org/000".to_owned(), "second".to_owned())]);
    drop(open);
    let found = audited(root);
    assert!(
        found.iter().any(|found| found.message.contains("changes in a record that is lost")),
        "{found:?}"
    );
    assert!(found.iter().all(|found| found.kind != AuditKind::Catalog), "{found:?}");
    let third = commit("third");
    assert_eq!(contents(&reader(root), third).len(), 601, "all pages are new again");
    assert!(audited(root).iter().all(|found| found.kind != AuditKind::Catalog));
    assert_usable(root);
}

/// An archive with facts of every kind, in few records.
fn of_every_kind(root: &Path) {
    make(Kind::Archive, root);
    let writer = history(root);
    let site = |text: &str| -> Vec<(String, String)> {
        (0..30).map(|number| (format!("https://e.org/{number:02}"), format!("<p>{text}</p>"))).collect()
    };
    let commit = |message: &str, text: &str| {
        let site = site(text);
        let pages: Vec<(&str, &str)> = site.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
        commit_pages(&writer, message, &pages).version
    };
    let first = commit("first", "one");
    let second = commit("second", "two");
    commit("third", "two");
    for version in [first, second] {
        score::score(&writer, version, &|_| {}).expect("scored");
    }
    tag::set(&writer, "good", Some(second)).expect("set");
    checkout::checkout(&writer, first, &mut |_| {}).expect("moved");
    commit_pages(&writer, "secret", &[("https://e.org/secret", "<p>secret</p>")]);
    drop(writer);
    rewrite(root, &request(&["https://e.org/secret"]));
    check_numbers(root, &[(0, 0), (1, 2)]).expect("a check with verdicts");
    let writer = history(root);
    commit_pages(&writer, "last", &[("https://e.org/", "<p>3</p>")]);
}

#[test]
fn an_archive_stays_usable_when_any_one_record_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    of_every_kind(&whole);
    let bytes = fs::read(silo(&whole)).expect("read");
    let members: Vec<usize> = bytes
        .windows(3)
        .enumerate()
        .filter(|(_, bytes)| *bytes == [0x1f, 0x8b, 8])
        .map(|(at, _)| at)
        .collect();
    assert!(members.len() > 15, "{}", members.len());
    for offset in members {
        let root = folder.path().join(format!("without-{offset}"));
        copy(&whole, &root);
        spoil(&root, offset);
        forget_all_but_silos(&root);
        let Rebuilt { index, left_out, .. } = rebuilt(&root);
        assert!(index.findings.len() + left_out.len() > 0 || index.set_aside.is_some(), "{offset}");
        assert!(audited(&root).iter().all(|found| found.kind != AuditKind::NotCompared), "{offset}");
        assert_usable(&root);
        // And the same where nobody says `rebuild`, unless that is what is asked for.
        forget_rows(&root);
        match open_writer(&root, opening()) {
            Ok(writer) => drop(writer),
            Err(RepositoryError::Behind { .. }) => _ = rebuilt(&root),
            Err(error) => panic!("{offset}: {error:?}"),
        }
        assert_usable(&root);
        fs::remove_dir_all(&root).expect("removed");
    }
}

/// The archive that a process leaves when it is killed after the sync of the silo and before the
/// update of index and catalog.
fn killed_behind_the_silo(folder: &Path) -> PathBuf {
    let (root, before) = (folder.join("museum"), folder.join("before"));
    make(Kind::Archive, &root);
    commit_pages(&history(&root), "first", &[("https://e.org/", "1")]);
    copy(&root, &before);
    commit_pages(&history(&root), "second", &[("https://e.org/", "2")]);
    fs::copy(silo(&root), silo(&before)).expect("copied");
    before
}

fn kinds(found: &[AuditFinding]) -> Vec<AuditKind> {
    found.iter().map(|finding| finding.kind).collect()
}

#[test]
fn a_body_that_the_index_does_not_know_yet_is_not_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = killed_behind_the_silo(folder.path());
    let found = audited(&root);
    // Body and manifest as one finding, HEAD, the rows.
    let expected = [AuditKind::Behind, AuditKind::Catalog, AuditKind::Behind];
    assert!(found[0].message.starts_with("2 records"), "{found:?}");
    assert_eq!(kinds(&found), expected, "{found:?}");
    assert!(found.iter().all(|found| found.severity == AuditSeverity::Warning), "{found:?}");
    assert!(found.iter().all(|found| found.message.contains("the next verb that writes")), "{found:?}");
    drop(history(&root));
    assert!(audited(&root).is_empty());
}

#[test]
fn without_an_index_nothing_else_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    of_every_kind(&root);
    fs::remove_dir_all(root.join("index")).expect("removed");
    let found = audited(&root);
    assert_eq!(kinds(&found), [AuditKind::IndexDamaged], "{found:?}");
}

#[test]
fn a_record_that_was_never_finished_is_no_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = killed_behind_the_silo(folder.path());
    let whole = fs::read(silo(&root)).expect("read");
    for cut in (1..200).step_by(9) {
        fs::write(silo(&root), &whole[..whole.len() - cut]).expect("written");
        let found = audited(&root);
        assert!(!found.is_empty(), "{cut}");
        assert!(found.iter().all(|found| found.severity == AuditSeverity::Warning), "{cut}: {found:?}");
    }
}
