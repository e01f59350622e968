//! The service itself: from a request for a URL to a page object.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use varve_core::Moment;
use varve_core::fact::{DomainSettingsSet, ExtractionDeleted, Fact};
use varve_core::history::{
    DomainSettings, FetchMethod, KeyedUrl, ListCursor, StoredDomainSettings, StoredExtraction,
};
use varve_crawl::{CrawlError, NetworkOptions, RunDescription};
use varve_extract::{ExtractOptions, ExtractedPage};
use varve_file::TemporaryFolder;
use varve_repository::RepositoryError;
use varve_repository::history::{ArchiveHistoryReader, HistoryReader};

use super::batch::Batch;
use super::domain_settings::{check_settings, checked_domain, settings_of_url};
use super::host_turns::HostTurns;
use super::live_page::{LiveFetcher, LivePage, SettingsOf};
use super::read_page::{self, ReadPage};
use super::save_page::{PageSaver, PageToSave, expiry, save_pages};
use super::url_request::UrlRequest;
use super::{DomainQuery, MAX_CONCURRENT_PAGES, PageChanges, PageError, PageServiceOptions, past_pages};
use crate::error::ArchiveError;
use crate::verbs::cat::CaptureSelector;

/// Number of settings that are read at once.
const DOMAINS_PER_QUERY: usize = 1_000;

/// The answer for one of several pages.
pub(super) type PageResult = Result<ExtractedPage, PageError>;

/// Reads pages of the live web and of an archive. Several threads may use it at once; each call
/// blocks until it has its answer, and must not be made on a thread that runs asynchronous tasks.
pub struct PageService {
    history: ArchiveHistoryReader,
    options: PageServiceOptions,
    /// The network options, with the private addresses that the archive allows.
    network: NetworkOptions,
    turns: Arc<HostTurns>,
    saver: PageSaver,
    temporary: TemporaryFolder,
    /// Removed with the service. The folder of the archive is emptied by every writer.
    _folder: TempDir,
}

impl PageService {
    /// A service for an archive. One that may not be written answers with saved extractions of any
    /// age, and fetches nothing.
    pub fn open(history: ArchiveHistoryReader, options: PageServiceOptions) -> Result<Self, PageError> {
        let layout = history.archive().layout().clone();
        let network = options.network.clone().within(&layout).map_err(ArchiveError::from)?;
        let folder = tempfile::tempdir().map_err(RepositoryError::write(&std::env::temp_dir()))?;
        Ok(Self {
            turns: Arc::new(HostTurns::new(options.delay)),
            saver: PageSaver::new(layout, &options),
            temporary: folder.path().into(),
            _folder: folder,
            history,
            network,
            options,
        })
    }

    /// The extraction of a page. The URL is cleaned first. A saved extraction answers while it is
    /// valid; for [`FetchMethod::ChromiumHeadless`] only one that was made with a browser. Otherwise
    /// the page is fetched, captured as a version, extracted and saved.
    ///
    /// `original_url` of the answer is `url`.
    pub fn fetch(&self, url: &str, method: FetchMethod) -> Result<ExtractedPage, PageError> {
        if let Some(page) = self.saved(url, method)? {
            return Ok(page);
        }
        let request = UrlRequest::parse(url)?;
        let mut answers = self.fetch_all(std::slice::from_ref(&request), method)?;
        self.presented(answers.pop().expect("each request has an answer")?)
    }

    /// The saved extraction of a page, if it is a valid answer to a request for `url`. Nothing is
    /// fetched.
    pub fn saved(&self, url: &str, method: FetchMethod) -> Result<Option<ExtractedPage>, PageError> {
        let saved = self.find_valid(&UrlRequest::parse(url)?, method)?;
        saved.map(|page| self.presented(page)).transpose()
    }

    /// The answers of a batch that need no fetch: saved extractions, and errors of URLs that are
    /// none. `None` if a page has to be fetched.
    pub fn saved_batch(&self, urls: &[String]) -> Result<Option<Vec<PageResult>>, PageError> {
        let lookup = Batch::look_up(self, urls)?;
        Ok(lookup.missing.is_empty().then(|| lookup.answers_of(self, Vec::new())))
    }

    /// The extractions of several pages, in the order of `urls`. Pages that must be fetched are
    /// fetched together, and make one version.
    pub fn batch(&self, urls: &[String]) -> Result<Vec<PageResult>, PageError> {
        let lookup = Batch::look_up(self, urls)?;
        let fetched = match lookup.missing.is_empty() {
            true => Vec::new(),
            false => self.fetch_all(&lookup.missing, FetchMethod::Direct)?,
        };
        Ok(lookup.answers_of(self, fetched))
    }

    /// The extractions of the pages that the items of a feed link to, each with its link, in the
    /// order of the feed. The feed itself is captured as well.
    pub fn feed(&self, url: &str) -> Result<Vec<(String, PageResult)>, PageError> {
        let request = UrlRequest::parse(url)?;
        self.saver.require_writable()?;
        let mut live = self.fetch_live(std::slice::from_ref(&request), FetchMethod::Direct)?;
        let live = live.pop().expect("each request has an answer")?;
        let page = PageToSave { request: &request, live: &live, read: None, ttl: Duration::ZERO };
        self.save(std::slice::from_ref(&page))?;
        let links = read_page::feed_links(&live)?;
        let pages = if links.is_empty() { Vec::new() } else { self.batch(&links)? };
        Ok(links.into_iter().zip(pages).collect())
    }

    /// What a page said at an instant, from its newest capture until then. Nothing is fetched or saved.
    pub fn at(&self, url: &str, at: Moment) -> Result<ExtractedPage, PageError> {
        past_pages::at(&self.reader(), url, at, &self.options.extract)
    }

    /// Which fields of a page changed with which capture, oldest first. Captures that changed nothing
    /// are left out.
    pub fn history(&self, url: &str) -> Result<Vec<PageChanges>, PageError> {
        past_pages::history(&self.reader(), url, &self.options.extract)
    }

    /// Deletes the saved extraction that a URL leads to. Its captures stay.
    /// [`PageError::NotFound`] if there is none.
    pub fn delete(&self, url: &str) -> Result<(), PageError> {
        let request = UrlRequest::parse(url)?;
        let saved = self.find_saved(&request.cleaned)?.ok_or_else(|| PageError::NotFound(url.to_owned()))?;
        let url = saved.page.url;
        self.saver.with_writer(|history| {
            let fact = Fact::ExtractionDeleted(ExtractionDeleted { url: url.clone(), time: history.now() });
            super::save_page::append_facts(history, &[(url, fact)])
        })
    }

    /// The settings of a domain; `None` if it has none.
    pub fn domain_settings(&self, domain: &str) -> Result<Option<StoredDomainSettings>, PageError> {
        let domain = checked_domain(domain)?;
        let settings = find_settings(&self.history, &domain)?;
        Ok(settings.map(|settings| StoredDomainSettings { domain, settings }))
    }

    /// Sets the settings of a domain, and returns them as they are stored.
    pub fn set_domain_settings(
        &self,
        domain: &str,
        settings: &DomainSettings,
    ) -> Result<StoredDomainSettings, PageError> {
        let domain = checked_domain(domain)?;
        check_settings(settings)?;
        self.save_settings(&domain, Some(settings.clone()))?;
        Ok(StoredDomainSettings { domain, settings: settings.clone() })
    }

    /// Deletes the settings of a domain. It is no error if there are none.
    pub fn delete_domain_settings(&self, domain: &str) -> Result<(), PageError> {
        let domain = checked_domain(domain)?;
        self.saver.require_writable()?;
        if self.history.catalog().domain_settings(&domain).map_err(ArchiveError::from)?.is_none() {
            return Ok(());
        }
        self.save_settings(&domain, None)
    }

    fn save_settings(&self, domain: &str, settings: Option<DomainSettings>) -> Result<(), PageError> {
        self.saver.with_writer(|history| {
            let set = DomainSettingsSet { domain: domain.to_owned(), settings, time: history.now() };
            let fact = Fact::DomainSettings(Box::new(set));
            super::save_page::append_facts(history, &[(format!("http://{domain}/"), fact)])
        })
    }

    /// The settings of the domains that a query finds, by domain.
    pub fn list_domain_settings(&self, query: &DomainQuery) -> Result<Vec<StoredDomainSettings>, PageError> {
        let mut all: BTreeMap<String, DomainSettings> = self.history.archive().settings().domains.clone();
        let mut after: Option<String> = None;
        loop {
            let cursor = ListCursor { after: after.as_deref(), limit: DOMAINS_PER_QUERY };
            let found = self.history.catalog().all_domain_settings(cursor).map_err(ArchiveError::from)?;
            let Some(last) = found.last() else { return Ok(query.select(all)?) };
            after = Some(last.domain.clone());
            all.extend(found.into_iter().map(|stored| (stored.domain, stored.settings)));
        }
    }

    /// Whether pages can be loaded in a browser.
    pub fn has_browser(&self) -> bool {
        self.options.network.browser.is_some()
    }

    /// The archive.
    pub fn archive_history(&self) -> &ArchiveHistoryReader {
        &self.history
    }

    fn reader(&self) -> HistoryReader {
        HistoryReader::from(&self.history)
    }

    /// The saved extraction of a request, if it is an answer: of any age where nothing can be
    /// fetched, else only while both the time to live that it was saved with and the one in force
    /// last.
    pub(super) fn find_valid(
        &self,
        request: &UrlRequest,
        method: FetchMethod,
    ) -> Result<Option<ExtractedPage>, PageError> {
        let Some(saved) = self.find_saved(&request.cleaned)? else { return Ok(None) };
        if method == FetchMethod::ChromiumHeadless && saved.fetch_method != method {
            return Ok(None);
        }
        if let Some(now) = self.saver.now()
            && now > saved.expires.min(expiry(saved.fetch_time, self.ttl_of(&request.sent)?))
        {
            return Ok(None);
        }
        page_of(saved, &request.original).map(Some)
    }

    /// The saved extraction that a URL leads to. No page of another host is saved under it: see
    /// [`ReadPage::canonical`].
    fn find_saved(&self, requested: &KeyedUrl) -> Result<Option<StoredExtraction>, PageError> {
        Ok(self.history.catalog().extraction(requested).map_err(ArchiveError::from)?)
    }

    /// Fetches pages, saves them as one version, and answers each request in order.
    fn fetch_all(&self, requests: &[UrlRequest], method: FetchMethod) -> Result<Vec<PageResult>, PageError> {
        self.saver.require_writable()?;
        if method == FetchMethod::ChromiumHeadless && !self.has_browser() {
            return Err(PageError::HeadlessDisabled(requests[0].cleaned.url.clone()));
        }
        let live = self.fetch_live(requests, method)?;
        let (now, content) = (self.saver.now(), self.saved_content());
        let read = |live: &LivePage| {
            let mut read = read_page::of_live_page(live, &content)?;
            read.page.fetch_time = now.map(|now| Moment::from_seconds(now.seconds()));
            Ok(read)
        };
        let read: Vec<Option<Result<ReadPage, PageError>>> =
            live.iter().map(|live| live.as_ref().ok().map(read)).collect();
        let mut pages = Vec::new();
        for ((request, live), read) in requests.iter().zip(&live).zip(&read) {
            if let Ok(live) = live {
                let read = read.as_ref().and_then(|read| read.as_ref().ok());
                pages.push(PageToSave { request, live, read, ttl: self.ttl_of(&request.sent)? });
            }
        }
        if !pages.is_empty() {
            self.save(&pages)?;
        }
        let answer = |((request, live), read): ((&UrlRequest, Result<LivePage, PageError>), _)| {
            live?;
            let read: Option<Result<ReadPage, PageError>> = read;
            let page =
                read.expect("each fetched page was read").map_err(|error| of_request(error, request))?.page;
            Ok(with_request(page, request))
        };
        Ok(requests.iter().zip(live).zip(read).map(answer).collect())
    }

    /// The options of an extraction to be saved: its text, and no other form of the content.
    fn saved_content(&self) -> ExtractOptions {
        ExtractOptions { text: true, html: false, markdown: false, ..self.options.extract }
    }

    /// The page as it is answered: with the content that the options ask for, and the site name that
    /// the settings of its domain have. Only the text is saved; other forms are read from the newest
    /// capture of the page.
    pub(super) fn presented(&self, mut page: ExtractedPage) -> Result<ExtractedPage, PageError> {
        let wanted = &self.options.extract;
        let url = page.requested_url.as_deref().unwrap_or(&page.url);
        let site = settings_of_url(url, |domain| find_settings(&self.history, domain))?.sitename;
        page.sitename = site.or(page.sitename);
        if wanted.html || wanted.markdown {
            let url = page.requested_url.clone().unwrap_or_else(|| page.url.clone());
            let read = past_pages::selected(&self.reader(), &url, &CaptureSelector::Newest, wanted)?;
            (page.content_html, page.content_markdown) = (read.content_html, read.content_markdown);
        }
        page.content_text = page.content_text.filter(|_| wanted.text);
        Ok(page)
    }

    fn save(&self, pages: &[PageToSave<'_>]) -> Result<(), PageError> {
        let (description, author) = (self.run_description(), self.options.author.as_deref());
        let saved = self.saver.with_writer(|history| save_pages(history, pages, &description, author))?;
        if let Some(warn) = self.options.warn_of_index.as_ref().filter(|_| saved.is_unindexed) {
            warn();
        }
        Ok(())
    }

    /// Fetches pages, several at a time, and at most one of a host.
    fn fetch_live(
        &self,
        requests: &[UrlRequest],
        method: FetchMethod,
    ) -> Result<Vec<Result<LivePage, PageError>>, PageError> {
        let fetcher = LiveFetcher::new(
            &self.options,
            &self.network,
            &self.temporary,
            Arc::clone(&self.turns),
            self.settings_finder(),
        )?;
        let failed = |source| PageError::Archive(CrawlError::Threads(source).into());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        Ok(runtime.block_on(fetch_concurrently(Arc::new(fetcher), requests, method)))
    }

    fn settings_finder(&self) -> SettingsOf {
        let history = self.history.clone();
        Arc::new(move |url: &str| settings_of_url(url, |domain| find_settings(&history, domain)))
    }

    /// How long the extraction of a page is an answer.
    fn ttl_of(&self, url: &str) -> Result<Duration, PageError> {
        let of_domain = settings_of_url(url, |domain| find_settings(&self.history, domain))?.ttl;
        let of_archive = self.history.archive().settings().extract_ttl.map(Duration::from_secs);
        let of_domain = of_domain.map(Duration::from_secs);
        Ok(of_domain.or(self.options.ttl).or(of_archive).unwrap_or(PageServiceOptions::default_ttl()))
    }

    fn run_description(&self) -> RunDescription {
        RunDescription {
            robots: false,
            user_agent: self.options.user_agent.clone(),
            scope: None,
            delay: self.options.delay,
            per_host: 1,
            concurrency: MAX_CONCURRENT_PAGES,
            retries: 0,
            proxy: self.network.proxies_shown(),
        }
    }
}

async fn fetch_concurrently(
    fetcher: Arc<LiveFetcher>,
    requests: &[UrlRequest],
    method: FetchMethod,
) -> Vec<Result<LivePage, PageError>> {
    let mut answers: Vec<Option<Result<LivePage, PageError>>> = requests.iter().map(|_| None).collect();
    let mut waiting = requests.iter().enumerate();
    let mut running = JoinSet::new();
    loop {
        while running.len() < MAX_CONCURRENT_PAGES {
            let Some((place, request)) = waiting.next() else { break };
            let (fetcher, url) = (Arc::clone(&fetcher), request.sent.clone());
            running.spawn(async move { (place, fetcher.fetch(&url, method).await) });
        }
        match running.join_next().await {
            None => break,
            Some(done) => {
                let (place, answer) = done.expect("no request panics or is cancelled");
                answers[place] = Some(answer);
            }
        }
    }
    answers.into_iter().map(|answer| answer.expect("each request was made")).collect()
}

/// The settings of a domain: those of the API, or those of `varve.toml`.
fn find_settings(history: &ArchiveHistoryReader, domain: &str) -> Result<Option<DomainSettings>, PageError> {
    let stored = history.catalog().domain_settings(domain).map_err(ArchiveError::from)?;
    let of_file = || history.archive().settings().domains.get(domain).cloned();
    Ok(stored.map(|stored| stored.settings).or_else(of_file))
}

/// The page object of a saved extraction.
fn page_of(saved: StoredExtraction, original: &str) -> Result<ExtractedPage, PageError> {
    let StoredExtraction { page, requested, fetch_time, fetch_method, metadata, content_text, .. } = saved;
    let damaged = |source: serde_json::Error| {
        let id = page.url.clone();
        PageError::from(RepositoryError::ReadObject { id, source: source.into() })
    };
    let metadata: ExtractedPage = serde_json::from_str(&metadata).map_err(damaged)?;
    let url = if metadata.url.is_empty() { page.url.clone() } else { metadata.url.clone() };
    Ok(ExtractedPage {
        url,
        requested_url: Some(requested.url),
        original_url: Some(original.to_owned()),
        fetch_time: Some(fetch_time),
        fetch_method,
        content_text,
        ..metadata
    })
}

pub(super) fn with_request(page: ExtractedPage, request: &UrlRequest) -> ExtractedPage {
    let requested_url = Some(request.cleaned.url.clone());
    with_original(ExtractedPage { requested_url, ..page }, &request.original)
}

pub(super) fn with_original(page: ExtractedPage, original: &str) -> ExtractedPage {
    ExtractedPage { original_url: Some(original.to_owned()), ..page }
}

/// The error of a page, with the requested URL in its partial page.
fn of_request(mut error: PageError, request: &UrlRequest) -> PageError {
    if let Some(page) = error.page_mut() {
        *page = with_request(std::mem::take(page), request);
    }
    error
}
