//! The target of a request, from its URL: origin, `Host` value, path and credentials.
//!
//! The text of the URL stays as the caller gave it, because records are stored under it. The target
//! is parsed as browsers do it, so `http://0x7f.1/` is 127.0.0.1 and the guard sees that address.

use url::{Host, Url};
use varve_core::secret::Secret;

use crate::error::FetchError;

/// Where a request goes.
#[derive(Clone, Debug)]
pub(crate) struct RequestTarget {
    /// The URL to record.
    pub(crate) url: String,
    /// The origin to connect to.
    pub(crate) origin: ServerOrigin,
    /// The value of `Host`.
    pub(crate) authority: String,
    /// Path and query, as they are sent.
    pub(crate) path: String,
    /// Name and password from the URL, joined by a colon.
    pub(crate) user_info: Option<Secret<String>>,
}

/// Scheme, host and port. Connections are pooled by origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServerOrigin {
    pub(crate) secure: bool,
    /// The host as it stands in a URL, lower-case; IPv6 in brackets.
    pub(crate) host: Box<str>,
    pub(crate) port: u16,
}

impl ServerOrigin {
    /// The host without brackets.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }

    /// Host and port, as messages and proxies name them.
    pub(crate) fn host_and_port(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl RequestTarget {
    pub(crate) fn parse(text: &str) -> Result<Self, FetchError> {
        let url = Url::parse(text).map_err(|error| FetchError::url(text, &error.to_string()))?;
        let secure = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(FetchError::url(text, "it is neither `http` nor `https`")),
        };
        let host = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
            Some(address) => address.to_string(),
            None => String::new(),
        };
        if host.is_empty() {
            return Err(FetchError::url(text, "it has no host"));
        }
        let port = url.port_or_known_default().unwrap_or(if secure { 443 } else { 80 });
        let authority = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let origin = ServerOrigin { secure, host: host.into(), port };
        Ok(Self { url: recorded(text, &url), origin, authority, path, user_info: user_info(&url) })
    }
}

/// The URL to record: as it was given, unless that holds user info, or bytes that no record may
/// hold.
fn recorded(text: &str, url: &Url) -> String {
    let has_user_info = !url.username().is_empty() || url.password().is_some();
    let odd = |byte: u8| byte <= b' ' || byte == 0x7f;
    if has_user_info || text.bytes().any(odd) {
        let mut plain = url.clone();
        plain.set_fragment(None);
        // Both can only be refused by URLs without a host.
        let _ = plain.set_username("");
        let _ = plain.set_password(None);
        return plain.into();
    }
    text.split('#').next().unwrap_or_default().to_owned()
}

fn user_info(url: &Url) -> Option<Secret<String>> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let text = format!("{}:{}", url.username(), url.password().unwrap_or_default());
    Some(Secret::new(percent_decoded(&text)))
}

pub(crate) fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FetchErrorKind;

    fn target(text: &str) -> RequestTarget {
        RequestTarget::parse(text).unwrap()
    }

    #[test]
    fn the_url_is_kept_and_its_target_is_parsed_as_browsers_do() {
        let plain = target("http://Example.com./a b?q=1#top");
        assert_eq!(plain.url, "http://example.com./a%20b?q=1");
        assert_eq!((&*plain.origin.host, plain.path.as_str()), ("example.com", "/a%20b?q=1"));
        assert_eq!(target("https://Example.com/ä?Q#x").url, "https://Example.com/ä?Q");
        assert_eq!(&*target("http://0x7f.1/").origin.host, "127.0.0.1");
        assert_eq!(&*target("http://2130706433/").origin.host, "127.0.0.1");
        let six = target("http://[::FFFF:1.2.3.4]:8080/");
        assert_eq!(
            (six.origin.bare_host(), six.authority.as_str()),
            ("::ffff:102:304", "[::ffff:102:304]:8080")
        );
    }

    #[test]
    fn user_info_is_removed_from_the_url() {
        let target = target("https://me:p%40ss@example.com/x#y");
        assert_eq!(target.url, "https://example.com/x");
        assert_eq!(target.user_info.unwrap().expose(), "me:p@ss");
    }

    #[test]
    fn a_url_cannot_end_the_request_line() {
        for text in ["http://h/a\r\nX: y", "http://h/\u{0}", "http://h/?a b\tc"] {
            let target = target(text);
            assert!(target.path.bytes().all(|byte| byte > b' ' && byte < 0x7f), "{:?}", target.path);
            assert!(target.url.bytes().all(|byte| byte > b' '), "{:?}", target.url);
        }
    }

    #[test]
    fn other_schemes_and_invalid_urls_are_refused() {
        for text in ["ftp://h/", "file:///etc/passwd", "mailto:a@b", "x", "http://", "http://a b/"] {
            assert_eq!(RequestTarget::parse(text).unwrap_err().kind, FetchErrorKind::Url, "{text}");
        }
        let error = RequestTarget::parse("ftp://me:secret@h/").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
