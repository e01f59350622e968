//! Readers beside a writer, and files that are locked, foreign, damaged or cannot be written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use varve_catalog::SqliteCatalog;
use varve_core::catalog::{Catalog, CatalogError, CatalogRow, dump_rows};
use varve_core::history::{ListCursor, VersionFilter};
use varve_moku::{MokuCatalog, MokuOptions};
use varve_testkit::TinyDisk;
use varve_testkit::contract::catalog::histories::{version_id, version_with_captures};

use crate::{DATABASE_KINDS, DatabaseKind};

fn apply(catalog: &dyn Catalog, rows: Vec<CatalogRow>) -> Result<(), CatalogError> {
    catalog.apply(&mut rows.into_iter())
}

/// A reader sees only whole batches, through its own handle and through the writer's.
#[test]
fn readers_beside_a_writer_see_whole_batches() {
    for kind in DATABASE_KINDS {
        let folder = tempfile::tempdir().unwrap();
        let writer = kind.open(folder.path());
        apply(&*writer, version_with_captures(0, 50)).unwrap();
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
                apply(&*writer, version_with_captures(which, 50)).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(reader.versions(&VersionFilter::default(), ListCursor::first(100)).unwrap().len(), 6);
    }
}

#[test]
fn a_locked_database_is_busy() {
    for kind in DATABASE_KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        let other = Connection::open(folder.path().join(kind.file)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = apply(&*catalog, version_with_captures(1, 1)).unwrap_err();
        assert!(matches!(error, CatalogError::Busy { .. }), "{error}");
        assert!(catalog.version(&version_id(1)).unwrap().is_none(), "readers do not wait");
        other.execute_batch("ROLLBACK").unwrap();
        apply(&*catalog, version_with_captures(1, 1)).unwrap();
    }
}

/// Asserts that opening fails with these words. `is_newer` says whether the file is too new, or
/// foreign.
fn expect_refused(kind: &DatabaseKind, folder: &Path, is_newer: bool, words: &str) {
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
fn a_foreign_file_is_refused_and_not_changed() {
    for kind in DATABASE_KINDS {
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
    for kind in DATABASE_KINDS {
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
fn a_catalog_of_an_earlier_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let kind = &DATABASE_KINDS[0];
    drop(kind.open(folder.path()));
    let file = folder.path().join(kind.file);
    for earlier in 1..6 {
        Connection::open(&file).unwrap().pragma_update(None, "user_version", earlier).unwrap();
        let refused = kind.open_to_read(folder.path()).err().unwrap();
        assert!(matches!(refused, CatalogError::Older { format, .. } if format == earlier), "{refused}");
    }
}

#[test]
fn a_missing_file_is_not_created_by_a_reader() {
    for kind in DATABASE_KINDS {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(kind.open_to_read(folder.path()).err().unwrap(), CatalogError::Database { .. }));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it is not created");
    }
}

/// Overwrites each page of the file in turn: reading gives an error or an answer, and never panics.
#[test]
fn a_damaged_file_is_an_error() {
    for kind in DATABASE_KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        (0..6).for_each(|which| apply(&*catalog, version_with_captures(which, 25)).unwrap());
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

fn read_everything(kind: &DatabaseKind, database: &[u8]) -> Result<(), CatalogError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(kind.file), database).unwrap();
    let catalog = kind.open_to_read(folder.path())?;
    dump_rows(catalog.as_read(), &mut |_| Ok(()))?;
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
        Box::new(MokuCatalog::open_to_read(&moku).unwrap().into_tables()),
    ];
    for reader in readers {
        assert!(matches!(apply(&*reader, version_with_captures(1, 1)), Err(CatalogError::ReadOnly { .. })));
    }
}

/// On a read-only disk SQLite cannot make its shared memory. The database can be read.
#[test]
fn a_read_only_folder_is_read() {
    use std::os::unix::fs::PermissionsExt;
    for kind in DATABASE_KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        apply(&*catalog, version_with_captures(1, 5)).unwrap();
        drop(catalog);
        let set =
            |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o555);
        let forbidden = std::fs::write(folder.path().join("probe"), b"").is_err();
        let read = kind.open_to_read(folder.path()).and_then(|catalog| catalog.version(&version_id(1)));
        let written =
            kind.try_open(folder.path()).and_then(|catalog| apply(&*catalog, version_with_captures(2, 1)));
        set(0o755);
        assert_eq!(read.unwrap().unwrap().captures, 5);
        // Root can write anywhere.
        assert_eq!(written.is_err(), forbidden);
    }
}

/// On a full disk the database is read as immutable. When a process writes, the reader sees the new
/// rows, and no answer mixes two states.
#[test]
fn a_full_disk_is_read() {
    for kind in DATABASE_KINDS {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = TinyDisk::mount(folder.path(), 4096) else { return };
        apply(&*kind.open(disk.path()), version_with_captures(1, 5)).unwrap();
        disk.fill(0).unwrap();
        let full =
            kind.try_open(disk.path()).and_then(|catalog| apply(&*catalog, version_with_captures(2, 1)));
        assert!(matches!(full, Err(CatalogError::DiskFull { .. })), "{full:?}");
        let reader = kind.open_to_read(disk.path()).unwrap();
        assert_eq!(reader.version(&version_id(1)).unwrap().unwrap().captures, 5);
        disk.free().unwrap();
        let mut written = false;
        let read = reader.each_body(&mut |_| {
            if !std::mem::replace(&mut written, true) {
                apply(&*kind.open(disk.path()), version_with_captures(2, 3)).unwrap();
            }
            Ok(())
        });
        assert!(matches!(read, Err(CatalogError::Busy { .. })), "{read:?}");
        assert_eq!(reader.version(&version_id(2)).unwrap().unwrap().captures, 3);
    }
}

#[test]
fn a_log_on_a_full_disk_is_an_error() {
    for kind in DATABASE_KINDS {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let Some(disk) = TinyDisk::mount(folder.path(), 4096) else { return };
        let catalog = kind.open(other.path());
        apply(&*catalog, version_with_captures(1, 5)).unwrap();
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

/// A reader leaves the folder as it was.
#[test]
fn reading_leaves_no_files_behind() {
    for kind in DATABASE_KINDS {
        let folder = tempfile::tempdir().unwrap();
        let catalog = kind.open(folder.path());
        apply(&*catalog, version_with_captures(1, 5)).unwrap();
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
