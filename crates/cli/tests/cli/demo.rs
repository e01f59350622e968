//! The output of the tour is true.

use super::{run, stderr, stdout};

#[test]
fn the_tour_captures_a_site_twice_and_audits_it() {
    let output = run(&["demo", "--no-serve"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for wanted in [
        "$ varve capture http://127.0.0.1:",
        "$ varve log",
        "the site as we found it",
        "a year later",
        "$ varve diff",
        "-<p>So far 4,211 of them have been counted.</p>",
        "+<p>So far 4,212 of them have been counted.</p>",
        "$ varve check",
        "layers.html: expected HTTP 2xx; got HTTP 404",
        "9 URLs: 8 ok, 0 changed, 1 broken, 0 unreachable, 0 skipped",
        "$ varve audit",
        "ok: 1 silo",
        "error   C01",
        "clean, all",
        "What to try next",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let (_, then) = text.split_once("The page as it was").expect("a page");
    assert!(then.split_once("$ varve audit").expect("an audit").0.contains("4,211"), "{text}");
    assert!(stderr(&output).contains("unchanged"), "{}", stderr(&output));
}

#[test]
fn the_demo_archive_is_kept_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let museum = folder.path().join("museum");
    let museum = museum.to_str().unwrap();
    let output = run(&["demo", "--keep", museum]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let log = stdout(&run(&["-C", museum, "log", "--json"]));
    assert_eq!(log.lines().count(), 2, "two captures: {log}");
    let checks = stdout(&run(&["-C", museum, "log", "--checks", "--json"]));
    assert_eq!(checks.lines().count(), 1, "{checks}");
    let again = run(&["demo", "--keep", museum]);
    assert_eq!(again.status.code(), Some(2));
}
