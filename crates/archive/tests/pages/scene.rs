//! A web, an archive, and a service that reads pages into it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use varve_archive::history::{ArchiveHistoryReader, HistoryReader};
use varve_archive::pages::{ExtractedPage, FetchMethod, PageError, PageService, PageServiceOptions};
use varve_archive::verbs::capture::NetworkOptions;
use varve_archive::verbs::init::init;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::verbs::purge;
use varve_archive::verbs::rebuild::rebuild;
use varve_archive::{ArchivePaths, ArchiveSettings, ArchiveWriter, Date, WriterOptions};
use varve_testkit::web::{Answer, Site, Web};

/// How long an extraction is an answer.
pub(crate) const TTL: Duration = Duration::from_secs(3600);

/// A page with a title and enough text to be an article.
pub(crate) fn article(head: &str, title: &str) -> Answer {
    let text = "A varve is the thin layer of sediment that a lake lays down in a year, pale in summer and dark \
                in winter, and whoever reads the layers reads the history of the lake and its weather. ";
    let body = format!("<h1>{title}</h1><p>{text}</p><p>{text}</p><p>{text}</p>");
    Answer::html(format!(
        "<!doctype html><html lang=en><head><title>{title}</title>{head}</head><body><article>{body}</article></body></html>"
    ))
}

/// An archive, a web, and a clock.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    pub(crate) web: Web,
    clock: Arc<AtomicI64>,
}

impl Scene {
    pub(crate) fn new(site: Site) -> Self {
        Self::over(Web::serve(site))
    }

    pub(crate) fn over(web: Web) -> Self {
        let clock = Arc::new(AtomicI64::new(1_900_000_000));
        let scene = Self { folder: tempfile::tempdir().unwrap(), web, clock };
        init(&scene.root(), &ArchiveSettings::new("test"), scene.opening()).unwrap();
        scene
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("museum")
    }

    fn opening(&self) -> WriterOptions {
        let clock = Arc::clone(&self.clock);
        let now = move || {
            let seconds = u64::try_from(clock.load(Ordering::Relaxed)).unwrap();
            Date::at_second(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
        };
        WriterOptions { holder: "a test".to_owned(), software: "varve/test".to_owned(), clock: Arc::new(now) }
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, time: Duration) {
        self.clock.fetch_add(i64::try_from(time.as_secs()).unwrap(), Ordering::Relaxed);
    }

    /// Writes the settings of domains, in place of those of an earlier call.
    pub(crate) fn configure(&self, domains: &str) {
        let path = self.root().join("varve.toml");
        let text = fs::read_to_string(&path).unwrap();
        let kept = text.split("\n[domain.").next().unwrap();
        fs::write(&path, format!("{kept}\n{domains}")).unwrap();
    }

    pub(crate) fn service(&self) -> PageService {
        self.service_that(true)
    }

    pub(crate) fn service_that(&self, may_write: bool) -> PageService {
        self.service_with(|options| options.writer = options.writer.take().filter(|_| may_write))
    }

    /// A service with other options.
    pub(crate) fn service_with(&self, change: impl FnOnce(&mut PageServiceOptions)) -> PageService {
        let network = NetworkOptions { allow_private: true, ..NetworkOptions::default() };
        let opening = self.opening();
        let writer = Arc::new(move || opening.clone());
        let mut options = PageServiceOptions {
            delay: Duration::ZERO,
            ttl: Some(TTL),
            ..PageServiceOptions::new(network, "varve/test".to_owned(), Some(writer))
        };
        change(&mut options);
        PageService::open(ArchiveHistoryReader::open(&self.root()).unwrap(), options).unwrap()
    }

    /// Fetches the page at a path.
    pub(crate) fn fetch(&self, path: &str) -> Result<ExtractedPage, PageError> {
        self.service().fetch(&self.web.url(path), FetchMethod::Direct)
    }

    pub(crate) fn reader(&self) -> HistoryReader {
        HistoryReader::from(&ArchiveHistoryReader::open(&self.root()).unwrap())
    }

    /// The URLs of the captures that `log` shows of a URL, newest first.
    pub(crate) fn logged(&self, url: &str) -> Vec<String> {
        let all = ListCursor { after: None, limit: 100 };
        let found = captures(&self.reader(), url, &CaptureFilter::default(), all).unwrap();
        found.into_iter().map(|capture| capture.url).collect()
    }

    /// Every row, as text.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        let mut each = |row: &str| {
            rows.push(row.to_owned());
            Ok(())
        };
        varve_catalog::dump_rows(self.reader().catalog(), &mut each).unwrap();
        rows
    }

    /// Removes everything but the silos, and makes it again.
    pub(crate) fn rebuild(&self) {
        fs::remove_dir_all(self.root().join("index")).unwrap();
        for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm", "search.db", "HEAD"] {
            let _ = fs::remove_file(self.root().join(name));
        }
        rebuild(&ArchivePaths::new(&self.root()), self.opening(), &|_| {}).unwrap();
    }

    /// Removes the captures of a URL from the silos.
    pub(crate) fn purge(&self, url: &str) {
        let writer = ArchiveWriter::open(&self.root(), self.opening()).unwrap();
        let request = purge::Request {
            urls: vec![url.to_owned()],
            patterns: Vec::new(),
            versions: Vec::new(),
            objects: Vec::new(),
            who: "a test".to_owned(),
            why: "asked for".to_owned(),
        };
        let choice = purge::plan(&writer, &request).unwrap();
        purge::perform(writer, &request, &choice, &|_| {}).unwrap();
    }

    /// The title of a page at a path, and how often its path was requested so far.
    pub(crate) fn title(&self, path: &str) -> (String, usize) {
        (self.fetch(path).unwrap().title.unwrap_or_default(), self.web.count(path))
    }
}
