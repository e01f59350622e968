//! Purging content that trees, revisits or renderings also reference, and silos that a purge does
//! not rewrite.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::purge::*;
use crate::purge_pages::shown;
use crate::scene::*;
use varve_archive::history::{ArchiveHistoryWriter, HistoryWriter, open_reader};
use varve_archive::verbs::commit::{NewBody, NewPage, Request as CommitRequest, commit};
use varve_archive::verbs::init::init;
use varve_archive::verbs::purge::Request;
use varve_archive::verbs::stow::{self, Exclude};
use varve_archive::{Archive, ArchiveSettings, ArchiveWriter, RecordId, VersionId, tree};
use varve_core::body::BodySource;
use varve_core::receipt::Receipt;
use varve_store::exchange::{ExchangeWriter, NewExchange, NewRendering, NewRenderings, RevisitOriginal};
use varve_warc::digest::Digest;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::Draft;

fn make_packed(root: &Path, packing: &str, silo_size: u64) {
    let mut settings = ArchiveSettings::new("test");
    settings.packing = serde_json::from_value(packing.into()).expect("a packing");
    settings.silo_size.0 = silo_size;
    init(root, &settings, opening()).expect("made");
}

fn stow(root: &Path, files: &[(&str, &str)]) -> RecordId {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        fs::write(folder.path().join(name), content).expect("written");
    }
    let writer = ArchiveWriter::open(root, opening()).expect("opened");
    let request = stow::Request {
        folder: folder.path().to_owned(),
        exclude: Exclude::new(&[]).expect("none"),
        threads: 1,
    };
    stow::stow(&writer, &request, &|_| {}, |_| panic!("nothing is left out")).expect("stowed").manifest.id
}

fn restored(root: &Path, manifest: RecordId) -> Vec<(String, String)> {
    let to = tempfile::tempdir().expect("a folder");
    let to = to.path().join("tree");
    let archive = Archive::open(root).expect("opened");
    tree::restore(&archive, manifest, &to, 1, &|_| {}, |error| panic!("{error}")).expect("restored");
    let mut files: Vec<_> = fs::read_dir(&to)
        .expect("listed")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("read"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn content_of_a_tree_stays_and_is_purged_with_the_tree() {
    for packing in ["gzip", "zstd"] {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make_packed(root, packing, 1 << 30);
        let shared = stow(root, &[("page", "in both"), ("own", "of one tree"), ("other", "of two trees")]);
        let second = stow(root, &[("other", "of two trees")]);
        let writer = history(root);
        let (kept, gone) = ("https://e.org/kept", "https://e.org/gone");
        let version = commit_pages(&writer, "1", &[(kept, "kept page"), (gone, "in both")]).version;
        drop(writer);
        let receipt = rewrite(root, &request(&[gone]));
        assert!(receipt.tombstones.is_empty() && receipt.pages.len() == 1, "the tree holds it: {receipt:?}");
        assert_eq!(restored(root, shared).len(), 3);
        let receipt = rewrite(root, &Request { objects: vec![shared], ..request(&[]) });
        assert_eq!(by_kind(&receipt)["resource"], 3, "the manifest and what only it holds: {receipt:?}");
        assert_sound(root);
        assert_eq!(restored(root, second), texts(&[("other", "of two trees")]));
        let reader = open_reader(root).expect("opened");
        assert_eq!(shown(&reader, version), texts(&[(kept, "kept page")]));
        assert!(!holds(&all_bytes(root), "of one tree"));
        assert!(Archive::open(root).expect("opened").store().object(&shared).expect("read").is_none());
        // The page that had it too is out already, and holds nothing.
        assert!(!holds(&all_bytes(root), "in both"));
        drop(reader);
        let receipt = rewrite(root, &request(&[gone]));
        assert!(receipt.tombstones.is_empty() && receipt.pages.is_empty(), "{receipt:?}");
        assert_sound(root);
    }
}

/// A body that a response holds is not stored again when a file with the same content is stowed.
#[test]
fn the_body_of_a_purged_response_stays_if_a_tree_references_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make_packed(root, "gzip", 1 << 30);
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nshared";
    crate::purge::capture(root, 1, &[("https://e.org/page", answer)]);
    let tree = stow(root, &[("file", "shared")]);
    rewrite(root, &request(&["https://e.org/page"]));
    assert_sound(root);
    assert_eq!(restored(root, tree), texts(&[("file", "shared")]));
}

/// Something that a page of a run sent, and its answer.
fn send(root: &Path, number: u128, answer: &[u8]) {
    let history = ArchiveHistoryWriter::open(root, opening()).expect("opened");
    let store = history.writer().store();
    let response = answer.to_vec();
    let sent = NewExchange {
        request: b"POST /page HTTP/1.1\r\nHost: e.org\r\nContent-Length: 3\r\n\r\nx=1",
        non_capture_method: Some("POST"),
        ..exchange_of_run(number, "https://e.org/page", &response)
    };
    let mut packer = store.packer().expect("a packer");
    let document = NewRendering { media_type: "text/html", content: b"<p>left by a script</p>" };
    let renderings = NewRenderings { document: Some(document), screenshot: None };
    let kept = ExchangeWriter::new(store).keep_non_capture(&mut packer, &sent, &renderings).expect("kept");
    // As documents were once.
    let draft = Draft::new(RecordType::Conversion, &sent.date)
        .target_uri(sent.url)
        .refers_to(varve_store::record::record_uri(&kept.record))
        .content_type("text/html");
    store
        .keep(packer.pack(&draft, PayloadKind::Block, b"<p>once left by a script</p>").expect("packed"))
        .expect("kept");
    store.sync().expect("synced");
}

/// One capture as a run and a version of its own.
fn capture(root: &Path, number: u128, answer: &[u8], unchanged: Option<&Receipt>) -> (VersionId, Receipt) {
    let history = ArchiveHistoryWriter::open(root, opening()).expect("opened");
    let store = history.writer().store();
    let unchanged = unchanged.map(|receipt| RevisitOriginal {
        record: receipt.record,
        url: receipt.url.clone(),
        date: date_at(1).to_string(),
        payload: Some(Digest::of_sha256(receipt.body.as_bytes())),
        body: receipt.body,
        length: receipt.length,
    });
    let response = answer.to_vec();
    let exchange = NewExchange { unchanged, ..exchange_of_run(number, "https://e.org/page", &response) };
    let mut packer = store.packer().expect("a packer");
    let receipt = ExchangeWriter::new(store).keep(&mut packer, &exchange).expect("kept").receipt;
    let version = seal_run(root, history, number, vec![receipt.record]);
    (version, receipt)
}

/// Head and body of an answer.
fn answer(archive: &Archive, record: RecordId) -> Vec<u8> {
    let mut answer = archive.store().response_head(&record).expect("read").expect("there");
    let mut body = archive.store().response_body(&record).expect("read").expect("there");
    body.read_to_end(&mut answer).expect("read");
    answer
}

#[test]
fn promoted_revisits_equal_the_original_response() {
    const FULL: &[u8] = b"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 13\r\n\r\nthe one page\n";
    const SAME: &[u8] = b"HTTP/1.1 200 OK\r\nServer: other\r\nContent-Length: 13\r\n\r\nthe one page\n";
    const NOT_MODIFIED: &[u8] = b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n";
    for packing in ["gzip", "zstd"] {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make_packed(root, packing, 1 << 30);
        let (first, original) = capture(root, 1, FULL, None);
        let (second, _) = capture(root, 2, NOT_MODIFIED, Some(&original));
        let (third, _) = capture(root, 3, SAME, None);
        let (fourth, _) = capture(root, 4, NOT_MODIFIED, Some(&original));
        assert_sound(root);
        let receipt = rewrite(root, &Request { versions: vec![first], ..request(&[]) });
        assert_eq!(receipt.promoted.len(), 1, "the others refer to it");
        assert_sound(root);
        let reader = open_reader(root).expect("opened");
        for version in [second, third, fourth] {
            let wanted = texts(&[("https://e.org/page", "the one page\n")]);
            assert_eq!(contents(&reader, version), wanted, "{packing}, {version}");
        }
        let archive = Archive::open(root).expect("opened");
        let promoted = receipt.promoted[0].is;
        let block = answer(&archive, promoted);
        assert_eq!(block, FULL, "the answer that was confirmed");
        // The second to go takes nothing with it either, and now one that was answered in full
        // comes in its place.
        drop(reader);
        let receipt = rewrite(root, &Request { versions: vec![second], ..request(&[]) });
        assert_eq!(receipt.promoted.len(), 1);
        assert_sound(root);
        let archive = Archive::open(root).expect("opened");
        let block = answer(&archive, receipt.promoted[0].is);
        assert_eq!(block, SAME, "its own head, and the body to the byte");
        let reader = open_reader(root).expect("opened");
        assert_eq!(contents(&reader, fourth), texts(&[("https://e.org/page", "the one page\n")]));
        let mut body = String::new();
        let opened = archive.store().open_body(&original.body).expect("found").expect("there");
        { opened }.read_to_string(&mut body).expect("read");
        assert_eq!(body, "the one page\n");
    }
}

/// Bytes that do not get smaller.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}

fn commit_bytes(history: &HistoryWriter, url: &str, bytes: Vec<u8>) -> VersionId {
    // From a file, because only what streams is cut into segments.
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&bytes).expect("written");
    let page = NewPage { body: NewBody::File(file.path().to_owned()), ..page(url, "") };
    let request = CommitRequest { message: url.to_owned(), threads: 1, ..CommitRequest::default() };
    commit(history, &request, vec![page], &|_| {}).expect("committed").version
}

#[test]
fn silos_before_the_first_changed_one_are_not_rewritten() {
    for packing in ["gzip", "zstd"] {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make_packed(root, packing, 1 << 20);
        let writer = history(root);
        let versions: Vec<_> = (0..6)
            .map(|number| commit_bytes(&writer, &format!("https://e.org/{number}"), noise(number, 700_000)))
            .collect();
        // An object of several silos, the last of which goes on with what is to go.
        let long = commit_bytes(&writer, "https://e.org/long", noise(99, 2_500_000));
        commit_bytes(&writer, "https://e.org/secret", b"my secret".to_vec());
        drop(writer);
        let files = |root: &Path| -> Vec<u64> {
            let ending = if packing == "zstd" { "zst" } else { "gz" };
            (0..)
                .map_while(|number| fs::metadata(root.join(format!("warc/0/{number:08}.warc.{ending}"))).ok())
                .map(|found| found.ino())
                .collect()
        };
        let before = files(root);
        assert!(before.len() >= 8, "{before:?}");
        let receipt = rewrite(root, &request(&["https://e.org/secret"]));
        assert_eq!(by_kind(&receipt)["resource"], 1);
        assert_sound(root);
        let after = files(root);
        let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
        assert!((5..before.len() - 2).contains(&same), "{same} of {}: {packing}", before.len());
        assert!(receipt.bytes_untouched > 3_000_000 && receipt.bytes_untouched < receipt.bytes_before);
        let reader = open_reader(root).expect("opened");
        let read = |version, wanted: Vec<u8>| {
            let pages: Vec<_> =
                varve_archive::history::VersionPages::new(reader.catalog(), Some(version)).collect();
            let mut body = Vec::new();
            reader
                .open_body(pages[0].as_ref().expect("read"))
                .expect("opened")
                .read_to_end(&mut body)
                .expect("read");
            assert!(body == wanted, "{version}");
        };
        for (number, version) in versions.iter().enumerate() {
            read(*version, noise(number as u64, 700_000));
        }
        read(long, noise(99, 2_500_000));
        assert!(!holds(&all_bytes(root), "my secret"));
        drop(reader);
        commit_bytes(&history(root), "https://e.org/next", b"next".to_vec());
        assert_sound(root);
    }
}

/// A non-capture may be a revisit of a purged response. The purge makes it a full record, and no
/// capture becomes a revisit of it. The seal of its run stays valid with it and without it.
#[test]
fn revisits_never_refer_to_non_captures() {
    const FULL: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nthe one page\n";
    const OTHER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nanother.\n";
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make_packed(root, "gzip", 1 << 30);
    let (first, original) = capture(root, 1, FULL, None);
    send(root, 2, FULL);
    let (second, _) = capture(root, 2, OTHER, None);
    let (third, _) = capture(root, 3, FULL, None);
    assert_sound(root);
    let receipt = rewrite(root, &Request { versions: vec![first], ..request(&[]) });
    assert_eq!(receipt.promoted.len(), 2, "the non-capture, and the first capture");
    assert_sound(root);
    let found = |version| contents(&open_reader(root).expect("opened"), version);
    assert_eq!(found(third), texts(&[("https://e.org/page", "the one page\n")]));
    let receipt = rewrite(root, &Request { versions: vec![second], ..request(&[]) });
    assert_eq!(by_kind(&receipt)["response"], 2, "what was sent goes with its run: {receipt:?}");
    assert_sound(root);
    assert_eq!(found(third), texts(&[("https://e.org/page", "the one page\n")]));
    let archive = Archive::open(root).expect("opened");
    assert!(archive.store().open_body(&original.body).expect("found").is_some());
}

/// A rendered document is purged with its page, whichever target URI its record has.
#[test]
fn renderings_are_purged_with_their_page() {
    const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\npage\n";
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make_packed(root, "gzip", 1 << 30);
    send(root, 1, b"HTTP/1.1 204 No Content\r\n\r\n");
    capture(root, 1, PAGE, None);
    assert!(holds(&all_bytes(root), "<p>left by a script") && holds(&all_bytes(root), "<p>once left by"));
    let receipt = rewrite(root, &request(&["https://e.org/page"]));
    assert_eq!(by_kind(&receipt)["conversion"], 2, "{receipt:?}");
    assert!(receipt.tombstones.iter().all(|gone| gone.url.as_deref() == Some("https://e.org/page")));
    assert!(!holds(&all_bytes(root), "left by a script"));
    assert_sound(root);
}
