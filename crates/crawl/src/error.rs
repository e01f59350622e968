//! Why a capture or a check of the live web could not run.

use std::io;
use std::path::PathBuf;

use varve_catalog::CatalogError;
use varve_core::body::BodyError;
use varve_repository::RepositoryError;
use varve_store::StoreError;

/// Why a capture or a check of the live web could not run.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The archive could not be opened, read or written.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// Nothing was committed but what checks found.
    #[error("only checks have made versions here, and what one found is no promise for the next")]
    OnlyChecks,
    /// An answer was recorded as a failure, because it is none, or not whole.
    #[error("{kind}: {}", message.escape_debug())]
    RecordedAsFailure {
        /// The kind of failure, as the project names it.
        kind: String,
        /// What is said about it.
        message: String,
    },
    /// There is nothing to resume.
    #[error("there is no unfinished run")]
    NoRun,
    /// A run that cannot be resumed because what it was asked to do cannot be read.
    #[error("the settings of the unfinished run cannot be read")]
    RunSettings(#[source] serde_json::Error),
    /// A run that stands in the way of another.
    #[error("an earlier run is not finished")]
    UnfinishedRun,
    /// Credentials that cannot be read.
    #[error("the credentials cannot be used")]
    Credentials(#[source] varve_fetch::CredentialsError),
    /// A run would go on without what it was begun with.
    #[error(
        "the run was begun with `{}` for `{}`{}, which is not given now",
        secret.name.escape_debug(), secret.origin.escape_debug(), and_more(*.more)
    )]
    SecretMissing {
        /// What is missing.
        secret: crate::network_options::SecretName,
        /// How many more there are.
        more: usize,
    },
    /// An entry of a list of private addresses that is none.
    #[error(transparent)]
    Allow(#[from] varve_fetch::guard::AllowError),
    /// A proxy that is none.
    #[error(transparent)]
    Proxy(#[from] varve_fetch::ProxyError),
    /// Certificates that cannot be used.
    #[error("the certificates cannot be used")]
    Roots(#[source] varve_fetch::RootsError),
    /// There is no browser.
    #[error("there is no Chromium to load pages with")]
    NoBrowser,
    /// What is to load pages is something else.
    #[error("`{}` is no Chromium: asked for its version, it {said}", path.display())]
    NotABrowser {
        /// Where.
        path: PathBuf,
        /// What it said, or that it said nothing.
        said: String,
    },
    /// Threads could not be started.
    #[error("threads could not be started")]
    Threads(#[source] io::Error),
}

impl CrawlError {
    /// Whether the archive itself cannot go on, as opposed to one page.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Repository(error) if error.is_fatal())
    }

    /// Why a body cannot be read, if that is the cause.
    pub fn body_failure(&self) -> Option<varve_repository::BodyFailure> {
        match self {
            Self::Repository(error) => error.body_failure(),
            _ => None,
        }
    }
}

impl From<CatalogError> for CrawlError {
    fn from(error: CatalogError) -> Self {
        Self::Repository(error.into())
    }
}

impl From<StoreError> for CrawlError {
    fn from(error: StoreError) -> Self {
        Self::Repository(error.into())
    }
}

impl From<BodyError> for CrawlError {
    fn from(error: BodyError) -> Self {
        Self::Repository(error.into())
    }
}

impl From<varve_crystal::Error> for CrawlError {
    fn from(error: varve_crystal::Error) -> Self {
        Self::Repository(error.into())
    }
}

/// ", and N more" for a list of which a message shows only the first.
pub fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more") }
}
