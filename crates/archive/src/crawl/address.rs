//! The two texts of a URL that a crawl knows: the one that it asks for, and its address.
//!
//! What is asked for is the URL as it was found: a server may want its parameters in the order that it gave them. The
//! address, normalised and tidied, is the same for all spellings of a URL, and tells whether it was asked for already. Names
//! and passwords in URLs are dropped: they would end up in records. Whoever needs them gives credentials.

use std::borrow::Cow;

use varve_core::url::{normalise, tidy};

/// Tidying and normalising settle within a few rounds.
const ROUNDS: usize = 4;

/// What is asked for when a text is a URL of the web; none for what is none.
pub(crate) fn asked(text: &str) -> Option<String> {
    match plain(text) {
        Some(url) => Some(url.to_owned()),
        // A host that only a browser would read is none.
        None => varve_core::url::asked(text).filter(|url| settled(url).is_some()),
    }
}

/// The one spelling that all spellings of a URL share; none for what is not on the web.
pub(crate) fn address(text: &str) -> Option<String> {
    match plain(text) {
        Some(url) => Some(url.to_owned()),
        None => settled(text),
    }
}

/// What is so plain that no rule touches it, without its fragment: most links of most sites.
fn plain(text: &str) -> Option<&str> {
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
        && host.bytes().all(is_name)
        && is_port
        && path.bytes().all(is_path)
        && !path.split('/').any(|segment| matches!(segment, "." | ".."));
    is_plain.then_some(text)
}

/// The one spelling of any URL, by all rules.
fn settled(text: &str) -> Option<String> {
    let mut url = without_user_info(&normalise(text).ok()?).into_owned();
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

/// Whether it has a name or a password in it.
pub(crate) fn has_user_info(url: &str) -> bool {
    authority(url).contains('@')
}

/// The host of an address, with its port where that is not the usual one: what politeness and robots are about.
pub(crate) fn host_of(url: &str) -> &str {
    let authority = authority(url);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Scheme and host, as the address of what lies at the root of a site begins.
pub(crate) fn origin_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
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
    fn no_query_is_asked_for_but_the_one_that_was_found() {
        for url in ["http://h/q?b=1&a=2", "http://h/land?utm_source=home", "http://h/%7e?sig=%2f"] {
            assert_eq!(asked(url).as_deref(), Some(url));
        }
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
    fn hosts_and_origins() {
        assert_eq!(host_of("http://a@h:81/x@y"), "h:81");
        assert_eq!(origin_of("http://h:81/x"), "http://h:81");
        assert_eq!(origin_of("http://h?x"), "http://h");
        assert!(has_user_info("http://a@h/") && !has_user_info("http://h/a@b"));
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
                prop_assert!(!has_user_info(&once));
                prop_assert_eq!(address(&once), Some(once));
            }
        }

        /// So that it does not matter of which of the two texts an address is made.
        #[test]
        fn what_is_asked_for_keeps_its_address(text in "https?://[a-z]{1,3}[a-z%0-9.?&=;+/~#é ]{0,30}") {
            if let Some(asked) = asked(&text) {
                prop_assert!(address(&asked).is_some());
                prop_assert_eq!(super::asked(&asked), Some(asked));
            }
        }
    }
}
