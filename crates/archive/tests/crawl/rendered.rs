//! Pages in a real Chromium. Skipped, with a line that says so, where there is none.
#![expect(clippy::print_stdout, reason = "a test that was skipped says so")]

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use varve_archive::history::{ArchiveHoldings, Holdings};
use varve_archive::verbs::capture::{Event, Manner, Reach, ScopeKind, Settings, capture};
use varve_archive::verbs::log::{CaptureFilter, Page, captures};
use varve_archive::{Archive, ArchiveError};
use varve_core::RecordId;
use varve_testkit::web::{Answer, Request, Site};

use crate::scene::Scene;

fn chromium() -> Option<PathBuf> {
    let found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let found = found.into_iter().map(PathBuf::from).find(|path| path.exists());
    if found.is_none() {
        println!("skipped: there is no Chromium");
    }
    found
}

fn settings(scene: &Scene) -> Settings {
    Settings { browser: true, robots: false, retries: 3, ..scene.settings(&["/"], ScopeKind::Host) }
}

#[test]
fn without_chromium_nothing_begins() {
    let scene = Scene::new(Site::new());
    let refused = scene.run_until(Some(settings(&scene)), Reach::default(), 1).map(|_| ()).unwrap_err();
    assert!(matches!(refused, ArchiveError::NoBrowser));
}

/// What scripts ask for is captured, links that scripts make are followed, and nothing is captured twice.
#[test]
fn a_page_is_captured_as_its_scripts_left_it() {
    let Some(browser) = chromium() else { return };
    let script = "fetch('/data.json').then(r => r.json()).then(d => { \
                  document.body.innerHTML += '<a href=/made>made by a script: ' + d.word + '</a>'; })";
    let site = Site::new()
        .page(
            "/",
            Answer::html(
                "<title>t</title><link rel=stylesheet href=/s.css><body><script src=/s.js></script>",
            ),
        )
        .page("/s.js", Answer::of("text/javascript", script))
        .page("/s.css", Answer::of("text/css", "body { background: #fed }"))
        .page("/data.json", Answer::of("application/json", "{\"word\":\"mud\"}"))
        .page("/made", Answer::html("<p>found</p>"));
    let scene = Scene::new(site);
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings(&scene)), reach, usize::MAX).unwrap();
    for path in ["/", "/s.js", "/s.css", "/data.json", "/made"] {
        assert_eq!(told.captured.get(path).map(|one| one.0), Some(200), "{path}: {:?}", told.failed);
    }
    let silo = scene.silo_text();
    assert_eq!(silo.matches("WARC-Type: conversion").count(), 2, "one document a page");
    assert!(silo.contains("made by a script: mud</a>"));
    assert!(silo.contains("Content-Type: image/png"));
    let holdings = ArchiveHoldings::open(&scene.root()).unwrap();
    for path in ["/", "/made"] {
        let found =
            captures(&holdings, &scene.web.url(path), &CaptureFilter::default(), Page::first(9)).unwrap();
        let renderings = holdings.renderings(&found[0]).unwrap();
        let read = |id: RecordId| {
            let mut bytes = Vec::new();
            let object = holdings.archive().store().object(id.as_bytes()).unwrap().unwrap();
            object.read().unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        };
        assert!(read(renderings.document.unwrap()).starts_with(b"<"), "{path}");
        assert!(read(renderings.screenshot.unwrap()).starts_with(b"\x89PNG"), "{path}");
    }
    let archive = Archive::open(&scene.root()).unwrap();
    assert!(archive.layout().temporary().read_dir().unwrap().count() <= 1, "profiles are gone");
    scene.assert_sound();
}

/// What a page asks for is held to the rules of the run: robots, patterns, and the delay.
#[test]
fn a_browser_is_no_way_around_the_rules() {
    let Some(browser) = chromium() else { return };
    let page = "<script src=/private/a.js></script><script src=/ads/b.js></script><script src=/ok.js></script>\
                <script>fetch('/private/c.json').catch(() => 0); new Image().src = '/ads/d.png';</script>";
    let site = Site::new()
        .page("/robots.txt", Answer::of("text/plain", "User-agent: *\nDisallow: /private/\n"))
        .page("/", Answer::html(page))
        .page("/ok.js", Answer::of("text/javascript", "1"))
        .page("/private/a.js", Answer::of("text/javascript", "1"))
        .page("/private/c.json", Answer::of("application/json", "1"))
        .page("/ads/b.js", Answer::of("text/javascript", "1"))
        .page("/ads/d.png", Answer::of("image/png", "1"));
    let scene = Scene::new(site);
    let settings = Settings {
        robots: true,
        exclude: vec!["**/ads/**".to_owned()],
        delay: 20,
        ..Settings { scope: ScopeKind::Page, ..settings(&scene) }
    };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    for path in ["/", "/ok.js"] {
        assert_eq!(told.captured.get(path).map(|one| one.0), Some(200), "{path}: {:?}", told.failed);
    }
    for path in ["/private/a.js", "/private/c.json", "/ads/b.js", "/ads/d.png"] {
        assert_eq!(scene.web.count(path), 0, "{path} was asked for");
    }
    assert_eq!(scene.web.count("/robots.txt"), 1);
    scene.assert_sound();
}

/// The page is all that its host may be asked for at a time, and the file for robots of the same host under the other
/// scheme waits behind it: the page must not wait for that in turn.
#[test]
fn a_page_does_not_wait_for_a_file_that_waits_for_the_page() {
    let Some(browser) = chromium() else { return };
    let site = |request: &varve_testkit::web::Request, path: &str| {
        request.url(path).replacen("http://", "https://", 1)
    };
    let site = Site::new()
        .page("/robots.txt", Answer::status(404))
        .at("/first", move |request, connection| {
            let other = site(request, "/y");
            let links = format!("<a href=/second>2</a><a href='{other}'>y</a>");
            Answer::html(links).send(request, connection)
        })
        .at("/second", move |request, connection| {
            let other = site(request, "/z.js");
            let page = format!("<script>fetch('{other}').catch(() => 0)</script>");
            Answer::html(page).send(request, connection)
        });
    let scene = Scene::new(site);
    let settings = Settings {
        robots: true,
        retries: 0,
        per_host: 1,
        depth: Some(1),
        seeds: vec![scene.web.url("/first")],
        ..settings(&scene)
    };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert_eq!(told.captured.get("/second").map(|one| one.0), Some(200), "{:?}", told.failed);
    let waited = told.notes.iter().any(|note| note.contains("robots:unknown"));
    assert!(!waited, "{:?}", told.notes);
    assert!(told.notes.iter().any(|note| note.contains("/z.js")), "it was asked for: {:?}", told.notes);
}

/// A run that ends between a page and what only its scripts lead to goes on there.
#[test]
fn links_that_scripts_made_survive_the_end_of_a_process() {
    let Some(browser) = chromium() else { return };
    let site = Site::new()
        .page("/", Answer::html("<body><script>document.body.innerHTML = '<a href=/made>made</a>'</script>"))
        .page("/made", Answer::html("<p>found</p>"));
    let scene = Scene::new(site);
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let settings = settings(&scene);
    let history = scene.history();
    let stop = AtomicBool::new(false);
    let manner = Manner { reach: reach.clone(), threads: 2, stop: &stop, intent: Default::default() };
    let page = scene.web.url("/");
    let ended = catch_unwind(AssertUnwindSafe(|| {
        capture(&history, settings, manner, &mut |event| {
            // The answer is in the silo, and what it leads to is nowhere yet.
            let is_page = matches!(&event, Event::Captured(one) if one.url == page);
            assert!(!is_page, "the process ends here");
        })
    }));
    assert!(ended.is_err(), "the page was captured");
    history.writer().store().sync().unwrap();
    drop(history);
    let told = scene.run_until(None, reach, usize::MAX).unwrap();
    assert_eq!(told.captured.get("/made").map(|one| one.0), Some(200), "{:?}", told.failed);
    assert_eq!(scene.web.count("/"), 1);
    scene.assert_sound();
}

/// What a page may not have because of where it lies has nothing to do with what the host asks of robots.
#[test]
fn what_the_guard_refuses_is_said_to_be_that() {
    let Some(browser) = chromium() else { return };
    let front = |request: &Request| {
        let port =
            request.header("host").and_then(|host| host.rsplit(':').next()).unwrap_or_default().to_owned();
        let script = format!(
            "fetch('http://127.0.0.2:{port}/one').catch(() => fetch('http://127.0.0.2:{port}/two').catch(() => 0))"
        );
        Answer::html(format!("<script>{script}</script>"))
    };
    let scene = Scene::new(Site::new().computed("/", front));
    let reach = Reach { allow: vec!["127.0.0.1/32".to_owned()], browser: Some(browser), ..Reach::default() };
    let settings = Settings { robots: true, ..settings(&scene) };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    for path in ["/one", "/two"] {
        let rule = told.skipped.iter().find(|(url, _)| url.ends_with(path)).map(|(_, rule)| rule.as_str());
        assert_eq!(rule, Some("guard"), "{path}: {:?} {:?}", told.skipped, told.failed);
    }
}
