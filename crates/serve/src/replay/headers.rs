//! The headers of an archived answer, made safe: few keep their name, the rest say whose they were.
//!
//! Whatever tells a browser what to do besides showing this body would tell it about this server, and not about the one that
//! it came from: cookies, policies, transport, reports, preloads. So only what describes the body is passed on, and everything
//! else is renamed to `X-Archive-Orig-…`, where people can read it and browsers do not.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use varve_core::headers::{HeaderView, is_sensitive};

/// What describes a body, whoever serves it.
const PASSED: [&str; 5] =
    ["content-disposition", "content-language", "content-type", "last-modified", "x-content-type-options"];

/// So many bytes of other headers are told.
const MOST: usize = 16 << 10;

/// The headers that an archived answer is shown with.
pub(super) fn safe(view: &HeaderView) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut told = 0;
    for (name, value) in view.pairs() {
        if is_sensitive(name) {
            continue;
        }
        let Ok(value) = HeaderValue::from_str(value).or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
        else {
            continue;
        };
        if PASSED.contains(&name) {
            headers.entry(name_of(name)).or_insert(value);
            continue;
        }
        told += name.len() + value.len();
        if let Ok(name) = HeaderName::try_from(format!("x-archive-orig-{name}"))
            && told <= MOST
        {
            headers.append(name, value);
        }
    }
    headers
}

fn name_of(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).expect("the names in the list above are names")
}

/// The first value of a header.
pub(super) fn first<'v>(view: &'v HeaderView, name: &str) -> Option<&'v str> {
    view.get(name)?.first().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::headers::Redaction;

    #[test]
    fn nothing_gets_through_that_browsers_obey() {
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
        let headers = safe(&HeaderView::from_pairs(pairs, Redaction::Off));
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
    fn a_flood_is_cut() {
        let many = (0..10_000).map(|number| (format!("x-{number}"), "y".repeat(100)));
        let headers = safe(&HeaderView::from_pairs(many, Redaction::Off));
        assert!(headers.len() < 200, "{}", headers.len());
    }
}
