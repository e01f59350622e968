//! Every verb of history, on both layouts.

use crate::scene::*;
use varve_archive::RepositoryError;
use varve_archive::history::{CapturePairs, PageChange, resolve_version};
use varve_archive::verbs::cat::{CaptureSelector, at, find};
use varve_archive::verbs::commit::{Request, commit};
use varve_archive::verbs::log::{CaptureFilter, ListCursor, VersionFilter, captures, versions};
use varve_archive::verbs::tag;
use varve_archive::{ArchiveError, Moment};

#[test]
fn committed_pages_are_read_back() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "first", &[("https://e.org/", "one"), ("https://e.org/a", "two")]);
        let second =
            commit_pages(&writer, "second", &[("https://e.org/", "one"), ("https://e.org/b", "three")]);
        drop(writer);
        let reader = reader(root.path());
        assert_eq!((first.parent, second.parent), (None, Some(first.version)), "{kind:?}");
        assert_eq!((second.captures, second.changed), (2, 1), "{kind:?}");
        assert_eq!(reader.head().expect("read"), Some(second.version));
        let wanted = [("https://e.org/", "one"), ("https://e.org/a", "two")];
        assert_eq!(contents(&reader, first.version), wanted.map(|(url, body)| (url.into(), body.into())));
        let log = versions(&reader, &VersionFilter::default(), ListCursor::first(10)).expect("read");
        let said: Vec<_> = log.iter().map(|info| (info.version.message.as_str(), info.captures)).collect();
        assert_eq!(said, [("second", 2), ("first", 2)]);
        let pairs: Vec<_> = CapturePairs::new(reader.catalog(), Some(first.version), Some(second.version))
            .map(|pair| pair.expect("read"))
            .map(|pair| (pair.any().url.clone(), pair.change()))
            .collect();
        // The versions of a site list all their pages; an archive knows what is gone.
        let gone = if kind == Kind::Archive { PageChange::Gone } else { PageChange::Removed };
        let wanted = [
            ("https://e.org/", PageChange::Unchanged),
            ("https://e.org/a", gone),
            ("https://e.org/b", PageChange::Added),
        ];
        assert_eq!(pairs, wanted.map(|(url, change)| (url.to_owned(), change)));
    }
}

#[test]
fn a_page_is_found_by_url_time_and_version() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "first", &[("https://e.org/", "old")]);
        let second = commit_pages(&writer, "second", &[("https://e.org/", "new")]);
        let all = captures(
            writer.as_reader(),
            "https://e.org/#top",
            &CaptureFilter::default(),
            ListCursor::first(9),
        );
        let all = all.expect("read");
        assert_eq!(all.len(), 2, "{kind:?}: newest first");
        let read = |when: &CaptureSelector| {
            let capture = find(writer.as_reader(), "https://e.org/", when).expect("found");
            body(writer.as_reader(), &capture)
        };
        assert_eq!(read(&CaptureSelector::Newest), "new");
        assert_eq!(read(&CaptureSelector::Version(first.version)), "old");
        assert_eq!(read(&CaptureSelector::Time(all[1].time)), "old");
        assert_eq!(read(&CaptureSelector::Time(Moment::from_seconds(all[0].time.seconds() + 99))), "new");
        let when = at(writer.as_reader(), &second.version.to_string()).expect("a version");
        assert_eq!(read(&when), "new");
        let none = find(writer.as_reader(), "https://e.org/none", &CaptureSelector::Newest);
        assert!(matches!(none, Err(ArchiveError::NoCapture { .. })));
    }
}

#[test]
fn history_may_branch() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "root", &[("https://e.org/", "1")]).version;
        let left = commit_pages(&writer, "left", &[("https://e.org/", "2")]).version;
        let request =
            Request { message: "right".into(), parent: Some(first), threads: 1, ..Request::default() };
        let right = commit(&writer, &request, vec![page("https://e.org/", "3")], &|_| {}).expect("committed");
        assert_eq!(right.parent, Some(first));
        let mut children = writer.catalog().children(&first).expect("read");
        children.sort();
        let mut wanted = vec![left, right.version];
        wanted.sort();
        assert_eq!(children, wanted, "{kind:?}");
        let parent = resolve_version(writer.as_reader(), "HEAD~1").expect("found");
        assert_eq!(parent, first);
    }
}

#[test]
fn tags_name_versions_and_can_move_and_go() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "first", &[("https://e.org/", "1")]).version;
        let second = commit_pages(&writer, "second", &[("https://e.org/", "2")]).version;
        tag::set(&writer, "good", Some(first)).expect("set");
        assert_eq!(resolve_version(writer.as_reader(), "good").expect("found"), first);
        tag::set(&writer, "good", Some(second)).expect("moved");
        assert_eq!(resolve_version(writer.as_reader(), "good").expect("found"), second, "{kind:?}");
        let log = versions(
            writer.as_reader(),
            &VersionFilter { tag: Some("good".into()), ..Default::default() },
            ListCursor::first(9),
        );
        assert_eq!(log.expect("read")[0].tags, ["good"]);
        tag::set(&writer, "good", None).expect("gone");
        assert!(tag::list(writer.as_reader()).expect("read").is_empty());
        tag::set(&writer, "h1", Some(first)).expect("a name");
        for bad in ["", "HEAD", "-x", "a b", "0123abcd", "1h", "90m", "500ms"] {
            assert!(matches!(tag::set(&writer, bad, Some(first)), Err(ArchiveError::BadTag(_))), "{bad}");
        }
    }
}

#[test]
fn sensitive_headers_are_hidden_in_rows() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        commit_pages(&writer, "first", &[("https://e.org/", "1")]);
        let capture = find(writer.as_reader(), "https://e.org/", &CaptureSelector::Newest).expect("found");
        assert_eq!(capture.headers.get("set-cookie"), Some(&["[REDACTED]".to_owned()][..]), "{kind:?}");
    }
}

#[test]
fn one_of_two_writers_is_refused_and_nothing_is_lost() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let other = varve_archive::history::open_writer(root.path(), opening());
        assert!(matches!(other, Err(RepositoryError::Lock(_))), "{kind:?}");
        commit_pages(&writer, "first", &[("https://e.org/", "1")]);
        assert_eq!(rows(&reader(root.path())), rows(writer.as_reader()));
    }
}
