//! Crystal projects as people meet them: the verbs, their streams and their codes.

use std::path::Path;

use varve_crystal::{DownloadError, MajorVersion, RevisionId};
use varve_testkit::web::{Answer, Site, Web};

use crate::project::{self, Download};
use crate::{run, stderr, stdout};

const HOME: &str = "https://site.example/";

/// A project of these downloads.
fn made(folder: &Path, downloads: impl IntoIterator<Item = Download>) -> String {
    project::make(&folder.join("lab"), MajorVersion::Tree, downloads).to_str().unwrap().to_owned()
}

/// A project of two revisions of one page.
fn make(folder: &Path) -> String {
    made(folder, ["one\n", "two\n"].map(|text| Download::plain(HOME, text)))
}

/// What it prints when it ends with that code.
fn said(code: i32, words: &[&str]) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn new_makes_a_project_that_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("museum");
    let made = said(0, &["crystal", "new", path.to_str().unwrap()]);
    assert!(made.trim_end().ends_with("museum.crystalproj"));
    assert_eq!(said(0, &["crystal", "verify", made.trim_end()]), "sound: 0 revisions, 0 with bodies\n");
    let again = run(&["crystal", "new", made.trim_end()]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("hint: choose another name"), "{}", stderr(&again));
}

#[test]
fn info_is_an_object_with_the_promised_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let line = said(0, &["crystal", "info", &path, "--json"]);
    let info: serde_json::Value = serde_json::from_str(&line).unwrap();
    for (name, value) in [
        ("major_version", 2),
        ("resources", 1),
        ("revisions", 2),
        ("roots", 1),
        ("groups", 0),
        ("aliases", 0),
        ("missing_bodies", 0),
        ("error_revisions", 0),
        ("bytes", 8),
    ] {
        assert_eq!(info[name], value, "{name}");
    }
    assert!(said(0, &["-C", &path, "crystal", "info"]).contains("revisions       2, 0 of them errors\n"));
}

#[test]
fn verify_ends_with_1_until_it_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let stray = Path::new(&path).join("revisions/note.txt");
    std::fs::write(&stray, "mine").unwrap();
    let found = said(1, &["crystal", "verify", &path, "--json"]);
    let finding: serde_json::Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    assert_eq!((&finding["kind"], &finding["severity"]), (&"stray-file".into(), &"note".into()));
    assert!(found.lines().last().unwrap().contains("\"findings\":1"));
    let audited = said(1, &["-C", &path, "audit", "--json"]);
    assert!(
        audited.contains("\"silo\":null") && audited.contains("\"summary\":{\"records\":2,"),
        "{audited}"
    );
    assert!(said(0, &["crystal", "verify", &path, "--repair"]).contains("1 repaired, 0 left"));
    assert_eq!(std::fs::read(Path::new(&path).join("salvage/note.txt")).unwrap(), b"mine");
    said(0, &["crystal", "verify", &path]);
}

#[test]
fn migrate_and_save_as() {
    let folder = tempfile::tempdir().unwrap();
    let flat = folder.path().join("flat");
    let path = said(0, &["crystal", "new", flat.to_str().unwrap(), "--major-version", "1"]);
    let path = path.trim_end();
    let migrated = said(0, &["crystal", "migrate", path, "--json"]);
    assert_eq!(migrated, "{\"from\":1,\"to\":2,\"moved\":0}\n");
    assert_eq!(said(0, &["crystal", "migrate", path]), "nothing to do: major version 2\n");
    let copy = folder.path().join("copy.crystalproj");
    said(0, &["crystal", "save-as", path, copy.to_str().unwrap()]);
    said(0, &["crystal", "verify", copy.to_str().unwrap(), "--bodies"]);
    assert_eq!(run(&["crystal", "save-as", path, copy.to_str().unwrap()]).status.code(), Some(2));
}

#[test]
fn a_project_is_read_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    assert_eq!(said(0, &["-C", &path, "cat", HOME]), "two\n");
    assert_eq!(said(0, &["-C", &path, "cat", HOME, "--at", "r1"]), "one\n");
    let opener = format!("{path}/OPEN ME.crystalopen");
    assert_eq!(said(0, &["-C", &opener, "log", HOME, "--json"]).lines().count(), 2);
    assert_eq!(said(0, &["-C", &path, "log", "--limit", "1"]).lines().count(), 1);
    assert!(said(0, &["-C", &path, "show"]).contains(HOME));
    assert!(said(0, &["-C", &path, "diff", "r1"]).contains("two"));
    let versions = run(&["-C", &path, "diff"]);
    assert_eq!(versions.status.code(), Some(2));
    assert!(stderr(&versions).contains("a Crystal project keeps no versions"), "{}", stderr(&versions));
}

#[test]
fn a_project_goes_in_and_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let museum = folder.path().join("museum");
    let museum = museum.to_str().unwrap();
    said(0, &["init", museum]);
    assert!(said(0, &["-C", museum, "import", &path]).contains("2 revisions, 2 of them new"));
    assert!(said(0, &["-C", museum, "import", &path]).contains("here already"));
    let back = folder.path().join("back.crystalproj");
    said(0, &["-C", museum, "export", "--format", "crystal", back.to_str().unwrap()]);
    let project = varve_crystal::Project::open(&back).unwrap();
    assert_eq!(project.body_length(RevisionId(2)).unwrap(), Some(4));
    said(0, &["-C", museum, "audit"]);
}

fn site() -> Web {
    let front = "<a href=/1/>1</a> <a href=/2/>2</a> <img src=/ads/x.png> <img src=/i.png>";
    Web::serve(
        Site::new()
            .page("/", Answer::html(front))
            .page("/1/", Answer::html("one"))
            .page("/2/", Answer::html("two"))
            .page("/i.png", Answer::of("image/png", "png")),
    )
}

/// A project whose plan is the site's front page and its numbered pages.
fn planned(folder: &Path, web: &Web) -> String {
    let path = said(0, &["crystal", "new", folder.join("lab").to_str().unwrap()]);
    let path = path.trim_end().to_owned();
    let (home, numbers, ads) = (web.url("/"), web.url("/#/"), web.url("/ads/**"));
    said(0, &["-C", &path, "plan", "root", "add", &home, "--name", "Home"]);
    said(0, &["-C", &path, "plan", "group", "add", &numbers, "--name", "Numbers", "--found-on", "Home"]);
    said(0, &["-C", &path, "plan", "group", "add", &ads, "--do-not-download"]);
    path
}

#[test]
fn a_project_is_captured_into_by_its_own_plan() {
    let (folder, web) = (tempfile::tempdir().unwrap(), site());
    let path = planned(folder.path(), &web);
    let words = ["-C", &path, "capture", "--allow-private", "--delay", "0s", "--json"];
    let events = said(0, &words);
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    for (name, value) in [("captured", 5), ("revisions", 5), ("failed", 0), ("skipped", 1), ("queued", 0)] {
        assert_eq!(last[name], value, "{name}: {events}");
    }
    assert_eq!((&last["finished"], &last["version"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!(said(0, &["-C", &path, "cat", &web.url("/2/")]), "two");
    said(0, &["crystal", "verify", &path, "--bodies"]);
    let again = said(0, &words[..6]);
    assert!(again.starts_with("5 revisions: 5 captured (5 unchanged), 0 failed"), "{again}");
    let lost = run(&["-C", &path, "capture", "http://127.0.0.1:1/", "--allow-private", "--retries", "0"]);
    assert_eq!(lost.status.code(), Some(1), "{}", stderr(&lost));
    let shown = run(&["-C", &path, "cat", "http://127.0.0.1:1/"]);
    assert!(stderr(&shown).contains("ConnectionRefusedError"), "{}", stderr(&shown));
    let none = run(&["-C", &path, "capture", "--resume"]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn the_plan_of_a_project_is_edited_in_place() {
    let (folder, web) = (tempfile::tempdir().unwrap(), site());
    let path = planned(folder.path(), &web);
    let home = web.url("/");
    assert_eq!(said(0, &["-C", &path, "plan", "root", "list"]), format!("Home  {home}\n"));
    let group: serde_json::Value = said(0, &["-C", &path, "plan", "group", "list", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .next()
        .unwrap();
    assert_eq!(group["found_on"], "Home");
    said(0, &["-C", &path, "plan", "group", "site", "Home"]);
    said(0, &["-C", &path, "plan", "check"]);
    said(0, &["-C", &path, "plan", "alias", "add", "https://old.example/", &home]);
    said(0, &["-C", &path, "plan", "alias", "remove", "https://old.example/"]);
    let removed = run(&["-C", &path, "plan", "root", "remove", "Home"]);
    assert_eq!(removed.status.code(), Some(0), "what was found on it is cleared, as Crystal does");
    assert!(stderr(&removed).contains("`Numbers` is found on all pages now"), "{}", stderr(&removed));
    assert!(!said(0, &["-C", &path, "plan", "show"]).contains(" on Home"));
}

#[test]
fn properties_are_shown_set_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    assert!(said(0, &["-C", &path, "crystal", "property"]).contains("major_version  2\n"));
    said(0, &["-C", &path, "crystal", "property", "entity_title_format", "name_url"]);
    assert_eq!(said(0, &["-C", &path, "crystal", "property", "entity_title_format"]), "name_url\n");
    said(0, &["-C", &path, "crystal", "property", "entity_title_format", "--unset"]);
    said(1, &["-C", &path, "crystal", "property", "entity_title_format"]);
    let refused = run(&["-C", &path, "crystal", "property", "major_version", "1"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_project_becomes_a_warc_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let target = folder.path().join("out.warc.gz");
    let target = target.to_str().unwrap();
    let line = said(0, &["-C", &path, "export", "--format", "warc", "-o", target, "--json"]);
    let done: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&done["records"], &done["missing"]), (&2.into(), &0.into()));
    said(0, &["doctor", target, "--strict"]);
    assert_eq!(run(&["-C", &path, "export", "--format", "warc", "-o", target]).status.code(), Some(2));
}

#[test]
fn the_newest_good_revision_is_shown_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let good = Download::answer(HOME, 200, &[("Content-Type", "text/plain")], b"good\n");
    let failed = Download::failed(HOME, DownloadError::timed_out());
    let path = made(folder.path(), [good, failed]);
    let refused = run(&["-C", &path, "cat", HOME]);
    assert!(stderr(&refused).contains("TimeoutError: timed out"), "{}", stderr(&refused));
    assert_eq!(said(0, &["-C", &path, "cat", HOME, "--newest-good"]), "good\n");
    assert!(said(0, &["-C", &path, "show"]).contains(&format!("A   0             {HOME}\n")));
    assert!(
        said(0, &["-C", &path, "show", "--newest-good"]).contains(&format!("A 200          5  {HOME}\n"))
    );
    assert!(said(0, &["-C", &path, "diff", "r1", "HEAD", "--name-only"]).contains(HOME));
    assert_eq!(said(0, &["-C", &path, "diff", "r1", "HEAD", "--name-only", "--newest-good"]), "");
    let museum = folder.path().join("museum");
    let museum = museum.to_str().unwrap();
    said(0, &["init", museum]);
    said(0, &["-C", museum, "import", &path]);
    let chosen = run(&["-C", museum, "show", "--newest-good"]);
    assert_eq!(chosen.status.code(), Some(2));
    assert!(stderr(&chosen).contains("a version says itself which capture"), "{}", stderr(&chosen));
}

#[test]
fn what_an_alias_leads_out_of_the_project_is_said_to_be_outside() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    said(
        0,
        &["-C", &path, "plan", "alias", "add", "https://a.example/", "https://live.example/", "--external"],
    );
    let outside = run(&["-C", &path, "cat", "https://a.example/x"]);
    assert_eq!(outside.status.code(), Some(2));
    let text = stderr(&outside);
    assert!(
        text.contains("an alias leads `https://a.example/x` out of the project, to https://live.example/x")
    );
    assert!(text.contains("plan alias remove") && !text.contains("newer program"), "{text}");
}

#[test]
fn a_project_is_exported_as_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let copy = folder.path().join("copy.crystalproj");
    let copy = copy.to_str().unwrap();
    let line = said(0, &["-C", &path, "export", "--format", "crystal", copy, "--json"]);
    let done: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&done["revisions"], &done["version"]), (&2.into(), &serde_json::Value::Null));
    assert_eq!(said(0, &["-C", copy, "cat", HOME]), "two\n");
    let then = ["-C", &path, "export", "--format", "crystal", "--version", "r1", "other.crystalproj"];
    assert_eq!(run(&then).status.code(), Some(2));
}

#[test]
fn a_revision_that_is_deleted_on_opening_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path(), (0..4).map(|page| Download::plain(format!("{HOME}{page}"), "page")));
    std::fs::remove_file(Path::new(&path).join("revisions/000/000/000/000/004")).unwrap();
    let added = run(&["-C", &path, "plan", "root", "add", HOME]);
    assert_eq!(added.status.code(), Some(0), "{}", stderr(&added));
    assert!(stderr(&added).contains("revision 4 was deleted"), "{}", stderr(&added));
    let set = run(&["-C", &path, "crystal", "property", "entity_title_format", "name_url"]);
    assert_eq!(stderr(&set), "", "nothing had to be put in order");
}

#[test]
fn a_browser_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let refused = run(&["-C", &path, "capture", HOME, "--browser"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("hint: without `--browser`"), "{}", stderr(&refused));
}

#[test]
fn an_older_schema_is_nothing_that_an_audit_minds() {
    let Some(packed) = varve_testkit::fixtures(
        "an_older_schema_is_nothing_that_an_audit_minds",
        "crystal/lab/lab-v1-oldschema.crystalproj.zip",
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    zip::ZipArchive::new(std::fs::File::open(packed).unwrap()).unwrap().extract(folder.path()).unwrap();
    let path = folder.path().join("lab.crystalproj");
    let path = path.to_str().unwrap();
    assert_eq!(said(0, &["-C", path, "audit"]), "sound: 53 revisions, 41 with bodies\n");
    assert!(said(1, &["crystal", "verify", path]).contains("the database has no `alias`"));
}
