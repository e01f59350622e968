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
    /// A response was recorded as a failure, because it is not HTTP or is truncated.
    #[error("{kind}: {}", message.escape_debug())]
    RecordedAsFailure {
        /// The kind of failure, as the project names it.
        kind: String,
        /// The message that the project records.
        message: String,
    },
    /// There is no run to resume.
    #[error("there is no unfinished run")]
    NoRun,
    /// The settings of the run cannot be parsed, so it cannot be resumed.
    #[error("the settings of the unfinished run cannot be read")]
    RunSettings(#[source] serde_json::Error),
    /// An unfinished run prevents the start of another.
    #[error("an earlier run is not finished")]
    UnfinishedRun,
    /// The credentials cannot be parsed.
    #[error("the credentials cannot be used")]
    Credentials(#[source] varve_fetch::CredentialsError),
    /// The file of cookies is not valid.
    #[error("could not read the cookies in {}", path.display())]
    Cookies {
        /// The file.
        path: std::path::PathBuf,
        /// The line, and what is wrong with it.
        source: varve_fetch::CookieFileError,
    },
    /// The run was begun with a secret that is not given now.
    #[error(
        "the run was begun with `{}` for `{}`{}, which is not given now",
        secret.name.escape_debug(), secret.origin.escape_debug(), and_more(*.more)
    )]
    SecretMissing {
        /// The first missing secret.
        secret: crate::network_options::SecretName,
        /// The number of further missing secrets.
        more: usize,
    },
    /// An entry of the list of private addresses is invalid.
    #[error(transparent)]
    Allow(#[from] varve_fetch::guard::AllowError),
    /// A proxy is invalid.
    #[error(transparent)]
    Proxy(#[from] varve_fetch::ProxyError),
    /// The certificates cannot be used.
    #[error("the certificates cannot be used")]
    Roots(#[source] varve_fetch::RootsError),
    /// No browser was found.
    #[error("there is no Chromium to load pages with")]
    NoBrowser,
    /// The program that should load pages is not Chromium.
    #[error("`{}` is no Chromium: asked for its version, it {said}", path.display())]
    NotABrowser {
        /// The path of the program.
        path: PathBuf,
        /// How the program answered the request for its version.
        said: String,
    },
    /// Threads could not be started.
    #[error("threads could not be started")]
    Threads(#[source] io::Error),
}

impl CrawlError {
    /// Whether the archive itself is unusable, as opposed to one page.
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
