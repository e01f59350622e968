//! Headers that are sent to one origin and written down nowhere.
//!
//! A line names an origin and a header: `example.com Cookie: session=1`. Without a scheme it means
//! https, so that a link to the plain form of a site does not send its password over the wire in
//! the clear; `http://example.com` says otherwise. Without a port it means any.

use varve_core::secret::Secret;

use crate::request_target::{RequestTarget, ServerOrigin};

/// Headers by origin.
#[derive(Clone, Debug, Default)]
pub struct Credentials(Vec<Credential>);

#[derive(Clone, Debug)]
struct Credential {
    secure: bool,
    host: String,
    port: Option<u16>,
    name: String,
    value: Secret<String>,
}

/// A line of credentials cannot be read. It says where, never what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the credentials is not `HOST NAME: VALUE`")]
pub struct CredentialsError {
    /// The line, from 1.
    pub line: usize,
}

impl Credentials {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads lines such as `example.com Authorization: Bearer abc`. Empty lines and lines that
    /// begin with `#` are passed over.
    pub fn parse(text: &str) -> Result<Self, CredentialsError> {
        let mut all = Self::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let credential = Credential::parse(line).ok_or(CredentialsError { line: index + 1 })?;
            all.0.push(credential);
        }
        Ok(all)
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

    /// For which origins there is something, and the name of each header. Never what it says.
    pub fn names(&self) -> Vec<(String, String)> {
        self.0.iter().map(|one| (one.origin(), one.name.clone())).collect()
    }

    /// Whether a header of that name is sent wherever one for this origin, as
    /// [`Credentials::names`] has it, would be.
    pub fn has(&self, origin: &str, name: &str) -> bool {
        let Some((secure, host, port)) = read_origin(origin) else { return false };
        self.0.iter().any(|one| {
            (one.secure, one.host.as_str()) == (secure, host.as_str())
                && one.port.is_none_or(|own| Some(own) == port)
                && one.name.eq_ignore_ascii_case(name)
        })
    }

    /// What is sent to an origin.
    pub(crate) fn of<'a>(
        &'a self,
        origin: &'a ServerOrigin,
    ) -> impl Iterator<Item = (&'a str, &'a Secret<String>)> {
        self.0
            .iter()
            .filter(|credential| credential.is_for(origin))
            .map(|credential| (credential.name.as_str(), &credential.value))
    }
}

impl Credential {
    fn parse(line: &str) -> Option<Self> {
        let (origin, header) = line.split_once(char::is_whitespace)?;
        let (name, value) = header.split_once(':')?;
        let (name, value) = (name.trim(), value.trim());
        let sendable = is_header_name(name) && is_header_value(value) && !value.is_empty();
        let (secure, host, port) = read_origin(origin)?;
        sendable.then(|| Self {
            secure,
            host,
            port,
            name: name.to_owned(),
            value: Secret::new(value.to_owned()),
        })
    }

    fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}{port}", self.host)
    }

    fn is_for(&self, origin: &ServerOrigin) -> bool {
        self.secure == origin.secure
            && self.host == *origin.host
            && self.port.is_none_or(|port| port == origin.port)
    }
}

/// Whether it is one of https, its host, and its port if it names one.
fn read_origin(text: &str) -> Option<(bool, String, Option<u16>)> {
    let (secure, host_and_port) = match text.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        Some(_) => return None,
        None => (true, text),
    };
    let (host, port) = split_port(host_and_port.trim_end_matches('/'))?;
    Some((secure, host.to_ascii_lowercase(), port))
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let colon = text.rfind(':').filter(|colon| !text[*colon..].contains(']'));
    let (host, port) = match colon {
        Some(colon) => (&text[..colon], Some(text[colon + 1..].parse().ok()?)),
        None => (text, None),
    };
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@' | b'?' | b'#');
    (!host.is_empty() && host.bytes().all(plain)).then_some((host, port))
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
    fn each_origin_gets_its_own_and_no_other() {
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
    fn what_is_given_is_known_by_origin_and_name() {
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
    fn a_line_that_cannot_be_read_is_named_and_not_shown() {
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
            assert_eq!(error, CredentialsError { line: 2 }, "{line}");
        }
        let shown = format!("{:?}", Credentials::parse("a Cookie: hunter2").unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
