//! What a catalog must survive: readers beside a writer, errors in the middle, strange, locked and damaged files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use varve_catalog::{Catalog, CatalogError, CatalogRow, SqliteCatalog};
use varve_core::history::{Belongs, Capture, ListCursor, StoredDiff, Version, VersionFilter};
use varve_moku::{MokuCatalog, MokuOptions};
use varve_testkit::TinyDisk;

use crate::histories::{a_capture_of, moment, version_id};
use crate::{KINDS, Kind, compare};

fn a_version(which: u8) -> Version {
    Version {
        id: version_id(which),
        parent: None,
        message: String::new(),
        author: None,
        time: moment(which),
        run: None,
        record: None,
    }
}

/// A version with so many captures.
fn a_commit(which: u8, captures: u32) -> Vec<CatalogRow> {
    let captures = (0..captures).map(|number| CatalogRow::Capture(Box::new(a_capture_of(which, number))));
    std::iter::once(CatalogRow::Version(a_version(which))).chain(captures).collect()
}

fn apply(catalog: &dyn Catalog, rows: Vec<CatalogRow>) -> Result<(), CatalogError> {
    catalog.apply(&mut rows.into_iter())
}

#[test]
fn a_batch_that_fails_leaves_nothing() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        apply(&*catalog, a_commit(1, 3)).unwrap();
        let before = compare::lines(catalog.as_read());
        let nowhere = StoredDiff { base: None, head: version_id(5), json: "{}".to_owned(), time: moment(0) };
        let mut rows = a_commit(2, 3);
        rows.push(CatalogRow::Diff(nowhere));
        assert!(matches!(apply(&*catalog, rows), Err(CatalogError::NoVersion(id)) if id == version_id(5)));
        let orphan = vec![CatalogRow::Capture(Box::new(a_capture_of(4, 0)))];
        assert!(matches!(apply(&*catalog, orphan), Err(CatalogError::NoVersion(id)) if id == version_id(4)));
        assert_eq!(compare::lines(catalog.as_read()), before);
        apply(&*catalog, a_commit(2, 3)).unwrap();
        assert_eq!(catalog.version(&version_id(2)).unwrap().unwrap().captures, 3, "the writer still works");
    }
}

/// A reader sees whole batches only, from a handle of its own and from the writer's.
#[test]
fn readers_beside_a_writer_see_whole_batches() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let writer = kind.open(folder.path());
        apply(&*writer, a_commit(0, 50)).unwrap();
        let reader = kind.open_to_read(folder.path()).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for catalog in [&*reader, writer.as_read()] {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        for info in
                            catalog.versions(&VersionFilter::default(), ListCursor::first(100)).unwrap()
                        {
                            assert_eq!(info.captures, 50);
                            let held = catalog.captures_in(&info.version.id, ListCursor::first(100)).unwrap();
                            assert_eq!(held.len(), 50);
                        }
                    }
                });
            }
            for which in 1..6 {
                apply(&*writer, a_commit(which, 50)).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(reader.versions(&VersionFilter::default(), ListCursor::first(100)).unwrap().len(), 6);
    }
}

#[test]
fn a_locked_database_is_busy() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        let other = Connection::open(folder.path().join(kind.file)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = apply(&*catalog, a_commit(1, 1)).unwrap_err();
        assert!(matches!(error, CatalogError::Busy { .. }), "{error}");
        assert!(catalog.version(&version_id(1)).unwrap().is_none(), "readers do not wait");
        other.execute_batch("ROLLBACK").unwrap();
        apply(&*catalog, a_commit(1, 1)).unwrap();
    }
}

/// It is refused with these words; `is_newer` tells what is only too new from what is something else.
fn expect_refused(kind: &Kind, folder: &Path, is_newer: bool, words: &str) {
    let errors = [kind.open_to_read(folder).err(), kind.try_open(folder).err()];
    for error in errors.into_iter().flatten() {
        match &error {
            CatalogError::Newer { .. } => assert!(is_newer, "{error:?}"),
            CatalogError::Foreign { .. } => assert!(!is_newer, "{error:?}"),
            _ => panic!("{error:?}"),
        }
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(kind.open_to_read(folder).is_err() && kind.try_open(folder).is_err());
}

#[test]
fn what_is_no_catalog_is_refused_and_left_alone() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(kind.file);
        std::fs::write(
            &file,
            b"this is a letter to my aunt, long enough to be more than a header of SQLite. ".repeat(20),
        )
        .unwrap();
        expect_refused(&kind, folder.path(), false, "not a database");
        std::fs::remove_file(&file).unwrap();
        Connection::open(&file).unwrap().execute_batch("CREATE TABLE recipes (name)").unwrap();
        let before = std::fs::read(&file).unwrap();
        expect_refused(&kind, folder.path(), false, "database is not");
        assert_eq!(std::fs::read(&file).unwrap(), before);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside it");
    }
}

#[test]
fn a_newer_database_is_refused() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        drop(kind.open(folder.path()));
        let plain = Connection::open(folder.path().join(kind.file)).unwrap();
        plain
            .execute_batch(
                "PRAGMA user_version = 99; UPDATE meta SET value = '99' WHERE key = 'schema_version'",
            )
            .unwrap();
        drop(plain);
        expect_refused(&kind, folder.path(), true, "newer");
    }
}

#[test]
fn a_catalog_of_an_earlier_varve_says_that_it_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let kind = &KINDS[0];
    drop(kind.open(folder.path()));
    let file = folder.path().join(kind.file);
    for earlier in 1..6 {
        Connection::open(&file).unwrap().pragma_update(None, "user_version", earlier).unwrap();
        let refused = kind.open_to_read(folder.path()).err().unwrap();
        assert!(matches!(refused, CatalogError::Older { format, .. } if format == earlier), "{refused}");
    }
}

#[test]
fn what_is_not_there_cannot_be_read() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(kind.open_to_read(folder.path()).err().unwrap(), CatalogError::Database { .. }));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "and is not made");
    }
}

/// Pages of the file are overwritten, one after the other: an error or an answer, and never a panic.
#[test]
fn a_damaged_file_is_an_error() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        (0..6).for_each(|which| apply(&*catalog, a_commit(which, 25)).unwrap());
        drop(catalog);
        let whole = std::fs::read(folder.path().join(kind.file)).unwrap();
        let errors = (0..whole.len() / 4096).filter(|page| {
            let mut damaged = whole.clone();
            damaged[page * 4096..(page + 1) * 4096].fill(0x5a);
            read_everything(&kind, &damaged).is_err()
        });
        assert!(errors.count() > 3);
        assert!(read_everything(&kind, &whole[..whole.len() / 2]).is_err(), "half a file");
        read_everything(&kind, &whole).unwrap();
    }
}

fn read_everything(kind: &Kind, database: &[u8]) -> Result<(), CatalogError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(kind.file), database).unwrap();
    let catalog = kind.open_to_read(folder.path())?;
    varve_catalog::dump_rows(catalog.as_read(), &mut |_| Ok(()))?;
    (0..6).try_for_each(|which| catalog.captures_in(&version_id(which), ListCursor::first(100)).map(|_| ()))
}

#[test]
fn a_catalog_that_was_opened_to_read_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, moku) = (folder.path().join("catalog.db"), folder.path().join("moku.db"));
    drop(SqliteCatalog::open_to_write(&catalog).unwrap());
    drop(MokuCatalog::open_to_write(&moku, &MokuOptions::default()).unwrap());
    let readers: [Box<dyn Catalog>; 2] = [
        Box::new(SqliteCatalog::open_to_read(&catalog).unwrap()),
        Box::new(MokuCatalog::open_to_read(&moku).unwrap()),
    ];
    for reader in readers {
        assert!(matches!(apply(&*reader, a_commit(1, 1)), Err(CatalogError::ReadOnly { .. })));
    }
}

/// On a disk that cannot be written there is no shared memory for a log; the database is read all the same.
#[test]
fn a_read_only_folder_is_read() {
    use std::os::unix::fs::PermissionsExt;
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        apply(&*catalog, a_commit(1, 5)).unwrap();
        drop(catalog);
        let set =
            |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o555);
        let forbidden = std::fs::write(folder.path().join("probe"), b"").is_err();
        let read = kind.open_to_read(folder.path()).and_then(|catalog| catalog.version(&version_id(1)));
        let written = kind.try_open(folder.path()).and_then(|catalog| apply(&*catalog, a_commit(2, 1)));
        set(0o755);
        assert_eq!(read.unwrap().unwrap().captures, 5);
        // Whoever is root may write anywhere.
        assert_eq!(written.is_err(), forbidden);
    }
}

/// Where there is no room for what SQLite wants beside a database, it is read as it is; as soon as somebody writes, what they
/// write is seen, and no answer is half of before and half of after.
#[test]
fn a_full_disk_is_read() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = TinyDisk::mount(folder.path(), 4096) else { return };
        apply(&*kind.open(disk.path()), a_commit(1, 5)).unwrap();
        disk.fill(0).unwrap();
        let full = kind.try_open(disk.path()).and_then(|catalog| apply(&*catalog, a_commit(2, 1)));
        assert!(matches!(full, Err(CatalogError::DiskFull { .. })), "{full:?}");
        let reader = kind.open_to_read(disk.path()).unwrap();
        assert_eq!(reader.version(&version_id(1)).unwrap().unwrap().captures, 5);
        disk.free().unwrap();
        let mut written = false;
        let read = reader.each_body(&mut |_| {
            if !std::mem::replace(&mut written, true) {
                apply(&*kind.open(disk.path()), a_commit(2, 3)).unwrap();
            }
            Ok(())
        });
        assert!(matches!(read, Err(CatalogError::Busy { .. })), "{read:?}");
        assert_eq!(reader.version(&version_id(2)).unwrap().unwrap().captures, 3);
    }
}

#[test]
fn rows_in_a_log_on_a_full_disk_are_missed() {
    for kind in KINDS {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let Some(disk) = TinyDisk::mount(folder.path(), 4096) else { return };
        let catalog = kind.open(other.path());
        apply(&*catalog, a_commit(1, 5)).unwrap();
        for name in [kind.file.to_owned(), format!("{}-wal", kind.file)] {
            std::fs::copy(other.path().join(&name), disk.path().join(&name)).unwrap();
        }
        disk.fill(0).unwrap();
        let refused = kind.open_to_read(disk.path()).err().unwrap();
        assert!(matches!(refused, CatalogError::Unsupported { .. }), "{refused}");
        assert!(refused.to_string().ends_with("cannot be read on a full disk: make room there"), "{refused}");
        disk.free().unwrap();
        assert_eq!(
            kind.open_to_read(disk.path()).unwrap().version(&version_id(1)).unwrap().unwrap().captures,
            5
        );
    }
}

/// Whoever only reads leaves a folder as it was.
#[test]
fn reading_leaves_no_files_behind() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        apply(&*catalog, a_commit(1, 5)).unwrap();
        drop(catalog);
        let before = std::fs::read(folder.path().join(kind.file)).unwrap();
        assert_eq!(
            kind.open_to_read(folder.path()).unwrap().version(&version_id(1)).unwrap().unwrap().captures,
            5
        );
        assert_eq!(std::fs::read(folder.path().join(kind.file)).unwrap(), before);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

/// Rows are found by the number of their address; two addresses never share what they found.
#[test]
fn all_spellings_of_an_address_are_found() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        let spellings = ["https://h/a?x=1&y=2", "https://h/a?y=2&utm_source=z&x=1", "https://h/a?y=2&x=1"];
        let others = ["https://h/a", "https://h/a?x=1", "https://h/a?x=1&y=2&y=3", "https://h/ab?x=1&y=2"];
        let belongs = Belongs::Run(crate::histories::run_id(1));
        let mut rows = spellings.iter().chain(&others).map(|url| {
            let capture = a_capture_of(1, 0);
            let record = capture.record.unwrap();
            let id = Capture::derive_id(belongs, url, capture.time, &record);
            CatalogRow::Capture(Box::new(Capture { id, belongs, url: (*url).to_owned(), ..capture }))
        });
        catalog.apply(&mut rows).unwrap();
        let mut wanted = spellings.map(str::to_owned);
        wanted.sort_unstable();
        for asked in spellings.into_iter().chain(["https://H/a?utm_medium=m&y=2&x=1#top"]) {
            assert_eq!(catalog.spellings_of(asked).unwrap(), wanted);
        }
        assert_eq!(catalog.spellings_of(others[0]).unwrap(), ["https://h/a"]);
    }
}
