//! Normalising: equivalent spellings of a URL become one text. Different URLs stay different.
//!
//! Two URLs have the same normal form if no server can tell them apart by RFC 3986. Scheme and host
//! are in lower case, hosts are in DNS form, and default ports are dropped. Percent escapes are in
//! capital letters and only where needed. Dot segments are resolved, an empty path becomes `/`, and
//! the fragment is dropped.
//!
//! Differences that a server could see stay: doubled slashes, the order of parameters, an empty
//! query, a trailing slash, a trailing dot of the host.
//!
//! The rules are a list, so that [`explain`](mod@super::explain) shows the very steps that are
//! taken.

mod host;
mod path;

use super::escape::ByteSet;
use super::split::{AuthorityParts, UrlParts};
use super::{UrlError, UrlProblem};
use host::{is_web, normal_address, normal_name};
use std::borrow::Cow;
use std::fmt;

/// Bytes that are literal in user information.
const USER_INFO_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~!$&'()*+,;=:");
/// Bytes that are literal in a path.
const PATH_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~!$&'()*+,;=:@/");
/// Bytes that are literal in a query.
const QUERY_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~!$&'()*+,;=:@/?");

/// A rule of normalising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NormaliseRule {
    Scheme,
    Host,
    Port,
    Escapes,
    Dots,
    EmptyPath,
    Fragment,
}

impl NormaliseRule {
    /// The rules, in the order in which they are applied.
    pub(crate) const ALL: [Self; 7] =
        [Self::Scheme, Self::Host, Self::Port, Self::Escapes, Self::Dots, Self::EmptyPath, Self::Fragment];

    /// The name of the rule.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Scheme => "scheme",
            Self::Host => "host",
            Self::Port => "port",
            Self::Escapes => "escapes",
            Self::Dots => "dots",
            Self::EmptyPath => "empty-path",
            Self::Fragment => "fragment",
        }
    }

    /// The effect of the rule, in a few words.
    pub(crate) const fn explanation(self) -> &'static str {
        match self {
            Self::Scheme => "the scheme in lower case",
            Self::Host => "the host without escapes, in lower case, in its DNS form",
            Self::Port => "a default or empty port removed",
            Self::Escapes => "percent escapes in normal form (RFC 3986, 6.2.2)",
            Self::Dots => "`.` and `..` segments resolved",
            Self::EmptyPath => "an empty path becomes `/`",
            Self::Fragment => "the fragment removed",
        }
    }
}

/// The normal form of an absolute URL.
///
/// ```
/// # use varve_core::url::normalise;
/// let normal = normalise("HTTP://Bücher.example:80/a/../%7euser?q=%c3%a9#top");
/// assert_eq!(normal.as_deref(), Ok("http://xn--bcher-kva.example/~user?q=%C3%A9"));
/// ```
pub fn normalise(url: &str) -> Result<String, UrlError> {
    let mut parts = NormalisedParts::of(url)?;
    for rule in NormaliseRule::ALL {
        parts.apply(rule)?;
    }
    Ok(parts.to_string())
}

/// An absolute URL on its way to its normal form.
#[derive(Debug, Clone)]
pub(crate) struct NormalisedParts<'a> {
    scheme: Cow<'a, str>,
    authority: Option<NormalisedAuthority<'a>>,
    path: Cow<'a, str>,
    query: Option<Cow<'a, str>>,
    fragment: Option<&'a str>,
}

#[derive(Debug, Clone)]
struct NormalisedAuthority<'a> {
    user_info: Option<Cow<'a, str>>,
    host: Cow<'a, str>,
    /// The position of the host in the text.
    host_at: usize,
    port: Option<Cow<'a, str>>,
    /// The position of the port in the text.
    port_at: usize,
}

impl<'a> NormalisedParts<'a> {
    /// Takes a text apart, without the white space around it.
    pub(crate) fn of(text: &'a str) -> Result<Self, UrlError> {
        let trimmed = trim(text);
        let split = UrlParts::of(trimmed);
        let offset = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
        let scheme = split.scheme.ok_or_else(|| UrlProblem::NoScheme.at(offset(trimmed)))?;
        let authority = split.authority.map(|authority| {
            let AuthorityParts { user_info, host, port } = AuthorityParts::of(authority);
            let (host_at, port_at) = (offset(host), port.map_or(0, offset));
            NormalisedAuthority {
                user_info: user_info.map(Cow::from),
                host: host.into(),
                host_at,
                port: port.map(Cow::from),
                port_at,
            }
        });
        if is_web(scheme) && authority.as_ref().is_none_or(|authority| authority.host.is_empty()) {
            return Err(UrlProblem::NoHost.at(offset(scheme) + scheme.len() + 1));
        }
        Ok(Self {
            scheme: scheme.into(),
            authority,
            path: split.path.into(),
            query: split.query.map(Cow::from),
            fragment: split.fragment,
        })
    }

    /// Applies one rule.
    pub(crate) fn apply(&mut self, rule: NormaliseRule) -> Result<(), UrlError> {
        match rule {
            NormaliseRule::Scheme => self.scheme = self.scheme.to_ascii_lowercase().into(),
            NormaliseRule::Host => {
                self.authority.as_mut().map_or(Ok(()), NormalisedAuthority::settle_host)?
            }
            NormaliseRule::Port => self.settle_port()?,
            NormaliseRule::Escapes if !self.is_opaque() => self.settle_escapes(),
            NormaliseRule::Dots if self.path.starts_with('/') => {
                self.path = path::without_dots(&self.path).into()
            }
            NormaliseRule::EmptyPath if self.authority.is_some() && self.path.is_empty() => {
                self.path = "/".into()
            }
            NormaliseRule::Fragment => self.drop_fragment(),
            NormaliseRule::Escapes | NormaliseRule::Dots | NormaliseRule::EmptyPath => {}
        }
        Ok(())
    }

    fn settle_port(&mut self) -> Result<(), UrlError> {
        let default = host::default_port(&self.scheme);
        self.authority.as_mut().map_or(Ok(()), |authority| authority.settle_port(default))
    }

    fn settle_escapes(&mut self) {
        if let Some(user_info) = self.authority.as_mut().and_then(|authority| authority.user_info.as_mut()) {
            *user_info = path::normal_escapes(user_info, &USER_INFO_BYTES).into();
        }
        self.path = path::normal_escapes(&self.path, &PATH_BYTES).into();
        self.query = self.query.take().map(|query| path::normal_escapes(&query, &QUERY_BYTES).into());
    }

    fn drop_fragment(&mut self) {
        self.fragment = None;
        // Spaces before the removed fragment are now at the end, where a parser would drop them.
        if self.is_opaque() {
            let last = self.query.as_mut().unwrap_or(&mut self.path);
            *last = last.trim_end_matches(is_blank).to_owned().into();
        }
    }

    /// Whether the text after the scheme is not hierarchical (`mailto:`, `urn:`), so that only the
    /// scheme is parsed.
    fn is_opaque(&self) -> bool {
        self.authority.is_none() && !self.path.starts_with('/')
    }
}

impl NormalisedAuthority<'_> {
    fn settle_host(&mut self) -> Result<(), UrlError> {
        let host = match self.host.strip_prefix('[') {
            Some(_) => normal_address(&self.host).ok_or(UrlProblem::NotAddress.at(self.host_at))?,
            None => normal_name(&self.host).map_err(|(problem, at)| problem.at(self.host_at + at))?,
        };
        self.host = host.into();
        Ok(())
    }

    fn settle_port(&mut self, default: Option<u16>) -> Result<(), UrlError> {
        let Some(port) = self.port.take().filter(|port| !port.is_empty()) else { return Ok(()) };
        let at = self.port_at;
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(UrlProblem::BadPort.at(at));
        }
        let number: u16 = port.parse().map_err(|_| UrlProblem::PortTooGreat.at(at))?;
        self.port =
            Some(number).filter(|number| Some(*number) != default).map(|number| number.to_string().into());
        Ok(())
    }
}

impl fmt::Display for NormalisedParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme)?;
        if let Some(NormalisedAuthority { user_info, host, port, .. }) = &self.authority {
            f.write_str("//")?;
            user_info.iter().try_for_each(|user_info| write!(f, "{user_info}@"))?;
            f.write_str(host)?;
            port.iter().try_for_each(|port| write!(f, ":{port}"))?;
        } else if self.path.starts_with("//") {
            // Without this the first segment would be read as a host.
            f.write_str("/.")?;
        }
        f.write_str(&self.path)?;
        self.query.iter().try_for_each(|query| write!(f, "?{query}"))?;
        self.fragment.iter().try_for_each(|fragment| write!(f, "#{fragment}"))
    }
}

/// A text without the spaces and control characters around it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

const fn is_blank(character: char) -> bool {
    character <= ' '
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_become_one() {
        for (url, normal) in [
            ("HTTP://Example.COM", "http://example.com/"),
            ("https://example.com:0443/", "https://example.com/"),
            ("http://example.com:443/", "http://example.com:443/"),
            ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"),
            ("http://[FE80::1%25En0]/", "http://[fe80::1%25en0]/"),
            ("http://ex%41mple%2Ecom/", "http://example.com/"),
            ("http://h/%2e%2E/a/%2e/b/..", "http://h/a/"),
            ("http://h/a//../b", "http://h/a/b"),
            ("http://U%7e:P%3a@h/", "http://U~:P%3A@h/"),
            ("\t http://h/a\\b \n", "http://h/a%5Cb"),
            ("file:/a/../b", "file:/b"),
            ("file:/..//x", "file:/.//x"),
            ("MAILTO:Me%7e@Example.com", "mailto:Me%7e@Example.com"),
        ] {
            assert_eq!(normalise(url).as_deref(), Ok(normal), "{url}");
        }
    }

    #[test]
    fn what_a_server_could_tell_apart_stays() {
        for url in ["http://h/?", "http://h//a/", "http://h/?b=1&a=2", "http://h./", "http://h/?a=%2B+"] {
            assert_eq!(normalise(url).as_deref(), Ok(url));
        }
    }

    #[test]
    fn errors_say_what_and_where() {
        for (url, problem, at) in [
            ("example.com/", UrlProblem::NoScheme, 0),
            ("  http:/x", UrlProblem::NoHost, 7),
            ("http://", UrlProblem::NoHost, 5),
            ("http://a%2Xb/", UrlProblem::BadEscape, 8),
            ("http://a%FEb/", UrlProblem::HostNotText, 7),
            ("http://a b/", UrlProblem::HostCharacter(' '), 8),
            ("http://\u{80}é/", UrlProblem::NotDomainName, 7),
            ("http://[1:2/", UrlProblem::NotAddress, 7),
            ("http://h:8x/", UrlProblem::BadPort, 9),
            ("http://h:65536/", UrlProblem::PortTooGreat, 9),
        ] {
            assert_eq!(normalise(url), Err(problem.at(at)), "{url}");
        }
    }

    proptest! {
        #[test]
        fn a_normal_form_is_normal(url in "(https?|file|x):(//)?[a-zA-Z0-9%éß.:@/?#\\[\\]\\\\ ]{0,24}") {
            if let Ok(normal) = normalise(&url) {
                prop_assert_eq!(normalise(&normal), Ok(normal));
            }
        }

        #[test]
        fn no_text_panics(url in ".{0,40}") {
            let _ = normalise(&url);
        }
    }
}
