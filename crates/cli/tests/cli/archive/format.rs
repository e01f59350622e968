//! `docs/format.md` is sufficient to write a reader: runs one in Python that was written from it.

use std::process::Command;

use super::{Scene, noise, small_tree, stderr, stdout};

const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/archive/reader.py");

#[test]
fn a_reader_made_from_the_format_alone_reads_an_archive() {
    let Some(python) = varve_testkit::python() else { return };
    let scene = Scene::new(&["--silo-size", "1 MiB", "--name", "The lake", "--operator", "Anna \u{e9}"]);
    scene.file("small.txt", b"hello\n");
    scene.file("empty", b"");
    scene.file("large", &noise(2_500_000, 8));
    scene.file("note", b"a note");
    scene.file("packable", "text ".repeat(500_000).as_bytes());
    let mut lines =
        String::from_utf8(scene.data(&["store", "small.txt", "empty", "large", "packable"])).unwrap();
    scene.data(&["housekeeping"]);
    lines += &scene.line(&["store", "--refers-to", "5891", "note"]);
    small_tree(&scene.path("tree"));
    std::fs::write(scene.path("tree").join(std::ffi::OsStr::new("caf\u{e9}")), "coffee").unwrap();
    lines += "\n";
    lines += &scene.line(&["stow", "tree"]);
    let output = Command::new(python).arg(READER).arg(scene.path("museum")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for id in lines.lines() {
        assert!(said.contains(id), "{id} in {said}");
    }
    // Four files, a note, a manifest, and the two contents of its tree.
    assert_eq!(said.lines().count(), 8, "{said}");
    assert!(said.contains(" 2500000\n"), "{said}");
}
