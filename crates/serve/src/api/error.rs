//! Errors of the API: a status and one line of plain text, as clients of scrape expect them.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{self, HeaderValue};
use varve_archive::ArchiveError;
use varve_archive::pages::PageError;
use varve_archive::verbs::key::ShownUrl;

use crate::archive_failure::ArchiveFailure;
use crate::response::{self, ResponseHeaders};

/// Seconds after which a client may try again if all places for requests are taken.
const RETRY_AFTER_SECONDS: &str = "10";

/// The answer to what would write, or fetch, where nothing may be written.
const READ_ONLY_MESSAGE: &str = "This server only reads: `--readonly` was given, index and catalog are not those of \
                                 the archive, or other machines can connect and there is no signing key";

/// Why a request of the API is not answered.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The request is not valid.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// A body is longer than `limit` bytes.
    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("Invalid request: the body is longer than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// A token is missing or not valid.
    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// All places for requests that fetch are taken.
    pub(crate) fn overloaded() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Too many requests are waiting; try again later")
    }

    /// The server was started on another layout than an archive, so nothing can be extracted.
    pub(crate) fn no_service() -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "Only an archive of varve extracts pages")
    }

    /// A feed could not be read. Clients of scrape expect no page object here.
    pub(crate) fn of_feed(url: &str, error: PageError) -> Self {
        match error {
            PageError::Timeout { .. } => Self::new(StatusCode::GATEWAY_TIMEOUT, with_causes(&error)),
            error if error.page().is_some() || is_fetch_failure(&error) => {
                let message = format!("Error fetching {}: {}", ShownUrl(url), with_causes(&error));
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
            }
            error => error.into(),
        }
    }

    /// A bug.
    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "This is a bug in varve")
    }
}

/// Whether a URL has no usable response.
fn is_fetch_failure(error: &PageError) -> bool {
    matches!(
        error,
        PageError::InvalidUrl(_)
            | PageError::Refused { .. }
            | PageError::Unreachable { .. }
            | PageError::Redirects { .. }
            | PageError::Feed { .. }
    )
}

impl From<PageError> for ApiError {
    fn from(error: PageError) -> Self {
        let status = match error {
            PageError::Archive(error) => return error.into(),
            PageError::NotFound(_) => return Self::new(StatusCode::GONE, "Not found"),
            PageError::ReadOnly => return Self::new(StatusCode::NOT_IMPLEMENTED, READ_ONLY_MESSAGE),
            PageError::UserInfo(_) | PageError::Domain(_) => StatusCode::BAD_REQUEST,
            PageError::NoCapture { .. } => StatusCode::NOT_FOUND,
            PageError::HeadlessDisabled(_) | PageError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            PageError::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
            PageError::ContentType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            PageError::InvalidUrl(_)
            | PageError::Refused { .. }
            | PageError::Unreachable { .. }
            | PageError::Redirects { .. }
            | PageError::TargetStatus { .. }
            | PageError::Extraction { .. }
            | PageError::Repeated { .. }
            | PageError::Feed { .. }
            | PageError::BatchSize(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, with_causes(&error))
    }
}

/// An error and its causes on one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl From<ArchiveError> for ApiError {
    fn from(error: ArchiveError) -> Self {
        let failure = ArchiveFailure::of(&error);
        let remedy = failure.remedy.map(|remedy| format!(". {remedy}")).unwrap_or_default();
        Self::new(failure.status, format!("{error}{remedy}"))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let text = format!("{}\n", self.message);
        let response = response::text(self.status, "text/plain; charset=utf-8", text);
        match self.status {
            StatusCode::UNAUTHORIZED => {
                response.with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                response.with(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS))
            }
            _ => response,
        }
    }
}
