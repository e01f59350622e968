//! Working trees: what a person finds on disk, and what a hostile URL cannot do there.

use std::fs;
use std::path::Path;
use varve_archive::RepositoryError;

use crate::scene::*;
use crate::sites::{blob, intend, is_intending, leave_behind, site};
use varve_archive::history::{CapturePairs, PageChange};
use varve_archive::verbs::checkout::checkout;
use varve_archive::{ArchiveError, BodyFailure};

#[test]
fn a_moku_site_mirrors_head() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    let first = commit_pages(&writer, "1", &[("https://e.org/a/b.html", "one"), ("https://e.org/gone", "x")]);
    commit_pages(&writer, "2", &[("https://e.org/a/b.html", "two")]);
    let body = root.path().join("a/b.html/.page_body");
    assert_eq!(fs::read_to_string(&body).expect("written"), "two");
    checkout(&writer, first.version, &mut |_| {}).expect("checked out");
    assert_eq!(fs::read_to_string(&body).expect("written"), "one");
    assert!(root.path().join("gone/.page_headers.json").is_file());
    let head = fs::read(root.path().join(".moku/HEAD")).expect("written");
    assert_eq!(head, first.version.to_string().as_bytes(), "36 bytes and no line end");
}

#[test]
fn files_of_another_version_are_removed() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    let first = commit_pages(&writer, "1", &[("https://e.org/a/b", "one"), ("https://e.org/x/y", "x")]);
    let second = commit_pages(&writer, "2", &[("https://e.org/a/b", "two")]);
    let to = root.path().join("out");
    let done = export(writer.as_reader(), first.version, &to, &mut |_| {}).expect("written");
    assert_eq!((done.written, done.removed), (2, 0));
    let done = export(writer.as_reader(), second.version, &to, &mut |_| {}).expect("written");
    assert_eq!((done.written, done.removed), (1, 1));
    assert!(!to.join("x").exists(), "the page and its folder are gone");
    assert_eq!(fs::read_to_string(to.join("a/b/.page_body")).expect("there"), "two");
    let other = root.path().join("other");
    fs::create_dir(&other).expect("made");
    fs::write(other.join("mine.txt"), "precious").expect("made");
    assert!(export(writer.as_reader(), first.version, &other, &mut |_| {}).is_err());
}

#[test]
fn checkouts_into_reserved_folders_are_rejected() {
    for (kind, own) in [
        (Kind::Archive, &["warc", "warc/x", "index/x", "tmp/x/y", "out/../warc/x", "urls"] as &[&str]),
        (Kind::Moku, &[".moku/x", ".moku/blobs/x"]),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let version = commit_pages(&writer, "1", &[("https://e.org/a", "one")]).version;
        for name in own {
            let to = root.path().join(name);
            let refused = export(writer.as_reader(), version, &to, &mut |_| {});
            assert!(matches!(refused, Err(ArchiveError::InsideArchive { .. })), "{name}: {refused:?}");
        }
        assert!(!root.path().join("out").exists() && !root.path().join("warc/x").exists());
        export(writer.as_reader(), version, &root.path().join("out/warc"), &mut |_| {}).expect("written");
    }
}

fn unfinished_mark(version: varve_archive::VersionId) -> String {
    format!("{{\"holds\":[{{\"version\":\"{version}\",\"layout\":\"moku\"}}],\"unfinished\":true}}")
}

#[test]
fn a_tree_that_was_not_finished_is_finished_by_the_next() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    let first = commit_pages(&writer, "1", &[("https://e.org/a", "one"), ("https://e.org/b", "x")]);
    let second = commit_pages(&writer, "2", &[("https://e.org/a", "two")]);
    let to = root.path().join("out");
    export(writer.as_reader(), first.version, &to, &mut |_| {}).expect("written");
    for version in [first.version, second.version] {
        // As a kill half-way through a new tree leaves it.
        fs::write(to.join("a/.page_body"), "o").expect("written");
        fs::write(to.join(".varve-checkout"), unfinished_mark(first.version)).expect("written");
        export(writer.as_reader(), version, &to, &mut |_| {}).expect("written");
        let text = if version == first.version { "one" } else { "two" };
        assert_eq!(fs::read_to_string(to.join("a/.page_body")).expect("there"), text);
        let mark = fs::read_to_string(to.join(".varve-checkout")).expect("there");
        assert!(mark.contains(&version.to_string()) && mark.contains("\"unfinished\":false"), "{mark}");
    }
    assert!(!to.join("b").exists());
}

#[test]
fn pages_that_share_a_path_follow_one_another() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    let pages: Vec<(String, String)> = (0..300)
        .flat_map(|number| {
            ["https://a.org", "https://b.org/", "http://c.org//"]
                .map(|host| (format!("{host}/x/{number}"), format!("{host} {number}")))
        })
        .collect();
    let borrowed: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
    let version = commit_pages(&writer, "1", &borrowed).version;
    for name in ["new", "new", "again"] {
        let to = root.path().join(name);
        let done = export(writer.as_reader(), version, &to, &mut |_| {}).expect("written");
        assert_eq!((done.written, done.left_out.count(|_| true)), (900, 0));
        for number in 0..300 {
            let text = fs::read_to_string(to.join(format!("x/{number}/.page_body"))).expect("there");
            assert!(pages.iter().any(|(_, body)| *body == text), "{text}");
        }
    }
}

#[test]
fn no_url_leads_out_of_the_tree() {
    for kind in KINDS {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().join("site");
        make(kind, &root);
        let writer = history(&root);
        let long = format!("https://e.org/{}", "l".repeat(300));
        let urls = [
            "https://e.org/../../evil",
            "https://e.org/a/..%2f..%2fevil",
            "https://e.org/.moku/HEAD",
            "https://e.org/a%00b",
            "https://e.org/C:%5Cwindows",
            "https://e.org/a",
            "https://e.org/a/b",
            "https://e.org/A",
            "https://e.org/a?x=1",
            long.as_str(),
        ];
        let pages: Vec<_> = urls.iter().map(|url| (*url, *url)).collect();
        let version = commit_pages(&writer, "hostile", &pages).version;
        let to = outer.path().join("out");
        export(writer.as_reader(), version, &to, &mut |_| {}).expect("written");
        assert_eq!(
            contents(writer.as_reader(), version).len(),
            urls.len(),
            "{kind:?}: each is a page of its own"
        );
        let mut names: Vec<_> =
            fs::read_dir(outer.path()).expect("read").map(|entry| entry.expect("read").file_name()).collect();
        names.sort();
        assert_eq!(names, ["out", "site"], "{kind:?}");
        let written = walk(&to).into_iter().filter(|path| path.ends_with(".page_body")).count();
        assert_eq!(written, urls.len(), "{kind:?}");
        drop(writer);
        assert!(reader(&root).head().expect("HEAD is a file still").is_some());
    }
}

#[test]
fn a_link_in_a_tree_is_never_followed() {
    let outer = tempfile::tempdir().expect("a folder");
    let root = outer.path().join("site");
    make(Kind::Moku, &root);
    let elsewhere = outer.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("made");
    std::os::unix::fs::symlink(&elsewhere, root.join("a")).expect("linked");
    let writer = history(&root);
    let pages = vec![page("https://e.org/a/b", "x")];
    let request =
        varve_archive::verbs::commit::Request { message: "m".into(), threads: 1, ..Default::default() };
    let done = varve_archive::verbs::commit::commit(&writer, &request, pages, &|_| {}).expect("committed");
    assert_eq!((done.tree.unwritten.count, writer.head().expect("read")), (1, Some(done.version)));
    assert!(matches!(done.tree.unwritten.first[0].1, RepositoryError::InTheWay { .. }));
    assert_eq!(fs::read_dir(&elsewhere).expect("read").count(), 0);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("read") {
        let path = entry.expect("read").path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// A checkout takes away what the last HEAD had, and nothing that people changed or that is nowhere
/// else.
#[test]
fn a_checkout_of_a_site_keeps_changed_files_and_last_copies() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let file = |name: &str| root.join(name).join(".page_body");
    let pages = ["plain", "edited", "lost", "pipe"];
    let urls = pages.map(|name| format!("https://e.org/{name}"));
    let first = commit_pages(&writer, "first", &[("https://e.org/first", "first")]).version;
    let second: Vec<(&str, &str)> = urls.iter().map(String::as_str).zip(pages).collect();
    commit_pages(&writer, "second", &second);
    fs::write(file("edited"), "my own words").expect("written");
    fs::remove_file(blob(root, "lost")).expect("removed");
    fs::remove_file(file("pipe")).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(file("pipe")).status().expect("run");
    assert!(made.success());
    let done = checkout(&writer, first, &mut |_| {}).expect("checked out");
    assert_eq!((done.removed, done.stayed), (1, 3));
    assert!(!file("plain").exists() && file("pipe").exists());
    assert_eq!(fs::read_to_string(file("edited")).expect("read"), "my own words");
    assert_eq!(fs::read_to_string(file("lost")).expect("read"), "lost");
}

/// The version is made before its pages are written as files: what cannot be written is named, and
/// the version stands.
#[test]
fn a_page_that_cannot_be_written_to_the_tree_is_committed_all_the_same() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    fs::write(root.join("robots.txt"), "my own").expect("written");
    fs::create_dir_all(root.join("c/.page_body/d")).expect("made");
    let writer = history(root);
    let first = commit_pages(&writer, "1", &[("https://e.org/two", "two")]);
    let urls = ["https://e.org/a", "https://e.org/c", "https://e.org/robots.txt", "https://e.org/z"];
    let second = commit_pages(&writer, "2", &urls.map(|url| (url, url)));
    let named: Vec<_> = second.tree.unwritten.first.iter().map(|(url, _)| url.as_str()).collect();
    assert_eq!((second.tree.unwritten.count, named), (2, urls[1..3].to_vec()));
    assert_eq!((second.parent, writer.head().expect("read")), (Some(first.version), Some(second.version)));
    drop(writer);
    let writer = history(root);
    assert_eq!((writer.head().expect("read"), writer.repaired_head()), (Some(second.version), None));
    assert_eq!(fs::read_to_string(root.join("robots.txt")).expect("read"), "my own");
    assert!(root.join("c/.page_body/d").is_dir());
    for (page, is_there) in [("two", false), ("a", true), ("z", true)] {
        assert_eq!(root.join(page).join(".page_body").exists(), is_there, "{page}");
    }
}

/// A body that cannot be had is no matter of the tree: where one is damaged between its being kept
/// and its being written there, the commit fails and names it. The version is made by then.
#[test]
fn a_commit_fails_if_a_body_is_lost_during_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let request =
        varve_archive::verbs::commit::Request { message: "m".into(), threads: 1, ..Default::default() };
    let long = "long ".repeat(1 << 20);
    for body in ["short", long.as_str()] {
        let damage = |_| fs::write(blob(root, body), "damaged").expect("written");
        let pages = vec![page("https://e.org/a", body)];
        let error =
            varve_archive::verbs::commit::commit(&writer, &request, pages, &damage).expect_err("damaged");
        assert_eq!(error.body_failure(), Some(BodyFailure::Damaged), "{error:?}");
        let head = writer.head().expect("read").expect("moved");
        assert_eq!(writer.catalog().version(&head).expect("read").map(|info| info.version.id), Some(head));
    }
}

#[test]
fn an_interrupted_move_of_head_is_completed_by_the_next_writer() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let first = commit_pages(&writer, "1", &[("https://e.org/a", "1")]).version;
    let second = commit_pages(&writer, "2", &[("https://e.org/a", "2")]).version;
    drop(writer);
    // As a kill between the rows and HEAD leaves it.
    std::fs::write(root.join(".moku/HEAD"), first.to_string()).expect("written");
    std::fs::write(root.join("a/.page_body"), "1").expect("written");
    assert_eq!(history(root).head().expect("read"), Some(first), "Moku itself may have moved it");
    intend(root, &second.to_string());
    assert_eq!(history(root).head().expect("read"), Some(second));
    assert_eq!(std::fs::read_to_string(root.join("a/.page_body")).expect("read"), "2");
    // One whose version never came is given up.
    let never = varve_archive::VersionId::new(uuid::Uuid::nil());
    for given_up in [never.to_string(), "no id at all".to_owned()] {
        intend(root, &given_up);
        assert_eq!(history(root).head().expect("read"), Some(second));
        assert!(!is_intending(root), "{given_up}");
    }
}

/// A writer that moves HEAD for one that was stopped does what that one would have done: pages that
/// the version does not have leave the tree, and changed ones stay.
#[test]
fn completing_a_move_of_head_removes_the_pages_of_the_old_one() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let pages = ["a", "left", "edited", "lost"].map(|name| format!("https://e.org/{name}"));
    let first = commit_pages(&writer, "1", &pages.each_ref().map(|url| (url.as_str(), url.as_str()))).version;
    let second = commit_pages(&writer, "2", &[(&pages[0], "2")]).version;
    drop(writer);
    for intention in [None, Some(second.to_string()), Some(format!("{second} {first}"))] {
        checkout(&history(root), first, &mut |_| {}).expect("checked out");
        leave_behind(root, first);
        fs::write(root.join("edited/.page_body"), "by a user").expect("written");
        let lost = fs::read(blob(root, &pages[3])).expect("read");
        fs::remove_file(blob(root, &pages[3])).expect("removed");
        intention.iter().for_each(|ids| intend(root, ids));
        assert_eq!(history(root).head().expect("read"), Some(second));
        assert_eq!(fs::read_to_string(root.join("a/.page_body")).expect("read"), "2");
        assert!(!root.join("left").exists() && !is_intending(root), "{intention:?}");
        assert_eq!(fs::read_to_string(root.join("edited/.page_body")).expect("read"), "by a user");
        assert_eq!(fs::read(root.join("lost/.page_body")).expect("read"), lost, "the last copy");
        fs::write(blob(root, &pages[3]), lost).expect("restored");
    }
}

/// Of two spellings of one page that were committed together, the last is shown; it is paired with any
/// spelling of the next version.
#[test]
fn two_spellings_that_share_a_path_are_one_page() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    let [one, other, third] =
        ["https://e.org/a?x=1&y=2", "https://e.org/a?y=2&x=1", "https://e.org/a?y=2&utm_source=z&x=1"];
    let commit = |message: &str, pages: &[(&str, &str)]| commit_pages(&writer, message, pages).version;
    let versions = [
        commit("1", &[(one, "one"), (other, "other")]),
        commit("2", &[(one, "one"), (other, "changed")]),
        commit("3", &[(third, "one")]),
    ];
    let changes = |base: usize, head: usize| {
        let pairs = CapturePairs::new(writer.catalog(), Some(versions[base]), Some(versions[head]));
        let pairs = pairs.map(|pair| pair.expect("read"));
        pairs.map(|pair| (pair.any().url.clone(), pair.change())).collect::<Vec<_>>()
    };
    assert_eq!(changes(0, 1), [(other.to_owned(), PageChange::Changed)]);
    assert_eq!(changes(1, 2), [(third.to_owned(), PageChange::Changed)]);
    let to = root.path().join("out");
    let done = export(writer.as_reader(), versions[0], &to, &mut |_| {}).expect("written");
    assert_eq!((done.written, done.covered.count), (1, 0));
}

/// A page that could not be written covers no other.
#[test]
fn only_pages_replaced_by_another_page_of_their_path_count_as_covered() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let urls = ["https://a.example/x", "https://b.example/x", "https://c.example/x"];
    let version = commit_pages(&writer, "1", &urls.map(|url| (url, url))).version;
    fs::remove_file(blob(root, urls[2])).expect("removed");
    let to = root.join("out");
    let done = export(writer.as_reader(), version, &to, &mut |_| {}).expect("written");
    assert_eq!((done.written, done.left_out.count(|_| true), done.covered.count), (2, 1, 1));
    assert_eq!(done.covered.first, [(urls[0].to_owned(), urls[1].to_owned())]);
    assert_eq!(fs::read_to_string(to.join("x/.page_body")).expect("written"), urls[1]);
}

#[test]
fn a_missing_body_leaves_only_its_own_page_out_of_a_checkout() {
    let damaged = |path: &Path| fs::write(path, "odd").expect("written");
    let missing = |path: &Path| fs::remove_file(path).expect("removed");
    let unreadable = |path: &Path| {
        fs::remove_file(path).expect("removed");
        fs::create_dir(path).expect("made");
    };
    let refused = BodyFailure::Unreadable(std::io::ErrorKind::IsADirectory);
    for (harm, expected) in [
        (&damaged as &dyn Fn(&Path), BodyFailure::Damaged),
        (&missing, BodyFailure::Missing),
        (&unreadable, refused),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let [first, second] = site(root);
        let writer = history(root);
        checkout(&writer, first, &mut |_| {}).expect("moved");
        for content in ["new", "same"] {
            harm(&blob(root, content));
        }
        let done = checkout(&writer, second, &mut |_| {}).expect("moved");
        let left_out: Vec<_> =
            done.left_out.iter().map(|(trouble, pages)| (trouble, &pages.urls[..])).collect();
        assert_eq!(left_out, [(expected, &["https://e.org/".to_owned(), "https://e.org/a".to_owned()][..])]);
        drop(writer);
        let writer = history(root);
        assert_eq!((writer.head().expect("read"), writer.repaired_head()), (Some(second), None));
        assert!(!root.join(".page_body").exists(), "the page of another version passes for no other");
        let kept =
            fs::read_to_string(root.join("a/.page_body")).expect("the same body, written while it was good");
        assert_eq!(kept, "same");
        assert_eq!(fs::read_to_string(root.join("b/.page_body")).expect("written"), "more");
    }
}

#[test]
fn a_second_checkout_to_a_folder_in_use_is_refused() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make(kind, root);
        let writer = history(root);
        let first = commit_pages(&writer, "first", &[("https://e.org/", "first")]).version;
        let second = commit_pages(&writer, "second", &[("https://e.org/", "second")]).version;
        let to = root.join("out");
        let mut refused = None;
        // It tells of its progress while it writes.
        export(writer.as_reader(), first, &to, &mut |_| {
            refused = export(writer.as_reader(), second, &to, &mut |_| {}).err();
        })
        .expect("written");
        assert!(matches!(refused, Some(ArchiveError::CheckedOutTo(_))), "{refused:?}");
        assert_eq!(fs::read_to_string(to.join(".page_body")).expect("read"), "first");
        export(writer.as_reader(), second, &to, &mut |_| {}).expect("nobody else is there now");
        assert_eq!(fs::read_to_string(to.join(".page_body")).expect("read"), "second");
    }
}
