//! The address of a URL: the one text that all its spellings share.
//!
//! Two links may name one page with their parameters in another order, with a mark of whoever counts visitors, or with
//! escapes that say nothing. Normalised and [tidied](mod@super::tidy) they are the same text. A crawl compares by it, rows are
//! found by it and pages are paired by it; it is never what is asked for. Names and passwords in URLs are dropped: they say
//! who asks, and not for what.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use url::Host;

use super::{normalise, tidy};

/// Tidying and normalising settle within a few rounds.
const ROUNDS: usize = 4;

/// The one text that all spellings of a URL share; none for what is not on the web.
///
/// ```
/// # use varve_core::url::address;
/// let address = address("HTTP://Example.com:80/a?y=2&utm_source=z&x=1#top");
/// assert_eq!(address.as_deref(), Some("http://example.com/a?x=1&y=2"));
/// ```
pub fn address(text: &str) -> Option<String> {
    match plain(text) {
        Some(url) => Some(url.to_owned()),
        None => settled(text),
    }
}

/// What is so plain that no rule touches it, without its fragment: most links of most sites.
pub fn plain(text: &str) -> Option<&str> {
    let text = text.split_once('#').map_or(text, |(url, _)| url);
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let (authority, path) = rest.split_at(rest.find('/')?);
    let (host, port) = authority.split_once(':').unwrap_or((authority, "8"));
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~');
    let is_port =
        !port.starts_with(['0', '+']) && !matches!(port, "80" | "443") && port.parse::<u16>().is_ok();
    let is_plain = !host.is_empty()
        && (!is_numeric(host) || host.parse::<Ipv4Addr>().is_ok())
        && host.bytes().all(is_name)
        && is_port
        && path.bytes().all(is_path)
        && !path.split('/').any(|segment| matches!(segment, "." | ".."));
    is_plain.then_some(text)
}

/// Whether a host is read as a number, as none with a name is: `127.1` and `2130706433` are spellings of `127.0.0.1`.
fn is_numeric(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    last.starts_with(|first: char| first.is_ascii_digit())
}

/// With the usual spelling of a host that is a number.
fn with_dotted_host(url: &str) -> Cow<'_, str> {
    let authority = authority(url);
    let host = authority.split_once(':').map_or(authority, |(host, _)| host);
    match Host::parse(host) {
        Ok(Host::Ipv4(address)) if is_numeric(host) => {
            Cow::Owned(url.replacen(&format!("//{host}"), &format!("//{address}"), 1))
        }
        _ => Cow::Borrowed(url),
    }
}

/// The one spelling of any URL, by all rules.
fn settled(text: &str) -> Option<String> {
    let url = without_user_info(&normalise(text).ok()?).into_owned();
    let mut url = with_dotted_host(&url).into_owned();
    if !is_web(&url) {
        return None;
    }
    for _ in 0..ROUNDS {
        let next = normalise(&tidy(&url)).ok()?;
        if next == url {
            break;
        }
        url = next;
    }
    Some(url)
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn without_user_info(url: &str) -> Cow<'_, str> {
    let authority = authority(url);
    match authority.rsplit_once('@') {
        Some((user_info, _)) => Cow::Owned(url.replacen(&format!("{user_info}@"), "", 1)),
        None => Cow::Borrowed(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_become_one() {
        let one = "http://example.com/a?x=1&y=2";
        for text in [
            "http://example.com/a?x=1&y=2",
            "HTTP://EXAMPLE.com:80/./b/../a?y=2&x=1#top",
            "http://me:hunter2@example.com/%61?utm_source=z&x=1&y=2",
            "  http://example.com/a?y=2&x=1\n",
        ] {
            assert_eq!(address(text).as_deref(), Some(one), "{text}");
        }
        for text in ["", "/a", "ftp://example.com/", "mailto:a@example.com", "http://", "javascript:0"] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn an_address_of_numbers_has_one_spelling() {
        for host in ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1."] {
            let url = format!("http://{host}:81/a?x=1");
            assert_eq!(address(&url).as_deref(), Some("http://127.0.0.1:81/a?x=1"), "{host}");
        }
        assert_eq!(address("http://1.example/"), Some("http://1.example/".to_owned()));
    }

    #[test]
    fn what_a_server_could_tell_apart_stays() {
        for url in [
            "http://h/gitweb?p=linux.git;a=summary",
            "http://h/?C=N;O=D",
            "http://h/service?wsdl",
            "http://h/style.css?2022.1",
            "http://h/search?q=a/b",
        ] {
            assert_eq!(address(url).as_deref(), Some(url));
        }
    }

    #[test]
    fn plain_addresses_are_taken_as_they_are() {
        for url in ["http://h/", "https://h:8080/a//b.html", "http://127.0.0.1:18081/~x/_-"] {
            assert_eq!(plain(&format!("{url}#top")), Some(url));
        }
        for url in [
            "http://h",
            "http://h:80/",
            "http://h/a?b",
            "http://h/../",
            "http://H/",
            "http://a@h/",
            "ftp://h/",
        ] {
            assert_eq!(plain(url), None, "{url}");
        }
    }

    proptest! {
        #[test]
        fn what_is_plain_is_settled(text in "https?://[a-z0-9.-]{0,6}(:[0-9]{0,5})?(/[a-zA-Z0-9._~-]{0,3}){0,4}(#[a-z/#]{0,2})?") {
            if let Some(url) = plain(&text) {
                prop_assert_eq!(settled(&text), Some(url.to_owned()));
            }
        }

        #[test]
        fn an_address_is_its_own_address(text in "https?://[a-zA-Z0-9.:@]{1,12}[a-z%0-9.?&=;+/~#é ]{0,30}") {
            if let Some(once) = address(&text) {
                prop_assert!(!authority(&once).contains('@'));
                prop_assert_eq!(address(&once), Some(once));
            }
        }
    }
}
