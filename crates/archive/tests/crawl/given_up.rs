//! Servers and networks that fail in the middle of a run: URLs that were not requested stay in the
//! queue.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_archive::CrawlError;

use varve_archive::ArchiveError;
use varve_archive::verbs::capture::{CrawlSettings, NetworkOptions, ScopeKind};
use varve_testkit::web::{Answer, Request, Site, Then, Web};

use super::scene::{Scene, Told};

/// The number of pages that the front page links to.
const PAGES: usize = 60;

/// A front page with links, and the pages that it links to. While it is `away`, all but the front
/// page is closed without a word.
fn site(away: &Arc<AtomicBool>, more: &str) -> Site {
    let links: String = (0..PAGES).map(|page| format!("<a href=/p/{page}>page</a>")).collect();
    let front = Site::new().page("/", Answer::html(format!("{links}{more}")));
    ["/p/", "/favicon.ico", "/sitemap.xml"].into_iter().fold(front, |site, path| {
        let away = Arc::clone(away);
        site.at(path, move |request, connection| match away.load(Ordering::SeqCst) {
            true => Ok(Then::Close),
            false => Answer::html(request.path()).send(request, connection),
        })
    })
}

fn reach() -> NetworkOptions {
    NetworkOptions { allow_private: true, ..NetworkOptions::default() }
}

/// How many of the pages HEAD holds.
fn pages(scene: &Scene, told: &Told) -> usize {
    let captures = scene.state_captures(told.version());
    captures.iter().filter(|capture| capture.url.contains("/p/") && capture.status == 200).count()
}

/// An address where no server listens.
fn place(last: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 5, last], 0))
}

#[test]
fn urls_of_an_unreachable_host_stay_in_the_queue() {
    let away = Arc::new(AtomicBool::new(true));
    let scene = Scene::new(site(&away, "<img src=http://127.0.5.200:9/dead.png>"));
    let settings =
        scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.politeness.retry_pause = 1);
    let told = scene.run(settings);
    let ended = told.ended();
    assert!(ended.stopped && ended.hosts_left && ended.retry_at.is_none(), "{ended:?}");
    assert!(ended.version.is_some() && ended.queued > 0, "{ended:?}");
    assert!(
        told.failed.contains_key("http://127.0.5.200:9/dead.png"),
        "it never was there: {:?}",
        told.failed
    );
    assert!(!told.failed.keys().any(|path| path.starts_with("/p/")), "{:?}", told.failed);
    assert!(ended.queued as usize >= PAGES, "what was asked for in vain waits with the rest: {ended:?}");
    let failed = told.failed.len() as u64;
    assert_eq!(told.given_up.len(), 1);
    assert_eq!(ended.tally.unreachable_hosts, 1);
    away.store(false, Ordering::SeqCst);
    let told = scene.resume();
    assert!(!told.ended().stopped, "{:?}", told.ended());
    assert_eq!(pages(&scene, &told), PAGES);
    assert_eq!(told.ended().tally.failed_before, failed, "the end of a run tells of all of it");
    scene.assert_sound();
}

/// With a `robots.txt` to be requested first, and without.
#[test]
fn a_run_resumed_while_the_server_is_down_loses_nothing() {
    for (robots, last) in [(true, 1), (false, 2)] {
        let (up, scene) = (Arc::new(AtomicBool::new(false)), Scene::new(Site::new()));
        let web = Web::serve_at(place(last), site(&up, ""));
        let (address, seed) = (web.address(), web.url("/"));
        let settings = scene.settings(&[], ScopeKind::Host).with(|settings| {
            settings.seeds = vec![seed];
            settings.politeness.obey_robots = robots;
            settings.politeness.retries = 1;
        });
        let stopped = scene.run_until(Some(settings), reach(), 20).unwrap().ended();
        assert!(stopped.stopped && stopped.queued > 0, "{stopped:?}");
        drop(web);
        for _ in 0..2 {
            let told = scene.resume();
            let ended = told.ended();
            assert!(ended.hosts_left && told.failed.is_empty(), "{ended:?} {:?}", told.failed);
            assert_eq!((ended.queued, ended.version), (stopped.queued, stopped.version));
            assert_eq!(told.given_up.get(&address.to_string()).map(String::as_str), Some("refused"));
        }
        let _web = Web::serve_at(address, site(&up, ""));
        let told = scene.resume();
        assert!(!told.ended().stopped, "{:?}", told.ended());
        assert_eq!(pages(&scene, &told), PAGES, "robots: {robots}");
        scene.assert_sound();
    }
}

/// A server that answers 503 is given up before its whole queue is requested.
#[test]
fn a_failing_server_is_given_up() {
    let broken = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&broken);
    let page = move |request: &Request| match flag.load(Ordering::SeqCst) {
        true => Answer::status(503),
        false => Answer::html(request.path()),
    };
    let scene = Scene::new(site(&Arc::default(), "").computed("/p/", page));
    let told = scene
        .run(scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.politeness.retry_pause = 1));
    let asked = (0..PAGES).filter(|page| scene.web.count(&format!("/p/{page}")) > 0).count();
    assert!(told.ended().hosts_left && told.failed.is_empty(), "{:?}", told.failed);
    assert_eq!(told.ended().queued as usize, PAGES - asked);
    broken.store(false, Ordering::SeqCst);
    let told = scene.resume();
    assert_eq!((told.ended().stopped, pages(&scene, &told)), (false, PAGES - asked));
    scene.assert_sound();
}

/// A dead link is no outage: else no run with one in it would ever end.
#[test]
fn hosts_that_never_respond_fail_after_the_others() {
    let up = Arc::new(AtomicBool::new(false));
    let scene = Scene::new(Site::new());
    let gone = Web::serve_at(place(3), Site::new());
    let dead: String =
        (0..5).map(|number| format!("<img src={}>", gone.url(&format!("/{number}")))).collect();
    drop(gone);
    let web = Web::serve_at(place(4), site(&up, &dead));
    let (address, seed) = (web.address(), web.url("/"));
    let settings = scene.settings(&[], ScopeKind::Host).with(|settings| {
        settings.seeds = vec![seed];
        settings.politeness.retries = 1;
        settings.politeness.retry_pause = 1;
    });
    assert!(scene.run_until(Some(settings), reach(), 1).unwrap().ended().stopped);
    drop(web);
    let told = scene.resume();
    assert!(told.ended().hosts_left && told.failed.is_empty(), "nobody knows who is away: {:?}", told.failed);
    let _web = Web::serve_at(address, site(&up, &dead));
    let told = scene.resume();
    assert!(!told.ended().stopped, "{:?} {:?}", told.ended(), told.given_up);
    assert_eq!(told.failed.len(), 5, "{:?}", told.failed);
    assert_eq!(pages(&scene, &told), PAGES);
    assert!(matches!(scene.run_until(None, reach(), 1), Err(ArchiveError::Crawl(CrawlError::NoRun))));
    scene.assert_sound();
}

/// Nothing is left of a run that got nothing.
#[test]
fn a_run_that_gets_nothing_from_its_only_host_ends() {
    let scene = Scene::new(Site::new());
    let gone = Web::serve_at(place(5), Site::new());
    let seeds = vec![gone.url("/a"), gone.url("/b")];
    drop(gone);
    let told = scene.run(CrawlSettings { seeds, ..scene.settings(&[], ScopeKind::Host) });
    assert_eq!((told.failed.len(), told.ended().version, told.ended().stopped), (2, None, false));
    assert!(matches!(scene.run_until(None, reach(), 1), Err(ArchiveError::Crawl(CrawlError::NoRun))));
}
