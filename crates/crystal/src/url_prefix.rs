//! Crystal's own URL scheme, and the prefixes of URLs that its settings use.

/// Crystal's own scheme, whose URLs name no page that could be kept.
const OWN_SCHEME: &str = "crystal:";
/// How Crystal writes a URL that an alias leads out of the project.
pub(crate) const EXTERNAL_MARKER: &str = "crystal://external/";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_before_the_slash() {
        for (url, domain) in [
            ("https://a.com/x/y?z=/1", Some("https://a.com")),
            ("https://a.com:8/x#/y", Some("https://a.com:8")),
            ("https://a.com", Some("https://a.com")),
            ("https://a.com?/x", Some("https://a.com")),
            ("mailto:a@b", None),
            ("https:///x", None),
            ("", None),
        ] {
            assert_eq!(domain_prefix(url), domain, "{url}");
        }
    }

    #[test]
    fn the_own_scheme_is_known_in_any_case() {
        assert!(is_own_scheme(EXTERNAL_MARKER) && is_own_scheme("CRYSTAL:x"));
        assert!(!is_own_scheme("https://crystal/") && !is_own_scheme("crystä:x"));
    }
}
