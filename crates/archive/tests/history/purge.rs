//! Purging: the removed records are in no silo, each has a tombstone, and all other records stay.

use std::io::Read;
use std::path::Path;
use varve_archive::RepositoryError;

use crate::scene::*;
use varve_archive::history::{ArchiveHistoryWriter, open_reader, resolve_version};
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::cat::{CaptureSelector, at, body, look_up, removal_of};
use varve_archive::verbs::checkout::FileOptions;
use varve_archive::verbs::commit::{Report as CommitReport, Request as CommitRequest, commit};
use varve_archive::verbs::log::ListCursor;
use varve_archive::verbs::purge::{AtSign, GroupPattern, Report, Request, perform, plan};
use varve_archive::verbs::{checkout, rebuild, score, tag};
use varve_archive::{Archive, ArchiveError, ArchivePaths, ArchiveWriter, BodyFailure, RecordId, VersionId};
use varve_core::fact::{Manifest, RunSummary, StateChanges, TombstoneKind, media_type};
use varve_core::{Moment, RunId};
use varve_store::exchange::{ExchangeRun, ExchangeWriter, NewExchange};
use varve_warc::date::Date;

pub(crate) fn rewrite(root: &Path, request: &Request) -> Report {
    drop(history(root));
    let writer = ArchiveWriter::open(root, opening()).expect("opened");
    let choice = plan(&writer, request).expect("planned");
    perform(writer, request, &choice, &|_| {}).expect("performed")
}

pub(crate) fn request(urls: &[&str]) -> Request {
    Request {
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        who: "Ada".to_owned(),
        why: "asked for".to_owned(),
        ..Request::default()
    }
}

pub(crate) fn assert_sound(root: &Path) {
    let archive = Archive::open(root).expect("opened");
    let mut found = Vec::new();
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding)).expect("audited");
    assert!(found.is_empty(), "{found:?}");
}

pub(crate) fn all_bytes(root: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    let archive = Archive::open(root).expect("opened");
    for number in archive.store().files().list().expect("listed").into_keys() {
        let source = archive.store().files().open(number).expect("opened");
        let mut reader = varve_warc::WarcReader::new(&*source).expect("a silo");
        while let Some(mut record) = reader.next_record().expect("read") {
            record.read_to_end(&mut all).expect("read");
        }
    }
    all
}

pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// The packed bytes of every record, by id; those that describe a silo aside.
fn members(root: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let archive = Archive::open(root).expect("opened");
    let mut found = std::collections::BTreeMap::new();
    for number in archive.store().files().list().expect("listed").into_keys() {
        let source = archive.store().files().open(number).expect("opened");
        let mut reader = varve_warc::WarcReader::new(&*source).expect("a silo");
        while let Some(record) = reader.next_record().expect("read") {
            let (offset, header) = (record.offset(), record.header().clone());
            reader.finish_record().expect("read");
            let mut bytes = vec![0; (reader.next_offset().expect("a record's end") - offset) as usize];
            let read = source.read_at(&mut bytes, offset).expect("read");
            assert_eq!(read, bytes.len());
            if header.fields.get("WARC-Filename").is_none() {
                let id = header.record_id().expect("an id");
                found.insert(String::from_utf8_lossy(id).into_owned(), bytes);
            }
        }
    }
    found
}

/// A page of prose, which levels of packing tell apart.
fn prose(number: u64) -> String {
    let mut state = number * 2 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ["museum ", "permanent ", "page ", "silo ", "of the ", "version ", "kept "]
            [(state >> 33) as usize % 7]
    };
    (0..3_000).map(|_| word()).collect()
}

#[test]
fn a_purge_keeps_other_records_byte_for_byte_and_does_not_grow_the_archive() {
    for packing in ["gzip", "zstd"] {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let mut settings = varve_archive::ArchiveSettings::new("test");
        settings.packing = serde_json::from_value(packing.into()).expect("a packing");
        varve_archive::verbs::init::init(root, &settings, opening()).expect("made");
        let pages: Vec<(String, String)> =
            (0..40).map(|number| (format!("https://e.org/{number}"), prose(number))).collect();
        let pages: Vec<(&str, &str)> =
            pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
        commit_pages(&history(root), "1", &pages);
        let before = members(root);
        // Silos that exist stay as they are, however later ones are to be packed.
        let settings = std::fs::read_to_string(root.join("varve.toml")).expect("read");
        std::fs::write(root.join("varve.toml"), format!("{settings}packing_level = 1\n")).expect("written");
        let receipt = rewrite(root, &request(&["https://e.org/7"]));
        assert_sound(root);
        let after = members(root);
        let gone: Vec<&String> = before.keys().filter(|id| !after.contains_key(*id)).collect();
        assert_eq!(gone.len(), 1, "{gone:?}");
        for (id, bytes) in before.iter().filter(|(id, _)| after.contains_key(*id)) {
            assert_eq!(&after[id], bytes, "{id}");
        }
        assert!(receipt.bytes_after < receipt.bytes_before, "{receipt:?}");
    }
}

/// In another packing everything is packed anew, objects and facts as small as commits pack them.
#[test]
fn repacked_silos_keep_their_compression_level() {
    let root = tempfile::tempdir().expect("a folder");
    let (as_gzip, as_zstd) = (root.path().join("gzip"), root.path().join("zstd"));
    for (root, packing) in [(&as_gzip, "gzip"), (&as_zstd, "zstd")] {
        let mut settings = varve_archive::ArchiveSettings::new("test");
        settings.packing = serde_json::from_value(packing.into()).expect("a packing");
        varve_archive::verbs::init::init(root, &settings, opening()).expect("made");
        let pages: Vec<_> = (0..4).map(|number| (format!("https://e.org/{number}"), prose(number))).collect();
        let pages: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
        commit_pages(&history(root), "1", &pages);
    }
    let settings = std::fs::read_to_string(as_zstd.join("varve.toml")).expect("read");
    std::fs::write(as_zstd.join("varve.toml"), settings.replace("\"zstd\"", "\"gzip\"")).expect("written");
    rewrite(&as_zstd, &request(&["https://e.org/2"]));
    assert_sound(&as_zstd);
    let (committed, again) = (members(&as_gzip), members(&as_zstd));
    let bodies = |members: &std::collections::BTreeMap<String, Vec<u8>>| -> usize {
        (0..4)
            .filter(|number| *number != 2)
            .map(|number| {
                let digest = varve_warc::digest::Algorithm::Sha256.digest(prose(number).as_bytes());
                members[&varve_warc::write::RecordUri::of_content(&digest).to_string()].len()
            })
            .sum()
    };
    // The times in their headers differ, and with them a byte or two.
    let (again, committed) = (bodies(&again), bodies(&committed));
    assert!(again.abs_diff(committed) < 16, "{again} and {committed}");
}

#[test]
fn a_page_is_purged_from_every_version_and_no_other_page() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let secret = "https://e.org/private";
    let first = commit_pages(&writer, "1", &[("https://e.org/", "hello"), (secret, "my secret")]).version;
    let second = commit_pages(&writer, "2", &[("https://e.org/", "hello"), (secret, "other secret")]).version;
    tag::set(&writer, "kept", Some(first)).expect("set");
    score::score(&writer, second, &|_| {}).expect("scored");
    let head = writer.head().expect("read");
    drop(writer);
    assert!(holds(&all_bytes(root), "my secret"));
    let receipt = rewrite(root, &request(&[secret]));
    let kinds = by_kind(&receipt);
    assert_eq!((kinds["resource"], kinds["metadata"]), (2, 1), "two bodies and a score that told of one");
    assert!(!holds(&all_bytes(root), "secret\n") && !holds(&all_bytes(root), "my secret"));
    assert_sound(root);
    let reader = open_reader(root).expect("opened");
    assert_eq!(reader.head().expect("read"), head);
    assert!(reader.catalog().tag("kept").expect("read").is_some());
    assert!(receipt.bytes_after > 0 && receipt.kept >= 4);
    let to = root.join("out");
    let done = export(&reader, second, &to, &mut |_| {}).expect("written");
    assert_eq!((done.written, done.left_out.count(|trouble| trouble == BodyFailure::Missing)), (1, 1));
    assert!(!to.join("private").exists(), "no folder is left for a page that is not here");
    drop(reader);
    // And it can be made again, and written to.
    let before = rows(&open_reader(root).expect("opened"));
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert_eq!(rows(&open_reader(root).expect("opened")), before);
    let writer = history(root);
    let third = commit_pages(&writer, "3", &[("https://e.org/", "again")]);
    assert_eq!(third.parent, Some(second));
    drop(writer);
    assert_sound(root);
}

/// The body stays for another page, and is read for that one only, also when many are read at once.
#[test]
fn a_purged_page_is_not_read_with_another_page_that_has_its_body() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let (secret, copy) = ("https://e.org/private.html", "https://e.org/copy.html");
    let first = commit_pages(&writer, "1", &[(secret, "shared"), (copy, "shared")]).version;
    drop(writer);
    rewrite(root, &request(&[secret]));
    let reader = open_reader(root).expect("opened");
    let captures = reader.catalog().captures_in(&first, ListCursor::first(9)).expect("listed");
    let captures: Vec<_> = captures.iter().collect();
    let read: Vec<_> = captures
        .iter()
        .zip(reader.read_bodies(&captures, 99).expect("read"))
        .filter_map(|(capture, body)| Some((capture.url.as_str(), body?)))
        .collect();
    assert_eq!(read, [(copy, b"shared".to_vec())]);
    let to = root.join("out");
    let done = export_files(&reader, first, &to, FileOptions::default());
    assert_eq!((done.written, done.left_out.count(|trouble| trouble == BodyFailure::Missing)), (1, 1));
    assert!(to.join("copy.html").exists() && !to.join("private.html").exists());
}

#[test]
fn a_version_is_purged_with_the_content_that_only_it_has() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let made: Vec<CommitReport> = ["one", "two", "three"]
        .iter()
        .map(|body| commit_pages(&writer, body, &[("https://e.org/", body), ("https://e.org/s", "shared")]))
        .collect();
    tag::set(&writer, "bad", Some(made[1].version)).expect("set");
    score::score(&writer, made[1].version, &|_| {}).expect("scored");
    drop(writer);
    let receipt = rewrite(root, &Request { versions: vec![made[1].version], ..request(&[]) });
    assert_eq!(by_kind(&receipt)["resource"], 1);
    assert!(receipt.tombstones.iter().any(|tombstone| tombstone.version == Some(made[1].version)));
    assert_sound(root);
    let reader = open_reader(root).expect("opened");
    assert!(reader.catalog().version(&made[1].version).expect("read").is_none());
    assert!(reader.catalog().tag("bad").expect("read").is_none());
    assert_eq!(reader.head().expect("read"), Some(made[2].version));
    assert_eq!(contents(&reader, made[2].version).len(), 2);
    assert!(!holds(&all_bytes(root), "\"message\":\"two\""));
}

/// The instant at this second after 1970.
pub(crate) fn date_at(second: u128) -> Date {
    Date::at_second(std::time::UNIX_EPOCH + std::time::Duration::from_secs(second as u64))
}

/// An exchange at this second of the run with the same number.
pub(crate) fn exchange_of_run<'a>(number: u128, url: &'a str, response: &'a Vec<u8>) -> NewExchange<'a> {
    NewExchange {
        url,
        date: date_at(number),
        request: b"GET / HTTP/1.1\r\nHost: e.org\r\n\r\n",
        response,
        head: None,
        ip: None,
        protocols: &[],
        cipher: None,
        trailers: &[],
        timing: None,
        truncated: None,
        run: Some(ExchangeRun::Capture(run_numbered(number))),
        warcinfo: None,
        unchanged: None,
        non_capture_method: None,
        source: None,
    }
}

pub(crate) fn run_numbered(number: u128) -> RunId {
    RunId::new(uuid::Uuid::from_u128(number))
}

/// Makes a run with these records a version, and lets the next writer enter it in the catalog.
pub(crate) fn seal_run(
    root: &Path,
    history: ArchiveHistoryWriter,
    number: u128,
    records: Vec<RecordId>,
) -> VersionId {
    history.writer().store().sync().expect("synced");
    let (id, captures) = (run_numbered(number), records.len() as u64);
    let manifest = Manifest {
        parent: history.head().expect("read"),
        message: format!("run {number}"),
        author: None,
        time: Moment::from_seconds(number as i64),
        run: Some(RunSummary { id, captures, seal: RunSummary::seal_of(records) }),
        coverage: None,
        inline: StateChanges::default(),
        changes: Vec::new(),
        plan: None,
        expectations: Default::default(),
        source: None,
    };
    let json = serde_json::to_vec(&manifest).expect("json");
    let version = Manifest::version_id(&json);
    history.write_fact(&format!("urn:uuid:{version}"), media_type::VERSION, &json).expect("stored");
    drop(history);
    drop(ArchiveHistoryWriter::open(root, opening()).expect("caught up"));
    version
}

/// Pairs of texts, as functions of these tests return them.
pub(crate) fn texts(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

/// Stores a run of captures as a version.
pub(crate) fn capture(root: &Path, number: u128, pages: &[(&str, &[u8])]) -> VersionId {
    let history = ArchiveHistoryWriter::open(root, opening()).expect("opened");
    let records = store_run(&history, number, pages);
    seal_run(root, history, number, records)
}

/// Stores the responses of a run, which becomes no version yet.
pub(crate) fn store_run(
    history: &ArchiveHistoryWriter,
    number: u128,
    pages: &[(&str, &[u8])],
) -> Vec<RecordId> {
    let store = history.writer().store();
    let run = run_numbered(number).to_string();
    let warcinfo = Some(store.describe_run(&[("varve-run", run)]).expect("described"));
    let keeper = ExchangeWriter::new(store);
    let mut packer = store.packer().expect("a packer");
    let mut records: Vec<RecordId> = Vec::new();
    for (url, response) in pages {
        let response = response.to_vec();
        let exchange = NewExchange { warcinfo, ..exchange_of_run(number, url, &response) };
        records.push(keeper.keep(&mut packer, &exchange).expect("kept").receipt.record);
    }
    records
}

/// For each response, whether the field of the standard or that of varve has the digest of the
/// payload.
fn payload_fields(root: &Path) -> Vec<String> {
    let mut fields = Vec::new();
    let archive = Archive::open(root).expect("opened");
    for number in archive.store().files().list().expect("listed").into_keys() {
        let source = archive.store().files().open(number).expect("opened");
        let mut reader = varve_warc::WarcReader::new(&*source).expect("a silo");
        while let Some(record) = reader.next_record().expect("read") {
            let header = record.header();
            if header.record_type() != varve_warc::record::RecordType::Response {
                continue;
            }
            let url = String::from_utf8_lossy(header.target_uri().expect("a URL")).into_owned();
            for whose in ["WARC", "Varve"] {
                if header.fields.get(&format!("{whose}-Payload-Digest")).is_some() {
                    fields.push(format!("{url} {whose}"));
                }
            }
        }
    }
    fields
}

#[test]
fn a_revisit_of_a_purged_response_becomes_a_full_record() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world".as_slice();
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
            .as_slice();
    let other = b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n".as_slice();
    capture(root, 1, &[("https://e.org/a", plain), ("https://e.org/x", other)]);
    let second = capture(root, 2, &[("https://e.org/b", chunked), ("https://e.org/c", plain)]);
    assert_sound(root);
    let pattern = GroupPattern::new("https://e.org/a", AtSign::default());
    let receipt = rewrite(root, &Request { patterns: vec![pattern], ..request(&[]) });
    assert_eq!(receipt.promoted.len(), 1, "the other refers to it");
    assert_eq!((by_kind(&receipt)["response"], by_kind(&receipt)["request"]), (1, 1));
    assert_sound(root);
    assert_eq!(payload_fields(root), ["https://e.org/x Varve", "https://e.org/b Varve"]);
    let reader = open_reader(root).expect("opened");
    let wanted = [("https://e.org/b", "hello world"), ("https://e.org/c", "hello world")];
    assert_eq!(contents(&reader, second), wanted.map(|(url, body)| (url.into(), body.into())));
    let bytes = all_bytes(root);
    assert!(!holds(&bytes, "GET https://e.org/a"));
    // What describes the runs is still there, and named.
    for run in [1, 2] {
        assert!(holds(&bytes, &format!("varve-run: {}", uuid::Uuid::from_u128(run))), "{run}");
    }
    let archive = Archive::open(root).expect("opened");
    let mut named = 0;
    varve_store::purge::each_header(archive.store().files(), &mut |header, _, _| {
        let Some(id) = header.reference("WARC-Warcinfo-ID").and_then(varve_store::record::parse_id) else {
            return;
        };
        assert!(archive.store().find(&id).expect("read").is_some());
        named += 1;
    })
    .expect("read");
    assert_eq!(named, 3);
}

#[test]
fn a_promoted_revisit_can_be_purged_later() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let page = |url| (url, b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world".as_slice());
    let first = capture(root, 1, &[page("https://e.org/a"), page("https://e.org/b")]);
    let second = capture(root, 2, &[page("https://e.org/a"), page("https://e.org/b")]);
    let receipt = rewrite(root, &Request { versions: vec![first], ..request(&[]) });
    assert!(!receipt.promoted.is_empty());
    assert_sound(root);
    rewrite(root, &request(&["https://e.org/a"]));
    assert_sound(root);
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert_sound(root);
    let reader = open_reader(root).expect("opened");
    assert_eq!(contents(&reader, second), [("https://e.org/b".to_owned(), "hello world".to_owned())]);
}

#[test]
fn a_purged_version_is_not_referenced_by_new_records() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let gone = commit_pages(&history(root), "one", &[("https://e.org/", "one")]).version;
    let head = commit_pages(&history(root), "two", &[("https://e.org/", "two")]).version;
    rewrite(root, &Request { versions: vec![gone], ..request(&[]) });
    let writer = history(root);
    let is_told = |error: ArchiveError| match error {
        ArchiveError::Repository(RepositoryError::VersionRemoved { version, removal }) => {
            version == gone && removal.tombstone.who == "Ada"
        }
        other => panic!("{other}"),
    };
    let id = gone.to_string();
    for name in ["HEAD~1", "HEAD~3", &id, &id[..8]] {
        assert!(is_told(resolve_version(writer.as_reader(), name).expect_err("gone").into()), "{name}");
        assert!(is_told(at(writer.as_reader(), name).expect_err("gone")), "{name}");
    }
    assert!(is_told(tag::set(&writer, "old", Some(gone)).expect_err("gone")));
    assert!(is_told(checkout::checkout(&writer, gone, &mut |_| {}).expect_err("gone")));
    assert!(is_told(export(writer.as_reader(), gone, &root.join("out"), &mut |_| {}).expect_err("gone")));
    let on_it = CommitRequest { message: "on it".to_owned(), parent: Some(gone), ..Default::default() };
    let pages = vec![page("https://e.org/", "three")];
    assert!(is_told(commit(&writer, &on_it, pages, &|_| {}).expect_err("gone")));
    assert_eq!(writer.head().expect("read"), Some(head));
    drop(writer);
    assert_sound(root);
    assert!(!root.join("out").exists());
}

#[test]
fn a_purged_page_is_reported_until_it_is_committed_again() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let (crawled, committed) = ("https://e.org/crawled", "https://e.org/committed");
    let first = capture(root, 1, &[(crawled, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst")]);
    let second = capture(root, 2, &[("https://e.org/", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]);
    let third = commit_pages(&history(root), "3", &[(committed, "by hand")]).version;
    let receipt = rewrite(root, &request(&[crawled, committed]));
    let reader = open_reader(root).expect("opened");
    let told = |url: &str, at: CaptureSelector| match look_up(&reader, url, &at) {
        Err(ArchiveError::Repository(RepositoryError::Removed { removal, .. })) => Some(removal.tombstone),
        Err(ArchiveError::NoCapture { .. }) => None,
        other => panic!("{other:?}"),
    };
    let of_answer =
        receipt.tombstones.iter().find(|one| one.kind == TombstoneKind::Response).expect("a tombstone");
    for at in [CaptureSelector::Newest, CaptureSelector::NewestGood, CaptureSelector::Version(first)] {
        assert_eq!(told(crawled, at).as_ref(), Some(of_answer));
    }
    assert_eq!(told(crawled, CaptureSelector::Version(second)), None, "it never held it");
    assert_eq!(told("https://e.org/never", CaptureSelector::Newest), None);
    // A manifest still lists what was committed.
    let listed = look_up(&reader, committed, &CaptureSelector::Version(third)).expect("listed");
    let removal = removal_of(&reader, &listed).expect("read").expect("told");
    assert_eq!((removal.tombstone.who.as_str(), removal.tombstone.why.as_str()), ("Ada", "asked for"));
    assert!(matches!(body(&reader, &listed).err(), Some(RepositoryError::Removed { .. })));
    let before = rows(&reader);
    let told = receipt.tombstones.len() + receipt.pages.len();
    assert_eq!(before.iter().filter(|row| row.starts_with("{\"removal\"")).count(), told);
    drop(reader);
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert_eq!(rows(&open_reader(root).expect("opened")), before);
    let fourth = commit_pages(&history(root), "4", &[(committed, "by hand")]).version;
    let reader = open_reader(root).expect("opened");
    let again = look_up(&reader, committed, &CaptureSelector::Version(fourth)).expect("listed");
    assert_eq!(removal_of(&reader, &again).expect("read"), None);
}

#[test]
fn a_reason_is_needed() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = ArchiveWriter::open(root.path(), opening()).expect("opened");
    let none = plan(&writer, &Request { why: " ".to_owned(), ..request(&["https://e.org/"]) });
    assert!(matches!(none, Err(ArchiveError::NoReason)));
}

#[test]
fn a_purge_stopped_at_any_step_leaves_one_intact_archive() {
    // What a rewrite does to the folder, step by step, as far as a kill could stop it.
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let request = CommitRequest { message: "1".to_owned(), threads: 1, ..CommitRequest::default() };
    let version =
        commit(&writer, &request, vec![page("https://e.org/", "1")], &|_| {}).expect("committed").version;
    drop(writer);
    for name in ["catalog.db", "HEAD"] {
        std::fs::remove_file(root.join(name)).expect("removed");
        let writer = history(root);
        assert_eq!(writer.head().expect("read"), Some(version));
    }
    std::fs::remove_file(root.join("catalog.db")).expect("removed");
    std::fs::rename(root.join("index"), root.join("tmp/old-index")).expect("moved");
    let writer = history(root);
    assert_eq!(contents(writer.as_reader(), version), [("https://e.org/".into(), "1".into())]);
    drop(writer);
    assert_sound(root);
}
