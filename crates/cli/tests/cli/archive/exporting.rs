//! `export` of indexes, read by pywb.

use std::fs;
use std::process::Command;

use super::Scene;

/// Looks a URL up in a ZipNum index as pywb does.
const ZIPNUM_LOOKUP: &str = "
import sys
from pywb.warcserver.index.zipnum import ZipNumIndexSource
from pywb.warcserver.index.query import CDXQuery
summary, url = sys.argv[1:]
source = ZipNumIndexSource(summary)
query = CDXQuery({'url': url, 'allowFuzzy': 'false'})
for line in source.load_index(query.params):
    print(line.decode() if isinstance(line, bytes) else line)
";

/// An archive with pages of a folder, committed.
fn archive_with_pages(count: usize) -> Scene {
    let scene = Scene::new(&[]);
    fs::create_dir(scene.path("site")).unwrap();
    for number in 0..count {
        scene.file(
            &format!("site/{number}.html"),
            format!("<title>{number}</title><p>page {number}").as_bytes(),
        );
    }
    scene.data(&["commit", "-m", "pages", "--from", "site", "--base-url", "https://lake.example/"]);
    scene
}

#[test]
fn an_index_is_written_whole_or_not_at_all() {
    let scene = archive_with_pages(3);
    fs::write(scene.path("there"), "mine").unwrap();
    let refused = scene.command().args(["export", "--format", "cdxj", "there"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_to_string(scene.path("there")).unwrap(), "mine");
    let silo = scene.silos()[0].clone();
    let broken = scene.path("broken.warc.gz");
    let mut bytes = fs::read(&silo).unwrap();
    bytes.truncate(bytes.len() - 9);
    fs::write(&broken, bytes).unwrap();
    let broken = broken.to_str().unwrap();
    let found = scene.command().args(["export", "--format", "cdxj", "-", "--from", broken]).output().unwrap();
    assert_eq!(found.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&found.stderr).contains("broken.warc.gz, byte "), "{found:?}");
    let missing =
        scene.command().args(["export", "--format", "cdxj", "out", "--from", "nowhere"]).output().unwrap();
    assert_eq!((missing.status.code(), scene.path("out").exists()), (Some(2), false));
}

#[test]
fn options_of_other_formats_are_refused() {
    let scene = archive_with_pages(1);
    for arguments in [
        &["export", "--format", "cdxj", "x", "--all"][..],
        &["export", "--format", "crystal", "x", "--from", "y"],
        &["export", "--format", "crystal", "-"],
        &["export", "--format", "cdxj", "-", "--json"],
        &["export", "--format", "zipnum", "-"],
    ] {
        let refused = scene.command().args(arguments).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(refused.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn pywb_finds_a_capture_by_a_zipnum_index() {
    let Some(python) = varve_testkit::python() else { return };
    let scene = Scene::new(&[]);
    let url = "https://lake.example/";
    let mut warc = Vec::new();
    for number in 0..7000 {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{number}");
        warc.extend(format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{:032}>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n\
             WARC-Target-URI: {url}{number:05}\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            number,
            block.len(),
        ).into_bytes());
    }
    scene.file("made.warc", &warc);
    scene.data(&["export", "--format", "zipnum", "indexes", "--from", "made.warc"]);
    let lines =
        String::from_utf8(scene.data(&["export", "--format", "cdxj", "-", "--from", "made.warc"])).unwrap();
    assert_eq!(lines.lines().count(), 7000);
    for number in ["00000", "02999", "03000", "06999"] {
        let mut lookup = Command::new(&python);
        lookup
            .args(["-c", ZIPNUM_LOOKUP])
            .arg(scene.path("indexes/cluster.idx"))
            .arg(format!("{url}{number}"));
        let output = lookup.output().unwrap();
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        let key = format!("example,lake)/{number} ");
        let expected = lines.lines().find(|line| line.starts_with(&key)).unwrap();
        assert_eq!(found.trim(), expected, "{}", String::from_utf8_lossy(&output.stderr));
    }
}
