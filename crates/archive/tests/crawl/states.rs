//! What runs say about pages that they did not capture: states over several captures of a site that
//! changes, fails and comes back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use varve_archive::VersionId;
use varve_archive::verbs::capture::{NetworkOptions, ScopeKind};
use varve_core::catalog::CatalogRead;
use varve_core::history::{ListCursor, Presence};
use varve_testkit::web::{Answer, Site};

use crate::scene::Scene;

/// The site is as it was at first.
const WHOLE: usize = 0;
/// The front page no longer links to `/b`, and `/c` is 404.
const SMALLER: usize = 1;
/// Every page answers 503.
const OUTAGE: usize = 2;
/// Only the front page answers 503.
const FRONT_DOWN: usize = 3;

fn site(phase: &Arc<AtomicUsize>) -> Site {
    let page = |path: &'static str| {
        let phase = Arc::clone(phase);
        move |_: &varve_testkit::web::Request| match (phase.load(Ordering::Relaxed), path) {
            (OUTAGE, _) | (FRONT_DOWN, "/") => Answer::status(503),
            (SMALLER, "/c") => Answer::status(404),
            (SMALLER, "/") => Answer::html("<a href=/a>a</a><a href=/c>c</a>"),
            (_, "/") => Answer::html("<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>"),
            (_, path) => Answer::html(path),
        }
    };
    ["/", "/a", "/b", "/c"].into_iter().fold(Site::new(), |site, path| site.computed(path, page(path)))
}

/// A scene in which each capture covers the host.
struct ChangingSite {
    scene: Scene,
    phase: Arc<AtomicUsize>,
}

impl ChangingSite {
    fn new() -> Self {
        let phase = Arc::default();
        Self { scene: Scene::new(site(&phase)), phase }
    }

    fn capture(&self, phase: usize) -> VersionId {
        self.capture_from(phase, "/", ScopeKind::Host)
    }

    fn capture_from(&self, phase: usize, path: &str, scope: ScopeKind) -> VersionId {
        self.phase.store(phase, Ordering::Relaxed);
        self.scene.run(self.scene.settings(&[path], scope)).version()
    }

    fn is_complete(&self, version: VersionId) -> bool {
        let info = self.scene.history().catalog().version(&version).unwrap().unwrap();
        info.version.coverage.unwrap().complete
    }

    /// The presence of each page, without `robots.txt` and icons.
    fn presences(&self, version: VersionId) -> BTreeMap<String, String> {
        presences(self.scene.history().catalog(), &self.scene.web.url(""), version)
    }
}

fn presences(catalog: &dyn CatalogRead, base: &str, version: VersionId) -> BTreeMap<String, String> {
    let pages = catalog.state_in(&version, ListCursor::first(usize::MAX)).unwrap();
    let told = pages.into_iter().filter(|page| page.capture.is_some()).map(|page| {
        let presence = match page.presence {
            Presence::Present => "present".to_owned(),
            Presence::Gone if page.evidence.is_some() => "gone, by an answer".to_owned(),
            Presence::Gone => "gone, left out".to_owned(),
            Presence::Unreachable { reason } => reason,
        };
        let said_by = if page.said_by == version { "" } else { " (not asked)" };
        (page.url.replacen(base, "", 1), format!("{presence}{said_by}"))
    });
    told.filter(|(path, _)| path.len() <= 2).collect()
}

fn told(pages: [&str; 4]) -> BTreeMap<String, String> {
    ["/", "/a", "/b", "/c"]
        .into_iter()
        .zip(pages)
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn pages_that_a_complete_capture_does_not_find_are_gone() {
    let site = ChangingSite::new();
    let first = site.capture(WHOLE);
    let second = site.capture(SMALLER);
    assert_eq!(site.presences(second), told(["present", "present", "gone, left out", "gone, by an answer"]));
    let third = site.capture(WHOLE);
    assert_eq!(site.presences(third), told(["present"; 4]));
    assert_eq!(site.presences(first), told(["present"; 4]));
    let before = [first, second, third].map(|version| site.presences(version));
    site.scene.rebuild();
    assert_eq!([first, second, third].map(|version| site.presences(version)), before);
    site.scene.assert_sound();
}

#[test]
fn an_outage_says_nothing_about_pages_behind_it() {
    let site = ChangingSite::new();
    site.capture(WHOLE);
    let outage = site.capture(OUTAGE);
    let not_asked = "present (not asked)";
    assert_eq!(site.presences(outage), told(["status 503", not_asked, not_asked, not_asked]));
    let version = site.scene.history().catalog().version(&outage).unwrap().unwrap().version;
    assert!(!version.coverage.unwrap().complete);
    let after = site.capture(SMALLER);
    assert_eq!(site.presences(after), told(["present", "present", "gone, left out", "gone, by an answer"]));
}

#[test]
fn a_page_that_never_answered_does_not_keep_a_capture_from_being_complete() {
    let site = ChangingSite::new();
    site.capture_from(WHOLE, "/a", ScopeKind::Page);
    let settings = site.scene.settings(&["/", "/b"], ScopeKind::Host);
    site.phase.store(FRONT_DOWN, Ordering::Relaxed);
    let first = site.scene.run(settings).version();
    // The front page was never there, so nothing was ever linked from it.
    assert!(site.is_complete(first));
    let nothing = site.capture(FRONT_DOWN);
    assert!(!site.is_complete(nothing), "it could read no page that it began with");
}

/// A run that begins elsewhere, or at an address that does not exist, may miss pages that are still
/// linked.
#[test]
fn a_run_that_does_not_meet_the_front_page_says_nothing_about_other_pages() {
    let site = ChangingSite::new();
    let first = site.capture(WHOLE);
    let whole = site.presences(first);
    for path in ["/b", "/typo"] {
        let version = site.capture_from(WHOLE, path, ScopeKind::Host);
        assert!(!site.is_complete(version), "{path}");
        let presences = site.presences(version);
        let is_lost = |(path, presence): (&String, &String)| {
            !presence.starts_with("present") && whole.contains_key(path)
        };
        assert!(!presences.iter().any(is_lost), "{path}: {presences:?}");
    }
    let prefix = site.capture_from(SMALLER, "/", ScopeKind::Prefix);
    assert_eq!(site.presences(prefix), told(["present", "present", "gone, left out", "gone, by an answer"]));
}

#[test]
fn a_limit_of_depth_that_leaves_no_link_out_does_not_matter() {
    for (depth, is_complete) in [(0, false), (1, false), (2, true)] {
        let site = ChangingSite::new();
        site.capture(WHOLE);
        site.phase.store(SMALLER, Ordering::Relaxed);
        let settings = site.scene.settings(&["/"], ScopeKind::Host).with(|s| s.scope.depth = Some(depth));
        let version = site.scene.run(settings).version();
        assert_eq!(site.is_complete(version), is_complete, "{depth}");
    }
}

/// A site with a `robots.txt`, which no page links to. In an outage it answers 503 like all others.
fn site_with_robots(phase: &Arc<AtomicUsize>) -> Site {
    let robots = Arc::clone(phase);
    site(phase).computed("/robots.txt", move |_| match robots.load(Ordering::Relaxed) {
        OUTAGE => Answer::status(503),
        _ => Answer::of("text/plain", "User-agent: *\nAllow: /\n"),
    })
}

#[test]
fn the_robots_file_of_a_site_is_not_left_out_by_it() {
    let phase = Arc::default();
    let scene = Scene::new(site_with_robots(&phase));
    for number in [WHOLE, SMALLER, WHOLE] {
        phase.store(number, Ordering::Relaxed);
        let version = scene.run(scene.settings(&["/"], ScopeKind::Host)).version();
        let state = scene.history().catalog().state_in(&version, ListCursor::first(usize::MAX)).unwrap();
        let robots = state.iter().find(|page| page.path == "/robots.txt").unwrap();
        assert_eq!((&robots.presence, robots.said_by), (&Presence::Present, version));
    }
    scene.assert_sound();
}

/// While `robots.txt` answers 503, nothing may be requested. That is an outage, which a version
/// records; the site does not exclude its pages.
#[test]
fn an_outage_of_the_whole_server_is_a_version_that_says_so() {
    let phase = Arc::default();
    let scene = Scene::new(site_with_robots(&phase));
    let base = scene.web.url("");
    let capture = |number| {
        phase.store(number, Ordering::Relaxed);
        scene.run(scene.settings(&["/"], ScopeKind::Host))
    };
    assert_eq!(capture(OUTAGE).ended().version, None, "nothing was there before");
    let whole = capture(WHOLE).version();
    let lost = capture(OUTAGE);
    assert_eq!(lost.failed["/"], "robots");
    let lost = lost.version();
    let presences = |version| presences(scene.history().catalog(), &base, version);
    let not_asked = "present (not asked)";
    let reason = "robots: `robots.txt` answered 503, so nothing of the site may be requested";
    assert_eq!(presences(lost), told([reason, not_asked, not_asked, not_asked]));
    let after = capture(SMALLER).version();
    assert_eq!(presences(after), told(["present", "present", "gone, left out", "gone, by an answer"]));
    let before = [whole, lost, after].map(presences);
    scene.rebuild();
    assert_eq!([whole, lost, after].map(presences), before);
    scene.assert_sound();
}

#[test]
fn the_capture_of_a_page_says_nothing_about_others() {
    let site = ChangingSite::new();
    site.capture(WHOLE);
    let one = site.capture_from(SMALLER, "/a", ScopeKind::Page);
    let not_asked = "present (not asked)";
    assert_eq!(site.presences(one), told([not_asked, "present", not_asked, not_asked]));
    assert_eq!(site.scene.captures(one).len(), 1 + usize::from(site.scene.paths_of(one).len() > 1));
}

#[test]
fn a_stopped_and_resumed_run_has_the_state_of_an_undisturbed_one() {
    let undisturbed = ChangingSite::new();
    let all = undisturbed.capture(WHOLE);
    let site = ChangingSite::new();
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let settings = site.scene.settings(&["/"], ScopeKind::Host);
    let stopped = site.scene.run_until(Some(settings), reach, 2).unwrap();
    assert!(stopped.ended().stopped);
    let resumed = site.scene.resume().version();
    let pages = |site: &ChangingSite, version| site.presences(version).into_keys().collect::<Vec<_>>();
    assert_eq!(pages(&site, resumed), pages(&undisturbed, all));
    let second = site.capture(SMALLER);
    assert_eq!(site.presences(second), told(["present", "present", "gone, left out", "gone, by an answer"]));
}
