//! Checks of the live web against the last version of the archive, without a URL database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use varve_archive::expectations::report::{CheckedUrl, ContentComparison};
use varve_archive::history::StatePages;
use varve_archive::verbs::capture::{CrawlSettings, NetworkOptions, RunOptions, ScopeKind, capture};
use varve_archive::verbs::check::{CheckLabel, ExpectationSource, Request, check};
use varve_archive::verbs::log::ListCursor;
use varve_testkit::web::{Answer, Site};

use crate::scene::{Scene, Wrong, told};

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
    (capture_of(site), mood)
}

fn capture_of(site: Site) -> Scene {
    let scene = Scene::new(site);
    capture_once(&scene);
    scene
}

fn capture_once(scene: &Scene) {
    let settings = CrawlSettings::default().with(|settings| {
        settings.seeds = vec![scene.web.url("/")];
        settings.scope.kind = ScopeKind::Host;
        settings.politeness.delay = 0;
        settings.politeness.per_host = 4;
        settings.politeness.obey_robots = false;
        settings.politeness.retries = 0;
        settings.message = "a test".to_owned();
    });
    let stop = AtomicBool::new(false);
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let manner = RunOptions { reach, threads: 2, stop: &stop, intent: Default::default() };
    capture(&scene.history(), settings, manner, &mut |_| {}).unwrap();
}

fn comparison(found: &[CheckedUrl], path: &str) -> Option<ContentComparison> {
    found.iter().find(|checked| checked.url.ends_with(path)).unwrap().comparison
}

#[test]
fn changes_are_distinguished_from_noise() {
    let (scene, mood) = captured();
    let before = scene.look();
    assert!(before.iter().all(|checked| !checked.verdict.is_failure()), "{:?}", told(&before));
    assert_eq!(comparison(&before, "/steady"), Some(ContentComparison::Unchanged));
    mood.store(1, Ordering::SeqCst);
    let after = scene.look();
    assert_eq!(comparison(&after, "/steady"), Some(ContentComparison::Unchanged));
    assert_eq!(comparison(&after, "/noisy"), Some(ContentComparison::Noise));
    assert_eq!(comparison(&after, "/edited"), Some(ContentComparison::Changed));
    assert_eq!(comparison(&after, "/short"), Some(ContentComparison::Gone));
    let failures = told(&after).into_iter().filter(|line| !line.contains(" ok")).collect::<Vec<_>>();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert_eq!(failures[1], "/short broken: expected HTTP 2xx; got HTTP 410");
}

/// A stored 304 response means that the earlier page is expected, not another 304.
#[test]
fn a_304_response_means_the_earlier_page() {
    let mood = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&mood);
    let site = Site::new().page("/", Answer::html("<a href=/kept>1</a>")).computed("/kept", move |request| {
        let text = ["<p>As ever.</p>", "<p>Not any more.</p>"][now.load(Ordering::SeqCst)];
        let tag = format!("\"{}\"", text.len());
        let is_known = request.header("if-none-match") == Some(tag.as_str());
        let answer = if is_known { Answer::status(304) } else { Answer::html(text) };
        answer.header("ETag", &tag)
    });
    let scene = capture_of(site);
    capture_once(&scene);
    capture_once(&scene);
    let same = scene.look();
    assert!(same.iter().all(|checked| !checked.verdict.is_failure()), "{:?}", told(&same));
    assert_eq!(comparison(&same, "/kept"), Some(ContentComparison::Unchanged));
    mood.store(1, Ordering::SeqCst);
    let (found, _) = scene.check_all(ExpectationSource::LastVersion, &Request::default());
    let kept = found.iter().find(|checked| checked.url.ends_with("/kept")).unwrap();
    assert_eq!(kept.comparison, Some(ContentComparison::Changed));
    assert_eq!(
        kept.archived.last_good.as_ref().map(|good| good.capture.status),
        Some(200),
        "{:?}",
        told(&found)
    );
}

#[test]
fn responses_to_a_check_are_not_expectations() {
    let (scene, mood) = captured();
    mood.store(1, Ordering::SeqCst);
    let first = scene.check_all(ExpectationSource::LastVersion, &Request::default()).0;
    let second = scene.check_all(ExpectationSource::LastVersion, &Request::default()).0;
    assert_eq!(told(&first), told(&second));
    let short = second.iter().find(|checked| checked.url.ends_with("/short")).unwrap();
    assert_eq!(short.archived.last_good.as_ref().unwrap().capture.status, 200);
    assert_eq!(short.archived.health.unwrap().word(), "gone");
    assert!(short.archived.since.is_some() && short.archived.capture.is_some());
    scene.assert_sound();
}

#[test]
fn a_check_is_no_version_to_compare_with() {
    let scene = Scene::new(site().0);
    let refused = || {
        let (history, label) = (scene.history(), CheckLabel { message: "check".to_owned(), author: None });
        let ended = check(
            &history,
            ExpectationSource::LastVersion,
            &Request::default(),
            label,
            &scene.prober(true),
            &mut |_| {},
            |_| Ok::<(), Wrong>(()),
        );
        format!("{:?}", ended.map(drop).unwrap_err())
    };
    assert!(refused().contains("there is no version yet"), "{}", refused());
    scene.promise("", &["_path: /steady"]);
    scene.check(&Request::default());
    assert!(refused().contains("there is no version yet"), "{}", refused());
}

/// A check changes neither HEAD nor its state nor the captures of a URL.
#[test]
fn a_check_makes_no_version_and_no_capture() {
    let (scene, mood) = captured();
    scene.promise("", &["_path: /steady", "_path: /nowhere"]);
    let state = |scene: &Scene| {
        let reader = scene.reader();
        let head = reader.head().unwrap();
        let pages: Vec<_> = StatePages::new(reader.catalog(), head).map(Result::unwrap).collect();
        let urls = reader.catalog().urls("", ListCursor::first(100)).unwrap();
        (head, pages, urls, reader.catalog().open_runs().unwrap())
    };
    let before = state(&scene);
    for now in 0..2 {
        mood.store(now, Ordering::SeqCst);
        scene.check(&Request::default());
        scene.check_all(ExpectationSource::LastVersion, &Request::default());
    }
    assert_eq!(state(&scene), before);
    assert_eq!(scene.reader().catalog().count_versions(9).unwrap(), 1);
    assert_eq!(scene.reader().catalog().checks(ListCursor::first(9)).unwrap().len(), 4);
    scene.assert_sound();
}

#[test]
fn a_check_can_be_limited_to_a_part_of_the_version() {
    let (scene, _) = captured();
    let request = Request {
        filter: varve_archive::verbs::check::UrlFilter {
            path_prefix: Some("/s".to_owned()),
            domain: Some(scene.host()),
            ..Default::default()
        },
        ..Request::default()
    };
    let found = scene.check_all(ExpectationSource::LastVersion, &request).0;
    let mut paths = told(&found);
    paths.retain(|line| !line.starts_with("/sitemap.xml"));
    assert_eq!(paths, ["/short ok", "/steady ok"]);
    let filter =
        varve_archive::verbs::check::UrlFilter { domain: Some("nowhere".into()), ..Default::default() };
    let request = Request { filter, ..Request::default() };
    let label = CheckLabel { message: "check".to_owned(), author: None };
    let (history, prober) = (scene.history(), scene.prober(true));
    let ended =
        check(&history, ExpectationSource::LastVersion, &request, label, &prober, &mut |_| {}, |_| {
            Ok::<(), Wrong>(())
        });
    assert!(ended.is_err(), "a domain that was named must be there");
}

#[test]
fn a_changed_redirect_target_is_reported() {
    let mood = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&mood);
    let site = Site::new()
        .page("/", Answer::html("<a href=/door>in</a>"))
        .page("/hall", Answer::html("<p>The hall.</p>"))
        .page("/cellar", Answer::html("<p>The cellar.</p>"))
        .computed("/door", move |request| match now.load(Ordering::SeqCst) {
            0 => Answer::redirect(302, "/hall"),
            1 => Answer::redirect(302, &request.url("/hall")),
            _ => Answer::redirect(302, "/cellar"),
        });
    let scene = capture_of(site);
    mood.store(1, Ordering::SeqCst);
    let same = scene.look();
    assert!(same.iter().all(|checked| !checked.verdict.is_failure()), "{:?}", told(&same));
    mood.store(2, Ordering::SeqCst);
    let moved: Vec<_> = told(&scene.look()).into_iter().filter(|line| line.contains("changed")).collect();
    let (hall, cellar) = (scene.web.url("/hall"), scene.web.url("/cellar"));
    assert_eq!(moved, [format!("/door changed: moved from {hall} to {cellar}")]);
}

#[test]
fn a_stopped_check_stores_its_results() {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let links: String = (0..20).map(|number| format!("<a href=/p/{number}>x</a>")).collect();
    let site = (0..20).fold(Site::new().page("/", Answer::html(links)), |site, number| {
        let (raised, count) = (Arc::clone(&raised), Arc::clone(&count));
        site.computed(&format!("/p/{number}"), move |_| {
            if count.fetch_add(1, Ordering::SeqCst) == 25 {
                raised.store(true, Ordering::SeqCst);
            }
            Answer::html("<p>page</p>")
        })
    });
    let scene = capture_of(site);
    let request = Request { stop: Some(stop), retries: 3, ..Request::default() };
    let (found, ended) = scene.check_all(ExpectationSource::LastVersion, &request);
    assert!(!found.is_empty() && found.len() < 20, "{:?}", told(&found));
    assert!(found.iter().all(|checked| !checked.verdict.is_failure()));
    assert!(ended.check.is_some() && ended.responses as usize >= found.len());
    scene.assert_sound();
}
