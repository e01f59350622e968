//! An archive on a medium that cannot be written, with and without its index and catalog: every verb
//! that reads works, tells in one line where it reads the silos instead, and writes nothing.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use varve_testkit::aardwarc::{AardwarcMaker, id_of, resource};
use varve_testkit::{Requirement, skip};

use super::{Scene, small_tree, stderr, stdout};
use crate::crystal::where_read_only;
use crate::varve;

/// The words of the line that tells that the silos are read instead of index and catalog.
const FALLBACK_WORDS: &str = "reading the silos instead";

/// All files of a folder with their bytes and times.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
            found.push((path.clone(), std::fs::read(&path).unwrap(), modified));
        }
    }
    found.sort();
    found
}

/// A verb, and whether it needs the index or the catalog of an archive.
struct ReadingVerb {
    words: String,
    uses_index: bool,
    uses_catalog: bool,
}

fn verb(words: impl Into<String>, uses_index: bool, uses_catalog: bool) -> ReadingVerb {
    ReadingVerb { words: words.into(), uses_index, uses_catalog }
}

/// Runs a verb where the archive is mounted read-only. `None` if nothing can be mounted.
fn run_read_only(museum: &Path, outside: &Path, words: &str) -> Option<std::process::Output> {
    let script = format!("cd '{}' || exit 98; timeout 60 $0 -C \"$1\" {words}", outside.display());
    where_read_only(museum.to_str().unwrap(), &script)
}

fn archive_verbs(object: &str, tree: &str) -> Vec<ReadingVerb> {
    vec![
        verb("log", true, true),
        verb("log https://e.org/", true, true),
        verb("cat https://e.org/", true, true),
        verb("show HEAD", true, true),
        verb("diff HEAD~1 HEAD", true, true),
        verb("tag", true, true),
        verb("score HEAD", true, true),
        verb("gc --dry-run --diffs-older-than 1d", true, true),
        verb("checkout HEAD --to out", true, true),
        verb("export --format crystal out.crystalproj", true, true),
        verb(format!("get {object}"), true, false),
        verb(format!("get --tree {tree} --to out"), true, false),
        verb(format!("filter <<< {object}"), true, false),
        verb("plan show", false, false),
    ]
}

/// What an archive lacks.
const LOSSES: [(&str, &[&str]); 4] = [
    ("nothing", &[]),
    ("the index", &["index"]),
    ("the catalog", &["catalog.db"]),
    ("both", &["index", "catalog.db"]),
];

#[test]
fn an_archive_on_a_read_only_medium_is_read_by_every_verb() {
    let scene = Scene::new(&[]);
    for text in ["one", "two"] {
        scene.file("page", text.as_bytes());
        scene.data(&["commit", "page", "--url", "https://e.org/", "-m", text]);
    }
    small_tree(&scene.path("tree"));
    let tree = scene.line(&["stow", "tree"]);
    scene.file("object", b"an object");
    let object = scene.line(&["store", "object"]);
    let first = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let (object, tree) = (first(&object), first(&tree));
    let museum = scene.path("museum");
    for (what, lost) in LOSSES {
        let aside = scene.path("aside");
        std::fs::create_dir(&aside).unwrap();
        lost.iter().for_each(|name| std::fs::rename(museum.join(name), aside.join(name)).unwrap());
        let before = contents(&museum);
        for ReadingVerb { words, uses_index, uses_catalog } in archive_verbs(&object, &tree) {
            let outside = tempfile::tempdir().unwrap();
            let words = words.replace(" <<< ", " < ids; : ");
            std::fs::write(outside.path().join("ids"), format!("{object}\n")).unwrap();
            let Some(output) = run_read_only(&museum, outside.path(), &words) else {
                return skip(Requirement::Mount, "nothing can be mounted read-only here");
            };
            let said = format!("without {what}: {words}: {}{}", stdout(&output), stderr(&output));
            assert_eq!(output.status.code(), Some(0), "{said}");
            let is_slower =
                uses_index && lost.contains(&"index") || uses_catalog && lost.contains(&"catalog.db");
            let lines = stderr(&output).matches(FALLBACK_WORDS).count();
            assert_eq!(lines, usize::from(is_slower), "{said}");
        }
        let audit = run_read_only(&museum, scene.folder.path(), "audit").unwrap();
        let code = if lost.is_empty() { 0 } else { 1 };
        assert_eq!(audit.status.code(), Some(code), "{what}: {}{}", stdout(&audit), stderr(&audit));
        let served = "serve --listen 127.0.0.1:0 --replay-listen 127.0.0.1:0 > urls 2> told & \
            for i in $(seq 200); do [ -s urls ] && break; sleep 0.05; done; kill $!; cat urls told";
        let outside = tempfile::tempdir().unwrap();
        let served = run_read_only(&museum, outside.path(), served).unwrap();
        assert!(
            stdout(&served).contains("http://127.0.0.1:"),
            "{what}: {}{}",
            stdout(&served),
            stderr(&served)
        );
        let lines = stdout(&served).matches(FALLBACK_WORDS).count();
        assert_eq!(lines, usize::from(!lost.is_empty()), "{}", stdout(&served));
        assert!(contents(&museum) == before, "without {what}: something was written");
        lost.iter().for_each(|name| std::fs::rename(aside.join(name), museum.join(name)).unwrap());
        std::fs::remove_dir(aside).unwrap();
    }
}

#[test]
fn other_layouts_on_a_read_only_medium_are_read() {
    let scene = Scene { folder: tempfile::tempdir().unwrap() };
    let museum = scene.path("museum");
    std::fs::create_dir(&museum).unwrap();
    scene.data(&["moku", "new", "museum"]);
    for text in ["one", "two"] {
        scene.file("page", text.as_bytes());
        scene.data(&["commit", "page", "--url", "https://e.org/", "-m", text]);
    }
    let store = scene.path("aardwarc");
    AardwarcMaker::new(&store).add_silo(&[resource(b"one")]);
    let get = format!("get {}", id_of(b"one"));
    let cases: [(&Path, &[&str]); 2] = [
        (
            &museum,
            &["log", "cat https://e.org/", "show HEAD", "diff HEAD~1 HEAD", "tag", "score HEAD", "audit"],
        ),
        (&store, &[&get, "audit", "audit --quick"]),
    ];
    for (root, verbs) in cases {
        let before = contents(root);
        for words in verbs {
            let Some(output) = run_read_only(root, scene.folder.path(), words) else {
                return skip(Requirement::Mount, "nothing can be mounted read-only here");
            };
            assert_eq!(output.status.code(), Some(0), "{words}: {}{}", stdout(&output), stderr(&output));
        }
        assert!(contents(root) == before, "something was written");
    }
    let written = varve().arg("-C").arg(&museum).arg("log").output().unwrap();
    assert_eq!(written.status.code(), Some(0));
}
