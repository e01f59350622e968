//! The service itself: from a request for a URL to a page object.

use varve_core::Moment;
use varve_core::history::{DomainSettings, FetchMethod, StoredDomainSettings};
use varve_extract::ExtractedPage;
use varve_repository::history::ArchiveHistoryReader;

use super::{DomainQuery, PageChanges, PageError, PageServiceOptions};

/// Reads pages of the live web and of an archive. Several threads may use it at once; each call
/// blocks until it has its answer, and must not be made on a thread that runs asynchronous tasks.
pub struct PageService {
    history: ArchiveHistoryReader,
    options: PageServiceOptions,
}

impl PageService {
    /// A service for an archive.
    pub fn open(history: ArchiveHistoryReader, options: PageServiceOptions) -> Result<Self, PageError> {
        Ok(Self { history, options })
    }

    /// The extraction of a page. The URL is cleaned first. A saved extraction answers while it is
    /// valid; for [`FetchMethod::ChromiumHeadless`] only one that was made with a browser. Otherwise
    /// the page is fetched, captured as a version, extracted and saved.
    ///
    /// `original_url` of the answer is `url`.
    pub fn fetch(&self, url: &str, method: FetchMethod) -> Result<ExtractedPage, PageError> {
        todo!()
    }

    /// The extractions of several pages, in the order of `urls`. Pages that must be fetched are
    /// fetched together, and make one version.
    pub fn batch(&self, urls: &[String]) -> Result<Vec<Result<ExtractedPage, PageError>>, PageError> {
        todo!()
    }

    /// The extractions of the pages that the items of a feed link to, in the order of the feed. The
    /// feed itself is captured as well.
    pub fn feed(&self, url: &str) -> Result<Vec<Result<ExtractedPage, PageError>>, PageError> {
        todo!()
    }

    /// What a page said at an instant, from its newest capture until then. Nothing is fetched or saved.
    pub fn at(&self, url: &str, at: Moment) -> Result<ExtractedPage, PageError> {
        todo!()
    }

    /// Which fields of a page changed with which capture, oldest first. Captures that changed nothing
    /// are left out.
    pub fn history(&self, url: &str) -> Result<Vec<PageChanges>, PageError> {
        todo!()
    }

    /// Deletes the saved extraction that a URL leads to. Its captures stay.
    /// [`PageError::NotFound`] if there is none.
    pub fn delete(&self, url: &str) -> Result<(), PageError> {
        todo!()
    }

    /// The settings of a domain; `None` if it has none.
    pub fn domain_settings(&self, domain: &str) -> Result<Option<StoredDomainSettings>, PageError> {
        todo!()
    }

    /// Sets the settings of a domain, and returns them as they are stored.
    pub fn set_domain_settings(
        &self,
        domain: &str,
        settings: &DomainSettings,
    ) -> Result<StoredDomainSettings, PageError> {
        todo!()
    }

    /// Deletes the settings of a domain. It is no error if there are none.
    pub fn delete_domain_settings(&self, domain: &str) -> Result<(), PageError> {
        todo!()
    }

    /// The settings of the domains that a query finds, by domain.
    pub fn list_domain_settings(&self, query: &DomainQuery) -> Result<Vec<StoredDomainSettings>, PageError> {
        todo!()
    }

    /// Whether pages can be loaded in a browser.
    pub fn has_browser(&self) -> bool {
        self.options.network.browser.is_some()
    }

    /// The archive.
    pub fn archive_history(&self) -> &ArchiveHistoryReader {
        &self.history
    }
}
