//! URLs that `commit` accepts, and those that it rejects before it writes.

use crate::history::Place;
use crate::stderr;

#[test]
fn a_password_is_not_committed() {
    for is_archive in [true, false] {
        let place = Place::new(is_archive);
        place.file("site/page.html", "x");
        place.file("pages.jsonl", r#"{"url": "http://me:hunter2@example.com/x", "body": "x"}"#);
        let url = "http://me:hunter2@example.com/";
        for words in [
            &["commit", "site/page.html", "--url", url, "-m", "m"] as &[&str],
            &["commit", "--jsonl", "pages.jsonl", "-m", "m"],
            &["commit", "--from", "site", "--base-url", url, "-m", "m"],
        ] {
            let refused = place.failure(words);
            assert!(
                refused.contains("contains a user name or a password") && refused.contains("hint: "),
                "{refused}"
            );
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        assert_eq!(place.lines(&["log", "--json"]).len(), 0);
    }
}

#[test]
fn the_base_url_is_checked_before_the_folder() {
    let place = Place::new(true);
    place.file("site/page.html", "x");
    std::os::unix::fs::symlink("page.html", place.path("site/link")).unwrap();
    let commit = |base: &str| place.run(&["commit", "--from", "site", "--base-url", base, "-m", "m"]);
    for (base, words) in [
        ("http://example.com/d?x=1", "has a query or a fragment"),
        ("http://example.com/d#top", "has a query or a fragment"),
        ("notaurl", "is not a URL"),
    ] {
        let output = commit(base);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words) && told.contains("hint: ") && !told.contains("left out"), "{told}");
    }
    assert_eq!(commit("http://example.com/d").status.code(), Some(0));
}

/// A page with one more slash is another page with its own path.
#[test]
fn no_two_paths_share_a_place() {
    let place = Place::new(false);
    place.file("one.html", "one");
    place.file("two.html", "two");
    let urls = ["--url", "http://example.com/a/b", "--url", "http://example.com/a//b", "-m", "m"];
    place.data(&[&["commit", "one.html", "two.html"], &urls[..]].concat());
    place.data(&["audit"]);
    for (name, body) in [("a/b", "one"), ("a/%/b", "two")] {
        let path = place.path("museum").join(name).join(".page_body");
        assert_eq!(std::fs::read_to_string(path).unwrap(), body);
    }
}

#[test]
fn a_time_cannot_be_the_name_of_a_tag() {
    let place = Place::new(true);
    place.file("page.html", "x");
    place.data(&["commit", "page.html", "--url", "http://example.com/", "-m", "m"]);
    assert!(place.failure(&["tag", "1h"]).contains("a time such as `2d`"));
    place.data(&["tag", "h1"]);
}
