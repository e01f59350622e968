//! A migration that is stopped before any of its steps loses nothing, and each program can go on
//! with it.

use proptest::prelude::*;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_crystal::{
    DownloadOutcome, Error, MajorVersion, NewRevision, OpenOptions, Project, ProjectWriter, RevisionId,
    Watcher, tree_path,
};

use crate::checklist::{Made, assert_acceptable};
use crate::fixture::{Scratch, expected, expected_bodies, files, lab};
use crate::made::{FAILED, IDS, ORPHAN, bodies, content, made_bodies};

/// A project of version 1 with an orphan, a stray file and a stray folder among its bodies.
fn flat_project() -> Scratch {
    let scratch = Scratch::made(MajorVersion::Flat);
    fs::write(scratch.at("revisions").join(ORPHAN.to_string()), content(ORPHAN)).unwrap();
    fs::write(scratch.at("revisions/.DS_Store"), "finder").unwrap();
    fs::create_dir(scratch.at("revisions/mine")).unwrap();
    fs::write(scratch.at("revisions/mine/file"), "mine").unwrap();
    scratch
}

/// Stops everything before the step with this number, counted from 0.
fn stop_before(step: usize) -> (Watcher, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let watcher: Watcher = Arc::new(move |_| {
        if seen.fetch_add(1, Ordering::SeqCst) >= step { Err(io::Error::other("stop")) } else { Ok(()) }
    });
    (watcher, count)
}

/// Opens and migrates, stopped before a step. Returns whether the migration was finished.
fn migrate_until(path: &Path, step: usize) -> bool {
    let options = OpenOptions { watcher: Some(stop_before(step).0), ..OpenOptions::default() };
    let done = ProjectWriter::open_with(path, options)
        .and_then(|mut writer| writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())));
    done.is_ok()
}

fn migrate_to_the_end(path: &Path) {
    let mut writer = ProjectWriter::open(path).unwrap();
    writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).unwrap();
    writer.close().unwrap();
}

fn assert_nothing_lost(path: &Path, state: &str) {
    let project = Project::open(path).unwrap();
    assert_eq!(bodies(&project), made_bodies(), "{state}");
    let mut orphan =
        project.body(RevisionId(ORPHAN)).unwrap().unwrap_or_else(|| panic!("{state}: orphan lost"));
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut orphan, &mut bytes).unwrap();
    assert_eq!(bytes, content(ORPHAN), "{state}");
    let kept = files(path);
    for (content, name) in [(&b"finder"[..], ".DS_Store"), (b"mine", "mine/file")] {
        assert!(kept.values().any(|found| found == content), "{state}: {name} lost");
    }
}

fn assert_migrated(scratch: &Scratch, state: &str) {
    assert_nothing_lost(&scratch.path, state);
    assert_eq!(Project::open(&scratch.path).unwrap().version(), MajorVersion::Tree, "{state}");
    assert_acceptable(&scratch.path, Made::ByUs);
    let mut expected: Vec<_> =
        IDS.into_iter().chain([ORPHAN]).map(|id| tree_path(RevisionId(id)).unwrap()).collect();
    expected.sort();
    let found: Vec<_> = files(&scratch.at("revisions")).into_keys().collect();
    assert_eq!(found, expected, "{state}");
    assert_eq!(fs::read(scratch.at("salvage/.DS_Store")).unwrap(), b"finder", "{state}");
    assert_eq!(fs::read(scratch.at("salvage/mine/file")).unwrap(), b"mine", "{state}");
}

/// What Crystal does when it opens a project for writing, as far as bodies are concerned, up to a
/// number of renames.
fn open_like_crystal(path: &Path, mut renames: usize) -> io::Result<()> {
    let (revisions, in_progress, tmp) =
        (path.join("revisions"), path.join("revisions.inprogress"), path.join("tmp"));
    let mut rename = |from: &Path, to: &Path| {
        renames = renames.checked_sub(1).ok_or_else(|| io::Error::other("killed"))?;
        fs::rename(from, to)
    };
    if !revisions.is_dir() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let database = rusqlite::Connection::open(path.join("database.sqlite")).unwrap();
    let version = "SELECT value FROM project_property WHERE name = 'major_version'";
    if database.query_row(version, [], |row| row.get::<_, String>(0)).unwrap() == "1" {
        fs::create_dir_all(&in_progress)?;
        let mut ids = database.prepare("SELECT id FROM resource_revision ORDER BY id").unwrap();
        for id in ids.query_map([], |row| row.get(0).map(RevisionId)).unwrap() {
            let id = id.unwrap();
            let to = in_progress.join(tree_path(id).unwrap());
            fs::create_dir_all(to.parent().unwrap())?;
            match rename(&revisions.join(id.to_string()), &to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        database.execute("UPDATE project_property SET value = '2' WHERE name = 'major_version'", []).unwrap();
    }
    if in_progress.is_dir() {
        rename(&revisions, &tmp.join("revisions"))?;
        rename(&in_progress, &revisions)?;
    }
    for entry in fs::read_dir(&tmp)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

#[test]
fn a_migration_stopped_before_any_step_loses_nothing_and_is_resumed() {
    let original = flat_project();
    let mut step = 0;
    loop {
        let state = format!("step {step}");
        let scratch = original.copy();
        let done = migrate_until(&scratch.path, step);
        assert_nothing_lost(&scratch.path, &state);
        let crystal = scratch.copy();
        migrate_to_the_end(&scratch.path);
        assert_migrated(&scratch, &state);
        if !done {
            open_like_crystal(&crystal.path, usize::MAX)
                .unwrap_or_else(|error| panic!("{state}: Crystal refuses: {error}"));
            assert_eq!(
                bodies(&Project::open(&crystal.path).unwrap()),
                made_bodies(),
                "{state}: after Crystal"
            );
        }
        if done {
            break;
        }
        step += 1;
    }
    assert!(step > IDS.len() + 10, "only {step} steps");
}

#[test]
fn a_database_step_of_the_migration_is_all_or_nothing() {
    let original = flat_project();
    let scratch = original.copy();
    let watcher: Watcher = Arc::new(|step| match step {
        varve_crystal::DiskStep::Commit("major version") => Err(io::Error::other("stop")),
        _ => Ok(()),
    });
    let mut writer =
        ProjectWriter::open_with(&scratch.path, OpenOptions { watcher: Some(watcher), ..Default::default() })
            .unwrap();
    writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).unwrap_err();
    drop(writer);
    assert_eq!(Project::open(&scratch.path).unwrap().version(), MajorVersion::Flat);
    assert!(scratch.at("revisions.inprogress").is_dir());
    assert_nothing_lost(&scratch.path, "before the commit");
}

#[test]
fn a_stopped_migration_is_resumed_by_the_next_open() {
    let scratch = flat_project();
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let stopped = writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Interrupted { .. })));
    writer.close().unwrap();
    assert_nothing_lost(&scratch.path, "broken off");
    let mut told = Vec::new();
    let mut on_progress = |progress: varve_crystal::MigrationProgress| {
        told.push(progress);
        ControlFlow::Continue(())
    };
    let options = OpenOptions { on_progress: Some(&mut on_progress), ..Default::default() };
    let writer = ProjectWriter::open_with(&scratch.path, options).unwrap();
    assert_eq!(writer.report().resumed_migration.unwrap().moved, IDS.len() as u64 + 1);
    writer.close().unwrap();
    let last = told.last().unwrap();
    assert_eq!((last.moved, last.expected), (IDS.len() as u64 + 1, 0x100_0000));
    assert_migrated(&scratch, "resumed");
}

#[test]
fn a_migrated_fixture_is_the_one_that_crystal_migrated() {
    let Some(scratch) = lab("lab-v1-flat") else { return };
    let golden = lab("lab-v1-migrated-by-crystal").unwrap();
    migrate_to_the_end(&scratch.path);
    assert_eq!(files(&scratch.at("revisions")), files(&golden.at("revisions")));
    let project = Project::open(&scratch.path).unwrap();
    crate::reading::assert_tables(&project, &expected().unwrap(), &[]);
    assert_eq!(crate::fixture::bodies(&project).0, expected_bodies(&expected().unwrap()));
    let properties =
        |path: &Path| Project::open(path).unwrap().properties().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(properties(&scratch.path), properties(&golden.path));
    drop(project);
    assert_acceptable(&scratch.path, Made::ByCrystal);
    let before = files(&scratch.path);
    assert_eq!(
        ProjectWriter::open(&scratch.path)
            .unwrap()
            .migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .moved,
        0
    );
    assert_eq!(files(&scratch.path).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
}

#[test]
fn ids_past_the_tree_keep_a_project_flat() {
    let scratch = Scratch::made(MajorVersion::Flat);
    scratch.sql("INSERT INTO resource_revision (id, resource_id, error, metadata) VALUES (1152921504606846976, 1, 'null', 'null')");
    fs::write(scratch.at("revisions/1152921504606846976"), "far").unwrap();
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let refused = writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::TooManyRevisions { id: 1_152_921_504_606_846_976, .. })));
    assert!(!scratch.at("revisions.inprogress").exists());
    assert_eq!(writer.body_length(RevisionId(1 << 60)).unwrap(), Some(3));
}

#[test]
fn a_reader_keeps_the_bodies_where_they_are() {
    let scratch = flat_project();
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let reader = Project::open(&scratch.path).unwrap();
    assert!(matches!(
        writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())),
        Err(Error::InUse { .. })
    ));
    assert!(!scratch.at("revisions.inprogress").exists());
    assert_eq!(bodies(&reader), made_bodies());
    drop(reader);
    writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(writer.version(), MajorVersion::Tree);
    assert_eq!(bodies(&writer), made_bodies());
}

/// Crystal migrates a project of version 1 when it opens it, also while a capture writes to it.
#[test]
fn a_writer_follows_a_crystal_that_migrates_the_project_under_it() {
    let scratch = Scratch::made(MajorVersion::Flat);
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let page = writer.resources().next().unwrap().unwrap().id;
    let add = |writer: &mut ProjectWriter, bytes: &[u8]| {
        let mut body = writer.begin_body().unwrap();
        io::Write::write_all(&mut body, bytes).unwrap();
        let outcome = DownloadOutcome::Fetched { metadata: None, body };
        let new = NewRevision { id: None, resource: page, request_cookie: None, outcome };
        writer.add_revision(new).unwrap().get()
    };
    let mut expected = made_bodies();
    expected.insert(add(&mut writer, b"before"), b"before".to_vec());
    // Crystal has listed the rows.
    fs::create_dir(scratch.at("revisions.inprogress")).unwrap();
    expected.insert(add(&mut writer, b"during"), b"during".to_vec());
    open_like_crystal(&scratch.path, usize::MAX).unwrap();
    expected.insert(add(&mut writer, b"after"), b"after".to_vec());
    assert_eq!((writer.version(), bodies(&writer)), (MajorVersion::Tree, expected.clone()));
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
    assert_eq!(bodies(&Project::open(&scratch.path).unwrap()), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn stopped_any_number_of_times_nothing_is_lost(stops in prop::collection::vec(0_usize..60, 1..6)) {
        let scratch = flat_project();
        for step in &stops {
            migrate_until(&scratch.path, *step);
            assert_nothing_lost(&scratch.path, &format!("{stops:?}"));
        }
        migrate_to_the_end(&scratch.path);
        assert_migrated(&scratch, &format!("{stops:?}"));
        assert_eq!(FAILED.len() + IDS.len(), Project::open(&scratch.path).unwrap().revisions().count());
    }

    /// Crystal deletes what no row names, and gives up on what it tore itself; the bodies of rows
    /// survive both.
    #[test]
    fn stopped_in_turn_with_crystal_no_body_of_a_row_is_lost(
        stops in prop::collection::vec((0_usize..40, any::<bool>()), 1..6)
    ) {
        let scratch = flat_project();
        for (step, is_crystal) in &stops {
            match is_crystal {
                true => drop(open_like_crystal(&scratch.path, *step)),
                false => drop(migrate_until(&scratch.path, *step)),
            }
            assert_eq!(bodies(&Project::open(&scratch.path).unwrap()), made_bodies(), "{stops:?}");
        }
        migrate_to_the_end(&scratch.path);
        assert_eq!(bodies(&Project::open(&scratch.path).unwrap()), made_bodies(), "{stops:?}");
        assert_acceptable(&scratch.path, Made::ByUs);
    }
}
