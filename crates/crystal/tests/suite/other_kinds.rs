//! Something of another kind at every name of a project, for every operation: nothing outside of
//! the project is read or changed, and every operation ends.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;
use varve_crystal::{
    DownloadOutcome, MajorVersion, NewRevision, Project, ProjectWriter, ResourceId, RevisionId,
    SaveAsOptions, VerifyOptions,
};

use crate::fixture::{Scratch, files};

/// Longer than any operation on a project of a few files takes.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);
/// More than an operation may write or keep in memory.
const SPARSE_BYTES: u64 = 8 << 30;

const NAMES: &[&str] = &[
    "database.sqlite",
    "database.sqlite-wal",
    "database.sqlite-shm",
    "database.sqlite-journal",
    "varve.lock",
    "revisions",
    "revisions/1",
    "revisions/000",
    "revisions/000/000/000/000/001",
    "revisions/000/000/000/000/new",
    "revisions.inprogress",
    "revisions.inprogress/000",
    "tmp",
    "varve.tmp",
    "tmp/left.body",
    "tmp/revisions",
    "tmp/revisions/1",
    "salvage",
    "salvage/1",
    "icons",
    "icons/docicon.ico",
    "README.txt",
    "OPEN ME.crystalopen",
    "desktop.ini",
    ".directory",
    "varve.capture",
    "my notes",
];

/// A kind by its name, and how to make one at a path, given a folder outside.
type Kind = (&'static str, fn(&Path, &Path));

const KINDS: &[Kind] = &[
    ("link to a file", |path, outside| symlink(outside.join("secret"), path).unwrap()),
    ("link to a folder", |path, outside| symlink(outside.join("folder"), path).unwrap()),
    ("link to nothing", |path, outside| symlink(outside.join("absent"), path).unwrap()),
    ("named pipe", |path, _| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }),
    ("socket", |path, _| drop(UnixListener::bind(path).unwrap())),
    ("folder", |path, _| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("1"), "in a folder").unwrap();
    }),
    ("sparse file", |path, _| fs::File::create(path).unwrap().set_len(SPARSE_BYTES).unwrap()),
];

/// An operation by its name. It may fail; it may not leave the project, wait or panic.
type Operation = (&'static str, fn(&Path) -> varve_crystal::Result<()>);

const OPEN: Operation = ("open", |path| {
    let project = Project::open(path)?;
    project.body(RevisionId(1)).map(drop)
});
const INFO: Operation = ("info", |path| Project::open(path)?.info().map(drop));
const VERIFY: Operation = ("verify", |path| {
    let options = VerifyOptions { check_database: true, read_bodies: false };
    Project::open(path)?.verify(options, &mut |_| {}).map(drop)
});
const REPAIR: Operation = ("repair", |path| ProjectWriter::open(path)?.repair(&mut |_, _| {}).map(drop));
const WRITE: Operation = ("write", |path| {
    let mut writer = ProjectWriter::open(path)?;
    let mut body = writer.begin_body()?;
    body.write_all(b"new").unwrap();
    let outcome = DownloadOutcome::Fetched { metadata: None, body };
    let (id, resource) = (None, ResourceId(1));
    writer.add_revision(NewRevision { id, resource, request_cookie: None, outcome })?;
    writer.close()
});
const MIGRATE: Operation = ("migrate", |path| {
    ProjectWriter::open(path)?.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).map(drop)
});
const SAVE_AS: Operation = ("save as", |path| {
    let target = path.with_file_name("copy.crystalproj");
    Project::open(path)?.save_as(target, SaveAsOptions::default()).map(drop)
});

/// Puts something of that kind at a name of a project. False if the name cannot be made.
fn put(scratch: &Scratch, name: &str, kind: &Kind, outside: &Path) -> bool {
    let path = scratch.at(name);
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
    } else if path.exists() {
        fs::remove_file(&path).unwrap();
    }
    if fs::create_dir_all(path.parent().unwrap()).is_err() {
        return false;
    }
    kind.1(&path, outside);
    true
}

fn outside_files(home: &TempDir) -> (PathBuf, impl Fn() -> Vec<(PathBuf, Vec<u8>)> + use<>) {
    let outside = fs::canonicalize(home.path()).unwrap();
    fs::create_dir_all(outside.join("folder/000")).unwrap();
    fs::write(outside.join("secret"), "not yours").unwrap();
    fs::write(outside.join("folder/1"), "not yours either").unwrap();
    fs::write(outside.join("folder/000/1"), "nor this").unwrap();
    let look = outside.clone();
    (outside, move || files(&look).into_iter().collect())
}

/// Runs an operation in a thread, so that one that waits fails the test.
fn run_with_deadline(operation: &Operation, path: &Path, what: &str) {
    let (sender, receiver) = mpsc::channel();
    let (run, path) = (operation.1, path.to_owned());
    let thread = std::thread::spawn(move || {
        // An operation may be refused. The test is about what it does to the outside.
        let _ = run(&path);
        let _ = sender.send(());
    });
    match receiver.recv_timeout(HANG_TIMEOUT) {
        Ok(()) => thread.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{what} panics"),
    }
}

fn assert_nothing_outside(operation: &Operation) {
    let home = TempDir::new().unwrap();
    let (outside, look) = outside_files(&home);
    let before = look();
    for name in NAMES {
        for kind in KINDS {
            for version in [MajorVersion::Flat, MajorVersion::Tree] {
                let scratch = Scratch::made(version);
                if !put(&scratch, name, kind, &outside) {
                    continue;
                }
                let what = format!("{} with a {} as `{name}`, {version:?}", operation.0, kind.0);
                run_with_deadline(operation, &scratch.path, &what);
                assert_eq!(look(), before, "{what}");
                assert_eq!(fs::read_dir(&outside).unwrap().count(), 2, "{what}");
            }
        }
    }
}

#[test]
fn opening_stays_inside() {
    assert_nothing_outside(&OPEN);
}

#[test]
fn counting_stays_inside() {
    assert_nothing_outside(&INFO);
}

#[test]
fn verifying_stays_inside() {
    assert_nothing_outside(&VERIFY);
}

#[test]
fn repairing_stays_inside() {
    assert_nothing_outside(&REPAIR);
}

#[test]
fn writing_stays_inside() {
    assert_nothing_outside(&WRITE);
}

#[test]
fn migrating_stays_inside() {
    assert_nothing_outside(&MIGRATE);
}

#[test]
fn copying_stays_inside() {
    assert_nothing_outside(&SAVE_AS);
}

/// A message has the path and the kind that was found there.
#[test]
fn another_kind_is_named_in_the_error() {
    for (name, kind) in [("database.sqlite-wal", "named pipe"), ("varve.lock", "folder"), ("tmp", "socket")] {
        let scratch = Scratch::made(MajorVersion::Tree);
        let kind = KINDS.iter().find(|(known, _)| *known == kind).unwrap();
        assert!(put(&scratch, name, kind, Path::new("/")));
        let error = ProjectWriter::open(&scratch.path).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains(&format!("is a {}", kind.0)), "{error}");
    }
}

/// A reader that must replay a log copies it, but not the holes in it.
#[test]
fn a_sparse_log_is_not_filled_by_copying_it() {
    let scratch = Scratch::made(MajorVersion::Tree);
    let log = fs::File::create(scratch.at("database.sqlite-wal")).unwrap();
    log.set_len(SPARSE_BYTES).unwrap();
    let project = Project::open(&scratch.path).unwrap();
    assert_eq!(project.resources().count(), 1);
}
