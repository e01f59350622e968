//! `stow` and `get --tree`: whole trees of files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use varve_archive::RepositoryError;

use varve_archive::tree::{self, ManifestError, ManifestProblem, RestoredTree};
use varve_archive::verbs::get::find;
use varve_archive::verbs::stow::{Exclude, Request, StowNote, Stowed, stow};
use varve_archive::{ArchiveError, RecordId};

use crate::{Scene, noise};

fn stow_noting(scene: &Scene, folder: &Path, exclude: &[&str]) -> (Stowed, Vec<StowNote>) {
    let exclude: Vec<String> = exclude.iter().map(|&text| text.to_owned()).collect();
    let exclude = Exclude::new(&exclude).unwrap();
    let request = Request { folder: folder.to_owned(), exclude, threads: 3 };
    let mut notes = Vec::new();
    let stowed = stow(&scene.writer(), &request, &|_| {}, |note| notes.push(note)).unwrap();
    (stowed, notes)
}

/// The progress hook runs when a file has been read and before it is looked at again.
#[test]
fn a_file_that_changes_while_it_is_read_is_named_and_kept_as_it_was_read() {
    for length in [5_000, 3_000_000] {
        let scene = Scene::new();
        let content = noise(length, 5);
        let folder = scene.path("tree");
        fs::create_dir(&folder).unwrap();
        let path = folder.join("log");
        fs::write(&path, &content).unwrap();
        let append = std::sync::Once::new();
        let progress = |_| {
            append.call_once(|| {
                use std::io::Write;
                fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
            });
        };
        let request =
            Request { folder: folder.clone(), exclude: Exclude::new(&[] as &[String]).unwrap(), threads: 1 };
        let mut notes = Vec::new();
        let stowed = stow(&scene.writer(), &request, &progress, |note| notes.push(note)).unwrap();
        assert!(matches!(&notes[..], [StowNote::Changed(named)] if *named == path), "{notes:?}");
        assert_eq!((stowed.changed, stowed.failed, stowed.survey.bytes), (1, 0, length as u64));
        let back = scene.path("back");
        restore(&scene, stowed.manifest.id, &back).unwrap();
        assert_eq!(fs::read(back.join("log")).unwrap(), content);
    }
}

fn stow_all(scene: &Scene, folder: &Path) -> Stowed {
    let (stowed, notes) = stow_noting(scene, folder, &[]);
    assert!(notes.is_empty(), "{notes:?}");
    stowed
}

fn restore(scene: &Scene, id: RecordId, folder: &Path) -> Result<(RestoredTree, Vec<String>), ArchiveError> {
    let mut failures = Vec::new();
    let restored =
        tree::restore(&scene.archive(), id, folder, 3, &|_| {}, |error| failures.push(error.to_string()))?;
    assert_eq!(restored.failed as usize, failures.len());
    Ok((restored, failures))
}

/// A path, its mode, its time in seconds and billionths, and its content.
type Seen = (Vec<u8>, u32, (i64, i64), Vec<u8>);

/// Every path below a folder with all that must come back.
fn picture(folder: &Path) -> Vec<Seen> {
    let mut all = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            b"folder".to_vec()
        } else if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().as_bytes().to_vec()
        } else {
            fs::read(&path).unwrap()
        };
        let name = path.strip_prefix(folder).unwrap().as_os_str().as_bytes().to_vec();
        all.push((name, metadata.mode(), (metadata.mtime(), metadata.mtime_nsec()), content));
    }
    all.sort();
    all
}

fn set_time(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(seconds, 123_456_789);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

/// A tree with all that is odd.
fn odd_tree(root: &Path) {
    let deep: String = (0..12).map(|level| format!("a folder with a long name, level {level}/")).collect();
    fs::create_dir_all(root.join(&deep)).unwrap();
    assert!(deep.len() > 300);
    fs::write(root.join(&deep).join("at the end"), "deep").unwrap();
    fs::create_dir_all(root.join("empty/emptier")).unwrap();
    fs::write(root.join("x".repeat(255)), "a name as long as names can be").unwrap();
    fs::write(root.join(OsStr::from_bytes(b"caf\xe9 \xff\xfe")), "not UTF-8").unwrap();
    fs::write(root.join("line\nbreak \u{1b}[31m \"quoted\" \\"), "control").unwrap();
    fs::write(root.join("-"), "dash").unwrap();
    fs::write(root.join("nothing"), "").unwrap();
    fs::write(root.join("large"), noise(2_500_000, 3)).unwrap();
    fs::write(root.join("copy"), noise(2_500_000, 3)).unwrap();
    fs::write(root.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("read-only"), "kept").unwrap();
    set_time(&root.join("read-only"), 86_400);
    fs::set_permissions(root.join("read-only"), fs::Permissions::from_mode(0o400)).unwrap();
    fs::create_dir(root.join("closed")).unwrap();
    fs::write(root.join("closed/inside"), "inside").unwrap();
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink("run.sh", root.join("inner link")).unwrap();
    symlink("/etc/passwd", root.join("outer link")).unwrap();
    symlink("../../..", root.join("climbing link")).unwrap();
    symlink("nowhere at all", root.join("dangling link")).unwrap();
    symlink(OsStr::from_bytes(b"\xff"), root.join("odd link")).unwrap();
    set_time(&root.join("empty"), 1_000_000_000);
    set_time(root, 1_234_567_890);
}

#[test]
fn a_tree_is_restored_with_names_content_modes_times_and_links() {
    let scene = Scene::new();
    let source = scene.path("source");
    odd_tree(&source);
    let stowed = stow_all(&scene, &source);
    assert_eq!((stowed.survey.links, stowed.skipped, stowed.failed), (5, 0, 0));
    assert_eq!(stowed.new_objects, stowed.survey.files - 1, "the copy is kept once");
    let target = scene.path("target");
    let (restored, failures) = restore(&scene, stowed.manifest.id, &target).unwrap();
    assert_eq!((restored.survey, failures), (stowed.survey, vec![]));
    assert_eq!(picture(&target), picture(&source));
    // What came back is the same tree, and so has the same id.
    let again = stow_all(&scene, &target);
    assert_eq!((again.manifest.id, again.manifest.new, again.new_objects), (stowed.manifest.id, false, 0));
}

/// The progress hook runs while the first file is restored, and puts a link in the place of its
/// folder.
#[test]
fn a_link_that_is_swapped_in_while_a_tree_is_restored_leads_nowhere() {
    let scene = Scene::new();
    let (source, target, victim) = (scene.path("source"), scene.path("target"), scene.path("victim"));
    fs::create_dir_all(source.join("a/b")).unwrap();
    (0..40_u64)
        .for_each(|number| fs::write(source.join(format!("a/b/{number}")), noise(100, number)).unwrap());
    fs::set_permissions(source.join("a"), fs::Permissions::from_mode(0o711)).unwrap();
    fs::create_dir_all(victim.join("b")).unwrap();
    fs::write(victim.join("b/precious"), "precious").unwrap();
    let before = picture(&victim);
    let stowed = stow_all(&scene, &source);
    let swap = std::sync::Once::new();
    let progress = |_| {
        swap.call_once(|| {
            fs::rename(target.join("a"), scene.path("moved")).unwrap();
            symlink("../victim", target.join("a")).unwrap();
        });
    };
    let mut failures = 0;
    let restored =
        tree::restore(&scene.archive(), stowed.manifest.id, &target, 2, &progress, |_| failures += 1)
            .unwrap();
    assert!(restored.failed > 0 && restored.failed == failures, "{restored:?}");
    assert_eq!(picture(&victim), before);
}

#[test]
fn an_empty_folder_is_a_tree() {
    let scene = Scene::new();
    let source = scene.path("source");
    fs::create_dir(&source).unwrap();
    let stowed = stow_all(&scene, &source);
    let target = scene.path("target");
    fs::create_dir(&target).unwrap();
    restore(&scene, stowed.manifest.id, &target).unwrap();
    assert_eq!(picture(&target), picture(&source));
}

#[test]
fn special_files_and_the_archive_itself_are_named_and_left_out() {
    let scene = Scene::new();
    let source = scene.folder.path().to_owned();
    fs::create_dir(source.join("sub")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(source.join("sub/socket")).unwrap();
    let (stowed, notes) = stow_noting(&scene, &source, &["*.tmp"]);
    let mut said: Vec<_> = notes.iter().map(|note| format!("{note:?}")).collect();
    said.sort();
    assert_eq!((stowed.skipped, stowed.survey.folders, said.len()), (2, 1, 2));
    assert!(said[0].contains("museum") && said[0].contains("Archive"), "{said:?}");
    assert!(said[1].contains("socket") && said[1].contains("Socket"), "{said:?}");
    let file = scene.file("file", b"");
    let request = Request { folder: file, exclude: Exclude::new(&[]).unwrap(), threads: 1 };
    let refused = stow(&scene.writer(), &request, &|_| {}, |_| {});
    assert!(matches!(refused, Err(ArchiveError::Repository(RepositoryError::NotAFolder { .. }))));
}

#[test]
fn the_folder_must_be_new_or_empty() {
    let scene = Scene::new();
    let source = scene.path("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("file"), "new").unwrap();
    let stowed = stow_all(&scene, &source);
    let target = scene.path("target");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("file"), "old").unwrap();
    let refused = restore(&scene, stowed.manifest.id, &target);
    assert!(matches!(refused, Err(ArchiveError::Repository(RepositoryError::NotEmpty { .. }))));
    assert_eq!(fs::read(target.join("file")).unwrap(), b"old");
}

const HEAD: &str = r#"{"format":"varve-tree","number":1}
{"path":".","kind":"folder","mode":"0755","mtime":"0.000000000"}
"#;

fn hostile(scene: &Scene, lines: &str) -> RecordId {
    scene.store_bytes(format!("{HEAD}{lines}\n").as_bytes())
}

#[test]
fn hostile_manifests_write_nothing_at_all() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"evil");
    let outside = scene.path("outside");
    fs::create_dir(&outside).unwrap();
    let file = |path: &str| {
        format!(
            r#"{{"path":{path:?},"kind":"file","mode":"0644","mtime":"0.000000000","size":4,"id":"{id}"}}"#
        )
    };
    let link = |path: &str, target: &Path| {
        format!(r#"{{"path":{path:?},"kind":"link","mtime":"0.000000000","target":{target:?}}}"#)
    };
    let nul = r#"{"path":"a\u0000b","kind":"folder","mode":"0755","mtime":"0.000000000"}"#.to_owned();
    let cases = [
        (file("../evil"), ManifestProblem::Climbs),
        (file("a/../../evil"), ManifestProblem::Climbs),
        (file(outside.join("evil").to_str().unwrap()), ManifestProblem::Absolute),
        (format!("{}\n{}", link("a", &outside), file("a/evil")), ManifestProblem::NoFolder),
        (format!("{}\n{}", link("a", &outside), file("a")), ManifestProblem::Order),
        (nul, ManifestProblem::Nul),
        (format!("{}\n{}", file("good"), file("bad/../../evil")), ManifestProblem::Climbs),
    ];
    for (lines, wanted) in cases {
        let target = scene.path("target");
        let manifest = hostile(&scene, &lines);
        match restore(&scene, manifest, &target) {
            Err(ArchiveError::Repository(RepositoryError::Manifest {
                source: ManifestError::Line { problem, .. },
                ..
            })) => {
                assert_eq!(problem, wanted, "{lines}");
            }
            other => panic!("{lines}: {other:?}"),
        }
        assert!(!target.exists(), "{lines}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!scene.path("evil").exists());
    let plain = scene.store_bytes(b"no manifest");
    let refused = restore(&scene, plain, &scene.path("target"));
    assert!(matches!(
        refused,
        Err(ArchiveError::Repository(RepositoryError::Manifest { source: ManifestError::Format, .. }))
    ));
}

#[test]
fn unrestorable_entries_are_reported_and_the_rest_is_restored() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"good");
    let file = |path: &str, size: u64, id: &str| {
        format!(
            r#"{{"path":"{path}","kind":"file","mode":"4755","mtime":"1.500000000","size":{size},"id":"{id}"}}"#
        )
    };
    let long = "n".repeat(300);
    let lines = [
        file("a-absent", 4, &"0".repeat(64)),
        file("b-good", 4, &id.to_string()),
        file("c-wrong-size", 5, &id.to_string()),
        file(&long, 4, &id.to_string()),
    ];
    let manifest = hostile(&scene, &lines.join("\n"));
    let target = scene.path("target");
    let (restored, failures) = restore(&scene, manifest, &target).unwrap();
    assert_eq!(restored.failed, 3);
    assert!(failures[0].contains(&"0".repeat(64)), "{failures:?}");
    assert!(failures[2].contains(&long), "{failures:?}");
    let names: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["b-good"]);
    let metadata = fs::metadata(target.join("b-good")).unwrap();
    // A restored file gives nobody the rights of the user who restored it.
    assert_eq!((metadata.mode() & 0o7777, metadata.mtime(), metadata.mtime_nsec()), (0o755, 1, 500_000_000));
}

#[test]
fn unreadable_entries_are_reported_and_left_out() {
    let scene = Scene::new();
    let source = scene.path("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("good"), "good").unwrap();
    fs::write(source.join("secret"), "secret").unwrap();
    fs::set_permissions(source.join("secret"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(source.join("secret")).is_ok() {
        // The administrator reads everything.
        return;
    }
    let (stowed, notes) = stow_noting(&scene, &source, &[]);
    assert_eq!((stowed.failed, stowed.survey.files), (1, 1));
    assert!(
        matches!(&notes[..], [StowNote::Failed(ArchiveError::Repository(RepositoryError::Read { path, .. }))] if path.ends_with("secret"))
    );
}

#[test]
fn the_manifest_is_an_object_like_any_other() {
    let scene = Scene::new();
    let source = scene.path("source");
    fs::create_dir(&source).unwrap();
    let stowed = stow_all(&scene, &source);
    let archive = scene.archive();
    let found = find(&archive, &stowed.manifest.id.to_string()).unwrap();
    assert!(found.header().any(|field| field == ("Content-Type".into(), tree::MEDIA_TYPE.into())));
}

/// More files than one window or one group, so that order, syncs and spooling are all used.
#[test]
fn many_files_keep_their_order() {
    let scene = Scene::new();
    let source = scene.path("source");
    for folder in 0..30 {
        fs::create_dir_all(source.join(folder.to_string())).unwrap();
        for file in 0..100 {
            fs::write(source.join(format!("{folder}/{file}")), format!("{folder} {}", file % 50)).unwrap();
        }
    }
    let stowed = stow_all(&scene, &source);
    assert_eq!((stowed.survey.files, stowed.survey.folders, stowed.new_objects), (3000, 30, 1500));
    let target = scene.path("target");
    let (_, failures) = restore(&scene, stowed.manifest.id, &target).unwrap();
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(picture(&target), picture(&source));
}
