//! Audits of damaged archives: every damage is a finding, the audit goes to its end and prints its
//! summary.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use varve_testkit::web::{Answer, Site, Web};

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
    assert_eq!(catalog.execute("UPDATE captures SET status = 404", []).unwrap(), 1);
    drop(catalog);
    let said = findings(&scene);
    assert!(
        said.contains("the capture of https://e.org/ at ") && said.contains(" is recorded with other values"),
        "{said}"
    );
    assert!(!said.contains('{'), "{said}");
}

#[test]
fn a_catalog_row_that_differs_from_its_copy_in_an_index_is_a_finding() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    let path = scene.path("museum/catalog.db");
    let catalog = rusqlite::Connection::open(&path).unwrap();
    let time: i64 = catalog.query_row("SELECT time FROM captures", [], |row| row.get(0)).unwrap();
    drop(catalog);
    let whole = std::fs::read(&path).unwrap();
    let places: Vec<usize> =
        (0..whole.len() - 8).filter(|place| whole[*place..].starts_with(&time.to_be_bytes())).collect();
    assert!(places.len() > 1, "the time is stored once");
    for place in places {
        let mut bytes = whole.clone();
        bytes[place + 3] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        let said = findings(&scene);
        assert!(said.contains("the catalog is not what the silos say") && said.contains("rebuild"), "{said}");
        assert!(String::from_utf8(scene.data(&["log"])).unwrap().contains("one"));
    }
}

#[test]
fn a_killed_capture_is_one_finding() {
    let gate = Arc::new(AtomicBool::new(false));
    let links: String = (0..40).map(|page| format!("<a href=/p/{page}>page</a>")).collect();
    let waits = Arc::clone(&gate);
    let site =
        Site::new().computed("/", move |_| Answer::html(links.clone())).computed("/p/", move |request| {
            while request.number(1) >= 20 && !waits.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            Answer::html(format!("<p>{}", request.path()))
        });
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    let mut command = scene.command();
    command.args(["capture", &web.url("/"), "--scope", "host", "--delay", "0", "--allow-private"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while web.total() < 22 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    gate.store(true, Ordering::Relaxed);
    // What a kill before the last checkpoint leaves: complete records without entries and rows.
    std::fs::remove_file(scene.path("museum/index/appendix")).unwrap();
    let said = findings(&scene);
    let told = "one unfinished run; `varve capture --resume` continues it";
    assert!(said.contains(told) && said.contains("1 finding"), "{said}");
}

#[test]
fn a_rebuild_names_what_is_lost_and_moves_head() {
    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    commit(&scene, "one");
    let first = scene.line(&["log", "--json"]);
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    scene.file("big", &noise(1_500_000, 5));
    scene.data(&["store", "big"]);
    commit(&scene, "two");
    let head = std::fs::read_to_string(scene.path("museum/HEAD")).unwrap();
    let silos = scene.silos();
    std::fs::remove_file(silos.last().unwrap()).unwrap();
    let output = scene.run(&["rebuild"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("lost: silo {}", silos.len() - 1)), "{said}");
    assert!(said.contains(&format!("lost: version {}", head.trim())), "{said}");
    assert!(said.contains("lost: the capture of https://e.org/ at "), "{said}");
    assert!(said.contains(&format!("HEAD named version {}, which is lost", head.trim())), "{said}");
    let now = std::fs::read_to_string(scene.path("museum/HEAD")).unwrap();
    assert_eq!(now.trim(), first["id"].as_str().unwrap());
    assert_eq!(scene.data(&["cat", "https://e.org/"]), b"one");
}

#[test]
fn a_rebuild_without_any_version_left_removes_head() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    std::fs::remove_file(&scene.silos()[0]).unwrap();
    let output = scene.run(&["rebuild"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("no version is left"), "{}", stderr(&output));
    assert!(!scene.path("museum/HEAD").exists());
}

#[test]
fn an_archive_is_read_without_index_and_catalog() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    commit(&scene, "two");
    scene.file("object", b"an object");
    let id = scene.line(&["store", "object"]);
    let id = id.split_whitespace().next().unwrap().to_owned();
    let log = scene.data(&["log"]);
    let kept = scene.path("kept");
    let (index, catalog) = (scene.path("museum/index"), scene.path("museum/catalog.db"));
    for lose in ["index", "catalog", "damaged catalog"] {
        match lose {
            "index" => std::fs::rename(&index, scene.path("lost")).unwrap(),
            "catalog" => std::fs::rename(&catalog, scene.path("lost")).unwrap(),
            _ => std::fs::write(&catalog, "not a database at all, but a text").unwrap(),
        }
        for (words, expected) in [
            (vec!["cat", "https://e.org/"], b"two".to_vec()),
            (vec!["log"], log.clone()),
            (vec!["get", &id], b"an object".to_vec()),
        ] {
            let output = scene.run(&words);
            assert_eq!(output.status.code(), Some(0), "{lose}, {words:?}: {}", stderr(&output));
            assert_eq!(output.stdout, expected, "{lose}, {words:?}");
            // An object is found by the index alone.
            let lines = if words[0] == "get" && lose != "index" { 0 } else { 1 };
            assert_eq!(stderr(&output).lines().count(), lines, "{lose}, {words:?}: {}", stderr(&output));
            let elsewhere = [&words[..], &["--index-in", kept.to_str().unwrap()]].concat();
            assert_eq!(scene.data(&elsewhere), expected, "{lose}, {words:?}");
        }
        assert!(kept.join("varve-caches/catalog.db").exists());
        match lose {
            "index" => std::fs::rename(scene.path("lost"), &index).unwrap(),
            _ => std::fs::rename(scene.path("lost"), &catalog).unwrap(),
        }
        if lose == "catalog" {
            std::fs::copy(&catalog, scene.path("lost")).unwrap();
        }
    }
    let project = scene.path("project.crystalproj");
    std::fs::remove_dir_all(&index).unwrap();
    scene.data(&["export", "--format", "crystal", project.to_str().unwrap()]);
    // New records are seen by caches that are kept elsewhere.
    scene.data(&["rebuild"]);
    commit(&scene, "three");
    assert_eq!(scene.data(&["cat", "https://e.org/", "--index-in", kept.to_str().unwrap()]), b"three");
}

#[test]
fn damage_names_the_url_and_what_helps() {
    let scene = Scene::new(&[]);
    let web = Web::serve(Site::new().computed("/", |_| Answer::html("<p>hello".repeat(100))));
    scene.run(&["capture", &web.url("/"), "--delay", "0", "--allow-private"]);
    let silo = scene.silos()[0].clone();
    let whole = std::fs::read(&silo).unwrap();
    let members: Vec<usize> =
        (0..whole.len() - 3).filter(|place| whole[*place..].starts_with(&[0x1f, 0x8b, 8])).collect();
    // The checksum of a member: its header can be read, and its block does not match.
    let mut named = 0;
    for end in members.iter().skip(2) {
        let mut bytes = whole.clone();
        bytes[end - 6] ^= 1;
        std::fs::write(&silo, &bytes).unwrap();
        let said = findings(&scene);
        named += usize::from(said.contains(&web.url("/")) && said.contains("`varve capture "));
    }
    assert!(named > 0, "no finding names the URL");
}
