//! A folder that is committed again: files that have not changed are not read, and none that has is missed.

use std::fs;
use std::path::Path;
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
    let root = tempfile::tempdir().expect("a folder");
    let folder = tempfile::tempdir().expect("a folder");
    let (root, folder) = (root.path(), folder.path());
    make(Kind::Archive, root);
    write(&folder.join("a"), "one");
    write(&folder.join("b"), "two");
    wait();
    assert_eq!(texts(root, commit_folder(root, folder, false)), ["one", "two"]);
    let cache = root.join("files.seen");
    let known = fs::read_to_string(&cache).expect("written down");
    let digest = |text: &str| varve_core::BodyId::new(sha(text)).to_string();
    assert!(known.contains(&digest("one")) && known.contains(&digest("two")));
    // Were `a` read, it would not be taken for `b`.
    fs::write(&cache, known.replace(&digest("one"), &digest("two"))).expect("written");
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

fn sha(text: &str) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(text.as_bytes()).into()
}
