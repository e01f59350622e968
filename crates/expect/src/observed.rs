//! An observed response: the facts that an expectation can be about.

use varve_core::BodyId;

/// One response to a request, with the redirects before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The status of the last response; `None` if there was none.
    pub status: Option<u16>,
    /// The redirects that were followed to it, first to last. A redirect that was not followed is
    /// the last response itself.
    pub redirects: Vec<Redirect>,
    /// The location of the last response, if it is a redirect that was not followed.
    pub location: Option<String>,
    /// The `Content-Type` of the last response, as sent.
    pub media_type: Option<String>,
    /// The length of its body with codings removed; `None` if it was not read to its end.
    pub length: Option<u64>,
    /// The SHA-256 of those bytes.
    pub sha256: Option<BodyId>,
    /// The URL of the last response.
    pub final_url: Option<String>,
    /// Why there is no complete response.
    pub error: Option<String>,
    /// Why the last redirect cannot be followed, although there is a response: it leads back, or to
    /// no URL, or there are too many.
    pub dead_end: Option<String>,
}

/// One redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Its status.
    pub status: u16,
    /// Its location.
    pub location: String,
}

impl Observed {
    /// A request without a response.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }

    /// The status of the first response.
    pub fn first_status(&self) -> Option<u16> {
        self.redirects.first().map(|redirect| redirect.status).or(self.status)
    }

    /// The status of the first response, if that is a redirect with a location.
    pub fn first_redirect(&self) -> Option<u16> {
        if let Some(followed) = self.redirects.first() {
            return Some(followed.status);
        }
        self.status.filter(|status| is_redirect(*status) && self.location.is_some())
    }
}

/// Whether a response with that status and a location is a redirect.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}
