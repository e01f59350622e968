//! States in which a project may be stuck, made here from projects of our own: each is read as it
//! is without a trace, and completed by the next writer, be it to migrate or to repair, without
//! losing a body.

use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use varve_crystal::{
    DatabaseReadMode, MajorVersion, MigrationStage, OpenOptions, PendingMigration, Project, ProjectWriter,
    RevisionId, SaveAsOptions, VerifyOptions, Watcher, tree_path,
};

use crate::checklist::{Made, assert_acceptable};
use crate::fixture::{Scratch, files};
use crate::made::{IDS, bodies, made_bodies};

/// A flat project of which `moved` bodies were moved into the tree, as a migration does it.
fn half_migrated(moved: usize) -> Scratch {
    let scratch = Scratch::made(MajorVersion::Flat);
    fs::create_dir(scratch.at("revisions.inprogress")).unwrap();
    for id in IDS.into_iter().take(moved) {
        let to = scratch.at("revisions.inprogress").join(tree_path(RevisionId(id)).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(scratch.at("revisions").join(id.to_string()), to).unwrap();
    }
    scratch
}

fn set_version(scratch: &Scratch, version: u8) {
    scratch.sql(&format!("UPDATE project_property SET value = '{version}' WHERE name = 'major_version'"));
}

/// All bodies were moved and the version was set; nothing else.
fn commit_interrupted() -> Scratch {
    let scratch = half_migrated(IDS.len());
    set_version(&scratch, 2);
    scratch
}

/// Stopped between the two renames with which Crystal ends a migration: it never opens such a
/// project again.
fn commit_torn() -> Scratch {
    let scratch = commit_interrupted();
    fs::create_dir_all(scratch.at("tmp")).unwrap();
    fs::rename(scratch.at("revisions"), scratch.at("tmp/revisions")).unwrap();
    scratch
}

/// Torn, with the rest of the flat folder emptied by the next program.
fn commit_torn_and_emptied() -> Scratch {
    let scratch = commit_torn();
    fs::remove_dir(scratch.at("tmp/revisions")).unwrap();
    scratch
}

/// A migration was requested, which Crystal records by creating the folder, and has not begun.
fn migration_queued() -> Scratch {
    half_migrated(0)
}

fn migration_interrupted() -> Scratch {
    half_migrated(5)
}

/// The old folder of an earlier try is in the way: Crystal fails on every open.
fn old_folder_in_the_way() -> Scratch {
    let scratch = commit_interrupted();
    fs::create_dir_all(scratch.at("tmp/revisions")).unwrap();
    fs::rename(
        scratch.at("revisions.inprogress").join(tree_path(RevisionId(1)).unwrap()),
        scratch.at("tmp/revisions/1"),
    )
    .unwrap();
    scratch
}

/// A state by its name, and how to make a project that is in it.
type State = (&'static str, fn() -> Scratch);

const STATES: [State; 6] = [
    ("migration queued", migration_queued),
    ("migration interrupted", migration_interrupted),
    ("commit interrupted", commit_interrupted),
    ("commit torn", commit_torn),
    ("commit torn and emptied", commit_torn_and_emptied),
    ("old folder in the way", old_folder_in_the_way),
];

/// The number of copies of every body in a project's folder, with those in `salvage`.
fn contents(scratch: &Scratch) -> BTreeMap<Vec<u8>, usize> {
    let mut found = BTreeMap::new();
    for (_, bytes) in files(&scratch.path).into_iter().filter(|(path, _)| is_body(path)) {
        *found.entry(bytes).or_insert(0) += 1;
    }
    found
}

fn is_body(path: &Path) -> bool {
    ["revisions", "revisions.inprogress", "tmp", "salvage"].iter().any(|folder| path.starts_with(folder))
}

fn assert_whole(scratch: &Scratch, state: &str) {
    let project = Project::open(&scratch.path).unwrap();
    assert_eq!(project.version(), MajorVersion::Tree, "{state}");
    assert_eq!(bodies(&project), made_bodies(), "{state}");
    let all = VerifyOptions { check_database: true, read_bodies: true };
    assert_eq!(project.verify(all, &mut |finding| panic!("{state}: {finding}")).unwrap().findings, 0);
    drop(project);
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn each_state_is_read_without_changes() {
    for (state, make) in STATES {
        let scratch = make();
        let before = files(&scratch.path);
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(bodies(&project), made_bodies(), "{state}");
        drop(project);
        assert_eq!(files(&scratch.path), before, "{state}");
    }
}

#[test]
fn each_state_is_completed_by_migrating() {
    for (state, make) in STATES {
        let scratch = make();
        let before = contents(&scratch);
        let mut writer = ProjectWriter::open(&scratch.path).unwrap();
        writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).unwrap();
        writer.close().unwrap();
        assert_eq!(contents(&scratch), before, "{state}");
        assert_whole(&scratch, state);
    }
}

#[test]
fn each_state_is_completed_by_repairing() {
    for (state, make) in STATES {
        let scratch = make();
        let before = contents(&scratch);
        let mut writer = ProjectWriter::open(&scratch.path).unwrap();
        let repaired = writer.repair(&mut |finding, repair| panic!("{state}: {finding} {repair:?}")).unwrap();
        assert_eq!(repaired.before.findings, 0, "{state}: opening puts it in order");
        writer.close().unwrap();
        assert_eq!(contents(&scratch), before, "{state}");
        assert_whole(&scratch, state);
    }
}

#[test]
fn each_state_survives_a_stop_at_every_step_of_its_completion() {
    for (state, make) in STATES {
        let original = make();
        let before = contents(&original);
        for steps in 0.. {
            let scratch = original.copy();
            let (watcher, was_stopped) = stop_after(steps);
            let options = OpenOptions { watcher: Some(watcher), ..OpenOptions::default() };
            drop(ProjectWriter::open_with(&scratch.path, options));
            assert_eq!(contents(&scratch), before, "{state}, after {steps} steps");
            assert_eq!(bodies(&Project::open(&scratch.path).unwrap()), made_bodies(), "{state}, {steps}");
            ProjectWriter::open(&scratch.path)
                .unwrap()
                .migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(()))
                .unwrap();
            assert_whole(&scratch, state);
            if !was_stopped.load(Ordering::SeqCst) {
                assert!(steps > 0, "{state}: nothing was stopped");
                break;
            }
        }
    }
}

/// Stops after `steps` changes of files. Returns whether that many happened.
fn stop_after(steps: usize) -> (Watcher, Arc<AtomicBool>) {
    let (taken, stopped) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let told = Arc::clone(&stopped);
    let watcher: Watcher = Arc::new(move |_| {
        if taken.fetch_add(1, Ordering::SeqCst) < steps {
            return Ok(());
        }
        told.store(true, Ordering::SeqCst);
        Err(std::io::Error::other("stopped"))
    });
    (watcher, stopped)
}

/// A move to packs was requested: the marker is set, and nothing is packed.
#[test]
fn a_queued_move_to_packs_is_read_and_completed_by_the_next_writer() {
    let scratch = Scratch::made(MajorVersion::Tree);
    set_version(&scratch, 3);
    scratch.sql("INSERT INTO project_property VALUES ('major_version_old', '2')");
    let before = files(&scratch.path);
    let project = Project::open(&scratch.path).unwrap();
    assert_eq!((project.version(), bodies(&project)), (MajorVersion::Packed, made_bodies()));
    let queued = PendingMigration { to: MajorVersion::Packed, stage: MigrationStage::Queued };
    assert_eq!(project.quick_info().unwrap().migration, Some(queued));
    drop(project);
    assert_eq!(files(&scratch.path), before);
    let writer = ProjectWriter::open(&scratch.path).unwrap();
    assert_eq!(writer.report().resumed_migration.unwrap().moved, 11);
    assert_eq!((writer.pending_migration().unwrap(), bodies(&writer)), (None, made_bodies()));
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

/// A project whose last row is only in the log, as a killed program leaves it; with the log's index
/// or without.
fn with_leftover_log(keeps_index: bool) -> Scratch {
    let scratch = Scratch::made(MajorVersion::Tree);
    let left = Scratch::empty();
    let connection = Connection::open(scratch.at("database.sqlite")).unwrap();
    let _: String = connection.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    connection.execute_batch("INSERT INTO resource (url) VALUES ('http://wal.example/')").unwrap();
    crate::fixture::copy_tree(&scratch.path, &left.path);
    if !keeps_index {
        fs::remove_file(left.at("database.sqlite-shm")).unwrap();
    }
    assert!(fs::metadata(left.at("database.sqlite-wal")).unwrap().len() > 0);
    left
}

#[test]
fn a_leftover_log_is_read_without_a_trace_and_merged_by_a_writer() {
    for (keeps_index, reading) in [(true, DatabaseReadMode::Live), (false, DatabaseReadMode::Copy)] {
        let scratch = with_leftover_log(keeps_index);
        let before = files(&scratch.path);
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(project.reading(), reading);
        assert_eq!((project.resources().count(), bodies(&project)), (2, made_bodies()));
        drop(project);
        assert_eq!(files(&scratch.path), before, "with its index: {keeps_index}");
        ProjectWriter::open(&scratch.path).unwrap().close().unwrap();
        assert!(!scratch.at("database.sqlite-wal").exists());
        assert_eq!(Project::open(&scratch.path).unwrap().resources().count(), 2);
        assert_whole(&scratch, "leftover log");
    }
}

#[test]
fn a_reader_without_locks_notices_a_write() {
    let at_rest = Scratch::made(MajorVersion::Tree);
    at_rest.sql("PRAGMA journal_mode = wal");
    for scratch in [at_rest, with_leftover_log(false)] {
        let project = Project::open(&scratch.path).unwrap();
        assert_ne!(project.reading(), DatabaseReadMode::Live);
        assert!(!project.is_behind());
        let mut writer = ProjectWriter::open(project.path()).unwrap();
        writer.add_resource("http://later.example/").unwrap();
        assert!(project.is_behind());
        let again = Project::open(project.path()).unwrap();
        assert_eq!((again.reading(), again.is_behind()), (DatabaseReadMode::Live, false));
        assert!(again.resources().any(|resource| resource.unwrap().url == "http://later.example/"));
    }
}

/// A program was killed when it had begun a log and written nothing to it.
#[test]
fn an_empty_log_does_not_prevent_opening() {
    for (keeps_index, reading) in [(true, DatabaseReadMode::Live), (false, DatabaseReadMode::Immutable)] {
        let scratch = with_leftover_log(keeps_index);
        fs::File::options().write(true).open(scratch.at("database.sqlite-wal")).unwrap().set_len(32).unwrap();
        let names = |scratch: &Scratch| files(&scratch.path).into_keys().collect::<Vec<_>>();
        let before = names(&scratch);
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(project.reading(), reading);
        assert_eq!((project.resources().count(), bodies(&project)), (1, made_bodies()));
        drop(project);
        assert_eq!(names(&scratch), before);
        ProjectWriter::open(&scratch.path).unwrap().close().unwrap();
        assert_whole(&scratch, "a log that was only begun");
    }
}

/// A database in WAL mode whose empty log was removed.
#[test]
fn a_database_that_is_used_with_a_log_gets_none_from_a_reader() {
    let scratch = Scratch::made(MajorVersion::Tree);
    scratch.sql("PRAGMA journal_mode = wal");
    assert!(!scratch.at("database.sqlite-wal").exists());
    for empty_log in [false, true] {
        if empty_log {
            fs::write(scratch.at("database.sqlite-wal"), "").unwrap();
        }
        let before = files(&scratch.path);
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(project.reading(), DatabaseReadMode::Immutable);
        assert_eq!((project.resources().count(), bodies(&project)), (1, made_bodies()));
        drop(project);
        assert_eq!(files(&scratch.path), before);
    }
    ProjectWriter::open(&scratch.path).unwrap().close().unwrap();
    assert_whole(&scratch, "left with a log");
}

/// Where a migration stopped, bodies may be in `tmp`, which is not copied from a whole project.
#[test]
fn a_copy_of_each_state_has_every_body() {
    for (state, make) in STATES {
        let scratch = make();
        let before = files(&scratch.path);
        let target = Scratch::empty();
        let project = Project::open(&scratch.path).unwrap();
        project.save_as(&target.path, SaveAsOptions::default()).unwrap();
        drop(project);
        assert_eq!(files(&scratch.path), before, "{state}: the original was changed");
        assert_eq!(bodies(&Project::open(&target.path).unwrap()), made_bodies(), "{state}");
        if state.contains("torn") || state.contains("in the way") {
            assert_whole(&target, state);
        }
    }
}
