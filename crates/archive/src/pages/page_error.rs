//! Why a page has no extraction: a closed list, so that an HTTP API can answer each with its status.

use varve_core::Moment;
use varve_core::history::FetchMethod;
use varve_core::secret::ShownUrl;
use varve_extract::{ExtractError, ExtractedPage};
use varve_fetch::FetchError;
use varve_repository::RepositoryError;

use super::DomainSettingsError;
use super::url_request::UrlRequest;
use crate::error::ArchiveError;

/// Why there is no extraction of a page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The text is not an absolute URL of the web.
    #[error("`{}` is not a web URL", ShownUrl(_0).to_string().escape_debug())]
    InvalidUrl(String),
    /// The URL contains a user name or a password.
    #[error("`{0}` contains a user name or a password")]
    UserInfo(String),
    /// The address guard refuses the URL, or one that it redirects to.
    #[error("`{}` may not be fetched", ShownUrl(url))]
    Refused {
        /// The refused URL.
        url: String,
        /// The reason of the guard.
        source: Box<FetchError>,
    },
    /// The server did not reply in time.
    #[error("{} did not reply within {seconds} seconds", ShownUrl(url))]
    Timeout {
        /// The URL.
        url: String,
        /// The timeout, in seconds.
        seconds: u64,
    },
    /// There is no response.
    #[error("`{}` could not be fetched", ShownUrl(url))]
    Unreachable {
        /// The URL.
        url: String,
        /// The cause.
        source: Box<FetchError>,
    },
    /// Too many redirects in a row, or a redirect to what is not a URL of the web.
    #[error("`{}` redirects {}", ShownUrl(url), if *is_endless { "too often" } else { "to what is no web URL" })]
    Redirects {
        /// The URL.
        url: String,
        /// Whether there were too many.
        is_endless: bool,
    },
    /// The server answered with a status of 400 or above. The response was captured.
    #[error("`{}` answered with status {status}", ShownUrl(&page.url))]
    TargetStatus {
        /// The status.
        status: u16,
        /// The page without content, with `error` and `status_code`.
        page: Box<ExtractedPage>,
    },
    /// The response is neither HTML nor plain text. It was captured.
    #[error("`{}` has the content type `{}`, which cannot be extracted", ShownUrl(&page.url), media_type.escape_debug())]
    ContentType {
        /// The media type; empty if the response has none.
        media_type: String,
        /// The page without content, with `error`.
        page: Box<ExtractedPage>,
    },
    /// The main content of the page could not be read. The response was captured.
    #[error("`{}` could not be extracted", ShownUrl(&page.url))]
    Extraction {
        /// The cause.
        source: ExtractError,
        /// What could be read, with `error`.
        page: Box<ExtractedPage>,
    },
    /// Another URL of the batch leads to the same page, which could not be read.
    #[error("{}", page.error.as_deref().unwrap_or("the page could not be read"))]
    Repeated {
        /// The page object of the first error.
        page: Box<ExtractedPage>,
    },
    /// The response is no feed.
    #[error("`{}` is not a feed", ShownUrl(url))]
    Feed {
        /// The URL.
        url: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no saved extraction of the URL.
    #[error("there is no extraction of `{}`", ShownUrl(_0).to_string().escape_debug())]
    NotFound(String),
    /// Nothing was captured of the URL, or not by the requested time.
    #[error("nothing was captured of `{}`{}", ShownUrl(url).to_string().escape_debug(), at.map(|at| format!(" until {at}")).unwrap_or_default())]
    NoCapture {
        /// The URL.
        url: String,
        /// The requested time.
        at: Option<Moment>,
    },
    /// The page is to be loaded in a browser, as the request or the settings of its domain say, and
    /// none is configured.
    #[error("`{}` is to be loaded in a browser, and there is none", ShownUrl(_0))]
    HeadlessDisabled(String),
    /// A batch has no URL, or too many.
    #[error("{}", if *_0 == 0 { "No URLs provided".to_owned() } else { format!("{_0} URLs are more than {}", super::MAX_BATCH_URLS) })]
    BatchSize(usize),
    /// The archive may not be written, so that nothing can be fetched.
    #[error("the archive is read-only")]
    ReadOnly,
    /// Another process was writing to the archive for too long.
    #[error("another process is writing to the archive: {0}")]
    Busy(String),
    /// The settings of a domain are invalid.
    #[error(transparent)]
    Domain(#[from] DomainSettingsError),
    /// The archive failed, or the options of the network are invalid.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl PageError {
    /// What was read of the page in spite of the error.
    pub fn page(&self) -> Option<&ExtractedPage> {
        match self {
            Self::TargetStatus { page, .. }
            | Self::ContentType { page, .. }
            | Self::Extraction { page, .. }
            | Self::Repeated { page } => Some(page),
            _ => None,
        }
    }

    /// Whether the page may have text once its scripts have run: it was read without a browser, and
    /// has none.
    pub fn may_need_browser(&self) -> bool {
        let Self::Extraction { source: ExtractError::NoText, page } = self else { return false };
        page.fetch_method == FetchMethod::Direct
    }

    pub(super) fn page_mut(&mut self) -> Option<&mut ExtractedPage> {
        match self {
            Self::TargetStatus { page, .. }
            | Self::ContentType { page, .. }
            | Self::Extraction { page, .. } => Some(page),
            _ => None,
        }
    }

    /// The page object for this error in a list, which has an answer for every URL. `original_url` is
    /// empty if it is not known.
    pub fn into_page(self, original_url: &str) -> ExtractedPage {
        let page = self.to_page();
        let given = Some(original_url.to_owned()).filter(|url| !url.is_empty());
        let cleaned = || UrlRequest::parse(original_url).ok().map(|request| request.cleaned.url);
        let requested_url = page.requested_url.or_else(cleaned);
        ExtractedPage { original_url: given.or(page.original_url), requested_url, ..page }
    }

    /// What was read of the page in spite of the error, with `error`.
    pub(super) fn to_page(&self) -> ExtractedPage {
        let only_error = || ExtractedPage { error: Some(message(self)), ..ExtractedPage::default() };
        self.page().cloned().unwrap_or_else(only_error)
    }
}

/// The error and its causes, in one line.
fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

impl From<RepositoryError> for PageError {
    fn from(error: RepositoryError) -> Self {
        ArchiveError::from(error).into()
    }
}
