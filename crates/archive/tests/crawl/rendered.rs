//! Pages in a real Chromium. Skipped, with a line that says so, where there is none.
#![expect(clippy::print_stdout, reason = "a test that was skipped says so")]

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use varve_archive::history::{ArchiveHoldings, Holdings};
use varve_archive::verbs::capture::{Event, Manner, Reach, ScopeKind, Settings, capture};
use varve_archive::verbs::log::{CaptureFilter, Page, captures};
use varve_archive::{Archive, ArchiveError};
use varve_core::RecordId;
use varve_testkit::web::{Answer, Request, Site, Then};

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

/// What a browser made of a page is kept with the answer that it shows, is that where redirects or scripts have led, and links in it are
/// read from there.
#[test]
fn a_document_belongs_to_where_the_reader_was_led() {
    let Some(browser) = chromium() else { return };
    let page = "<body><script>document.body.innerHTML = '<a href=made>made</a>'</script>";
    let site = Site::new()
        .page("/old", Answer::redirect(302, "/new/page"))
        .page("/script", Answer::html("<script>location.href = '/new/page'</script>"))
        .page("/new/page", Answer::html(page))
        .page("/new/made", Answer::html("<p>found</p>"));
    for seed in ["/old", "/script"] {
        let scene = Scene::new(site.clone());
        let settings = Settings { seeds: vec![scene.web.url(seed)], ..settings(&scene) };
        let reach = Reach { allow_private: true, browser: Some(browser.clone()), ..Reach::default() };
        let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
        assert!(told.captured.contains_key("/new/made"), "{seed}: {:?}", told.paths());
        assert_eq!(scene.web.count("/made"), 0, "{seed}");
        assert_eq!(told.ended().tally.pages, if seed == "/old" { 2 } else { 3 }, "{seed}");
        let holdings = ArchiveHoldings::open(&scene.root()).unwrap();
        for (path, has) in [(seed, false), ("/new/page", true), ("/new/made", true)] {
            let filter = CaptureFilter::default();
            let found = captures(&holdings, &scene.web.url(path), &filter, Page::first(9)).unwrap();
            let renderings = holdings.renderings(&found[0]).unwrap();
            assert_eq!(renderings.document.is_some(), has, "{seed}: {path}");
            assert_eq!(renderings.screenshot.is_some(), has, "{seed}: {path}");
        }
        scene.assert_sound();
    }
}

/// A browser follows redirects by itself, and no further than the run does: what it followed counts.
#[test]
fn a_browser_follows_no_more_redirects_than_the_run() {
    let Some(browser) = chromium() else { return };
    let scene = Scene::new(Site::new().with_moods());
    let seeds = vec![scene.web.url("/redirect/chain/9")];
    let settings = Settings { seeds, redirects: 3, scope: ScopeKind::Page, ..settings(&scene) };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    let asked = (0..=9).filter(|left| scene.web.count(&format!("/redirect/chain/{left}")) > 0);
    assert_eq!(asked.collect::<Vec<_>>(), [6, 7, 8, 9]);
    let skipped: Vec<_> = told.skipped.iter().map(|(url, rule)| (url.as_str(), rule.as_str())).collect();
    assert_eq!(skipped, [("/redirect/chain/5", "redirects")]);
    assert_eq!(told.ended().tally.skipped, 1, "it is told once");
}

/// A browser that cannot show something shows a page of its own, which was never on the web.
#[test]
fn what_a_browser_says_itself_is_not_kept() {
    let Some(browser) = chromium() else { return };
    let scene = Scene::new(Site::new().with_faults().page("/loop", Answer::redirect(302, "/loop")));
    let seeds = vec![scene.web.url("/gzip/cut"), scene.web.url("/loop")];
    let settings = Settings { seeds, scope: ScopeKind::Page, ..settings(&scene) };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert!(
        told.captured.contains_key("/gzip/cut") && told.captured.contains_key("/loop"),
        "{:?}",
        told.paths()
    );
    assert!(!scene.silo_text().contains("WARC-Type: conversion"), "{:?}", told.notes);
    assert!(told.notes.iter().any(|note| note.contains("shows nothing of it")), "{:?}", told.notes);
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
    assert!(told.skipped.keys().any(|url| url.ends_with("/z.js")), "it was asked for: {:?}", told.skipped);
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

/// What a page may not have because of where it lies has nothing to do with what the host asks of robots. It is told once, however often
/// the page asks for it, and though the run finds it in the page as well.
#[test]
fn what_the_guard_refuses_is_told_once() {
    let Some(browser) = chromium() else { return };
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
        let reach = Reach { allow, browser: Some(browser.clone()), ..Reach::default() };
        let settings = Settings { robots, ..settings(&scene) };
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
fn what_a_page_may_not_have_is_told_once() {
    let Some(browser) = chromium() else { return };
    let page =
        "<img src=/ads/a.png><script>fetch('/ads/a.png'); fetch('/private/b')</script><img src=/private/b>";
    let site = Site::new()
        .page("/robots.txt", Answer::of("text/plain", "User-agent: *\nDisallow: /private/\n"))
        .page("/", Answer::html(page));
    let scene = Scene::new(site);
    let exclude = vec!["**/ads/**".to_owned()];
    let settings = Settings { robots: true, exclude, scope: ScopeKind::Page, ..settings(&scene) };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    let rules: Vec<_> = told.skipped.iter().map(|(url, rule)| (url.as_str(), rule.as_str())).collect();
    assert_eq!(rules, [("/ads/a.png", "exclude:**/ads/**"), ("/private/b", "robots:line 2")]);
    assert_eq!((told.ended().tally.skipped, told.notes), (2, Vec::new()));
}

/// A page that is under way when the time of the run is over is kept as far as it came, and the run does not wait for it.
#[test]
fn a_limit_of_time_holds_for_a_page_under_way() {
    let Some(browser) = chromium() else { return };
    let site =
        Site::new().page("/", Answer::html("<p>here</p><img src=/never>")).at("/never", |_, connection| {
            connection.wait(Duration::from_secs(600));
            Ok(Then::Close)
        });
    let scene = Scene::new(site);
    let settings = Settings { limit_time: Some(8000), ..settings(&scene) };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert_eq!(told.captured.get("/").map(|one| one.0), Some(200), "{:?}", told.failed);
    assert_eq!(told.skipped.get("/never").map(String::as_str), Some("limit:time"), "{:?}", told.failed);
    assert_eq!(told.ended().tally.limited, Some("time"));
    assert_eq!(told.failed.len(), 0, "{:?}", told.failed);
    let renderings = told.notes.iter().filter(|note| note.contains("no document and no picture")).count();
    assert_eq!((renderings, told.notes.len()), (1, 1), "{:?}", told.notes);
    let archive = Archive::open(&scene.root()).unwrap();
    assert!(archive.layout().temporary().read_dir().unwrap().count() <= 1, "profiles are gone");
    scene.assert_sound();
}

/// What scripts send is recorded as it was, and is not the capture of its URL: that is what a plain question brings.
#[test]
fn what_scripts_send_is_recorded_and_is_no_capture() {
    let Some(browser) = chromium() else { return };
    let script = "(async () => { \
        await fetch('/both?a=1', {method: 'POST', body: 'x=1', headers: {'Authorization': 'Basic ' + btoa('secret')}}); \
        await fetch('/both?a=1', {method: 'PUT', body: new Blob(['blob'])}); \
        await fetch('/gone', {method: 'DELETE'}); \
        await fetch('/both?a=1', {method: 'HEAD'}); \
        await fetch('/moved', {method: 'POST', body: 'y=2'}); \
        document.body.innerHTML = '<a href=/both?a=1>both</a>' })()";
    let site = Site::new()
        .page("/", Answer::html(format!("<body><script>{script}</script>")))
        .computed("/both", |request| {
            let said = String::from_utf8_lossy(&request.body).into_owned();
            Answer::html(format!("{} {said}", request.method))
        })
        .page("/moved", Answer::redirect(303, "/result"))
        .page("/result", Answer::html("<p>done</p>"))
        .computed("/gone", |_| Answer::status(204));
    let scene = Scene::new(site);
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings(&scene)), reach, usize::MAX).unwrap();
    let said = |method: &str, path: &str, status| (method.to_owned(), path.to_owned(), status);
    let mut exchanged = told.exchanged.clone();
    exchanged.sort();
    let expected = [
        said("DELETE", "/gone", 204),
        said("HEAD", "/both?a=1", 200),
        said("POST", "/both?a=1", 200),
        said("POST", "/moved", 303),
        said("PUT", "/both?a=1", 200),
    ];
    assert_eq!(exchanged, expected, "{:?}", told.notes);
    assert_eq!(told.ended().tally.exchanged, 5);
    assert_eq!(scene.paths_of(told.version()), ["/", "/both?a=1", "/favicon.ico", "/result", "/sitemap.xml"]);
    let silo = scene.silo_text();
    for text in ["POST /both?a=1 HTTP/1.1\r\n", "\r\n\r\nx=1\r\n", "\r\n\r\nblob\r\n", "POST x=1", "PUT blob"]
    {
        assert!(silo.contains(text), "{text:?}");
    }
    assert!(!silo.contains("c2VjcmV0"), "credentials stay out");
    let body = |scene: &Scene| {
        let captures = scene.captures(told.version());
        scene.body(captures.iter().find(|capture| capture.url.ends_with("/both?a=1")).unwrap())
    };
    assert_eq!(body(&scene), b"GET ");
    scene.assert_sound();
    scene.rebuild();
    scene.assert_sound();
    assert_eq!(scene.paths_of(told.version()), ["/", "/both?a=1", "/favicon.ico", "/result", "/sitemap.xml"]);
    assert_eq!(body(&scene), b"GET ");
}

/// The page that a form leads to when it is sent is shown by the answer to what was sent.
#[test]
fn what_a_sent_form_shows_is_kept_with_its_answer() {
    let Some(browser) = chromium() else { return };
    let form = "<form method=post action=/sent><input name=q value=1></form><script>document.forms[0].submit()</script>";
    let site = Site::new()
        .page("/", Answer::html(form))
        .page("/sent", Answer::html("<body><script>document.body.append('shown')</script>"));
    let scene = Scene::new(site);
    let settings = Settings { scope: ScopeKind::Page, ..settings(&scene) };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert_eq!(told.exchanged, [("POST".to_owned(), "/sent".to_owned(), 200)], "{:?}", told.notes);
    assert_eq!(told.paths().into_iter().collect::<Vec<_>>(), ["/", "/favicon.ico"]);
    let silo = scene.silo_text();
    let answer =
        silo.split("WARC-Type: response").find(|record| record.contains("Varve-Aside: POST")).unwrap();
    assert!(answer.split("\r\n\r\n").next().unwrap().contains("Varve-Renderings: document="), "{answer}");
    assert!(silo.contains("shown</body>"));
    scene.assert_sound();
}

/// What this run has is not asked for again, by whichever page; what a server wants asked for each time is, and each answer is recorded.
#[test]
fn no_url_is_asked_for_twice() {
    let Some(browser) = chromium() else { return };
    let links: String = (1..6).map(|number| format!("<a href=/page/{number}>{number}</a>")).collect();
    let page = |links: &str| {
        Answer::html(format!(
            "<link rel=stylesheet href=/s.css><link rel=icon href=/icon.png>{links}<img src=/old.png><body>\
             <script src=/s.js></script><script>(async () => {{ \
             const twice = await Promise.all([fetch('/data'), fetch('/data')]); \
             const [one, two] = await Promise.all(twice.map(r => r.text())); \
             const again = await (await fetch('/data')).text(); await fetch('/now'); await fetch(location); \
             document.body.append('data: ' + one + two + again) }})()</script>"
        ))
    };
    let mut site = Site::new()
        .page("/", page(&links))
        .page("/s.css", Answer::of("text/css", "body { background: url(/b.png) }"))
        .page("/s.js", Answer::of("text/javascript", "document.body.append('script ')"))
        .page("/old.png", Answer::redirect(301, "/new.png"))
        .page("/new.png", Answer::of("image/png", "1"))
        .page("/b.png", Answer::of("image/png", "2"))
        .page("/icon.png", Answer::of("image/png", "3"))
        .page("/data", Answer::of("text/plain", "d"))
        .computed("/now", |request| {
            Answer::of("text/plain", format!("tick {}", request.times)).header("Cache-Control", "no-store")
        });
    for number in 1..6 {
        site = site.page(&format!("/page/{number}"), page(""));
    }
    let scene = Scene::new(site);
    let settings = Settings { depth: Some(1), ..settings(&scene) };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    let asked = |path: &str| scene.web.count(path);
    for path in ["/s.css", "/s.js", "/old.png", "/new.png", "/b.png", "/icon.png", "/data", "/favicon.ico"] {
        assert!(asked(path) <= 1, "{path} was asked for {} times", asked(path));
        assert!(asked(path) == 0 || told.captured.contains_key(path), "{path}: {:?}", told.failed);
    }
    for path in ["/", "/page/1", "/page/2", "/page/3", "/page/4", "/page/5"] {
        assert_eq!(asked(path), 1, "{path}");
    }
    assert_eq!(told.ended().tally.pages, 6, "{:?}", told.failed);
    let silo = scene.silo_text();
    assert_eq!(silo.matches("data: ddd").count(), 6, "every page got all of it");
    assert_eq!(silo.matches("script <script>").count(), 6);
    assert_eq!(asked("/now"), 6);
    assert_eq!(told.exchanged, vec![("GET".to_owned(), "/now".to_owned(), 200); 5]);
    for tick in 1..7 {
        assert_eq!(silo.matches(&format!("tick {tick}")).count(), 1, "{tick}");
    }
    assert_eq!(told.notes, Vec::<String>::new());
    scene.assert_sound();
    scene.rebuild();
    scene.assert_sound();
}

/// A run that is resumed remembers what it was answered before: it is in the silo.
#[test]
fn a_resumed_run_gives_pages_what_it_has() {
    let Some(browser) = chromium() else { return };
    let page = "<body><script src=/s.js></script><a href=/second>2</a>";
    let script = Answer::of("text/javascript", "document.body.append('by a script')").header("ETag", "\"1\"");
    let site = Site::new()
        .page("/", Answer::html(page))
        .page("/second", Answer::html(format!("{page}<p>second")))
        .page("/s.js", script);
    let scene = Scene::new(site);
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let settings = Settings { robots: false, concurrency: 1, ..settings(&scene) };
    let first = scene.run_until(Some(settings), reach.clone(), 2).unwrap();
    assert!(first.captured.contains_key("/s.js") && first.ended().stopped, "{:?}", first.paths());
    let second = scene.run_until(None, reach, usize::MAX).unwrap();
    assert!(second.captured.contains_key("/second"), "{:?} {:?}", second.paths(), second.failed);
    assert_eq!(scene.web.count("/s.js"), 1);
    assert_eq!(scene.silo_text().matches("by a script<").count(), 2);
    scene.assert_sound();
}

/// What was answered before a page sent something there may be so no longer.
#[test]
fn what_was_sent_somewhere_is_asked_for_anew() {
    let Some(browser) = chromium() else { return };
    let script = "(async () => { const get = async () => (await fetch('/cart')).text(); \
                  const one = await get(); await fetch('/cart', {method: 'POST', body: 'a'}); const two = await get(); \
                  document.body.append(one + two + await get()) })()";
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let site = Site::new().page("/", Answer::html(format!("<body><script>{script}</script>"))).computed(
        "/cart",
        move |request| {
            let sent = std::sync::atomic::Ordering::SeqCst;
            let so_far = if request.method == "POST" { count.fetch_add(1, sent) } else { count.load(sent) };
            Answer::of("text/plain", format!("[{so_far}]"))
        },
    );
    let scene = Scene::new(site);
    let settings = Settings { scope: ScopeKind::Page, ..settings(&scene) };
    let reach = Reach { allow_private: true, browser: Some(browser), ..Reach::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert!(scene.silo_text().contains("[0][1][1]</body>"), "{:?}", told.notes);
    let mut methods: Vec<&str> = told.exchanged.iter().map(|(method, ..)| method.as_str()).collect();
    methods.sort_unstable();
    assert_eq!(methods, ["GET", "POST"]);
    scene.assert_sound();
}
