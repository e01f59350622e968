//! Links as expectations: on the web, between files, and in pages that cannot be read.

use std::fs;
use std::path::Path;
use std::process::Command;

use varve_archive::expectations::report::CheckedUrl;
use varve_archive::history::{StatePages, open_reader, open_writer};
use varve_archive::verbs::check::{LinkCollection, LinkRules, LinkTextFormat, Request, check_links};
use varve_archive::verbs::commit::{NewBody, NewPage, Request as CommitRequest, commit};
use varve_archive::{Headers, VersionId};
use varve_testkit::web::{Answer, Site};

use crate::scene::{Scene, Wrong, opening, told};

fn checked(scene: &Scene, links: &LinkCollection, rules: &LinkRules) -> Vec<CheckedUrl> {
    let mut found = Vec::new();
    check_links((links, rules), &Request::default(), &scene.prober(true), &mut |_| {}, |checked| {
        found.push(checked);
        Ok::<(), Wrong>(())
    })
    .unwrap();
    found
}

#[test]
fn links_of_a_text_lead_to_pages_and_to_their_elements() {
    let site = Site::new()
        .page("/good", Answer::html("<p id=part>Text.</p>"))
        .page("/forbidden", Answer::status(403))
        .page("/moved", Answer::redirect(301, "/gone"))
        .page("/gone", Answer::status(404));
    let scene = Scene::new(site);
    let mut links = LinkCollection::default();
    let text = "[1](/good) [2](/good#part) [3](/good#other) [4](/forbidden) [5](/moved) [6](mailto:a@b.c)";
    links.add_text(text.as_bytes(), LinkTextFormat::Markdown, "a.md", &scene.web.url("/")).unwrap();
    links
        .add_text(b"<a href=/good#other>1</a>", LinkTextFormat::Html, "b.html", &scene.web.url("/"))
        .unwrap();
    assert_eq!((links.pages_read(), links.without_base()), (2, 0));
    let found = checked(&scene, &links, &LinkRules::default());
    let verdicts: Vec<&str> = found.iter().map(|checked| checked.verdict.kind().name()).collect();
    assert_eq!(verdicts, ["broken"; 3], "{:?}", told(&found));
    // Of a page with a missing element, those that ask for the element are reported.
    let good = found.iter().find(|checked| checked.url.ends_with("/good")).unwrap();
    assert_eq!(good.referrers.pages, ["a.md", "b.html"]);
    let mut rules = LinkRules::default();
    rules.accept.add(403, 403);
    let found = checked(&scene, &links, &rules);
    let forbidden = found.iter().find(|checked| checked.url.ends_with("/forbidden")).unwrap();
    assert_eq!(forbidden.verdict.kind().name(), "ok");
}

#[test]
fn links_between_files_are_checked_without_reading_pipes() {
    let scene = Scene::new(Site::new());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(file("pipe.md")).status().unwrap().success());
    fs::create_dir(file("docs")).unwrap();
    fs::write(file("docs/README.md"), "# A title").unwrap();
    let text = "[1](docs/#a-title) [2](docs/#none) [3](absent.md) [4](pipe.md#part) [5](/root.md)";
    fs::write(file("a.md"), text).unwrap();
    let mut links = LinkCollection::default();
    links.add_file_links(&file("a.md"), "a.md", None).unwrap();
    assert_eq!(links.without_base(), 1, "the root of a site is not known");
    let found = checked(&scene, &links, &LinkRules::default());
    let verdict = |name: &str| {
        let wanted = file(name);
        let found = found.iter().find(|checked| Path::new(&checked.url) == wanted).unwrap();
        found.verdict.kind().name()
    };
    assert_eq!(["docs/", "absent.md", "pipe.md"].map(verdict), ["broken", "broken", "ok"]);
}

/// Commits pages to a Moku site, whose bodies are files.
fn site_of(root: &Path, pages: &[(&str, &str)]) -> VersionId {
    fs::create_dir_all(root.join(".moku")).unwrap();
    let page = |(url, body): &(&str, &str)| {
        let mut headers = Headers::new();
        headers.push("Content-Type", "text/html");
        let body = NewBody::Bytes(body.as_bytes().into());
        NewPage { url: (*url).to_owned(), time: None, status: 200, headers, body }
    };
    let request = CommitRequest { message: "pages".to_owned(), threads: 1, ..CommitRequest::default() };
    let history = open_writer(root, opening()).unwrap();
    commit(&history, &request, pages.iter().map(page).collect::<Vec<_>>(), &|_| {}).unwrap().version
}

#[test]
fn a_page_that_cannot_be_read_is_counted_and_the_others_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let pages = [("https://e.org/a", "<a href=/1>1</a>"), ("https://e.org/b", "<a href=/2>2</a>")];
    let version = site_of(root, &pages);
    let history = open_reader(root).unwrap();
    let page = StatePages::new(history.catalog(), Some(version)).next().unwrap().unwrap();
    let name = page.into_shown().unwrap().body.to_string();
    fs::remove_file(root.join(".moku/blobs").join(&name[..2]).join(&name)).unwrap();
    let mut links = LinkCollection::default();
    assert_eq!(links.add_archive(&history, &[]).unwrap(), 2);
    assert_eq!(links.unreadable(), 1);
    assert!(!links.is_empty());
}
