//! Scenarios from `init` to restoring everything.

use super::{Scene, noise, small_tree, stderr, stdout};
use crate::varve;

/// The SHA-256 of `hello` and a line end.
const HELLO: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

#[test]
fn store_and_get_back() {
    let scene = Scene::new(&[]);
    scene.file("hello.txt", b"hello\n");
    assert_eq!(scene.line(&["store", "hello.txt"]), HELLO);
    for id in [HELLO, &HELLO[..4], &HELLO.to_uppercase(), &format!("urn:sha256:{HELLO}")] {
        assert_eq!(scene.data(&["get", id]), b"hello\n", "{id}");
    }
    assert_eq!(scene.data(&["get", "5891", "--range", "1-3"]), b"ell");
    assert_eq!(scene.data(&["get", "5891", "--range", "-2"]), b"o\n");
    let headers = String::from_utf8(scene.data(&["get", "5891", "--headers"])).unwrap();
    assert!(headers.contains("\nContent-Type: text/plain\n") && headers.ends_with("Content-Length: 6\n"));
    scene.data(&["get", "5891", "-o", "copy.txt"]);
    assert_eq!(std::fs::read(scene.path("copy.txt")).unwrap(), b"hello\n");
}

#[test]
fn duplicates_are_recognised() {
    let scene = Scene::new(&[]);
    scene.file("a", b"hello\n");
    scene.file("b", b"hello\n");
    assert_eq!(scene.line(&["store", "a"]), HELLO);
    insta::assert_snapshot!(scene.line(&["store", "--json", "b"]), @r#"{"schema":1,"id":"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03","new":false,"mended":false,"length":6,"file":"b"}"#);
}

#[test]
fn standard_input_is_stored_and_bytes_come_back_as_they_are() {
    let scene = Scene::new(&["--silo-size", "1 MiB", "--packing", "zstd"]);
    // Bytes that look like colour codes are data.
    let mut content = b"\x1b[31mred\x1b[0m\r\n\0\xff".to_vec();
    content.extend(noise(3_000_000, 1));
    let output = scene.run_with_input(&["store", "--sync", "each", "-"], &content);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let id = stdout(&output);
    assert!(scene.data(&["get", id.trim_end()]) == content);
    assert!(scene.silos().len() >= 3, "{:?}", scene.silos());
    assert!(
        scene.data(&["get", id.trim_end(), "--range", "1500000-1500009"]) == content[1_500_000..1_500_010]
    );
}

#[test]
fn metadata_about_an_object() {
    let scene = Scene::new(&[]);
    scene.file("hello.txt", b"hello\n");
    scene.file("note.txt", b"a greeting");
    scene.data(&["store", "hello.txt"]);
    let id = scene.line(&["store", "--type", "metadata", "--refers-to", "5891", "note.txt"]);
    assert_eq!(scene.data(&["get", &id]), b"a greeting");
    let headers: serde_json::Value =
        serde_json::from_slice(&scene.data(&["get", &id, "--headers", "--json"])).unwrap();
    assert_eq!(headers["header"]["WARC-Type"], "metadata");
    assert_eq!(headers["header"]["WARC-Refers-To"], format!("<urn:sha256:{HELLO}>"));
}

#[test]
fn a_folder_is_stored_and_restored() {
    let scene = Scene::new(&[]);
    small_tree(&scene.path("tree"));
    let output = scene.run(&["stow", "tree"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(stderr(&output), @"2 files, 2 folders, 1 link, 6 B in all; 1 object new, 3 B");
    let id = stdout(&output);
    let output = scene.run(&["get", "--tree", id.trim_end(), "--to", "back"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    insta::assert_snapshot!(stderr(&output), @"restored 2 files, 2 folders and 1 link to `back`");
    assert_eq!(std::fs::read(scene.path("back/sub/link")).unwrap(), b"one");
    assert!(scene.path("back/sub/empty").is_dir());
    assert_eq!(scene.line(&["stow", "back"]), id.trim_end());
    let again: serde_json::Value = serde_json::from_slice(&scene.data(&["stow", "--json", "back"])).unwrap();
    assert_eq!((&again["id"], &again["new"]), (&id.trim_end().into(), &false.into()));
    let without = scene.line(&["stow", "tree", "--exclude", "also*"]);
    assert_ne!(without, id.trim_end());
}

#[test]
fn filter_prints_stored_ids() {
    let scene = Scene::new(&[]);
    scene.file("hello.txt", b"hello\n");
    scene.data(&["store", "hello.txt"]);
    let absent = "00".repeat(32);
    let input = format!("{absent}\nurn:sha256:{}\n\nnonsense\n", HELLO.to_uppercase());
    let output = scene.run_with_input(&["filter"], input.replace("urn:sha256:", "URN:SHA256:").as_bytes());
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), format!("{HELLO}\n")));
    insta::assert_snapshot!(stderr(&output), @r"
    error: line 4 of standard input is not an id
      cause: id prefix: `n` at position 0 is not a hex digit
    ");
    let output =
        scene.run_with_input(&["filter", "--missing", "--json"], format!("{absent}\n{HELLO}").as_bytes());
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(0), format!("{{\"schema\":1,\"id\":\"{absent}\",\"here\":false}}\n"))
    );
}

#[test]
fn ids_are_taken_as_records_and_as_sha256sum_write_them() {
    let scene = Scene::new(&[]);
    scene.file("hello.txt", b"hello\n");
    scene.data(&["store", "hello.txt"]);
    let bracketed = format!("<urn:sha256:{HELLO}>");
    let input = format!("{bracketed}\n{HELLO}  hello.txt\n");
    let output = scene.run_with_input(&["filter"], input.as_bytes());
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), format!("{HELLO}\n{HELLO}\n")));
    assert_eq!(scene.data(&["get", &bracketed]), b"hello\n");
    assert_eq!(scene.line(&["store", "--refers-to", &bracketed, "hello.txt"]).trim_end().len(), 64);
    for reference in ["urn:a>b", "urn:a<b", "urn:a\u{7}b"] {
        let output = scene.run(&["store", "--refers-to", reference, "hello.txt"]);
        assert_eq!(output.status.code(), Some(2), "{reference:?}: {}", stdout(&output));
        assert!(stderr(&output).contains("control character"), "{}", stderr(&output));
    }
}

#[test]
fn a_damaged_object_is_written_again_with_a_warning() {
    let scene = Scene::new(&[]);
    let content: Vec<u8> =
        (0..5000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    scene.file("noise", &content);
    let id = scene.line(&["store", "noise"]);
    let silo = scene.silos().remove(0);
    let mut bytes = std::fs::read(&silo).unwrap();
    let at = bytes.len() - 3000;
    bytes[at] ^= 1;
    std::fs::write(&silo, bytes).unwrap();
    let range = scene.run(&["get", id.trim_end(), "--range", "0-9"]);
    assert_ne!((range.status.code(), range.stdout.len()), (Some(0), 10));
    let output = scene.run(&["store", "noise"]);
    assert_eq!((output.status.code(), stdout(&output).trim_end()), (Some(0), id.trim_end()));
    assert!(stderr(&output).contains("written again"), "{}", stderr(&output));
    assert_eq!(scene.data(&["get", id.trim_end()]), content);
    assert_eq!(scene.data(&["get", id.trim_end(), "--range", "0-9"]), content[..10]);
}

#[test]
fn the_archive_is_found_from_inside_and_housekeeping_changes_nothing() {
    let scene = Scene::new(&["--name", "The lake", "--operator", "Anna"]);
    scene.file("hello.txt", b"hello\n");
    let inside = |words: &[&str]| {
        let output = varve().args(words).current_dir(scene.path("museum/warc")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        output
    };
    assert_eq!(stdout(&inside(&["store", "../../hello.txt"])), format!("{HELLO}\n"));
    let merged = inside(&["housekeeping", "--json"]);
    assert!(stdout(&merged).starts_with(r#"{"schema":1,"merged":"#), "{}", stdout(&merged));
    assert_eq!(stdout(&inside(&["get", "5891"])), "hello\n");
    let silo = std::fs::read(&scene.silos()[0]).unwrap();
    assert!(!silo.is_empty());
}
