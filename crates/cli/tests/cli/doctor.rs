//! `varve doctor`: JSON output, and the limits of a repair.

use std::path::Path;

use crate::{stderr, stdout, varve};

const WHOLE: &str = "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:lake:1>\r\n\
                     WARC-Date: 2026-11-15T12:00:00Z\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nlayer\r\n\r\n";

/// The objects on stdout, and the exit code.
fn doctor(folder: &Path, words: &[&str]) -> (Vec<serde_json::Value>, Option<i32>) {
    let output = varve().args(["doctor", "--json"]).args(words).current_dir(folder).output().unwrap();
    let objects = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (objects, output.status.code())
}

#[test]
fn one_object_per_file_with_the_documented_fields() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("whole.warc"), WHOLE).unwrap();
    std::fs::write(folder.path().join("cut.warc"), &WHOLE[..WHOLE.len() - 6]).unwrap();
    let (objects, code) = doctor(folder.path(), &["whole.warc", "cut.warc", "absent.warc"]);
    assert_eq!((objects.len(), code), (3, Some(2)));
    let whole = &objects[0];
    assert_eq!((&whole["file"], &whole["format"]), (&"whole.warc".into(), &"warc".into()));
    assert_eq!((&whole["records"], &whole["by_type"]["metadata"]), (&1.into(), &1.into()));
    assert_eq!(whole["findings"], serde_json::json!([]));
    assert_eq!(whole["digests"], serde_json::json!({"ok": 0, "bad": 0, "unchecked": 0}));
    assert_eq!(whole["last_good_offset"], WHOLE.len());
    let finding = &objects[1]["findings"][0];
    assert_eq!((&finding["rule"], &finding["offset"]), (&"R03".into(), &0.into()));
    assert_eq!(finding["severity"], "error");
    assert!(finding["message"].is_string());
    assert_eq!(objects[1]["last_good_offset"], 0);
    for key in ["file", "format", "records", "by_type", "findings", "digests", "last_good_offset"] {
        assert!(objects.iter().all(|object| object.get(key).is_some()), "an object without {key}");
    }
    assert!(objects[2]["error"].as_str().unwrap().starts_with("could not open `absent.warc`"));
}

#[test]
fn a_repair_never_overwrites_and_is_still_one_object() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("whole.warc"), WHOLE).unwrap();
    let repair = ["--repair", "new.warc.gz", "whole.warc"];
    let (objects, code) = doctor(folder.path(), &repair);
    assert_eq!((objects.len(), code), (1, Some(0)));
    assert_eq!(
        objects[0]["repaired"],
        serde_json::json!({"file": "new.warc.gz", "records": 1, "mended": 0, "gaps": 0})
    );
    let written = std::fs::read(folder.path().join("new.warc.gz")).unwrap();
    let (objects, code) = doctor(folder.path(), &repair);
    assert_eq!((objects.len(), code), (1, Some(2)));
    assert_eq!(objects[0]["error"], "`new.warc.gz` exists already");
    assert_eq!(std::fs::read(folder.path().join("new.warc.gz")).unwrap(), written);
    let mut names: Vec<_> =
        folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["new.warc.gz", "whole.warc"]);
}

/// An existing target is reported before the file is read.
#[test]
fn an_existing_target_is_reported_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("whole.warc"), WHOLE).unwrap();
    let output = varve()
        .args(["doctor", "--repair", "whole.warc", "whole.warc"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    assert!(stderr(&output).starts_with("error: `whole.warc` exists already\n"), "{}", stderr(&output));
}

/// So are a missing folder and an unknown file extension.
#[test]
fn an_unwritable_target_is_reported_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("whole.warc"), WHOLE).unwrap();
    for (target, message) in [
        ("nodir/", "error: there is no folder `nodir/`\n"),
        ("nodir/new.warc.gz", "error: there is no folder `nodir`\n"),
        ("new.txt", "error: `new.txt` does not end with .warc.gz, .warc.zst, .warc\n"),
        ("new.gz", "error: `new.gz` does not end with .warc.gz, .warc.zst, .warc\n"),
    ] {
        let output =
            varve().args(["doctor", "--repair", target, "whole.warc"]).current_dir(&folder).output().unwrap();
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{target}");
        assert!(stderr(&output).starts_with(message), "{}", stderr(&output));
    }
}

#[test]
fn a_record_without_a_type_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("odd.warc"), WHOLE.replace("metadata", "")).unwrap();
    let output = varve().args(["doctor", "odd.warc"]).current_dir(&folder).output().unwrap();
    assert!(stdout(&output).contains("1 record (1 (none))"), "{}", stdout(&output));
}

/// With damage in the middle, the last good byte is before it.
#[test]
fn the_last_good_byte_is_before_the_first_damage() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("odd.warc"), format!("{WHOLE}junk\r\n{WHOLE}")).unwrap();
    let (objects, code) = doctor(folder.path(), &["odd.warc"]);
    assert_eq!((objects[0]["records"].as_u64(), code), (Some(2), Some(1)));
    assert_eq!(objects[0]["last_good_offset"], WHOLE.len());
}
