//! A project as one WARC file.

use std::path::Path;
use std::sync::Arc;

use varve_archive::Date;
use varve_archive::verbs::crystal::warc::{Description, WarcExported, export};
use varve_archive::verbs::doctor::{complaints, examine, options};
use varve_crystal::MajorVersion;

use crate::project::{COOKIE, fixture, make};

fn exported(project: &Path, target: &Path) -> WarcExported {
    let clock = Arc::new(|| Date::at_second(std::time::SystemTime::UNIX_EPOCH));
    export(project, target, &Description { software: "varve/test", clock }, &|_| {}).unwrap()
}

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let mut plain = Vec::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => {
            let mut reader = flate2::read::MultiGzDecoder::new(bytes.as_slice());
            std::io::Read::read_to_end(&mut reader, &mut plain).unwrap();
        }
        false => plain = bytes,
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// No reader has anything to complain of, to the letter of the standard.
fn assert_sound(path: &Path) {
    let report = examine(path, options(true), &|_| {}).unwrap();
    assert_eq!(complaints(&report), 0, "{:?}", report.findings);
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[test]
fn every_revision_is_a_record_and_no_cookie_that_was_sent_is_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let project = make(&folder.path().join("lab"), MajorVersion::Tree);
    for name in ["out.warc", "out.warc.gz"] {
        let target = folder.path().join(name);
        let done = exported(&project, &target);
        assert_eq!((done.records, done.revisits, done.failures, done.missing), (7, 1, 1, 0));
        assert_eq!(done.bytes, target.metadata().unwrap().len());
        let text = text(&target);
        assert_eq!(count(&text, "WARC-Type: response"), 5);
        assert_eq!(count(&text, "WARC-Type: revisit"), 1);
        assert_eq!(count(&text, "/revisit/identical-payload-digest"), 1);
        assert_eq!(count(&text, "Varve-Not-Modified: HTTP/1.1 304 "), 1);
        assert_eq!(count(&text, "fetchError: TimeoutError: timed out"), 1);
        assert!(text.contains("<p>two</p>") && text.contains("WARC-Date: 2022-07-29T12:00:02Z"));
        assert!(!text.contains(COOKIE), "a cookie left the project");
        assert_sound(&target);
    }
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let project = make(&folder.path().join("lab"), MajorVersion::Flat);
    let target = folder.path().join("out.warc.gz");
    std::fs::write(&target, "mine").unwrap();
    let clock = Arc::new(|| Date::at_second(std::time::SystemTime::UNIX_EPOCH));
    let about = Description { software: "varve/test", clock };
    assert!(export(&project, &target, &about, &|_| {}).is_err());
    assert_eq!(std::fs::read(&target).unwrap(), b"mine");
}

#[test]
fn real_projects_give_sound_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["lab-v2", "lab-v1-flat", "lab-v3-pack16", "lab-v1-migration-interrupted"] {
        let Some(project) = fixture(name, folder.path()) else { return };
        let target = folder.path().join(format!("{name}.warc.gz"));
        let done = exported(&project, &target);
        assert_eq!((done.records, done.failures, done.missing), (53, 12, 0), "{name}");
        assert_sound(&target);
    }
}
