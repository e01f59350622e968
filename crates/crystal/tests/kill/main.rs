//! Real deaths: a process of its own is killed before each step of what it does, and the project is
//! looked at.
//!
//! In the suite a stopped disk stands for a death; here SIGKILL does, so that nothing is tidied up
//! on the way out, by us or by SQLite. Each operation is run to its end once, to count its steps,
//! and then killed before each.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says by panicking that something is not so"
)]

#[path = "../made/mod.rs"]
mod made;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use varve_crystal::{
    CreateOptions, DownloadOutcome, MajorVersion, NewRevision, OpenOptions, Project, ProjectWriter,
    RevisionId, SaveAsOptions, Watcher,
};
use varve_testkit::{memory_folder, sum_in_parallel};

/// What a child does, and what the parent checks after its death.
struct Operation {
    name: &'static str,
    /// Makes what the child begins with.
    prepare: fn(&Path),
    /// What the child does, in a folder, watched.
    run: fn(&Path, Watcher),
    /// Asserts what must hold after a kill at any step. The argument is whether the work was
    /// finished.
    check: fn(&Path, bool),
}

const OPERATIONS: [Operation; 6] = [
    Operation { name: "migrate", prepare: make_flat, run: migrate, check: check_migrated },
    Operation { name: "add", prepare: make_tree, run: add, check: check_added },
    Operation { name: "pack", prepare: make_packed, run: pack, check: check_packed },
    Operation {
        name: "migrate-to-packs",
        prepare: make_tree,
        run: migrate_to_packs,
        check: check_migrated_to_packs,
    },
    Operation { name: "create", prepare: |_| {}, run: create, check: check_created },
    Operation { name: "save-as", prepare: make_tree, run: save_as, check: check_saved },
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, name, home, step] = arguments.as_slice()
        && child == "child"
    {
        let operation = OPERATIONS.iter().find(|operation| operation.name == name).unwrap();
        return (operation.run)(Path::new(home), kill_before(step.parse().unwrap()));
    }
    let kills = sum_in_parallel(&OPERATIONS, kill_before_each_step);
    let kills = kills + sum_in_parallel(&OPERATIONS[..4], kill_at_any_time);
    println!("{kills} kills, nothing lost");
    assert!(kills > 80, "only {kills}");
}

/// Kills this process before the step with this number, counted from 0.
fn kill_before(step: usize) -> Watcher {
    let count = AtomicUsize::new(0);
    Arc::new(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) == step {
            die();
        }
        Ok(())
    })
}

fn die() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::thread::park();
}

fn kill_before_each_step(operation: &Operation) -> usize {
    let mut step = 0;
    loop {
        let home = memory_folder();
        (operation.prepare)(home.path());
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.arg("child").arg(operation.name).arg(home.path()).arg(step.to_string());
        let done = child.status().unwrap().success();
        (operation.check)(home.path(), done);
        if done {
            println!("{}: killed before each of {step} steps", operation.name);
            return step;
        }
        step += 1;
    }
}

/// Kills the child at random moments. Returns how often it was killed before it ended.
fn kill_at_any_time(operation: &Operation) -> usize {
    let mut kills = 0;
    for wait in (0..60).map(|turn| Duration::from_micros(turn * 300)) {
        let home = memory_folder();
        (operation.prepare)(home.path());
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.arg("child").arg(operation.name).arg(home.path()).arg(usize::MAX.to_string());
        let mut child = child.spawn().unwrap();
        std::thread::sleep(wait);
        let _ = child.kill();
        let done = child.wait().unwrap().success();
        (operation.check)(home.path(), done);
        kills += usize::from(!done);
    }
    println!("{}: killed {kills} times at any moment", operation.name);
    kills
}

fn project(home: &Path) -> PathBuf {
    home.join("lab.crystalproj")
}

fn options(watcher: Watcher) -> OpenOptions<'static> {
    OpenOptions { watcher: Some(watcher), ..OpenOptions::default() }
}

fn make_flat(home: &Path) {
    made::make(&project(home), MajorVersion::Flat);
    std::fs::write(
        project(home).join("revisions").join(made::ORPHAN.to_string()),
        made::content(made::ORPHAN),
    )
    .unwrap();
}

fn make_tree(home: &Path) {
    made::make(&project(home), MajorVersion::Tree);
}

fn migrate(home: &Path, watcher: Watcher) {
    let mut writer = ProjectWriter::open_with(project(home), options(watcher)).unwrap();
    writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).unwrap();
    writer.close().unwrap();
}

fn check_migrated(home: &Path, done: bool) {
    let path = project(home);
    let reader = Project::open(&path).unwrap();
    assert_eq!(made::bodies(&reader), made::made_bodies());
    assert!(reader.body_length(RevisionId(made::ORPHAN)).unwrap().is_some());
    assert!(!done || reader.version() == MajorVersion::Tree);
    drop(reader);
    migrate(home, Arc::new(|_| Ok(())));
    let reader = Project::open(&path).unwrap();
    assert_eq!((reader.version(), reader.pending_migration().unwrap()), (MajorVersion::Tree, None));
    assert_eq!(made::bodies(&reader), made::made_bodies());
    assert!(!path.join("varve.lock").exists());
}

/// The revision that the child adds is the next one.
const NEW: i64 = 0x100_0001;
/// The revision that completes the pack of that one.
const LAST_NEW: i64 = 0x100_000f;

fn add(home: &Path, watcher: Watcher) {
    let mut writer = ProjectWriter::open_with(project(home), options(watcher)).unwrap();
    let resource = writer.add_resource("http://a.example/new").unwrap().id;
    let mut body = writer.begin_body().unwrap();
    body.write_all(&made::content(NEW)).unwrap();
    let outcome = DownloadOutcome::Fetched { metadata: None, body };
    writer.add_revision(NewRevision { id: None, resource, request_cookie: None, outcome }).unwrap();
    writer.close().unwrap();
}

/// Either the whole revision is there, or none of it.
fn check_added(home: &Path, done: bool) {
    let reader = Project::open(project(home)).unwrap();
    let mut bodies = made::bodies(&reader);
    let new = bodies.remove(&NEW);
    assert_eq!(bodies, made::made_bodies());
    assert!(new.is_none_or(|bytes| bytes == made::content(NEW)));
    assert!(reader.revision(RevisionId(NEW)).unwrap().is_some() || !done);
    drop(reader);
    ProjectWriter::open(project(home)).unwrap().close().unwrap();
    assert!(!project(home).join("varve.tmp").exists());
}

fn make_packed(home: &Path) {
    made::make(&project(home), MajorVersion::Packed);
}

/// Adds the revisions that complete a pack.
fn pack(home: &Path, watcher: Watcher) {
    let mut writer = ProjectWriter::open_with(project(home), options(watcher)).unwrap();
    let resource = writer.add_resource("http://a.example/new").unwrap().id;
    for _ in NEW..=LAST_NEW {
        let id = writer.newest_revision().unwrap().unwrap().get() + 1;
        let mut body = writer.begin_body().unwrap();
        body.write_all(&made::content(id)).unwrap();
        let outcome = DownloadOutcome::Fetched { metadata: None, body };
        writer.add_revision(NewRevision { id: None, resource, request_cookie: None, outcome }).unwrap();
    }
    writer.close().unwrap();
}

/// Each revision is whole, wherever its body is.
fn check_packed(home: &Path, done: bool) {
    let reader = Project::open(project(home)).unwrap();
    let bodies = made::bodies(&reader);
    let newest = reader.newest_revision().unwrap().unwrap().get();
    assert!(!done || newest == LAST_NEW);
    let mut expected = made::made_bodies();
    expected.extend((NEW..=newest).map(|id| (id, made::content(id))));
    assert_eq!(bodies, expected);
    drop(reader);
    ProjectWriter::open(project(home)).unwrap().close().unwrap();
    let packed = project(home).join("revisions/000/000/001/000/00_.zip").exists();
    assert_eq!(packed, newest == LAST_NEW);
    assert_eq!(made::bodies(&Project::open(project(home)).unwrap()), expected);
}

fn migrate_to_packs(home: &Path, watcher: Watcher) {
    let mut writer = ProjectWriter::open_with(project(home), options(watcher)).unwrap();
    writer.migrate(MajorVersion::Packed, &mut |_| ControlFlow::Continue(())).unwrap();
    writer.close().unwrap();
}

fn check_migrated_to_packs(home: &Path, done: bool) {
    let reader = Project::open(project(home)).unwrap();
    assert_eq!(made::bodies(&reader), made::made_bodies());
    assert!(!done || reader.version() == MajorVersion::Packed);
    drop(reader);
    migrate_to_packs(home, Arc::new(|_| Ok(())));
    let reader = Project::open(project(home)).unwrap();
    assert_eq!((reader.version(), reader.pending_migration().unwrap()), (MajorVersion::Packed, None));
    assert_eq!(made::bodies(&reader), made::made_bodies());
}

fn create(home: &Path, watcher: Watcher) {
    let options = CreateOptions { watcher: Some(watcher), ..CreateOptions::default() };
    ProjectWriter::create(project(home), options).unwrap().close().unwrap();
}

/// Either the whole project is there, or none of that name, and then it can be made.
fn check_created(home: &Path, done: bool) {
    let path = project(home);
    match path.exists() {
        true => ProjectWriter::open(&path).unwrap().close().unwrap(),
        false => {
            assert!(!done);
            create(home, Arc::new(|_| Ok(())));
        }
    }
    assert_eq!(Project::open(&path).unwrap().version(), MajorVersion::Tree);
    assert!(!home.join("lab.crystalproj-partial").exists());
}

fn save_as(home: &Path, watcher: Watcher) {
    let options = SaveAsOptions { watcher: Some(watcher), on_progress: None };
    Project::open(project(home)).unwrap().save_as(home.join("copy.crystalproj"), options).unwrap();
}

/// Either the whole copy is there, or none of that name, and then it can be made.
fn check_saved(home: &Path, done: bool) {
    let copy = home.join("copy.crystalproj");
    if !copy.exists() {
        assert!(!done);
        save_as(home, Arc::new(|_| Ok(())));
    }
    assert_eq!(made::bodies(&Project::open(&copy).unwrap()), made::made_bodies());
    assert_eq!(made::bodies(&Project::open(project(home)).unwrap()), made::made_bodies());
    assert!(!home.join("copy.crystalproj-partial").exists());
}
