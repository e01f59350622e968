//! A month of three sites in one archive: whole captures, outages, stopped runs, captures of single
//! pages, a plan, and checks. Every line of every diff is a change that somebody made to a site.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use varve_archive::expectations::{ProbeOptions, RunClock, WebProber};
use varve_archive::history::{ArchiveHistoryWriter, StatePages, resolve_version};
use varve_archive::verbs::capture::{
    CrawlEvent, CrawlSettings, NetworkOptions, RunOptions, ScopeKind, capture, finish,
};
use varve_archive::verbs::check::{self, CheckLabel, ExpectationSource};
use varve_archive::verbs::commit::KeptIntent;
use varve_archive::verbs::diff::{self, PageChange, diff};
use varve_archive::verbs::init::init;
use varve_archive::verbs::plan::Plan;
use varve_archive::verbs::rebuild::rebuild;
use varve_archive::{ArchiveError, ArchivePaths, ArchiveSettings, Date, Moment, VersionId, WriterOptions};
use varve_testkit::web::{Answer, Site, Then, Web};

const DAYS: i64 = 30;
const SECONDS_PER_DAY: i64 = 86_400;
/// 2026-11-01, noon.
const FIRST_NOON: i64 = 1_793_534_400;
/// The pages that a site may have, besides its front page and `robots.txt`.
const PATHS: [&str; 5] = ["/a", "/b", "/c", "/d", "/e"];
const ROBOTS: &str = "User-agent: *\nAllow: /\n";

/// How a site fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outage {
    /// Every request is answered with 503.
    Busy,
    /// The pages are answered with 503, and `robots.txt` as ever.
    BusyPages,
    /// Connections are reset.
    Reset,
}

/// What a site has today.
#[derive(Default)]
struct Today {
    pages: BTreeMap<&'static str, u32>,
    outage: Option<Outage>,
}

impl Today {
    /// The body at a path. The front page links all others.
    fn body(&self, path: &str) -> Option<String> {
        match path {
            "/" => {
                let links = self.pages.keys().map(|path| format!("<a href={path}>{path}</a>\n"));
                Some(format!("<title>front</title>\n{}", links.collect::<String>()))
            }
            "/robots.txt" => Some(ROBOTS.to_owned()),
            path => self.pages.get(path).map(|edition| format!("<p>edition {edition} of {path}</p>\n")),
        }
    }
}

/// A site that is edited by somebody.
struct EditedSite {
    web: Web,
    today: Arc<Mutex<Today>>,
}

impl EditedSite {
    fn new() -> Self {
        let today = Arc::<Mutex<Today>>::default();
        today.lock().unwrap().pages.extend(PATHS[..3].iter().map(|path| (*path, 1)));
        let mut site = Site::new();
        for path in ["/", "/robots.txt"].into_iter().chain(PATHS) {
            let today = Arc::clone(&today);
            site = site.at(path, move |request, connection| {
                let today = today.lock().unwrap();
                let answer = match today.outage {
                    Some(Outage::Reset) => {
                        connection.reset()?;
                        return Ok(Then::Close);
                    }
                    Some(Outage::Busy) => Answer::status(503),
                    Some(Outage::BusyPages) if path != "/robots.txt" => Answer::status(503),
                    _ => match today.body(path) {
                        Some(text) if path == "/robots.txt" => Answer::of("text/plain", text),
                        Some(html) => Answer::html(html),
                        None => Answer::status(404),
                    },
                };
                answer.send(request, connection)
            });
        }
        Self { web: Web::serve(site), today }
    }
}

/// What the archive should know about a page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownPage {
    body: String,
    is_gone: bool,
    is_unreachable: bool,
}

impl KnownPage {
    fn shown(&self) -> Option<&str> {
        (!self.is_gone).then_some(self.body.as_str())
    }
}

type KnownPages = BTreeMap<String, KnownPage>;

/// The lines of a diff of two states, by their definition.
fn expected_lines(base: &KnownPages, head: &KnownPages) -> BTreeMap<String, PageChange> {
    let mut lines = BTreeMap::new();
    for (url, new) in head {
        let old = base.get(url);
        let change = match (old.and_then(KnownPage::shown), new.shown()) {
            (None, None) => continue,
            (None, Some(_)) if old.is_some() => PageChange::Back,
            (None, Some(_)) => PageChange::Added,
            (Some(_), None) => PageChange::Gone,
            (Some(old), Some(new)) if old != new => PageChange::Changed,
            _ if new.is_unreachable && !old.is_some_and(|old| old.is_unreachable) => PageChange::Unreachable,
            _ => continue,
        };
        lines.insert(url.clone(), change);
    }
    lines
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

struct Month {
    folder: tempfile::TempDir,
    sites: Vec<EditedSite>,
    now: Arc<AtomicI64>,
    dice: Dice,
    known: KnownPages,
    /// Each version with its day and what the archive should know since.
    versions: Vec<(i64, VersionId, KnownPages)>,
    /// The number of lines by kind of change.
    seen: BTreeMap<String, usize>,
}

impl Month {
    fn new(seed: u64) -> Self {
        let month = Self {
            folder: tempfile::tempdir().unwrap(),
            sites: (0..3).map(|_| EditedSite::new()).collect(),
            now: Arc::new(AtomicI64::new(FIRST_NOON)),
            dice: Dice(seed),
            known: KnownPages::new(),
            versions: Vec::new(),
            seen: BTreeMap::new(),
        };
        init(month.folder.path(), &ArchiveSettings::new("test"), month.opening()).unwrap();
        month
    }

    fn opening(&self) -> WriterOptions {
        let now = Arc::clone(&self.now);
        // Each look at the clock is a second later, so that versions of a day have an order.
        let clock = move || {
            let seconds = u64::try_from(now.fetch_add(1, Ordering::Relaxed)).unwrap();
            Date::at_second(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
        };
        WriterOptions {
            holder: "a test".to_owned(),
            software: "varve/test".to_owned(),
            clock: Arc::new(clock),
        }
    }

    fn history(&self) -> ArchiveHistoryWriter {
        ArchiveHistoryWriter::open(self.folder.path(), self.opening()).unwrap()
    }

    fn settings(&self, seeds: Vec<String>, scope: ScopeKind) -> CrawlSettings {
        CrawlSettings::default().with(|settings| {
            settings.seeds = seeds;
            settings.scope.kind = scope;
            settings.politeness.delay = 0;
            settings.politeness.retries = 0;
            settings.politeness.retry_pause = 1;
            settings.message = "a day".to_owned();
        })
    }

    /// Somebody edits the sites.
    fn edit(&mut self) {
        for site in &self.sites {
            let mut today = site.today.lock().unwrap();
            if self.dice.roll(3) > 0 {
                let path = PATHS[self.dice.roll(PATHS.len())];
                let edition = u32::try_from(self.dice.roll(1000)).unwrap();
                match self.dice.roll(3) {
                    0 => drop(today.pages.remove(path)),
                    _ => drop(today.pages.insert(path, edition)),
                }
            }
        }
    }

    /// Runs, stops after so many captures, and compares the new version with the one before.
    fn run(&mut self, day: i64, settings: CrawlSettings, most: usize) {
        let before = self.known.clone();
        let history = self.history();
        let stop = AtomicBool::new(false);
        let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
        let options = |reach| RunOptions { reach, threads: 2, stop: &stop, intent: KeptIntent::default() };
        let (mut captured, mut failed) = (BTreeMap::new(), BTreeSet::new());
        let scope = settings.scope.kind;
        let seeds = settings.seeds.clone();
        let mut report = |event: CrawlEvent<'_>| match event {
            CrawlEvent::Captured(page) => {
                captured.insert(page.url.to_owned(), page.status);
                stop.fetch_or(captured.len() >= most, Ordering::Relaxed);
            }
            CrawlEvent::Failed { url, .. } => drop(failed.insert(url.to_owned())),
            _ => {}
        };
        let ended = capture(&history, settings, options(reach.clone()), &mut report).unwrap();
        if ended.stopped {
            finish(&history, options(reach)).unwrap();
        }
        self.learn(&captured, &failed);
        if scope == ScopeKind::Host && !ended.stopped {
            self.learn_left_out(&seeds[0], &captured, &failed);
        }
        let Some(version) = ended.version else {
            assert_eq!(self.known, before, "day {day}: a run without a version says nothing");
            return;
        };
        let old = history.catalog().version(&version).unwrap().unwrap().version.parent;
        assert_eq!(old, self.versions.last().map(|(_, version, _)| *version));
        drop(history);
        self.compare(day, (old, &before), (version, &self.known.clone()));
        self.versions.push((day, version, self.known.clone()));
    }

    fn learn(&mut self, captured: &BTreeMap<String, u16>, failed: &BTreeSet<String>) {
        let failures = failed.iter().map(|url| (url, &0));
        for (url, status) in captured.iter().chain(failures) {
            let known = self.known.get_mut(url);
            match status {
                200 | 304 => {
                    let site = self.sites.iter().find(|site| url.starts_with(&site.web.url(""))).unwrap();
                    let path = url.strip_prefix(&site.web.url("")).unwrap();
                    let body = site.today.lock().unwrap().body(path).unwrap();
                    let page = KnownPage { body, is_gone: false, is_unreachable: false };
                    self.known.insert(url.clone(), page);
                }
                404 => known.into_iter().for_each(|page| page.is_gone = true),
                // A failure does not bring a page back that was gone.
                _ => known.into_iter().for_each(|page| page.is_unreachable = !page.is_gone),
            }
        }
    }

    /// A whole capture of a site does not find a page that was removed, because no page links it.
    fn learn_left_out(&mut self, seed: &str, captured: &BTreeMap<String, u16>, failed: &BTreeSet<String>) {
        if captured.get(seed) != Some(&200) {
            return;
        }
        assert_eq!(failed, &BTreeSet::new());
        let site = self.sites.iter().find(|site| seed.starts_with(&site.web.url(""))).unwrap();
        let today = site.today.lock().unwrap();
        for path in PATHS.iter().filter(|path| today.body(path).is_none()) {
            if let Some(page) = self.known.get_mut(&site.web.url(path)) {
                page.is_gone = true;
            }
        }
    }

    fn compare(
        &mut self,
        day: i64,
        (base, old): (Option<VersionId>, &KnownPages),
        (head, new): (VersionId, &KnownPages),
    ) {
        let request = diff::Request { base, head: Some(head), ..diff::Request::default() };
        let mut lines = BTreeMap::new();
        diff(&self.history(), &request, |page| {
            lines.insert(page.pair.any().url.clone(), page.change);
            Ok::<(), ArchiveError>(())
        })
        .unwrap();
        assert_eq!(lines, expected_lines(old, new), "day {day}");
        for change in lines.values() {
            *self.seen.entry(format!("{change:?}")).or_default() += 1;
        }
    }

    /// A check of all pages, which makes no version.
    fn check(&self) {
        let history = self.history();
        let head = history.head().unwrap();
        let options = ProbeOptions {
            delay: Duration::ZERO,
            retry_pause: Duration::from_millis(1),
            network: NetworkOptions { allow_private: true, ..NetworkOptions::default() },
            ..ProbeOptions::new(self.folder.path())
        };
        let prober = WebProber::new(options, RunClock::new(&|| Moment::from_seconds(FIRST_NOON))).unwrap();
        let label = CheckLabel { message: "check".to_owned(), author: None };
        let request = check::Request::default();
        let source = ExpectationSource::LastVersion;
        let mut verdicts = 0;
        let stored = check::check(&history, source, &request, label, &prober, &mut |_| {}, |_| {
            verdicts += 1;
            Ok::<(), CheckFailure>(())
        });
        assert!(stored.unwrap().check.is_some() && verdicts > 0);
        assert_eq!(history.head().unwrap(), head);
    }

    fn act(&mut self, day: i64) {
        let number = self.dice.roll(3);
        let site = |path: &str| self.sites[number].web.url(path);
        let whole = self.settings(vec![site("/")], ScopeKind::Host);
        match self.dice.roll(8) {
            0..=2 => self.run(day, whole, usize::MAX),
            3 | 4 => {
                let outages = [Outage::Busy, Outage::BusyPages, Outage::Reset];
                let outage = outages[self.dice.roll(outages.len())];
                self.sites[number].today.lock().unwrap().outage = Some(outage);
                self.run(day, whole, usize::MAX);
                self.sites[number].today.lock().unwrap().outage = None;
            }
            5 => {
                let page = site(PATHS[self.dice.roll(PATHS.len())]);
                self.run(day, self.settings(vec![page], ScopeKind::Page), usize::MAX);
            }
            6 => self.run(day, whole, 3),
            _ => {
                let roots = self.sites.iter().map(|site| format!("- {{url: '{}'}}\n", site.web.url("/")));
                let plan = Plan::parse(&format!("roots:\n{}", roots.collect::<String>())).unwrap();
                let settings = self.settings(Vec::new(), ScopeKind::Page).with(|s| s.plan = Some(plan));
                self.run(day, settings, usize::MAX);
            }
        }
        if self.dice.roll(4) == 0 {
            self.check();
        }
    }

    /// The shown pages of a version with their bodies.
    fn shown(&self, version: VersionId) -> BTreeMap<String, String> {
        let history = self.history();
        let pages = StatePages::new(history.catalog(), Some(version)).map(Result::unwrap);
        let shown = pages.filter_map(|page| page.into_shown()).map(|capture| {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut history.open_body(&capture).unwrap(), &mut text).unwrap();
            (capture.url, text)
        });
        shown.collect()
    }
}

/// Any error of a check.
#[derive(Debug)]
struct CheckFailure;

impl<E: std::error::Error> From<E> for CheckFailure {
    fn from(_: E) -> Self {
        Self
    }
}

#[test]
fn every_line_of_every_diff_of_a_month_is_a_change_that_somebody_made() {
    let mut month = Month::new(7);
    for number in 0..3 {
        let seed = month.sites[number].web.url("/");
        month.run(0, month.settings(vec![seed], ScopeKind::Host), usize::MAX);
    }
    for day in 1..DAYS {
        month.now.store(FIRST_NOON + day * SECONDS_PER_DAY, Ordering::Relaxed);
        month.edit();
        month.act(day);
    }
    for kind in ["Added", "Back", "Changed", "Gone", "Unreachable"] {
        assert!(month.seen.contains_key(kind), "the month has no such line: {kind}: {:?}", month.seen);
    }
    rebuild(&ArchivePaths::new(month.folder.path()), month.opening(), &|_| {}).unwrap();
    let versions = std::mem::take(&mut month.versions);
    for (day, version, known) in &versions {
        let shown = known.iter().filter_map(|(url, page)| Some((url.clone(), page.shown()?.to_owned())));
        assert_eq!(month.shown(*version), shown.collect(), "day {day}, rebuilt");
    }
    for pair in versions.windows(6).map(|few| [&few[0], &few[5]]) {
        let [(_, old, before), (day, new, after)] = pair;
        month.compare(*day, (Some(*old), before), (*new, after));
    }
    // A day means its end.
    let (_, last_of_first_day, _) = versions.iter().rfind(|(day, ..)| *day == 0).unwrap();
    let found = resolve_version(&month.history(), "2026-11-01").unwrap();
    assert_eq!(found, *last_of_first_day);
}
