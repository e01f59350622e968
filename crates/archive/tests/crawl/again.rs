//! Captured again, stopped, resumed, finished.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_archive::CrawlError;

use varve_archive::ArchiveError;
use varve_archive::verbs::capture::{CrawlSettings, NetworkOptions, RefetchSettings, RunEnd, ScopeKind};
use varve_archive::verbs::diff;
use varve_core::history::Capture;
use varve_testkit::web::{Answer, Site};

use crate::scene::Scene;

#[test]
fn unchanged_pages_are_requested_conditionally_and_take_no_space() {
    let site = Site::new()
        .with_moods()
        .page("/", Answer::html("<a href=/cached>c</a><a href=/changing>n</a><a href=/plain>p</a>"))
        .page("/plain", Answer::html("always the same"));
    let scene = Scene::new(site);
    let first = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(first.ended().tally.unchanged, 0);
    for round in 2..=3 {
        let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
        assert_eq!(told.captured["/cached"], (304, true, None), "{round}");
        assert_eq!(told.captured["/plain"], (200, true, None));
        assert_eq!(told.captured["/changing"], (200, false, None));
        assert!(told.ended().parent.is_some());
        let captures = scene.captures(told.version());
        let cached = captures.iter().find(|capture| capture.url.ends_with("/cached")).unwrap();
        assert_eq!((cached.status, scene.body(cached)), (304, b"<p>As ever.</p>".to_vec()));
    }
    let told = scene.run(
        scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.requests.no_conditional = true),
    );
    assert_eq!(told.captured["/cached"], (200, true, None), "asked for whole, and stored once all the same");
    scene.assert_sound();
}

/// A 304 response means the earlier response, so a diff shows the status of the earlier one.
#[test]
fn a_304_response_is_not_a_changed_status_in_a_diff() {
    let turn = Arc::new(AtomicU64::new(1));
    let now = Arc::clone(&turn);
    let site = Site::new().computed("/", move |request| match now.load(Ordering::SeqCst) {
        1 if request.header("if-none-match").is_some() => Answer::status(304).header("ETag", "\"1\""),
        1 => Answer::html("one").header("ETag", "\"1\""),
        2 => Answer::html("two").header("ETag", "\"2\""),
        _ => Answer::status(404),
    });
    let scene = Scene::new(site);
    let mut versions = Vec::new();
    for (number, status) in [(1, 200), (1, 304), (2, 200), (2, 200), (3, 404)] {
        turn.store(number, Ordering::SeqCst);
        let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
        assert_eq!(told.captured["/"].0, status);
        versions.push(told.version());
    }
    let history = scene.history();
    let told = |base: usize, head: usize| {
        let request =
            diff::Request { base: Some(versions[base]), head: Some(versions[head]), ..Default::default() };
        let mut told = Vec::new();
        diff::diff(history.as_reader(), &request, |page| {
            let status = |side: &Option<Capture>| side.as_ref().map(|page| page.status);
            // The site is asked for its icon, too.
            if page.pair.any().path.is_empty() {
                told.push((status(&page.pair.base), status(&page.pair.head)));
            }
            Ok::<(), ArchiveError>(())
        })
        .expect("compared");
        told
    };
    assert_eq!(told(0, 1), []);
    assert_eq!(told(1, 2), [(Some(200), Some(200))], "its text is another, its status is not");
    assert_eq!(told(1, 4), [(Some(200), None)], "gone, as it was before nothing was new");
}

/// The links of a page that answers 304 come from the body that is here.
#[test]
fn links_of_an_unchanged_page_are_followed() {
    let site = Site::new()
        .computed("/", |request| {
            let known = request.header("if-none-match") == Some("\"1\"");
            let answer =
                if known { Answer::status(304) } else { Answer::html("<a href=/next>n</a><img src=/i.png>") };
            answer.header("ETag", "\"1\"")
        })
        .page("/next", Answer::html("next"))
        .page("/i.png", Answer::of("image/png", "png"));
    let scene = Scene::new(site);
    for round in 1..=3 {
        let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
        assert_eq!(told.captured["/"].0, if round == 1 { 200 } else { 304 });
        assert!(told.captured.contains_key("/next") && told.captured.contains_key("/i.png"), "{round}");
    }
}

#[test]
fn a_run_that_is_stopped_and_resumed_has_the_same_pages() {
    let site = || Site::new().with_pages();
    let whole = Scene::new(site());
    let undisturbed = whole.run(whole.settings(&["/site/400/0"], ScopeKind::Host));
    let expected = whole.paths_of(undisturbed.version());
    assert!(expected.len() >= 400);

    let scene = Scene::new(site());
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let mut settings = Some(scene.settings(&["/site/400/0"], ScopeKind::Host));
    let mut stops: Vec<RunEnd> = Vec::new();
    let ended = loop {
        let told = scene.run_until(settings.take(), reach.clone(), 60).unwrap();
        if !told.ended().stopped {
            break told;
        }
        stops.push(told.ended());
        assert!(stops.len() < 50);
    };
    assert!(stops.len() >= 2, "it was stopped {} times", stops.len());
    assert_eq!(scene.state_paths_of(ended.version()), expected);
    let mut held = 0;
    for stop in &stops {
        assert_eq!(scene.paths_of(stop.version.unwrap()).len() as u64, stop.captures);
        let paths = scene.state_paths_of(stop.version.unwrap());
        assert!(paths.len() > held && paths.iter().all(|path| expected.contains(path)), "{stop:?}");
        held = paths.len();
    }
    assert!(held as u64 + ended.ended().captures >= expected.len() as u64, "{:?}", ended.ended());
    // What was under way when it was stopped came before it ended, unless this machine was very
    // busy.
    let twice = scene.web.counts().into_iter().filter(|(_, count)| *count > 1).count();
    assert!(twice < stops.len(), "{twice} were asked for again after {} stops", stops.len());
    scene.assert_sound();
}

/// Captures from before a stop are known to the resumed run. If it captures nothing more, its
/// version is the one that the stop made.
#[test]
fn a_resumed_run_that_gets_nothing_more_is_the_version_of_its_stop() {
    let site = Site::new()
        .page("/", Answer::html("<a href=/gone>gone</a>"))
        .at("/gone", |_, _| Ok(varve_testkit::web::Then::Close))
        // It may be here before the page is, and the run would stop without that.
        .at("/sitemap.xml", |_, _| Ok(varve_testkit::web::Then::Close))
        .at("/favicon.ico", |_, _| Ok(varve_testkit::web::Then::Close));
    let scene = Scene::new(site);
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let settings = scene.settings(&["/"], ScopeKind::Host).with(|settings| {
        settings.politeness.retries = 0;
        settings.politeness.obey_robots = false;
        settings.scope.depth = Some(1);
    });
    let stopped = scene.run_until(Some(settings), reach, 1).unwrap().ended();
    assert!(stopped.stopped && stopped.version.is_some());
    let told = scene.resume();
    assert_eq!((told.ended().version, told.ended().stopped), (stopped.version, false));
    assert!(matches!(
        scene.run_until(None, NetworkOptions::default(), 1),
        Err(ArchiveError::Crawl(CrawlError::NoRun))
    ));
    scene.assert_sound();
}

/// The limit of depth counts from the seeds, whichever process is at work.
#[test]
fn a_resumed_run_of_limited_depth_goes_as_far_as_an_undisturbed_one() {
    let whole = Scene::new(Site::new().with_pages());
    let shallow = |scene: &Scene| {
        scene.settings(&["/site/2000/0"], ScopeKind::Host).with(|settings| settings.scope.depth = Some(3))
    };
    let expected = whole.paths_of(whole.run(shallow(&whole)).version());
    assert!((80..1500).contains(&expected.len()), "{}", expected.len());
    let scene = Scene::new(Site::new().with_pages());
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    scene.run_until(Some(shallow(&scene)), reach, 30).unwrap();
    let told = scene.resume();
    assert_eq!(scene.state_paths_of(told.version()), expected);
}

#[test]
fn an_unfinished_run_prevents_another() {
    let scene = Scene::new(Site::new().with_pages());
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let settings = scene.settings(&["/site/400/0"], ScopeKind::Host);
    let told = scene.run_until(Some(settings.clone()), reach.clone(), 20).unwrap();
    let stopped = told.ended();
    assert!(stopped.stopped && stopped.captures >= 20 && stopped.queued > 0);
    let refused = scene.run_until(Some(settings), reach.clone(), usize::MAX);
    assert!(matches!(refused, Err(ArchiveError::Crawl(CrawlError::UnfinishedRun))));
    let ended = scene.finish();
    assert_eq!((ended.version, ended.parent), (stopped.version, stopped.parent), "it is that of the stop");
    let kept: BTreeSet<String> = scene.paths_of(ended.version.unwrap()).into_iter().collect();
    assert_eq!(kept.len() as u64, ended.captures);
    assert!(matches!(scene.run_until(None, reach, usize::MAX), Err(ArchiveError::Crawl(CrawlError::NoRun))));
    scene.assert_sound();
}

#[test]
fn a_run_without_any_answer_is_no_version() {
    let scene = Scene::new(Site::new().at("/", |_, _| Ok(varve_testkit::web::Then::Close)));
    let settings =
        scene.settings(&["/"], ScopeKind::Page).with(|settings| settings.politeness.obey_robots = false);
    let told = scene.run(settings);
    assert_eq!((told.ended().version, told.ended().tally.failed), (None, 1));
    let told =
        scene.run(CrawlSettings { seeds: vec![scene.web.url("/x")], ..scene.settings(&[], ScopeKind::Page) });
    assert!(told.ended().version.is_some());
}

#[test]
fn seeds_must_be_addresses_without_passwords() {
    let scene = Scene::new(Site::new());
    let attempt = |seed: &str| {
        let settings = CrawlSettings { seeds: vec![seed.to_owned()], ..scene.settings(&[], ScopeKind::Page) };
        scene.run_until(Some(settings), NetworkOptions::default(), usize::MAX).err()
    };
    assert!(matches!(attempt("not a url"), Some(ArchiveError::NotAUrl { .. })));
    assert!(matches!(attempt("ftp://example.com/"), Some(ArchiveError::NotOnTheWeb(_))));
    let refused = attempt("http://me:hunter2@example.com/");
    assert!(refused.is_some_and(|error| !error.to_string().contains("hunter2")));
    let nothing = CrawlSettings { seeds: Vec::new(), ..scene.settings(&[], ScopeKind::Page) };
    assert!(matches!(
        scene.run_until(Some(nothing), NetworkOptions::default(), 1),
        Err(ArchiveError::NoSeeds)
    ));
}

/// What is fresh is not requested, and its links are still followed.
#[test]
fn only_what_is_stale_failed_or_missing_is_requested_if_the_user_asks_for_that() {
    let site = Site::new()
        .page("/", Answer::html("<a href=/good>g</a><a href=/bad>b</a>"))
        .page("/good", Answer::html("good"))
        .page("/bad", Answer::status(500));
    let scene = Scene::new(site);
    let settings = |change: &dyn Fn(&mut RefetchSettings)| {
        scene.settings(&["/"], ScopeKind::Host).with(|settings| {
            settings.politeness.obey_robots = false;
            settings.refetch.missing_only = true;
            change(&mut settings.refetch);
        })
    };
    let requests = |change: &dyn Fn(&mut RefetchSettings)| {
        let before = ["/", "/good", "/bad"].map(|path| scene.web.count(path));
        let told = scene.run(settings(change));
        let after = ["/", "/good", "/bad"].map(|path| scene.web.count(path));
        (std::array::from_fn::<usize, 3, _>(|at| after[at] - before[at]), told.ended().tally.present)
    };
    assert_eq!(requests(&|_| {}).0, [1, 1, 1]);
    assert_eq!(requests(&|_| {}), ([0, 0, 0], 5));
    assert_eq!(requests(&|refetch| refetch.retry_errors = true).0, [0, 0, 1]);
    let now = Some("2999-01-01".parse().unwrap());
    assert_eq!(requests(&|refetch| refetch.stale_before = now).0, [1, 1, 1]);
    let long_ago = Some("1999-01-01".parse().unwrap());
    assert_eq!(requests(&|refetch| refetch.stale_before = long_ago).0, [0, 0, 0]);
    assert_eq!(requests(&|refetch| refetch.missing_only = false).0, [1, 1, 1]);
}
