//! The live web held against the archive, without anything promised.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use varve_archive::expectations::report::{Checked, Comparison};
use varve_archive::verbs::capture::{Manner, Reach, ScopeKind, Settings, capture};
use varve_archive::verbs::check::{Promised, Request};
use varve_testkit::web::{Answer, Site};

use crate::scene::{Scene, told};

fn site() -> (Site, Arc<AtomicUsize>) {
    let mood = Arc::new(AtomicUsize::new(0));
    let now = |mood: &Arc<AtomicUsize>| mood.load(Ordering::SeqCst);
    let (one, two, three) = (Arc::clone(&mood), Arc::clone(&mood), Arc::clone(&mood));
    let links = "<a href=/steady>1</a> <a href=/noisy>2</a> <a href=/edited>3</a> <a href=/short>4</a>";
    let site = Site::new()
        .page("/", Answer::html(links))
        .page("/steady", Answer::html("<p>Ever the same.</p>\n"))
        .computed("/noisy", move |_| {
            let nonce = ["r4nd0mN0nceAAAAAAAAAAA1", "r4nd0mN0nceBBBBBBBBBBB2"][now(&one).min(1)];
            Answer::html(format!("<script nonce=\"{nonce}\">x()</script>\n<p>Text.</p>\n"))
        })
        .computed("/edited", move |_| {
            Answer::html(["<p>Before.</p>\n", "<p>Afterwards.</p>\n"][now(&two).min(1)])
        })
        .computed("/short", move |_| match now(&three) {
            0 => Answer::html("<p>Not for long.</p>\n"),
            _ => Answer::status(410),
        });
    (site, mood)
}

fn captured() -> (Scene, Arc<AtomicUsize>) {
    let (site, mood) = site();
    let scene = Scene::new(site);
    let settings = Settings {
        seeds: vec![scene.web.url("/")],
        scope: ScopeKind::Host,
        delay: 0,
        per_host: 4,
        robots: false,
        retries: 0,
        message: "a test".to_owned(),
        ..Settings::default()
    };
    let stop = AtomicBool::new(false);
    let reach = Reach { allow_private: true, ..Reach::default() };
    let manner = Manner { reach, threads: 2, stop: &stop, intent: Default::default() };
    capture(&scene.history(), settings, manner, &mut |_| {}).unwrap();
    (scene, mood)
}

fn comparison(found: &[Checked], path: &str) -> Option<Comparison> {
    found.iter().find(|checked| checked.url.ends_with(path)).unwrap().comparison
}

#[test]
fn what_changed_is_told_from_noise() {
    let (scene, mood) = captured();
    let before = scene.look();
    assert!(before.iter().all(|checked| !checked.verdict.is_failure()), "{:?}", told(&before));
    assert_eq!(comparison(&before, "/steady"), Some(Comparison::Unchanged));
    mood.store(1, Ordering::SeqCst);
    let after = scene.look();
    assert_eq!(comparison(&after, "/steady"), Some(Comparison::Unchanged));
    assert_eq!(comparison(&after, "/noisy"), Some(Comparison::Noise));
    assert_eq!(comparison(&after, "/edited"), Some(Comparison::Changed));
    assert_eq!(comparison(&after, "/short"), Some(Comparison::Gone));
    let failures = told(&after).into_iter().filter(|line| line.contains("drift")).collect::<Vec<_>>();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert_eq!(failures[1], "/short drift: expected HTTP 2xx; got HTTP 410");
}

#[test]
fn what_a_check_found_is_no_promise_of_its_own() {
    let (scene, mood) = captured();
    mood.store(1, Ordering::SeqCst);
    let first = scene.check_all(Promised::ByArchive, &Request::default()).0;
    let second = scene.check_all(Promised::ByArchive, &Request::default()).0;
    assert_eq!(told(&first), told(&second));
    let short = second.iter().find(|checked| checked.url.ends_with("/short")).unwrap();
    assert_eq!(short.last_good.as_ref().unwrap().status, 200);
    assert_eq!(short.standing.unwrap().word(), "gone");
    assert!(short.since.is_some() && short.capture.is_some());
    scene.assert_sound();
}

#[test]
fn a_part_of_the_version_can_be_meant() {
    let (scene, _) = captured();
    let request = Request {
        filter: varve_archive::verbs::check::Filter {
            path_prefix: Some("/s".to_owned()),
            domain: Some(scene.host()),
            ..Default::default()
        },
        ..Request::default()
    };
    let found = scene.check_all(Promised::ByArchive, &request).0;
    let mut paths = told(&found);
    paths.retain(|line| !line.starts_with("/sitemap.xml"));
    assert_eq!(paths, ["/short met", "/steady met"]);
}
