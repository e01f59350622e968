//! A web, an archive, and a URL database in it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use varve_archive::expectations::report::CheckedUrl;
use varve_archive::expectations::{ProbeOptions, RunClock, UrlDatabase, WebProber};
use varve_archive::history::{ArchiveHistoryReader, ArchiveHistoryWriter, HistoryReader};
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::capture::NetworkOptions;
use varve_archive::verbs::check::{CheckLabel, ExpectationSource, Report, Request, check, look};
use varve_archive::verbs::init::init;
use varve_archive::{Archive, ArchiveError, ArchivePaths, ArchiveSettings, Date, Moment, WriterOptions};
use varve_testkit::web::{Site, Web};

/// A prober whose wall clock stands still.
pub(crate) fn prober(options: ProbeOptions) -> WebProber {
    WebProber::new(options, RunClock::new(&|| Moment::from_seconds(0))).unwrap()
}

/// A web and an archive.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    pub(crate) web: Web,
}

/// Any error.
#[derive(Debug)]
pub(crate) struct Wrong(#[expect(dead_code, reason = "it is shown when a test fails")] pub(crate) String);

impl From<ArchiveError> for Wrong {
    fn from(error: ArchiveError) -> Self {
        Self(error.to_string())
    }
}

impl From<varve_archive::expectations::UrlsError> for Wrong {
    fn from(error: varve_archive::expectations::UrlsError) -> Self {
        Self(error.to_string())
    }
}

pub(crate) fn opening() -> WriterOptions {
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

    /// The host of the web, as a domain file is called.
    pub(crate) fn host(&self) -> String {
        self.web.address().to_string()
    }

    /// Records, below metadata, for the host of the web.
    pub(crate) fn promise(&self, metadata: &str, records: &[&str]) {
        let folder = ArchivePaths::new(&self.root()).expectations();
        fs::create_dir_all(&folder).unwrap();
        let text = format!("---\n{metadata}---\n{}\n", records.join("\n---\n"));
        fs::write(folder.join(format!("{}.yaml", self.host())), text).unwrap();
    }

    pub(crate) fn database(&self) -> UrlDatabase {
        UrlDatabase::open(&ArchivePaths::new(&self.root()).expectations()).unwrap()
    }

    pub(crate) fn history(&self) -> ArchiveHistoryWriter {
        ArchiveHistoryWriter::open(&self.root(), opening()).unwrap()
    }

    pub(crate) fn reader(&self) -> ArchiveHistoryReader {
        ArchiveHistoryReader::open(&self.root()).unwrap()
    }

    /// Options of a prober without delays.
    pub(crate) fn asking(&self) -> ProbeOptions {
        ProbeOptions {
            delay: Duration::ZERO,
            retry_pause: Duration::from_millis(1),
            failures_per_host: 1000,
            timeout: Duration::from_millis(1500),
            network: NetworkOptions { allow_private: true, ..NetworkOptions::default() },
            ..ProbeOptions::new(self.folder.path())
        }
    }

    pub(crate) fn prober(&self, whole: bool) -> WebProber {
        prober(ProbeOptions { whole, ..self.asking() })
    }

    /// Checks the expectations of the URL database, and stores the evidence.
    pub(crate) fn check(&self, request: &Request) -> (Vec<CheckedUrl>, Report) {
        self.check_all(ExpectationSource::Database(&self.database()), request)
    }

    pub(crate) fn check_all(
        &self,
        source: ExpectationSource<'_>,
        request: &Request,
    ) -> (Vec<CheckedUrl>, Report) {
        self.check_by(&self.prober(true), source, request)
    }

    /// The same, with this prober.
    pub(crate) fn check_by(
        &self,
        prober: &WebProber,
        source: ExpectationSource<'_>,
        request: &Request,
    ) -> (Vec<CheckedUrl>, Report) {
        let history = self.history();
        let mut found = Vec::new();
        let label = CheckLabel { message: "check".to_owned(), author: None };
        let stored = check(&history, source, request, label, prober, &mut |_| {}, |checked| {
            found.push(checked);
            Ok::<(), Wrong>(())
        });
        (found, stored.unwrap())
    }

    /// Holds the web against the last version, and keeps nothing.
    pub(crate) fn look(&self) -> Vec<CheckedUrl> {
        let mut found = Vec::new();
        let history = HistoryReader::from(&self.reader());
        look(&history, &Request::default(), &self.prober(true), &mut |_| {}, |checked| {
            found.push(checked);
            Ok::<(), Wrong>(())
        })
        .unwrap();
        found
    }

    /// Every row of the catalog.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        let reader = self.reader();
        let mut each = |row: &str| {
            rows.push(row.to_owned());
            Ok(())
        };
        varve_catalog::dump_rows(reader.catalog(), &mut each).unwrap();
        rows
    }

    /// Everything is as it should be: silos, index, history, catalog.
    pub(crate) fn assert_sound(&self) {
        let archive = Archive::open(&self.root()).unwrap();
        let mut findings = Vec::new();
        let request = AuditRequest { quick: false, since: None, sample: None };
        audit(&archive, &request, &|_| {}, &mut |finding| findings.push(finding.message.clone())).unwrap();
        assert_eq!(findings, Vec::<String>::new());
    }
}

/// The path of each URL, its verdict and the reason.
pub(crate) fn told(checked: &[CheckedUrl]) -> Vec<String> {
    let one = |checked: &CheckedUrl| {
        let path = checked.url.splitn(4, '/').nth(3).unwrap_or_default();
        let reason = checked.verdict.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("/{path} {}{reason}", checked.verdict.kind().name())
    };
    checked.iter().map(one).collect()
}
