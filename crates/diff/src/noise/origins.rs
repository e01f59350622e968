//! The origin of an address: scheme, host and port.
//!
//! Browsers accept addresses with tabs, backslashes or a user name before the host. Such an address
//! has no origin here.

use url::Url;
use varve_page::links::srcset::candidates;

/// The scheme, host and port of an absolute `http` or `https` address. `None` for any other
/// address.
pub(super) fn origin(address: &str) -> Option<String> {
    Some(plain(address)?.origin().ascii_serialization())
}

/// The origins of all addresses in an attribute. `None` if one of them has none.
pub(super) fn origins(attribute: &str, value: &str) -> Option<Vec<String>> {
    match attribute {
        "srcset" => candidates(value).map(|(_, address)| origin(address)).collect(),
        _ => Some(vec![origin(value)?]),
    }
}

/// Whether two absolute addresses are the same but for numbers in the query that both have.
pub(super) fn differ_by_query(from: &str, to: &str) -> bool {
    let is_number = |value: &str| value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let rest = |address: &str| {
        let mut url = plain(address).filter(|url| url.query().is_some())?;
        let query = url.query().unwrap_or_default().to_owned();
        let parts = query.split('&').map(|part| part.rsplit_once('=').unwrap_or(("", part)));
        let kept = parts.map(|(name, value)| format!("{name}={}", if is_number(value) { "" } else { value }));
        let kept = kept.collect::<Vec<_>>().join("&");
        url.set_query(Some(&kept));
        Some(url)
    };
    rest(from).is_some_and(|from| rest(to) == Some(from))
}

/// Whether an address is only a path, and so names no other host.
pub(super) fn is_path(address: &str) -> bool {
    let address = address.trim_matches(' ');
    !address.contains(is_odd) && !address.contains("//") && !address.contains([':', '%'])
}

fn plain(address: &str) -> Option<Url> {
    let address = address.trim_matches(|letter: char| letter.is_ascii_whitespace());
    let begins =
        |scheme: &str| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let is_web = begins("https://") || begins("http://");
    let url = Url::parse(address).ok().filter(|_| is_web && !address.contains(is_odd))?;
    (url.username().is_empty() && url.password().is_none() && url.host().is_some()).then_some(url)
}

/// Letters that browsers remove from an address or replace.
fn is_odd(letter: char) -> bool {
    letter.is_control() || letter == '\\'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (address, known) in [
            (" https://A.example/x?y#z", Some("https://a.example")),
            ("HTTPS://a.example:443", Some("https://a.example")),
            ("http://a.example:8080/", Some("http://a.example:8080")),
            ("https://a.example@evil.example/", None),
            ("https:a.example", None),
            ("//a.example/", None),
            ("/a", None),
            ("https:\\\\a.example", None),
            ("https://a.example\t.evil.example/", None),
            ("javascript:a()", None),
            ("data:text/html,x", None),
            ("ftp://a.example/", None),
            ("https://", None),
        ] {
            assert_eq!(origin(address).as_deref(), known, "{address}");
        }
        let set = "https://a.example/1,2 1x, https://b.example/ 2x";
        assert_eq!(origins("srcset", set).unwrap(), ["https://a.example", "https://b.example"]);
        assert_eq!(origins("srcset", "https://a.example/ 1x, /b 2x"), None);
    }

    #[test]
    fn a_query_is_all_that_may_differ() {
        assert!(differ_by_query("https://a.example/x?1", "https://a.example/x?2"));
        for other in [
            "https://a.example/y?2",
            "https://a.example/x",
            "http://a.example/x?2",
            "https://b.example/x?2",
            "/x?2",
            "https://a.example/x?u=https://b.example/",
            "https://a.example/x?callback=alert",
        ] {
            assert!(!differ_by_query("https://a.example/x?1", other), "{other}");
        }
        assert!(!differ_by_query("/x?1", "/x?2"));
    }

    #[test]
    fn a_path_leads_to_no_other_host() {
        for path in ["/a", "a/b", "?a=b", "#x", "", " /a "] {
            assert!(is_path(path), "{path}");
        }
        for other in [
            "//b",
            "/r?u=https://b",
            "/r?u=%2F%2Fb",
            "\\\\b",
            "/\t/b",
            "/\\b",
            "tel:1",
            "javascript:a",
            "java\nscript:a",
            " //b",
            "\u{1}//b",
        ] {
            assert!(!is_path(other), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn a_path_is_none_to_browsers_either(path in "(/|\\\\|:|\t| |a|//|\\.|\\?){0,8}") {
            let base = Url::parse("https://own.example/x/y").unwrap();
            if is_path(&path) && let Ok(url) = base.join(&path) {
                prop_assert_eq!(url.origin(), base.origin(), "{:?}", path);
            }
        }
    }
}
