//! `varve cat` of pages that were gone at the time or in the version that was asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use varve_testkit::web::{Answer, Site, Web};

use crate::history::{Place, two_versions};
use crate::{stderr, stdout};

/// A page that a version left out is not shown as it was before, unless no time is given.
#[test]
fn a_page_that_was_left_out_is_reported_as_gone() {
    let place = Place::new(true);
    let [first, second] = two_versions(&place);
    let (short_first, short_second) = (&first[..8], &second[..8]);
    let url = "https://e.org/gone.txt";
    for at in ["HEAD", &second, "2999-01-01", "0s"] {
        let output = place.run(&["cat", url, "--at", at]);
        let told = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{at}: {told}");
        let reason = format!(": it was left out (version {short_second})");
        assert!(
            told.contains("`https://e.org/gone.txt` was gone since 20") && told.contains(&reason),
            "{told}"
        );
        let hint =
            format!("hint: `varve cat https://e.org/gone.txt --at {short_first}` prints it as it was on");
        assert!(told.contains(&hint), "{told}");
    }
    assert_eq!(place.data(&["cat", url, "--at", short_first]), "soon gone\n");
    let now = place.run(&["cat", url]);
    assert_eq!((now.status.code(), stdout(&now).as_str()), (Some(0), "soon gone\n"));
    assert!(stderr(&now).contains("is gone since") && stderr(&now).contains("as it was before"));
    place.file("site/gone.txt", "back\n");
    place.data(&["commit", "--from", "site", "--base-url", "https://e.org/", "-m", "third"]);
    assert_eq!(place.data(&["cat", url, "--at", "HEAD"]), "back\n");
    assert_eq!(place.data(&["cat", url, "--at", "0s"]), "back\n");
    assert!(stderr(&place.run(&["cat", url])).is_empty());
    assert_eq!(place.run(&["cat", url, "--at", "HEAD~1"]).status.code(), Some(1));
    let never = place.failure(&["cat", "https://e.org/never", "--at", "HEAD"]);
    assert!(never.contains("nothing was captured of"), "{never}");
}

/// A captured 404 is printed, and the exit code says that the page was gone. The report names the
/// first response that said so, and the capture before it.
#[test]
fn a_captured_404_is_printed_and_reported_as_gone() {
    let state = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&state);
    let web = Web::serve(Site::new().computed("/page", move |_| match now.load(Ordering::SeqCst) {
        0 => Answer::html("<p>here</p>"),
        1 => Answer::html("<p>not found</p>").with_status(404),
        2 => Answer::html("<p>gone for good</p>").with_status(410),
        _ => Answer::html("<p>back</p>"),
    }));
    let place = Place::new(true);
    let url = web.url("/page");
    let mut versions = Vec::new();
    for step in 0..4 {
        state.store(step, Ordering::SeqCst);
        place.run(&["capture", &url, "--allow-private", "--delay", "0", "--retries", "0", "--json"]);
        let newest = place.lines(&["log", "--limit", "1", "--json"]).remove(0);
        versions.push(newest["id"].as_str().unwrap().to_owned());
        let last = place.lines(&["log", &url, "--limit", "1", "--json"]).remove(0);
        assert_eq!(last["version"], newest["id"]);
    }
    let at = |version: &str| {
        let output = place.run(&["cat", &url, "--at", version]);
        (output.status.code(), stdout(&output), stderr(&output))
    };
    assert_eq!(at(&versions[0]), (Some(0), "<p>here</p>".to_owned(), String::new()));
    for (version, body) in [(1, "<p>not found</p>"), (2, "<p>gone for good</p>")] {
        let (code, printed, told) = at(&versions[version]);
        assert_eq!((code, printed.as_str()), (Some(1), body), "{told}");
        let reason = format!("status 404 (version {}); this is", &versions[1][..8]);
        assert!(told.contains(&reason), "{told}");
        assert!(told.contains(&format!("--at {}` prints it as it was on", &versions[0][..8])), "{told}");
    }
    assert_eq!(at(&versions[3]), (Some(0), "<p>back</p>".to_owned(), String::new()));
    let time = place.lines(&["log", &url, "--json"])[1]["time"].as_str().unwrap().to_owned();
    let (code, printed, _) = at(&time);
    assert_eq!((code, printed.as_str()), (Some(1), "<p>gone for good</p>"));
}
