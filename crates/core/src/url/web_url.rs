//! The text of an `http` or `https` URL with the places of its parts.
//!
//! [`RequestUrl`](super::RequestUrl) and [`PageUrl`](super::PageUrl) dereference to [`WebUrl`]. The
//! text is shared, so cloning one copies no bytes, and host and origin are slices of it.
//!
//! [`scan`] recognises URLs that are already in the form that is sent, and in the form that is
//! compared. Most links of most sites are, and skip the general parsers.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::escape::{ByteSet, escaped_byte};
use super::sort_query::is_sorted;

/// Bytes that are literal in a path, both in requests and in page identities.
const PATH_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~!$&'()*+,;=:@/");
/// Bytes that are literal in a query. An apostrophe is not: browsers escape it.
const QUERY_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~!$&()*+,;=:@/?");
/// Never need an escape.
const UNRESERVED_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~");

/// An absolute `http` or `https` URL without user info and fragment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebUrl {
    text: Arc<str>,
    /// Where the host ends.
    host_end: u32,
    /// Where the host with its port ends.
    authority_end: u32,
}

impl WebUrl {
    /// The URL whose text is `text`; `None` unless it begins with `http://` or `https://`, a host
    /// and a path, and is shorter than 4 GiB.
    pub(super) fn new(text: &str) -> Option<Self> {
        let start = authority_start(text)?;
        let rest = &text[start..];
        let authority = &rest[..rest.find(['/', '?', '#'])?];
        let after_address = authority.rfind(']').map_or(0, |close| close + 1);
        let host = authority[after_address..].find(':').map_or(authority.len(), |at| after_address + at);
        u32::try_from(text.len()).ok()?;
        (host > 0).then(|| Self {
            text: text.into(),
            host_end: (start + host) as u32,
            authority_end: (start + authority.len()) as u32,
        })
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// The host without its port, with the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.text[self.authority_start()..self.host_end as usize]
    }

    /// The host, with its port unless that is the default of the scheme. Requests to one authority
    /// share connections, politeness and `robots.txt`.
    pub fn authority(&self) -> &str {
        &self.text[self.authority_start()..self.authority_end as usize]
    }

    /// Scheme and authority: `https://example.com:8443`.
    pub fn origin(&self) -> &str {
        &self.text[..self.authority_end as usize]
    }

    /// Path and query.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.authority_end as usize..]
    }

    fn authority_start(&self) -> usize {
        if self.is_https() { "https://".len() } else { "http://".len() }
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

/// Where the authority of a web URL begins.
fn authority_start(text: &str) -> Option<usize> {
    let schemes = ["http://", "https://"];
    schemes.iter().find(|scheme| text.starts_with(**scheme)).map(|scheme| scheme.len())
}

/// The result of [`scan`].
pub(super) struct Scanned<'a> {
    /// The URL without its fragment. It is what a client sends.
    pub(super) request: &'a str,
    /// Whether it is also its own page identity.
    pub(super) is_page: bool,
}

/// Recognises a text that needs no rewriting before it is sent. `None` says nothing about the text
/// but that the general parsers must decide.
pub(super) fn scan(text: &str) -> Option<Scanned<'_>> {
    let start = authority_start(text)?;
    let path_start = start + text[start..].find('/')?;
    if !is_normal_authority(&text[start..path_start]) {
        return None;
    }
    let bytes = text.as_bytes();
    let (path_end, path_is_normal) = scan_part(bytes, path_start, &PATH_BYTES)?;
    let path = &text[path_start..path_end];
    if has_dot_segment(path) {
        return None;
    }
    let (end, is_page) = match bytes.get(path_end) {
        Some(b'?') => {
            let (end, is_normal) = scan_part(bytes, path_end + 1, &QUERY_BYTES)?;
            (end, path_is_normal && is_normal && is_sorted(&text[path_end + 1..end]))
        }
        _ => (path_end, path_is_normal),
    };
    // A path ends at its query or fragment, and a query at its fragment; anything else is
    // rewritten.
    matches!(bytes.get(end), None | Some(b'#')).then(|| Scanned { request: &text[..end], is_page })
}

/// Reads bytes of `kept` and escapes from `start`. Returns where they end and whether all escapes
/// are in normal form: in capital letters, and of characters that need one. `None` for a broken
/// escape and for an escaped dot, which may be a part of `..`.
fn scan_part(bytes: &[u8], start: usize, kept: &ByteSet) -> Option<(usize, bool)> {
    let (mut at, mut is_normal) = (start, true);
    while let Some(&byte) = bytes.get(at) {
        if kept.has(byte) {
            at += 1;
        } else if byte == b'%' {
            let hidden = escaped_byte(&bytes[at..]).filter(|hidden| *hidden != b'.')?;
            let is_small = |digit: &u8| digit.is_ascii_lowercase();
            is_normal &= !UNRESERVED_BYTES.has(hidden) && !bytes[at + 1..at + 3].iter().any(is_small);
            at += 3;
        } else {
            break;
        }
    }
    Some((at, is_normal))
}

fn has_dot_segment(path: &str) -> bool {
    path.contains("/.") && path.split('/').any(|segment| matches!(segment, "." | ".."))
}

/// Whether a host with its port is written as all parsers write it: in lower case, an IPv4 address
/// dotted, no default port.
fn is_normal_authority(authority: &str) -> bool {
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let is_port = |port: &str| {
        !port.starts_with(['0', '+']) && !matches!(port, "80" | "443") && port.parse::<u16>().is_ok()
    };
    !host.is_empty()
        && host.bytes().all(is_name)
        && !host.starts_with('.')
        && !host.contains("..")
        && !host.contains("xn--")
        && (!is_numeric(host) || host.parse::<Ipv4Addr>().is_ok())
        && port.is_none_or(is_port)
}

/// Whether a host is read as an IPv4 address: `127.1` and `2130706433` are spellings of
/// `127.0.0.1`.
pub(super) fn is_numeric(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    last.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::{PageUrl, RequestUrl, key, page_url, request_url};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_parts_of_a_url() {
        let url = WebUrl::new("https://[::1]:8443/a/b?c=d").expect("a web URL");
        assert_eq!((url.host(), url.authority()), ("[::1]", "[::1]:8443"));
        assert_eq!((url.origin(), url.path_and_query()), ("https://[::1]:8443", "/a/b?c=d"));
        let url = WebUrl::new("http://h/").expect("a web URL");
        assert_eq!((url.host(), url.authority(), url.path_and_query()), ("h", "h", "/"));
        for text in ["", "h/", "http://h", "http:///a", "ftp://h/", "http://:80/"] {
            assert_eq!(WebUrl::new(text), None, "{text}");
        }
    }

    #[test]
    fn usual_links_take_the_short_way() {
        for url in [
            "http://h/",
            "https://h:8080/a//b.html",
            "http://127.0.0.1:18081/~x/_-",
            "https://h/c++/a+b,c;d=e:f@g!$&'()*",
            "https://h/%C3%A9/%2F?a=1&b=%20&b=x+y",
            "https://h/?wsdl",
        ] {
            let scanned = scan(url).unwrap_or_else(|| panic!("{url}"));
            assert!(scanned.request == url && scanned.is_page, "{url}");
        }
        for url in
            ["https://h/%c3", "https://h/%41", "https://h/?b=1&a=1", "https://h/?utm_source=x", "http://h/?"]
        {
            assert!(scan(url).is_some_and(|scanned| !scanned.is_page), "{url}");
        }
        for url in [
            "http://h",
            "http://h:80/",
            "http://h/../",
            "http://H/",
            "http://a@h/",
            "http://h/%2e/",
            "http://h/%",
        ] {
            assert!(scan(url).is_none(), "{url}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// The short way leads where the general parsers do.
        #[test]
        fn scanning_equals_parsing(
            text in "https?://([a-z0-9.-]{0,6}|xn--[a-z0-9-]{1,4}|[0-9]{1,3}(\\.[0-9]{1,3}){3})(:[0-9]{0,5})?\
                     (/([a-zA-Z0-9._~!$&'()*+,;=:@|^\"<>{}`-]|%[0-9a-fA-F]{2}|%2e|%|\\.){0,4}){0,4}\
                     (\\?([a-c]{1,2}|utm_source|utm_x|[a-zA-Z0-9&=+;'/?@:,|-]|%[0-9a-fA-F]{2}|%){0,8})?(#[a-z/#]{0,2})?"
        ) {
            if let Some(scanned) = scan(&text) {
                prop_assert_eq!(request_url::parsed(&text), Some(scanned.request.to_owned()));
                let identity = page_url::normalised(&text);
                prop_assert!(identity.is_some());
                if scanned.is_page {
                    prop_assert_eq!(identity.as_deref(), Some(scanned.request));
                    let page = PageUrl::parse(&text);
                    prop_assert_eq!(page.map(|page| page.key()), key(scanned.request).ok());
                }
            }
        }

        #[test]
        fn the_parts_are_those_of_a_browser(
            text in "https?://[a-zA-Z0-9.:@-]{1,12}[a-z%0-9.?&=;+/~#é| \\[\\]]{0,30}"
        ) {
            if let Some(url) = RequestUrl::parse(&text) {
                let browser = ::url::Url::parse(url.as_str()).expect("parsed before");
                prop_assert_eq!(Some(url.host()), browser.host_str());
                prop_assert_eq!(url.origin(), browser.origin().ascii_serialization());
                prop_assert_eq!(url.path_and_query(), &browser[::url::Position::BeforePath..]);
                prop_assert_eq!(Some(url.page().clone()), PageUrl::parse(url.as_str()));
            }
        }
    }
}
