//! WARC, ARC and WACZ files of other programs, read in place by each verb.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use varve_testkit::fixtures;
use zip::write::SimpleFileOptions;

use crate::{stderr, stdout, varve};

/// A folder for files, and one for the index.
struct Files {
    folder: tempfile::TempDir,
    caches: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), caches: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn run(&self, archive: &Path, words: &[&str]) -> Output {
        let mut command = varve();
        command.env("XDG_CACHE_HOME", self.caches.path()).arg("-C").arg(archive).args(words);
        command.output().unwrap()
    }

    /// The output of a verb that succeeds.
    fn text(&self, archive: &Path, words: &[&str]) -> String {
        let output = self.run(archive, words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn objects(&self, archive: &Path, words: &[&str]) -> Vec<Value> {
        let text = self.text(archive, &[words, &["--json"]].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn record(fields: &str, block: &str) -> String {
    format!("WARC/1.1\r\n{fields}Content-Length: {}\r\n\r\n{block}\r\n\r\n", block.len())
}

fn info(id: &str, date: &str, fields: &str) -> String {
    let header = format!(
        "WARC-Type: warcinfo\r\nWARC-Record-ID: <urn:x:{id}>\r\nWARC-Date: {date}\r\n\
         Content-Type: application/warc-fields\r\n"
    );
    record(&header, fields)
}

fn response(id: &str, date: &str, url: &str, body: &str) -> String {
    let block =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let header = format!(
        "WARC-Type: response\r\nWARC-Record-ID: <urn:x:{id}>\r\nWARC-Date: {date}\r\nWARC-Target-URI: {url}\r\n\
         Content-Type: application/http; msgtype=response\r\nWARC-Payload-Digest: sha1:{}\r\n",
        payload_digest(body)
    );
    record(&header, &block)
}

/// A base32 text that depends on the body. Nothing here compares it with the payload.
fn payload_digest(body: &str) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let sum = body.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    (0..32).map(|at| letters[(sum.rotate_left(at * 5) % 32) as usize] as char).collect()
}

fn revisit(id: &str, date: &str, url: &str, more: &str) -> String {
    let header = format!(
        "WARC-Type: revisit\r\nWARC-Record-ID: <urn:x:{id}>\r\nWARC-Date: {date}\r\nWARC-Target-URI: {url}\r\n\
         WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n\
         Content-Type: application/http; msgtype=response\r\n{more}"
    );
    record(&header, "HTTP/1.1 200 OK\r\nX-Seen: again\r\n\r\n")
}

const PAGE: &str = "<html><title>Lake</title><body><p>The sediment of the lake has layers.</p></body></html>";
const CHANGED: &str =
    "<html><title>Lake</title><body><p>The sediment of the lake has thin layers.</p></body></html>";

/// Two crawls of one site.
fn crawls() -> (String, String) {
    let one = [
        info("i1", "2024-01-01T00:00:00Z", "software: crawler/1\r\noperator: Ada\r\n"),
        response("r1", "2024-01-01T00:00:01Z", "https://lake.example/", PAGE),
        response("r2", "2024-01-01T00:00:02Z", "https://lake.example/about", "<p>about</p>"),
    ];
    let two = [
        info("i2", "2024-02-01T00:00:00Z", "software: crawler/1\r\n"),
        response("r3", "2024-02-01T00:00:01Z", "https://lake.example/", CHANGED),
        revisit("r4", "2024-02-01T00:00:02Z", "https://lake.example/about", "WARC-Refers-To: <urn:x:r2>\r\n"),
    ];
    (one.concat(), two.concat())
}

fn wacz(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in members {
        writer.start_file(*name, stored).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The reading verbs, over an archive with both crawls.
fn every_verb(files: &Files, archive: &Path) {
    let versions = files.objects(archive, &["log"]);
    assert_eq!(versions.len(), 2, "{versions:?}");
    assert_eq!((&versions[0]["captures"], &versions[1]["captures"]), (&2.into(), &2.into()));
    assert_eq!(versions[0]["parent"], versions[1]["id"]);
    let captures = files.objects(archive, &["log", "https://lake.example/about"]);
    assert_eq!(captures.len(), 2);
    assert_eq!(captures[0]["body"], captures[1]["body"]);
    assert_eq!(files.text(archive, &["cat", "https://lake.example/"]), CHANGED);
    assert_eq!(files.text(archive, &["cat", "https://lake.example/", "--at", "2024-01-15"]), PAGE);
    assert_eq!(files.text(archive, &["cat", "https://lake.example/about"]), "<p>about</p>");
    assert!(
        files.text(archive, &["cat", "--headers", "https://lake.example/about"]).contains("X-Seen: again")
    );
    assert!(files.text(archive, &["show", "HEAD"]).contains("https://lake.example/"));
    let diff = files.run(archive, &["diff", "HEAD~1", "HEAD"]);
    assert!(stdout(&diff).contains("thin"), "{}{}", stdout(&diff), stderr(&diff));
    assert!(files.text(archive, &["search", "thin layers"]).contains("https://lake.example/"));
    assert!(files.text(archive, &["extract", "https://lake.example/"]).contains("thin layers"));
}

#[test]
fn a_folder_of_files_is_one_history() {
    let files = Files::new();
    let (one, two) = crawls();
    files.write("crawls/deep/one.warc", one);
    files.write("crawls/two.warc", two);
    every_verb(&files, &files.path("crawls"));
    let versions = files.objects(&files.path("crawls"), &["log"]);
    assert_eq!((&versions[1]["message"], &versions[1]["author"]), (&"deep/one.warc".into(), &"Ada".into()));
    assert_eq!(std::fs::read_dir(files.path("crawls")).unwrap().count(), 2, "nothing is written beside");
}

#[test]
fn one_file_with_two_crawls_has_two_versions() {
    let files = Files::new();
    let (one, two) = crawls();
    let archive = files.write("both.warc", one + &two);
    every_verb(&files, &archive);
}

#[test]
fn packages_in_a_folder_are_a_version_each() {
    let files = Files::new();
    let (one, two) = crawls();
    let json = br#"{"profile":"data-package","wacz_version":"1.1.1","title":"February","resources":[]}"#;
    files.write("crawls/one.wacz", wacz(&[("archive/a.warc", one.as_bytes())]));
    let (first, second) = two.split_at(two.find("WARC/1.1\r\nWARC-Type: revisit").unwrap());
    let members: [(&str, &[u8]); 3] = [
        ("datapackage.json", json),
        ("archive/b.warc", first.as_bytes()),
        ("archive/c.warc", second.as_bytes()),
    ];
    files.write("crawls/two.wacz", wacz(&members));
    let archive = files.path("crawls");
    every_verb(&files, &archive);
    assert_eq!(files.objects(&archive, &["log"])[0]["message"], "February (two.wacz)");
}

#[test]
fn a_package_of_packages_is_read_in_place() {
    let files = Files::new();
    let (one, two) = crawls();
    let inner = [wacz(&[("archive/a.warc", one.as_bytes())]), wacz(&[("archive/b.warc", two.as_bytes())])];
    let json = br#"{"profile":"multi-wacz-package","resources":[{"path":"1.wacz"},{"path":"2.wacz"}]}"#;
    let outer = wacz(&[("datapackage.json", json), ("1.wacz", &inner[0]), ("2.wacz", &inner[1])]);
    every_verb(&files, &files.write("multi.wacz", outer));
}

#[test]
fn the_second_opening_reads_no_record() {
    let files = Files::new();
    let (one, _) = crawls();
    let archive = files.write("one.warc", &one);
    files.text(&archive, &["log"]);
    // Bytes in the middle of the file are not looked at by an opening that has an index.
    let modified = std::fs::metadata(&archive).unwrap().modified().unwrap();
    let padding = "x".repeat(40_000);
    let long = one.clone() + &response("r9", "2024-01-01T00:00:03Z", "https://lake.example/long", &padding);
    std::fs::write(&archive, &long).unwrap();
    assert_eq!(files.objects(&archive, &["log"])[0]["captures"], 3, "a changed file is read again");
    let mut changed = long.into_bytes();
    let middle = changed.len() - 20_000;
    changed[middle] = b'y';
    std::fs::write(&archive, &changed).unwrap();
    let file = std::fs::File::options().write(true).open(&archive).unwrap();
    file.set_modified(modified).unwrap();
    files.text(&archive, &["log"]);
    changed[middle] = b'z';
    std::fs::write(&archive, &changed).unwrap();
    file.set_modified(modified).unwrap();
    // The index is found by size, time and both ends, and the body shows the change.
    let output = files.run(&archive, &["cat", "https://lake.example/long"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("not the one that was there"), "{}", stderr(&output));
}

#[test]
fn revisits_are_resolved_by_date_and_by_digest() {
    let files = Files::new();
    let original = response("r1", "2024-01-01T00:00:01Z", "https://lake.example/", PAGE);
    let by_date = revisit(
        "r2",
        "2024-02-01T00:00:00Z",
        "https://lake.example/two",
        "WARC-Refers-To-Target-URI: https://lake.example/\r\nWARC-Refers-To-Date: 2024-01-01T00:00:01Z\r\n",
    );
    let digest = format!("WARC-Payload-Digest: sha1:{}\r\n", payload_digest(PAGE));
    let by_digest = revisit("r3", "2024-02-01T00:00:01Z", "https://lake.example/three", &digest);
    let of_revisit =
        revisit("r4", "2024-02-01T00:00:02Z", "https://lake.example/four", "WARC-Refers-To: <urn:x:r2>\r\n");
    let lost =
        revisit("r5", "2024-02-01T00:00:03Z", "https://lake.example/lost", "WARC-Refers-To: <urn:x:no>\r\n");
    files.write("a/new.warc", [by_date, by_digest, of_revisit, lost].concat());
    files.write("a/old.warc", original);
    let archive = files.path("a");
    for page in ["two", "three", "four"] {
        assert_eq!(files.text(&archive, &["cat", &format!("https://lake.example/{page}")]), PAGE, "{page}");
    }
    let output = files.run(&archive, &["cat", "https://lake.example/lost"]);
    assert!(stderr(&output).contains("repeats a record that is in none of the files"), "{}", stderr(&output));
    let audit = files.run(&archive, &["audit"]);
    assert_eq!(audit.status.code(), Some(1));
    assert!(
        stdout(&audit).contains("revisits without their originals in these files: 1"),
        "{}",
        stdout(&audit)
    );
}

#[test]
fn responses_to_other_methods_are_no_captures() {
    let files = Files::new();
    let page = response("r1", "2024-01-01T00:00:01Z", "https://lake.example/", PAGE);
    let answer = response("r2", "2024-01-01T00:00:02Z", "https://lake.example/", "posted");
    let request = |concurrent: &str| {
        record(
            &format!(
                "WARC-Type: request\r\nWARC-Record-ID: <urn:x:q2>\r\nWARC-Date: 2024-01-01T00:00:02Z\r\n\
                 WARC-Target-URI: https://lake.example/\r\n{concurrent}\
                 Content-Type: application/http; msgtype=request\r\n"
            ),
            "POST / HTTP/1.1\r\nHost: lake.example\r\n\r\na=b",
        )
    };
    let named = request("WARC-Concurrent-To: <urn:x:r2>\r\n");
    let unnamed = request("");
    for (number, records) in [
        [&page, &answer, &named],
        [&answer, &page, &named],
        [&page, &answer, &unnamed],
        [&page, &unnamed, &answer],
    ]
    .into_iter()
    .enumerate()
    {
        let archive = files.write(&format!("{number}.warc"), records.map(String::as_str).concat());
        assert_eq!(files.text(&archive, &["cat", "https://lake.example/"]), PAGE, "{number}");
        assert_eq!(files.objects(&archive, &["log", "https://lake.example/"]).len(), 1, "{number}");
    }
}

#[test]
fn damage_is_reported_and_the_rest_is_read() {
    let files = Files::new();
    let (one, two) = crawls();
    files.write("a/cut.warc", &one[..one.len() - 20]);
    files.write("a/whole.warc", two);
    files.write("a/empty.warc.gz", "");
    files.write("a/broken.wacz", "PK\u{3}\u{4}nothing");
    let archive = files.path("a");
    let output = files.run(&archive, &["log", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("`varve audit` lists them"), "{}", stderr(&output));
    assert_eq!(files.text(&archive, &["cat", "https://lake.example/", "--at", "2024-01-15"]), PAGE);
    let audit = files.run(&archive, &["audit"]);
    let said = stdout(&audit);
    assert_eq!(audit.status.code(), Some(1));
    for part in ["cut.warc", "empty.warc.gz", "broken.wacz"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn links_are_not_followed_and_loops_end() {
    let files = Files::new();
    let (one, _) = crawls();
    files.write("a/one.warc", &one);
    std::os::unix::fs::symlink(files.path("a"), files.path("a/loop")).unwrap();
    let outside = files.write("outside.warc", one);
    std::os::unix::fs::symlink(outside, files.path("a/link.warc")).unwrap();
    let archive = files.path("a");
    assert_eq!(files.objects(&archive, &["log"]).len(), 1);
    let audit = files.run(&archive, &["audit"]);
    assert!(stdout(&audit).contains("link.warc: file-not-read"), "{}", stdout(&audit));
}

#[test]
fn verbs_that_write_say_what_to_do() {
    let files = Files::new();
    let archive = files.write("one.warc", crawls().0);
    for words in [
        &["tag", "first", "HEAD"][..],
        &["commit", "-m", "x", "one.warc", "--url", "https://a.example/"],
        &["capture", "https://a.example/"],
        &["store", "one.warc"],
        &["purge", "--drop", "https://a.example/", "--reason", "x"],
        &["gc"],
        &["seal"],
        &["rebuild"],
    ] {
        let output = files.run(&archive, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = stderr(&output);
        assert!(said.contains("is a web archive of another program"), "{words:?}: {said}");
        assert!(said.contains("`varve import`"), "{words:?}: {said}");
    }
}

#[test]
fn the_index_of_a_folder_is_that_of_its_files() {
    let files = Files::new();
    let (first, second) = crawls();
    let first = files.write("crawls/one.warc", first);
    let second = files.write("crawls/two.warc", second);
    let folder = files.path("crawls");
    let index = files.text(&folder, &["export", "--format", "cdxj", "-"]);
    let [first, second] = [first, second].map(|path| path.to_str().unwrap().to_owned());
    let of_files =
        files.text(&folder, &["export", "--format", "cdxj", "--from", &first, "--from", &second, "-"]);
    assert_eq!(index, of_files);
    assert!(index.lines().count() > 2 && index.contains("\"filename\": \"two.warc\""), "{index}");
}

#[test]
fn without_cache_nothing_is_kept() {
    let files = Files::new();
    let archive = files.write("one.warc", crawls().0);
    assert_eq!(files.objects(&archive, &["--no-cache", "log"]).len(), 1);
    assert_eq!(std::fs::read_dir(files.caches.path()).unwrap().count(), 0);
    files.text(&archive, &["log"]);
    assert_eq!(std::fs::read_dir(files.caches.path()).unwrap().count(), 1);
}

#[test]
fn files_of_other_programs_open_in_place() {
    let Some(root) = fixtures("warc") else { return };
    for (path, at_least) in [
        ("webrecorder+pywb/sample_archive/waczs/valid_example_1.wacz", 1),
        ("webrecorder+py-wacz/tests/fixtures/valid_signed_example_1.wacz", 1),
        ("webrecorder+replayweb.page/mkdocs/site/docs/examples/example.wacz", 1),
        ("harvard-lil+scoop/assets/fixtures/example.com.wacz", 1),
        ("webrecorder+pywb/sample_archive/warcs", 10),
        ("generated-zstd/iana80-dict-plain.warc.zst", 1),
        ("commoncrawl+arc2warc-conversion/test/resources/arc", 1),
        ("webrecorder+warcio/test/data/example.arc.gz", 1),
    ] {
        let files = Files::new();
        let archive = root.join(path);
        let output = files.run(&archive, &["log", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{path}: {}", stderr(&output));
        let captures: u64 = stdout(&output)
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["captures"].as_u64().unwrap())
            .sum();
        assert!(captures >= at_least, "{path}: {captures}");
    }
}

#[test]
fn doctor_examines_packages_and_the_files_in_them() {
    let files = Files::new();
    let (one, _) = crawls();
    let json = br#"{"wacz_version":"1.1.1","resources":[{"path":"archive/gone.warc"}]}"#;
    let whole = wacz(&[("datapackage.json", json), ("archive/a.warc", one.as_bytes())]);
    let path = files.write("a.wacz", &whole);
    let output = files.run(&path, &["doctor", "--json", path.to_str().unwrap()]);
    let objects: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((objects.len(), &objects[0]["format"]), (2, &"wacz".into()));
    assert_eq!(objects[0]["findings"][0]["rule"], "wacz-resource-missing");
    assert!(objects[1]["file"].as_str().unwrap().ends_with("a.wacz!archive/a.warc"));
    assert_eq!(objects[1]["records"], 3);
    let mut flipped = whole;
    let at = flipped.windows(5).position(|five| five == b"about").unwrap();
    flipped[at] ^= 1;
    std::fs::write(&path, flipped).unwrap();
    let said = stdout(&files.run(&path, &["doctor", path.to_str().unwrap()]));
    assert!(said.contains("zip-member-content"), "{said}");
    let said = stdout(&files.run(&path, &["audit"]));
    assert!(said.contains("zip-member-content"), "{said}");
}

#[test]
fn the_search_index_is_kept_with_the_index() {
    let files = Files::new();
    let archive = files.write("one.warc", crawls().0);
    let search = || files.text(&archive, &["search", "sediment"]);
    let kept = || {
        let names = std::process::Command::new("find").arg(files.caches.path()).output().unwrap();
        stdout(&names).lines().filter(|name| name.ends_with("search.db")).count()
    };
    let first = search();
    assert_eq!((kept(), search()), (1, first));
    std::fs::write(&archive, crawls().1).unwrap();
    assert!(search().contains("thin"));
    assert_eq!(kept(), 1, "the index of the earlier state is removed");
}
