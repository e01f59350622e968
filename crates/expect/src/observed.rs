//! What the web answered, as far as an expectation can speak of it.

use varve_core::BodyId;

/// One answer to a request, with the redirects on the way to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The status of the last answer; nothing if there was none.
    pub status: Option<u16>,
    /// The redirects that were followed to it, first to last. One that was not followed is the last answer itself.
    pub redirects: Vec<Redirect>,
    /// Where the last answer leads, if it is a redirect that was not followed.
    pub location: Option<String>,
    /// The `Content-Type` of the last answer, as it was sent.
    pub media_type: Option<String>,
    /// How many bytes its body had, with codings removed; nothing if it was not read to its end.
    pub length: Option<u64>,
    /// The SHA-256 of those bytes.
    pub sha256: Option<BodyId>,
    /// Where the last answer came from.
    pub final_url: Option<String>,
    /// Why there is no whole answer.
    pub error: Option<String>,
}

/// One redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Its status.
    pub status: u16,
    /// Where it led.
    pub location: String,
}

impl Observed {
    /// That there was no answer.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }

    /// The status of the first answer.
    pub fn first_status(&self) -> Option<u16> {
        self.redirects.first().map(|redirect| redirect.status).or(self.status)
    }

    /// The status of the first answer, if that is a redirect: one that says where to.
    pub fn first_redirect(&self) -> Option<u16> {
        if let Some(followed) = self.redirects.first() {
            return Some(followed.status);
        }
        self.status.filter(|status| is_redirect(*status) && self.location.is_some())
    }
}

/// Whether an answer with that status and a location leads elsewhere.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}
