//! The number of disk calls that each action makes on silos and index.
//!
//! The catalog is SQLite and `HEAD` a plain file, so neither is counted here. The counts are exact:
//! a change that adds a read, a write or a sync of the store fails a test.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use varve_archive::history::{ArchiveHistoryReader, ArchiveHistoryWriter, HistoryReader};
use varve_archive::verbs::cat::{self, CaptureSelector};
use varve_archive::verbs::checkout::FileOptions;
use varve_archive::verbs::commit::{FolderSource, Request, commit};
use varve_archive::verbs::log::{self, ListCursor, VersionFilter};
use varve_archive::verbs::replay::{self, UrlKnowledge};
use varve_archive::{ArchivePaths, ArchiveWriter, VersionId};
use varve_core::body::BodyStore as _;
use varve_store::body::LooseBodies;
use varve_store::disk::LocalDisk;
use varve_testkit::RecordingDisk;

use crate::scene::{Kind, commit_pages, export_files, history, make, opening, page};

const URL: &str = "http://example.com/";
const OTHER_URL: &str = "http://example.com/other";

/// An archive with two versions of two pages, and a disk that records.
fn archive(root: &Path) -> (ArchivePaths, Arc<RecordingDisk>) {
    make(Kind::Archive, root);
    let history = history(root);
    commit_pages(&history, "first", &[(URL, "one"), (OTHER_URL, "same")]);
    commit_pages(&history, "second", &[(URL, "two"), (OTHER_URL, "same")]);
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root)));
    (ArchivePaths::on_disk(root, Arc::clone(&disk) as _), disk)
}

fn read_body(reader: &HistoryReader, capture: &varve_archive::Capture) -> String {
    let mut text = String::new();
    reader.open_body(capture).expect("opened").read_to_string(&mut text).expect("read");
    text
}

#[test]
fn opening_for_reading() {
    let root = tempfile::tempdir().expect("a folder");
    let (layout, disk) = archive(root.path());
    ArchiveHistoryReader::open_at(&layout).expect("opened");
    // The appendix is opened, measured and read whole. The index folder is listed twice: for
    // rotated appendices and for shards. The one shard is opened, and its header read. No silo is
    // opened.
    assert_eq!(disk.take_counts(), "list 2, examine 2, open 2, read 2");
}

#[test]
fn log_reads_no_silo() {
    let root = tempfile::tempdir().expect("a folder");
    let (layout, disk) = archive(root.path());
    let reader = HistoryReader::Archive(ArchiveHistoryReader::open_at(&layout).expect("opened"));
    disk.take_calls();
    let versions = log::versions(&reader, &VersionFilter::default(), ListCursor::first(10));
    assert_eq!(versions.expect("listed").len(), 2);
    assert_eq!(disk.take_counts(), "");
}

#[test]
fn cat_of_one_page() {
    let root = tempfile::tempdir().expect("a folder");
    let (layout, disk) = archive(root.path());
    let reader = HistoryReader::Archive(ArchiveHistoryReader::open_at(&layout).expect("opened"));
    disk.take_calls();
    let capture = cat::find(&reader, URL, &CaptureSelector::Newest).expect("found");
    // The catalog finds the capture.
    assert_eq!(disk.take_counts(), "");
    assert_eq!(read_body(&reader, &capture), "two");
    // The silo is opened and measured, a second file of its number is looked for, and one read
    // returns the whole record.
    assert_eq!(disk.take_counts(), "examine 2, open 1, read 1");
}

#[test]
fn one_replay() {
    let root = tempfile::tempdir().expect("a folder");
    let (layout, disk) = archive(root.path());
    let reader = HistoryReader::Archive(ArchiveHistoryReader::open_at(&layout).expect("opened"));
    disk.take_calls();
    let UrlKnowledge::Here(found) = replay::find(&reader, URL, None).expect("looked up") else {
        panic!("the page is archived");
    };
    assert_eq!(read_body(&reader, &found.capture), "two");
    // As `cat`: the catalog has the head, so that only the body is read.
    assert_eq!(disk.take_counts(), "examine 2, open 1, read 1");
}

#[test]
fn opening_for_writing_and_one_commit_of_one_changed_page() {
    let root = tempfile::tempdir().expect("a folder");
    let (layout, disk) = archive(root.path());
    let history =
        ArchiveHistoryWriter::of(ArchiveWriter::open_at(layout, opening()).expect("opened")).expect("opened");
    // The marker of a pending swap is looked for. The store is opened as in its own test: the
    // index, the last silo from the last indexed record on, and `next-number`. The catalog then
    // asks for the end of the silos, which lists them and reads `next-number` once more, and opens
    // the last silo. One sync of the appendix, no write.
    assert_eq!(
        disk.take_counts(),
        "make folder 2, list 9, examine 17, open 9, read 9, sync 1, sync folder 1"
    );
    let request = Request { message: "third".to_owned(), threads: 1, ..Request::default() };
    let pages = vec![page(URL, "three"), page(OTHER_URL, "same")];
    commit(&(&history).into(), &request, pages, &|_| {}).expect("committed");
    // The unchanged page is found by its digest: its stored record is opened, measured and verified
    // in two reads. The changed page, its record and the manifest are written together, synced
    // once, and their index entries written together.
    assert_eq!(disk.take_counts(), "examine 2, open 1, read 2, write 2, sync 1");
}

/// The disk calls of a commit of a folder of which one file changed.
fn calls_for_one_changed_file(count: usize) -> String {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let path = |number: usize| folder.path().join(format!("section-{}/page-{number}", number % 7));
    for number in 0..count {
        std::fs::create_dir_all(path(number).parent().expect("a folder")).expect("made");
        std::fs::write(path(number), format!("page {number:04}")).expect("written");
        let file = std::fs::File::options().write(true).open(path(number)).expect("opened");
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
        file.set_modified(long_ago).expect("set");
    }
    // The time of the last change of a file is that of its disk, and cannot be set: it must pass.
    std::thread::sleep(std::time::Duration::from_millis(60));
    let request = Request {
        message: "a folder".to_owned(),
        threads: 2,
        covers: Some(String::new()),
        ..Request::default()
    };
    let source = FolderSource::new(folder.path(), "https://e.org/");
    commit(&history(root.path()), &request, source.clone(), &|_| {}).expect("committed");
    std::fs::write(path(3), "changed").expect("written");
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    let layout = ArchivePaths::on_disk(root.path(), Arc::clone(&disk) as _);
    let history =
        ArchiveHistoryWriter::of(ArchiveWriter::open_at(layout, opening()).expect("opened")).expect("opened");
    disk.take_calls();
    let done = commit(&(&history).into(), &request, source, &|_| {}).expect("committed");
    assert_eq!((done.captures, done.changed), (count as u64, 1));
    disk.take_counts()
}

#[test]
fn a_commit_of_one_changed_page_costs_the_same_among_any_number_of_pages() {
    // One write has the page and the manifest, one the entries of the index, and one sync covers both.
    let expected = "write 2, sync 1";
    assert_eq!(calls_for_one_changed_file(10), expected);
    assert_eq!(calls_for_one_changed_file(1_500), expected);
}

#[test]
fn a_loose_body_that_is_stored_is_neither_written_nor_synced_again() {
    let root = tempfile::tempdir().expect("a folder");
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    let bodies = LooseBodies::new(Arc::clone(&disk) as _, root.path().join("blobs"));
    let keep = || bodies.keep_seekable(&mut Cursor::new(b"a body")).expect("stored").new;
    assert!(keep());
    // One look for the stored body, then the body.
    assert_eq!(disk.take_counts(), "make folder 2, examine 2, create 1, write 1, sync 1, rename 1");
    bodies.sync_bodies().expect("synced");
    assert_eq!(disk.take_counts(), "sync folder 2");
    assert!(!keep());
    // The stored body is verified, because damage is repaired by storing the body again.
    assert_eq!(disk.take_counts(), "examine 1, open 1, read 2");
}

/// An archive with one version of these pages, open for reading, and a disk that records.
fn reader_of(root: &Path, pages: &[(&str, &str)]) -> (HistoryReader, VersionId, Arc<RecordingDisk>) {
    make(Kind::Archive, root);
    let version = commit_pages(&history(root), "pages", pages).version;
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root)));
    let layout = ArchivePaths::on_disk(root, Arc::clone(&disk) as _);
    let reader = HistoryReader::Archive(ArchiveHistoryReader::open_at(&layout).expect("opened"));
    disk.take_calls();
    (reader, version, disk)
}

/// The disk calls of a checkout of pages with one body.
fn calls_for_a_checkout(count: usize) -> String {
    let root = tempfile::tempdir().expect("a folder");
    let urls: Vec<String> = (0..count).map(|number| format!("https://e.org/{number}.html")).collect();
    let pages: Vec<(&str, &str)> = urls.iter().map(|url| (url.as_str(), "the same")).collect();
    let (reader, version, disk) = reader_of(root.path(), &pages);
    let to = tempfile::tempdir().expect("a folder");
    let done = export_files(&reader, version, to.path(), FileOptions::default());
    assert_eq!(done.written, count as u64);
    for number in [0, count - 1] {
        assert_eq!(std::fs::read(to.path().join(format!("{number}.html"))).expect("read"), b"the same");
    }
    disk.take_counts()
}

#[test]
fn a_checkout_reads_the_body_of_many_pages_once() {
    assert_eq!(calls_for_a_checkout(60), calls_for_a_checkout(2));
}

#[test]
fn short_bodies_are_read_together() {
    let root = tempfile::tempdir().expect("a folder");
    let urls: Vec<String> = (0..300).map(|number| format!("https://e.org/{number:03}.html")).collect();
    let texts: Vec<String> = (0..300).map(|number| format!("<p>This is page {number}.</p>")).collect();
    let pages: Vec<(&str, &str)> =
        urls.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let (reader, version, disk) = reader_of(root.path(), &pages);
    let captures = reader.catalog().captures_in(&version, ListCursor::first(1000)).expect("listed");
    let captures: Vec<_> = captures.iter().collect();
    let bodies = reader.read_bodies(&captures, 1 << 10).expect("read");
    for (capture, body) in captures.iter().zip(bodies) {
        let number = urls.iter().position(|url| *url == capture.url).expect("a page");
        assert_eq!(body.as_deref(), Some(texts[number].as_bytes()));
    }
    // Each read returns some twenty of their records.
    assert_eq!(disk.take_counts(), "examine 2, open 1, read 17");
    let too_long = reader.read_bodies(&captures[..1], 5).expect("read");
    assert_eq!(too_long, [None], "a longer body must be opened");
}
