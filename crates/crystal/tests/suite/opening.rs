//! Opening for writing: every state that the fixtures are in is put in order, and nothing else is
//! touched.

use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use varve_crystal::{
    DatabaseReadMode, Error, MajorVersion, OpenOptions, OpenedProject, Project, ProjectMedium, ProjectWriter,
    RevisionId,
};

use crate::checklist::{Made, assert_acceptable};
use crate::fixture::{Scratch, bodies, expected, expected_bodies, files, lab};
use crate::reading::assert_tables;

fn open_and_close(scratch: &Scratch) -> varve_crystal::OpenReport {
    let writer = ProjectWriter::open(&scratch.path).unwrap();
    let report = writer.report().clone();
    writer.close().unwrap();
    report
}

#[test]
fn an_intact_project_stays_as_it_is_but_for_its_missing_icon() {
    for name in ["lab-v2", "lab-v1-flat", "lab-v2-hibernated"] {
        let Some(scratch) = lab(name) else { return };
        let mut before = files(&scratch.path);
        let report = open_and_close(&scratch);
        assert_eq!(report, varve_crystal::OpenReport::default());
        let mut after = files(&scratch.path);
        let database =
            |files: &mut BTreeMap<_, Vec<u8>>| files.remove(std::path::Path::new("database.sqlite")).unwrap();
        let (old, new) = (database(&mut before), database(&mut after));
        assert_eq!(after, before, "{name}");
        // Two counters and the version of SQLite change; the pages behind the first do not.
        assert_eq!(old[4096..], new[4096..], "{name}");
        assert_acceptable(&scratch.path, Made::ByCrystal);
    }
}

#[test]
fn an_older_schema_gets_what_it_lacks_as_from_crystal() {
    let Some(scratch) = lab("lab-v1-oldschema") else { return };
    let golden = lab("lab-v1-oldschema-migrated-by-crystal").unwrap();
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    assert_eq!(
        writer.report().upgraded.added,
        [
            "do_not_download",
            "request_cookie",
            "resource_revision__error_not_null",
            "resource_revision__request_cookie_not_null",
            "resource_revision__status_code",
            "alias"
        ]
    );
    assert_eq!(writer.version(), MajorVersion::Flat);
    writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).unwrap();
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByCrystal);
    assert_eq!(files(&scratch.at("revisions")), files(&golden.at("revisions")));
    let dump = |scratch: &Scratch| crate::reading::tables(&Project::open(&scratch.path).unwrap());
    assert_eq!(dump(&scratch), dump(&golden));
}

#[test]
fn every_stuck_state_is_completed() {
    let Some(expected) = expected() else { return };
    type Stuck = (&'static str, &'static str, fn(&Scratch));
    let stuck: [Stuck; 8] = [
        ("interrupted while moving", "lab-v1-migration-interrupted", |_| {}),
        ("interrupted after the version was set", "lab-v2-commit-interrupted", |_| {}),
        ("torn between the two renames", "lab-v2-commit-interrupted", |lab| {
            fs::rename(lab.at("revisions"), lab.at("tmp/revisions")).unwrap();
        }),
        ("torn, and the old folder gone", "lab-v2-commit-interrupted", |lab| {
            fs::remove_dir(lab.at("revisions")).unwrap();
        }),
        ("an earlier old folder in the way", "lab-v2-commit-interrupted", |lab| {
            fs::create_dir_all(lab.at("tmp/revisions")).unwrap();
            fs::write(lab.at("tmp/revisions/99"), "an orphan").unwrap();
        }),
        ("a body that did not get across", "lab-v2-commit-interrupted", |lab| {
            let body = lab.at("revisions.inprogress/000/000/000/000/001");
            fs::rename(body, lab.at("revisions/1")).unwrap();
        }),
        ("everything moved but the version", "lab-v1-migration-interrupted", |lab| {
            let tree = lab.at("revisions.inprogress/000/000/000/000");
            for entry in fs::read_dir(lab.at("revisions")).unwrap() {
                let entry = entry.unwrap();
                let id: u32 = entry.file_name().to_str().unwrap().parse().unwrap();
                fs::rename(entry.path(), tree.join(format!("{id:03x}"))).unwrap();
            }
            fs::remove_dir(lab.at("revisions")).unwrap();
        }),
        ("all bodies in what was to be deleted", "lab-v2", |lab| {
            fs::rename(lab.at("revisions"), lab.at("tmp/revisions")).unwrap();
        }),
    ];
    for (state, name, break_it) in stuck {
        let scratch = lab(name).unwrap();
        break_it(&scratch);
        let read = Project::open(&scratch.path).unwrap();
        assert_eq!(bodies(&read), (expected_bodies(&expected), vec![]), "reading: {state}");
        drop(read);
        let report = open_and_close(&scratch);
        assert!(report.resumed_migration.is_some(), "{state}");
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(project.version(), MajorVersion::Tree, "{state}");
        assert_tables(&project, &expected, &[]);
        assert_eq!(bodies(&project), (expected_bodies(&expected), vec![]), "{state}");
        drop(project);
        assert_acceptable(&scratch.path, Made::ByCrystal);
    }
}

#[test]
fn a_queued_move_to_packs_is_read_as_it_is() {
    let Some(scratch) = lab("lab-v2") else { return };
    scratch.sql(
        "UPDATE project_property SET value = '3' WHERE name = 'major_version';
                 INSERT INTO project_property VALUES ('major_version_old', '2')",
    );
    let project = Project::open(&scratch.path).unwrap();
    assert_eq!(project.version(), MajorVersion::Packed);
    assert_eq!(bodies(&project), (expected_bodies(&expected().unwrap()), vec![]));
}

#[test]
fn bodies_in_a_folder_marked_for_deletion_are_rescued() {
    let Some(scratch) = lab("lab-v2") else { return };
    let body = scratch.at("revisions/000/000/000/000/001");
    let content = fs::read(&body).unwrap();
    fs::create_dir(scratch.at("tmp/revisions")).unwrap();
    fs::rename(&body, scratch.at("tmp/revisions/1")).unwrap();
    fs::write(scratch.at("tmp/revisions/2"), "a second body 2").unwrap();
    fs::write(scratch.at("tmp/revisions/notes.txt"), "notes").unwrap();
    fs::write(scratch.at("tmp/abc.body"), "half a download").unwrap();
    fs::create_dir(scratch.at("tmp/folder")).unwrap();
    open_and_close(&scratch);
    assert_eq!(fs::read(&body).unwrap(), content);
    assert_eq!(fs::read(scratch.at("salvage/revision-2")).unwrap(), b"a second body 2");
    assert_eq!(fs::read(scratch.at("salvage/notes.txt")).unwrap(), b"notes");
    assert_eq!(fs::read_dir(scratch.at("tmp")).unwrap().count(), 0);
}

#[test]
fn the_last_revision_without_a_body_is_undone_as_crystal_does() {
    let Some(scratch) = lab("lab-v2-last-body-missing") else { return };
    let options = OpenOptions { keep_last_without_body: true, ..OpenOptions::default() };
    let kept = ProjectWriter::open_with(&scratch.path, options).unwrap();
    assert_eq!(
        (kept.report().undone_revision, kept.newest_revision().unwrap()),
        (None, Some(RevisionId(53)))
    );
    kept.close().unwrap();
    assert_eq!(open_and_close(&scratch).undone_revision, Some(RevisionId(53)));
    assert_eq!(Project::open(&scratch.path).unwrap().newest_revision().unwrap(), Some(RevisionId(52)));

    let unmounted = lab("lab-v2-last-body-missing").unwrap();
    fs::remove_file(unmounted.at("revisions/000/000/000/000/034")).unwrap();
    assert_eq!(open_and_close(&unmounted).undone_revision, None);
}

#[test]
fn missing_files_are_made_and_deleted_ones_stay_deleted() {
    let Some(scratch) = lab("lab-v1-oldschema") else { return };
    open_and_close(&scratch);
    assert_acceptable(&scratch.path, Made::ByUs);
    fs::remove_file(scratch.at("README.txt")).unwrap();
    fs::remove_dir_all(scratch.at("icons")).unwrap();
    fs::rename(scratch.at("OPEN ME.crystalopen"), scratch.at("mine.crystalopen")).unwrap();
    fs::write(scratch.at("desktop.ini"), "mine").unwrap();
    fs::remove_file(scratch.at(".directory")).unwrap();
    open_and_close(&scratch);
    for gone in ["README.txt", "icons", "OPEN ME.crystalopen"] {
        assert!(!scratch.at(gone).exists(), "{gone}");
    }
    assert_eq!(fs::read(scratch.at("desktop.ini")).unwrap(), b"mine");
    assert!(scratch.at(".directory").exists());
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let scratch = Scratch::empty();
    let mut writer = ProjectWriter::create(&scratch.path, Default::default()).unwrap();
    writer.add_root("a", "http://a.example/").unwrap();
    assert!(matches!(ProjectWriter::open(&scratch.path), Err(Error::Locked { .. })));
    let reader = Project::open(&scratch.path).unwrap();
    assert_eq!(reader.roots().count(), 1);
    writer.add_root("b", "http://b.example/").unwrap();
    assert_eq!(reader.roots().count(), 2);
    drop(reader);
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn a_project_that_is_open_in_crystal_is_not_opened_for_writing() {
    let scratch = Scratch::empty();
    ProjectWriter::create(&scratch.path, Default::default()).unwrap().close().unwrap();
    // Crystal keeps the database open in this mode.
    let crystal = Connection::open(scratch.at("database.sqlite")).unwrap();
    let mode: String = crystal.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    crystal.execute_batch("INSERT INTO resource (url) VALUES ('http://a.example/')").unwrap();
    assert!(matches!(ProjectWriter::open(&scratch.path), Err(Error::InUse { .. })));
    assert!(!scratch.at("varve.lock").exists());
    assert_eq!(Project::open(&scratch.path).unwrap().resources().count(), 1);
    drop(crystal);
    ProjectWriter::open(&scratch.path).unwrap().close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

/// A project whose last row is only in the log, as a crash leaves it.
fn with_leftover_log() -> Option<Scratch> {
    let scratch = lab("lab-v2")?;
    let other = Scratch::empty();
    let connection = Connection::open(scratch.at("database.sqlite")).unwrap();
    let _: String = connection.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    connection.execute_batch("INSERT INTO resource (id, url) VALUES (65, 'http://wal.example/')").unwrap();
    crate::fixture::copy_tree(&scratch.path, &other.path);
    fs::remove_file(other.at("database.sqlite-shm")).unwrap();
    assert!(fs::metadata(other.at("database.sqlite-wal")).unwrap().len() > 0);
    Some(other)
}

#[test]
fn a_log_that_a_crash_left_is_read_on_every_medium() {
    for medium in [ProjectMedium::ReadOnly, ProjectMedium::Unknown] {
        let Some(scratch) = with_leftover_log() else { return };
        let before = files(&scratch.path);
        let project = Project::open_on(&scratch.path, medium).unwrap();
        assert_eq!(project.reading(), DatabaseReadMode::Copy);
        assert_eq!(project.resources().count(), 65);
        drop(project);
        assert_eq!(files(&scratch.path), before);
        ProjectWriter::open(&scratch.path).unwrap().close().unwrap();
        assert_acceptable(&scratch.path, Made::ByCrystal);
        assert_eq!(Project::open(&scratch.path).unwrap().resources().count(), 65);
    }
}

#[test]
fn a_transaction_that_a_crash_cut_off_is_rolled_back_for_readers_too() {
    let Some(scratch) = lab("lab-v2") else { return };
    let cut_off = Scratch::empty();
    let connection = Connection::open(scratch.at("database.sqlite")).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; DELETE FROM resource_revision")
        .unwrap();
    for number in 0..2000 {
        let url = format!("http://junk.example/{number}/{}", "x".repeat(100));
        connection.execute("INSERT INTO resource (url) VALUES (?1)", [url]).unwrap();
    }
    crate::fixture::copy_tree(&scratch.path, &cut_off.path);
    drop(connection);
    assert!(fs::metadata(cut_off.at("database.sqlite-journal")).unwrap().len() > 512);
    for medium in [ProjectMedium::ReadOnly, ProjectMedium::Unknown] {
        let copy = cut_off.copy();
        let project = Project::open_on(&copy.path, medium).unwrap();
        assert_eq!((project.resources().count(), project.revisions().count()), (64, 53), "{medium:?}");
    }
    ProjectWriter::open(&cut_off.path).unwrap().close().unwrap();
    assert_acceptable(&cut_off.path, Made::ByCrystal);
}

#[test]
fn a_read_only_medium_is_opened_for_reading() {
    let Some(scratch) = lab("lab-v2") else { return };
    let options = OpenOptions { medium: ProjectMedium::ReadOnly, ..OpenOptions::default() };
    assert!(matches!(ProjectWriter::open_with(&scratch.path, options), Err(Error::ReadOnly { .. })));
    let project = Project::open_on(&scratch.path, ProjectMedium::ReadOnly).unwrap();
    assert_eq!(project.reading(), DatabaseReadMode::Immutable);
    assert_eq!(bodies(&project), (expected_bodies(&expected().unwrap()), vec![]));
    assert!(matches!(OpenedProject::open(&scratch.path).unwrap(), OpenedProject::Writing(_)));
}

#[test]
fn a_folder_that_is_no_project_is_refused() {
    let scratch = Scratch::empty();
    assert!(matches!(Project::open(&scratch.path), Err(Error::Absent { .. })));
    fs::create_dir(&scratch.path).unwrap();
    assert!(matches!(Project::open(&scratch.path), Err(Error::Incomplete { .. })));
    fs::create_dir(scratch.at("revisions")).unwrap();
    fs::write(scratch.at("database.sqlite"), "").unwrap();
    let Err(Error::Schema { what, .. }) = Project::open(&scratch.path) else { panic!("opened") };
    assert_eq!(what, "table `project_property`");
    fs::write(scratch.at("database.sqlite"), "this is not a database, whatever it is called".repeat(100))
        .unwrap();
    assert!(matches!(Project::open(&scratch.path), Err(Error::NotSqlite { .. })));
    assert!(matches!(ProjectWriter::open(&scratch.path), Err(Error::NotSqlite { .. })));
    assert!(!scratch.at("varve.lock").exists());
}

#[test]
fn invalid_versions_are_refused() {
    let scratch = Scratch::empty();
    ProjectWriter::create(&scratch.path, Default::default()).unwrap().close().unwrap();
    for (value, opens) in
        [("' 02 '", true), ("'abc'", false), ("'2.0'", false), ("NULL", false), ("'0'", false), ("''", false)]
    {
        scratch.sql(&format!("UPDATE project_property SET value = {value} WHERE name = 'major_version'"));
        match Project::open(&scratch.path) {
            Ok(_) => assert!(opens, "{value}"),
            Err(Error::BadVersion { .. }) => assert!(!opens, "{value}"),
            Err(error) => panic!("{value}: {error}"),
        }
    }
}
