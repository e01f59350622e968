//! Imports of WARC files: versions, captures, revisits, records beside them, and the same rows after a rebuild.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::scene::*;
use varve_archive::history::ArchiveHistoryWriter;
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::import::web_archive::{Request, import};
use varve_archive::verbs::import::{FileImported, files_at};
use varve_archive::verbs::{rebuild, show};
use varve_archive::{Archive, ArchivePaths, VersionId};
use varve_core::history::{CaptureFilter, ListCursor, TimeOrder, VersionFilter};

/// A WARC file in the making.
#[derive(Default)]
struct WarcMaker {
    records: Vec<Vec<u8>>,
}

impl WarcMaker {
    fn add(&mut self, kind: &str, id: &str, fields: &[(&str, &str)], block: &[u8]) -> &mut Self {
        let mut record = format!("WARC/1.0\r\nWARC-Type: {kind}\r\n");
        if !id.is_empty() {
            record.push_str(&format!("WARC-Record-ID: <urn:uuid:{id}>\r\n"));
        }
        for (name, value) in fields {
            record.push_str(&format!("{name}: {value}\r\n"));
        }
        record.push_str(&format!("Content-Length: {}\r\n\r\n", block.len()));
        self.records.push([record.as_bytes(), block, b"\r\n\r\n"].concat());
        self
    }

    fn info(&mut self, id: &str, date: &str) -> &mut Self {
        let fields = [("WARC-Date", date), ("Content-Type", "application/warc-fields")];
        self.add("warcinfo", id, &fields, b"software: other/1.0\r\n")
    }

    fn response(&mut self, id: &str, url: &str, date: &str, body: &str) -> &mut Self {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Case: Kept\r\n\r\n{body}");
        let fields = [
            ("WARC-Target-URI", url),
            ("WARC-Date", date),
            ("Content-Type", "application/http; msgtype=response"),
            ("X-Unknown", "kept 100%"),
        ];
        self.add("response", id, &fields, block.as_bytes())
    }

    fn request(&mut self, id: &str, of: &str, url: &str, date: &str, method: &str) -> &mut Self {
        let block = format!("{method} / HTTP/1.1\r\nHost: e.org\r\n\r\n");
        let of = format!("<urn:uuid:{of}>");
        let fields = [
            ("WARC-Target-URI", url),
            ("WARC-Date", date),
            ("WARC-Concurrent-To", of.as_str()),
            ("Content-Type", "application/http; msgtype=request"),
        ];
        self.add("request", id, &fields, block.as_bytes())
    }

    fn revisit(&mut self, id: &str, url: &str, date: &str, names: &[(&str, &str)]) -> &mut Self {
        let mut fields = vec![
            ("WARC-Target-URI", url),
            ("WARC-Date", date),
            ("WARC-Profile", "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"),
            ("Content-Type", "application/http; msgtype=response"),
        ];
        fields.extend(names);
        self.add(
            "revisit",
            id,
            &fields,
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Seen: again\r\n\r\n",
        )
    }

    fn plain(&self) -> Vec<u8> {
        self.records.concat()
    }

    fn gzip(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in &self.records {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            packer.write_all(record).expect("packed");
            bytes.extend(packer.finish().expect("packed"));
        }
        bytes
    }
}

fn writer(root: &Path) -> ArchiveHistoryWriter {
    ArchiveHistoryWriter::open(root, opening()).expect("opened")
}

fn import_all(root: &Path, files: &[PathBuf]) -> Vec<FileImported> {
    let request = Request { files: files.to_vec(), ..Request::default() };
    let results = import(&writer(root), &request, &|_| {}).expect("imported");
    results.into_iter().map(|(_, result)| result.expect("read")).collect()
}

/// Imports one file that must be clean.
fn import_clean(root: &Path, file: &Path) -> FileImported {
    let imported = import_all(root, &[file.to_owned()]).remove(0);
    assert_eq!(imported.findings, [], "{}", file.display());
    imported
}

/// The archive is sound, and a rebuild gives the same rows and the same HEAD.
fn assert_sound(root: &Path) {
    let archive = Archive::open_to_audit(root).expect("opened");
    let mut found = Vec::new();
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding.message))
        .expect("audited");
    assert_eq!(found, [""; 0]);
    let (before, head) = (rows(&reader(root)), reader(root).head().expect("read"));
    for name in ["index", "catalog.db", "HEAD", "search.db"] {
        let path = root.join(name);
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert_eq!(rows(&reader(root)), before);
    assert_eq!(reader(root).head().expect("read"), head);
}

fn body_at(root: &Path, url: &str, newest: usize) -> String {
    let reader = reader(root);
    let (filter, cursor) = (CaptureFilter::default(), ListCursor::first(100));
    let captures = reader.catalog().captures_of(url, &filter, TimeOrder::NewestFirst, cursor).expect("read");
    body(&reader, &captures[newest])
}

fn count_captures(root: &Path, url: &str) -> usize {
    let (filter, cursor) = (CaptureFilter::default(), ListCursor::first(100));
    reader(root).catalog().captures_of(url, &filter, TimeOrder::NewestFirst, cursor).expect("read").len()
}

fn versions(root: &Path) -> Vec<(VersionId, String, u64)> {
    let found =
        reader(root).catalog().versions(&VersionFilter::default(), ListCursor::first(100)).expect("read");
    found.into_iter().map(|info| (info.version.id, info.version.time.to_string(), info.captures)).collect()
}

fn scene() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    make(Kind::Archive, &root);
    (folder, root)
}

/// Writes a file beside the archive.
fn file(root: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = root.with_file_name(name);
    fs::write(&path, bytes).expect("written");
    path
}

fn two_parts() -> WarcMaker {
    let mut warc = WarcMaker::default();
    warc.info("i1", "2020-01-01T00:00:00Z")
        .response("a", "http://e.org/", "2020-01-01T00:00:01Z", "<p>one</p>")
        .request("b", "a", "http://e.org/", "2020-01-01T00:00:01Z", "GET")
        .revisit("c", "http://e.org/same", "2020-01-01T00:00:02Z", &[("WARC-Refers-To", "<urn:uuid:a>")])
        .add(
            "metadata",
            "d",
            &[("WARC-Date", "2020-01-01T00:00:02Z"), ("WARC-Refers-To", "<urn:uuid:a>")],
            b"fetchTimeMs: 1\r\n",
        )
        .info("i2", "2021-01-01T00:00:00Z")
        .response("e", "http://e.org/", "2021-01-01T00:00:01.5Z", "<p>two</p>");
    warc
}

#[test]
fn each_warcinfo_becomes_a_version_of_its_time() {
    let (_folder, root) = scene();
    for (name, bytes) in [("plain.warc", two_parts().plain()), ("packed.warc.gz", two_parts().gzip())] {
        let (_folder, root) = scene();
        let path = file(&root, name, &bytes);
        let imported = import_clean(&root, &path);
        assert_eq!((imported.records, imported.captures, imported.new, imported.other), (7, 3, 3, 3));
        assert_eq!(imported.versions.len(), 2);
        let times: Vec<String> = versions(&root).into_iter().map(|(_, time, _)| time).collect();
        assert_eq!(times, ["2021-01-01T00:00:01.500Z", "2020-01-01T00:00:02Z"]);
        assert_eq!(body_at(&root, "http://e.org/", 0), "<p>two</p>");
        assert_eq!(body_at(&root, "http://e.org/", 1), "<p>one</p>");
        assert_eq!(body_at(&root, "http://e.org/same", 0), "<p>one</p>");
        let reader = reader(&root);
        let info = show::version(&reader, &imported.versions[1]).expect("a version");
        let source = show::source(&reader, &info).expect("read").expect("a source");
        assert_eq!((source.file.as_str(), source.sha256), (name, imported.sha256.clone()));
        assert!(source.offset > 0);
        assert_sound(&root);
        // Nothing is added by another import.
        let before = rows(&reader);
        assert!(import_clean(&root, &path).already);
        assert_eq!(rows(&reader), before);
    }
    // The same file twice in one import, and the same records in another file, are the same captures.
    let twice =
        [file(&root, "plain.warc", &two_parts().plain()), file(&root, "copy.warc", &two_parts().plain())];
    let imported = import_all(&root, &twice);
    assert_eq!((imported[0].new, imported[1].new), (3, 0));
    assert_eq!(imported[0].versions, imported[1].versions);
    assert_sound(&root);
    let again = import_clean(&root, &file(&root, "packed.warc.gz", &two_parts().gzip()));
    assert_eq!((again.captures, again.new, again.versions.len()), (3, 0, 0));
    assert_eq!(versions(&root).len(), 2);
    assert_sound(&root);
}

#[test]
fn wire_bytes_and_the_header_of_the_source_are_kept() {
    let (_folder, root) = scene();
    import_clean(&root, &file(&root, "a.warc", &two_parts().plain()));
    let reader = reader(&root);
    let filter = CaptureFilter::default();
    let captures = reader
        .catalog()
        .captures_of("http://e.org/", &filter, TimeOrder::OldestFirst, ListCursor::first(1))
        .expect("read");
    let head = reader.wire_head(&captures[0]).expect("read").expect("a head");
    assert_eq!(head, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Case: Kept\r\n\r\n");
    let store = writer(&root);
    let store = store.writer().reader();
    let located = store.find(&captures[0].record.expect("a record")).expect("read").expect("found");
    let source = varve_store::record::source_header(&located.header).expect("a header");
    assert_eq!(source.record_id(), Some(&b"urn:uuid:a"[..]));
    assert_eq!(source.fields.get("X-Unknown"), Some(&b"kept 100%"[..]));
}

#[test]
fn revisits_find_their_originals_in_later_files_and_in_the_archive() {
    let (_folder, root) = scene();
    let mut early = WarcMaker::default();
    let by_digest = [("WARC-Payload-Digest", "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")];
    let by_target =
        [("WARC-Refers-To-Target-URI", "http://e.org/"), ("WARC-Refers-To-Date", "2020-01-01T00:00:01Z")];
    early
        .revisit("r1", "http://e.org/by-id", "2022-01-01T00:00:00Z", &[("WARC-Refers-To", "<urn:uuid:a>")])
        .revisit("r2", "http://e.org/by-target", "2022-01-01T00:00:01Z", &by_target)
        .revisit("r3", "http://e.org/never", "2022-01-01T00:00:02Z", &by_digest);
    let files =
        [file(&root, "1-early.warc.gz", &early.gzip()), file(&root, "2-late.warc.gz", &two_parts().gzip())];
    let imported = import_all(&root, &files);
    assert_eq!(imported[0].captures, 2);
    assert_eq!(imported[0].findings_total, 1, "{:?}", imported[0].findings);
    assert!(imported[0].findings[0].message.contains("http://e.org/never"));
    for url in ["http://e.org/by-id", "http://e.org/by-target"] {
        assert_eq!(body_at(&root, url, 0), "<p>one</p>", "{url}");
    }
    // From another import.
    let mut later = WarcMaker::default();
    later.revisit("r4", "http://e.org/later", "2022-02-01T00:00:00Z", &[("WARC-Refers-To", "<urn:uuid:e>")]);
    import_clean(&root, &file(&root, "3.warc", &later.plain()));
    assert_eq!(body_at(&root, "http://e.org/later", 0), "<p>two</p>");
    assert_sound(&root);
}

#[test]
fn an_old_file_does_not_replace_newer_pages() {
    let (_folder, root) = scene();
    let committing = history(&root);
    commit_pages(&committing, "new", &[("http://e.org/", "newest")]);
    let head = committing.head().expect("read");
    drop(committing);
    let mut warc = two_parts();
    warc.response("f", "http://e.org/only-old", "2021-01-01T00:00:02Z", "old");
    let imported = import_clean(&root, &file(&root, "old.warc", &warc.plain()));
    let reader = reader(&root);
    let now = reader.head().expect("read").expect("a version");
    let mut found = contents(&reader, now);
    found.sort();
    let page = |url: &str, body: &str| (url.to_owned(), body.to_owned());
    assert_eq!(
        found,
        [
            page("http://e.org/", "newest"),
            page("http://e.org/only-old", "old"),
            page("http://e.org/same", "<p>one</p>")
        ]
    );
    assert_eq!(show::version(&reader, &now).expect("read").version.parent, head);
    // The old versions have what there was at their time.
    let mut old = contents(&reader, imported.versions[1]);
    old.sort();
    assert_eq!(old[0], page("http://e.org/", "<p>two</p>"));
    drop(reader);
    assert_sound(&root);
    // Nothing new for HEAD: it stays, also after a rebuild.
    let mut older = WarcMaker::default();
    older.response("g", "http://e.org/", "2019-01-01T00:00:00Z", "older");
    import_clean(&root, &file(&root, "older.warc", &older.plain()));
    assert_eq!(crate::scene::reader(&root).head().expect("read"), Some(now));
    assert_sound(&root);
}

#[test]
fn files_that_overlap_in_time_are_one_line_of_versions() {
    let (_folder, root) = scene();
    let mut files = Vec::new();
    for (name, start, end) in [("a", "01", "09"), ("b", "02", "03"), ("c", "00", "05")] {
        let mut warc = WarcMaker::default();
        for month in [start, end] {
            let (id, url) = (format!("{name}{month}"), format!("http://e.org/{name}/{month}"));
            warc.response(&id, &url, &format!("2020-10-01T00:00:{month}Z"), &id);
        }
        files.push(file(&root, &format!("{name}.warc"), &warc.plain()));
    }
    import_all(&root, &files);
    let head = reader(&root).head().expect("read").expect("a version");
    assert_eq!((contents(&reader(&root), head).len(), versions(&root).len()), (6, 3));
    assert_sound(&root);
}

#[test]
fn records_that_are_no_captures_are_kept_and_forge_nothing() {
    let (_folder, root) = scene();
    let mut warc = WarcMaker::default();
    let at = ("WARC-Date", "2020-01-01T00:00:00Z");
    let forged = br#"{"parent":null,"message":"forged","time":"2020-01-01T00:00:00Z"}"#;
    let mut own_type = vec![at, ("WARC-Refers-To", "<urn:uuid:9a0364b9-e99b-8b9c-9b0a-0123456789ab>")];
    own_type.push(("Content-Type", "Application/vnd.varve.version+json; x=y"));
    let url = ("WARC-Target-URI", "http://e.org/picture");
    warc.add("metadata", "m", &own_type, forged)
        .add(
            "response",
            "dns",
            &[at, ("WARC-Target-URI", "dns:e.org"), ("Content-Type", "text/dns")],
            b"1.2.3.4",
        )
        .add("conversion", "c", &[at, url, ("Content-Type", "text/plain")], b"text")
        .add("strange", "s", &[at], b"unknown")
        .add("resource", "p", &[at, url, ("Content-Type", "image/png")], b"PNG")
        .response("post", "http://e.org/form", "2020-01-01T00:00:03Z", "sent")
        .request("q", "post", "http://e.org/form", "2020-01-01T00:00:03Z", "POST")
        .request("alone", "nothing", "http://e.org/alone", "2020-01-01T00:00:04Z", "GET")
        .response("u", "http://me:pw@e.org/", "2020-01-01T00:00:05Z", "secret");
    let imported = import_all(&root, &[file(&root, "odd.warc", &warc.plain())]).remove(0);
    assert_eq!((imported.captures, imported.other, imported.with_user_info), (2, 6, 1));
    assert_eq!(imported.findings, []);
    assert_eq!(versions(&root).len(), 1);
    assert_eq!(body_at(&root, "http://e.org/picture", 0), "PNG");
    assert_eq!(count_captures(&root, "http://e.org/form"), 0);
    assert_eq!(count_captures(&root, "http://me:pw@e.org/"), 0);
    assert_sound(&root);
}

#[test]
fn damage_is_named_and_the_rest_is_imported() {
    let (_folder, root) = scene();
    let mut bytes = two_parts().gzip();
    let cut = bytes.len() - 20;
    bytes.truncate(cut);
    let path = file(&root, "cut.warc.gz", &bytes);
    let imported = import_all(&root, std::slice::from_ref(&path)).remove(0);
    assert!(imported.findings_total > 0);
    assert!(imported.findings.iter().all(|finding| finding.offset <= cut as u64));
    assert_eq!(body_at(&root, "http://e.org/same", 0), "<p>one</p>");
    assert_sound(&root);
    // Damage is reported again, and nothing is added.
    let before = rows(&reader(&root));
    assert_eq!(import_all(&root, &[path]).remove(0).findings, imported.findings);
    assert_eq!(rows(&reader(&root)), before);
}

#[test]
fn an_unreadable_file_does_not_stop_the_others() {
    let (_folder, root) = scene();
    let files = [
        file(&root, "text.warc", b"this is no archive"),
        root.with_file_name("missing.warc"),
        file(&root, "good.warc", &two_parts().plain()),
    ];
    let request = Request { files: files.to_vec(), ..Request::default() };
    let results = import(&writer(&root), &request, &|_| {}).expect("imported");
    let read: Vec<bool> = results.iter().map(|(_, result)| result.is_ok()).collect();
    assert_eq!(read, [false, false, true]);
    assert_eq!(versions(&root).len(), 2);
}

/// A ZIP archive with these members.
fn zip(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content, is_stored) in members {
        let method = match is_stored {
            true => zip::CompressionMethod::Stored,
            false => zip::CompressionMethod::Deflated,
        };
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).expect("begun");
        writer.write_all(content).expect("written");
    }
    writer.finish().expect("written").into_inner()
}

#[test]
fn the_files_in_a_package_are_imported() {
    let (_folder, root) = scene();
    let mut revisits = WarcMaker::default();
    revisits.revisit(
        "r1",
        "http://e.org/again",
        "2022-01-01T00:00:00Z",
        &[("WARC-Refers-To", "<urn:uuid:a>")],
    );
    let inner = zip(&[("archive/2.warc.gz", &two_parts().gzip(), true)]);
    let json = br#"{"profile":"data-package","resources":[]}"#;
    let package = zip(&[
        ("datapackage.json", json, false),
        ("archive/1.warc", &revisits.plain(), false),
        ("inner.wacz", &inner, true),
    ]);
    let path = file(&root, "outer.wacz", &package);
    let imported = import_all(&root, std::slice::from_ref(&path));
    let outer = path.to_string_lossy();
    let paths: Vec<&str> = imported.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, [format!("{outer}!archive/1.warc"), format!("{outer}!inner.wacz!archive/2.warc.gz")]);
    assert!(imported.iter().all(|file| file.findings.is_empty()), "{imported:?}");
    assert_eq!(body_at(&root, "http://e.org/again", 0), "<p>one</p>");
    let reader = reader(&root);
    let info = show::version(&reader, &imported[1].versions[0]).expect("a version");
    let source = show::source(&reader, &info).expect("read").expect("a source");
    assert_eq!(source.file, "outer.wacz!inner.wacz!archive/2.warc.gz");
    drop(reader);
    assert_sound(&root);
    assert!(import_all(&root, &[path]).iter().all(|file| file.already));
}

#[test]
fn hostile_packages_are_reported() {
    let (_folder, root) = scene();
    let good = zip(&[("archive/1.warc", &two_parts().plain(), false)]);
    let cut = &good[..good.len() - 30];
    let files = [
        file(&root, "empty.wacz", &zip(&[("datapackage.json", b"{}", true)])),
        file(&root, "climbing.wacz", &zip(&[("../archive/1.warc", &two_parts().plain(), true)])),
        file(&root, "cut.wacz", cut),
        file(&root, "short.wacz", b"PK\x03\x04"),
    ];
    let request = Request { files: files.to_vec(), ..Request::default() };
    let results = import(&writer(&root), &request, &|_| {}).expect("imported");
    let complaints = |number: usize| match &results[number].1 {
        Ok(file) => file.complaints() > 0,
        Err(_) => true,
    };
    assert!((0..files.len()).all(complaints), "{results:?}");
    assert_eq!(body_at(&root, "http://e.org/", 0), "<p>two</p>");
    assert_sound(&root);
}

#[test]
fn folders_are_searched_without_following_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("collections/one/archive");
    fs::create_dir_all(&deep).expect("made");
    for name in ["b.warc.gz", "a.ARC", "c.txt", "d.warc.gz.open"] {
        fs::write(deep.join(name), b"").expect("written");
    }
    std::os::unix::fs::symlink(folder.path(), deep.join("loop.warc")).expect("linked");
    let found = files_at(folder.path()).expect("read");
    let names: Vec<_> = found.iter().map(|path| path.file_name().expect("a name").to_owned()).collect();
    assert_eq!(names, ["a.ARC", "b.warc.gz", "d.warc.gz.open"]);
    assert!(files_at(&deep.join("nothing")).is_err());
}

/// Files of real programs and test suites, damaged ones included: the import ends, and the archive is
/// sound.
#[test]
fn real_files_are_imported() {
    let Some(fixtures) = varve_testkit::fixtures("warc") else { return };
    let (_folder, root) = scene();
    let files = files_at(&fixtures).expect("found");
    let request = Request { files, ..Request::default() };
    let results = import(&writer(&root), &request, &|_| {}).expect("imported");
    let captures: u64 =
        results.iter().filter_map(|(_, result)| result.as_ref().ok()).map(|file| file.new).sum();
    assert!(captures > 500, "{captures}");
    assert_sound(&root);
    let before = rows(&reader(&root));
    import(&writer(&root), &request, &|_| {}).expect("imported again");
    assert_eq!(rows(&reader(&root)), before);
}
