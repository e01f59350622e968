//! Finds the record of a URL: its host, and its path in the normalised form that is stored.
//!
//! Normalisation removes needless escapes, dot segments, doubled slashes, the fragment and
//! `utm_source`. It writes escapes with upper-case digits and text in NFC, and sorts the parameters
//! of the query. Escapes that matter (`%2F`, `%3F`, `%23`, and in a query `%26` and `%2B`) stay.

use icu_normalizer::ComposingNormalizerBorrowed;

use super::file::DomainFile;
use varve_core::secret::ShownUrl;
use varve_core::url::escape::escaped_byte;
use varve_core::url::split::UrlParts;

/// Characters that are never escaped.
const UNESCAPED_BYTES: &[u8] = b"-._~:/?#[]@!$&'()*+,;=";
/// Characters that mean something else when they are not escaped.
const PROTECTED_IN_PATH: &[u8] = b"/?#";
const PROTECTED_IN_QUERY: &[u8] = b"/?#&+";

/// A URL, split into host and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host in lower case, with the port where it is not the usual one.
    pub host: String,
    /// Path and query as given.
    rest: String,
    /// Whether the scheme was not given.
    pub assumed_http: bool,
}

/// Why a text is not a URL that can have an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Neither http nor https.
    #[error("only `http` and `https` URLs can be checked")]
    Scheme,
    /// No host.
    #[error("the URL has no host")]
    NoHost,
    /// A user name or password.
    #[error("the URL holds a user name or password")]
    Credentials,
}

impl Target {
    /// Splits a URL. Without a scheme, http is assumed.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let url = url.trim();
        let assumed_http = !url.contains("://");
        let whole = if assumed_http { format!("http://{url}") } else { url.to_owned() };
        let parts = UrlParts::of(&whole);
        let usual = match parts.scheme.map(str::to_ascii_lowercase).as_deref() {
            Some("http") => ":80",
            Some("https") => ":443",
            _ => return Err(TargetError::Scheme),
        };
        let authority = parts.authority.unwrap_or_default();
        if authority.contains('@') || ShownUrl(url).has_user_info() {
            return Err(TargetError::Credentials);
        }
        let host = authority.strip_suffix(usual).unwrap_or(authority).to_lowercase();
        if host.is_empty() {
            return Err(TargetError::NoHost);
        }
        let query = parts.query.map(|query| format!("?{query}")).unwrap_or_default();
        Ok(Self { host, rest: format!("{}{query}", parts.path), assumed_http })
    }

    /// Whether the URL belongs to the domain of that file, under its name or an alias.
    pub fn is_of(&self, file: &DomainFile) -> bool {
        let names = std::iter::once(&file.name).chain(file.domain.cnames());
        names.into_iter().any(|name| name.to_lowercase() == self.host)
    }

    /// Path and query as given.
    pub fn path_as_given(&self) -> &str {
        &self.rest
    }

    /// The path as the file of that domain stores it.
    pub fn path_in(&self, file: &DomainFile) -> String {
        stored_path(&self.rest, file.domain.has_case_sensitive_paths())
    }
}

/// The normalised form of a path with its query.
pub fn stored_path(text: &str, case_sensitive: bool) -> String {
    let text = text.split('#').next().unwrap_or_default().trim_end_matches(['&', '?', ' ']);
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let path = if case_sensitive { path.to_owned() } else { path.to_lowercase() };
    let path = without_dots(&respelled(&path, PROTECTED_IN_PATH));
    let query = sorted(query);
    match (path.as_str(), query.as_str()) {
        (_, "") => path,
        ("", _) => format!("/?{query}"),
        _ => format!("{path}?{query}"),
    }
}

fn sorted(query: &str) -> String {
    let is_tracking = |piece: &&str| piece.strip_prefix("utm_source=").is_some_and(|value| !value.is_empty());
    let kept = query.split('&').filter(|piece| !is_tracking(piece));
    let mut pieces: Vec<String> = kept.map(|piece| respelled(piece, PROTECTED_IN_QUERY)).collect();
    pieces.sort();
    pieces.join("&")
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut last = None;
    for part in path.split('/') {
        last = Some(part);
        match part {
            "" if kept.is_empty() => kept.push(part),
            "" | "." => {}
            ".." if kept.len() > 1 => drop(kept.pop()),
            ".." => {}
            _ => kept.push(part),
        }
    }
    if matches!(last, Some("." | "..")) || (last == Some("") && path.contains('/')) {
        kept.push("");
    }
    kept.join("/")
}

/// Removes needless escapes and adds required ones.
fn respelled(text: &str, protected: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut plain = Vec::new();
    let mut rest = text.as_bytes();
    while let Some(first) = rest.first() {
        match escaped_byte(rest) {
            Some(byte) if protected.contains(&byte) => {
                flush(&mut plain, &mut out);
                push_escape(byte, &mut out);
                rest = &rest[3..];
            }
            Some(byte) => {
                plain.push(byte);
                rest = &rest[3..];
            }
            None => {
                plain.push(*first);
                rest = &rest[1..];
            }
        }
    }
    flush(&mut plain, &mut out);
    out
}

/// Writes bytes with the required escapes. UTF-8 is composed; other bytes are kept.
fn flush(plain: &mut Vec<u8>, out: &mut String) {
    for chunk in plain.utf8_chunks() {
        let composed = ComposingNormalizerBorrowed::new_nfc().normalize(chunk.valid());
        for byte in composed.bytes() {
            if byte.is_ascii_alphanumeric() || UNESCAPED_BYTES.contains(&byte) {
                out.push(char::from(byte));
            } else {
                push_escape(byte, out);
            }
        }
        chunk.invalid().iter().for_each(|byte| push_escape(*byte, out));
    }
    plain.clear();
}

fn push_escape(byte: u8, out: &mut String) {
    out.push_str(&format!("%{byte:02X}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_as_the_network_does() {
        let mut file = DomainFile::new("example.com");
        file.domain.cnames = Some(vec!["www.example.com".into()]);
        for url in
            ["http://EXAMPLE.com/", "https://example.com:443/", "www.example.com", "http://example.com:80"]
        {
            assert!(Target::parse(url).unwrap().is_of(&file), "{url}");
        }
        for url in ["http://other.com/", "http://example.com:8080/", "http://sub.example.com/"] {
            assert!(!Target::parse(url).unwrap().is_of(&file), "{url}");
        }
        assert_eq!(Target::parse("http://me@example.com/"), Err(TargetError::Credentials));
        assert_eq!(Target::parse("ftp://example.com/"), Err(TargetError::Scheme));
        assert_eq!(Target::parse("http:///x"), Err(TargetError::NoHost));
    }

    #[test]
    fn escapes_that_matter_stay() {
        assert_eq!(stored_path("/a%2Fb%3Fc%23d", true), "/a%2Fb%3Fc%23d");
        assert_eq!(stored_path("/x?a=1%2b1&b=%26", true), "/x?a=1%2B1&b=%26");
        assert_eq!(stored_path("//dbl", true), "/dbl");
        assert_eq!(stored_path("/%ff%fe", true), "/%FF%FE");
        assert_eq!(stored_path("/e\u{301}", true), "/%C3%A9");
    }
}
