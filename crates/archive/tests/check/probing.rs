//! What the prober makes of servers, good and bad.

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};
use varve_archive::BodyId;
use varve_archive::expectations::{Follow, Observed, ProbeOptions, ProbeRequest, Prober, UrlsError, Verdict};
use varve_archive::verbs::check::Request;
use varve_archive::verbs::urls;
use varve_testkit::web::{Answer, Site, Web};

use crate::scene::{Scene, Wrong, prober, told};

fn question(url: String) -> ProbeRequest {
    ProbeRequest { url, follow: Follow::Redirects, content: true, length: None, max_bytes: None }
}

fn ask(scene: &Scene, path: &str) -> Observed {
    scene.prober(false).probe_one(question(scene.web.url(path))).observed
}

fn error(scene: &Scene, path: &str) -> String {
    ask(scene, path).error.unwrap_or_else(|| panic!("{path} is no failure"))
}

/// Why the redirects from a path lead to no page.
fn dead_end(scene: &Scene, path: &str) -> String {
    ask(scene, path).dead_end.unwrap_or_else(|| panic!("{path} leads to a page"))
}

fn digest(bytes: &[u8]) -> BodyId {
    BodyId::new(Sha256::digest(bytes).into())
}

#[test]
fn content_is_measured_without_its_codings() {
    let scene = Scene::new(Site::with_everything());
    let packed = ask(&scene, "/gzip/good");
    let text = "<p>Packed.</p>".repeat(100);
    assert_eq!((packed.length, packed.sha256), (Some(1400), Some(digest(text.as_bytes()))));
    // A coding that is declared and was never applied is no coding.
    assert_eq!(ask(&scene, "/gzip/false").sha256, packed.sha256);
    let chunked = ask(&scene, "/chunks/good");
    assert_eq!((chunked.length, chunked.sha256), (Some(10), Some(digest(b"0123456789"))));
    // More than was declared is not part of the answer.
    assert_eq!(ask(&scene, "/length/long").length, Some(10));
    assert_eq!(ask(&scene, "/early").length, Some(2));
}

#[test]
fn an_incomplete_response_counts_as_none() {
    let scene = Scene::new(Site::with_everything());
    for path in ["/length/short", "/chunks/cut", "/reset"] {
        assert_eq!(
            error(&scene, path),
            "the answer is not whole: the connection ended before it did",
            "{path}"
        );
    }
    for path in ["/length/two", "/chunks/broken"] {
        let reason = error(&scene, path);
        assert!(reason.starts_with("the answer is not whole: its length contradicts"), "{path}: {reason}");
    }
    assert!(error(&scene, "/gzip/cut").starts_with("the content cannot be read"));
    assert!(error(&scene, "/close").ends_with("closed the connection without an answer"));
    assert!(error(&scene, "/silence").ends_with("took too long"));
    assert_eq!(error(&scene, "/garbage"), "the answer is not HTTP");
}

#[test]
fn only_the_beginning_of_a_body_is_read_where_only_the_status_counts() {
    let scene = Scene::new(Site::with_everything());
    let asked = ProbeRequest { content: false, follow: Follow::First, ..question(scene.web.url("/endless")) };
    let observed = scene.prober(false).probe_one(asked).observed;
    assert_eq!((observed.status, observed.error, observed.length), (Some(200), None, None));
}

#[test]
fn an_endless_body_fails_and_an_expected_long_body_is_read() {
    let site = Site::with_everything().page("/long", Answer::of("text/plain", "x".repeat(300_000)));
    let scene = Scene::new(site);
    let prober = prober(ProbeOptions { max_size: 100_000, ..scene.asking() });
    let ask = |path: &str, length| {
        prober.probe_one(ProbeRequest { length, ..question(scene.web.url(path)) }).observed
    };
    let grown = Some("the answer is not whole: it grew too long".to_owned());
    assert_eq!(ask("/endless", None).error, grown);
    assert_eq!(ask("/endless", Some(5)).error, grown);
    assert_eq!(ask("/long", None).error, grown);
    assert_eq!(ask("/long", Some(300_000)).length, Some(300_000));
}

/// A full disk is not a failure of the site.
#[test]
fn captures_that_a_project_cannot_store_are_not_requested() {
    let scene = Scene::new(Site::new().page("/long", Answer::of("text/plain", "x".repeat(3 << 20))));
    let nowhere = tempfile::tempdir().unwrap().path().join("nowhere");
    let prober = prober(ProbeOptions { temporary: nowhere.into(), ..scene.asking() });
    let answer = prober.probe_one(question(scene.web.url("/long")));
    assert!(answer.unasked.is_some_and(|why| why.contains("temporary folder")));
}

#[test]
fn redirects_are_followed_to_their_end_and_no_further() {
    let scene = Scene::new(Site::with_everything());
    let chain = ask(&scene, "/redirect/chain/10");
    assert_eq!((chain.status, chain.error), (Some(200), None));
    assert_eq!(chain.redirects.len(), 10);
    assert_eq!((chain.redirects[0].status, chain.redirects[0].location.as_str()), (307, "9"));
    assert_eq!(chain.final_url, Some(scene.web.url("/redirect/chain/0")));
    assert_eq!(chain.sha256, Some(digest(b"<p>The end of the chain.</p>")));
    assert_eq!(dead_end(&scene, "/redirect/chain/11"), "there are more than 10 redirects");
    assert!(dead_end(&scene, "/redirect/loop").starts_with("the redirects go in a circle"));
    assert!(dead_end(&scene, "/redirect/pair/a").starts_with("the redirects go in a circle"));
    assert!(error(&scene, "/redirect/away?to=ftp://example.com/").contains("cannot be fetched"));
    let other = Web::serve(Site::new().page("/there", Answer::of("text/plain", "there")));
    let away = ask(&scene, &format!("/redirect/away?to={}", other.url("/there#top")));
    assert_eq!((away.length, other.count("/there")), (Some(5), 1));
    let first = ProbeRequest { follow: Follow::First, ..question(scene.web.url("/redirect/loop")) };
    let observed = scene.prober(false).probe_one(first).observed;
    assert_eq!((observed.status, observed.location.as_deref()), (Some(302), Some("/redirect/loop")));
}

#[test]
fn private_addresses_are_refused_unless_they_are_allowed() {
    let scene = Scene::new(Site::with_everything());
    let prober = prober(ProbeOptions { network: Default::default(), ..scene.asking() });
    let observed = prober.probe_one(question(scene.web.url("/"))).observed;
    assert!(observed.error.is_some(), "{observed:?}");
    assert_eq!(scene.web.total(), 0);
}

#[test]
fn every_probe_has_one_response_unless_stopped() {
    let scene = Scene::new(Site::with_everything());
    let questions: Vec<ProbeRequest> =
        (0..200).map(|number| question(scene.web.url(&format!("/site/200/{number}")))).collect();
    let mut answers = vec![0; questions.len()];
    scene.prober(false).probe(&questions, &mut |number, answer| {
        assert_eq!(answer.observed.status, Some(200));
        answers[number] += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(answers, vec![1; 200]);
    let mut count = 0;
    scene.prober(false).probe(&questions, &mut |_, _| {
        count += 1;
        if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(count, 3);
}

#[test]
fn a_host_that_only_fails_is_given_up_and_every_url_still_has_its_verdict() {
    let scene = Scene::new(Site::new().with_faults());
    let questions = vec![question(scene.web.url("/close")); 30];
    let prober = prober(ProbeOptions { failures_per_host: 5, concurrency: 1, ..scene.asking() });
    let mut given_up = 0;
    let mut count = 0;
    prober.probe(&questions, &mut |_, answer| {
        count += 1;
        given_up += u32::from(answer.unasked.is_some_and(|why| why.contains("was given up")));
        ControlFlow::Continue(())
    });
    assert_eq!((count, given_up), (30, 25));
    assert_eq!(scene.web.total(), 5);
}

#[test]
fn a_check_gives_every_verdict_and_retries_failures() {
    let scene = Scene::new(Site::with_everything().page("/m51.txt", Answer::of("text/plain", "M51")));
    let good = digest(b"M51");
    let m51 = format!("_path: /m51.txt\ncontent-length: 3\ncontent-sha256: {good}\ncontent-type: text/plain");
    let moved = format!(
        "_path: /redirect/away?to=/m51.txt\ncontent-length: 3\ncontent-sha256: {good}\ncontent-type: text/plain"
    );
    scene.promise(
        "",
        &[
            "_path: /",
            "_path: /about.html\ncontent-type: text/plain",
            "_path: /changing\ncontent-length: 1\ncontent-sha256: '0000000000000000000000000000000000000000000000000000000000000000'",
            "_path: /close",
            "_path: /flaky/1/page",
            "_path: /missing",
            &m51,
            "_path: /old\ncategories:\n- deprecated",
            &moved,
            "_path: /redirect/loop\ncontent-type: X-302-Redirect",
        ],
    );
    let request = Request { retries: 1, ..Request::default() };
    let mut found = Vec::new();
    let mut last = None;
    let prober = scene.prober(false);
    urls::check::check(
        &scene.database(),
        &request,
        &prober,
        &mut |progress| last = Some(progress),
        |checked| {
            found.push(checked);
            Ok::<(), Wrong>(())
        },
    )
    .unwrap();
    let last = last.unwrap();
    assert_eq!((last.done, last.total), (10, 10));
    let told = told(&found);
    assert_eq!(told[0], "/ ok");
    assert_eq!(told[1], "/about.html changed: expected content type text/plain; got text/html");
    assert!(told[2].starts_with("/changing changed: content length changed from 1 bytes to"), "{}", told[2]);
    assert!(told[3].starts_with("/close unreachable: "), "{}", told[3]);
    assert_eq!(told[4], "/flaky/1/page ok");
    assert_eq!(told[5], "/missing broken: expected HTTP 2xx or 3xx; got HTTP 404");
    assert_eq!(told[6], "/m51.txt ok");
    assert_eq!(told[7], "/old skipped: deprecated");
    assert_eq!(told[8], "/redirect/away?to=/m51.txt ok");
    assert_eq!(told[9], "/redirect/loop ok");
    assert_eq!((scene.web.count("/missing"), scene.web.count("/"), scene.web.count("/old")), (2, 1, 0));
}

#[test]
fn aliases_and_mapped_hosts_are_requested() {
    let scene = Scene::new(Site::with_everything());
    let other = Web::serve(Site::new().page("/", Answer::html("other")));
    scene.promise(&format!("cnames:\n- {}\n", other.address()), &["_path: /about.html"]);
    let verdicts = |request: Request| {
        let mut found = Vec::new();
        let prober = scene.prober(false);
        urls::check::check(&scene.database(), &request, &prober, &mut |_| {}, |checked| {
            found.push((checked.url, checked.verdict == Verdict::Ok));
            Ok::<(), Wrong>(())
        })
        .unwrap();
        found
    };
    let aliases = verdicts(Request { cnames: true, ..Request::default() });
    assert_eq!(aliases, [(scene.web.url("/about.html"), true), (other.url("/about.html"), false)]);
    let map = vec![(scene.host(), other.address().to_string())];
    assert_eq!(verdicts(Request { map, ..Request::default() }), [(other.url("/about.html"), false)]);
    let third = Web::serve(Site::with_everything());
    let stands_in = |host: &str| vec![(host.to_owned(), third.address().to_string())];
    // Each name is mapped by itself: an alias that nobody mapped is asked as it is.
    let mapped = |map| verdicts(Request { map, cnames: true, ..Request::default() });
    let alias = other.address().to_string();
    let (own, stand_in) = (scene.web.url("/about.html"), third.url("/about.html"));
    assert_eq!(mapped(stands_in(&alias)), [(own, true), (stand_in.clone(), true)]);
    assert_eq!(
        mapped(stands_in(&scene.host())),
        [(stand_in.clone(), true), (other.url("/about.html"), false)]
    );
    let both = [stands_in(&scene.host()), stands_in(&alias)].concat();
    assert_eq!(mapped(both), [(stand_in, true)], "one host is asked once");
}

#[test]
fn a_mapped_host_must_be_checked() {
    let scene = Scene::new(Site::new());
    scene.promise("cnames:\n- www.example.com\n", &["_path: /"]);
    let refused = |host: &str, cnames| {
        let map = vec![(host.to_owned(), "localhost".to_owned())];
        let request = Request { map, cnames, ..Request::default() };
        urls::check::check(&scene.database(), &request, &scene.prober(false), &mut |_| {}, |_| {
            Ok::<(), UrlsError>(())
        })
        .err()
    };
    assert!(matches!(refused("www.example.com", false), Some(UrlsError::AliasNotAsked { .. })));
    assert!(matches!(refused("ww.example.com", true), Some(UrlsError::UnknownDomain { .. })));
}

#[test]
fn a_silent_host_times_out_a_few_times_only() {
    let site = Site::new().at("/quiet/", |_, connection| {
        connection.wait(std::time::Duration::from_secs(600));
        Ok(varve_testkit::web::Then::Close)
    });
    let scene = Scene::new(site);
    let records: Vec<String> = (10..30).map(|number| format!("_path: /quiet/{number}")).collect();
    scene.promise("", &records.iter().map(String::as_str).collect::<Vec<_>>());
    let timeout = std::time::Duration::from_millis(300);
    let asking = ProbeOptions { concurrency: 1, timeout, ..scene.asking() };
    let prober = prober(asking);
    let request = Request { retries: 1, ..Request::default() };
    let mut found = Vec::new();
    urls::check::check(&scene.database(), &request, &prober, &mut |_| {}, |checked| {
        found.push(checked);
        Ok::<(), Wrong>(())
    })
    .unwrap();
    assert_eq!(found.len(), 20);
    // Two of them in each pass; and in the second others than in the first. Of the rest nothing is
    // known.
    assert_eq!(scene.web.total(), 4);
    for (at, checked) in found.iter().enumerate() {
        match &checked.verdict {
            Verdict::Unreachable(why) if at < 4 => assert!(why.contains("took too long"), "{why}"),
            Verdict::Skipped(why) if at >= 4 => assert!(why.contains("took too long"), "{why}"),
            other => panic!("{at}: {other:?}"),
        }
    }
    assert!((10..14).all(|number| scene.web.count(&format!("/quiet/{number}")) == 1));
}

/// One page that hangs does not affect the verdicts of the others, wherever it is in the list.
#[test]
fn a_page_that_hangs_does_not_fail_other_pages() {
    let site = Site::new().with_faults().page("/z", Answer::html("z")).page("/y", Answer::html("y"));
    let scene = Scene::new(site);
    scene.promise("", &["_path: /silence", "_path: /silence?2", "_path: /y", "_path: /z"]);
    let timeout = std::time::Duration::from_millis(300);
    let prober = prober(ProbeOptions { concurrency: 1, timeout, ..scene.asking() });
    let request = Request { retries: 1, ..Request::default() };
    let mut found = Vec::new();
    urls::check::check(&scene.database(), &request, &prober, &mut |_| {}, |checked| {
        found.push(checked.verdict == Verdict::Ok);
        Ok::<(), Wrong>(())
    })
    .unwrap();
    assert_eq!(found, [false, false, true, true]);
}

#[test]
fn adding_records_what_the_web_answers() {
    let scene = Scene::new(Site::with_everything().page("/m51.txt", Answer::of("text/plain; x=y", "M51")));
    scene.promise("", &["_path: /"]);
    let prober = scene.prober(false);
    let add = |path: &str, fixed: bool| {
        let request = urls::add::Request { fixed, ..Default::default() };
        urls::add::add(&scene.database(), &[scene.web.url(path)], &request, Some(&prober), &mut |_, _| {})
            .unwrap()
            .remove(0)
            .map(|added| added.new)
            .map_err(|failure| failure.to_string())
    };
    assert_eq!(add("/m51.txt", true), Ok(true));
    assert_eq!(add("/redirect/loop", false), Ok(true));
    assert!(add("/missing", false).unwrap_err().ends_with("HTTP 404"));
    let record = |path: &str| urls::show::show(&scene.database(), &scene.web.url(path)).unwrap().1;
    let m51 = record("/m51.txt");
    assert_eq!((m51.length, m51.sha256), (Some(3), Some(digest(b"M51"))));
    assert_eq!(m51.media_type.as_deref(), Some("text/plain"));
    assert_eq!(record("/redirect/loop").media_type.as_deref(), Some("X-302-Redirect"));
}
