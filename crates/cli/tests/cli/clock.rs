//! Captures and versions whose clock was ahead.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use varve_archive::history::{ArchiveHistoryWriter, HistoryWriter};
use varve_archive::verbs::commit;
use varve_archive::{Date, Headers, VersionId, WriterOptions};
use varve_testkit::web::{Answer, Site, Web};

use crate::history::Place;
use crate::stderr;

const URL: &str = "http://h/";

/// Commits a page with a clock that shows 2037.
fn commit_ahead(place: &Place) -> VersionId {
    let ahead = Date::at_second(UNIX_EPOCH + Duration::from_secs(2_114_380_800));
    let (holder, software) = ("a test".to_owned(), "varve/test".to_owned());
    let options = WriterOptions { holder, software, clock: Arc::new(move || ahead) };
    let writer = ArchiveHistoryWriter::open(&place.path("museum"), options).unwrap();
    let request = commit::Request { message: "ahead".to_owned(), threads: 1, ..commit::Request::default() };
    let page = commit::NewPage {
        url: URL.to_owned(),
        time: None,
        status: 200,
        headers: Headers::new(),
        body: commit::NewBody::Bytes(b"ahead".to_vec()),
    };
    commit::commit(&HistoryWriter::from(&writer), &request, vec![page], &|_| {}).unwrap().version
}

#[test]
fn a_capture_with_a_time_in_the_future_does_not_hide_later_versions() {
    let place = Place::new(true);
    commit_ahead(&place);
    assert_eq!(place.data(&["cat", URL]), "ahead");
    place.file("page", "later");
    place.data(&["commit", "--url", URL, "page", "-m", "later"]);
    for words in [&["cat", URL][..], &["cat", URL, "--newest-good"]] {
        assert_eq!(place.data(words), "later", "{words:?}");
    }
    assert_eq!(place.data(&["cat", URL, "--at", "HEAD~1"]), "ahead");
    // A version without the page changes nothing.
    place.file("other", "other");
    place.data(&["commit", "--url", "http://h/other", "other", "-m", "other"]);
    assert_eq!(place.data(&["cat", URL]), "later");
    place.data(&["rebuild"]);
    assert_eq!(place.data(&["cat", URL]), "later");
}

#[test]
fn a_version_from_the_future_is_reported_when_a_run_begins() {
    let web = Web::serve(Site::new().page("/", Answer::html("<p>here</p>")));
    let place = Place::new(true);
    let version = commit_ahead(&place);
    let url = web.url("/");
    let words = ["capture", &url, "--allow-private", "--delay", "0", "--ignore-robots"];
    let told = stderr(&place.run(&words));
    assert!(told.contains(&format!("version {version} was made at 2037-01-01")), "{told}");
    let events = place.lines(&[&words[..], &["--json"]].concat());
    let event = events.iter().find(|event| event["event"] == "clock_behind").unwrap();
    assert_eq!(event["version"], json!(version.to_string()));
    assert!(event["time"].as_str().unwrap().starts_with("2037-01-01"), "{event}");
}
