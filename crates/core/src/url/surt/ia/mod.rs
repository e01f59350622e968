//! The key of the Internet Archive's Python code, step by step: read loosely, canonicalise as for
//! Safe Browsing, canonicalise as the Wayback Machine does, turn the host round.
//!
//! Every quirk is kept, since a key only serves to find records that others stored under it. Each
//! step is a function of its own, because some indexes were made with fewer steps. If the original
//! would raise an exception, this code returns an error. If the original would take unbounded time
//! (`%252525…`), this code does not.

mod host;
mod session;

use super::{EMPTY_URL_KEY, UrlError};
use crate::url::UrlProblem;
use crate::url::escape::{ByteSet, EscapeSink, escaped_byte, write_byte};
use crate::url::split::UrlParts;
use host::{canonical_host, default_port, host_and_port, read_port, turned, www_length};
use session::{strip_path_session, strip_query_session};

/// Bytes that stay literal after all escapes are decoded: printable ASCII except `#` and `%`.
const UNESCAPED_BYTES: ByteSet = ByteSet::alphanumeric_and(b"!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~");

/// How a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyOptions {
    /// `http://(com,example)/` and not `com,example)/`.
    pub with_scheme: bool,
    /// `com,example,)/` and not `com,example)/`.
    pub trailing_comma: bool,
    /// Whether IPv4 addresses are turned round too.
    pub reverse_address: bool,
    /// The prefix that is dropped.
    pub wayback: WaybackOptions,
}

impl Default for KeyOptions {
    fn default() -> Self {
        Self {
            with_scheme: false,
            trailing_comma: false,
            reverse_address: true,
            wayback: WaybackOptions::default(),
        }
    }
}

/// Which differences the Wayback step forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaybackOptions {
    /// Whether `www.`, `www2.` and the like are cut off the host.
    pub strip_www: bool,
    /// Whether the query is lower-cased.
    pub lower_query: bool,
}

impl Default for WaybackOptions {
    fn default() -> Self {
        Self { strip_www: true, lower_query: true }
    }
}

/// The key of a URL, with both canonicalisations.
pub fn key(url: &str, options: &KeyOptions) -> Result<String, UrlError> {
    if url.starts_with("filedesc") {
        return Ok(url.to_owned());
    }
    let Some(mut loose) = LooseUrl::parse(url)? else { return Ok(EMPTY_URL_KEY.to_owned()) };
    loose.canonicalise_for_safe_browsing();
    loose.canonicalise_for_wayback(&options.wayback);
    Ok(loose.to_key(options))
}

/// A URL read as archives have read them for twenty years: any text is one, if its port is a
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseUrl {
    scheme: Vec<u8>,
    host: Option<Vec<u8>>,
    port: Option<u16>,
    path: Option<Vec<u8>>,
    query: Option<Vec<u8>>,
    fragment: Option<Vec<u8>>,
    /// Whether the text ended with a `?` and nothing behind it.
    bare_question_mark: bool,
}

impl LooseUrl {
    /// Parses a text; `None` if it is empty.
    ///
    /// Tabs and line ends are dropped. `http://` is put before a text without a scheme, and of
    /// several schemes in a row the last counts. A host after too many slashes is found, and user
    /// information is dropped.
    pub fn parse(text: &str) -> Result<Option<Self>, UrlError> {
        let trimmed = text.trim_matches(|character: char| " \t\n\r\u{b}\u{c}".contains(character));
        if trimmed.is_empty() {
            return Ok(None);
        }
        let mut text = trimmed.replace(['\t', '\n', '\r'], "");
        if UrlParts::of(&text).scheme.is_none() {
            text.insert_str(0, "http://");
        }
        let text = last_protocol(&text);
        let error = |problem: UrlProblem, part: &str| {
            problem
                .at(trimmed.len().saturating_sub(text.len() - (part.as_ptr().addr() - text.as_ptr().addr())))
        };
        let split = UrlParts::of(text);
        let authority = split.authority.unwrap_or("").trim_end_matches(':');
        let (host, port) = host_and_port(authority);
        let port = port.map(|port| read_port(port).map_err(|problem| error(problem, port))).transpose()?;
        let mut url = Self {
            scheme: split.scheme.unwrap_or("").into(),
            host: some(host),
            port: port.filter(|port| *port != 0),
            path: some(split.path),
            query: split.query.and_then(some),
            fragment: split.fragment.and_then(some),
            bare_question_mark: text.ends_with('?') && split.query.is_none_or(str::is_empty),
        };
        url.find_host_in_path();
        Ok(Some(url))
    }

    /// `http:////host/path`: the first segment of the path is the host.
    fn find_host_in_path(&mut self) {
        if self.host.is_some() || !self.scheme.starts_with(b"http") {
            return;
        }
        let Some(path) = self.path.take() else { return };
        let slashes = path.iter().take_while(|&&byte| byte == b'/').count();
        let rest = &path[slashes..];
        let (host, path) = rest.split_at(memchr::memchr(b'/', rest).unwrap_or(rest.len()));
        self.host = Some(host.to_vec());
        self.path = Some([b"/", path.get(1..).unwrap_or_default()].concat());
    }

    /// The first step: no fragment, escapes resolved until none are left and written once,
    /// addresses as four numbers, names beyond ASCII as punycode, dot segments and doubled slashes
    /// gone.
    pub fn canonicalise_for_safe_browsing(&mut self) {
        self.fragment = None;
        self.query = self.query.take().map(|query| escaped(&unescaped(&query)));
        self.host = self.host.take().map(|host| canonical_host(&host)).filter(|host| !host.is_empty());
        let path = self.path.take().map(|path| unescaped(&path));
        let path = if self.host.is_some() { Some(canonical_path(&path.unwrap_or_default())) } else { path };
        self.path = path.map(|path| escaped(&path));
    }

    /// The second step: everything in lower case, no `www.`, no default port, no session ids, no
    /// slash at the end, parameters sorted, no empty query.
    pub fn canonicalise_for_wayback(&mut self, options: &WaybackOptions) {
        if let Some(host) = &mut self.host {
            host.make_ascii_lowercase();
            if options.strip_www && self.scheme != b"dns" {
                host.drain(..www_length(host));
            }
        }
        if self.port == default_port(&self.scheme) {
            self.port = None;
        }
        self.path = self.path.take().map(wayback_path);
        self.query =
            self.query.take().map(|query| wayback_query(&query, options)).filter(|query| !query.is_empty());
        if self.query.is_none() {
            self.bare_question_mark = false;
        }
    }

    /// The URL, written again.
    pub fn to_url(&self) -> String {
        let mut text = [&self.scheme[..], b":"].concat();
        if let Some(host) = &self.host {
            text.extend_from_slice(if self.scheme == b"dns" { b"" } else { b"//" });
            text.extend_from_slice(host);
            self.push_port(&mut text);
        }
        self.finish(text)
    }

    /// The key.
    pub fn to_key(&self, options: &KeyOptions) -> String {
        let mut text = Vec::new();
        if options.with_scheme || self.host.is_none() {
            text.extend_from_slice(&self.scheme);
            text.push(b':');
        }
        if let Some(host) = &self.host {
            if options.with_scheme {
                text.extend_from_slice(if self.scheme == b"dns" { b"(" } else { b"//(" });
            }
            text.extend_from_slice(&turned(host, options.reverse_address));
            self.push_port(&mut text);
            text.extend_from_slice(if options.trailing_comma { b",)" } else { b")" });
        }
        self.finish(text)
    }

    fn push_port(&self, text: &mut Vec<u8>) {
        if let Some(port) = self.port {
            text.extend_from_slice(format!(":{port}").as_bytes());
        }
    }

    /// Adds path, query and fragment.
    fn finish(&self, mut text: Vec<u8>) -> String {
        match &self.path {
            Some(path) if !path.is_empty() => text.extend_from_slice(path),
            _ if self.query.is_some() || self.fragment.is_some() => text.push(b'/'),
            _ => {}
        }
        for (mark, part) in [(b'?', &self.query), (b'#', &self.fragment)] {
            if let Some(part) = part {
                text.push(mark);
                text.extend_from_slice(part);
            }
        }
        if self.bare_question_mark {
            text.push(b'?');
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn some(text: &str) -> Option<Vec<u8>> {
    (!text.is_empty()).then(|| text.into())
}

/// Of `http://` and `https://` several times in a row, only the last.
fn last_protocol(text: &str) -> &str {
    let mut rest = text;
    let mut from = text;
    while let Some(after) = rest.strip_prefix("http://").or_else(|| rest.strip_prefix("https://")) {
        from = rest;
        rest = after;
    }
    from
}

/// All escapes resolved, those that appear by resolving others too. Each byte is looked at once as
/// it arrives and once as it leaves, so that a chain of escapes costs no more than its length.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        plain.push(byte);
        while let Some(byte) = plain.len().checked_sub(3).and_then(|at| escaped_byte(&plain[at..])) {
            plain.truncate(plain.len() - 3);
            plain.push(byte);
        }
    }
    plain
}

/// Everything escaped that is not printable ASCII, and `#` and `%`.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut text = SurtBytes(Vec::with_capacity(bytes.len()));
    bytes.iter().for_each(|&byte| write_byte(byte, &UNESCAPED_BYTES, &mut text));
    text.0
}

struct SurtBytes(Vec<u8>);

impl EscapeSink for SurtBytes {
    fn byte(&mut self, ascii: u8) {
        self.0.push(ascii);
    }

    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Resolves dot segments and drops empty segments. Text before the first slash is lost, and a `..`
/// at the root stays.
fn canonical_path(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => _ = kept.pop(),
            _ => kept.push(segment),
        }
    }
    let mut path = b"/".to_vec();
    let Some((last, leading)) = kept.split_last() else { return path };
    for segment in leading.iter().filter(|segment| !segment.is_empty()) {
        path.extend_from_slice(segment);
        path.push(b'/');
    }
    path.extend_from_slice(last);
    path
}

fn wayback_path(mut path: Vec<u8>) -> Vec<u8> {
    path.make_ascii_lowercase();
    strip_path_session(&mut path);
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    path
}

fn wayback_query(query: &[u8], options: &WaybackOptions) -> Vec<u8> {
    let mut query = query.to_vec();
    strip_query_session(&mut query);
    if options.lower_query {
        query.make_ascii_lowercase();
    }
    sorted_query(&query)
}

/// The parameters sorted by name, then value; `a` before `a=`.
fn sorted_query(query: &[u8]) -> Vec<u8> {
    let mut parameters: Vec<_> = query.split(|&byte| byte == b'&').collect();
    parameters.sort_by_key(|parameter| match memchr::memchr(b'=', parameter) {
        Some(at) => (&parameter[..at], Some(&parameter[at + 1..])),
        None => (*parameter, None),
    });
    parameters.join(&b'&')
}
