//! The headers of a captured response, made safe for replay.
//!
//! A browser would apply captured cookies, policies, preloads and reports to this server instead of
//! the original one. So only headers that describe the body keep their name. All others are renamed
//! to `X-Archive-Orig-…`, which people can read and browsers ignore.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use varve_core::headers::{HeaderView, is_sensitive};

/// Headers that describe a body, independently of the server.
const BODY_HEADERS: [&str; 5] =
    ["content-disposition", "content-language", "content-type", "last-modified", "x-content-type-options"];

/// Limit on the names and values of renamed headers together.
const MAX_RENAMED_BYTES: usize = 16 << 10;

/// The headers with which a captured response is replayed.
pub(super) fn safe_headers(view: &HeaderView) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut renamed_bytes = 0;
    for (name, value) in view.pairs() {
        if is_sensitive(name) {
            continue;
        }
        let Ok(value) = HeaderValue::from_str(value).or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
        else {
            continue;
        };
        if BODY_HEADERS.contains(&name) {
            headers.entry(header_name(name)).or_insert(value);
            continue;
        }
        renamed_bytes += name.len() + value.len();
        if let Ok(name) = HeaderName::try_from(format!("x-archive-orig-{name}"))
            && renamed_bytes <= MAX_RENAMED_BYTES
        {
            headers.append(name, value);
        }
    }
    headers
}

fn header_name(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).expect("the names in the list above are names")
}

/// The first value of a header.
pub(super) fn first_value<'v>(view: &'v HeaderView, name: &str) -> Option<&'v str> {
    view.get(name)?.first().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::headers::Redaction;

    #[test]
    fn headers_that_browsers_act_on_are_renamed() {
        let pairs = [
            ("content-type", "text/html"),
            ("set-cookie", "a=b"),
            ("content-security-policy", "x"),
            ("link", "<http://live/>; rel=preload"),
            ("x", "a\r\nset-cookie: evil=1"),
            ("bad name", "x"),
            ("x-é", "x"),
            ("clear-site-data", "\"*\""),
        ];
        let headers = safe_headers(&HeaderView::from_pairs(pairs, Redaction::Off));
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "content-type",
                "x-archive-orig-clear-site-data",
                "x-archive-orig-content-security-policy",
                "x-archive-orig-link"
            ]
        );
    }

    #[test]
    fn renamed_headers_are_limited() {
        let many = (0..10_000).map(|number| (format!("x-{number}"), "y".repeat(100)));
        let headers = safe_headers(&HeaderView::from_pairs(many, Redaction::Off));
        assert!(headers.len() < 200, "{}", headers.len());
    }
}
