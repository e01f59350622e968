//! Every kind of entry with every operation, by both ways to resolve a name: nothing outside of the
//! folder changes, nothing waits, and the error says what is there.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// An operation that takes longer hangs.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_READ_BYTES: u64 = 1 << 16;
const BOTH: [NameResolution; 2] = [NameResolution::Kernel, NameResolution::Walk];

/// A folder `root`, and beside it a folder `outside` that must not change.
struct Scene {
    folder: tempfile::TempDir,
    before: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir_all(outside.join("kept")).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        fs::set_permissions(outside.join("secret"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(outside.join("kept/file"), "kept").unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        fs::write(folder.path().join("root/plain"), "plain").unwrap();
        let before = snapshot(&outside);
        Self { folder, before }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn open(&self, resolution: NameResolution) -> Folder {
        Folder { resolution, ..Folder::open(&self.root()).unwrap() }
    }

    fn assert_outside_unchanged(&self, what: &str) {
        assert_eq!(snapshot(&self.folder.path().join("outside")), self.before, "{what}");
    }
}

/// Names, modes, lengths and bytes below a folder.
fn snapshot(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stat = fs::symlink_metadata(&path).unwrap();
        let bytes = if stat.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.push(format!("{} {:o} {} {bytes:?}", path.display(), stat.mode(), stat.nlink()));
        if stat.is_dir() {
            found.extend(snapshot(&path));
        }
    }
    found.sort();
    found
}

/// Runs a program that makes an entry; false if it fails.
fn run(program: &str, path: &Path, arguments: &[&str]) -> bool {
    let status = Command::new(program).arg(path).args(arguments).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A name for messages, the kind, and a function that makes it; false if this machine cannot.
type HostileEntry = (&'static str, EntryKind, fn(&Path) -> bool);

/// The hostile entries. Each function makes `root/entry`.
const KINDS: &[HostileEntry] = &[
    ("link to a file", EntryKind::SymbolicLink, |path| symlink("../outside/secret", path).is_ok()),
    ("link to a folder", EntryKind::SymbolicLink, |path| symlink("../outside", path).is_ok()),
    ("absolute link", EntryKind::SymbolicLink, |path| {
        symlink(path.parent().unwrap().parent().unwrap().join("outside"), path).is_ok()
    }),
    ("dangling link", EntryKind::SymbolicLink, |path| symlink("../outside/new", path).is_ok()),
    ("link to itself", EntryKind::SymbolicLink, |path| symlink("entry", path).is_ok()),
    ("link inside", EntryKind::SymbolicLink, |path| symlink("plain", path).is_ok()),
    ("magic link", EntryKind::SymbolicLink, |path| symlink("/proc/self/root", path).is_ok()),
    ("named pipe", EntryKind::NamedPipe, |path| run("mkfifo", path, &[])),
    ("device", EntryKind::Device, |path| {
        // Only root can make one: others do not test it.
        run("mknod", path, &["c", "1", "5"])
    }),
    ("socket", EntryKind::Socket, |path| UnixListener::bind(path).is_ok()),
    ("folder", EntryKind::Folder, |path| {
        fs::create_dir(path).unwrap();
        symlink("../../outside", path.join("way out")).is_ok() && fs::write(path.join("secret"), "x").is_ok()
    }),
    ("sparse file", EntryKind::File, |path| {
        fs::File::create(path).and_then(|file| file.set_len(1 << 38)).is_ok()
    }),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// Fails for everything but regular files.
    FilesOnly,
    /// Fails for everything but folders.
    FoldersOnly,
    /// Fails for folders.
    NoFolders,
    /// The name is taken.
    Taken,
    /// Succeeds for every kind.
    Any,
    /// May do either.
    Either,
}

type Operation = (&'static str, Expected, fn(&Folder, &Path) -> Result<(), FolderError>);

const OPERATIONS: &[Operation] = &[
    ("open_to_read", Expected::FilesOnly, |folder, name| folder.open_to_read(name).map(drop)),
    ("open_to_write", Expected::FilesOnly, |folder, name| {
        folder.open_to_write(name).map(|mut file| file.write_all(b"overwritten").unwrap())
    }),
    ("open_or_create", Expected::FilesOnly, |folder, name| {
        folder.open_or_create(name).map(|file| file.set_len(0).unwrap())
    }),
    ("create_new", Expected::Taken, |folder, name| {
        folder.create_new(name).map(|mut file| file.write_all(b"new").unwrap())
    }),
    ("read", Expected::FilesOnly, |folder, name| folder.read(name, MAX_READ_BYTES).map(drop)),
    ("publish", Expected::FilesOnly, |folder, name| folder.pending_file(name)?.publish()),
    ("publish_new", Expected::Taken, |folder, name| folder.pending_file(name)?.publish_new()),
    ("replace", Expected::FilesOnly, |folder, name| folder.replace(name, b"new")),
    ("set_read_only", Expected::FilesOnly, |folder, name| folder.set_read_only(name)),
    ("checked_path", Expected::FilesOnly, |folder, name| folder.checked_path(name).map(drop)),
    ("hard_link", Expected::FilesOnly, |folder, name| folder.hard_link(name, "second")),
    ("hard_link to", Expected::Taken, |folder, name| folder.hard_link("plain", name)),
    ("subfolder", Expected::FoldersOnly, |folder, name| folder.subfolder(name).map(drop)),
    ("list", Expected::FoldersOnly, |folder, name| folder.list(name).map(drop)),
    ("make_folders", Expected::FoldersOnly, |folder, name| folder.make_folders(name).map(drop)),
    ("make_folders below", Expected::FoldersOnly, |folder, name| {
        folder.make_folders(name.join("a/b")).map(drop)
    }),
    ("sync", Expected::FoldersOnly, |folder, name| folder.sync(name)),
    ("remove_folder", Expected::Either, |folder, name| folder.remove_folder(name)),
    ("remove", Expected::NoFolders, |folder, name| folder.remove(name)),
    ("remove_tree", Expected::Any, |folder, name| folder.remove_tree(name)),
    ("rename", Expected::Any, |folder, name| folder.rename(name, "moved")),
    ("rename over", Expected::Either, |folder, name| folder.rename("plain", name)),
    ("rename new", Expected::Any, |folder, name| folder.rename_new(name, "moved")),
    ("rename new over", Expected::Taken, |folder, name| folder.rename_new("plain", name)),
    ("create folder", Expected::Taken, |folder, name| folder.create_folder(name)),
    ("create link", Expected::Taken, |folder, name| folder.create_link(name, Path::new("../outside"))),
    ("exchange", Expected::Any, |folder, name| folder.exchange(name, "plain")),
    ("entry", Expected::Any, |folder, name| folder.entry(name).map(drop)),
];

/// Runs an operation in a thread and fails if it does not end.
fn run_with_deadline(folder: &Folder, operation: &Operation, name: &Path) -> Result<(), FolderError> {
    let (sender, receiver) = mpsc::channel();
    let (folder, name, run, what) = (folder.clone(), name.to_owned(), operation.2, operation.0);
    std::thread::spawn(move || sender.send(run(&folder, &name)));
    receiver.recv_timeout(HANG_TIMEOUT).unwrap_or_else(|_| panic!("{what} hangs"))
}

fn assert_kind(result: Result<(), FolderError>, kind: EntryKind, path: &Path, what: &str) {
    match result {
        Err(FolderError::WrongKind { path: found_path, found, .. }) => {
            assert_eq!((found_path.as_path(), found), (path, kind), "{what}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn no_operation_leaves_the_folder_or_waits() {
    for (kind_name, kind, make) in KINDS {
        for operation in OPERATIONS {
            for resolution in BOTH {
                let scene = Scene::new();
                let path = scene.root().join("entry");
                if !make(&path) {
                    continue;
                }
                let what = format!("{} of a {kind_name}, {resolution:?}", operation.0);
                let result = run_with_deadline(&scene.open(resolution), operation, Path::new("entry"));
                scene.assert_outside_unchanged(&what);
                let is_wrong = match operation.1 {
                    Expected::FilesOnly => *kind != EntryKind::File,
                    Expected::FoldersOnly => *kind != EntryKind::Folder,
                    Expected::NoFolders => *kind == EntryKind::Folder,
                    Expected::Taken | Expected::Any | Expected::Either => false,
                };
                match operation.1 {
                    _ if is_wrong => assert_kind(result, *kind, &path, &what),
                    Expected::Either => {}
                    Expected::Taken => {
                        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{what}");
                    }
                    _ if operation.0 == "read" => {
                        assert!(matches!(result, Err(FolderError::TooLarge { .. })), "{what}: {result:?}");
                    }
                    _ => result.unwrap_or_else(|error| panic!("{what}: {error:?}")),
                }
            }
        }
    }
}

#[test]
fn no_operation_passes_through_anything_but_a_folder() {
    for (kind_name, kind, make) in KINDS.iter().filter(|(_, kind, _)| *kind != EntryKind::Folder) {
        for operation in OPERATIONS {
            for resolution in BOTH {
                for inner in ["entry/secret", "entry/kept/file"] {
                    let scene = Scene::new();
                    let path = scene.root().join("entry");
                    if !make(&path) {
                        continue;
                    }
                    let what = format!("{} through a {kind_name}, {resolution:?}", operation.0);
                    let result = run_with_deadline(&scene.open(resolution), operation, Path::new(inner));
                    scene.assert_outside_unchanged(&what);
                    assert_kind(result, *kind, &path, &what);
                }
            }
        }
    }
}

#[test]
fn names_that_climb_are_refused() {
    let scene = Scene::new();
    for resolution in BOTH {
        let folder = scene.open(resolution);
        for name in ["..", "../outside/secret", "/etc/passwd", "a/../../outside/secret", "./plain"] {
            for operation in OPERATIONS {
                let result = run_with_deadline(&folder, operation, Path::new(name));
                let refused = matches!(result, Err(FolderError::OutsideName { .. }));
                assert!(refused, "{} of {name}: {result:?}", operation.0);
            }
        }
        scene.assert_outside_unchanged("climbing");
    }
}

#[test]
fn files_are_created_read_renamed_and_removed() {
    for resolution in BOTH {
        let scene = Scene::new();
        let folder = scene.open(resolution);
        let below = folder.make_folders("a/b/c").unwrap();
        assert_eq!(below.path(), scene.root().join("a/b/c"));
        below.create_new("one").unwrap().write_all(b"one").unwrap();
        assert_eq!(folder.read("a/b/c/one", 3).unwrap(), b"one");
        assert!(matches!(folder.read("a/b/c/one", 2), Err(FolderError::TooLarge { limit: 2, .. })));
        folder.hard_link("a/b/c/one", "two").unwrap();
        folder.rename("a/b/c/one", "a/three").unwrap();
        folder.exchange("a/three", "plain").unwrap();
        assert_eq!(folder.read("plain", 100).unwrap(), b"one");
        folder.set_read_only("plain").unwrap();
        let found = folder.entry("plain").unwrap().unwrap();
        assert!(found.is_read_only());
        assert_eq!((found.kind, found.length), (EntryKind::File, 3));
        let modified = fs::metadata(scene.root().join("plain")).unwrap().modified().unwrap();
        assert_eq!(found.modified, modified);
        let names: Vec<_> =
            folder.list("").unwrap().into_iter().map(|entry| (entry.name, entry.kind)).collect();
        assert_eq!(
            names,
            [
                ("a".into(), EntryKind::Folder),
                ("plain".into(), EntryKind::File),
                ("two".into(), EntryKind::File)
            ]
        );
        folder.remove_tree("a").unwrap();
        assert!(folder.entry("a").unwrap().is_none());
        assert!(folder.open_to_read("a/three").unwrap_err().is_absent());
        folder.remove_tree("a").unwrap();
        assert_eq!(folder.checked_path("a").unwrap(), scene.root().join("a"));
    }
}

#[test]
fn a_replaced_file_keeps_its_mode_and_leaves_no_draft() {
    for resolution in BOTH {
        let scene = Scene::new();
        let folder = scene.open(resolution);
        fs::set_permissions(scene.root().join("plain"), fs::Permissions::from_mode(0o604)).unwrap();
        folder.replace("plain", b"new").unwrap();
        folder.replace("other", b"created").unwrap();
        let mut dropped = folder.pending_file("never").unwrap();
        dropped.write_all(b"never").unwrap();
        drop(dropped);
        assert_eq!(folder.read("plain", 10).unwrap(), b"new");
        assert_eq!(folder.entry("plain").unwrap().unwrap().mode, 0o604);
        assert_eq!(folder.list("").unwrap().len(), 2);
    }
}

#[test]
fn the_folder_of_the_user_may_be_a_link() {
    let scene = Scene::new();
    let link = scene.folder.path().join("link");
    symlink("root", &link).unwrap();
    let folder = Folder::open(&link).unwrap();
    assert_eq!(folder.read("plain", 100).unwrap(), b"plain");
    assert!(Folder::open(&scene.root().join("absent")).unwrap_err().is_absent());
}

/// Deeper than the number of files that a process may open, and than a path may be long.
#[test]
fn a_deep_tree_is_removed() {
    let scene = Scene::new();
    let folder = scene.open(NameResolution::Kernel);
    let mut at = folder.make_folders("deep").unwrap();
    for _ in 0..3000 {
        symlink_in(&at, "../outside", "link");
        let below = at.make_folders("d").unwrap();
        // Messages do not need a path of this length.
        at = Folder { path: PathBuf::from("deep"), ..below };
    }
    drop(at);
    folder.remove_tree("deep").unwrap();
    assert_eq!(folder.list("").unwrap().len(), 1);
    scene.assert_outside_unchanged("a deep tree");
}

fn symlink_in(folder: &Folder, target: &str, name: &str) {
    rustix::fs::symlinkat(target, folder.handle(), name).unwrap();
}

/// Another process exchanges a folder and a link to the outside, over and over.
#[test]
fn a_link_that_is_swapped_in_between_is_not_followed() {
    for resolution in BOTH {
        let scene = Scene::new();
        let folder = scene.open(resolution);
        folder.make_folders("swapped/kept").unwrap();
        symlink("../outside", scene.root().join("link")).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let swapper = {
            let (folder, stop) = (folder.clone(), Arc::clone(&stop));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    folder.exchange("swapped", "link").unwrap();
                }
            })
        };
        for number in 0..1500 {
            let name = Path::new("swapped").join(["secret", "kept/file", "kept"][number % 3]);
            for operation in OPERATIONS.iter().filter(|operation| !operation.0.starts_with("rename")) {
                let _ = operation.2(&folder, &name);
            }
            let _ = folder.make_folders("swapped/kept");
        }
        stop.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        scene.assert_outside_unchanged("swapped links");
    }
}

#[derive(Clone, Debug)]
enum TreeEntry {
    File(String),
    Folder(String),
    Link(String, &'static str),
}

fn any_name() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&["a", "b", "secret", "kept"][..]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn any_entry() -> impl Strategy<Value = TreeEntry> {
    let targets =
        &["../outside", "../../outside", "a", "b", ".", "..", "../outside/secret", "/proc/self/cwd"];
    prop_oneof![
        any_name().prop_map(TreeEntry::File),
        any_name().prop_map(TreeEntry::Folder),
        (any_name(), prop::sample::select(&targets[..])).prop_map(|(name, to)| TreeEntry::Link(name, to)),
    ]
}

fn build(folder: &Folder, entries: &[TreeEntry]) {
    for entry in entries {
        let (TreeEntry::File(name) | TreeEntry::Folder(name) | TreeEntry::Link(name, _)) = entry;
        let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
        let Ok(parent) = folder.make_folders(parent) else { continue };
        // The name may be taken by an earlier entry.
        let _ = match entry {
            TreeEntry::File(_) => parent.replace(last, b"content").is_ok(),
            TreeEntry::Folder(_) => parent.make_folders(last).is_ok(),
            TreeEntry::Link(_, target) => rustix::fs::symlinkat(*target, parent.handle(), last).is_ok(),
        };
    }
}

/// The result without its wording.
fn summary(result: Result<(), FolderError>, root: &Path) -> String {
    match result {
        Ok(()) => "done".to_owned(),
        Err(FolderError::WrongKind { path, found, .. }) => {
            format!("{} {found}", path.strip_prefix(root).unwrap().display())
        }
        Err(other) => format!("{:?}", other.kind()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Both ways to resolve names do the same in any tree, and neither changes anything outside.
    #[test]
    fn random_trees_are_not_left(
        entries in prop::collection::vec(any_entry(), 0..12),
        calls in prop::collection::vec((0..OPERATIONS.len(), any_name()), 0..24),
    ) {
        let scenes = BOTH.map(|resolution| (Scene::new(), resolution));
        let folders = scenes.each_ref().map(|(scene, resolution)| scene.open(*resolution));
        folders.iter().for_each(|folder| build(folder, &entries));
        for (number, name) in &calls {
            let operation = &OPERATIONS[*number];
            let [kernel, walk] = folders.each_ref().map(|folder| {
                summary(operation.2(folder, Path::new(name)), folder.path())
            });
            prop_assert_eq!(kernel, walk, "{} of {}", operation.0, name);
        }
        for (scene, _) in &scenes {
            scene.assert_outside_unchanged("a random tree");
        }
    }
}
