//! Which spelling of a URL is requested, and that no page is requested twice because of its
//! spellings.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use varve_archive::VersionId;
use varve_archive::history::{CapturePairs, PageChange};
use varve_archive::verbs::capture::{CrawlSettings, NetworkOptions, ScopeKind};
use varve_archive::verbs::{cat, log, replay};
use varve_testkit::web::{Answer, Request, Site};

use crate::scene::Scene;

fn links(urls: &[&str]) -> Answer {
    Answer::html(urls.iter().map(|url| format!("<a href='{url}'>x</a>")).collect::<String>())
}

/// A page with one valid order of its parameters. Requests with another order are redirected to it.
fn ordered(request: &Request) -> Answer {
    match request.query() {
        "b=1&a=2" => Answer::html("the page").header("ETag", "\"1\""),
        _ => Answer::redirect(302, "/q?b=1&a=2"),
    }
}

#[test]
fn urls_are_requested_in_link_order() {
    let site = Site::new().page("/", links(&["/q?b=1&a=2", "/q?a=2&b=1"])).computed("/q", ordered);
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(told.captured["/q?b=1&a=2"].0, 200);
    assert_eq!((scene.web.count("/q?b=1&a=2"), scene.web.count("/q?a=2&b=1")), (1, 0));
}

#[test]
fn a_redirect_to_another_spelling_of_itself_is_followed() {
    let land = |request: &Request| match request.query() {
        "" => Answer::redirect(302, "/land?utm_source=home"),
        _ => Answer::html("landed<a href=/land>again</a><a href='/land?utm_source=home&utm_medium=x'>x</a>"),
    };
    let site = Site::new()
        .page("/", links(&["/q?a=2&b=1", "/land"]))
        .computed("/q", ordered)
        .computed("/land", land);
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    for (path, status) in
        [("/q?a=2&b=1", 302), ("/q?b=1&a=2", 200), ("/land", 302), ("/land?utm_source=home", 200)]
    {
        assert_eq!(told.captured.get(path).map(|(status, ..)| *status), Some(status), "{path}");
        assert_eq!(scene.web.count(path), 1, "{path}");
    }
    assert_eq!(told.ended().tally.pages, 3, "{:?}", told.paths());
    scene.assert_sound();
}

#[test]
fn redirects_between_spellings_end() {
    let turn = |request: &Request| match request.query() {
        "" => Answer::redirect(302, "/turn?utm_source=1"),
        _ => Answer::redirect(302, "/turn"),
    };
    let on = |request: &Request| {
        let number: u32 = request.query().rsplit('=').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        Answer::redirect(302, &format!("/on?utm_source={}", number + 1))
    };
    let scene = Scene::new(Site::new().computed("/turn", turn).computed("/on", on));
    let settings =
        scene.settings(&["/turn", "/on"], ScopeKind::Page).with(|settings| settings.scope.max_redirects = 4);
    let told = scene.run(settings);
    assert_eq!((scene.web.count("/turn"), scene.web.count("/turn?utm_source=1")), (1, 1));
    assert_eq!(scene.web.count("/on?utm_source=4"), 1);
    assert_eq!(told.skipped.get("/on?utm_source=5").map(String::as_str), Some("redirects"));
    assert_eq!(told.ended().queued, 0);
}

/// Its signature is over the text, so no other text will do.
#[test]
fn a_seed_is_requested_as_typed() {
    let signed = "/get?file=%7ez&expires=1&sig=abc&utm_source=mail";
    let site = Site::new().computed("/get", |request| match request.query() {
        "file=%7ez&expires=1&sig=abc&utm_source=mail" => Answer::html("the file"),
        _ => Answer::status(403),
    });
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&[signed], ScopeKind::Page));
    assert_eq!(told.captured.get(signed).map(|(status, ..)| *status), Some(200), "{:?}", told.captured);
    assert_eq!(scene.captures(told.version())[0].url, scene.web.url(signed));
}

/// A frame has one spelling and links have others: it is one page.
#[test]
fn a_frame_and_links_with_other_spellings_are_one_request() {
    let site = Site::new()
        .page("/", Answer::html("<iframe src='/f?b=1&a=2'></iframe><a href=/later>l</a>"))
        .page("/later", links(&["/f?a=2&b=1", "/f?utm_source=x&b=1&a=2"]))
        .page("/f", links(&["/only-here"]))
        .page("/only-here", Answer::html("found"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert!(told.captured.contains_key("/f?b=1&a=2") && told.captured.contains_key("/only-here"));
    assert_eq!(scene.web.counts().iter().filter(|(target, _)| target.starts_with("/f?")).count(), 1);
    assert_eq!(scene.web.count("/f?b=1&a=2"), 1);
}

#[test]
fn a_resumed_run_requests_the_first_spelling() {
    let urls: Vec<String> = (0..60).map(|number| format!("/p?n={number}&a=2")).collect();
    let others: Vec<String> = (0..60).map(|number| format!("/p?a=2&n={number}&utm_source=x")).collect();
    let all: Vec<&str> = urls.iter().chain(&others).map(String::as_str).collect();
    let page = links(&all);
    let site = Site::new().page("/", page.clone()).computed("/p", move |_| page.clone());
    let scene = Scene::new(site);
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let settings = scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.per_host = 1;
        settings.politeness.delay = 10;
    });
    let stopped = scene.run_until(Some(settings), reach, 20).unwrap();
    assert!(stopped.ended().stopped);
    // If the stop came after the last page, there is only one version.
    let versions = BTreeSet::from([stopped.version(), scene.resume().version()]);
    let paths: Vec<String> = versions.into_iter().flat_map(|version| scene.paths_of(version)).collect();
    for url in &urls {
        assert_eq!(paths.iter().filter(|path| *path == url).count(), 1, "{url}");
    }
    assert!(!paths.iter().any(|path| path.contains("utm_source")), "{paths:?}");
}

#[test]
fn a_page_is_requested_conditionally_and_found_by_every_spelling() {
    let site = Site::new().page("/", links(&["/q?b=1&a=2"])).computed("/q", |request| {
        match request.header("if-none-match") {
            Some("\"1\"") => Answer::status(304).header("ETag", "\"1\""),
            _ => ordered(request),
        }
    });
    let scene = Scene::new(site);
    scene.run(scene.settings(&["/"], ScopeKind::Host));
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(told.captured["/q?b=1&a=2"], (304, true, None));
    let history = scene.history();
    let kept = scene.web.url("/q?b=1&a=2");
    for spelling in ["/q?b=1&a=2", "/q?a=2&b=1", "/q?b=1&a=2&utm_source=x#top", "/%71?a=2&b=1"] {
        let url = scene.web.url(spelling);
        let filter = log::CaptureFilter::default();
        let found = log::captures(&history, &url, &filter, log::ListCursor::first(9)).unwrap();
        assert_eq!(found.iter().filter(|capture| capture.url == kept).count(), 2, "{spelling}");
        assert_eq!(cat::find(&history, &url, &cat::CaptureSelector::Newest).unwrap().url, kept);
        assert!(
            cat::find(&history, &url, &cat::CaptureSelector::Version(told.version())).is_ok(),
            "{spelling}"
        );
        let replayed = replay::find(&history, &url, None).unwrap();
        assert!(
            matches!(replayed, replay::UrlKnowledge::Here(found) if found.capture.url == kept),
            "{spelling}"
        );
    }
    let other = scene.web.url("/q?b=2&a=1");
    assert!(cat::find(&history, &other, &cat::CaptureSelector::Newest).is_err());
}

/// A site that links to a page by one spelling, and by another after the first crawl.
fn flipping(page: fn(&Request) -> Answer) -> (Site, Arc<AtomicBool>) {
    let flipped = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flipped);
    let front = move |_: &Request| match seen.load(Ordering::SeqCst) {
        false => links(&["/a?x=1&y=2"]),
        true => links(&["/a?utm_source=news&y=2&x=1", "/a?x=1&y=2"]),
    };
    (Site::new().computed("/", front).computed("/a", page), flipped)
}

fn tagged(request: &Request) -> Answer {
    match request.header("if-none-match") {
        Some(_) => Answer::status(304).header("ETag", "\"1\""),
        None => Answer::html("the page").header("ETag", "\"1\""),
    }
}

/// The paths of the pages below `/a` and their change between two versions.
fn became(scene: &Scene, versions: [VersionId; 2]) -> Vec<(String, PageChange)> {
    let history = scene.history();
    let pairs = CapturePairs::new(history.catalog(), Some(versions[0]), Some(versions[1]));
    let pairs = pairs.map(Result::unwrap).filter(|pair| pair.any().path.starts_with("/a"));
    pairs.map(|pair| (pair.any().path.clone(), pair.change())).collect()
}

#[test]
fn a_stored_page_is_requested_by_its_stored_spelling() {
    let (site, flipped) = flipping(tagged);
    let scene = Scene::new(site);
    let first = scene.run(scene.settings(&["/"], ScopeKind::Host)).version();
    flipped.store(true, Ordering::SeqCst);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(told.captured["/a?x=1&y=2"].0, 304);
    assert_eq!((scene.web.count("/a?x=1&y=2"), scene.web.count("/a?utm_source=news&y=2&x=1")), (2, 0));
    assert_eq!(became(&scene, [first, told.version()]), [("/a?x=1&y=2".to_owned(), PageChange::Unchanged)]);
    scene.assert_sound();
}

#[test]
fn a_page_excluded_by_one_spelling_is_requested_by_another() {
    let picky = |request: &Request| match request.header("if-none-match") {
        Some(_) => Answer::status(404),
        None => Answer::html("the page").header("ETag", "\"1\""),
    };
    let (site, flipped) = flipping(picky);
    let scene = Scene::new(site);
    let first = scene.run(scene.settings(&["/"], ScopeKind::Host)).version();
    flipped.store(true, Ordering::SeqCst);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(told.captured["/a?x=1&y=2"].0, 404);
    assert_eq!(told.captured["/a?utm_source=news&y=2&x=1"].0, 200);
    assert_eq!((scene.web.count("/a?x=1&y=2"), scene.web.count("/a?utm_source=news&y=2&x=1")), (2, 1));
    // Both spellings are one page, and the one that answered last is shown.
    let paths: Vec<String> =
        became(&scene, [first, told.version()]).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/a?x=1&y=2"]);
    scene.assert_sound();
}

/// A seed is requested as the user typed it, and is the same page in history.
#[test]
fn two_spellings_are_one_page_in_history() {
    let scene = Scene::new(Site::new().page("/a", Answer::html("the page")));
    let spellings = ["/a?x=1&y=2", "/a?y=2&utm_source=z&x=1"];
    let versions = spellings.map(|path| scene.run(scene.settings(&[path], ScopeKind::Page)).version());
    for spelling in spellings {
        assert_eq!(scene.web.count(spelling), 1);
    }
    assert_eq!(became(&scene, versions), [("/a?x=1&y=2".to_owned(), PageChange::Unchanged)]);
    let history = scene.history();
    let [old, new] = spellings.map(|path| scene.web.url(path));
    for asked in [&old, &new, &scene.web.url("/a?y=2&x=1#top")] {
        let filter = log::CaptureFilter::default();
        let found = log::captures(&history, asked, &filter, log::ListCursor::first(9)).unwrap();
        let urls: Vec<&str> = found.iter().map(|capture| capture.url.as_str()).collect();
        assert_eq!(urls, [new.as_str(), old.as_str()]);
        let first = log::captures(&history, asked, &filter, log::ListCursor::first(1)).unwrap();
        let rest = log::ListCursor { after: first.first(), limit: 9 };
        assert_eq!(log::captures(&history, asked, &filter, rest).unwrap(), found[1..]);
        assert_eq!(cat::find(&history, asked, &cat::CaptureSelector::Newest).unwrap().url, new);
        for (version, url) in versions.iter().zip([&old, &new]) {
            assert_eq!(
                cat::find(&history, asked, &cat::CaptureSelector::Version(*version)).unwrap().url,
                *url
            );
        }
    }
    drop(history);
    scene.assert_sound();
}

#[test]
fn redirects_that_come_back_by_another_spelling_are_followed() {
    let gate = |request: &Request| match request.query() {
        "" => Answer::redirect(302, "/pass"),
        _ => Answer::html("inside"),
    };
    let site = Site::new()
        .page("/", links(&["/gate", "/loop"]))
        .computed("/gate", gate)
        .page("/pass", Answer::redirect(302, "/gate?utm_source=pass"))
        .page("/loop", Answer::redirect(302, "/back"))
        .page("/back", Answer::redirect(302, "/loop"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(told.captured["/gate?utm_source=pass"].0, 200, "{:?}", told.paths());
    for path in ["/gate", "/pass", "/gate?utm_source=pass", "/loop", "/back"] {
        assert_eq!(scene.web.count(path), 1, "{path}");
    }
    scene.assert_sound();
}

#[test]
fn an_address_of_numbers_is_one_host() {
    let port = |scene: &Scene| scene.web.address().port();
    let scene = Scene::new(Site::new().page("/a", Answer::html("a")).computed("/", |request| {
        let port = request.header("host").and_then(|host| host.rsplit_once(':')).map_or("", |(_, port)| port);
        let link = |host: &str| format!("<a href=http://{host}:{port}/a>a</a>");
        Answer::html(["127.1", "2130706433", "0x7f000001", "127.0.0.1"].map(link).concat())
    }));
    let seed = format!("http://127.1:{}/", port(&scene));
    let told = scene.run(CrawlSettings { seeds: vec![seed], ..scene.settings(&[], ScopeKind::Host) });
    assert_eq!((scene.web.count("/"), scene.web.count("/a"), scene.web.count("/robots.txt")), (1, 1, 1));
    assert!(told.captured.contains_key("/a"), "{:?}", told.paths());
}
