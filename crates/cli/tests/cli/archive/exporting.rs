//! `export` of indexes and of captures, read by warcio, pywb and `doctor`.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use varve_testkit::web::{Answer, Site, Web};

use super::pywb::REPLAY_SCRIPT;
use super::{Scene, stderr, stdout};

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

/// Checks a package with Python's ZIP reader, and prints its first page, its main page and its names.
const LIST_PACKAGE: &str = "
import json, sys, zipfile
package = zipfile.ZipFile(sys.argv[1])
assert package.testzip() is None
assert all(member.compress_type == zipfile.ZIP_STORED for member in package.infolist())
pages = [json.loads(line) for line in package.read('pages/pages.jsonl').splitlines()]
about = json.loads(package.read('datapackage.json'))
print(json.dumps([pages[1]['title'], pages[1]['text'], pages[1]['url'], about['mainPageUrl'], sorted(package.namelist())]))
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

/// A site whose second page has the content of the first, captured twice: the second version consists of
/// revisits and one changed page.
fn captured_twice() -> (Scene, Web) {
    let round = std::sync::atomic::AtomicU64::new(0);
    let site = Site::new()
        .page("/a", Answer::html("<title>A</title><p>the first page"))
        .page("/b", Answer::html("<title>A</title><p>the first page"))
        .computed("/changing", move |_| {
            let round = round.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Answer::html(format!("<title>C</title><p>round {round}"))
        });
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    let urls = ["/a", "/b", "/changing"].map(|path| web.url(path));
    for round in 0..2 {
        if round == 1 {
            // pywb knows captures by the second.
            std::thread::sleep(std::time::Duration::from_millis(1100));
        }
        scene.data(&["capture", &urls[0], &urls[1], &urls[2], "--allow-private", "--delay", "0"]);
    }
    (scene, web)
}

/// Exports with `--json`.
fn exported(scene: &Scene, arguments: &[&str]) -> Value {
    let output = scene.data(&[&["export", "--format", "warc", "--json"], arguments].concat());
    serde_json::from_slice(&output).unwrap()
}

/// The findings of `doctor --strict`, and the number of records of each type.
fn examined(scene: &Scene, file: &str) -> (Vec<String>, Value) {
    let output = scene.command().args(["doctor", "--strict", "--json", file]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rules = report["findings"].as_array().unwrap().iter();
    assert_eq!(report["digests"]["bad"], 0, "{report}");
    (rules.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect(), report["by_type"].clone())
}

fn warcio_accepts(scene: &Scene, file: &str) {
    let Some(python) = varve_testkit::python() else { return };
    let checked: Output = Command::new(python)
        .args(["-m", "warcio.cli", "check", "-v"])
        .arg(scene.path(file))
        .output()
        .unwrap();
    let text = stdout(&checked) + &stderr(&checked);
    assert!(checked.status.success() && text.contains("digest pass") && !text.contains("fail"), "{text}");
}

#[test]
fn records_are_copied_byte_for_byte() {
    let (scene, _web) = captured_twice();
    let report = exported(&scene, &["all.warc.gz", "--all"]);
    assert_eq!((&report["captures"], &report["unresolved"]), (&8.into(), &0.into()), "{report}");
    let (rules, types) = examined(&scene, "all.warc.gz");
    assert_eq!(rules, Vec::<String>::new());
    // The first round has a revisit of `/a`. Each round asks for robots.txt, which there is none of.
    assert_eq!(
        (&types["response"], &types["revisit"], &types["request"]),
        (&5.into(), &3.into(), &8.into()),
        "{types}"
    );
    warcio_accepts(&scene, "all.warc.gz");
    // Without its own description, the file consists of members of the silo.
    let file = fs::read(scene.path("all.warc.gz")).unwrap();
    let silo: Vec<u8> = scene.silos().iter().flat_map(|silo| fs::read(silo).unwrap()).collect();
    let header = &file[..10];
    let mut members: Vec<usize> = (0..file.len() - 10).filter(|at| &file[*at..*at + 10] == header).collect();
    members.push(file.len());
    let is_in_silo = |member: &[u8]| silo.windows(member.len()).any(|window| window == member);
    let copied = members.windows(2).filter(|ends| is_in_silo(&file[ends[0]..ends[1]])).count();
    assert!(copied >= 13, "{copied} of {} members are in the silo", members.len() - 1);
    let plain = exported(&scene, &["all.warc", "--all"]);
    assert_eq!(plain["records"], report["records"]);
    assert_eq!(examined(&scene, "all.warc").0, Vec::<String>::new());
    assert!(fs::read(scene.path("all.warc")).unwrap().starts_with(b"WARC/1.1\r\n"));
}

#[test]
fn a_closed_file_stands_alone() {
    let (scene, web) = captured_twice();
    let open = exported(&scene, &["state.warc.gz"]);
    assert_eq!(
        (&open["captures"], &open["revisits"], &open["unresolved"]),
        (&3.into(), &2.into(), &2.into()),
        "{open}"
    );
    let closed = exported(&scene, &["closed.warc.gz", "--closed"]);
    assert_eq!(
        (&closed["captures"], &closed["revisits"], &closed["unresolved"]),
        (&3.into(), &0.into(), &0.into()),
        "{closed}"
    );
    let (rules, types) = examined(&scene, "closed.warc.gz");
    assert_eq!((rules.len(), &types["response"]), (0, &3.into()), "{rules:?} {types}");
    warcio_accepts(&scene, "closed.warc.gz");
    let once = exported(&scene, &["once.warc.gz", "--dedupe"]);
    assert_eq!(
        (&once["captures"], &once["revisits"], &once["unresolved"]),
        (&3.into(), &1.into(), &0.into()),
        "{once}"
    );
    assert_eq!(examined(&scene, "once.warc.gz").0, Vec::<String>::new());
    warcio_accepts(&scene, "once.warc.gz");
    let Some(python) = varve_testkit::python() else { return };
    for file in ["closed.warc.gz", "once.warc.gz"] {
        let folder = scene.path(&format!("pywb-{file}"));
        fs::create_dir(&folder).unwrap();
        let asked = ["/a", "/b", "/changing"].map(|path| format!("2id_/{}", web.url(path)));
        let mut replay = Command::new(&python);
        replay.args(["-c", REPLAY_SCRIPT]).arg(folder).arg(scene.path(file)).args(asked);
        let output = replay.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let shown: Vec<(u16, String, String)> =
            stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let bodies: Vec<(u16, &str)> =
            shown.iter().map(|(status, _, body)| (*status, body.as_str())).collect();
        let first = "<title>A</title><p>the first page";
        assert_eq!(bodies, [(200, first), (200, first), (200, "<title>C</title><p>round 1")], "{file}");
    }
}

#[test]
fn captures_are_selected() {
    let (scene, web) = captured_twice();
    let url = web.url("/changing");
    let count = |arguments: &[&str]| exported(&scene, arguments)["captures"].as_u64().unwrap();
    assert_eq!(count(&["url.warc.gz", "--url", &url]), 1);
    assert_eq!(count(&["urls.warc.gz", "--url", &url, "--all"]), 2);
    assert_eq!(count(&["first.warc.gz", "--version", "HEAD~1", "--captures"]), 4);
    assert_eq!(count(&["host.warc.gz", "--host", "127.0.0.1", "--all"]), 8);
    assert_eq!(count(&["other.warc.gz", "--host", "lake.example"]), 0);
    assert_eq!(count(&["found.warc.gz", "--search", "round"]), 1);
    let missing = scene
        .command()
        .args(["export", "--format", "warc", "x.warc.gz", "--url", "https://no.example/"])
        .output()
        .unwrap();
    assert_eq!((missing.status.code(), scene.path("x.warc.gz").exists()), (Some(2), false));
    let stream = scene.data(&["export", "--format", "warc", "-", "--url", &url]);
    assert!(stream.starts_with(&[0x1f, 0x8b]));
}

/// py-wacz checks the digests of all files, and that all are listed.
#[test]
fn py_wacz_accepts_a_package() {
    let (scene, web) = captured_twice();
    let output = scene.data(&["export", "--format", "wacz", "--json", "site.wacz", "--title", "A site"]);
    let report: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(
        (&report["captures"], &report["pages"], &report["lines"]),
        (&3.into(), &3.into(), &3.into()),
        "{report}"
    );
    let main = web.url("/changing");
    scene.data(&["plan", "root", "add", &main]);
    let output = scene.data(&["export", "--format", "wacz", "--json", "planned.wacz"]);
    let report: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!((&report["pages"], &report["extra_pages"]), (&1.into(), &2.into()), "{report}");
    let stream = scene.data(&["export", "--format", "wacz", "-", "--url", &main]);
    fs::write(scene.path("stream.wacz"), stream).unwrap();
    let Some(python) = varve_testkit::python() else { return };
    for file in ["site.wacz", "planned.wacz", "stream.wacz"] {
        let mut validate = Command::new(&python);
        validate.args([
            "-c",
            "from wacz.main import main; import sys; sys.exit(main(sys.argv[1:]))",
            "validate",
            "-f",
        ]);
        let output = validate.arg(scene.path(file)).output().unwrap();
        let text = stdout(&output) + &stderr(&output);
        assert!(output.status.success(), "{file}: {text}");
    }
    let mut list = Command::new(&python);
    let output = list.args(["-c", LIST_PACKAGE]).arg(scene.path("planned.wacz")).output().unwrap();
    let listed: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!((listed[0].as_str(), listed[1].as_str()), (Some("C"), Some("round 1")), "{listed}");
    assert_eq!((&listed[2], &listed[3]), (&Value::from(main.as_str()), &Value::from(main.as_str())));
    let names = [
        "archive/data.warc.gz",
        "datapackage-digest.json",
        "datapackage.json",
        "indexes/index.cdx.gz",
        "indexes/index.idx",
        "pages/extraPages.jsonl",
        "pages/pages.jsonl",
    ];
    assert_eq!(listed[4], Value::from(names.to_vec()));
}

#[test]
fn a_page_is_exported_with_what_it_embeds() {
    let site = Site::new()
        .page(
            "/",
            Answer::html("<link rel=stylesheet href=/s.css><p>a <a href=/other>link</a><img src=/no.png>"),
        )
        .page("/s.css", Answer::of("text/css", "@import 'deep.css';"))
        .page("/deep.css", Answer::of("text/css", "p { background: url(i.png) }"))
        .page("/i.png", Answer::of("image/png", "\u{1}png"))
        .page("/other", Answer::html("<p>other"));
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    scene.data(&["capture", &web.url("/"), "--depth", "1", "--allow-private", "--delay", "0"]);
    let alone = exported(&scene, &["alone.warc.gz", "--url", &web.url("/")]);
    assert_eq!(alone["captures"], 1);
    let whole = scene.data(&[
        "export",
        "--format",
        "wacz",
        "--json",
        "page.wacz",
        "--url",
        &web.url("/"),
        "--with-resources",
    ]);
    let whole: Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(
        (&whole["captures"], &whole["pages"], &whole["extra_pages"]),
        (&4.into(), &1.into(), &0.into()),
        "{whole}"
    );
    exported(&scene, &["page.warc.gz", "--url", &web.url("/"), "--with-resources"]);
    let lines = scene.data(&["export", "--format", "cdxj", "-", "--from", "page.warc.gz"]);
    let lines = String::from_utf8(lines).unwrap();
    for (path, is_embedded) in [("/s.css", true), ("/deep.css", true), ("/i.png", true), ("/other", false)] {
        assert_eq!(lines.contains(&web.url(path)), is_embedded, "{path}: {lines}");
    }
}

/// The records of an export are those that were sealed, also with a checkpoint that someone kept.
#[test]
fn a_proof_shows_that_captures_are_sealed() {
    let (scene, web) = captured_twice();
    fs::write(scene.path("note.html"), "<p>committed").unwrap();
    scene.data(&["commit", "note.html", "--url", "https://lake.example/note", "-m", "a note"]);
    let unsealed =
        scene.command().args(["export", "--format", "warc", "x.warc.gz", "--proof"]).output().unwrap();
    assert_eq!((unsealed.status.code(), scene.path("x.warc.gz").exists()), (Some(2), false));
    scene.data(&["seal", "make-key", "--name", "lake.example/museum"]);
    let checkpoint = scene.data(&["seal"]);
    fs::write(scene.path("kept"), checkpoint).unwrap();
    exported(&scene, &["proven.warc.gz", "--all", "--proof"]);
    assert_eq!(examined(&scene, "proven.warc.gz").0, Vec::<String>::new());
    let verify =
        |file: &str| scene.command().args(["verify", "--checkpoint", "kept", file]).output().unwrap();
    let verified = verify("proven.warc.gz");
    assert_eq!(verified.status.code(), Some(0), "{}{}", stdout(&verified), stderr(&verified));
    assert!(stdout(&verified).contains("9 captures"), "{}", stdout(&verified));
    // A capture that was made later is not in the log that was kept.
    scene.data(&["capture", &web.url("/changing"), "--allow-private", "--delay", "0"]);
    exported(&scene, &["more.warc", "--all"]);
    let mut forged = fs::read(scene.path("more.warc")).unwrap();
    exported(&scene, &["one.warc", "--version", "HEAD~1", "--captures", "--proof"]);
    forged.extend(fs::read(scene.path("one.warc")).unwrap());
    fs::write(scene.path("forged.warc"), forged).unwrap();
    assert_eq!(verify("forged.warc").status.code(), Some(1));
}

/// A committed page was not on the wire: it becomes a `resource`.
#[test]
fn committed_pages_become_resources() {
    let scene = archive_with_pages(3);
    let report = exported(&scene, &["pages.warc.gz"]);
    assert_eq!((&report["captures"], &report["records"]), (&3.into(), &3.into()), "{report}");
    let (rules, types) = examined(&scene, "pages.warc.gz");
    assert_eq!((rules.len(), &types["resource"]), (0, &3.into()), "{rules:?} {types}");
    scene.data(&["export", "--format", "cdxj", "pages.cdxj", "--from", "pages.warc.gz"]);
    let lines = fs::read_to_string(scene.path("pages.cdxj")).unwrap();
    assert!(lines.lines().count() == 3 && lines.starts_with("example,lake)/0.html "), "{lines}");
}

#[test]
fn a_damaged_capture_is_left_out_and_named() {
    let (scene, web) = captured_twice();
    let silo = scene.silos()[0].clone();
    let mut bytes = fs::read(&silo).unwrap();
    let index = scene.data(&["export", "--format", "cdxj", "-"]);
    let index = String::from_utf8(index).unwrap();
    let line = index.lines().find(|line| line.contains("/changing") && line.contains("text/html")).unwrap();
    let entry: Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
    let number = |name: &str| entry[name].as_str().unwrap().parse::<usize>().unwrap();
    let place = number("offset") + number("length") - 12;
    bytes[place] ^= 0xff;
    let mut permissions = fs::metadata(&silo).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "a file of this test")]
    permissions.set_readonly(false);
    fs::set_permissions(&silo, permissions).unwrap();
    fs::write(&silo, bytes).unwrap();
    let output =
        scene.command().args(["export", "--format", "warc", "--all", "rest.warc.gz"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(&web.url("/changing")), "{}", stderr(&output));
    assert_eq!(examined(&scene, "rest.warc.gz").0, Vec::<String>::new());
    assert!(stdout(&output).contains("7 captures"), "{}", stdout(&output));
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
