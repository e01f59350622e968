//! A folder that is committed again: files that have not changed are not read, and none that has is missed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::scene::*;
use varve_archive::VersionId;
use varve_archive::history::open_reader;
use varve_archive::verbs::commit::{NewBody, NewPage, Request, commit, files_below};

fn commit_folder(root: &Path, folder: &Path, read_all: bool) -> VersionId {
    let files = files_below(folder, "https://e.org/", None).expect("listed").files;
    let page = |(url, file)| NewPage {
        url,
        time: None,
        status: 200,
        headers: Default::default(),
        body: NewBody::File(file),
    };
    let request = Request {
        message: "folder".to_owned(),
        threads: 2,
        folder: Some(folder.to_owned()),
        covers: Some(String::new()),
        read_all,
        ..Request::default()
    };
    let pages = files.into_iter().map(page).collect();
    commit(&history(root), &request, pages, &|_| {}).expect("committed").version
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
    let known = fs::read_to_string(&cache).expect("written down");
    let digest = |text: &str| varve_core::BodyId::new(sha(text)).to_string();
    assert!(known.contains(&digest("one")) && known.contains(&digest("two")));
    // Were `a` read, it would not be taken for `b`.
    let other = known.replace(&digest("one"), &digest("two"));
    fs::write(&cache, other.replace(&first.to_string(), &uuid::Uuid::nil().to_string())).expect("written");
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["two", "two"]);
    assert_eq!(texts(root, commit_folder(root, folder, true)), ["one", "two"]);
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["one", "two"], "and it is known again");
    // What the index does not know is read, whatever the cache says; and what is no cache is none.
    for wrong in [known.replace(&digest("one"), &digest("three")), "nonsense".to_owned(), String::new()] {
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
    let known = fs::read_to_string(&cache).expect("written down");
    let digest = |text: &str| varve_core::BodyId::new(sha(text)).to_string();
    // Were `a` compared, it would differ.
    fs::write(&cache, known.replace(&digest("a"), &digest("b"))).expect("written");
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
fn a_body_that_was_taken_out_is_stored_again() {
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

/// Every file below a folder with its inode and time of change, except those that each commit writes.
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
    // Were a stored body read, this damage would be found; were it stored again, it would be repaired.
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

#[test]
fn pages_that_a_folder_lost_leave_the_tree_and_changed_ones_stay() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(Kind::Moku, root);
    for name in ["stays", "goes", "edited"] {
        write(&folder.join(name), name);
    }
    commit_folder(root, folder, false);
    fs::write(root.join("edited/.page_body"), "by a user").expect("written");
    fs::remove_file(folder.join("goes")).expect("removed");
    fs::remove_file(folder.join("edited")).expect("removed");
    commit_folder(root, folder, false);
    assert!(!root.join("goes").exists());
    assert!(root.join("stays/.page_body").exists());
    assert_eq!(fs::read_to_string(root.join("edited/.page_body")).expect("read"), "by a user");
    // A commit of single pages says nothing about others.
    commit_pages(&history(root), "one", &[("https://e.org/one", "one")]);
    assert!(root.join("stays/.page_body").exists());
}

fn sha(text: &str) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(text.as_bytes()).into()
}
