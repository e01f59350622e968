//! Limits of a run: time, bytes, redirects and private addresses.

use std::time::{Duration, Instant};

use varve_archive::verbs::capture::{NetworkOptions, ScopeKind};
use varve_testkit::web::{Answer, Site};

use crate::scene::Scene;

/// A front page that links to this number of pages, each of ten kilobytes.
fn many(count: usize) -> Site {
    let links: String = (0..count).map(|number| format!("<a href='/page/{number}'>x</a>")).collect();
    let page = Answer::html("x".repeat(10_000));
    Site::new()
        .page("/", Answer::html(links))
        .at("/page/", move |request, connection| page.send(request, connection))
}

/// All pages wait for their host when the limit is reached. At its pace they would take half a
/// minute.
#[test]
fn a_time_limit_does_not_wait_for_pauses() {
    let scene = Scene::new(many(100));
    let began = Instant::now();
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.per_host = 1;
        settings.politeness.delay = 300;
        settings.limits.max_time = Some(900);
    }));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(told.ended().tally.pages < 10, "{:?}", told.ended());
    assert!(told.skipped.values().filter(|rule| *rule == "limit:time").count() > 90, "{:?}", told.skipped);
    assert_eq!(told.ended().queued, 0);
}

#[test]
fn a_byte_limit_is_exceeded_by_responses_in_progress_only() {
    let scene = Scene::new(many(100));
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.per_host = 1;
        settings.politeness.delay = 20;
        settings.limits.max_bytes = Some(30_000);
    }));
    let bytes = told.ended().tally.bytes;
    assert!((30_000..60_000).contains(&bytes), "{bytes}");
    assert!(told.skipped.values().filter(|rule| *rule == "limit:bytes").count() > 90);
    scene.assert_sound();
}

/// At the limit, responses in progress are truncated and no request begins, so concurrent long
/// responses do not exceed it many times.
#[test]
fn a_byte_limit_truncates_responses_in_progress() {
    const LONG: usize = 4 << 20;
    let mut site = Site::new();
    let mut links = String::new();
    for number in 0..20 {
        links.push_str(&format!("<a href='/long/{number}'>x</a>"));
        site = site.page(&format!("/long/{number}"), Answer::html("x".repeat(LONG)));
    }
    let scene = Scene::new(site.page("/", Answer::html(links)));
    let limit_bytes = Some(1 << 20);
    let settings = scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.per_host = 8;
        settings.limits.max_bytes = limit_bytes;
    });
    let told = scene.run(settings);
    let ended = told.ended();
    // Of those that are under way the heads are whole.
    assert!(ended.tally.bytes < (1 << 20) + 8 * 1024, "{ended:?}");
    assert!(ended.tally.truncated > 0 && ended.tally.limit_reached == Some("bytes"), "{ended:?}");
    assert!(
        told.captured.values().any(|(_, _, cut)| cut.as_deref() == Some("length")),
        "{:?}",
        told.captured
    );
    let history = scene.history();
    let version = history.catalog().version(&told.version()).unwrap().unwrap().version;
    assert!(version.message.ends_with("(limit of bytes reached)"), "{}", version.message);
    drop(history);
    scene.assert_sound();
}

/// A response that arrives in one read and is longer than the limit is truncated, and the next run
/// requests it in full.
#[test]
fn a_truncated_response_is_marked_and_fetched_again_next_time() {
    let page = Answer::html("x".repeat(10_000)).header("ETag", "\"one\"");
    let scene = Scene::new(Site::new().page("/", page));
    let settings = |largest| {
        scene.settings(&["/"], ScopeKind::Page).with(|settings| settings.requests.max_size = largest)
    };
    let told = scene.run(settings(1000));
    assert_eq!(told.captured["/"].2.as_deref(), Some("length"), "{:?}", told.captured);
    assert_eq!(told.ended().tally.truncated, 1);
    let told = scene.run(settings(1 << 20));
    assert_eq!((told.captured["/"].0, told.captured["/"].2.as_deref()), (200, None), "{:?}", told.captured);
    scene.assert_sound();
}

#[test]
fn a_limit_of_time_ends_an_answer_without_end() {
    let site = Site::new().at("/drip", |_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")?;
        while !connection.is_over() {
            connection.send("x")?;
            connection.wait(Duration::from_millis(50));
        }
        Ok(varve_testkit::web::Then::Close)
    });
    let scene = Scene::new(site);
    let began = Instant::now();
    // What is tried again when the time is over would not be kept, and not be had either.
    let settings = scene.settings(&["/drip"], ScopeKind::Page).with(|settings| {
        settings.limits.max_time = Some(1500);
        settings.politeness.retries = 3;
    });
    let told = scene.run(settings);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(told.captured["/drip"].2.as_deref(), Some("time"), "{:?}", told.captured);
    assert_eq!((told.ended().tally.truncated, told.ended().tally.limit_reached), (1, Some("time")));
}

/// What has not answered by then has not failed.
#[test]
fn urls_not_requested_before_the_time_limit_are_skipped() {
    let site =
        Site::new().page("/", Answer::html("<a href=/silence>x</a>")).at("/silence", |_, connection| {
            connection.wait(Duration::from_secs(600));
            Ok(varve_testkit::web::Then::Close)
        });
    let scene = Scene::new(site);
    let settings =
        scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.limits.max_time = Some(2000));
    let told = scene.run(settings);
    assert_eq!(told.skipped.get("/silence").map(String::as_str), Some("limit:time"), "{:?}", told.failed);
    assert_eq!((told.ended().tally.failed, told.ended().tally.limit_reached), (0, Some("time")));
}

#[test]
fn redirects_are_followed_up_to_the_limit() {
    for (redirects, reached) in [(2, false), (5, true)] {
        let scene = Scene::new(Site::new().with_moods());
        let settings = scene
            .settings(&["/redirect/chain/5"], ScopeKind::Page)
            .with(|settings| settings.scope.max_redirects = redirects);
        let told = scene.run(settings);
        let captured = told.captured.values().filter(|(status, ..)| *status == 200).count();
        assert_eq!(captured == 1, reached, "{:?}", told.captured);
        assert_eq!(told.skipped.values().any(|rule| rule == "redirects"), !reached, "{:?}", told.skipped);
    }
}

#[test]
fn private_addresses_may_be_allowed_one_by_one() {
    let scene = Scene::new(Site::new().page("/", Answer::html("<img src=//127.0.0.2:9/x.png>")));
    let path = scene.root().join("varve.toml");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("allow_private = [\"127.0.0.1/32\"]\n");
    std::fs::write(&path, text).unwrap();
    let settings = scene.settings(&["/"], ScopeKind::Page);
    let told = scene.run_until(Some(settings), NetworkOptions::default(), usize::MAX).unwrap();
    assert_eq!(told.captured["/"].0, 200, "{:?}", told.failed);
    assert_eq!(told.failed.get("http://127.0.0.2:9/x.png").map(String::as_str), Some("guard"));
}

/// The pages of a host wait for its `robots.txt`, which asks to wait for ten minutes.
#[test]
fn a_time_limit_does_not_wait_for_robots_to_be_retried() {
    let busy = || Answer::status(503).header("Retry-After", "600");
    let site = Site::new().page("/robots.txt", busy()).page("/", Answer::html("here"));
    let scene = Scene::new(site);
    let began = Instant::now();
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.retries = 5;
        settings.limits.max_time = Some(900);
    }));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(told.skipped.get("/").map(String::as_str), Some("limit:time"), "{:?}", told.skipped);
    assert_eq!((told.ended().queued, told.ended().stopped), (0, false));
}

/// Retries, a wait that a page asks for, and a response without an end.
#[test]
fn a_time_limit_holds_for_retries_waits_and_slow_responses() {
    let site = Site::new()
        .page("/busy", Answer::status(503).header("Retry-After", "600"))
        .page("/broken", Answer::status(500))
        .at("/slow", |_, connection| {
            connection
                .send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")?;
            while !connection.is_over() {
                connection.send("x")?;
                connection.wait(Duration::from_millis(50));
            }
            Ok(varve_testkit::web::Then::Close)
        });
    let scene = Scene::new(site);
    let began = Instant::now();
    scene.run(scene.settings(&["/busy", "/broken", "/slow"], ScopeKind::Page).with(|settings| {
        settings.politeness.obey_robots = false;
        settings.politeness.retries = 50;
        settings.politeness.retry_pause = 600_000;
        settings.limits.max_time = Some(900);
    }));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
