//! A Crystal project, read in place: revisions are captures.
//!
//! A version is a committed set, and a project has none. But its revisions are numbered in order of
//! arrival. So a version here is the state of the project when one revision was its newest, and
//! HEAD is the current state. A comparison of versions thus compares two states of a project, named
//! by times or by `r` and a revision number.
//!
//! The path of a page is its URL, so a list of pages needs no sorting: the project's index on URLs
//! provides it. The project's own rules, above all its aliases, decide which of several spellings
//! is a page.

mod body;
mod capture;
mod catalog;
mod moment;

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_catalog::CatalogRead;
use varve_core::history::{Capture, CaptureChoice, CaptureFilter, ListCursor};
use varve_core::{BodyId, VersionId};
use varve_crystal::{BodyLookup, DownloadError, Project, Revision, RevisionId, RevisionSearch};

use crate::error::RepositoryError;
use body::KnownBodies;
pub use moment::time_of as time_of_revision;

/// A Crystal project, open for reading.
#[derive(Clone)]
pub struct CrystalHistoryReader {
    catalog: Arc<CrystalCatalog>,
}

/// What a project records about one download, beyond what every layout has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadFacts {
    /// The error, if there was no response.
    pub error: Option<DownloadError>,
    /// Whether it was requested with a cookie.
    pub has_cookie: bool,
    /// Whether the time of the capture is that of an earlier one, because the response has no date.
    pub time_is_invented: bool,
}

/// The project and its cache of bodies. One thread at a time uses it, because the project has one
/// connection.
pub(super) struct CrystalCatalog {
    inner: Mutex<CrystalReaderState>,
}

struct CrystalReaderState {
    project: Project,
    known: KnownBodies,
    /// The rule that selects the revision for a URL.
    choice: CaptureChoice,
}

impl CrystalHistoryReader {
    /// Opens the project at `path` without changing it. As in Crystal, the newest revision
    /// represents a URL.
    pub fn open(path: &Path) -> Result<Self, RepositoryError> {
        let (project, choice) = (Project::open(path)?, CaptureChoice::Newest);
        let inner = CrystalReaderState { project, known: KnownBodies::default(), choice };
        Ok(Self { catalog: Arc::new(CrystalCatalog { inner: Mutex::new(inner) }) })
    }

    /// Sets another rule for selecting the revision for a URL.
    #[must_use]
    pub fn choosing(self, choice: CaptureChoice) -> Self {
        self.catalog.lock().choice = choice;
        self
    }

    /// The captures as catalog rows.
    pub fn catalog(&self) -> &dyn CatalogRead {
        &*self.catalog
    }

    pub(super) fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        Ok(self.catalog.lock().newest()?.map(capture::version_at))
    }

    pub(super) fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        let mut inner = self.catalog.lock();
        let revision = inner.revision(capture)?;
        inner.open_body(&capture.url, revision)
    }

    pub(super) fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        let revision = self.catalog.lock().revision(capture)?;
        Ok(revision.metadata().ok().flatten().map(|metadata| body::wire_head(&metadata)))
    }

    /// The response as the project stores it: the head, and the body with its content codings. `None`
    /// for a response without a head, and for a body that is not there.
    pub(super) fn open_wire(
        &self,
        capture: &Capture,
    ) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        let inner = self.catalog.lock();
        let revision = inner.revision(capture)?;
        let Some(metadata) = revision.metadata().ok().flatten() else { return Ok(None) };
        let BodyLookup::Found(stored) = inner.project.body_of(&revision)? else { return Ok(None) };
        let head = body::stored_head(&metadata, stored.length());
        Ok(Some(Box::new(std::io::Cursor::new(head).chain(stored))))
    }

    pub(super) fn choice(&self) -> CaptureChoice {
        self.catalog.lock().choice
    }

    pub(super) fn body_id(&self, capture: &Capture) -> Result<BodyId, RepositoryError> {
        Ok(self.catalog.lock().named(capture)?)
    }

    /// What the project records about the download of a capture.
    pub fn download_facts(&self, capture: &Capture) -> Result<DownloadFacts, RepositoryError> {
        let revision = self.catalog.lock().revision(capture)?;
        Ok(DownloadFacts {
            error: revision.download_error().ok().flatten(),
            has_cookie: revision.request_cookie.is_some(),
            time_is_invented: moment::own_time(&revision).is_none(),
        })
    }

    /// The captures of all URLs, newest first.
    pub fn latest_captures(
        &self,
        filter: &CaptureFilter,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, RepositoryError> {
        self.search_captures(filter, RevisionSearch::default(), page)
    }

    /// The captures of all URLs that a search finds, newest first.
    pub fn search_captures(
        &self,
        filter: &CaptureFilter,
        search: RevisionSearch,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, RepositoryError> {
        Ok(self.catalog.latest(filter, search, page)?)
    }
}

impl CrystalCatalog {
    /// Locks the current project. A project opened where no lock was available is reopened if it
    /// has changed.
    fn lock(&self) -> MutexGuard<'_, CrystalReaderState> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.project.is_behind()
            && let Ok(project) = Project::open(inner.project.path())
        {
            *inner = CrystalReaderState { project, known: KnownBodies::default(), choice: inner.choice };
        }
        inner
    }
}

impl CrystalReaderState {
    /// The revision of a capture.
    fn revision(&self, capture: &Capture) -> Result<Revision, RepositoryError> {
        let id = capture::revision_of(&capture.id);
        let found = self.project.revision(id)?;
        found.ok_or_else(|| RepositoryError::Absent { id: capture.id.to_string() })
    }

    /// The newest revision, which is the current state of the project.
    fn newest(&self) -> varve_crystal::Result<Option<RevisionId>> {
        Ok(self.project.newest_revision()?.filter(|id| id.get() > 0))
    }
}
