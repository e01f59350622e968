//! `import` of WARC files as a process: exit codes, output, and kills at random moments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{stderr, stdout, varve};

const DEFAULT_KILLS: u32 = 6;
const RECORDS: usize = 400;

fn response(url: &str, second: usize, body: &str) -> String {
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{second}>\r\n\
         WARC-Date: 2020-01-01T{hours:02}:{minutes:02}:{seconds:02}Z\r\nWARC-Target-URI: {url}\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

/// An archive and a folder beside it.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        assert_eq!(scene.run(&["init", "museum"]).status.code(), Some(0));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        varve().current_dir(self.0.path()).env("VARVE_ARCHIVE", "museum").args(words).output().unwrap()
    }

    fn data(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }
}

#[test]
fn a_warc_file_is_imported_read_and_searched() {
    let scene = Scene::new();
    let body = "<html><body><p>Sediment of the lake.</p></body></html>";
    fs::write(scene.path("site.warc"), response("http://e.org/", 1, body)).unwrap();
    let said = scene.data(&["import", "site.warc", "-m", "the crawl", "--author", "Ada"]);
    assert!(said.starts_with("site.warc: 1 record, 1 capture, 1 of them new, 0 other"), "{said}");
    let log = scene.data(&["log"]);
    assert!(log.contains("the crawl") && log.contains("Ada") && log.contains("2020-01-01 00:00:01"), "{log}");
    assert_eq!(scene.data(&["cat", "http://e.org/"]), body);
    assert!(scene.data(&["search", "sediment"]).contains("http://e.org/"));
    assert!(scene.data(&["show"]).contains("from byte 0 of site.warc, sha256:"));
    let shown: Value = serde_json::from_str(scene.data(&["show", "--json"]).lines().next().unwrap()).unwrap();
    assert_eq!((&shown["source"]["file"], &shown["source"]["wire"]), (&"site.warc".into(), &true.into()));
    assert_eq!(scene.data(&["import", "site.warc"]), "site.warc: already imported\n");
    scene.data(&["audit"]);
}

#[test]
fn findings_and_failures_have_their_exit_codes() {
    let scene = Scene::new();
    let whole = response("http://e.org/", 1, "one");
    let cut = response("http://e.org/cut", 2, "a body that is cut");
    fs::write(scene.path("cut.warc"), format!("{whole}{}", &cut[..cut.len() - 15])).unwrap();
    let output = scene.run(&["import", "cut.warc", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let imported: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&imported["captures"], &imported["new"]), (&2.into(), &2.into()));
    assert!(imported["findings"][0]["offset"].as_u64().unwrap() >= whole.len() as u64);
    let said = stderr(&scene.run(&["import", "cut.warc"]));
    assert!(said.contains("damage at byte") && said.contains("cut.warc"), "{said}");
    let shown = scene.data(&["show", "--json"]);
    assert!(shown.contains("\"truncated\":true"), "{shown}");

    fs::write(scene.path("user.warc"), response("http://me:pw@e.org/", 1, "x")).unwrap();
    let output = scene.run(&["import", "user.warc"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("1 record with a user name or a password"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("pw"));

    fs::write(scene.path("text.warc"), "no archive").unwrap();
    let output = scene.run(&["import", "text.warc", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("not a WARC or ARC file"), "{}", stdout(&output));
    fs::create_dir(scene.path("empty")).unwrap();
    let output = scene.run(&["import", "empty"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("contains nothing that can be imported"), "{}", stderr(&output));
}

/// Every capture, as `log` shows them.
fn captures(scene: &Scene) -> Vec<String> {
    let mut found = Vec::new();
    for version in scene.data(&["log", "--json"]).lines() {
        let version: Value = serde_json::from_str(version).unwrap();
        let shown = scene.data(&["show", "--json", version["id"].as_str().unwrap()]);
        found.extend(shown.lines().filter(|line| line.contains("\"captured\":true")).map(str::to_owned));
    }
    found.sort();
    found
}

fn write_files(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for part in 0..4 {
        let seconds = part * RECORDS / 4..(part + 1) * RECORDS / 4;
        let records = seconds.map(|second| {
            response(&format!("http://e.org/{}", second % 150), second, &format!("page {second} ").repeat(80))
        });
        fs::write(folder.join(format!("{part}.warc")), records.collect::<String>()).unwrap();
    }
}

#[test]
fn a_killed_import_is_continued() {
    let kills = std::env::var("VARVE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_KILLS);
    let expected = Scene::new();
    write_files(&expected.path("files"));
    let begin = Instant::now();
    expected.data(&["import", "files"]);
    let duration = begin.elapsed();
    let captures_expected = captures(&expected);
    assert_eq!(captures_expected.len(), RECORDS);
    for kill in 0..kills {
        let scene = Scene::new();
        write_files(&scene.path("files"));
        let mut command = varve();
        command.current_dir(scene.0.path()).env("VARVE_ARCHIVE", "museum").args(["import", "files"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(
            duration.mul_f64(f64::from(kill + 1) / f64::from(kills + 1)).max(Duration::from_millis(1)),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        scene.data(&["import", "files"]);
        assert_eq!(captures(&scene), captures_expected, "kill {kill}");
        scene.data(&["audit"]);
        let head = scene.data(&["show", "--json", "HEAD"]);
        scene.data(&["rebuild"]);
        assert_eq!(scene.data(&["show", "--json", "HEAD"]), head);
    }
}
