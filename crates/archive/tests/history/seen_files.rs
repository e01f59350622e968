//! A folder that is committed again: files that have not changed are not read, and none that has is
//! missed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::scene::*;
use varve_archive::VersionId;
use varve_archive::history::open_reader;
use varve_archive::verbs::commit::{FolderSource, Request, commit};

const BASE_URL: &str = "https://e.org/";

fn commit_folder(root: &Path, folder: &Path, read_all: bool) -> VersionId {
    let request = Request {
        message: "folder".to_owned(),
        threads: 2,
        covers: Some(String::new()),
        read_all,
        ..Request::default()
    };
    commit(&history(root), &request, FolderSource::new(folder, BASE_URL), &|_| {}).expect("committed").version
}

/// What a cache holds, without its checksum.
fn read_cache(path: &Path) -> Vec<u8> {
    let mut known = fs::read(path).expect("written down");
    known.truncate(known.len() - size_of::<u32>());
    known
}

/// Writes a cache with the right checksum.
fn write_cache(path: &Path, known: &[u8]) {
    let checksum = crc32fast::hash(known).to_le_bytes();
    fs::write(path, [known, &checksum].concat()).expect("written");
}

fn replaced(known: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let place = known.windows(old.len()).position(|bytes| bytes == old).expect("it is there");
    [&known[..place], new, &known[place + old.len()..]].concat()
}

/// Writes a file as if long ago.
fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    let file = fs::File::options().write(true).open(path).expect("opened");
    file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).expect("set");
}

fn texts(root: &Path, version: VersionId) -> Vec<String> {
    let reader = open_reader(root).expect("opened");
    contents(&reader, version).into_iter().map(|(_, body)| body).collect()
}

/// The time of the last change of a file is that of its disk, and cannot be set: it must pass.
fn wait() {
    std::thread::sleep(Duration::from_millis(60));
}

#[test]
fn unchanged_files_are_not_read() {
    unchanged_files_are_not_read_in(Kind::Archive, "files.seen");
    unchanged_files_are_not_read_in(Kind::Moku, ".moku/varve.seen");
}

fn unchanged_files_are_not_read_in(kind: Kind, cache: &str) {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(kind, root);
    write(&folder.join("a"), "one");
    write(&folder.join("b"), "two");
    wait();
    let first = commit_folder(root, folder, false);
    assert_eq!(texts(root, first), ["one", "two"]);
    let cache = root.join(cache);
    let known = read_cache(&cache);
    // Were `a` read, it would not be taken for `b`.
    let other = replaced(&known, &sha("one"), &sha("two"));
    let (first, nil) = (first.to_string(), uuid::Uuid::nil().to_string());
    write_cache(&cache, &replaced(&other, first.as_bytes(), nil.as_bytes()));
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["two", "two"]);
    assert_eq!(texts(root, commit_folder(root, folder, true)), ["one", "two"]);
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["one", "two"], "and it is known again");
    // A body that the index does not have is read even if the cache names it. A file that is no
    // cache counts as an empty one.
    write_cache(&cache, &replaced(&known, &sha("one"), &sha("three")));
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["one", "two"]);
    let whole = fs::read(&cache).expect("read");
    for wrong in [&other, &b"nonsense"[..], b"", &whole[..whole.len() / 2], &[0; 200]] {
        fs::write(&cache, wrong).expect("written");
        assert_eq!(texts(root, commit_folder(root, folder, false)), ["one", "two"]);
    }
    // Another folder of the same names.
    let other = tempfile::tempdir().expect("a folder");
    write(&other.path().join("a"), "six");
    wait();
    assert_eq!(texts(root, commit_folder(root, other.path(), false)), ["six"]);
}

/// As long as the parent is the last commit of the folder, files that did not change are not even compared with its state.
#[test]
fn unchanged_files_are_not_compared() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(Kind::Archive, root);
    ["a", "b", "c"].iter().for_each(|name| write(&folder.join(name), name));
    wait();
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["a", "b", "c"]);
    let cache = root.join("files.seen");
    // Were `a` compared, it would differ.
    write_cache(&cache, &replaced(&read_cache(&cache), &sha("a"), &sha("b")));
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["a", "b", "c"]);
    // One changes, one goes, one comes; the new one is too young to be known again.
    write(&folder.join("a"), "new");
    fs::remove_file(folder.join("b")).expect("removed");
    fs::write(folder.join("d"), "d").expect("written");
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["new", "c", "d"]);
    fs::remove_file(folder.join("d")).expect("removed");
    fs::write(folder.join("b"), "b").expect("written");
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["new", "b", "c"]);
    // Something else happened since: everything is compared.
    commit_pages(&history(root), "other", &[("https://e.org/x", "x")]);
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["new", "b", "c"]);
}

#[test]
fn a_file_that_changed_is_read_however_it_looks() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(Kind::Archive, root);
    let path = folder.join("a");
    for text in ["one", "two", "six"] {
        // Same length, same time of the last write, same inode.
        write(&path, text);
        wait();
        assert_eq!(texts(root, commit_folder(root, folder, false)), [text]);
        // Written at once, again and again, within the grain of any clock.
        for text in ["ten", "1-0", "0-1"] {
            fs::write(&path, text).expect("written");
            assert_eq!(texts(root, commit_folder(root, folder, false)), [text]);
        }
    }
}

#[test]
fn a_purged_body_is_stored_again_by_the_next_commit() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(Kind::Archive, root);
    write(&folder.join("a"), "one");
    wait();
    commit_folder(root, folder, false);
    crate::purge::rewrite(root, &crate::purge::request(&["https://e.org/a"]));
    assert!(!root.join("files.seen").exists());
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["one"]);
}

/// Every file below a folder with its inode and time of change, except those that each commit
/// writes.
fn stamps(root: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).expect("listed").map(|entry| entry.expect("read")) {
            let about = entry.metadata().expect("read");
            if about.is_dir() {
                waiting.push(entry.path());
            } else if entry.path().parent() != Some(&root.join(".moku")) {
                found.insert(entry.path(), (about.ino(), about.ctime(), about.ctime_nsec()));
            }
        }
    }
    found
}

#[test]
fn a_commit_to_a_site_reads_and_writes_only_what_changed() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(Kind::Moku, root);
    for number in 0..260 {
        write(&folder.join(format!("page-{number}")), &format!("page {number:03}"));
    }
    wait();
    commit_folder(root, folder, false);
    // Were a stored body read, this damage would be found; were it stored again, it would be
    // repaired.
    let blob = |text: &str| crate::sites::blob(root, text);
    (1..260).for_each(|number| fs::write(blob(&format!("page {number:03}")), "damaged!").expect("written"));
    let before = stamps(root);
    write(&folder.join("page-0"), "changed");
    wait();
    commit_folder(root, folder, false);
    let after = stamps(root);
    let written: Vec<&PathBuf> =
        after.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp)).map(|(path, _)| path).collect();
    let mut expected =
        [blob("changed"), root.join("page-0/.page_body"), root.join("page-0/.page_headers.json")];
    expected.sort();
    assert_eq!(written, expected.iter().collect::<Vec<_>>());
    assert_eq!(fs::read_to_string(blob("page 001")).expect("read"), "damaged!");
    assert_eq!(fs::read_to_string(root.join("page-0/.page_body")).expect("read"), "changed");
    // A file of the tree that is missing or has another length is written again.
    fs::write(root.join("page-0/.page_body"), "longer than before").expect("written");
    commit_folder(root, folder, false);
    assert_eq!(fs::read_to_string(root.join("page-0/.page_body")).expect("read"), "changed");
}

/// The files of pages that a commit opens where one of `count` pages has changed: in the folder, in
/// the working tree and among the stored bodies, without the number of a changed page's temporary file.
#[cfg(target_os = "linux")]
fn files_opened_by_a_commit(kind: Kind, count: usize, read_all: bool) -> Vec<PathBuf> {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(kind, root);
    for number in 0..count {
        write(&folder.join(format!("page-{number}")), &format!("page {number:03}"));
    }
    wait();
    commit_folder(root, folder, false);
    write(&folder.join("page-0"), "changed");
    wait();
    let opened = varve_testkit::OpenedFiles::below(&[root, folder]).expect("watched");
    commit_folder(root, folder, read_all);
    let is_page = |path: &&PathBuf| path.parent() != Some(root) && path.parent() != Some(&root.join(".moku"));
    let is_silo =
        |path: &PathBuf| ["warc", "index", "tmp"].iter().any(|own| path.starts_with(root.join(own)));
    let opened = opened.take().expect("reported");
    let pages = opened.iter().filter(is_page).filter(|path| !is_silo(path));
    pages.map(|path| path.strip_prefix(root).or(path.strip_prefix(folder)).expect("below").into()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn the_files_that_a_commit_opens_do_not_grow_with_the_unchanged_pages() {
    assert_eq!(files_opened_by_a_commit(Kind::Archive, 260, false), [Path::new("page-0")]);
    assert_eq!(files_opened_by_a_commit(Kind::Archive, 260, true).len(), 260);
    let blob = |text: &str| {
        let id = varve_core::BodyId::new(sha(text)).to_string();
        format!(".moku/blobs/{}/{id}", &id[..2])
    };
    let names = |count| -> Vec<String> {
        let opened = files_opened_by_a_commit(Kind::Moku, count, false);
        let name =
            |path: &PathBuf| path.to_string_lossy().replace(&std::process::id().to_string(), "PROCESS");
        // The folder of the new body may be new itself, and then it is not watched.
        let mut names: Vec<String> =
            opened.iter().map(name).filter(|name| *name != blob("changed")).collect();
        names.sort();
        names
    };
    // The changed file, its body before for the diff, the new body, and its page in the tree.
    let mut expected = [
        "page-0".to_owned(),
        blob("page 000"),
        ".moku/blobs/unfinished-PROCESS-0".to_owned(),
        "page-0/.tmp-varve-.page_body".to_owned(),
        "page-0/.tmp-varve-.page_headers.json".to_owned(),
    ];
    expected.sort();
    assert_eq!(names(20), expected);
    assert_eq!(names(260), expected);
    assert!(files_opened_by_a_commit(Kind::Moku, 260, true).len() > 3 * 260);
}

/// A site with the pages `stays`, `goes` and `edited` in its tree, the last changed by a user, and a
/// file that the user added.
fn tree_to_update(root: &Path) {
    make(Kind::Moku, root);
    let pages = ["stays", "goes", "edited"].map(|name| (format!("https://e.org/{name}"), name));
    commit_pages(&history(root), "first", &pages.each_ref().map(|(url, body)| (url.as_str(), *body)));
    fs::write(root.join("edited/.page_body"), "by a user").expect("written");
    fs::write(root.join("goes/notes.txt"), "mine").expect("written");
}

fn assert_tree_is_updated(root: &Path, done: &varve_archive::verbs::commit::Report) {
    let read = |name: &str| fs::read_to_string(root.join(name)).ok();
    assert_eq!((done.tree.removed, done.tree.stayed, done.tree.unwritten.count), (1, 1, 0));
    assert_eq!(read("stays/.page_body").as_deref(), Some("stays"));
    assert_eq!(read("edited/.page_body").as_deref(), Some("by a user"));
    assert_eq!(read("goes/notes.txt").as_deref(), Some("mine"));
    assert!(!root.join("goes/.page_body").exists() && !root.join("goes/.page_headers.json").exists());
}

#[test]
fn pages_that_a_version_does_not_have_leave_the_tree_and_changed_ones_stay() {
    for read_all in [false, true] {
        let root = tempfile::tempdir().expect("a folder");
        let folder = tempfile::tempdir().expect("a folder");
        let (root, folder) = (root.path(), folder.path());
        tree_to_update(root);
        write(&folder.join("stays"), "stays");
        let request = Request { message: "folder".to_owned(), threads: 1, read_all, ..Request::default() };
        let source = FolderSource::new(folder, BASE_URL);
        let done = commit(&history(root), &request, source, &|_| {}).expect("committed");
        assert_tree_is_updated(root, &done);
    }
    let root = tempfile::tempdir().expect("a folder");
    tree_to_update(root.path());
    let done = commit_pages(&history(root.path()), "one page", &[("https://e.org/stays", "stays")]);
    assert_tree_is_updated(root.path(), &done);
}

/// The tree holds the pages of HEAD, also where the new version descends from another one.
#[test]
fn a_version_with_another_parent_takes_the_place_of_head_in_the_tree() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let first = commit_pages(&writer, "1", &[("https://e.org/a", "a"), ("https://e.org/b", "b")]).version;
    commit_pages(&writer, "2", &[("https://e.org/c", "c")]);
    let request = Request { message: "3".to_owned(), threads: 1, parent: Some(first), ..Request::default() };
    let done = commit(&writer, &request, vec![page("https://e.org/a", "a")], &|_| {}).expect("committed");
    assert_eq!((done.tree.removed, done.tree.stayed, done.changed), (1, 0, 0));
    assert!(root.join("a/.page_body").exists());
    assert!(!root.join("b").exists() && !root.join("c").exists());
}

fn sha(text: &str) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(text.as_bytes()).into()
}
