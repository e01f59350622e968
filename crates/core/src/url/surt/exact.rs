//! The two flavours that change little: the published one, and the one that can be turned back.
//!
//! ```text
//!   https://user:pw@www.Example.com:8443/Path?Query#Fragment
//!   com,example,www:8443@user:pw)/Path?Query#Fragment!https
//! ```
//!
//! The key can be reversed for these reasons. A host part ends with the `)` before the first `/`,
//! `?` or `#`, none of which an authority can hold. No host holds an `@`, and no scheme holds a
//! `!`. A comma inside a label, which is rare and legal, is written as a dot. A URL without
//! authority is written after a `/`, with which no host part begins.

use super::EMPTY_URL_KEY;
use crate::url::split::{AuthorityParts, UrlParts, is_scheme};
use crate::url::{UrlError, UrlProblem};

/// The key of the published flavour.
pub(super) fn spec(url: &str) -> String {
    if url.is_empty() {
        return EMPTY_URL_KEY.to_owned();
    }
    let split = UrlParts::of(url);
    let Some(authority) = split.authority else { return url.to_owned() };
    let mut key = host_part(authority);
    key.push_str(if split.path.is_empty() { "/" } else { split.path });
    push_tail(&mut key, &split);
    key.make_ascii_lowercase();
    key
}

/// The key of the exact flavour.
pub(super) fn exact(url: &str) -> Result<String, UrlError> {
    let split = UrlParts::of(url);
    let scheme = split.scheme.ok_or(UrlProblem::NoScheme.at(0))?;
    let Some(authority) = split.authority else { return Ok(format!("/{url}")) };
    let mut key = host_part(authority);
    key.push_str(split.path);
    push_tail(&mut key, &split);
    key.push('!');
    key.push_str(&scheme.to_ascii_lowercase());
    Ok(key)
}

/// The URL of an exact key; `None` if the text is not such a key.
///
/// ```
/// # use varve_core::url::surt::from_exact;
/// assert_eq!(from_exact("com,example)/Path?Q!https").as_deref(), Some("https://example.com/Path?Q"));
/// ```
pub fn from_exact(key: &str) -> Option<String> {
    if let Some(url) = key.strip_prefix('/') {
        let split = UrlParts::of(url);
        return (split.scheme.is_some() && split.authority.is_none()).then(|| url.to_owned());
    }
    let (rest, scheme) = key.rsplit_once('!').filter(|(_, scheme)| is_scheme(scheme))?;
    let (host_part, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host_part = host_part.strip_suffix(')')?;
    let (host, user_info) = match host_part.split_once('@') {
        Some((host, user_info)) => (host, format!("{user_info}@")),
        None => (host_part, String::new()),
    };
    Some(format!("{scheme}://{user_info}{}{tail}", forwards(host)))
}

/// The authority turned round: host, port, user info, closing parenthesis.
fn host_part(authority: &str) -> String {
    let AuthorityParts { user_info, host, port } = AuthorityParts::of(authority);
    let mut part = backwards(&host.to_ascii_lowercase());
    for (mark, piece) in [(':', port), ('@', user_info)] {
        if let Some(piece) = piece {
            part.push(mark);
            part.push_str(piece);
        }
    }
    part.push(')');
    part
}

/// Labels from the last to the first, with commas between them. An address in brackets has no
/// labels.
fn backwards(host: &str) -> String {
    if host.contains('[') || host.contains(']') {
        return host.to_owned();
    }
    let labels: Vec<_> = host.rsplit('.').map(|label| label.replace(',', ".")).collect();
    labels.join(",")
}

/// The host with its port, from its labels turned round.
fn forwards(host_and_port: &str) -> String {
    let AuthorityParts { host, port, .. } = AuthorityParts::of(host_and_port);
    let mut forwards = if host.contains('[') || host.contains(']') {
        host.to_owned()
    } else {
        let labels: Vec<_> = host.rsplit(',').map(|label| label.replace('.', ",")).collect();
        labels.join(".")
    };
    if let Some(port) = port {
        forwards.push(':');
        forwards.push_str(port);
    }
    forwards
}

/// Query and fragment.
fn push_tail(key: &mut String, split: &UrlParts<'_>) {
    for (mark, part) in [('?', split.query), ('#', split.fragment)] {
        if let Some(part) = part {
            key.push(mark);
            key.push_str(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exact_keys() {
        for (url, key) in [
            ("https://u:p@h.example:8443/A?B#C", "example,h:8443@u:p)/A?B#C!https"),
            ("http://h", "h)!http"),
            ("http://[::1]:80/", "[::1]:80)/!http"),
            ("http://a,b.c/", "c,a.b)/!http"),
            ("file:///x", ")/x!file"),
            ("dns:example.com", "/dns:example.com"),
        ] {
            assert_eq!(exact(url).as_deref(), Ok(key));
            assert_eq!(from_exact(key).as_deref(), Some(url));
        }
        assert_eq!(exact("/x"), Err(UrlProblem::NoScheme.at(0)));
        assert_eq!(from_exact("com,example)/"), None);
        assert_eq!(from_exact("com,example!http"), None);
    }

    #[test]
    fn exact_keys_sort_by_host_then_path_then_scheme() {
        let urls = [
            "https://example.com/",
            "http://example.com/a",
            "https://example.com/a",
            "http://a.example.com/",
        ];
        assert!(urls.map(|url| exact(url).unwrap()).is_sorted());
    }

    #[test]
    fn the_published_flavour_changes_little() {
        assert_eq!(spec("http://WWW.example.com:80"), "com,example,www:80)/");
        assert_eq!(spec("ftp://example.com/A?B"), "com,example)/a?b");
    }

    proptest! {
        #[test]
        fn exact_keys_turn_back(url in "[a-z]{1,2}:(//)?[a-z0-9.,:@)!\\[\\]/?#é%]{0,24}") {
            let key = exact(&url).unwrap();
            prop_assert_eq!(from_exact(&key), Some(url));
        }
    }
}
