//! Headers that are sent to one origin and never recorded.
//!
//! A line names an origin and a header: `example.com Cookie: session=1`. Without a scheme it means
//! https, so that a link to the plain form of a site does not send its password in the clear;
//! `http://example.com` allows that. Without a port it means any port.

use varve_core::secret::Secret;

use crate::request_bytes::{RESERVED_HEADERS, is_one_of};
use crate::request_target::{RequestTarget, ServerOrigin};

/// Headers by origin.
#[derive(Clone, Debug, Default)]
pub struct Credentials(Vec<Credential>);

#[derive(Clone, Debug)]
struct Credential {
    origin: CredentialOrigin,
    name: String,
    value: Secret<String>,
}

/// Credentials are not valid. The error has their number, never their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// A line does not name a host and a header.
    #[error("line {line} of the credentials is not `HOST NAME: VALUE`")]
    Line {
        /// The line, from 1.
        line: usize,
    },
    /// A line has a header that the client makes itself.
    #[error("line {line} of the credentials has a header that is made for each request")]
    ReservedInLine {
        /// The line, from 1.
        line: usize,
    },
    /// A header for the seeds is one that the client makes itself.
    #[error("header {number} is made for each request and cannot be given")]
    ReservedHeader {
        /// The number of the header, from 1.
        number: usize,
    },
    /// A header for the seeds is none.
    #[error("header {number} is not `NAME: VALUE`")]
    Header {
        /// The number of the header, from 1.
        number: usize,
    },
}

impl Credentials {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads lines such as `example.com Authorization: Bearer abc`. Empty lines and lines that
    /// begin with `#` are skipped.
    pub fn parse(text: &str) -> Result<Self, CredentialsError> {
        let mut all = Self::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line_number = index + 1;
            let credential = Credential::parse(line).ok_or(CredentialsError::Line { line: line_number })?;
            if is_one_of(&credential.name, &RESERVED_HEADERS) {
                return Err(CredentialsError::ReservedInLine { line: line_number });
            }
            all.0.push(credential);
        }
        Ok(all)
    }

    /// Headers such as `Cookie: a=b` for each of some origins.
    pub fn for_origins<'o>(
        headers: &[String],
        origins: impl IntoIterator<Item = &'o str>,
    ) -> Result<Self, CredentialsError> {
        for (index, header) in headers.iter().enumerate() {
            let number = index + 1;
            let parsed = Credential::parse(&format!("host {header}"));
            let name = parsed.ok_or(CredentialsError::Header { number })?.name;
            if is_one_of(&name, &RESERVED_HEADERS) {
                return Err(CredentialsError::ReservedHeader { number });
            }
        }
        let lines = origins
            .into_iter()
            .flat_map(|origin| headers.iter().map(move |header| format!("{origin} {header}")));
        Ok(Self(lines.filter_map(|line| Credential::parse(&line)).collect()))
    }

    /// Adds those of another.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The `Cookie` header that is sent with a request for a URL, if one is.
    pub fn cookie_for(&self, url: &str) -> Option<Secret<String>> {
        let origin = RequestTarget::parse(url).ok()?.origin;
        let cookies = self.of(&origin).filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let cookies: Vec<&str> = cookies.map(|(_, value)| value.expose().as_str()).collect();
        (!cookies.is_empty()).then(|| Secret::new(cookies.join("; ")))
    }

    /// The origin and the name of each header, without its value.
    pub fn names(&self) -> Vec<(String, String)> {
        self.0.iter().map(|one| (one.origin.to_string(), one.name.clone())).collect()
    }

    /// Whether a header of that name is sent wherever one for this origin, as
    /// [`Credentials::names`] has it, would be.
    pub fn has(&self, origin: &str, name: &str) -> bool {
        let Some(CredentialOrigin { secure, host, port }) = CredentialOrigin::parse(origin) else {
            return false;
        };
        self.0.iter().any(|one| one.origin.covers(secure, &host, port) && one.name.eq_ignore_ascii_case(name))
    }

    /// The headers for an origin.
    pub(crate) fn of<'a>(
        &'a self,
        origin: &'a ServerOrigin,
    ) -> impl Iterator<Item = (&'a str, &'a Secret<String>)> {
        let ServerOrigin { secure, host, port } = origin;
        let matching = self.0.iter().filter(|one| one.origin.covers(*secure, host, Some(*port)));
        matching.map(|one| (one.name.as_str(), &one.value))
    }
}

impl Credential {
    fn parse(line: &str) -> Option<Self> {
        let (origin, header) = line.split_once(char::is_whitespace)?;
        let (name, value) = header.split_once(':')?;
        let (name, value) = (name.trim(), value.trim());
        let sendable = is_header_name(name) && is_header_value(value) && !value.is_empty();
        let (origin, value) = (CredentialOrigin::parse(origin)?, Secret::new(value.to_owned()));
        sendable.then(|| Self { origin, name: name.to_owned(), value })
    }
}

/// The origin that a header is for.
#[derive(Clone, Debug)]
struct CredentialOrigin {
    secure: bool,
    host: String,
    /// None for any port.
    port: Option<u16>,
}

impl CredentialOrigin {
    fn parse(text: &str) -> Option<Self> {
        let (secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some(_) => return None,
            None => (true, text),
        };
        let rest = rest.trim_end_matches('/');
        let colon = rest.rfind(':').filter(|colon| !rest[*colon..].contains(']'));
        let (host, port) = match colon {
            Some(colon) => (&rest[..colon], Some(rest[colon + 1..].parse().ok()?)),
            None => (rest, None),
        };
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@' | b'?' | b'#');
        let is_host = !host.is_empty() && host.bytes().all(plain);
        is_host.then(|| Self { secure, host: host.to_ascii_lowercase(), port })
    }

    fn covers(&self, secure: bool, host: &str, port: Option<u16>) -> bool {
        self.secure == secure && self.host == host && (self.port.is_none() || self.port == port)
    }
}

impl std::fmt::Display for CredentialOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Whether a text may stand as the name of a header.
pub(crate) fn is_header_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

/// Whether a text may stand as the value of a header.
pub(crate) fn is_header_value(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(credentials: &Credentials, secure: bool, host: &str, port: u16) -> Vec<String> {
        let origin = ServerOrigin { secure, host: host.into(), port };
        credentials.of(&origin).map(|(name, value)| format!("{name}: {}", value.expose())).collect()
    }

    #[test]
    fn each_origin_gets_only_its_own_headers() {
        let text = "# mine\n\nExample.com Authorization: Bearer a:b\nexample.com:8443  Cookie:  c=1; d=2 \nhttp://intra.example X-Key: k\n[::1]:99 Cookie: six\n";
        let credentials = Credentials::parse(text).unwrap();
        assert_eq!(sent(&credentials, true, "example.com", 443), ["Authorization: Bearer a:b"]);
        assert_eq!(
            sent(&credentials, true, "example.com", 8443),
            ["Authorization: Bearer a:b", "Cookie: c=1; d=2"]
        );
        assert_eq!(sent(&credentials, false, "intra.example", 8080), ["X-Key: k"]);
        assert_eq!(sent(&credentials, true, "[::1]", 99), ["Cookie: six"]);
        let cookie = |url: &str| credentials.cookie_for(url).map(|cookie| cookie.expose().clone());
        assert_eq!(cookie("https://example.com:8443/x").as_deref(), Some("c=1; d=2"));
        assert_eq!(cookie("https://example.com/x"), None);
        for (secure, host) in [(false, "example.com"), (true, "www.example.com"), (true, "intra.example")] {
            assert_eq!(sent(&credentials, secure, host, 443), [""; 0], "{host}");
        }
    }

    #[test]
    fn headers_that_the_client_makes_are_refused() {
        let given =
            |header: &str| Credentials::for_origins(&["X-Key: a".to_owned(), header.to_owned()], ["h"]);
        for header in ["Host: other", "host: a@b", "Content-Length: 0", "TE: trailers"] {
            assert_eq!(
                given(header).unwrap_err(),
                CredentialsError::ReservedHeader { number: 2 },
                "{header}"
            );
        }
        assert_eq!(given("Cookie=sid").unwrap_err(), CredentialsError::Header { number: 2 });
        let in_file = Credentials::parse("# mine\nh Connection: close").unwrap_err();
        assert_eq!(in_file, CredentialsError::ReservedInLine { line: 2 });
    }

    #[test]
    fn credentials_are_found_by_origin_and_name() {
        let credentials = Credentials::parse("h Cookie: hunter2\nhttp://h:81 X-Key: hunter2").unwrap();
        let names = [("https://h", "Cookie"), ("http://h:81", "X-Key")];
        assert_eq!(credentials.names(), names.map(|(origin, name)| (origin.to_owned(), name.to_owned())));
        for (origin, name) in
            [("https://h", "Cookie"), ("https://h:8443", "cookie"), ("http://h:81", "x-key")]
        {
            assert!(credentials.has(origin, name), "{origin} {name}");
        }
        for (origin, name) in [("http://h", "Cookie"), ("http://h", "X-Key"), ("https://h", "X-Key")] {
            assert!(!credentials.has(origin, name), "{origin} {name}");
        }
    }

    #[test]
    fn an_invalid_line_is_reported_by_number_only() {
        for line in [
            "example.com",
            "example.com hunter2",
            "a.b Na me: x",
            "ftp://a X: y",
            "a:x X: y",
            "a/b X: y",
            "a X:",
        ] {
            let error = Credentials::parse(&format!("#\n{line}")).unwrap_err();
            assert_eq!(error, CredentialsError::Line { line: 2 }, "{line}");
        }
        let headers = ["A: b", "Cookie=hunter2"].map(str::to_owned);
        assert_eq!(
            Credentials::for_origins(&headers, ["http://h"]).unwrap_err(),
            CredentialsError::Header { number: 2 }
        );
        assert!(Credentials::for_origins(&headers[..1], ["http://h"]).unwrap().has("http://h", "a"));
        let shown = format!("{:?}", Credentials::parse("a Cookie: hunter2").unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
