//! Pages in a real Chromium. Skipped, with a line that says so, where there is none.
#![expect(clippy::print_stdout, reason = "a test that was skipped says so")]

use std::path::PathBuf;

use varve_archive::verbs::capture::{Reach, ScopeKind, Settings};
use varve_archive::{Archive, ArchiveError};
use varve_testkit::web::{Answer, Site};

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
    assert_eq!(silo.matches("application/vnd.varve.renderings+json").count(), 2);
    let archive = Archive::open(&scene.root()).unwrap();
    assert!(archive.layout().temporary().read_dir().unwrap().count() <= 1, "profiles are gone");
    scene.assert_sound();
}
