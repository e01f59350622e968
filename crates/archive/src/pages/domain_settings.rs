//! How the pages of a domain are fetched: which settings apply to a URL, and which are refused.
//!
//! Settings come from `varve.toml`, or over the API; those of the API come first. Settings of the API
//! are facts, which stay in the silos, so headers that carry credentials are refused.

use varve_core::headers::is_sensitive;
use varve_core::history::DomainSettings;

/// Maximum length of a domain, of the name of a site and of a `fetch_client`, in characters.
const MAX_NAME_CHARS: usize = 255;
/// Maximum length of a `User-Agent`, in characters.
const MAX_USER_AGENT_CHARS: usize = 512;
/// Maximum length of a domain name, in bytes.
const MAX_DOMAIN_BYTES: usize = 253;
/// Minimum length of a domain name, in bytes.
const MIN_DOMAIN_BYTES: usize = 4;
/// Maximum length of a label, in bytes.
const MAX_LABEL_BYTES: usize = 63;
/// Maximum number of settings in one answer.
pub(super) const MAX_LISTED_DOMAINS: usize = 1_000;

/// Why settings of a domain are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainSettingsError {
    /// The text is not a domain.
    #[error("`{}` is not a domain", _0.escape_debug())]
    Domain(String),
    /// A query has characters that no domain has.
    #[error("`{}` is not a query: it may have letters, digits, `.` and `-`, and `*` at its ends", _0.escape_debug())]
    Query(String),
    /// A value is too long.
    #[error("`{field}` has more than {limit} characters")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Maximum number of characters.
        limit: usize,
    },
    /// A header that cannot be sent.
    #[error("`{}` is not a valid header", _0.escape_debug())]
    Header(String),
    /// A header that carries credentials, which must not be stored.
    #[error("the header `{0}` may carry credentials, which are not stored in an archive")]
    SecretHeader(String),
}

/// A query for the settings of domains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainQuery {
    /// The text that domains contain, or with `*` at one end begin or end with; all if empty.
    pub text: String,
    /// The number of settings to pass over.
    pub offset: usize,
    /// Maximum number of settings; at most 1000, which is the default.
    pub limit: Option<usize>,
}
