//! Crystal projects as people meet them: the verbs, their streams and their codes.

use std::io::Write;
use std::path::Path;

use varve_crystal::{NewRevision, Outcome, ProjectWriter, RevisionId};

use crate::{run, stderr, stdout};

const HOME: &str = "https://site.example/";

/// A project of two revisions of one page.
fn make(folder: &Path) -> String {
    let mut writer = ProjectWriter::create(folder.join("lab"), Default::default()).unwrap();
    let resource = writer.add_root("Home", HOME).unwrap().resource;
    for text in ["one\n", "two\n"] {
        let mut body = writer.begin_body().unwrap();
        body.write_all(text.as_bytes()).unwrap();
        let outcome = Outcome::Fetched { metadata: None, body };
        writer.add_revision(NewRevision { id: None, resource, request_cookie: None, outcome }).unwrap();
    }
    let path = writer.path().to_str().unwrap().to_owned();
    writer.close().unwrap();
    path
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
