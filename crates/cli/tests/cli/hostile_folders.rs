//! Archives, Moku sites and Crystal projects that someone else prepared: every name of a layout,
//! replaced by a link, a named pipe, a socket, a folder or a huge file, under verbs of every kind.
//!
//! No process may change anything outside of the layout, wait for ever, panic, or need much memory.
//! What a verb reports is tested elsewhere. By default each replacement meets three verbs; all of
//! them with `VARVE_HOSTILE=all`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::{run, stderr, varve};

/// Longest that one process may take.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(20);
/// Most memory that one process may have resident, in KiB.
const MAX_RESIDENT_KIB: libc::c_long = 700 << 10;
/// The length of the sparse file that replaces a file.
const SPARSE_LENGTH: u64 = 8 << 30;
/// Verbs for each replacement in the fast run.
const VERBS_PER_CELL: usize = 3;
/// Processes at a time.
const WORKER_COUNT: usize = 4;

/// The entries of an archive, also those that exist only for a moment.
const ARCHIVE_NAMES: &[&str] = &[
    "varve.toml",
    "warc",
    "warc/0",
    "warc/0/00000000.warc.gz",
    "warc/next-number",
    "warc/pending-swap",
    "index",
    "index/appendix",
    "index/sorted",
    "catalog.db",
    "catalog.db-wal",
    "catalog.db-shm",
    "catalog.db-journal",
    "search.db",
    "search.db-wal",
    "search.db-shm",
    "search.db-journal",
    "HEAD",
    "HEAD.intended",
    ".tmp-varve-HEAD",
    "seal",
    "seal.key",
    "seal/checkpoint",
    "seal/checkpoints",
    "seal/tile/0/000.p",
    "plan.yaml",
    "urls",
    "urls/example.com.yaml",
    "tmp",
    "tmp/lock",
    "tmp/purge",
    "tmp/catalog.db",
    "tmp/old-index",
    "dictionary.zstd",
    "files.seen",
    "secret.key",
];

/// The entries of a Moku site and of its working tree.
const SITE_NAMES: &[&str] = &[
    ".moku",
    ".moku/moku.db",
    ".moku/moku.db-wal",
    ".moku/moku.db-shm",
    ".moku/HEAD",
    ".moku/varve.lock",
    ".moku/varve.seen",
    ".moku/blobs",
    BLOB_NAME,
    "a",
    "a/b",
    "a/b/.page_body",
    "a/b/.page_headers.json",
    "a/b/.tmp-varve-.page_body",
];

/// The entries of a Crystal project that the capture of pages uses. The suite of `varve-crystal` has
/// every name.
const PROJECT_NAMES: &[&str] = &[
    "database.sqlite",
    "revisions",
    "tmp",
    "varve.lock",
    "varve.capture",
    "varve.capture/frontier.db",
    "varve.capture/frontier.db-wal",
    "varve.capture/frontier.db-shm",
    "varve.capture/frontier.db-journal",
];

/// Stands for the first body of the site.
const BLOB_NAME: &str = ".moku/blobs/?";

/// What replaces an entry.
#[derive(Clone, Copy, Debug)]
enum Intruder {
    LinkToFile,
    LinkToFolder,
    DanglingLink,
    NamedPipe,
    Socket,
    Folder,
    SparseFile,
}

const INTRUDERS: [Intruder; 7] = [
    Intruder::LinkToFile,
    Intruder::LinkToFolder,
    Intruder::DanglingLink,
    Intruder::NamedPipe,
    Intruder::Socket,
    Intruder::Folder,
    Intruder::SparseFile,
];

impl Intruder {
    /// Puts it at `path`, whose folder exists.
    fn place_at(self, path: &Path, victim: &Path) {
        match self {
            Self::LinkToFile => symlink(victim.join("file"), path).unwrap(),
            Self::LinkToFolder => symlink(victim, path).unwrap(),
            Self::DanglingLink => symlink(victim.join("absent"), path).unwrap(),
            Self::NamedPipe => {
                let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
                // SAFETY: the path is a string that ends with NUL and lives during the call.
                assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o644) }, 0);
            }
            // The socket stays when its listener is dropped.
            Self::Socket => drop(UnixListener::bind(path).unwrap()),
            Self::Folder => {
                fs::create_dir(path).unwrap();
                fs::write(path.join("file"), "inside").unwrap();
            }
            Self::SparseFile => fs::File::create(path).unwrap().set_len(SPARSE_LENGTH).unwrap(),
        }
    }
}

/// The arguments of a verb; `{}` is the address of a page on this machine.
type Words = &'static [&'static str];

const READING_VERBS: &[Words] = &[
    &["log"],
    &["cat", "https://example.com/a/b"],
    &["diff", "HEAD~1", "HEAD"],
    &["audit"],
    &["audit", "--quick"],
    &["show"],
];

const SHARED_WRITING_VERBS: &[Words] = &[
    &["commit", "page.html", "--url", "https://example.com/new", "-m", "new"],
    &["checkout", "HEAD~1"],
    &["gc", "--keep-last", "1"],
    &["tag", "name"],
];

const ARCHIVE_VERBS: &[Words] = &[
    &["store", "page.html"],
    &["capture", "{}", "--allow-private", "-m", "captured"],
    &["seal"],
    &["seal", "prove"],
    &["verify"],
    &["rebuild"],
    &["housekeeping"],
    &["purge", "--drop", "https://example.com/a/b", "--reason", "test", "--dry-run"],
    &["purge", "--drop", "https://example.com/a/b", "--reason", "test"],
    &["plan", "root", "add", "https://example.com/"],
    &["urls", "add", "--domain-file", "--offline", "https://example.com/x"],
    &["urls", "list"],
    &["export", "--format", "crystal", "exported.crystalproj"],
    &["checkout", "HEAD", "--to", "checked-out"],
    &["stow", "files"],
    &["train"],
];

const SITE_VERBS: &[Words] =
    &[&["moku", "info"], &["checkout", "HEAD"], &["moku", "set", "--redaction", "off"]];

const PROJECT_VERBS: &[Words] = &[
    &["capture", "{}", "--allow-private"],
    &["capture", "--resume", "--allow-private"],
    &["capture", "--finish"],
    &["crystal", "info"],
    &["crystal", "verify"],
];

/// A layout to copy for each process.
struct Template {
    folder: PathBuf,
    names: &'static [&'static str],
    verbs: Vec<Words>,
}

impl Template {
    /// The path of a name below a copy of the layout.
    fn resolve(&self, copy: &Path, name: &str) -> PathBuf {
        if name != BLOB_NAME {
            return copy.join(name);
        }
        let mut found = copy.join(".moku/blobs");
        while found.is_dir() {
            let mut names: Vec<_> =
                fs::read_dir(&found).unwrap().map(|entry| entry.unwrap().path()).collect();
            names.sort();
            found = names.remove(0);
        }
        found
    }
}

/// Runs a verb that must succeed, to make a template.
fn prepare(folder: &Path, words: &[&str]) {
    let output = varve().current_dir(folder).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
}

fn make_templates(root: &Path) -> [Template; 3] {
    fs::write(root.join("one.html"), "one").unwrap();
    fs::write(root.join("two.html"), "two").unwrap();
    prepare(root, &["init", "archive", "--packing", "zstd"]);
    prepare(root, &["moku", "new", "site"]);
    for layout in ["archive", "site"] {
        for page in ["one.html", "two.html"] {
            let url = "https://example.com/a/b";
            prepare(root, &["-C", layout, "commit", page, "--url", url, "-m", page]);
        }
    }
    prepare(root, &["-C", "site", "checkout", "HEAD"]);
    prepare(root, &["-C", "archive", "seal", "make-key"]);
    prepare(root, &["-C", "archive", "seal"]);
    prepare(root, &["-C", "archive", "plan", "root", "add", "https://example.com/one"]);
    let url = "https://example.com/one";
    prepare(root, &["-C", "archive", "urls", "add", "--domain-file", "--offline", url]);
    prepare(root, &["-C", "archive", "export", "--format", "crystal", "project.crystalproj"]);
    let verbs = |own: &[Words]| [READING_VERBS, SHARED_WRITING_VERBS, own].concat();
    [
        Template { folder: root.join("archive"), names: ARCHIVE_NAMES, verbs: verbs(ARCHIVE_VERBS) },
        Template { folder: root.join("site"), names: SITE_NAMES, verbs: verbs(SITE_VERBS) },
        Template {
            folder: root.join("project.crystalproj"),
            names: PROJECT_NAMES,
            verbs: [READING_VERBS, PROJECT_VERBS].concat(),
        },
    ]
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => _ = fs::copy(entry.path(), target).unwrap(),
        }
    }
}

/// Path, mode, modification time and content of everything in a folder.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        let content = match about.is_dir() {
            true => {
                waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            }
            false => fs::read(&path).unwrap(),
        };
        let time = about.mtime() * 1_000_000_000 + about.mtime_nsec();
        found.insert(path, (about.mode(), time, content));
    }
    found
}

/// A folder that links lead to. It looks like parts of an archive, so that a verb that follows a link
/// finds something to change.
fn make_victim(folder: &Path) {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("file"), "secret").unwrap();
    for name in ["index", "warc", "0", "a", "b", "blobs"] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("file"), "secret").unwrap();
    }
    for name in ["HEAD", "lock", "catalog.db", ".page_body", "appendix", "example.com.yaml", "moku.db"] {
        fs::write(folder.join(name), "").unwrap();
    }
    fs::set_permissions(folder.join("file"), fs::Permissions::from_mode(0o640)).unwrap();
}

/// How a process ended: exit status and most resident memory in KiB.
struct Ended {
    status: i32,
    resident: libc::c_long,
}

/// Waits for a process. `None` if it had to be killed.
fn wait_for(child: &mut Child) -> Option<Ended> {
    let (pid, begin) = (libc::pid_t::try_from(child.id()).unwrap(), Instant::now());
    let mut is_late = false;
    loop {
        let mut status = 0;
        // SAFETY: `rusage` consists of integers, for which zeros are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are valid during the call, and only this thread waits for the child.
        let found = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) };
        assert!(found >= 0, "wait4 failed");
        if found == pid {
            return (!is_late).then_some(Ended { status, resident: usage.ru_maxrss });
        }
        if begin.elapsed() > PROCESS_TIMEOUT && !is_late {
            is_late = true;
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// One process: a name of a layout, what replaces it, and a verb.
struct Cell<'a> {
    template: &'a Template,
    name: &'static str,
    intruder: Intruder,
    verb: Words,
}

impl Cell<'_> {
    /// Runs the verb. Returns what is wrong with how it ended.
    fn run(&self, page: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let (copy, victim) = (folder.path().join("h"), folder.path().join("victim"));
        copy_tree(&self.template.folder, &copy);
        make_victim(&victim);
        fs::write(folder.path().join("page.html"), "a page").unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        fs::write(folder.path().join("files/one"), "one").unwrap();
        let path = self.template.resolve(&copy, self.name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
            Ok(_) => fs::remove_file(&path).unwrap(),
            Err(_) => fs::create_dir_all(path.parent().unwrap()).unwrap(),
        }
        self.intruder.place_at(&path, &victim);
        let before = snapshot(&victim);
        let errors = folder.path().join("errors");
        let words = self.verb.iter().map(|word| word.replace("{}", page));
        let mut child = varve()
            .current_dir(folder.path())
            .args(["-C", "h"])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let problem = match wait_for(&mut child) {
            None => Some(format!("does not end within {PROCESS_TIMEOUT:?}")),
            Some(ended) => ended.problem(),
        };
        let problem = problem.or_else(|| {
            (snapshot(&victim) != before).then(|| "changed something outside of the layout".to_owned())
        })?;
        let told = fs::read_to_string(errors).unwrap_or_default();
        let Self { name, intruder, verb, .. } = self;
        Some(format!("{intruder:?} as `{name}`, `{}`: {problem}\n{told}", verb.join(" ")))
    }
}

impl Ended {
    fn problem(&self) -> Option<String> {
        if !libc::WIFEXITED(self.status) {
            return Some(format!("killed by signal {}", libc::WTERMSIG(self.status)));
        }
        let code = libc::WEXITSTATUS(self.status);
        if code > 2 {
            return Some(format!("exit code {code}"));
        }
        (self.resident > MAX_RESIDENT_KIB).then(|| format!("{} KiB of memory", self.resident))
    }
}

/// Serves one page to every connection, for as long as the process lives.
fn serve_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
            );
        }
    });
    format!("http://{address}/")
}

/// The cells of a template: all of them, or a few verbs for each replacement, by rotation.
fn cells(template: &Template, all: bool) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    let mut next = 0;
    for name in template.names.iter().copied() {
        for intruder in INTRUDERS {
            let count = if all { template.verbs.len() } else { VERBS_PER_CELL };
            for _ in 0..count {
                let verb = template.verbs[next % template.verbs.len()];
                next += 1;
                cells.push(Cell { template, name, intruder, verb });
            }
        }
    }
    cells
}

#[test]
fn no_verb_leaves_the_folder_of_a_layout_hangs_or_panics() {
    let root = tempfile::tempdir().unwrap();
    let templates = make_templates(root.path());
    let all = std::env::var("VARVE_HOSTILE").is_ok_and(|value| value == "all");
    let cells: Vec<_> = templates.iter().flat_map(|template| cells(template, all)).collect();
    let (page, next, problems) = (serve_page(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKER_COUNT {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Run before the lock is taken, so that others run meanwhile.
                    let problem = cell.run(&page);
                    problem.iter().for_each(|problem| eprintln!("{problem}"));
                    problems.lock().unwrap().extend(problem);
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), cells.len(), problems.join("\n"));
}

/// A body of any length is recognised by its recorded length and not by reading it.
#[test]
fn a_body_that_is_longer_than_recorded_is_a_finding_and_is_not_read() {
    let root = tempfile::tempdir().unwrap();
    let [_, site, _] = make_templates(root.path());
    let body = site.resolve(&site.folder, BLOB_NAME);
    fs::remove_file(&body).unwrap();
    // Far more than can be read in the time of a test.
    fs::File::create(&body).unwrap().set_len(1 << 42).unwrap();
    let folder = site.folder.to_str().unwrap();
    for words in [&["audit"][..], &["audit", "--quick"], &["checkout", "HEAD"], &["checkout", "HEAD~1"]] {
        let output = run(&[&["-C", folder], words].concat());
        let told = format!("{}{}", crate::stdout(&output), stderr(&output));
        if words[0] == "audit" {
            assert_eq!(output.status.code(), Some(1), "{words:?}: {told}");
            assert!(told.contains("it has 4398046511104 bytes, and 3 were recorded"), "{words:?}: {told}");
        }
        assert!(output.status.code().is_some_and(|code| code <= 2), "{words:?}: {told}");
    }
}

#[test]
fn a_link_in_an_archive_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    make_victim(&folder.path().join("victim"));
    let before = snapshot(&folder.path().join("victim"));
    assert_eq!(run(&["init", &path("h")]).status.code(), Some(0));
    fs::remove_dir_all(path("h/tmp")).unwrap();
    symlink("../victim", path("h/tmp")).unwrap();
    fs::write(path("x"), "x").unwrap();
    let output = run(&["-C", &path("h"), "store", &path("x")]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    for words in ["h/tmp` is a symbolic link, not a folder", "hint: varve follows no links inside an archive"]
    {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(snapshot(&folder.path().join("victim")), before);
}

/// The folder that the user names may be a link: only what is below it is not followed.
#[test]
fn the_archive_itself_may_be_reached_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert_eq!(run(&["init", &path("h")]).status.code(), Some(0));
    symlink("h", path("link")).unwrap();
    fs::write(path("x.html"), "x").unwrap();
    for words in [
        &["commit", &path("x.html"), "--url", "https://example.com/", "-m", "one"][..],
        &["log"],
        &["purge", "--drop", "https://example.com/", "--reason", "test"],
        &["rebuild"],
        &["plan", "root", "add", "https://example.com/"],
        &["urls", "add", "--domain-file", "--offline", "https://example.com/x"],
        &["audit"],
    ] {
        let output = run(&[&["-C", &path("link")], words].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
    }
}
