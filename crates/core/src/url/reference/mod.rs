//! A URL or relative reference, read the way Go's `net/url` reads it and printed the way it prints
//! it.
//!
//! Keys, cleaned URLs and working-tree paths are all defined by that parser, which keeps nearly
//! every byte. Host case, dot segments, doubled slashes and the raw query stay. Only the scheme is
//! lower-cased, and a path that was not validly escaped is escaped again. Nothing is copied: a
//! [`Reference`] is a few slices of its text.
//!
//! Texts are UTF-8 here. The one thing Go accepts and this does not is a URL of other bytes.

mod parse;

use super::UrlError;
use super::escape::{ByteSet, EscapeSink, PercentDecoded, decode, write_byte};
use super::query::UrlQuery;
use parse::Parser;
use std::borrow::Cow;
use std::fmt;

/// Bytes that are literal when a path is written.
const PATH_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-_.~$&+,/:;=@");
/// Make a path that is written as it was read.
const PATH_AS_READ: ByteSet = ByteSet::alphanumeric_and(b"-_.~$&+,/:;=@!'()*[]%");
/// Bytes that are literal in a host, with its port and brackets.
const HOST_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-_.~!$&'()*+,;=:[]<>\"");
/// Bytes that are literal in user name and password.
const USER_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-_.~$&+,;=");
/// Bytes that are allowed in user information.
const USER_INFO: ByteSet = ByteSet::alphanumeric_and(b"-._:~!$&'()*+,;=%@");
/// Bytes that are literal when a fragment is written.
const FRAGMENT_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-_.~$&+,/:;=?@!()*");
/// Make a fragment that is written as it was read.
const FRAGMENT_AS_READ: ByteSet = ByteSet::alphanumeric_and(b"-_.~$&+,/:;=?@!()*'[]%");
/// A path that is printed as `*` if it is all there is: the asterisk form of a request target.
const ESCAPED_ASTERISK: &str = "%2A";

/// A parsed URL or relative reference. `Display` prints it as Go's `URL.String` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference<'a> {
    scheme: &'a str,
    body: ReferenceBody<'a>,
    query: Option<&'a str>,
    fragment: Piece<'a>,
}

/// The part between scheme and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReferenceBody<'a> {
    /// After a scheme, anything that does not begin with a slash.
    Opaque(&'a str),
    /// A path, perhaps after an authority.
    Path { authority: Option<Authority<'a>>, path: Piece<'a> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Authority<'a> {
    user_info: Option<&'a str>,
    /// The host with its port.
    host: Piece<'a>,
}

/// A part of the text, and whether it is written as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece<'a> {
    text: &'a str,
    as_read: bool,
}

impl Piece<'_> {
    fn write(&self, kept: &ByteSet, sink: &mut impl EscapeSink) {
        if self.as_read {
            sink.text(self.text);
        } else {
            rewrite(self.text, kept, sink);
        }
    }
}

/// Resolves the escapes of a text and escapes it again.
fn rewrite(text: &str, kept: &ByteSet, sink: &mut impl EscapeSink) {
    for byte in PercentDecoded(text.as_bytes()) {
        write_byte(byte, kept, sink);
    }
}

impl<'a> Reference<'a> {
    /// Reads a text.
    pub fn parse(text: &'a str) -> Result<Self, UrlError> {
        let (before, fragment) = match memchr::memchr(b'#', text.as_bytes()) {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, ""),
        };
        Parser { text }.parse(before, fragment)
    }

    /// The scheme in lower case; empty for a relative reference.
    pub fn scheme(&self) -> Cow<'a, str> {
        if self.scheme.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(self.scheme.to_ascii_lowercase())
        } else {
            Cow::Borrowed(self.scheme)
        }
    }

    /// Whether there is a host, and so a server to ask.
    pub fn has_host(&self) -> bool {
        !self.host().is_empty()
    }

    /// The host name: without user info, port and brackets, escapes resolved, in the case it was
    /// written. The bytes need not be UTF-8, since a host may hide any byte above ASCII behind an
    /// escape.
    pub fn hostname(&self) -> Cow<'a, [u8]> {
        decode(self.hostname_text())
    }

    /// The port as it was written, if there is one.
    pub fn port(&self) -> Option<&'a str> {
        split_port(self.host()).1
    }

    /// The path with escapes resolved; empty for an opaque URL.
    pub fn path(&self) -> Cow<'a, [u8]> {
        match self.body {
            ReferenceBody::Opaque(_) => Cow::Borrowed(b""),
            ReferenceBody::Path { path, .. } => decode(path.text),
        }
    }

    /// Everything after the first question mark, verbatim, if there is one.
    pub fn raw_query(&self) -> Option<&'a str> {
        self.query
    }

    /// The parameters of the query.
    pub fn query(&self) -> UrlQuery<'a> {
        UrlQuery::parse(self.query.unwrap_or(""))
    }

    /// The same reference without its fragment.
    #[must_use]
    pub fn without_fragment(mut self) -> Self {
        self.fragment = Piece { text: "", as_read: true };
        self
    }

    fn authority(&self) -> Option<Authority<'a>> {
        match self.body {
            ReferenceBody::Opaque(_) => None,
            ReferenceBody::Path { authority, .. } => authority,
        }
    }

    fn host(&self) -> &'a str {
        self.authority().map_or("", |authority| authority.host.text)
    }

    /// The host name with its escapes.
    pub(crate) fn hostname_text(&self) -> &'a str {
        let (host, _) = split_port(self.host());
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// Writes the whole reference.
    pub(crate) fn write(&self, sink: &mut impl EscapeSink) {
        self.write_before_query(sink);
        if let Some(query) = self.query {
            sink.byte(b'?');
            sink.text(query);
        }
        self.write_fragment(sink);
    }

    /// Writes the fragment with its `#`, if there is one.
    pub(crate) fn write_fragment(&self, sink: &mut impl EscapeSink) {
        if !self.fragment.text.is_empty() {
            sink.byte(b'#');
            self.fragment.write(&FRAGMENT_BYTES, sink);
        }
    }

    /// Writes everything before the query.
    pub(crate) fn write_before_query(&self, sink: &mut impl EscapeSink) {
        if !self.scheme.is_empty() {
            self.scheme.bytes().for_each(|byte| sink.byte(byte.to_ascii_lowercase()));
            sink.byte(b':');
        }
        match self.body {
            ReferenceBody::Opaque(text) => sink.text(text),
            ReferenceBody::Path { authority: Some(authority), path } => {
                authority.write(!self.scheme.is_empty() && !path.text.is_empty(), sink);
                path.write(&PATH_BYTES, sink);
            }
            ReferenceBody::Path { authority: None, path } => self.write_path_alone(path, sink),
        }
    }

    /// Writes a path with no authority before it.
    fn write_path_alone(&self, path: Piece<'_>, sink: &mut impl EscapeSink) {
        if path.text == ESCAPED_ASTERISK {
            return sink.byte(b'*');
        }
        // Writing may bring back a colon that was escaped; a dot keeps it from looking like a
        // scheme.
        if self.scheme.is_empty() && !path.as_read && first_segment_has_colon(path.text) {
            sink.text("./");
        }
        path.write(&PATH_BYTES, sink);
    }
}

impl Authority<'_> {
    /// Writes the authority. An empty one leaves its slashes only where a path follows them.
    fn write(&self, path_follows: bool, sink: &mut impl EscapeSink) {
        if path_follows || !self.host.text.is_empty() || self.user_info.is_some() {
            sink.text("//");
        }
        if let Some(user_info) = self.user_info {
            let (user, password) = match user_info.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (user_info, None),
            };
            rewrite(user, &USER_BYTES, sink);
            if let Some(password) = password {
                sink.byte(b':');
                rewrite(password, &USER_BYTES, sink);
            }
            sink.byte(b'@');
        }
        self.host.write(&HOST_BYTES, sink);
    }
}

impl fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.pad(&text)
    }
}

/// Whether there is a colon before the first slash, after decoding.
fn first_segment_has_colon(path: &str) -> bool {
    PercentDecoded(path.as_bytes()).take_while(|&byte| byte != b'/').any(|byte| byte == b':')
}

/// Parts a host from its port.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::UrlProblem;
    use proptest::prelude::*;

    fn printed(text: &str) -> String {
        Reference::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
    }

    #[test]
    fn nearly_everything_is_printed_as_it_was_read() {
        for text in [
            "",
            "*",
            "http:",
            "https://Example.COM/a/../b//c",
            "https://h/a%2fb?x y#f",
            "file:/x",
            "file:///x",
            "///x",
            "//h?",
            "mailto:a@b?subject=x",
            "http://[fe80::1%25en0]:80/",
        ] {
            assert_eq!(printed(text), text);
        }
    }

    #[test]
    fn the_few_things_that_change() {
        for (text, expected) in [
            ("HTTP://h", "http://h"),
            ("http://", "http:"),
            ("http://h/#", "http://h/"),
            ("http://h/a b[*", "http://h/a%20b%5B%2A"),
            ("http://h/a[*%62", "http://h/a[*%62"),
            ("http://a%C3%BC:%2f*@h/", "http://a%C3%BC:%2F%2A@h/"),
            ("http://h%C3%BC/", "http://h%C3%BC/"),
            ("%2A", "*"),
            ("a%3Ab c", "./a:b%20c"),
            ("x#a b%62", "x#a%20bb"),
        ] {
            assert_eq!(printed(text), expected);
        }
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, problem, at) in [
            ("http://h/\u{1}", UrlProblem::ControlCharacter, 9),
            (":x", UrlProblem::MissingScheme, 0),
            ("a_b:c/d", UrlProblem::ColonInFirstSegment, 3),
            ("http://h/%zz", UrlProblem::BadEscape, 9),
            ("http://h/#%z", UrlProblem::BadEscape, 10),
            ("http://h%41/", UrlProblem::EscapeInHost, 8),
            ("http://a b/", UrlProblem::HostCharacter(' '), 8),
            ("http://a b@c/", UrlProblem::UserInfoCharacter, 8),
            ("http://[::1/", UrlProblem::UnclosedBracket, 11),
            ("http://u@h:8x/", UrlProblem::BadPort, 10),
        ] {
            assert_eq!(Reference::parse(text), Err(problem.at(at)), "{text}");
        }
        let error = Reference::parse("http://user:pass/word@h/").unwrap_err();
        assert_eq!(error.to_string(), "port that is not a number at byte 11");
    }

    #[test]
    fn parts() {
        let reference = Reference::parse("HTTPS://u:p@[::1]:8443/a%20b?q#f").unwrap();
        assert_eq!(reference.scheme(), "https");
        assert_eq!(&*reference.hostname(), b"::1");
        assert_eq!(reference.port(), Some("8443"));
        assert_eq!(&*reference.path(), b"/a b");
        assert_eq!(reference.raw_query(), Some("q"));
        assert!(reference.has_host());
    }

    proptest! {
        #[test]
        fn printing_settles(text in "(https?:)?[a-z%0-9A-F.@:/?#é\\[\\] *]{0,30}") {
            if let Ok(reference) = Reference::parse(&text) {
                let once = reference.to_string();
                prop_assert_eq!(printed(&once), once);
            }
        }
    }
}
