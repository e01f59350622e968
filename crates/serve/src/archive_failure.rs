//! Errors of the archive while it is served, as responses.
//!
//! The index and the catalog are caches of the silos. If one of them is damaged or gone while the
//! server runs, nothing is lost and the server continues once they are made again. So the response
//! is 503, with the command that helps, and not 500.

use std::io;
use std::path::Path;

use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderValue};
use maud::html;
use varve_archive::{ArchiveError, CatalogError, RepositoryError, needs_other_caches};

use crate::error_page;
use crate::response::ResponseHeaders;

/// Seconds after which a client may try again.
const RETRY_AFTER_SECONDS: &str = "60";
/// What to do about a damaged cache of an archive.
const REBUILD_REMEDY: &str = "Nothing is lost: `varve rebuild` makes index and catalog again from the silos. \
                              The server then continues; it need not be started again.";
/// The catalog of an archive.
const CATALOG_FILE: &str = "catalog.db";

/// A failed read of the archive, for clients.
pub(crate) struct ArchiveFailure {
    /// 503 if something can be done about it, else 500.
    pub(crate) status: StatusCode,
    /// What to do about it.
    pub(crate) remedy: Option<&'static str>,
}

impl ArchiveFailure {
    /// The failure of an error.
    pub(crate) fn of(error: &ArchiveError) -> Self {
        Self::with_remedy(match error {
            ArchiveError::Repository(RepositoryError::Catalog(error)) => catalog_remedy(error),
            ArchiveError::Repository(error) if needs_other_caches(error) => Some(REBUILD_REMEDY),
            _ => None,
        })
    }

    /// The failure of an error while a response was made.
    pub(crate) fn of_stream(error: &io::Error) -> Self {
        let Some(inner) = error.get_ref() else { return Self::with_remedy(None) };
        match (inner.downcast_ref::<ArchiveError>(), inner.downcast_ref::<CatalogError>()) {
            (Some(error), _) => Self::of(error),
            (_, Some(error)) => Self::with_remedy(catalog_remedy(error)),
            _ => Self::with_remedy(None),
        }
    }

    fn with_remedy(remedy: Option<&'static str>) -> Self {
        let status = match remedy {
            Some(_) => StatusCode::SERVICE_UNAVAILABLE,
            None => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, remedy }
    }

    /// A page that says so.
    pub(crate) fn page(&self, error: &dyn std::error::Error) -> Response {
        let content = html! {
            p { strong { (error.to_string()) } }
            @if let Some(remedy) = self.remedy { p { (remedy) } }
        };
        self.retried(error_page::error(self.status, "The archive could not be read.", content))
    }

    /// A response with the time after which a client may try again.
    pub(crate) fn retried(&self, response: Response) -> Response {
        match self.remedy {
            Some(_) => response.with(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS)),
            None => response,
        }
    }
}

fn catalog_remedy(error: &CatalogError) -> Option<&'static str> {
    let is_cache = |path: &Path| path.ends_with(CATALOG_FILE);
    match error {
        CatalogError::Busy { .. } => Some("Another program is writing to it. Try again later."),
        CatalogError::Outside { .. } | CatalogError::Newer { .. } => None,
        CatalogError::Foreign { path, .. }
        | CatalogError::Damaged { path, .. }
        | CatalogError::Database { path, .. }
        | CatalogError::Unreachable { path, .. }
            if !is_cache(path) =>
        {
            Some("Restore this file from a copy. The server then continues; it need not be started again.")
        }
        _ => Some(REBUILD_REMEDY),
    }
}
