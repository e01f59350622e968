//! The lines of an index beside those of `cdxj-indexer` and of pywb's indexer, for the same file.
//!
//! Where they agree, the lines are compared as bytes. Each known difference has a test of its own.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use varve_cdx::{CdxColumns, CdxEntry, CdxFileReader, IndexingOptions, LineSorter, index_file};
use varve_file::TemporaryFolder;
use varve_warc::date::Date;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{Draft, Packer, Packing, Profile, RecordUri, WarcWriter, warc_fields};

/// A WARC file that is made record by record.
struct WarcFile {
    writer: WarcWriter<Vec<u8>>,
    packer: Packer,
    second: u32,
}

impl WarcFile {
    fn new(packing: &Packing) -> Self {
        let packer = Packer::new(packing.clone(), None).unwrap();
        Self { writer: WarcWriter::new(Vec::new(), packing).unwrap(), packer, second: 0 }
    }

    /// The beginning of a record; each has a later date.
    fn draft(&mut self, record_type: RecordType, url: &str) -> Draft {
        self.second += 1;
        let date = format!("2026-01-02T03:04:{:02}Z", self.second);
        Draft::new(record_type, &Date::parse(date.as_bytes()).unwrap()).target_uri(url)
    }

    fn add(&mut self, draft: &Draft, kind: PayloadKind, block: &[u8]) -> RecordUri {
        let record = self.packer.pack(draft, kind, block).unwrap();
        let id = record.id.clone();
        self.writer.append(record).unwrap();
        id
    }

    fn response(&mut self, url: &str, block: &str) -> RecordUri {
        let draft = self.draft(RecordType::Response, url).http();
        self.add(&draft, PayloadKind::Response, block.as_bytes())
    }

    fn request(&mut self, url: &str, response: &RecordUri, block: &str) {
        let draft = self.draft(RecordType::Request, url).concurrent_to(response).http();
        self.add(&draft, PayloadKind::Request, block.as_bytes());
    }

    fn save(self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, self.writer.into_inner()).unwrap();
        path
    }
}

/// A file with every kind of record about which the indexers agree.
fn usual_file(packing: &Packing) -> WarcFile {
    let mut file = WarcFile::new(packing);
    let date = Date::parse(b"2026-01-01T00:00:00Z").unwrap();
    let info = Draft::new(RecordType::Warcinfo, &date).content_type("application/warc-fields");
    file.add(&info, PayloadKind::None, &warc_fields([("software", "a test")]));
    let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>one";
    let first = file.response("http://example.com/", html);
    file.request("http://example.com/", &first, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n");
    let urls = [
        "https://www.Example.com:443/Path/?b=1&A=2#top",
        "http://caf\u{e9}.example/caf\u{e9}?q=\u{fc}",
        "http://127.0.0.1:8080/a%20b?c=d+e",
        "http://example.com/;jsessionid=0123456789ABCDEF0123456789ABCDEF?x=%2525",
    ];
    for url in urls {
        file.response(url, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\nnothing here");
    }
    let digest = varve_warc::digest::Algorithm::Sha256.digest(b"<p>one");
    let revisit = file.draft(RecordType::Revisit, "http://example.com/").http();
    let profile = Profile::IdenticalPayloadDigest(digest);
    let revisit = revisit.revisit_of(profile, first, "http://example.com/", "2026-01-02T03:04:01Z");
    file.add(&revisit, PayloadKind::Revisit, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
    let info =
        file.draft(RecordType::Metadata, "http://example.com/").content_type("application/warc-fields");
    file.add(&info, PayloadKind::None, b"via: nowhere\r\n");
    file
}

/// The lines of varve, sorted.
fn own_lines(path: &Path, columns: Option<&CdxColumns>) -> Vec<String> {
    let mut sorter = LineSorter::new(Some(TemporaryFolder::from(path.parent().unwrap())));
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let options = IndexingOptions { filename: name, record_digests: false };
    let file = fs::File::open(path).unwrap();
    let indexed = index_file(&file, &options, &|_| {}, &mut |entry: CdxEntry| {
        sorter.push(|line| match columns {
            Some(columns) => columns.write_line(&entry, line),
            None => entry.write_cdxj(line),
        })
    });
    let indexed = indexed.unwrap();
    assert_eq!((indexed.unaddressable, indexed.findings.len()), (0, 0), "{:?}", indexed.findings);
    let (mut sorted, mut lines, mut line) = (sorter.finish().unwrap(), Vec::new(), Vec::new());
    while sorted.next_line(&mut line).unwrap() {
        lines.push(String::from_utf8(line.clone()).unwrap());
    }
    assert_eq!(lines.len() as u64, indexed.lines);
    lines
}

/// The lines of another program.
fn lines_of(mut program: Command) -> Vec<String> {
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn cdxj_indexer(python: &Path, arguments: &[&str], file: &Path) -> Vec<String> {
    let mut program = Command::new(python);
    program.args(["-m", "cdxj_indexer.main", "--sort"]).args(arguments).arg(file);
    lines_of(program)
}

fn pywb_indexer(python: &Path, arguments: &[&str], file: &Path) -> Vec<String> {
    let mut program = Command::new(python);
    let run = "from pywb.indexer.cdxindexer import main; main()";
    program.args(["-c", run, "--sort", "--postappend"]).args(arguments).arg(file);
    lines_of(program)
}

#[test]
fn lines_are_those_of_cdxj_indexer() {
    let Some(python) = varve_testkit::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (packing, name) in [(Packing::Gzip, "usual.warc.gz"), (Packing::Plain, "usual.warc")] {
        let path = usual_file(&packing).save(folder.path(), name);
        assert_eq!(own_lines(&path, None), cdxj_indexer(&python, &[], &path), "{name}");
        let columns = CdxColumns::default();
        let mut expected = cdxj_indexer(&python, &["-11"], &path);
        expected.retain(|line| *line != columns.header());
        assert_eq!(own_lines(&path, Some(&columns)), expected, "{name}");
    }
}

/// pywb leaves a label away for SHA-1 only, omits nothing else, and writes other spaces.
#[test]
fn entries_are_those_of_pywb() {
    let Some(python) = varve_testkit::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = usual_file(&Packing::Gzip).save(folder.path(), "usual.warc.gz");
    let entries = |lines: &[String]| -> Vec<CdxEntry> {
        let text = lines.join("\n");
        CdxFileReader::new(text.as_bytes()).collect::<Result<_, _>>().unwrap()
    };
    let own = entries(&own_lines(&path, None));
    let mut theirs = entries(&pywb_indexer(&python, &["--cdxj"], &path));
    for (theirs, own) in theirs.iter_mut().zip(&own) {
        if own.mime.as_deref() == Some("warc/revisit") {
            // pywb gives no status to revisits.
            theirs.status.clone_from(&own.status);
        }
    }
    assert_eq!(own, theirs);
}

#[test]
fn requests_that_are_not_a_get_are_those_of_both() {
    let Some(python) = varve_testkit::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut file = WarcFile::new(&Packing::Gzip);
    let bodies = [
        ("application/x-www-form-urlencoded", "a=b+c&d=%C3%A9"),
        ("application/json", r#"{"q": [1, {"q": false}], "r": {"s": "t u", "v": 2.5}}"#),
        ("text/plain", "just text"),
        (
            "multipart/form-data; boundary=bb",
            "--bb\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny z\r\n--bb--\r\n",
        ),
        ("image/png", "png"),
    ];
    for (number, (kind, body)) in bodies.into_iter().enumerate() {
        let url = format!("http://example.com/api/{number}{}", if number == 1 { "?k=v" } else { "" });
        let response = file.response(&url, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}");
        let length = body.len();
        file.request(
            &url,
            &response,
            &format!("POST / HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"),
        );
    }
    let path = file.save(folder.path(), "posts.warc.gz");
    let own = own_lines(&path, None);
    assert_eq!(own, cdxj_indexer(&python, &["--post-append"], &path));
    let keys = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(own), keys(pywb_indexer(&python, &["--cdxj"], &path)));
}

/// A record without a payload digest: all compute SHA-1.
#[test]
fn missing_digests_are_computed() {
    let Some(python) = varve_testkit::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut file = WarcFile::new(&Packing::Gzip);
    let draft = file.draft(RecordType::Response, "http://example.com/").http();
    file.add(&draft, PayloadKind::None, b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n<p>one");
    let draft = file.draft(RecordType::Resource, "urn:pageinfo:x").content_type("application/json");
    file.add(&draft, PayloadKind::None, b"{}");
    let path = file.save(folder.path(), "undigested.warc.gz");
    let own = own_lines(&path, None);
    assert_eq!(own.len(), 2);
    assert_eq!(own, cdxj_indexer(&python, &[], &path));
}

/// Documented in `docs/formats.md`: what is different, and why.
#[test]
fn known_differences() {
    let Some(python) = varve_testkit::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut file = WarcFile::new(&Packing::Gzip);
    // The payload of a chunked response is without its framing, as ISO 28500 has it.
    let draft = file.draft(RecordType::Response, "http://example.com/chunked").http();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    file.add(&draft, PayloadKind::None, chunked.as_bytes());
    // The answer to HEAD is not one to GET.
    let head = file.response("http://example.com/head", "HTTP/1.1 200 OK\r\n\r\n");
    file.request("http://example.com/head", &head, "HEAD / HTTP/1.1\r\n\r\n");
    // A record that is not HTTP has the media type of its block.
    let draft = file.draft(RecordType::Response, "dns:example.com").content_type("text/dns");
    file.add(&draft, PayloadKind::Block, b"20260102030405\r\nexample.com. 1 IN A 127.0.0.1\r\n");
    // Metadata about another record has no URL.
    let date = Date::parse(b"2026-01-02T03:05:00Z").unwrap();
    let metadata = Draft::new(RecordType::Metadata, &date).refers_to(head).content_type("application/json");
    file.add(&metadata, PayloadKind::None, b"{}");
    let path = file.save(folder.path(), "odd.warc.gz");
    let own = own_lines(&path, None);
    let sha1_of_abc = "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5";
    let line = |part: &str| own.iter().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{own:?}"));
    assert!(line("chunked").contains(sha1_of_abc), "{own:?}");
    assert!(line("/head").starts_with("com,example)/head?__wb_method=head 2026"), "{own:?}");
    assert!(line("dns:").contains("\"mime\": \"text/dns\""), "{own:?}");
    assert_eq!(own.len(), 3, "{own:?}");
    let theirs = cdxj_indexer(&python, &[], &path);
    assert_eq!(theirs.len(), 4, "{theirs:?}");
    assert!(!theirs.iter().any(|line| own.contains(line)), "{theirs:?}");
}

/// Damage is a finding, and the rest of the file is indexed.
#[test]
fn a_damaged_file_is_indexed_as_far_as_it_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = usual_file(&Packing::Gzip).save(folder.path(), "damaged.warc.gz");
    let whole = own_lines(&path, None);
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.len() / 2;
    bytes[place..place + 40].fill(0);
    let mut lines = Vec::new();
    let options = IndexingOptions { filename: "damaged.warc.gz".into(), record_digests: false };
    let indexed = index_file(bytes.as_slice(), &options, &|_| {}, &mut |entry| {
        let mut line = Vec::new();
        entry.write_cdxj(&mut line);
        lines.push(String::from_utf8(line).unwrap());
        Ok(())
    });
    let indexed = indexed.unwrap();
    assert!(!indexed.findings.is_empty());
    let kept = lines.iter().filter(|line| whole.contains(line)).count();
    assert!((whole.len() - 3..whole.len()).contains(&kept), "{lines:#?}");
}

/// No line can say where a record is that begins inside a compressed member.
#[test]
fn records_that_share_a_member_are_counted() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = usual_file(&Packing::Plain).save(folder.path(), "usual.warc");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&fs::read(&path).unwrap()).unwrap();
    let packed = packer.finish().unwrap();
    let options = IndexingOptions { filename: "whole.warc.gz".into(), record_digests: false };
    let mut lines = 0;
    let indexed = index_file(packed.as_slice(), &options, &|_| {}, &mut |_| {
        lines += 1;
        Ok(())
    });
    let indexed = indexed.unwrap();
    assert_eq!((lines, indexed.lines, indexed.unaddressable), (0, 0, 6));
    assert!(!indexed.findings.is_empty());
}
