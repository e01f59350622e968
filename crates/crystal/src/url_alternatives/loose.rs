//! URLs as Python's `urllib.parse` reads and writes them, without errors: a text that Python
//! rejects is all path.
//!
//! Reading and writing a URL may change it. White space before the URL, and tabs and line ends in
//! it, are removed. The scheme is lower-cased. Empty queries, fragments and parameters after a `;`
//! are dropped, and some schemes without an authority get `//`.

use std::fmt;
use std::net::Ipv6Addr;
use varve_core::url::split::UrlParts;

/// Schemes that are written with `//` even if nothing stands between it and the path.
const WITH_AUTHORITY: [&str; 25] = [
    "file", "ftp", "git", "git+ssh", "gopher", "http", "https", "imap", "mms", "nfs", "nntp", "prospero",
    "rsync", "rtsp", "rtsps", "rtspu", "sftp", "shttp", "snews", "svn", "svn+ssh", "telnet", "wais", "ws",
    "wss",
];

/// Schemes whose last segment may have parameters behind a `;`. So have references without a
/// scheme.
const WITH_PARAMETERS: [&str; 15] = [
    "", "ftp", "hdl", "http", "https", "mms", "prospero", "rtsp", "rtsps", "rtspu", "sftp", "shttp", "sip",
    "sips", "tel",
];

/// The parts of a URL. Absent and empty are the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LooseParts {
    /// In lower case.
    pub(super) scheme: String,
    pub(super) authority: String,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) fragment: String,
}

impl LooseParts {
    pub(super) fn of(url: &str) -> Self {
        let text = url.trim_start_matches(|character: char| character <= ' ').replace(['\t', '\n', '\r'], "");
        let split = UrlParts::of(&text);
        if split.authority.is_some_and(|authority| !has_good_brackets(authority)) {
            return Self { path: url.to_owned(), ..Self::default() };
        }
        let scheme = split.scheme.unwrap_or("").to_ascii_lowercase();
        Self {
            authority: split.authority.unwrap_or("").to_owned(),
            path: without_empty_parameters(split.path, &scheme).to_owned(),
            query: split.query.unwrap_or("").to_owned(),
            fragment: split.fragment.unwrap_or("").to_owned(),
            scheme,
        }
    }
}

impl fmt::Display for LooseParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, authority, path, query, fragment } = self;
        if !scheme.is_empty() {
            write!(f, "{scheme}:")?;
        }
        let rooted = path.is_empty() || path.starts_with('/');
        let bare = rooted && WITH_AUTHORITY.contains(&scheme.as_str());
        if !authority.is_empty() || path.starts_with("//") || bare {
            write!(f, "//{authority}")?;
        }
        f.write_str(path)?;
        if !query.is_empty() {
            write!(f, "?{query}")?;
        }
        if !fragment.is_empty() {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

/// Whether brackets in an authority come in pairs and hold an address.
fn has_good_brackets(authority: &str) -> bool {
    match authority.split_once('[') {
        None => !authority.contains(']'),
        Some((_, rest)) => rest.split_once(']').is_some_and(|(address, _)| is_address(address)),
    }
}

fn is_address(text: &str) -> bool {
    if let Some(future) = text.strip_prefix('v') {
        let parts = future.split_once('.');
        return parts.is_some_and(|(version, address)| {
            !version.is_empty() && !address.is_empty() && version.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
    }
    let (address, zone) = text.split_once('%').unwrap_or((text, "0"));
    address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty() && !zone.contains('%')
}

/// The path without a `;` that ends its last segment with nothing behind it.
fn without_empty_parameters<'a>(path: &'a str, scheme: &str) -> &'a str {
    let last = path.rfind('/').unwrap_or(0);
    match path[last..].find(';') {
        Some(at) if last + at + 1 == path.len() && WITH_PARAMETERS.contains(&scheme) => {
            &path[..path.len() - 1]
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_writing() {
        for (url, written) in [
            (" HTTP://Host/a\tb?#", "http://Host/ab"),
            ("http://h/a;?q", "http://h/a?q"),
            ("http://h/a;b;/c", "http://h/a;b;/c"),
            ("file:/x", "file:///x"),
            ("mailto:a@b", "mailto:a@b"),
            ("http://[::1]/", "http://[::1]/"),
            ("http://[::1/ ?", "http://[::1/ ?"),
            ("http://a]/ ?", "http://a]/ ?"),
            ("http://[v1.x]/?", "http://[v1.x]/"),
        ] {
            assert_eq!(LooseParts::of(url).to_string(), written);
        }
    }
}
