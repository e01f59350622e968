//! Crystal's own URL scheme, and the prefixes of URLs that its settings use.

/// Crystal's own scheme, whose URLs name no page that could be kept.
const OWN_SCHEME: &str = "crystal:";
/// How Crystal writes a URL that an alias leads out of the project.
pub const EXTERNAL_MARKER: &str = "crystal://external/";
/// Whether a URL is of Crystal's own scheme.
pub(crate) fn is_own_scheme(url: &str) -> bool {
    url.get(..OWN_SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(OWN_SCHEME))
}

/// The scheme and authority of a URL, as `default_url_prefix` has them for a whole site: no slash
/// at the end.
pub fn domain_prefix(url: &str) -> Option<&str> {
    let authority = url.find("://")? + 3;
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |length| authority + length);
    (end > authority).then_some(&url[..end])
}

/// The folder of a URL, as `default_url_prefix` has it: no slash at the end, no query.
pub fn directory_prefix(url: &str) -> Option<&str> {
    let domain = domain_prefix(url)?.len();
    let path_end = url[domain..].find(['?', '#']).map_or(url.len(), |length| domain + length);
    let slash = url[domain..path_end].rfind('/').map_or(domain, |length| domain + length);
    Some(&url[..slash])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_before_the_slash() {
        for (url, domain, directory) in [
            ("https://a.com/x/y?z=/1", "https://a.com", "https://a.com/x"),
            ("https://a.com:8/x#/y", "https://a.com:8", "https://a.com:8"),
            ("https://a.com", "https://a.com", "https://a.com"),
            ("https://a.com?/x", "https://a.com", "https://a.com"),
        ] {
            assert_eq!((domain_prefix(url), directory_prefix(url)), (Some(domain), Some(directory)), "{url}");
        }
        for url in ["mailto:a@b", "https:///x", ""] {
            assert_eq!((domain_prefix(url), directory_prefix(url)), (None, None), "{url}");
        }
    }

    #[test]
    fn the_own_scheme_is_known_in_any_case() {
        assert!(is_own_scheme(EXTERNAL_MARKER) && is_own_scheme("CRYSTAL:x"));
        assert!(!is_own_scheme("https://crystal/") && !is_own_scheme("crystä:x"));
    }
}
