//! Audits of damaged archives: every damage is a finding, the audit goes to its end and prints its
//! summary.

use std::path::Path;

use super::{Scene, noise, stderr, stdout};

/// Audits, and returns the output of one that has findings.
fn findings(scene: &Scene) -> String {
    let output = scene.run(&["audit"]);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("finding") && said.contains("silo"), "{said}");
    said
}

fn commit(scene: &Scene, text: &str) {
    scene.file("page", text.as_bytes());
    scene.data(&["commit", "page", "--url", "https://e.org/", "-m", text]);
}

fn truncate(path: &Path, length: u64) {
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

#[test]
fn a_wrong_next_silo_number_is_refused_and_named() {
    let scene = Scene::new(&[]);
    scene.file("f", b"one");
    scene.data(&["store", "f"]);
    scene.file("f", b"two");
    let path = scene.path("museum/warc/next-number");
    std::fs::write(&path, "01000001\n").unwrap();
    let output = scene.run(&["store", "f"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("`01000001`") && said.contains("the last silo here is number 0"), "{said}");
    assert!(said.contains("`varve rebuild`"), "{said}");
    let said = findings(&scene);
    assert!(said.contains("`01000001`") && !said.contains("missing"), "{said}");
    let output = scene.run(&["rebuild"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("`01000001`"), "{}", stderr(&output));
    scene.data(&["store", "f"]);
    scene.data(&["audit"]);
    assert_eq!(scene.silos().len(), 1, "no number was skipped");
}

#[test]
fn flipped_index_entries_are_findings() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    scene.data(&["housekeeping"]);
    let index = scene.path("museum/index");
    let sorted = std::fs::read_dir(&index).unwrap().map(|entry| entry.unwrap().path());
    let sorted = sorted.max_by_key(|path| std::fs::metadata(path).unwrap().len()).unwrap();
    let whole = std::fs::read(&sorted).unwrap();
    for byte in 1..=64 {
        let mut bytes = whole.clone();
        let place = bytes.len() - byte;
        bytes[place] ^= 0x10;
        std::fs::write(&sorted, bytes).unwrap();
        let said = findings(&scene);
        assert!(said.contains("index"), "{said}");
    }
}

#[test]
fn swapped_silos_of_a_segmented_object_are_findings() {
    let scene = Scene::new(&["--silo-size", "1MiB"]);
    scene.file("big", &noise(4_000_000, 5));
    scene.data(&["store", "big"]);
    let silos = scene.silos();
    assert!(silos.len() > 3, "{silos:?}");
    let aside = scene.path("aside");
    std::fs::rename(&silos[1], &aside).unwrap();
    std::fs::rename(&silos[2], &silos[1]).unwrap();
    std::fs::rename(&aside, &silos[2]).unwrap();
    assert!(findings(&scene).contains("says that it is"));
}

#[test]
fn a_missing_catalog_is_a_finding() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    std::fs::remove_file(scene.path("museum/catalog.db")).unwrap();
    let said = findings(&scene);
    assert!(said.contains("the catalog is missing") && said.contains("`varve rebuild`"), "{said}");
}

#[test]
fn settings_that_cannot_be_read_do_not_stop_an_audit() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    std::fs::write(scene.path("museum/varve.toml"), "format = \n").unwrap();
    let said = findings(&scene);
    assert!(said.contains("varve.toml") && said.contains("1 silo"), "{said}");
}

#[test]
fn cut_off_records_are_called_lost() {
    for with_index in [true, false] {
        let scene = Scene::new(&[]);
        commit(&scene, "one");
        let silo = scene.silos()[0].clone();
        let length = std::fs::metadata(&silo).unwrap().len();
        commit(&scene, "two");
        truncate(&silo, length);
        if !with_index {
            std::fs::remove_dir_all(scene.path("museum/index")).unwrap();
        }
        let said = findings(&scene);
        assert!(said.contains("error") && said.contains("cut off") && said.contains("lost"), "{said}");
        assert!(said.contains("which HEAD names, is lost"), "{said}");
        assert!(!said.contains("the next verb that writes"), "{said}");
    }
}

#[test]
fn a_changed_catalog_row_is_reported_as_a_sentence() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    let catalog = rusqlite::Connection::open(scene.path("museum/catalog.db")).unwrap();
    assert_eq!(catalog.execute("UPDATE versions SET message = 'other'", []).unwrap(), 1);
    drop(catalog);
    let said = findings(&scene);
    assert!(said.contains(" is recorded with other values") && said.contains("version"), "{said}");
    assert!(!said.contains('{'), "{said}");
}
