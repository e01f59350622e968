//! Making, finding, opening and locking archives.

use std::fs;
use varve_archive::RepositoryError;

use varve_archive::verbs::init::init;
use varve_archive::{
    Archive, ArchiveError, ArchiveSettings, ArchiveWriter, LockError, SettingsError, find_root,
};

use crate::{Scene, opening};

#[test]
fn a_new_archive_has_its_places_and_can_be_read() {
    let scene = Scene::new();
    for name in ["varve.toml", "warc", "index", "tmp"] {
        assert!(scene.root().join(name).exists(), "{name}");
    }
    assert_eq!(scene.archive().settings().name, "scene");
    assert_eq!(find_root(&scene.root().join("warc")), Some(scene.root()));
}

#[test]
fn no_archive_is_made_of_a_folder_that_holds_something() {
    let scene = Scene::new();
    let settings = ArchiveSettings::new("x");
    let again = init(&scene.root(), &settings, opening("init"));
    assert!(matches!(again, Err(ArchiveError::Already(_))), "{again:?}");
    let full = init(scene.folder.path(), &settings, opening("init"));
    assert!(matches!(full, Err(ArchiveError::Repository(RepositoryError::NotEmpty { .. }))), "{full:?}");
    assert!(!scene.path("varve.toml").exists());
    let file = scene.file("file", b"");
    assert!(matches!(
        init(&file, &settings, opening("init")),
        Err(ArchiveError::Repository(RepositoryError::NotAFolder { .. }))
    ));
    let empty = scene.path("deep/empty");
    init(&empty, &settings, opening("init")).unwrap();
    let bad = init(&scene.path("bad"), &ArchiveSettings::new("a\nb"), opening("init"));
    assert!(matches!(
        bad,
        Err(ArchiveError::Repository(RepositoryError::Settings { source: SettingsError::Line { .. }, .. }))
    ));
    assert!(!scene.path("bad").exists());
}

#[test]
fn a_folder_that_is_not_an_archive_is_not_opened() {
    let scene = Scene::new();
    let none = Archive::open(scene.folder.path());
    assert!(matches!(none, Err(RepositoryError::NotAnArchive { .. })));
    fs::write(scene.root().join("varve.toml"), "format = 7\nname = \"x\"\n").unwrap();
    let later = Archive::open(&scene.root()).err().unwrap();
    let RepositoryError::Settings { source, .. } = &later else { panic!("{later:?}") };
    assert_eq!(*source, SettingsError::Format { found: 7 });
}

#[test]
fn a_second_writer_is_told_who_holds_the_lock() {
    let scene = Scene::new();
    let first = ArchiveWriter::open(&scene.root(), opening("varve store, process 12")).unwrap();
    match ArchiveWriter::open(&scene.root(), opening("another")).err().unwrap() {
        RepositoryError::Lock(LockError::Held { holder }) => {
            assert_eq!(holder, "varve store, process 12")
        }
        other => panic!("{other:?}"),
    }
    scene.archive();
    drop(first);
    scene.writer();
}

#[test]
fn unfinished_files_are_removed_when_opening_for_writing() {
    let scene = Scene::new();
    let temporary = scene.root().join("tmp");
    fs::create_dir(temporary.join("folder")).unwrap();
    fs::write(temporary.join("folder/file"), "").unwrap();
    std::os::unix::fs::symlink("/etc", temporary.join("link")).unwrap();
    fs::write(temporary.join("half"), "").unwrap();
    scene.archive();
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 4);
    scene.writer();
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"]);
    assert!(std::path::Path::new("/etc").is_dir());
}

#[test]
fn a_missing_index_is_reported_and_rebuilt() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"kept");
    fs::remove_dir_all(scene.root().join("index")).unwrap();
    assert!(matches!(Archive::open(&scene.root()), Err(RepositoryError::NoIndex { .. })));
    scene.writer();
    assert_eq!(scene.archive().object(id).unwrap().length(), 4);
}
