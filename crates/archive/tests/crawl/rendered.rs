//! Pages in a real Chromium. Skipped, with a line that says so, where there is none.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use varve_archive::CrawlError;

use varve_archive::history::ArchiveHistoryReader;
use varve_archive::verbs::capture::{
    CrawlEvent, CrawlSettings, NetworkOptions, RunOptions, ScopeKind, capture,
};
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::{Archive, ArchiveError};
use varve_core::RecordId;
use varve_testkit::web::{Answer, Request, Site, Then};

use crate::scene::Scene;

pub(crate) fn settings(scene: &Scene) -> CrawlSettings {
    scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.browser = true;
        settings.politeness.obey_robots = false;
        settings.politeness.retries = 3;
    })
}

#[test]
fn without_chromium_nothing_begins() {
    let scene = Scene::new(Site::new());
    let refused =
        scene.run_until(Some(settings(&scene)), NetworkOptions::default(), 1).map(|_| ()).unwrap_err();
    assert!(matches!(refused, ArchiveError::Crawl(CrawlError::NoBrowser)));
}

/// What scripts ask for is captured, links that scripts make are followed, and nothing is captured
/// twice.
#[test]
fn a_page_is_captured_as_its_scripts_left_it() {
    let Some(browser) = varve_testkit::chromium() else { return };
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
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings(&scene)), reach, usize::MAX).unwrap();
    for path in ["/", "/s.js", "/s.css", "/data.json", "/made"] {
        assert_eq!(told.captured.get(path).map(|one| one.0), Some(200), "{path}: {:?}", told.failed);
    }
    let silo = scene.silo_text();
    assert_eq!(silo.matches("WARC-Type: conversion").count(), 2, "one document a page");
    assert!(silo.contains("made by a script: mud</a>"));
    assert!(silo.contains("Content-Type: image/png"));
    let reader = ArchiveHistoryReader::open(&scene.root()).unwrap();
    for path in ["/", "/made"] {
        let found = captures(
            &(&reader).into(),
            &scene.web.url(path),
            &CaptureFilter::default(),
            ListCursor::first(9),
        )
        .unwrap();
        let renderings = reader.renderings(&found[0]).unwrap();
        let read = |id: RecordId| {
            let mut bytes = Vec::new();
            let object = reader.archive().store().object(&id).unwrap().unwrap();
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

/// A rendered document is stored with the response that the browser shows in the end, after
/// redirects and navigation by scripts. Links in it are resolved against that URL.
#[test]
fn a_rendered_document_belongs_to_the_last_url_of_its_redirects() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let page = "<body><script>document.body.innerHTML = '<a href=made>made</a>'</script>";
    let site = Site::new()
        .page("/old", Answer::redirect(302, "/new/page"))
        .page("/script", Answer::html("<script>location.href = '/new/page'</script>"))
        .page("/new/page", Answer::html(page))
        .page("/new/made", Answer::html("<p>found</p>"));
    for seed in ["/old", "/script"] {
        let scene = Scene::new(site.clone());
        let settings = CrawlSettings { seeds: vec![scene.web.url(seed)], ..settings(&scene) };
        let reach = NetworkOptions {
            allow_private: true,
            browser: Some(browser.clone()),
            ..NetworkOptions::default()
        };
        let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
        assert!(told.captured.contains_key("/new/made"), "{seed}: {:?}", told.paths());
        assert_eq!(scene.web.count("/made"), 0, "{seed}");
        assert_eq!(told.ended().tally.pages, if seed == "/old" { 2 } else { 3 }, "{seed}");
        let reader = ArchiveHistoryReader::open(&scene.root()).unwrap();
        for (path, has) in [(seed, false), ("/new/page", true), ("/new/made", true)] {
            let filter = CaptureFilter::default();
            let found =
                captures(&(&reader).into(), &scene.web.url(path), &filter, ListCursor::first(9)).unwrap();
            let renderings = reader.renderings(&found[0]).unwrap();
            assert_eq!(renderings.document.is_some(), has, "{seed}: {path}");
            assert_eq!(renderings.screenshot.is_some(), has, "{seed}: {path}");
        }
        scene.assert_sound();
    }
}

/// A browser follows redirects by itself, and no further than the run does: what it followed
/// counts.
#[test]
fn a_browser_follows_no_more_redirects_than_the_run() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let scene = Scene::new(Site::new().with_moods());
    let seeds = vec![scene.web.url("/redirect/chain/9")];
    let settings = settings(&scene).with(|settings| {
        settings.seeds = seeds;
        settings.scope.max_redirects = 3;
        settings.scope.kind = ScopeKind::Page;
    });
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    let asked = (0..=9).filter(|left| scene.web.count(&format!("/redirect/chain/{left}")) > 0);
    assert_eq!(asked.collect::<Vec<_>>(), [6, 7, 8, 9]);
    let skipped: Vec<_> = told.skipped.iter().map(|(url, rule)| (url.as_str(), rule.as_str())).collect();
    assert_eq!(skipped, [("/redirect/chain/5", "redirects")]);
    assert_eq!(told.ended().tally.skipped, 1, "it is told once");
}

/// A browser that cannot show something shows a page of its own, which was never on the web.
#[test]
fn requests_of_the_browser_itself_are_not_recorded() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let scene = Scene::new(Site::new().with_faults().page("/loop", Answer::redirect(302, "/loop")));
    let seeds = vec![scene.web.url("/gzip/cut"), scene.web.url("/loop")];
    let settings = settings(&scene).with(|settings| {
        settings.seeds = seeds;
        settings.scope.kind = ScopeKind::Page;
    });
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert!(
        told.captured.contains_key("/gzip/cut") && told.captured.contains_key("/loop"),
        "{:?}",
        told.paths()
    );
    assert!(!scene.silo_text().contains("WARC-Type: conversion"), "{:?}", told.notes);
    assert!(told.notes.iter().any(|note| note.contains("shows nothing")), "{:?}", told.notes);
    scene.assert_sound();
}

/// What a page asks for is held to the rules of the run: robots, patterns, and the delay.
#[test]
fn browser_requests_obey_robots_and_the_address_guard() {
    let Some(browser) = varve_testkit::chromium() else { return };
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
    let settings = settings(&scene).with(|settings| settings.scope.kind = ScopeKind::Page).with(|settings| {
        settings.politeness.obey_robots = true;
        settings.scope.exclude = vec!["**/ads/**".to_owned()];
        settings.politeness.delay = 20;
    });
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
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

/// The host allows one request at a time, and the page holds it. The `robots.txt` of the same host
/// under the other scheme waits for the page, so the page must not wait for that file.
#[test]
fn a_page_does_not_wait_for_a_file_that_waits_for_the_page() {
    let Some(browser) = varve_testkit::chromium() else { return };
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
    let settings = settings(&scene).with(|settings| {
        settings.politeness.obey_robots = true;
        settings.politeness.retries = 0;
        settings.politeness.per_host = 1;
        settings.scope.depth = Some(1);
        settings.seeds = vec![scene.web.url("/first")];
    });
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert_eq!(told.captured.get("/second").map(|one| one.0), Some(200), "{:?}", told.failed);
    let waited = told.notes.iter().any(|note| note.contains("robots:unknown"));
    assert!(!waited, "{:?}", told.notes);
    assert!(told.skipped.keys().any(|url| url.ends_with("/z.js")), "it was asked for: {:?}", told.skipped);
}

/// A run that is stopped after a page and before the links that scripts made is resumed with those
/// links.
#[test]
fn links_that_scripts_made_survive_the_end_of_a_process() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let site = Site::new()
        .page("/", Answer::html("<body><script>document.body.innerHTML = '<a href=/made>made</a>'</script>"))
        .page("/made", Answer::html("<p>found</p>"));
    let scene = Scene::new(site);
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let settings = settings(&scene);
    let history = scene.history();
    let stop = AtomicBool::new(false);
    let manner = RunOptions { reach: reach.clone(), threads: 2, stop: &stop, intent: Default::default() };
    let page = scene.web.url("/");
    let ended = catch_unwind(AssertUnwindSafe(|| {
        capture(&history, settings, manner, &mut |event| {
            // The answer is in the silo, and what it leads to is nowhere yet.
            let is_page = matches!(&event, CrawlEvent::Captured(one) if one.url == page);
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

/// A resource at a private address is refused by the guard, also if `robots.txt` allows it. It is
/// reported once, although the page requests it several times and the run finds it as a link.
#[test]
fn a_request_refused_by_the_guard_is_reported_once() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let front = |request: &Request| {
        let port =
            request.header("host").and_then(|host| host.rsplit(':').next()).unwrap_or_default().to_owned();
        let refused = |path: &str| format!("http://127.0.0.2:{port}/{path}");
        let (one, two) = (refused("one"), refused("two"));
        let script =
            format!("fetch('{one}').catch(() => fetch('{two}').catch(() => fetch('{two}').catch(() => 0)))");
        Answer::html(format!("<img src='{one}'><script>{script}</script>"))
    };
    for robots in [true, false] {
        let scene = Scene::new(Site::new().computed("/", front));
        let allow = vec!["127.0.0.1/32".to_owned()];
        let reach = NetworkOptions { allow, browser: Some(browser.clone()), ..NetworkOptions::default() };
        let settings = settings(&scene).with(|settings| settings.politeness.obey_robots = robots);
        let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
        for path in ["/one", "/two"] {
            let kind = told.failed.iter().find(|(url, _)| url.ends_with(path)).map(|(_, kind)| kind.as_str());
            assert_eq!(kind, Some("guard"), "{path}: {:?} {:?}", told.skipped, told.failed);
        }
        let tally = told.ended().tally;
        assert_eq!((tally.failed, tally.skipped, &told.notes), (2, 0, &Vec::new()), "{:?}", told.skipped);
    }
}

/// Neither is what the rules of the run keep from a page.
#[test]
fn a_refused_resource_of_a_page_is_reported_once() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let page =
        "<img src=/ads/a.png><script>fetch('/ads/a.png'); fetch('/private/b')</script><img src=/private/b>";
    let site = Site::new()
        .page("/robots.txt", Answer::of("text/plain", "User-agent: *\nDisallow: /private/\n"))
        .page("/", Answer::html(page));
    let scene = Scene::new(site);
    let exclude = vec!["**/ads/**".to_owned()];
    let settings = settings(&scene).with(|settings| {
        settings.politeness.obey_robots = true;
        settings.scope.exclude = exclude;
        settings.scope.kind = ScopeKind::Page;
    });
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    let rules: Vec<_> = told.skipped.iter().map(|(url, rule)| (url.as_str(), rule.as_str())).collect();
    assert_eq!(rules, [("/ads/a.png", "exclude:**/ads/**"), ("/private/b", "robots:line 2")]);
    assert_eq!((told.ended().tally.skipped, told.notes), (2, Vec::new()));
}

/// A page that is under way when the time of the run is over is kept as far as it came, and the run
/// does not wait for it.
#[test]
fn a_time_limit_truncates_a_page_in_progress() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let site =
        Site::new().page("/", Answer::html("<p>here</p><img src=/never>")).at("/never", |_, connection| {
            connection.wait(Duration::from_secs(600));
            Ok(Then::Close)
        });
    let scene = Scene::new(site);
    let settings = settings(&scene).with(|settings| settings.limits.max_time = Some(8000));
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert_eq!(told.captured.get("/").map(|one| one.0), Some(200), "{:?}", told.failed);
    assert_eq!(told.skipped.get("/never").map(String::as_str), Some("limit:time"), "{:?}", told.failed);
    assert_eq!(told.ended().tally.limit_reached, Some("time"));
    assert_eq!(told.failed.len(), 0, "{:?}", told.failed);
    let renderings = told.notes.iter().filter(|note| note.contains("no document and no screenshot")).count();
    assert_eq!((renderings, told.notes.len()), (1, 1), "{:?}", told.notes);
    let archive = Archive::open(&scene.root()).unwrap();
    assert!(archive.layout().temporary().read_dir().unwrap().count() <= 1, "profiles are gone");
    scene.assert_sound();
}

/// The browser wraps a response that is not HTML in a document of its own, which is not stored. The
/// screenshot is.
#[test]
fn a_response_that_is_not_a_document_has_only_a_screenshot() {
    let Some(browser) = varve_testkit::chromium() else { return };
    let pdf = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
               3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 90 90]>>endobj\ntrailer<</Size 4/Root 1 0 R>>\n%%EOF\n";
    let xhtml =
        "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>t</title></head><body>x</body></html>";
    let site = Site::new()
        .page("/a.pdf", Answer::of("application/pdf", pdf))
        .page("/a.txt", Answer::of("text/plain", "text"))
        .page("/a.json", Answer::of("application/json", "{}"))
        .page("/a.xml", Answer::of("application/xml", "<a/>"))
        .page("/a.xhtml", Answer::of("application/xhtml+xml", xhtml))
        .page("/a.html", Answer::html("<p>page"));
    let scene = Scene::new(site);
    let pages = [
        ("/a.pdf", false),
        ("/a.txt", false),
        ("/a.json", false),
        ("/a.xml", false),
        ("/a.xhtml", true),
        ("/a.html", true),
    ];
    let seeds = pages.iter().map(|(path, _)| scene.web.url(path)).collect();
    let settings = settings(&scene).with(|settings| {
        settings.seeds = seeds;
        settings.scope.kind = ScopeKind::Page;
    });
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert_eq!(told.notes, Vec::<String>::new());
    let reader = ArchiveHistoryReader::open(&scene.root()).unwrap();
    for (path, is_document) in pages {
        let filter = CaptureFilter::default();
        let found = captures(&(&reader).into(), &scene.web.url(path), &filter, ListCursor::first(9)).unwrap();
        let renderings = reader.renderings(&found[0]).unwrap();
        assert_eq!(renderings.document.is_some(), is_document, "{path}");
        assert!(renderings.screenshot.is_some(), "{path}");
    }
    scene.assert_sound();
}
