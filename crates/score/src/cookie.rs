//! Cookies of a response and query parameters of an address, read leniently and with limits.

use crate::surface::{ElementPlace, PageCookie, RequestParameter};
use std::collections::BTreeSet;
use varve_core::headers::REDACTED_VALUE;

/// Maximum number of cookies, and of parameters.
pub(crate) const MAX_SCORED_COOKIES: usize = 2_000;

/// Reads a `Set-Cookie` value. `None` if it is redacted.
pub(crate) fn read_cookie(value: &str) -> Option<PageCookie> {
    if value.trim() == REDACTED_VALUE {
        return None;
    }
    let mut parts = value.split(';').map(str::trim);
    let pair = parts.next().unwrap_or_default();
    let name = pair.split_once('=').map_or(pair, |(name, _)| name).trim();
    let mut cookie = PageCookie { name: short(name), ..PageCookie::default() };
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match key.trim().to_ascii_lowercase().as_str() {
            "secure" => cookie.secure = true,
            "httponly" => cookie.http_only = true,
            "domain" => cookie.domain = short(value.trim()),
            "path" => cookie.path = short(value.trim()),
            "samesite" => cookie.same_site = short(value.trim()),
            _ => {}
        }
    }
    Some(cookie)
}

/// The names in the query of an address, each once, in order, and whether there were more than the
/// maximum.
pub(crate) fn query_parameters(url: &str) -> (Vec<RequestParameter>, bool) {
    let url = url.split_once('#').map_or(url, |(before, _)| before);
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut seen = BTreeSet::new();
    let mut names = url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, _)| short(&name))
        .filter(|name| seen.insert(name.clone()));
    let parameter =
        |name| RequestParameter { name, origin: "query".to_owned(), place: ElementPlace::default() };
    let parameters = names.by_ref().take(MAX_SCORED_COOKIES).map(parameter).collect();
    let is_truncated = names.next().is_some();
    (parameters, is_truncated)
}

/// A name or value, cut to a maximum length.
fn short(text: &str) -> String {
    crate::text::cut(text, 1024).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_read_leniently() {
        let cookie = read_cookie(" sid = 1=2 ; SECURE; httponly ;Path=/a; samesite = Lax;x").unwrap();
        assert_eq!(
            (cookie.name.as_str(), cookie.path.as_str(), cookie.same_site.as_str()),
            ("sid", "/a", "Lax")
        );
        assert!(cookie.secure && cookie.http_only);
        assert_eq!(read_cookie("").unwrap(), PageCookie::default());
        assert_eq!(read_cookie(REDACTED_VALUE), None);
    }

    #[test]
    fn parameters_come_once_and_in_order() {
        let (parameters, _) = query_parameters("https://x/?b=1&&a%20b=2&b=3&c#d?e=1");
        let names: Vec<_> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names, ["b", "a b", "c"]);
        assert_eq!(query_parameters("x").0, []);
    }
}
