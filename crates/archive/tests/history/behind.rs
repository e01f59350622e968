//! A catalog that is behind the silos, as a crash leaves it, and unreadable silos: a writer never
//! continues past a record that it cannot read.

use std::fs;
use std::path::{Path, PathBuf};
use varve_archive::RepositoryError;

use crate::losing::{assert_usable, rebuilt};
use crate::scene::*;
use varve_archive::history::{HistoryWriter, open_writer};
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::commit::NewPage;
use varve_archive::verbs::{commit, tag};
use varve_archive::{Archive, ArchiveError, ArchiveWriter, VersionId};
use varve_core::fact::media_type;
use varve_core::history::{ListCursor, VersionFilter};

fn silo(root: &Path, number: u32) -> PathBuf {
    root.join(format!("warc/0/{number:08}.warc.gz"))
}

fn seal(root: &Path) {
    ArchiveWriter::open(root, opening()).expect("opened").store().seal_now().expect("sealed");
}

/// A version with more changes than its manifest holds inline.
fn commit_many(writer: &HistoryWriter, message: &str) -> VersionId {
    let pages: Vec<NewPage> =
        (0..501).map(|number| page(&format!("https://e.org/{number:02}"), message)).collect();
    let request = commit::Request { message: message.to_owned(), threads: 1, ..commit::Request::default() };
    commit::commit(writer, &request, pages, &|_| {}).expect("committed").version
}

/// Does something, and puts catalog and HEAD back to what they were before, as a crash leaves them.
fn behind<T>(root: &Path, deed: impl FnOnce() -> T) -> T {
    let names = ["catalog.db", "HEAD"];
    names
        .iter()
        .for_each(|name| _ = fs::copy(root.join(name), root.join(format!("{name}.kept"))).expect("copied"));
    let done = deed();
    names
        .iter()
        .for_each(|name| fs::rename(root.join(format!("{name}.kept")), root.join(name)).expect("put back"));
    done
}

/// An archive of three silos, whose catalog knows the first version and not the second. The first
/// version is in the first silo, the second in the second.
fn stopped(root: &Path) -> (VersionId, VersionId) {
    make(Kind::Archive, root);
    let first = commit_many(&history(root), "first");
    seal(root);
    tag::set(&history(root), "begun", Some(first)).expect("set");
    let second = behind(root, || {
        let second = commit_many(&history(root), "second");
        seal(root);
        tag::set(&history(root), "good", Some(second)).expect("set");
        second
    });
    assert!(silo(root, 2).exists() && !silo(root, 3).exists());
    (first, second)
}

/// Writing is refused, and nothing is gone past.
fn assert_refused(root: &Path) -> String {
    let before = (rows(&reader(root)), fs::read(root.join("HEAD")).expect("read"));
    let Err(error) = open_writer(root, opening()) else { panic!("opened") };
    assert!(matches!(error, RepositoryError::Behind { .. }), "{error:?}");
    assert_eq!((rows(&reader(root)), fs::read(root.join("HEAD")).expect("read")), before);
    std::error::Error::source(&error).expect("a cause").to_string()
}

#[test]
fn an_unreadable_silo_is_not_treated_as_lost() {
    for number in 1..3 {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let (first, second) = stopped(root);
        let away = root.join("away");
        fs::rename(silo(root, number), &away).expect("away");
        assert_eq!(assert_refused(root), format!("silo {number} is missing"));
        fs::rename(&away, silo(root, number)).expect("put back");
        let writer = history(root);
        assert_eq!(writer.head().expect("read"), Some(second), "{number}");
        let third = commit_many(&writer, "third");
        let parent =
            |version| writer.catalog().version(&version).expect("read").expect("there").version.parent;
        assert_eq!((parent(third), parent(second)), (Some(second), Some(first)));
    }
}

#[test]
fn an_audit_reports_missing_last_silos() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    stopped(root);
    drop(history(root));
    [1, 2].iter().for_each(|number| fs::remove_file(silo(root, *number)).expect("removed"));
    let mut told = Vec::new();
    let archive = Archive::open_to_audit(root).expect("opened");
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| told.push(finding.message))
        .expect("audited");
    assert!(told.iter().any(|told| told.contains("2 silos are missing, 1 to 2")), "{told:#?}");
    assert!(
        told.iter()
            .any(|told| told.contains("which HEAD names, is lost") && told.contains("put the silos back")),
        "{told:#?}"
    );
}

#[test]
fn a_lost_silo_does_not_prevent_writing_after_a_rebuild() {
    for number in 1..3 {
        let root = tempfile::tempdir().expect("a folder");
        stopped(root.path());
        fs::remove_file(silo(root.path(), number)).expect("removed");
        assert_refused(root.path());
        rebuilt(root.path());
        assert_usable(root.path());
        assert_usable(root.path());
    }
}

#[test]
fn changes_that_cannot_be_read_are_named() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    stopped(root);
    let whole = fs::read(silo(root, 1)).expect("read");
    let begins = |at: &usize| whole[*at..].starts_with(&[0x1f, 0x8b, 8]);
    let members: Vec<usize> = (0..whole.len()).filter(begins).collect();
    // The manifest is the last, and its changes are before it.
    let mut bytes = whole.clone();
    let changes = members[members.len() - 2];
    bytes[changes + 30..changes + 38].fill(0);
    fs::remove_file(silo(root, 1)).expect("removed");
    fs::write(silo(root, 1), bytes).expect("written");
    assert!(assert_refused(root).contains("is damaged"));
    fs::write(silo(root, 1), whole).expect("written");
    drop(history(root));
    assert_usable(root);
}

#[test]
fn a_writer_does_not_continue_past_an_unknown_fact() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    commit_pages(&history(root), "first", &[("https://e.org/", "1")]);
    behind(root, || {
        let about = "urn:uuid:00000000-0000-8000-8000-000000000000";
        history(root).write_fact(about, media_type::VERSION, br#"{"parents":[]}"#).expect("kept");
    });
    assert!(assert_refused(root).contains("cannot be understood"));
    assert_eq!(rebuilt(root).left_out.len(), 1);
    assert_usable(root);
}

/// The length of all silos.
fn silo_bytes(root: &Path) -> u64 {
    let files = fs::read_dir(root.join("warc/0")).expect("silos");
    files.map(|file| file.expect("read").metadata().expect("read").len()).sum()
}

#[test]
fn a_commit_writes_nothing_while_another_program_locks_the_database() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make(kind, root);
        let writer = history(root);
        commit_pages(&writer, "1", &[("https://e.org/", "1")]);
        let database = root.join(if kind == Kind::Archive { "catalog.db" } else { ".moku/moku.db" });
        let before = (kind == Kind::Archive).then(|| silo_bytes(root));
        let other = rusqlite::Connection::open(database).expect("opened");
        other.execute_batch("BEGIN EXCLUSIVE").expect("held");
        let request = commit::Request { message: "2".to_owned(), ..Default::default() };
        let refused = commit::commit(&writer, &request, vec![page("https://e.org/", "2")], &|_| {});
        assert!(matches!(refused, Err(ArchiveError::Repository(RepositoryError::Catalog(_)))), "{kind:?}");
        assert_eq!(before, (kind == Kind::Archive).then(|| silo_bytes(root)));
        other.execute_batch("ROLLBACK").expect("let go");
        drop(writer);
        assert_eq!(
            reader(root)
                .catalog()
                .versions(&VersionFilter::default(), ListCursor::first(9))
                .expect("read")
                .len(),
            1
        );
    }
}

#[test]
fn a_stored_version_without_rows_is_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    commit_pages(&writer, "1", &[("https://e.org/", "1")]);
    // What should be a file is a folder: HEAD cannot be replaced.
    fs::remove_file(root.join("HEAD")).expect("removed");
    fs::create_dir_all(root.join("HEAD/in the way")).expect("made");
    let request = commit::Request { message: "2".to_owned(), parent: newest(&writer), ..Default::default() };
    let half = commit::commit(&writer, &request, vec![page("https://e.org/", "2")], &|_| {});
    let Err(ArchiveError::Repository(RepositoryError::HalfEntered { version, .. })) = half else {
        panic!("{half:?}")
    };
    drop(writer);
    fs::remove_dir_all(root.join("HEAD")).expect("removed");
    assert_eq!(history(root).head().expect("read"), Some(version));
}

fn newest(writer: &HistoryWriter) -> Option<VersionId> {
    let newest = writer.catalog().versions(&VersionFilter::default(), ListCursor::first(1)).expect("read");
    newest.first().map(|info| info.version.id)
}
