//! A web, and an archive to capture it into.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use varve_archive::history::{ArchiveHistoryWriter, StatePages, VersionPages};
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::capture::{
    CrawlEvent, CrawlSettings, NetworkOptions, RunEnd, RunOptions, ScopeKind, capture, finish, resume,
};
use varve_archive::verbs::commit::KeptIntent;
use varve_archive::verbs::init::init;
use varve_archive::verbs::rebuild::rebuild;
use varve_archive::{
    Archive, ArchiveError, ArchivePaths, ArchiveSettings, Capture, Date, VersionId, WriterOptions,
};
use varve_testkit::web::{Site, Web};

/// A web and an archive.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    pub(crate) web: Web,
}

/// The events of a run.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) ended: Option<RunEnd>,
    /// Status, whether unchanged, and why cut, by path.
    pub(crate) captured: BTreeMap<String, (u16, bool, Option<String>)>,
    /// The sort of failure, by path.
    pub(crate) failed: BTreeMap<String, String>,
    /// The rule, by path.
    pub(crate) skipped: BTreeMap<String, String>,
    /// Method, path and status of what pages sent.
    pub(crate) exchanged: Vec<(String, String, u16)>,
    /// Notes of the run.
    pub(crate) notes: Vec<String>,
    /// The longest wait that was reported.
    pub(crate) rest: Duration,
    /// The hosts that were given up with something left, and the sort of failure.
    pub(crate) given_up: BTreeMap<String, String>,
}

impl Told {
    pub(crate) fn ended(&self) -> RunEnd {
        self.ended.expect("the run has ended")
    }

    pub(crate) fn version(&self) -> VersionId {
        self.ended().version.expect("the run became a version")
    }

    pub(crate) fn paths(&self) -> BTreeSet<&str> {
        self.captured.keys().map(String::as_str).collect()
    }
}

fn opening() -> WriterOptions {
    let clock = || Date::at_second(std::time::SystemTime::now());
    WriterOptions { holder: "a test".to_owned(), software: "varve/test".to_owned(), clock: Arc::new(clock) }
}

impl Scene {
    pub(crate) fn new(site: Site) -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap(), web: Web::serve(site) };
        init(&scene.root(), &ArchiveSettings::new("test"), opening()).unwrap();
        scene
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("museum")
    }

    /// Settings for a crawl from these paths that does not dawdle.
    pub(crate) fn settings(&self, paths: &[&str], scope: ScopeKind) -> CrawlSettings {
        CrawlSettings::default().with(|settings| {
            settings.seeds = paths.iter().map(|path| self.web.url(path)).collect();
            settings.scope.kind = scope;
            settings.politeness.delay = 0;
            settings.politeness.per_host = 4;
            settings.politeness.retries = 0;
            settings.politeness.retry_pause = 10;
            settings.message = "a test".to_owned();
        })
    }

    pub(crate) fn history(&self) -> ArchiveHistoryWriter {
        ArchiveHistoryWriter::open(&self.root(), opening()).unwrap()
    }

    pub(crate) fn run(&self, settings: CrawlSettings) -> Told {
        self.run_until(
            Some(settings),
            NetworkOptions { allow_private: true, ..NetworkOptions::default() },
            usize::MAX,
        )
        .unwrap()
    }

    /// Resumes the run that was stopped.
    pub(crate) fn resume(&self) -> Told {
        self.run_until(None, NetworkOptions { allow_private: true, ..NetworkOptions::default() }, usize::MAX)
            .unwrap()
    }

    /// Runs, and asks to stop after this number of captures. Without settings the last run is
    /// resumed.
    pub(crate) fn run_until(
        &self,
        settings: Option<CrawlSettings>,
        reach: NetworkOptions,
        most: usize,
    ) -> Result<Told, ArchiveError> {
        self.run_as(settings, reach, most, &|_| KeptIntent::default())
    }

    /// Runs with what people want, as it is kept in the archive.
    pub(crate) fn run_with_intent(
        &self,
        settings: CrawlSettings,
        intent: &dyn Fn(&ArchiveHistoryWriter) -> KeptIntent,
    ) -> Told {
        let reach = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
        self.run_as(Some(settings), reach, usize::MAX, intent).unwrap()
    }

    fn run_as(
        &self,
        settings: Option<CrawlSettings>,
        reach: NetworkOptions,
        most: usize,
        intent: &dyn Fn(&ArchiveHistoryWriter) -> KeptIntent,
    ) -> Result<Told, ArchiveError> {
        let history = self.history();
        let stop = AtomicBool::new(false);
        let manner = RunOptions { reach, threads: 2, stop: &stop, intent: intent(&history) };
        let mut told = Told::default();
        let path = |url: &str| url.strip_prefix(&self.web.url("")).unwrap_or(url).to_owned();
        let mut report = |event: CrawlEvent<'_>| match event {
            CrawlEvent::Captured(one) => {
                let said = (one.status, one.unchanged, one.truncated.map(str::to_owned));
                let before = told.captured.insert(path(one.url), said);
                assert_eq!(before, None, "{} was captured twice", one.url);
                if told.captured.len() >= most {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            CrawlEvent::Failed { url, kind, .. } => {
                told.failed.insert(path(url), kind.to_owned());
            }
            CrawlEvent::HostUnreachable { host, kind, .. } => {
                told.given_up.insert(host.to_owned(), kind.to_owned());
            }
            CrawlEvent::Exchanged { url, method, status, .. } => {
                told.exchanged.push((method.to_owned(), path(url), status));
            }
            CrawlEvent::Progress(progress) => {
                told.rest = told.rest.max(progress.idle_for.unwrap_or_default())
            }
            CrawlEvent::Noted { note, .. } => told.notes.push(note.to_owned()),
            CrawlEvent::Skipped { url, rule, .. } => {
                told.skipped.insert(path(url), rule.to_string());
            }
            _ => {}
        };
        let ended = match settings {
            Some(settings) => capture(&history, settings, manner, &mut report)?,
            None => resume(&history, |_| {}, manner, &mut report)?,
        };
        told.ended = Some(ended);
        Ok(told)
    }

    pub(crate) fn finish(&self) -> RunEnd {
        let stop = AtomicBool::new(false);
        let manner = RunOptions {
            reach: NetworkOptions::default(),
            threads: 1,
            stop: &stop,
            intent: Default::default(),
        };
        finish(&self.history(), manner).unwrap()
    }

    /// The captures of a version.
    pub(crate) fn captures(&self, version: VersionId) -> Vec<Capture> {
        VersionPages::new(self.history().catalog(), Some(version)).map(Result::unwrap).collect()
    }

    /// The captures that the state of a version is made of: each page, or the response that says that it is gone.
    pub(crate) fn state_captures(&self, version: VersionId) -> Vec<Capture> {
        let history = self.history();
        let pages = StatePages::new(history.catalog(), Some(version)).map(Result::unwrap);
        pages.filter_map(|page| page.evidence.or(page.capture)).collect()
    }

    /// The paths of all pages that a version and its ancestors say something about, sorted.
    pub(crate) fn state_paths_of(&self, version: VersionId) -> Vec<String> {
        let base = self.web.url("");
        let short = |capture: Capture| capture.url.replacen(&base, "", 1);
        let mut paths: Vec<String> = self.state_captures(version).into_iter().map(short).collect();
        paths.sort();
        paths
    }

    /// The paths of a version's captures, sorted; one that is there twice is there twice.
    pub(crate) fn paths_of(&self, version: VersionId) -> Vec<String> {
        let base = self.web.url("");
        let short = |capture: Capture| capture.url.replacen(&base, "", 1);
        let mut paths: Vec<String> = self.captures(version).into_iter().map(short).collect();
        paths.sort();
        paths
    }

    pub(crate) fn body(&self, capture: &Capture) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut body = self.history().open_body(capture).unwrap();
        std::io::Read::read_to_end(&mut body, &mut bytes).unwrap();
        bytes
    }

    /// Makes index and catalog again from the silos.
    pub(crate) fn rebuild(&self) {
        rebuild(&ArchivePaths::new(&self.root()), opening(), &|_| {}).unwrap();
    }

    /// The first silo, unpacked, as far as it is text.
    pub(crate) fn silo_text(&self) -> String {
        let file = std::fs::File::open(self.root().join("warc/0/00000000.warc.gz")).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(file), &mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Everything is as it should be: silos, index, history, catalog.
    pub(crate) fn assert_sound(&self) {
        assert_eq!(self.history().working_tree(), None);
        let archive = Archive::open(&self.root()).unwrap();
        let mut findings = Vec::new();
        let request = AuditRequest { quick: false, since: None, sample: None };
        audit(&archive, &request, &|_| {}, &mut |finding| findings.push(finding.message.clone())).unwrap();
        assert_eq!(findings, Vec::<String>::new());
    }
}
