//! Politeness: concurrency, delays, `Retry-After`, `robots.txt`, and hosts that do not answer.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use varve_archive::verbs::capture::{CrawlSettings, NetworkOptions, ScopeKind};
use varve_testkit::web::{Answer, Request, Site};

use crate::scene::Scene;

/// A site of many pages that counts concurrent requests.
fn counting(most: &Arc<AtomicUsize>) -> Site {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::clone(most));
    let links: String = (0..30).map(|number| format!("<a href='/slow/{number}'>x</a>")).collect();
    Site::new().page("/", Answer::html(links)).at("/slow/", move |request, connection| {
        let under_way = now.fetch_add(1, Ordering::SeqCst) + 1;
        most.fetch_max(under_way, Ordering::SeqCst);
        connection.wait(Duration::from_millis(20));
        let sent = Answer::html("slow").send(request, connection);
        now.fetch_sub(1, Ordering::SeqCst);
        sent
    })
}

#[test]
fn requests_per_host_are_limited() {
    for per_host in [1, 3] {
        let most = Arc::new(AtomicUsize::new(0));
        let scene = Scene::new(counting(&most));
        let told = scene.run(
            scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.politeness.per_host = per_host),
        );
        assert_eq!(told.ended().tally.pages, 31);
        assert_eq!(most.load(Ordering::SeqCst), per_host);
    }
}

#[test]
fn the_concurrency_of_a_run_is_bounded_over_all_hosts() {
    let most = Arc::new(AtomicUsize::new(0));
    let scene = Scene::new(counting(&most));
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.per_host = 16;
        settings.politeness.concurrency = 2;
    }));
    assert_eq!((told.ended().tally.pages, most.load(Ordering::SeqCst)), (31, 2));
}

#[test]
fn a_busy_server_is_retried_and_only_the_last_response_counts() {
    let scene = Scene::new(Site::new().with_moods());
    let seeds = ["/busy/503/2/0", "/busy/429/1/0", "/flaky/2/x"];
    let told =
        scene.run(scene.settings(&seeds, ScopeKind::Page).with(|settings| settings.politeness.retries = 3));
    for (seed, asked) in [(seeds[0], 3), (seeds[1], 2), (seeds[2], 3)] {
        assert_eq!(told.captured.get(seed).map(|(status, ..)| *status), Some(200), "{seed}");
        assert_eq!(scene.web.count(seed), asked, "{seed}");
    }
    assert_eq!(scene.paths_of(told.version()).len(), 4);
}

#[test]
fn a_server_that_stays_busy_is_recorded_with_its_status() {
    let scene = Scene::new(Site::new().with_moods());
    let told = scene.run(
        scene
            .settings(&["/busy/503/9/0", "/flaky/9/x"], ScopeKind::Page)
            .with(|settings| settings.politeness.retries = 1),
    );
    assert_eq!(told.captured["/busy/503/9/0"].0, 503);
    assert_eq!(told.failed.get("/flaky/9/x").map(String::as_str), Some("protocol"));
    assert_eq!(scene.web.count("/busy/503/9/0"), 2);
    // A connection that was kept open and closes without a word may have died of old age, and is
    // not held against it.
    assert!((2..=4).contains(&scene.web.count("/flaky/9/x")));
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let scene = Scene::new(Site::new().with_moods());
    let seeds: Vec<String> = (0..60).map(|number| format!("/flaky/9/{number}")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let settings = scene.settings(&seeds, ScopeKind::Page).with(|settings| {
        settings.politeness.obey_robots = false;
        settings.politeness.retry_pause = 1;
    });
    let told = scene.run(settings);
    assert_eq!(told.failed.len(), 60);
    assert!(scene.web.total() < 40, "{}", scene.web.total());
    assert_eq!(told.ended().version, None);
}

#[test]
fn robots_txt_may_be_missing_redirected_or_failing() {
    // (status of the file, whether the page is asked for)
    for (status, open) in [(404, true), (403, true), (500, false), (503, false)] {
        let site = Site::new().page("/", Answer::html("home")).page("/robots.txt", Answer::status(status));
        let scene = Scene::new(site);
        let told = scene.run(scene.settings(&["/"], ScopeKind::Page));
        assert_eq!(scene.web.count("/"), usize::from(open), "{status}");
        assert_eq!(told.captured["/robots.txt"].0, status);
        let failure = told.failed.get("/").map(String::as_str);
        assert_eq!(failure, if open { None } else { Some("robots") });
    }
    let site = Site::new()
        .page("/", Answer::html("home"))
        .page("/robots.txt", Answer::redirect(301, "/there/robots.txt"))
        .page("/there/robots.txt", Answer::of("text/plain", "User-agent: varve\nDisallow: /"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Page));
    assert_eq!(told.skipped.get("/").map(String::as_str), Some("robots:line 2"));
    assert_eq!(told.captured["/robots.txt"].0, 301);
}

#[test]
fn a_huge_robots_txt_is_read_up_to_the_limit_of_the_standard() {
    let scene = Scene::new(Site::new().with_pages().with_huge_robots());
    let told = scene.run(scene.settings(&["/", "/private/secret.html"], ScopeKind::Page));
    assert!(told.captured.contains_key("/"));
    assert_eq!(told.skipped.get("/private/secret.html").map(String::as_str), Some("robots:line 2"));
}

/// Only people change what a server speaks, and trying again keeps others waiting.
#[test]
fn the_wrong_scheme_is_not_tried_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let scene = Scene::new(Site::new());
    let settings = scene.settings(&[], ScopeKind::Page).with(|settings| {
        settings.seeds = vec![url.clone()];
        settings.politeness.retries = 3;
    });
    let told = scene.run(settings);
    assert_eq!(told.failed.get(&url).map(String::as_str), Some("tls:none"));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// Everything else that is wanted of a host waits for its file, so an endless one ends soon.
#[test]
fn an_endless_robots_txt_is_truncated() {
    let site = Site::new().page("/", Answer::html("home")).at("/robots.txt", |_, connection| {
        connection
            .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /no\n")?;
        while !connection.is_over() {
            connection.send("# and so on\n".repeat(1000))?;
        }
        Ok(varve_testkit::web::Then::Close)
    });
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/", "/no"], ScopeKind::Page));
    assert_eq!(told.captured["/robots.txt"].2.as_deref(), Some("length"));
    assert_eq!(told.captured["/"].0, 200);
    assert_eq!(told.skipped.get("/no").map(String::as_str), Some("robots:line 2"));
    assert!(told.ended().tally.bytes < 2 << 20, "{:?}", told.ended());
    scene.assert_sound();
}

#[test]
fn a_robots_txt_with_an_endless_redirect_does_not_block_its_host() {
    let site = Site::new()
        .with_moods()
        .page("/", Answer::html("home"))
        .page("/robots.txt", Answer::redirect(302, "/redirect/pair/a"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Page));
    assert!(told.captured.contains_key("/"));
}

#[test]
fn private_addresses_are_refused_unless_allowed() {
    let scene = Scene::new(Site::new().with_pages());
    let settings = scene.settings(&["/"], ScopeKind::Host);
    let told = scene.run_until(Some(settings), NetworkOptions::default(), usize::MAX).unwrap();
    assert_eq!(told.failed.get("/").map(String::as_str), Some("guard"));
    assert_eq!(scene.web.connections(), 0);
}

#[test]
fn headers_for_the_seeds_go_to_no_other_host_and_into_no_record() {
    let elsewhere = Scene::new(Site::new().page("/e.png", Answer::of("image/png", "png")));
    let picture = elsewhere.web.url("/e.png");
    let scene = Scene::new(Site::new().page("/", Answer::html(format!("<img src='{picture}'>"))));
    let headers = vec!["X-Key: hunter2".to_owned()];
    let reach = NetworkOptions { allow_private: true, headers, ..NetworkOptions::default() };
    let told = scene.run_until(Some(scene.settings(&["/"], ScopeKind::Page)), reach, usize::MAX).unwrap();
    let sent = |scene: &Scene| {
        scene.web.seen().iter().flat_map(|seen| seen.headers.clone()).any(|(_, value)| value == "hunter2")
    };
    assert!(sent(&scene) && !sent(&elsewhere));
    let head = scene.captures(told.version());
    assert!(!head.is_empty());
    for file in std::fs::read_dir(scene.root().join("warc/0")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let mut text = Vec::new();
        let _ = std::io::Read::read_to_end(&mut flate2::bufread::MultiGzDecoder::new(&bytes[..]), &mut text);
        assert!(
            text.windows(4).any(|bytes| bytes == b"GET ")
                && !text.windows(7).any(|bytes| bytes == b"hunter2")
        );
    }
}

/// The `warcinfo` records of a silo that describe runs, each with its id and its block.
fn descriptions(silo: &str) -> Vec<(String, String)> {
    let records = silo.split("WARC/1.1\r\n").filter(|record| record.starts_with("WARC-Type: warcinfo\r\n"));
    let of_runs = records.filter(|record| !record.contains("WARC-Filename"));
    let parts = of_runs.map(|record| {
        let id = record.split("WARC-Record-ID: ").nth(1).unwrap().split("\r\n").next().unwrap();
        (id.to_owned(), record.split_once("\r\n\r\n").unwrap().1.trim_end().to_owned())
    });
    parts.collect()
}

#[test]
fn a_run_is_described_in_the_silo_and_its_records_refer_to_that() {
    let scene = Scene::new(Site::new().with_pages());
    let settings = scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.scope.depth = Some(1);
        settings.politeness.retries = 2;
    });
    let first = scene.run(settings.clone());
    let rude = settings.with(|settings| {
        settings.politeness.obey_robots = false;
        settings.politeness.user_agent = "other/1\r\nrobots: obey".to_owned();
    });
    let second = scene.run(rude);
    let silo = scene.silo_text();
    let told = descriptions(&silo);
    let [(polite_id, polite), (rude_id, rude)] = &told[..] else { panic!("{told:?}") };
    let run = first.ended().run;
    assert!(polite.starts_with("software: varve/test\r\nformat: WARC File Format 1.1\r\n"), "{polite}");
    let lines: Vec<&str> = polite.lines().skip(4).collect();
    let agent = format!("http-header-user-agent: {}", CrawlSettings::default().politeness.user_agent);
    assert_eq!(
        lines,
        [
            "robots: obey",
            &agent,
            &format!("varve-run: {run}"),
            "varve-scope: host depth=1",
            "varve-politeness: delay=0 per-host=4 concurrency=16 retries=2",
        ]
    );
    assert!(rude.contains("\r\nrobots: ignore\r\n"), "{rude}");
    assert!(rude.contains("user-agent: other/1  robots: obey\r\n"), "no value makes a line: {rude}");
    for (run, id) in [(run, polite_id), (second.ended().run, rude_id)] {
        let of_run = format!("Varve-Run: {run}\r\n");
        let mut count = 0;
        for record in silo.split("WARC/1.1\r\n").filter(|record| record.contains(&of_run)) {
            if !record.starts_with("WARC-Type: request\r\n") {
                assert!(record.contains(&format!("{of_run}WARC-Warcinfo-ID: {id}\r\n")), "{record}");
                count += 1;
            }
        }
        assert!(count >= 3, "{count}");
    }
    scene.assert_sound();
    scene.rebuild();
    scene.assert_sound();
}

/// A stopped run is a version, and its continuation is another run with the same description.
#[test]
fn a_resumed_run_keeps_its_description() {
    let scene = Scene::new(Site::new().with_pages());
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let settings = scene.settings(&["/site/400/0"], ScopeKind::Host);
    let first = scene.run_until(Some(settings), reach, 20).unwrap().ended().run;
    let second = scene.resume().ended().run;
    let told = descriptions(&scene.silo_text());
    let [(_, before), (_, after)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(before.replace(&first.to_string(), &second.to_string()), *after);
    scene.assert_sound();
}

/// No server listens. With all retries and their doubling pauses for each URL, this would take
/// minutes.
#[test]
fn an_unreachable_host_is_given_up_with_its_queue() {
    let scene = Scene::new(Site::new());
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let seeds = (0..10).map(|number| format!("http://127.0.0.1:{port}/{number}")).collect();
    let settings = scene.settings(&[], ScopeKind::Page).with(|settings| {
        settings.seeds = seeds;
        settings.politeness.retries = 2;
        settings.politeness.obey_robots = false;
    });
    let told = scene.run(settings);
    assert_eq!(told.failed.len(), 10);
    assert!(told.failed.values().all(|kind| kind == "refused"), "{:?}", told.failed);
    assert_eq!(told.ended().version, None);
}

/// A host that accepts connections and never answers, with many URLs in the queue.
#[test]
fn a_silent_host_costs_a_few_requests_only() {
    let site = Site::new().at("/quiet/", |_, connection| {
        connection.wait(Duration::from_secs(600));
        Ok(varve_testkit::web::Then::Close)
    });
    let scene = Scene::new(site);
    let seeds: Vec<String> = (0..30).map(|number| format!("/quiet/{number}")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let settings = scene.settings(&seeds, ScopeKind::Page).with(|settings| {
        settings.politeness.obey_robots = false;
        settings.politeness.per_host = 1;
        settings.politeness.retries = 1;
        settings.politeness.retry_pause = 1;
        settings.requests.idle_timeout = 200;
    });
    let told = scene.run(settings);
    assert_eq!(told.failed.len(), 30);
    assert!(told.failed.values().all(|kind| kind == "timeout"), "{:?}", told.failed);
    // Two tries of the first, and one of another: it never answered.
    assert_eq!(scene.web.total(), 3);
}

/// Nothing is to be had but the word that nothing is to be had.
#[test]
fn an_excluded_seed_is_reported_and_makes_no_version() {
    let closed = Answer::of("text/plain", "User-agent: *\nDisallow: /\n");
    for (robots, rule) in [(closed, Some("robots:line 2")), (Answer::status(503), None)] {
        let site = Site::new().page("/robots.txt", robots).page("/", Answer::html("home"));
        let scene = Scene::new(site);
        let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
        assert_eq!(told.skipped.get("/").map(String::as_str), rule);
        assert_eq!(told.failed.contains_key("/"), rule.is_none());
        let ended = told.ended();
        assert_eq!(
            (ended.version, ended.tally.seeds_refused, ended.queued),
            (None, u64::from(rule.is_some()), 0)
        );
        assert_eq!((scene.web.count("/"), scene.web.count("/robots.txt")), (0, 1));
        scene.assert_sound();
        let told = scene.run(
            scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.politeness.obey_robots = false),
        );
        assert_eq!((told.captured["/"].0, told.ended().tally.seeds_refused), (200, 0));
        scene.assert_sound();
    }
}

/// The run ends without waiting. Its URLs stay in the queue, and a resumed run requests them after
/// the wait.
#[test]
fn a_host_that_asks_for_too_long_a_wait_is_left_for_another_day() {
    let busy = Arc::new(AtomicBool::new(true));
    let page = || {
        let busy = Arc::clone(&busy);
        move |_: &Request| match busy.load(Ordering::SeqCst) {
            true => Answer::status(503).header("Retry-After", "2"),
            false => Answer::html("a page"),
        }
    };
    let front = Answer::html("<a href=/a>a</a><a href=/b>b</a>");
    let site = Site::new().page("/", front).computed("/a", page()).computed("/b", page());
    let scene = Scene::new(site);
    let settings = scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.max_wait = 1000;
        settings.politeness.per_host = 1;
    });
    let told = scene.run(settings);
    let ended = told.ended();
    assert!(ended.stopped && ended.retry_at.is_some() && ended.version.is_some(), "{ended:?}");
    assert!(ended.queued >= 2, "{ended:?}");
    assert!(!told.captured.contains_key("/a") && told.failed.is_empty(), "{:?}", told.paths());
    let before = scene.web.total();
    let early = scene.resume();
    assert!(early.ended().retry_at.is_some() && scene.web.total() == before, "{:?}", early.ended());
    busy.store(false, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(2100));
    let told = scene.resume();
    assert!(!told.ended().stopped, "{:?}", told.ended());
    let paths = scene.state_paths_of(told.version());
    assert!(["/", "/a", "/b"].iter().all(|path| paths.iter().any(|found| found == path)), "{paths:?}");
    scene.assert_sound();
}

#[test]
fn a_long_wait_is_reported() {
    let robots = Answer::of("text/plain", "User-agent: *\nCrawl-delay: 25\n");
    let site = Site::new().page("/robots.txt", robots).page("/", Answer::html("x"));
    let scene = Scene::new(site);
    let told = scene
        .run(scene.settings(&["/"], ScopeKind::Page).with(|settings| settings.limits.max_time = Some(1500)));
    assert!(told.rest > Duration::from_secs(20), "{:?}", told.rest);
}
