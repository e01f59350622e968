//! How the pages of a domain are fetched: which settings apply to a URL, and which are refused.
//!
//! Settings come from `varve.toml`, or over the API; those of the API come first. Settings of the API
//! are facts, which stay in the silos, so headers that carry credentials are refused.

use std::collections::BTreeMap;

use varve_core::headers::is_sensitive;
use varve_core::history::{DomainSettings, StoredDomainSettings};
use varve_core::url::RequestUrl;

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

/// The domain in lower case, or why it is none.
pub(super) fn checked_domain(text: &str) -> Result<String, DomainSettingsError> {
    let domain = text.to_ascii_lowercase();
    let refused = || DomainSettingsError::Domain(text.to_owned());
    let is_label = |label: &str| {
        let is_allowed = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-';
        let starts_well = label.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(is_allowed)
            && starts_well
            && !label.ends_with('-')
            && !label.contains("--")
    };
    let (rest, top) = domain.rsplit_once('.').ok_or_else(refused)?;
    let has_length = (MIN_DOMAIN_BYTES..=MAX_DOMAIN_BYTES).contains(&domain.len());
    let is_top =
        (2..=MAX_LABEL_BYTES).contains(&top.len()) && top.bytes().all(|letter| letter.is_ascii_alphabetic());
    if has_length && is_top && rest.split('.').all(is_label) { Ok(domain) } else { Err(refused()) }
}

/// Fails if settings are too long, cannot be sent or must not be stored.
pub(super) fn check_settings(settings: &DomainSettings) -> Result<(), DomainSettingsError> {
    let within = |field, text: &Option<String>, limit| match text {
        Some(text) if text.chars().count() > limit => Err(DomainSettingsError::TooLong { field, limit }),
        _ => Ok(()),
    };
    within("sitename", &settings.sitename, MAX_NAME_CHARS)?;
    within("user_agent", &settings.user_agent, MAX_USER_AGENT_CHARS)?;
    let is_text = |text: &str| !text.bytes().any(|byte| byte < b' ' || byte == 0x7f);
    if let Some(user_agent) = settings.user_agent.as_deref().filter(|text| !is_text(text)) {
        return Err(DomainSettingsError::Header(user_agent.to_owned()));
    }
    for (name, value) in &settings.headers {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) || !is_text(value) {
            return Err(DomainSettingsError::Header(name.clone()));
        }
        let lower = name.to_ascii_lowercase();
        if is_sensitive(&lower) {
            return Err(DomainSettingsError::SecretHeader(name.clone()));
        }
        if UNSETTABLE_HEADERS.contains(&lower.as_str()) {
            return Err(DomainSettingsError::Header(name.clone()));
        }
    }
    Ok(())
}

/// Headers that a client sets itself.
const UNSETTABLE_HEADERS: [&str; 6] =
    ["connection", "content-length", "host", "te", "transfer-encoding", "upgrade"];

/// The settings of the most specific domain that a URL belongs to. `find` looks one domain up.
pub(super) fn settings_of_url<E>(
    url: &str,
    find: impl Fn(&str) -> Result<Option<DomainSettings>, E>,
) -> Result<DomainSettings, E> {
    let Some(url) = RequestUrl::parse(url) else { return Ok(DomainSettings::default()) };
    // A host may have one label, as on an internal network. The domain above all others has no
    // settings.
    let mut domain = Some(url.page().host());
    while let Some(name) = domain {
        if let Some(settings) = find(name)? {
            return Ok(settings);
        }
        domain = name.split_once('.').map(|(_, parent)| parent).filter(|parent| parent.contains('.'));
    }
    Ok(DomainSettings::default())
}

impl DomainQuery {
    /// Selects settings by domain.
    pub(super) fn select(
        &self,
        all: BTreeMap<String, DomainSettings>,
    ) -> Result<Vec<StoredDomainSettings>, DomainSettingsError> {
        let text = self.text.to_ascii_lowercase();
        let (is_open_before, is_open_after) = match text.starts_with('*') || text.ends_with('*') {
            true => (text.starts_with('*'), text.ends_with('*')),
            false => (true, true),
        };
        let bare = text.trim_start_matches('*').trim_end_matches('*');
        if !bare
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte))
        {
            return Err(DomainSettingsError::Query(self.text.clone()));
        }
        let is_wanted = |domain: &str| match (is_open_before, is_open_after) {
            (true, true) => domain.contains(bare),
            (true, false) => domain.ends_with(bare),
            (false, true) => domain.starts_with(bare),
            (false, false) => domain == bare,
        };
        let limit = self.limit.unwrap_or(MAX_LISTED_DOMAINS).min(MAX_LISTED_DOMAINS);
        let wanted = all.into_iter().filter(|(domain, _)| is_wanted(domain));
        let wanted = wanted.skip(self.offset).take(limit);
        Ok(wanted.map(|(domain, settings)| StoredDomainSettings { domain, settings }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_a_dot_and_ordinary_labels() {
        for domain in ["example.com", "sub.example.com", "example-pie.com", "EXAMPLE.com"] {
            assert_eq!(checked_domain(domain), Ok(domain.to_ascii_lowercase()));
        }
        let invalid = [
            "example",
            "example-.com",
            "www.-example.com",
            "example--pie.com",
            "example..com",
            "example!.com",
            "example.com.",
            "x.inva1id",
            "",
            "a.b",
        ];
        for domain in invalid {
            assert!(checked_domain(domain).is_err(), "{domain}");
        }
    }

    #[test]
    fn headers_with_credentials_and_broken_ones_are_refused() {
        let with = |name: &str, value: &str| DomainSettings {
            headers: BTreeMap::from([(name.to_owned(), value.to_owned())]),
            ..DomainSettings::default()
        };
        assert_eq!(check_settings(&with("X-Special", "1")), Ok(()));
        let secret = check_settings(&with("Authorization", "Basic c2VzYW1l")).unwrap_err();
        assert_eq!(secret, DomainSettingsError::SecretHeader("Authorization".to_owned()));
        for (name, value) in [("Host", "other.example"), ("a b", "1"), ("X-A", "1\r\nX-B: 2"), ("", "1")] {
            assert!(
                matches!(check_settings(&with(name, value)), Err(DomainSettingsError::Header(_))),
                "{name}"
            );
        }
        let long = DomainSettings { user_agent: Some("x".repeat(513)), ..DomainSettings::default() };
        assert!(matches!(check_settings(&long), Err(DomainSettingsError::TooLong { .. })));
    }

    #[test]
    fn the_most_specific_domain_decides() {
        let agent = |text: &str| DomainSettings { user_agent: Some(text.to_owned()), ..Default::default() };
        let all = BTreeMap::from([
            ("example.com", agent("wide")),
            ("a.example.com", agent("narrow")),
            ("intranet", agent("internal")),
            ("com", agent("never")),
        ]);
        let of = |url: &str| settings_of_url(url, |domain| Ok::<_, ()>(all.get(domain).cloned())).unwrap();
        assert_eq!(of("https://b.example.com/x"), agent("wide"));
        assert_eq!(of("https://www.a.example.com/x"), agent("narrow"));
        assert_eq!(of("https://notexample.com/"), DomainSettings::default());
        assert_eq!(of("http://intranet:8080/x"), agent("internal"));
    }

    #[test]
    fn a_query_finds_parts_of_domains() {
        let all: BTreeMap<String, DomainSettings> = ["wee.com", "sweet.org", "zwee.net", "zwee"]
            .map(|domain| (domain.to_owned(), Default::default()))
            .into();
        let found = |text: &str| {
            let query = DomainQuery { text: text.to_owned(), ..DomainQuery::default() };
            query.select(all.clone()).map(|found| found.into_iter().map(|one| one.domain).collect::<Vec<_>>())
        };
        assert_eq!(found("").unwrap().len(), 4);
        assert_eq!(found("*").unwrap().len(), 4);
        assert_eq!(found("weE").unwrap().len(), 4);
        assert_eq!(found("*wee").unwrap(), ["zwee"]);
        assert_eq!(found("wee*").unwrap(), ["wee.com"]);
        assert!(found("x:com").is_err());
        let paged = DomainQuery { offset: 1, limit: Some(2), ..DomainQuery::default() };
        assert_eq!(paged.select(all.clone()).unwrap().len(), 2);
    }
}
