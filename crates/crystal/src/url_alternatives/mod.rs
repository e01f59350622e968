//! The alternatives of a URL: the texts under which a Crystal project may store it, from the oldest
//! rule to the newest.
//!
//! Each step normalises the URL further and appends the result if it differs. The project is
//! searched for them in order, and the first match wins; a new resource is stored under the last.
//! So these rules must not be improved: a better rule would give another identity. Unlike the rules
//! of `varve_core::url`, these never fail.

mod firehose;
mod loose;
mod requote;
mod sites;

pub use sites::{KnownSite, SiteRule, SiteRules, ValueClass};

use loose::LooseParts;
use requote::requote;
use varve_core::alias::{AliasTarget, Aliases};

/// The alternatives of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlAlternatives {
    /// The URL as given, then its normalised forms in order.
    pub urls: Vec<String>,
    /// The URL on the live web to which an alias leads, if one does. Then the URL means no resource
    /// of the project.
    pub external: Option<String>,
}

impl UrlAlternatives {
    /// The last form inside the project: a new resource is stored under it.
    pub fn canonical(&self) -> &str {
        self.urls.last().expect("the URL as it was given is always there")
    }
}

/// The alternatives of a URL under these site rules and aliases.
pub fn url_alternatives(url: &str, sites: &SiteRules, aliases: &Aliases) -> UrlAlternatives {
    let mut found = UrlAlternatives { urls: vec![url.to_owned()], external: None };
    let mut current = general(url, &mut found.urls);
    for site in &sites.0 {
        if let Some(next) = site.apply(&current).filter(|next| *next != current) {
            found.urls.push(next.clone());
            current = next;
        }
    }
    match aliases.apply(&current) {
        Some(AliasTarget::Internal(url)) if url != current => found.urls.push(url),
        Some(AliasTarget::External(url)) => found.external = Some(url),
        _ => {}
    }
    found
}

/// The steps that apply to URLs of all sites. The result may differ from all alternatives in the
/// details that parsing and writing change (the case of the scheme, an empty fragment), which are
/// ignored.
fn general(url: &str, urls: &mut Vec<String>) -> String {
    let mut parts = LooseParts::of(url);
    if !parts.fragment.is_empty() {
        parts.fragment.clear();
        urls.push(parts.to_string());
    }
    if !["http", "https"].contains(&parts.scheme.as_str()) {
        return parts.to_string();
    }
    if parts.authority.is_ascii() && parts.authority.bytes().any(|byte| byte.is_ascii_uppercase()) {
        parts.authority.make_ascii_lowercase();
        urls.push(parts.to_string());
    }
    if parts.path.is_empty() {
        parts.path.push('/');
        urls.push(parts.to_string());
    }
    let written = parts.to_string();
    let quoted = requote(&written);
    if quoted != written {
        urls.push(quoted.clone());
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(url: &str) -> Vec<String> {
        url_alternatives(url, &SiteRules::built_in(), &Aliases::default()).urls
    }

    #[test]
    fn each_step_appends_what_it_changed() {
        assert_eq!(
            urls("HTTP://B\u{fc}cher.DE#top"),
            [
                "HTTP://B\u{fc}cher.DE#top",
                "http://B\u{fc}cher.DE",
                "http://B\u{fc}cher.DE/",
                "http://B%C3%BCcher.DE/"
            ]
        );
        assert_eq!(urls("https://xkcd.com#hello").last().unwrap(), "https://xkcd.com/");
        assert_eq!(urls("http://[bad/x#f"), ["http://[bad/x#f"]);
    }

    #[test]
    fn site_rules_are_optional() {
        let url = "http://f.com/viewtopic.php?f=2&t=9&start=45&sid=abc";
        assert_eq!(urls(url).len(), 2);
        assert_eq!(url_alternatives(url, &SiteRules::default(), &Aliases::default()).urls, [url]);
    }
}
