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
    let first = site.capture(FRONT_DOWN);
    let version = site.scene.history().catalog().version(&first).unwrap().unwrap().version;
    // The front page was never there, so nothing was ever linked from it.
    assert!(version.coverage.unwrap().complete);
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
