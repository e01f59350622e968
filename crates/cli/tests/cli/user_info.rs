//! No password in a URL is accepted, printed or stored, whichever way the URL comes in.

use std::path::Path;

use serde_json::json;
use varve_testkit::web::{Answer, Site, Web};

use crate::history::Place;
use crate::{run_with_input, stderr, stdout};

const PASSWORD: &str = "hunter2";

/// The spellings of a URL that browsers and people understand.
const URLS: [&str; 5] = [
    "http://me:hunter2@h.example/a",
    "https:me:hunter2@h.example/a",
    "HTTPS:\\\\me:hunter2@h.example/a",
    "me:hunter2@h.example/a",
    "https://me:hun/ter2hunter2@h.example/",
];

pub(crate) fn assert_nowhere(folder: &Path, password: &str) {
    for entry in walk(folder) {
        let bytes = std::fs::read(&entry).unwrap();
        let mut text = bytes.clone();
        if entry.extension().is_some_and(|end| end == "gz") {
            use std::io::Read;
            text.clear();
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        }
        let found = text.windows(password.len()).any(|part| part == password.as_bytes());
        assert!(!found, "{}", entry.display());
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn every_verb_refuses_a_password_and_does_not_repeat_it() {
    let place = Place::new(true);
    place.file("page", "text");
    place.file("site/page", "text");
    place.data(&["commit", "--url", "http://h.example/a", "page", "-m", "page"]);
    for url in URLS {
        place.file("page.jsonl", &json!({ "url": url, "body": "x" }).to_string());
        let calls: [&[&str]; 27] = [
            &["capture", url],
            &["commit", "--url", url, "page", "-m", "m"],
            &["commit", "--from", "site", "--base-url", url, "-m", "m"],
            &["commit", "--jsonl", "page.jsonl", "-m", "m"],
            &["urls", "add", url],
            &["urls", "add", "--offline", "--domain-file", url],
            &["urls", "show", url],
            &["urls", "remove", url],
            &["check", url],
            &["cat", url],
            &["cat", "http://h.example/a", "--at", url],
            &["log", url],
            &["diff", "HEAD", "HEAD", "--url", url],
            &["diff", url],
            &["show", url],
            &["tag", "name", url],
            &["explain", url],
            &["key", url],
            &["export", "--url", url, "x"],
            &["export", "--format", "crystal", "x.crystalproj", "--version", url],
            &["plan", "root", "add", url],
            &["plan", "suggest", url],
            &["score", url],
            &["checkout", url, "there"],
            &["capture", "http://h.example/", "--include", url],
            &["capture", "http://h.example/", "--exclude", url],
            &["purge", "--drop", url, "--reason", "r"],
        ];
        for words in calls {
            let output = place.run(words);
            let told = format!("{}{}", stdout(&output), stderr(&output));
            assert_ne!(output.status.code(), Some(0), "{words:?}: {told}");
            assert!(!told.contains(PASSWORD) && !told.contains("hun/ter2"), "{words:?}: {told}");
        }
        for verb in ["key", "explain"] {
            let output = run_with_input(&[verb, "-"], url.as_bytes());
            let told = format!("{}{}", stdout(&output), stderr(&output));
            assert_eq!(output.status.code(), Some(2), "{verb}: {told}");
            assert!(!told.contains(PASSWORD) && told.contains("error: line 1"), "{verb}: {told}");
        }
    }
    assert_nowhere(&place.path("museum"), PASSWORD);
}

/// The pages themselves hold the password; nothing else does, and no request sends it.
#[test]
fn links_sitemaps_and_redirects_with_a_password_are_dropped_and_counted() {
    let with_password = |request: &varve_testkit::web::Request, path: &str| {
        request.url(path).replacen("http://", "http://me:hunter2@", 1)
    };
    let site = Site::new()
        .computed("/", move |request| {
            let (link, image) = (with_password(request, "/secret"), with_password(request, "/image.png"));
            Answer::html(format!("<a href='{link}'>a</a><img src='{image}'><a href=/away>b</a>"))
        })
        .computed("/away", move |request| Answer::redirect(302, &with_password(request, "/target")))
        .computed("/robots.txt", move |request| {
            Answer::of("text/plain", format!("Sitemap: {}\n", with_password(request, "/map.xml")))
        });
    let web = Web::serve(site);
    let place = Place::new(true);
    let url = web.url("/");
    let words = ["capture", &url, "--scope", "host", "--allow-private", "--delay", "0", "--json"];
    let output = place.run(&words);
    let told = format!("{}{}", stdout(&output), stderr(&output));
    assert!(!told.contains(PASSWORD), "{told}");
    let skipped: Vec<serde_json::Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|event| event["event"] == "skipped" && event["rule"] == "user-info")
        .collect();
    let mut paths: Vec<&str> =
        skipped.iter().map(|event| event["url"].as_str().unwrap().rsplit('/').next().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["image.png", "map.xml", "secret", "target"]);
    for path in ["/secret", "/image.png", "/target", "/map.xml"] {
        assert_eq!(web.count(path), 0, "{path}");
    }
    let catalog = std::fs::read(place.path("museum/catalog.db")).unwrap();
    // The header of the redirect is a row of the catalog; the URLs are not.
    let urls = place.data(&["log", "--json", &web.url("/secret")]);
    assert!(!urls.contains(PASSWORD) && !catalog.is_empty());
}

/// A check reports where a redirect leads without its password, and does not go there.
#[test]
fn a_check_does_not_follow_a_redirect_with_a_password() {
    let site = Site::new()
        .computed("/", |request| {
            Answer::redirect(302, &request.url("/target").replacen("http://", "http://me:hunter2@", 1))
        })
        .page("/target", Answer::html("target"));
    let web = Web::serve(site);
    let place = Place::new(true);
    place.data(&["urls", "add", "--offline", "--domain-file", &web.url("/")]);
    for more in [&[][..], &["--json"]] {
        let words = ["check", "--allow-private", "--delay", "0", "--retries", "0"];
        let output = place.run(&[&words[..], more].concat());
        let told = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!told.contains(PASSWORD), "{told}");
    }
    assert_eq!(web.count("/target"), 0);
}
