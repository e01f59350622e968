//! Error messages and hints.

use varve_testkit::TinyDisk;

use super::{Scene, noise, stderr, stdout};
use crate::varve;

fn refused(scene: &Scene, words: &[&str]) -> String {
    let output = scene.run(words);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
    stderr(&output)
}

#[test]
fn each_failure_has_a_hint() {
    let scene = Scene::new(&[]);
    scene.file("hello.txt", b"hello\n");
    scene.data(&["store", "hello.txt"]);
    insta::assert_snapshot!(refused(&scene, &["get", "ffff"]), @"error: nothing in this archive has the id `ffff`");
    insta::assert_snapshot!(refused(&scene, &["get", "589"]), @r"
    error: `589` is not an id
      cause: id prefix: expected 4 to 64 hex digits, found 3
    hint: an id is 64 hex digits, as `varve store` prints it, or at least the first 4 of them
    ");
    insta::assert_snapshot!(refused(&scene, &["get", "5891", "--range", "6-"]), @"error: `5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03` has 6 bytes, and the range begins at byte 6");
    insta::assert_snapshot!(refused(&scene, &["get", "5891", "-o", "hello.txt"]), @r"
    error: `hello.txt` exists already
    hint: choose another name, or overwrite it with `--force`
    ");
    insta::assert_snapshot!(refused(&scene, &["get", "--tree", "5891", "--to", "back"]), @r#"
    error: `5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03` is not the manifest of a tree that can be restored
      cause: it does not begin with `{"format":"varve-tree","number":1}`
    "#);
    insta::assert_snapshot!(refused(&scene, &["init", "museum"]), @"error: `museum` is an archive already");
    insta::assert_snapshot!(refused(&scene, &["init", "."]), @r"
    error: `.` is not empty
    hint: choose a new name, or an empty folder
    ");
    insta::assert_snapshot!(refused(&scene, &["store", "museum"]), @r"
    error: `museum` is a folder
    hint: `varve stow` stores a folder with everything in it
    ");
    insta::assert_snapshot!(refused(&scene, &["stow", "hello.txt"]), @r"
    error: `hello.txt` is not a folder
    hint: `varve store` stores single files
    ");
    insta::assert_snapshot!(refused(&scene, &["store", "--mime", "words", "hello.txt"]), @r"
    error: `words` is not a media type
    hint: a media type is two words with `/` between them: `text/plain`
    ");
    insta::assert_snapshot!(refused(&scene, &["store", "--type", "resource", "--refers-to", "5891", "hello.txt"]), @"error: `--refers-to` is for metadata, not for a resource");
    insta::assert_snapshot!(refused(&scene, &["init", "new", "--silo-size", "1 kB"]), @r"
    error: cannot use `new/varve.toml`
      cause: `silo_size` is 1 kB, and may be from 1 MiB to 1 TiB
    ");
}

#[test]
fn without_an_archive_the_hint_is_init() {
    let folder = tempfile::tempdir().unwrap();
    let output = varve().args(["get", "5891"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.starts_with("error: there is no archive in `"), "{said}");
    assert!(said.contains("hint: `varve init DIR` makes an archive"), "{said}");
    let output = varve().args(["-C", "nowhere", "get", "5891"]).current_dir(folder.path()).output().unwrap();
    insta::assert_snapshot!(stderr(&output), @r"
    error: `nowhere` is no archive: it holds no `varve.toml`
    hint: `varve init DIR` makes an archive
    ");
}

#[test]
fn an_archive_of_a_later_varve_is_refused() {
    let scene = Scene::new(&[]);
    scene.file("museum/varve.toml", b"format = 2\nname = \"x\"\n");
    insta::assert_snapshot!(refused(&scene, &["get", "5891"]), @r"
    error: cannot use `museum/varve.toml`
      cause: its format is number 2, and this varve knows number 1
    hint: use the varve that made it, or a later one
    ");
}

#[test]
fn an_audit_without_temporary_space_continues_and_reports_skipped_checks() {
    let scene = Scene::new(&[]);
    let Some(disk) = TinyDisk::mount(&scene.path("full"), 16) else { return };
    scene.file("page", b"<p>a page</p>");
    scene.data(&["commit", "page", "--url", "http://a.example/", "-m", "a page"]);
    let names: Vec<String> = (0..40).map(|number| format!("file-{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        scene.file(name, &noise(1000, number as u64));
    }
    let words: Vec<&str> = std::iter::once("store").chain(names.iter().map(String::as_str)).collect();
    scene.data(&words);
    let audit = |words: &[&str]| scene.command().args(words).env("TMPDIR", disk.path()).output().unwrap();
    let output = audit(&["audit", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stdout(&output);
    let findings: Vec<&str> = said.lines().filter(|line| !line.contains("summary")).collect();
    assert!(!findings.is_empty(), "{said}");
    for finding in findings {
        assert!(finding.contains(r#""kind":"not-compared","severity":"warning""#), "{finding}");
        assert!(finding.contains("TMPDIR"), "{finding}");
    }
    assert!(said.contains("catalog and HEAD were not compared"), "{said}");
    // Damage is still found.
    let silo = &scene.silos()[0];
    let mut bytes = std::fs::read(silo).unwrap();
    let place = bytes.len() - 700;
    bytes[place] ^= 1;
    std::fs::write(silo, bytes).unwrap();
    let said = stdout(&audit(&["audit", "--json"]));
    assert!(said.contains(r#""kind":"damaged""#), "{said}");
}
