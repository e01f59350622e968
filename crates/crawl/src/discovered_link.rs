//! A link of a response: the URL to request, the reason, and its identity for deduplication.

use std::borrow::Cow;

use varve_core::url::RequestUrl;

use super::fetch_reason::FetchReason;
use super::links_over_limit::LinksOverLimit;
use super::skip_rule::SkipRule;

/// A link that is followed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DiscoveredLink {
    /// The URL to request, unless another spelling of the page was requested before.
    pub(crate) url: RequestUrl,
    /// Whether only this spelling will do, though the page may be known by another.
    pub(crate) is_exact: bool,
    /// Why it is fetched.
    pub(crate) reason: FetchReason,
    /// Whether the response redirects there.
    pub(crate) is_redirect: bool,
    /// How often the redirects before it requested this URL.
    pub(crate) visits: u8,
}

impl DiscoveredLink {
    /// A link to a URL in any of its spellings.
    pub(crate) fn new(url: RequestUrl, reason: FetchReason) -> Self {
        Self { url, is_exact: false, reason, is_redirect: false, visits: 0 }
    }

    /// A link to this spelling of a URL.
    pub(crate) fn exact(url: RequestUrl, reason: FetchReason) -> Self {
        Self { is_exact: true, ..Self::new(url, reason) }
    }

    /// Links with the same identity and reason are fetched once.
    pub(crate) fn identity(&self) -> Cow<'_, str> {
        match (self.visits, self.is_exact) {
            (0, false) => Cow::Borrowed(self.url.page().as_str()),
            (0, true) => Cow::Owned(format!("={}", self.url)),
            (visits, _) => Cow::Owned(format!("={visits}={}", self.url)),
        }
    }
}

/// A link that is reported and not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnfollowedLink {
    /// The URL, or the text that is none.
    pub(crate) url: String,
    /// The identity of the page.
    pub(crate) identity: String,
    /// The rule by which it is not followed.
    pub(crate) rule: SkipRule,
}

impl UnfollowedLink {
    /// A link to a URL.
    pub(crate) fn new(url: &RequestUrl, rule: SkipRule) -> Self {
        Self { url: url.to_string(), identity: url.page().to_string(), rule }
    }

    /// A redirect to a text that is no URL of the web.
    pub(crate) fn foreign(text: String, rule: SkipRule) -> Self {
        Self { identity: text.clone(), url: text, rule }
    }
}

/// The links of a response.
#[derive(Debug, Default)]
pub(crate) struct ResponseLinks {
    /// Links to follow, each once.
    pub(crate) followed: Vec<DiscoveredLink>,
    /// Links to report.
    pub(crate) unfollowed: Vec<UnfollowedLink>,
    /// The different links beyond the limit of one response, which are not followed.
    pub(crate) over_limit: LinksOverLimit,
    /// The limit at which reading the response for links ended early, if it did.
    pub(crate) stopped_at: Option<&'static str>,
}
