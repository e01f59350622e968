//! Capturing into a project: rows and bodies as Crystal would have written them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_archive::CrawlError;
use varve_archive::RepositoryError;

use serde_json::json;
use varve_archive::history::open_reader;
use varve_archive::verbs::capture::{CrawlEvent, CrawlSettings, NetworkOptions, ScopeKind};
use varve_archive::verbs::cat::{CaptureSelector, find};
use varve_archive::verbs::crystal::capture::{ProjectCaptured, ProjectRunOptions, capture, finish, resume};
use varve_archive::{ArchiveError, Date};
use varve_crystal::{
    BodyLookup, CreateOptions, DownloadError, GroupSource, MajorVersion, NewGroup, Project, ProjectWriter,
    Revision, UrlLookup, VerifyOptions,
};
use varve_testkit::web::{Answer, Site, Web};

use crate::project::{everything, fixture};

/// A web, and a project to capture it into.
struct Scene {
    _folder: tempfile::TempDir,
    project: PathBuf,
    web: Web,
}

impl Scene {
    fn new(site: Site) -> Self {
        Self::of_version(site, MajorVersion::Tree)
    }

    fn of_version(site: Site, version: MajorVersion) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("lab.crystalproj");
        ProjectWriter::create(&project, CreateOptions { version, watcher: None }).unwrap().close().unwrap();
        Self { _folder: folder, project, web: Web::serve(site) }
    }

    fn settings(&self, urls: &[&str]) -> CrawlSettings {
        CrawlSettings::default().with(|settings| {
            settings.seeds = urls.iter().map(|path| self.web.url(path)).collect();
            settings.politeness.delay = 0;
            settings.politeness.per_host = 4;
            settings.politeness.retries = 0;
            settings.politeness.retry_pause = 10;
            settings.politeness.obey_robots = false;
        })
    }

    fn run(&self, urls: &[&str]) -> ProjectCaptured {
        self.run_as(Some(self.settings(urls)), NetworkOptions::default(), usize::MAX).unwrap()
    }

    /// Runs, and asks to stop after this number of captures. Without settings the last run is
    /// resumed.
    fn run_as(
        &self,
        settings: Option<CrawlSettings>,
        reach: NetworkOptions,
        most: usize,
    ) -> Result<ProjectCaptured, ArchiveError> {
        let stop = AtomicBool::new(false);
        let clock = Arc::new(|| Date::at_second(std::time::SystemTime::now()));
        let reach = NetworkOptions { allow_private: true, ..reach };
        let manner = ProjectRunOptions { reach, threads: 2, stop: &stop, clock };
        let mut seen = 0;
        let mut report = |event: CrawlEvent<'_>| {
            seen += usize::from(matches!(event, CrawlEvent::Captured(_)));
            if seen >= most {
                stop.store(true, Ordering::Relaxed);
            }
        };
        match settings {
            Some(settings) => capture(&self.project, settings, &manner, &mut report),
            None => resume(&self.project, self.settings(&[]), |_| {}, &manner, &mut report),
        }
    }

    fn open(&self) -> Project {
        Project::open(&self.project).unwrap()
    }

    /// How often each URL was downloaded, by path.
    fn downloads(&self) -> BTreeMap<String, u64> {
        let project = self.open();
        let mut found = BTreeMap::new();
        for revision in project.revisions() {
            let url = project.resource(revision.unwrap().resource).unwrap().unwrap().url;
            *found.entry(url.replacen(&self.web.url(""), "", 1)).or_default() += 1;
        }
        found
    }

    fn revisions(&self, path: &str) -> Vec<Revision> {
        let project = self.open();
        let UrlLookup::Resource(resource) = project.find(&self.web.url(path)).unwrap() else {
            panic!("{path} is not there")
        };
        project.revisions_of(resource.id).map(Result::unwrap).collect()
    }

    fn body(&self, revision: &Revision) -> Vec<u8> {
        let BodyLookup::Found(mut body) = self.open().body_of(revision).unwrap() else { panic!("no body") };
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut body, &mut bytes).unwrap();
        bytes
    }

    /// Nothing is wrong with the project, and nothing is left of the work.
    fn assert_at_rest(&self) {
        let mut found = Vec::new();
        let options = VerifyOptions { read_bodies: true, ..VerifyOptions::default() };
        self.open().verify(options, &mut |finding| found.push(finding.to_string())).unwrap();
        assert_eq!(found, Vec::<String>::new());
        for name in ["varve.capture", "varve.lock", "varve.tmp", "database.sqlite-wal", "database.sqlite-shm"]
        {
            assert!(!self.project.join(name).exists(), "{name} is left");
        }
        assert_eq!(std::fs::read_dir(self.project.join("tmp")).unwrap().count(), 0, "tmp is not empty");
        assert_eq!(self.open().property("varve.capture_after").unwrap(), None);
    }

    fn edit(&self, edit: impl FnOnce(&mut ProjectWriter)) {
        let mut writer = ProjectWriter::open(&self.project).unwrap();
        edit(&mut writer);
        writer.close().unwrap();
    }
}

fn site() -> Site {
    let front = "<a href=/1/>1</a> <a href=/2/?b=2&a=1>2</a> <a href=/about>a</a> <img src=/i.png>\
                 <img src=/ads/banner.png> <a href=/gone#x>g</a> <link rel=stylesheet href=/s.css>";
    Site::new()
        .page("/", Answer::html(front))
        .page("/1/", Answer::html("<a href=/3/>3</a>"))
        .page("/2/?b=2&a=1", Answer::html("two"))
        .page("/3/", Answer::redirect(302, "/third"))
        .page("/third", Answer::html("third"))
        .page("/about", Answer::html("about"))
        .page("/i.png", Answer::of("image/png", "png"))
        .page("/ads/banner.png", Answer::of("image/png", "ad"))
        .page("/s.css", Answer::of("text/css", "b{background:url(/bg.png)}"))
        .page("/bg.png", Answer::of("image/png", "background"))
}

#[test]
fn a_url_is_captured_with_its_resources_and_every_link_becomes_a_resource() {
    let scene = Scene::new(site());
    let captured = scene.run(&["/"]);
    let downloads: Vec<String> = scene.downloads().into_keys().collect();
    assert_eq!(downloads, ["/", "/ads/banner.png", "/bg.png", "/favicon.ico", "/i.png", "/s.css"]);
    assert_eq!((captured.finished, captured.revisions, captured.tally.failed), (true, 6, 0));
    let project = scene.open();
    for path in ["/1/", "/2/?b=2&a=1", "/about", "/gone"] {
        let found = project.resource_at(&scene.web.url(path)).unwrap();
        assert!(found.is_some(), "{path} is no resource");
    }
    let icon = &scene.revisions("/favicon.ico")[0];
    assert_eq!(icon.metadata().unwrap().unwrap().status_code, 404);
    let page = &scene.revisions("/")[0];
    let metadata = page.metadata().unwrap().unwrap();
    assert_eq!((metadata.http_version, metadata.status_code), (11, 200));
    assert!(metadata.header("Date").is_some() && metadata.header("Content-Encoding").is_none());
    assert!(scene.body(page).starts_with(b"<a href=/1/>"));
    let asked = scene.web.seen();
    assert!(asked.iter().all(|seen| {
        seen.headers
            .iter()
            .any(|(name, value)| name.eq_ignore_ascii_case("accept-encoding") && value == "identity")
    }));
    scene.assert_at_rest();
}

#[test]
fn the_projects_own_roots_and_groups_are_followed() {
    let scene = Scene::new(site());
    let url = |path: &str| scene.web.url(path);
    scene.edit(|writer| {
        let root = writer.add_root("", &url("/")).unwrap();
        let source = Some(GroupSource::Root(root.id));
        let group = |name, url_pattern, source, do_not_download| NewGroup {
            name,
            url_pattern,
            source,
            do_not_download,
        };
        let (numbers, ads) = (url("/#/"), url("/ads/**"));
        writer.add_group(group("Numbers", &numbers, source, false)).unwrap();
        writer.add_group(group("Ads", &ads, None, true)).unwrap();
        // Known from somewhere, and never asked for.
        writer.add_resource(&url("/77/")).unwrap();
    });
    let captured = scene.run(&[]);
    let downloads: Vec<String> = scene.downloads().into_keys().collect();
    let wanted = ["/", "/1/", "/3/", "/77/", "/bg.png", "/favicon.ico", "/i.png", "/s.css", "/third"];
    assert_eq!(downloads, wanted);
    assert_eq!(captured.tally.skipped, 1, "what must not be downloaded is told");
    let moved = scene.revisions("/3/")[0].metadata().unwrap().unwrap();
    assert_eq!((moved.status_code, moved.header("Location")), (302, Some("/third")));
    scene.assert_at_rest();
    // What people name themselves is captured even so.
    scene.run(&["/ads/banner.png"]);
    assert_eq!(scene.downloads()["/ads/banner.png"], 1);
}

#[test]
fn robots_are_obeyed_and_their_files_are_no_part_of_the_project() {
    let scene = Scene::new(Site::new().with_pages());
    let settings = scene
        .settings(&["/about.html", "/private/secret.html"])
        .with(|settings| settings.politeness.obey_robots = true);
    let captured = scene.run_as(Some(settings), NetworkOptions::default(), usize::MAX).unwrap();
    assert_eq!(captured.tally.skipped, 1);
    let downloads = scene.downloads();
    assert!(downloads.contains_key("/about.html"), "{downloads:?}");
    assert!(!downloads.contains_key("/robots.txt") && !downloads.contains_key("/private/secret.html"));
    assert_eq!((scene.web.count("/robots.txt"), scene.web.count("/private/secret.html")), (1, 0));
    scene.assert_at_rest();
}

#[test]
fn an_unchanged_page_is_a_revision_of_its_own() {
    let scene = Scene::new(Site::new().with_moods());
    scene.run(&["/cached"]);
    let again = scene.run(&["/cached"]);
    assert_eq!(again.tally.unchanged, 1);
    let revisions = scene.revisions("/cached");
    let said: Vec<i64> =
        revisions.iter().map(|revision| revision.metadata().unwrap().unwrap().status_code).collect();
    assert_eq!(said, [304, 200]);
    assert_eq!(scene.body(&revisions[0]), b"");
    let resolved = scene.open().resolve(revisions[0].clone()).unwrap();
    assert_eq!(resolved.revision.id, revisions[1].id);
    let conditions: Vec<bool> = scene
        .web
        .seen()
        .iter()
        .filter(|seen| seen.target == "/cached")
        .map(|seen| seen.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("if-none-match")))
        .collect();
    assert_eq!(conditions, [false, true]);
    assert!(
        !scene.web.seen().iter().any(|seen| {
            seen.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("if-modified-since"))
        })
    );
    scene.assert_at_rest();
}

#[test]
fn failures_are_recorded_by_the_names_that_crystal_has_for_them() {
    let scene = Scene::new(Site::new().with_faults());
    let settings = scene.settings(&[]).with(|settings| {
        settings.seeds = ["/close", "/garbage", "/silence"]
            .iter()
            .map(|path| scene.web.url(path))
            .chain(["http://nobody.invalid/".to_owned(), "http://127.0.0.1:1/".to_owned()])
            .collect();
        settings.requests.idle_timeout = 300;
    });
    let captured = scene.run_as(Some(settings), NetworkOptions::default(), usize::MAX).unwrap();
    let error = |url: &str| {
        let project = scene.open();
        let UrlLookup::Resource(resource) = project.find(url).unwrap() else { panic!("{url}") };
        let revision = project.revisions_of(resource.id).next().unwrap().unwrap();
        assert!(matches!(project.body_of(&revision).unwrap(), BodyLookup::NeverHad));
        revision.download_error().unwrap().unwrap().kind
    };
    assert_eq!(error(&scene.web.url("/close")), "RemoteDisconnected");
    assert_eq!(error(&scene.web.url("/garbage")), "BadStatusLine");
    assert_eq!(error(&scene.web.url("/silence")), "TimeoutError");
    assert_eq!(error("http://nobody.invalid/"), "gaierror");
    assert_eq!(error("http://127.0.0.1:1/"), "ConnectionRefusedError");
    assert_eq!((captured.revisions, captured.tally.failed, captured.tally.captured), (5, 5, 0));
    scene.assert_at_rest();
}

#[test]
fn bodies_have_no_transfer_coding() {
    let scene = Scene::of_version(Site::new().with_faults(), MajorVersion::Flat);
    scene.run(&["/chunks/good", "/gzip/good", "/headers/folded", "/length/short"]);
    let said = |path: &str| scene.revisions(path)[0].metadata().unwrap().unwrap();
    assert_eq!(said("/chunks/good").header("Transfer-Encoding"), Some("chunked"));
    let chunks = scene.body(&scene.revisions("/chunks/good")[0]);
    assert!(!chunks.contains(&b'\r'), "{}", String::from_utf8_lossy(&chunks));
    assert_eq!(said("/gzip/good").header("Content-Encoding"), Some("gzip"));
    assert_eq!(scene.body(&scene.revisions("/gzip/good")[0])[..2], [0x1f, 0x8b]);
    let folded = said("/headers/folded");
    assert!(folded.headers.iter().any(|(_, value)| value.contains("\r\n")), "{:?}", folded.headers);
    assert_eq!(scene.body(&scene.revisions("/length/short")[0]).len(), 10);
    assert!(scene.project.join("revisions/1").is_file());
    scene.assert_at_rest();
}

#[test]
fn a_truncated_response_is_kept_only_if_its_row_shows_it() {
    let scene = Scene::new(Site::new().with_faults());
    let captured = scene.run(&["/length/short", "/chunks/cut"]);
    assert_eq!((captured.revisions, captured.tally.captured, captured.tally.failed), (2, 1, 1));
    // Crystal takes the end of the connection for the end of the body, and keeps the length that
    // was promised.
    let short = &scene.revisions("/length/short")[0];
    assert!(short.has_body() && scene.open().is_cut_short(short).unwrap());
    let reader = open_reader(&scene.project).unwrap();
    assert!(find(&reader, &scene.web.url("/length/short"), &CaptureSelector::Newest).unwrap().truncated);
    // Nothing in a row could say that the last chunk is missing: it is a failure, as in Crystal.
    let cut = &scene.revisions("/chunks/cut")[0];
    assert_eq!(cut.download_error().unwrap(), Some(DownloadError::incomplete(7)));
    assert!(matches!(scene.open().body_of(cut).unwrap(), BodyLookup::NeverHad));
    scene.assert_at_rest();
}

#[test]
fn a_sent_cookie_is_recorded_with_its_revision() {
    let scene = Scene::new(site());
    let reach =
        NetworkOptions { headers: vec!["Cookie: session=sesame".to_owned()], ..NetworkOptions::default() };
    scene.run_as(Some(scene.settings(&["/about"])), reach, usize::MAX).unwrap();
    let revision = &scene.revisions("/about")[0];
    assert_eq!(
        revision.request_cookie.as_ref().map(|cookie| cookie.expose().as_str()),
        Some("session=sesame")
    );
    let is_sent =
        |(name, value): &(String, String)| name.eq_ignore_ascii_case("cookie") && value == "session=sesame";
    assert!(scene.web.seen().iter().any(|seen| seen.headers.iter().any(is_sent)));
    scene.run(&["/about"]);
    assert_eq!(scene.revisions("/about")[0].request_cookie, None);
}

/// Each header that was sent is recorded, also one that the user gave. Only a cookie that the user gives makes a revision
/// stale.
#[test]
fn cookies_of_a_file_and_of_servers_are_recorded() {
    let set = Answer::html("<img src=/picture>").header("Set-Cookie", "visit=1; Path=/");
    let scene = Scene::new(Site::new().page("/page", set).page("/picture", Answer::of("image/png", "p")));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cookies.txt");
    std::fs::write(&file, "127.0.0.1\tFALSE\t/\tFALSE\t0\tlogin\tsesame\n").unwrap();
    let cookie =
        |path: &str| scene.revisions(path)[0].request_cookie.as_ref().map(|cookie| cookie.expose().clone());
    let run = |cookies: Option<&std::path::Path>| {
        let reach = NetworkOptions { cookies: cookies.map(Into::into), ..NetworkOptions::default() };
        let settings = scene.settings(&["/page"]).with(|settings| settings.refetch.missing_only = true);
        scene.run_as(Some(settings), reach, usize::MAX).unwrap().revisions
    };
    assert_eq!(run(None), 2);
    assert_eq!((cookie("/page"), cookie("/picture").as_deref()), (None, Some("visit=1")));
    assert_eq!(run(None), 0, "cookies of servers do not matter");
    assert_eq!(run(Some(&file)), 2, "the cookie that the user gives was not sent before");
    assert_eq!(cookie("/page").as_deref(), Some("login=sesame"));
    assert_eq!(cookie("/picture").as_deref(), Some("login=sesame; visit=1"));
    assert_eq!(run(Some(&file)), 0);
}

#[test]
fn a_resumed_run_requests_no_url_twice() {
    let scene = Scene::new(Site::new().with_pages());
    scene.edit(|writer| {
        let root = writer.add_root("Home", &scene.web.url("/site/40/0")).unwrap();
        let pattern = scene.web.url("/site/40/#");
        let source = Some(GroupSource::Root(root.id));
        let group = NewGroup { name: "", url_pattern: &pattern, source, do_not_download: false };
        writer.add_group(group).unwrap();
    });
    let stopped = scene.run_as(Some(scene.settings(&[])), NetworkOptions::default(), 5).unwrap();
    assert!(!stopped.finished && stopped.revisions >= 5);
    assert!(matches!(
        scene.run_as(Some(scene.settings(&["/"])), NetworkOptions::default(), 1),
        Err(ArchiveError::Crawl(CrawlError::UnfinishedRun))
    ));
    let resumed = scene.run_as(None, NetworkOptions::default(), usize::MAX).unwrap();
    assert!(resumed.finished);
    let downloads = scene.downloads();
    assert!(downloads.values().all(|times| *times == 1), "{downloads:?}");
    assert_eq!(downloads.keys().filter(|path| path.starts_with("/site/40/")).count(), 40);
    assert_eq!(resumed.revisions, downloads.len() as u64);
    scene.assert_at_rest();
    assert!(matches!(
        scene.run_as(None, NetworkOptions::default(), 1),
        Err(ArchiveError::Crawl(CrawlError::NoRun))
    ));
}

/// Crystal was closed while it downloaded a page and a group, with a task for a page that is gone.
#[test]
fn the_tasks_that_crystal_left_are_continued() {
    let scene = Scene::new(Site::new().page("/alone", Answer::html("alone")).with_pages());
    let state = std::cell::RefCell::new(String::new());
    scene.edit(|writer| {
        let root = writer.add_root("Home", &scene.web.url("/site/40/0")).unwrap();
        let alone = writer.add_resource(&scene.web.url("/alone")).unwrap().id;
        writer.add_root("Other", &scene.web.url("/site/10/0")).unwrap();
        let pattern = scene.web.url("/site/40/#");
        let source = Some(GroupSource::Root(root.id));
        let new = NewGroup { name: "", url_pattern: &pattern, source, do_not_download: true };
        let group = writer.add_group(new).unwrap().id;
        let page = |id: i64| json!({ "type": "DownloadResourceTask", "resource_id": id.to_string() });
        let pages = json!({ "type": "DownloadResourceGroupTask", "group_id": group.to_string() });
        let progress = json!({ group.to_string(): { "last_downloaded_member_id": null } });
        let tasks = json!({ "tasks": [page(alone.get()), page(999), pages], "groups": progress });
        *state.borrow_mut() = tasks.to_string();
        writer.set_property("hibernated_state", Some(&state.borrow())).unwrap();
    });
    let stopped = scene.run_as(None, NetworkOptions::default(), 5).unwrap();
    assert!(!stopped.finished && stopped.revisions >= 5, "{stopped:?}");
    let kept = scene.open().property("hibernated_state").unwrap();
    assert_eq!(kept.as_deref(), Some(state.borrow().as_str()), "not done yet");
    let resumed = scene.run_as(None, NetworkOptions::default(), usize::MAX).unwrap();
    assert!(resumed.finished, "{resumed:?}");
    let downloads = scene.downloads();
    assert!(downloads.values().all(|times| *times == 1), "{downloads:?}");
    assert_eq!(downloads.keys().filter(|path| path.starts_with("/site/40/")).count(), 40);
    assert!(downloads.contains_key("/alone") && !downloads.contains_key("/site/10/0"), "{downloads:?}");
    assert_eq!(scene.open().property("hibernated_state").unwrap(), None);
    scene.assert_at_rest();
    assert!(matches!(
        scene.run_as(None, NetworkOptions::default(), 1),
        Err(ArchiveError::Crawl(CrawlError::NoRun))
    ));
}

/// Does what a Crystal does that opens the project for writing, adds a row, and closes it.
fn visit_like_crystal(project: &Path, number: usize) {
    let database = rusqlite_of(project);
    database.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    database.execute_batch("PRAGMA user_version = 0").unwrap();
    let _: String = database.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    for entry in std::fs::read_dir(project.join("tmp")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }
    // A long transaction: many links of one page.
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    database
        .execute("INSERT INTO resource (url) VALUES (?1)", [format!("http://crystal.example/{number}")])
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    database.execute_batch("COMMIT").unwrap();
    // It fails while another connection is open, and Crystal ignores that.
    let _: rusqlite::Result<String> =
        database.query_row("PRAGMA journal_mode = delete", [], |row| row.get(0));
}

#[test]
fn a_crystal_that_opens_the_project_during_a_capture_does_not_end_it() {
    for version in [MajorVersion::Tree, MajorVersion::Packed] {
        let scene = Scene::of_version(Site::new().with_pages(), version);
        scene.edit(|writer| {
            writer.add_root("Home", &scene.web.url("/site/150/0")).unwrap();
            let pattern = scene.web.url("/site/150/#");
            let new = NewGroup { name: "", url_pattern: &pattern, source: None, do_not_download: false };
            writer.add_group(new).unwrap();
        });
        let is_done = AtomicBool::new(false);
        let (captured, visits) = std::thread::scope(|scope| {
            let visitor = scope.spawn(|| {
                let mut visits = 0;
                while !is_done.load(Ordering::Relaxed) {
                    if scene.project.join("varve.capture").exists() {
                        visit_like_crystal(&scene.project, visits);
                        visits += 1;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                visits
            });
            let settings = Some(scene.settings(&[]));
            let captured = scene.run_as(settings, NetworkOptions::default(), usize::MAX);
            is_done.store(true, Ordering::Relaxed);
            (captured.unwrap(), visitor.join().unwrap())
        });
        assert!(captured.finished && captured.tally.failed == 0, "{captured:?}");
        assert!(visits > 1, "only {visits}");
        let downloads = scene.downloads();
        assert_eq!(downloads.keys().filter(|path| path.starts_with("/site/150/")).count(), 150);
        let mut findings = Vec::new();
        let options = VerifyOptions { check_database: true, read_bodies: true };
        scene.open().verify(options, &mut |finding| findings.push(finding)).unwrap();
        assert!(findings.is_empty(), "{findings:?}");
        for number in 0..visits {
            let url = format!("http://crystal.example/{number}");
            assert!(scene.open().resource_at(&url).unwrap().is_some(), "{url}");
        }
    }
}

#[test]
fn a_run_can_be_finished_early() {
    let scene = Scene::new(Site::new().with_pages());
    let settings = scene.settings(&["/site/40/0"]).with(|settings| settings.scope.kind = ScopeKind::Host);
    let stopped = scene.run_as(Some(settings), NetworkOptions::default(), 5).unwrap();
    let left = finish(&scene.project).unwrap();
    assert_eq!((left.finished, left.revisions), (true, stopped.revisions));
    scene.assert_at_rest();
}

#[test]
fn a_run_that_cannot_start_leaves_nothing() {
    let scene = Scene::new(site());
    let empty = scene.run_as(Some(scene.settings(&[])), NetworkOptions::default(), usize::MAX);
    assert!(matches!(empty, Err(ArchiveError::NoRoots)));
    let settings = CrawlSettings { seeds: vec!["ftp://e.org/".to_owned()], ..scene.settings(&[]) };
    let elsewhere = scene.run_as(Some(settings), NetworkOptions::default(), usize::MAX);
    assert!(matches!(elsewhere, Err(ArchiveError::NotOnTheWeb(_))));
    let settings = CrawlSettings { browser: true, ..scene.settings(&["/"]) };
    let rendered = scene.run_as(Some(settings), NetworkOptions::default(), usize::MAX);
    assert!(matches!(rendered, Err(ArchiveError::NoPlaceForRenderings)));
    scene.assert_at_rest();
}

#[test]
fn a_second_writer_is_refused() {
    let scene = Scene::new(site());
    let held = ProjectWriter::open(&scene.project).unwrap();
    let refused = scene.run_as(Some(scene.settings(&["/"])), NetworkOptions::default(), usize::MAX);
    assert!(matches!(
        refused,
        Err(ArchiveError::Repository(RepositoryError::Crystal(varve_crystal::Error::Locked { .. })))
    ));
    drop(held);
    scene.run(&["/about"]);
}

#[test]
fn urls_are_kept_as_the_project_spells_them() {
    let scene = Scene::new(site());
    let old = scene.web.url("").replacen("127.0.0.1", "localhost", 1);
    scene.edit(|writer| {
        writer.add_alias(&format!("{old}/"), &scene.web.url("/"), false).unwrap();
        writer.add_alias(&scene.web.url("/ads/"), "https://ads.example/", true).unwrap();
    });
    let old_home = format!("{old}/about#top");
    let settings = CrawlSettings { seeds: vec![old_home], ..scene.settings(&[]) };
    scene.run_as(Some(settings), NetworkOptions::default(), usize::MAX).unwrap();
    scene.run(&["/2/?b=2&a=1"]);
    let downloads = scene.downloads();
    assert_eq!(downloads.get("/about"), Some(&1));
    assert_eq!(downloads.get("/2/?b=2&a=1"), Some(&1), "{downloads:?}");
    // What an alias leaves on the live web is not captured for a page that embeds it.
    scene.run(&["/"]);
    assert!(!scene.downloads().contains_key("/ads/banner.png"));
    let outside =
        scene.run_as(Some(scene.settings(&["/ads/banner.png"])), NetworkOptions::default(), usize::MAX);
    assert!(matches!(outside, Err(ArchiveError::NotOnTheWeb(_))));
}

/// The SQL statements of Crystal find the rows that varve wrote.
#[test]
fn the_queries_of_crystal_find_captures() {
    let scene = Scene::new(site());
    scene.run(&["/"]);
    let database = rusqlite_of(&scene.project);
    let count = |sql: &str| -> i64 { database.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("select count(*) from resource_revision where error == \"null\""), 6);
    assert_eq!(count("select count(*) from resource_revision where error != \"null\""), 0);
    let sql = "select count(*) from resource_revision where json_extract(metadata, \"$.status_code\") != 200";
    assert_eq!(count(sql), 1);
    assert_eq!(count("select count(*) from resource_revision where request_cookie is not null"), 0);
    let plan: String =
        database.query_row(&format!("explain query plan {sql}"), [], |row| row.get(3)).unwrap();
    assert!(plan.contains("resource_revision__status_code"), "{plan}");
    let sql = "select count(*) from resource_revision left join resource on resource_id = resource.id \
               where resource.id is null";
    assert_eq!(count(sql), 0);
    assert_eq!(count("select value = '2' from project_property where name = 'major_version'"), 1);
}

fn rusqlite_of(project: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(project.join("database.sqlite")).unwrap()
}

/// A capture into real projects, also old or half-migrated ones, adds revisions and changes no
/// existing byte.
#[test]
fn real_projects_are_captured_into_and_lose_nothing() {
    for name in [
        "lab-v2",
        "lab-v1-flat",
        "lab-v1-oldschema",
        "lab-v1-migration-interrupted",
        "lab-v2-commit-interrupted",
        "lab-v2-hibernated",
        "lab-v3-pack16",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let Some(project) = fixture(name, folder.path()) else { return };
        let before = everything(&project);
        let scene = Scene { _folder: folder, project, web: Web::serve(site()) };
        let captured = scene.run(&["/"]);
        assert_eq!((captured.finished, captured.revisions), (true, 6), "{name}");
        let after = everything(&scene.project);
        for row in &before {
            assert!(after.contains(row), "{name}: {row} is lost");
        }
        let is_revision = |row: &&String| row.starts_with("Revision ");
        assert_eq!(after.iter().filter(is_revision).count(), before.iter().filter(is_revision).count() + 6);
        assert!(!scene.project.join("varve.capture").exists());
    }
    let name = "lab-too-new-v4";
    let folder = tempfile::tempdir().unwrap();
    let Some(project) = fixture(name, folder.path()) else { return };
    let scene = Scene { _folder: folder, project, web: Web::serve(site()) };
    let refused = scene.run_as(Some(scene.settings(&["/"])), NetworkOptions::default(), usize::MAX);
    assert!(matches!(refused, Err(ArchiveError::Repository(RepositoryError::Crystal(_)))), "{name}");
    assert_eq!(scene.web.total(), 0, "{name}: nothing is asked for what cannot be kept");
}
