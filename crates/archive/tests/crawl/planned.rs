//! Runs that follow a plan: its roots, groups and aliases.

use varve_archive::history::ArchiveHistoryReader;
use varve_archive::verbs::capture::{CrawlSettings, NetworkOptions, ScopeKind};
use varve_archive::verbs::intent;
use varve_archive::verbs::plan::{self, Plan, suggest};
use varve_archive::{ArchiveError, ArchivePaths};
use varve_testkit::web::{Answer, Site};

use crate::scene::Scene;

fn site() -> Site {
    let front = "<a href=/1/>1</a><a href=/2/>2</a><a href=/3/>3</a><a href=/about>a</a><a href=/ads/x>ad</a>\
                 <img src=/i.png><img src=/ads/banner.png><a href=/july>m</a>";
    let page = |links: &str| Answer::html(format!("{links}<link rel=stylesheet href=/s.css>"));
    Site::new()
        .page("/", Answer::html(front))
        .page("/about", page("<a href=/1/story>s</a><a href=/4/>4</a>"))
        .page("/1/", page("<a href=/1/story>s</a><a href=/9/>9</a>"))
        .page("/2/", page("<a href=/2/story>s</a>"))
        .page("/3/", Answer::status(302).header("Location", "/third"))
        .page("/third", page("<a href=/3/story>s</a>"))
        .page("/1/story", page("<a href=/2/story>s</a><a href=/secret>s</a>"))
        .page("/2/story", page(""))
        .page("/3/story", page(""))
        .page("/i.png", Answer::of("image/png", "png"))
        .page("/s.css", Answer::of("text/css", "b{}"))
}

fn settings(scene: &Scene, text: &str) -> CrawlSettings {
    let text = text.replace("http://h", &scene.web.url(""));
    let plan = Plan::parse(&text).unwrap();
    scene.settings(&[], ScopeKind::Page).with(|settings| {
        settings.plan = Some(plan);
        settings.politeness.obey_robots = false;
    })
}

const PLAN: &str = "
groups:
- {name: Ads, pattern: 'http://h/ads/**', do_not_download: true}
- {name: Month, pattern: 'http://h/#/', found_on: Home}
- {name: Story, pattern: 'http://h/*/story', found_on: Month}
roots:
- {name: Home, url: 'http://h/'}
";

#[test]
fn members_are_found_on_their_sources_each_with_what_it_embeds() {
    let scene = Scene::new(site());
    let told = scene.run(settings(&scene, PLAN));
    let wanted = [
        "/",
        "/1/",
        "/1/story",
        "/2/",
        "/2/story",
        "/3/",
        "/3/story",
        "/favicon.ico",
        "/i.png",
        "/s.css",
        "/third",
    ];
    assert_eq!(told.paths().into_iter().collect::<Vec<_>>(), wanted);
    assert_eq!(told.skipped["/ads/banner.png"], "plan:do_not_download:Ads");
    scene.assert_sound();
}

#[test]
fn a_run_that_follows_a_plan_is_resumed_by_it() {
    let undisturbed = Scene::new(site());
    let all = undisturbed.run(settings(&undisturbed, PLAN));
    let scene = Scene::new(site());
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let stopped = scene.run_until(Some(settings(&scene, PLAN)), reach, 2).unwrap();
    assert!(stopped.ended().stopped);
    let resumed = scene.resume();
    assert_eq!(scene.state_paths_of(resumed.version()), undisturbed.paths_of(all.version()));
}

#[test]
fn aliases_lead_elsewhere_and_external_ones_nowhere() {
    let site = Site::new()
        .page("/", Answer::html("<a href=/old/a>a</a><a href=/live/b>b</a><img src=/live/i.png>"))
        .page("/new/a", Answer::html("a"));
    let scene = Scene::new(site);
    let plan = "
aliases:
- {source: 'http://h/old/', target: 'http://h/new/'}
- {source: 'http://h/live/', target: 'http://h/live/', external: true}
groups:
- {name: All, pattern: 'http://h/**'}
roots:
- {name: Home, url: 'http://h/'}
";
    let told = scene.run(settings(&scene, plan));
    assert_eq!(told.paths().into_iter().collect::<Vec<_>>(), ["/", "/favicon.ico", "/new/a"]);
    assert_eq!(told.skipped["/live/b"], "plan:external");
    assert_eq!(told.skipped["/live/i.png"], "plan:external");
}

#[test]
fn a_plan_that_makes_no_sense_is_not_followed() {
    let scene = Scene::new(Site::new());
    let run = |text: &str| {
        scene.run_until(Some(settings(&scene, text)), NetworkOptions::default(), 1).map(|_| ()).unwrap_err()
    };
    assert!(matches!(run("--- {}\n"), ArchiveError::NoRoots));
    let dangling = "groups:\n- {pattern: 'http://h/#', found_on: Nowhere}\n";
    assert!(matches!(run(dangling), ArchiveError::PlanProblem { more: 0, .. }));
}

#[test]
fn groups_are_suggested_from_the_capture() {
    let scene = Scene::new(site());
    scene.run(settings(&scene, PLAN));
    let history = scene.history();
    let found = suggest::of_capture(&history, &scene.web.url("/")).unwrap().unwrap();
    let months = found.groups.iter().find(|group| group.pattern.ends_with("/#/")).unwrap();
    assert_eq!(months.members, 3);
    assert!(suggest::of_capture(&history, &scene.web.url("/never")).unwrap().is_none());
    let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let live = suggest::of_live_page(folder.path(), &CrawlSettings::default(), &reach, &scene.web.url("/"));
    assert_eq!(live.unwrap().groups, found.groups);
}

/// What people wrote is in the silos: it comes back when all else is lost.
#[test]
fn plan_and_expectations_are_restored_from_the_silos_alone() {
    let scene = Scene::new(site());
    let layout = ArchivePaths::new(&scene.root());
    std::fs::write(layout.plan(), "# mine\nroots:\n- url: https://example.com/\n").unwrap();
    std::fs::create_dir_all(layout.expectations()).unwrap();
    let expectations = layout.expectations().join("example.com.yaml");
    std::fs::write(&expectations, "--- {}\n---\n_path: /\n").unwrap();
    let told = scene.run_with_intent(settings(&scene, PLAN), &|history| intent::keep(history).unwrap());
    std::fs::remove_file(&expectations).unwrap();
    std::fs::write(layout.plan(), "--- {}\n").unwrap();
    for rebuildable in [layout.index(), layout.catalog(), layout.head()] {
        let _ = std::fs::remove_dir_all(&rebuildable).or_else(|_| std::fs::remove_file(&rebuildable));
    }
    scene.rebuild();
    let reader = ArchiveHistoryReader::open(&scene.root()).unwrap();
    assert_eq!(reader.head().unwrap(), Some(told.version()));
    let refused = intent::restore(&reader, told.version(), false).unwrap_err();
    assert!(matches!(refused, ArchiveError::Exists(_)));
    assert!(!expectations.exists());
    let restored = intent::restore(&reader, told.version(), true).unwrap();
    assert_eq!(restored.iter().filter(|file| file.written).count(), 2);
    let text = std::fs::read_to_string(layout.plan()).unwrap();
    assert_eq!(text, "# mine\nroots:\n- url: https://example.com/\n");
    assert_eq!(std::fs::read_to_string(&expectations).unwrap(), "--- {}\n---\n_path: /\n");
    assert_eq!(plan::load(&layout).unwrap().comments, [1]);
    scene.assert_sound();
}
