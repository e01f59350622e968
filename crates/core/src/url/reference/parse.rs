//! The parser: finds the parts of a text, and rejects invalid characters in them with their
//! position.

use super::{
    Authority, FRAGMENT_AS_READ, HOST_BYTES, PATH_AS_READ, Piece, Reference, ReferenceBody, USER_INFO,
};
use crate::url::escape::{escaped_byte, first_bad_escape};
use crate::url::{UrlError, UrlProblem};

/// Parses one text and reports positions in it.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
}

impl<'a> Parser<'a> {
    /// Reads the text, which was parted at its first `#`.
    pub(super) fn parse(&self, before: &'a str, fragment: &'a str) -> Result<Reference<'a>, UrlError> {
        // Asking whether, before asking where, lets the compiler look at many bytes at once.
        if before.bytes().fold(false, |any, byte| any | byte.is_ascii_control()) {
            let at = before.bytes().position(|byte| byte.is_ascii_control()).unwrap_or(0);
            return Err(UrlProblem::ControlCharacter.at(at));
        }
        let (scheme, rest) = split_scheme(before)?;
        let (rest, query) = match memchr::memchr(b'?', rest.as_bytes()) {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let body = self.body(scheme, rest)?;
        self.check_escapes(fragment)?;
        let as_read = FRAGMENT_AS_READ.first_outside(fragment.as_bytes()).is_none();
        Ok(Reference { scheme, body, query, fragment: Piece { text: fragment, as_read } })
    }

    fn body(&self, scheme: &str, rest: &'a str) -> Result<ReferenceBody<'a>, UrlError> {
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                return Ok(ReferenceBody::Opaque(rest));
            }
            let segment = rest.split('/').next().unwrap_or(rest);
            if let Some(colon) = segment.find(':') {
                return Err(self.error(UrlProblem::ColonInFirstSegment, rest, colon));
            }
        }
        let after_slashes = rest.strip_prefix("//");
        let (authority, path) = match after_slashes {
            Some(after) if !scheme.is_empty() || !after.starts_with('/') => {
                let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
                (Some(self.authority(authority)?), path)
            }
            _ => (None, rest),
        };
        self.check_escapes(path)?;
        let as_read = PATH_AS_READ.first_outside(path.as_bytes()).is_none();
        Ok(ReferenceBody::Path { authority, path: Piece { text: path, as_read } })
    }

    fn authority(&self, authority: &'a str) -> Result<Authority<'a>, UrlError> {
        let (user_info, host) = match authority.rsplit_once('@') {
            Some((user_info, host)) => (Some(user_info), host),
            None => (None, authority),
        };
        self.check_host(host)?;
        if let Some(user_info) = user_info {
            if let Some(at) = USER_INFO.first_outside(user_info.as_bytes()) {
                return Err(self.error(UrlProblem::UserInfoCharacter, user_info, at));
            }
            self.check_escapes(user_info)?;
        }
        let as_read = host.bytes().all(|byte| byte.is_ascii() && byte != b'%');
        Ok(Authority { user_info, host: Piece { text: host, as_read } })
    }

    fn check_host(&self, host: &'a str) -> Result<(), UrlError> {
        let Some(inner) = host.strip_prefix('[') else {
            let port = host.rfind(':').map_or("", |colon| &host[colon..]);
            self.check_port(port)?;
            return self.check_host_characters(host, false);
        };
        let Some(close) = inner.rfind(']') else {
            return Err(self.error(UrlProblem::UnclosedBracket, host, host.len()));
        };
        let (address, after) = host.split_at(close + 1);
        self.check_port(&after[1..])?;
        // Only behind a zone mark may an escape hide what could be written plainly.
        let (before_zone, zone) = address.split_at(address.find("%25").unwrap_or(address.len()));
        self.check_host_characters(before_zone, false)?;
        self.check_host_characters(zone, true)?;
        self.check_host_characters(after, false)
    }

    fn check_port(&self, port: &'a str) -> Result<(), UrlError> {
        let digits = port.strip_prefix(':');
        let good = digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if port.is_empty() || good { Ok(()) } else { Err(self.error(UrlProblem::BadPort, port, 0)) }
    }

    fn check_host_characters(&self, host: &'a str, in_zone: bool) -> Result<(), UrlError> {
        let bytes = host.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'%' {
                self.check_host_escape(host, at, in_zone)?;
                at += 3;
            } else if bytes[at].is_ascii() && !HOST_BYTES.has(bytes[at]) {
                let character = char::from(bytes[at]);
                return Err(self.error(UrlProblem::HostCharacter(character), host, at));
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    fn check_host_escape(&self, host: &'a str, at: usize, in_zone: bool) -> Result<(), UrlError> {
        let Some(byte) = escaped_byte(&host.as_bytes()[at..]) else {
            return Err(self.error(UrlProblem::BadEscape, host, at));
        };
        let allowed = match byte {
            b'%' => true,
            b' ' => in_zone,
            _ if in_zone => HOST_BYTES.has(byte),
            _ => !byte.is_ascii(),
        };
        if allowed { Ok(()) } else { Err(self.error(UrlProblem::EscapeInHost, host, at)) }
    }

    fn check_escapes(&self, part: &'a str) -> Result<(), UrlError> {
        match first_bad_escape(part) {
            Some(at) => Err(self.error(UrlProblem::BadEscape, part, at)),
            None => Ok(()),
        }
    }

    /// A problem at byte `at` of `part`, which is a part of the text.
    fn error(&self, problem: UrlProblem, part: &'a str, at: usize) -> UrlError {
        problem.at(part.as_ptr().addr() - self.text.as_ptr().addr() + at)
    }
}

/// Parts the scheme from what follows its colon. Without a scheme, all of the text follows.
fn split_scheme(text: &str) -> Result<(&str, &str), UrlError> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(UrlProblem::MissingScheme.at(0)),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}
