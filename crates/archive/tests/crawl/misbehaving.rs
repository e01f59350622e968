//! Servers that break HTTP in many ways: each response is recorded, and the run continues.

use varve_archive::verbs::capture::ScopeKind;
use varve_testkit::web::Site;

use crate::scene::Scene;

/// The expected record: the status and why the response is incomplete, or the kind of failure.
enum Recorded {
    Whole(u16),
    Cut(u16, &'static str),
    Failed(&'static str),
}
use Recorded::{Cut, Failed, Whole};

const FAULTS: [(&str, Recorded); 24] = [
    ("/slow/5", Whole(200)),
    ("/slow/100000", Cut(200, "time")),
    ("/endless", Cut(200, "length")),
    ("/length/short", Cut(200, "disconnect")),
    ("/length/long", Whole(200)),
    ("/length/two", Cut(200, "unspecified")),
    ("/length/negative", Cut(200, "unspecified")),
    ("/chunks/good", Whole(200)),
    ("/chunks/cut", Cut(200, "disconnect")),
    ("/chunks/broken", Cut(200, "unspecified")),
    ("/chunks/huge", Cut(200, "disconnect")),
    ("/headers/flood", Cut(200, "length")),
    ("/headers/long", Cut(200, "length")),
    ("/headers/folded", Whole(200)),
    ("/headers/garbage", Whole(200)),
    ("/reset", Cut(200, "disconnect")),
    ("/close", Failed("protocol")),
    ("/silence", Failed("timeout")),
    ("/early", Whole(200)),
    ("/bomb/80", Whole(200)),
    ("/gzip/good", Whole(200)),
    ("/gzip/cut", Whole(200)),
    ("/gzip/false", Whole(200)),
    ("/charset/utf-16", Whole(200)),
];

#[test]
fn each_misbehaving_response_is_recorded() {
    let scene = Scene::new(Site::with_everything());
    let seeds: Vec<&str> = FAULTS.iter().map(|(path, _)| *path).collect();
    let settings = scene.settings(&seeds, ScopeKind::Page).with(|settings| {
        settings.requests.timeout = 8000;
        settings.requests.idle_timeout = 3000;
        settings.requests.max_size = 2 << 20;
        settings.politeness.per_host = 8;
    });
    let told = scene.run(settings);
    let mut wrong = Vec::new();
    for (path, expected) in &FAULTS {
        let (captured, failed) = (told.captured.get(*path), told.failed.get(*path));
        let is = match expected {
            Whole(status) => captured == Some(&(*status, false, None)),
            Cut(status, why) => captured == Some(&(*status, false, Some((*why).to_owned()))),
            Failed(kind) => failed.map(String::as_str) == Some(*kind),
        };
        if !is {
            wrong.push(format!("{path}: {captured:?} {failed:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    scene.assert_sound();
}

/// Bytes that are not HTTP.
#[test]
fn garbage_is_kept_or_refused_and_never_taken_for_a_page() {
    let scene = Scene::new(Site::with_everything());
    let settings =
        scene.settings(&["/garbage", "/bare", "/headers/endless"], ScopeKind::Page).with(|settings| {
            settings.requests.timeout = 8000;
            settings.requests.idle_timeout = 3000;
        });
    let told = scene.run(settings);
    for path in ["/garbage", "/bare", "/headers/endless"] {
        let is_whole_page =
            told.captured.get(path).is_some_and(|(status, _, cut)| *status == 200 && cut.is_none());
        assert!(
            !is_whole_page && (told.captured.contains_key(path) || told.failed.contains_key(path)),
            "{path}"
        );
    }
    scene.assert_sound();
    // Other tools disagree about the payload of what has no head, so none is named.
    let text = scene.silo_text();
    let bare = text
        .split("WARC/1.1\r\n")
        .filter(|record| record.contains("WARC-Type: response") && !record.contains("\r\n\r\nHTTP/"));
    let digests: Vec<bool> = bare.map(|record| record.contains("WARC-Payload-Digest")).collect();
    assert!(!digests.is_empty() && !digests.contains(&true), "{digests:?}");
}

/// Links are found through every coding and character set.
#[test]
fn links_are_found_whatever_the_charset() {
    for path in ["/charset/utf-16", "/charset/wrong", "/charset/none"] {
        let scene = Scene::new(Site::with_everything());
        let told = scene
            .run(scene.settings(&[path], ScopeKind::Host).with(|settings| settings.scope.depth = Some(1)));
        assert!(told.captured.contains_key("/about.html"), "{path}: {:?}", told.paths());
    }
}

#[test]
fn the_body_of_a_packed_page_is_the_page() {
    let scene = Scene::new(Site::with_everything());
    let told = scene.run(scene.settings(&["/gzip/good"], ScopeKind::Page));
    let captures = scene.captures(told.version());
    let page = captures.iter().find(|capture| capture.url.ends_with("/gzip/good")).unwrap();
    assert_eq!(scene.body(page), "<p>Packed.</p>".repeat(100).into_bytes());
}
