//! The bytes of a request, as they are sent and as they are recorded.
//!
//! They differ only by the header lines that carry credentials. Both are made here, so no later
//! step has to hide anything.

use data_encoding::BASE64;
use varve_core::headers::is_sensitive;
use varve_core::secret::Secret;

use crate::client_options::HttpClientOptions;
use crate::cookies::{cookie_pairs, merge_cookies};
use crate::credentials::{is_header_name, is_header_value};
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::FetchRequest;
use crate::proxy::Proxy;
use crate::request_target::RequestTarget;
use crate::response_tap::ResponseTap;

/// Headers that only this file writes.
pub(crate) const RESERVED_HEADERS: [&str; 5] =
    ["host", "connection", "content-length", "transfer-encoding", "te"];

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    /// The bytes that are recorded.
    pub(crate) recorded: Vec<u8>,
    /// The bytes that are sent, where they differ.
    with_secrets: Option<Vec<u8>>,
    /// Method and headers for HTTP/2. The third value says whether the header is recorded.
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String, bool)>,
    pub(crate) body: Vec<u8>,
    /// The value of `Cookie`.
    pub(crate) cookie: Option<Secret<String>>,
    /// Receives the response while it is recorded.
    pub(crate) tap: Option<ResponseTap>,
}

impl PreparedRequest {
    /// The bytes that are sent.
    pub(crate) fn sent(&self) -> &[u8] {
        self.with_secrets.as_deref().unwrap_or(&self.recorded)
    }

    /// Whether the response has no body, independently of its headers.
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Whether the request may be sent twice.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}

/// Makes the bytes of a request. `proxy` is the HTTP proxy that answers it, if there is one.
pub(crate) fn prepare(
    request: FetchRequest,
    target: &RequestTarget,
    options: &HttpClientOptions,
    proxy: Option<&Proxy>,
) -> Result<PreparedRequest, FetchError> {
    check(&request)?;
    let cookie = cookie_of(&request, target, options);
    let mut headers = headers_of(&request, target, options, proxy);
    if let Some(cookie) = &cookie {
        headers.push(("Cookie".to_owned(), cookie.expose().clone(), false));
    }
    let path = match proxy {
        Some(_) => format!("http://{}{}", target.authority, target.path),
        None => target.path.clone(),
    };
    let message = |with_secrets: bool| {
        let mut bytes = format!("{} {path} HTTP/1.1\r\n", request.method).into_bytes();
        for (name, value, _) in headers.iter().filter(|(.., is_recorded)| *is_recorded || with_secrets) {
            for part in [name, ": ", value, "\r\n"] {
                bytes.extend_from_slice(part.as_bytes());
            }
        }
        bytes.extend_from_slice(b"\r\n");
        if with_secrets || !request.hides_body {
            bytes.extend_from_slice(&request.body);
        }
        bytes
    };
    let has_secrets = request.hides_body || headers.iter().any(|(.., is_recorded)| !is_recorded);
    let (recorded, with_secrets) = (message(false), has_secrets.then(|| message(true)));
    Ok(PreparedRequest {
        recorded,
        with_secrets,
        method: request.method,
        headers,
        body: request.body,
        cookie,
        tap: request.tap,
    })
}

fn check(request: &FetchRequest) -> Result<(), FetchError> {
    let refuse = |what: String| Err(FetchError::new(FetchErrorKind::Request, what));
    if !is_header_name(&request.method) || request.method == "CONNECT" {
        return refuse(format!("`{}` is not a valid method", request.method.escape_debug()));
    }
    let upgrade = request.upgrade.iter().map(|protocol| ("Upgrade", protocol));
    let given = request.headers.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in given.chain(upgrade) {
        if !is_header_name(name) || !is_header_value(value) {
            return refuse(format!("the header `{}` cannot be sent", name.escape_debug()));
        }
        if is_one_of(name, &RESERVED_HEADERS) {
            return refuse(format!("the header `{name}` is made by the client and cannot be given"));
        }
    }
    Ok(())
}

/// Whether a header has one of these names.
pub(crate) fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// The value of `Cookie`: what the user gave for the origin, and what the request brings. A request
/// that brings none has the cookies of the jar.
fn cookie_of(
    request: &FetchRequest,
    target: &RequestTarget,
    options: &HttpClientOptions,
) -> Option<Secret<String>> {
    let given = options.credentials.of(&target.origin).filter(|(name, _)| is_cookie(name));
    let given: Vec<String> = given.map(|(_, value)| value.expose().clone()).collect();
    let brought: Vec<_> = request.headers.iter().filter(|(name, _)| is_cookie(name)).collect();
    let pairs = match brought.is_empty() {
        true if request.is_verbatim => Vec::new(),
        true => options.cookies.pairs_for(&target.url),
        false => {
            let pairs = brought.iter().flat_map(|(_, header)| cookie_pairs(header));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }
    };
    let merged = merge_cookies(&given, pairs);
    (!merged.is_empty()).then(|| Secret::new(merged))
}

fn is_cookie(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie")
}

/// The headers in the order in which they are sent, each with whether it is recorded. `Cookie` is
/// not among them.
fn headers_of(
    request: &FetchRequest,
    target: &RequestTarget,
    options: &HttpClientOptions,
    proxy: Option<&Proxy>,
) -> Vec<(String, String, bool)> {
    let given = |name: &str| request.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let mut headers = vec![("Host".to_owned(), target.authority.clone(), true)];
    if let Some(protocol) = &request.upgrade {
        headers.push(("Connection".to_owned(), "Upgrade".to_owned(), true));
        headers.push(("Upgrade".to_owned(), protocol.clone(), true));
    }
    let usual = [
        ("User-Agent", options.user_agent.as_str()),
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip, br, zstd"),
    ];
    for (name, value) in usual {
        if !given(name) && !request.is_verbatim {
            headers.push((name.to_owned(), value.to_owned(), true));
        }
    }
    for (name, value) in request.headers.iter().filter(|(name, _)| !is_cookie(name)) {
        headers.push((name.clone(), value.clone(), !is_sensitive(&name.to_ascii_lowercase())));
    }
    for (name, value) in options.credentials.of(&target.origin).filter(|(name, _)| !is_cookie(name)) {
        headers.push((name.to_owned(), value.expose().clone(), false));
    }
    let authorized = headers.iter().any(|(name, ..)| name.eq_ignore_ascii_case("authorization"));
    if let Some(user_info) = target.user_info.as_ref().filter(|_| !authorized) {
        let value = format!("Basic {}", BASE64.encode(user_info.expose().as_bytes()));
        headers.push(("Authorization".to_owned(), value, false));
    }
    if let Some(value) = proxy.and_then(Proxy::authorization) {
        headers.push(("Proxy-Authorization".to_owned(), value, false));
    }
    if !request.body.is_empty() || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") {
        headers.push(("Content-Length".to_owned(), request.body.len().to_string(), true));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookies::CookieJar;
    use crate::credentials::Credentials;

    fn prepared(request: FetchRequest, credentials: &str) -> Result<PreparedRequest, FetchError> {
        let target = RequestTarget::parse(&request.url).unwrap();
        let mut options = HttpClientOptions::new(std::path::Path::new("/unused"));
        options.user_agent = "varve/x".to_owned();
        options.credentials = Credentials::parse(credentials).unwrap();
        prepare(request, &target, &options, None)
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_plain_request() {
        let prepared =
            prepared(FetchRequest::get("http://h:81/a?b").header("If-None-Match", "\"x\""), "").unwrap();
        let wanted = "GET /a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: varve/x\r\nAccept: */*\r\nAccept-Encoding: gzip, br, zstd\r\nIf-None-Match: \"x\"\r\n\r\n";
        assert_eq!(text(&prepared.recorded), wanted);
        assert_eq!(text(prepared.sent()), wanted);
    }

    #[test]
    fn secrets_are_sent_and_not_recorded() {
        let request =
            FetchRequest::get("https://u:p@h/").header("Cookie", "given=1").header("accept", "text/html");
        let prepared = prepared(request, "h X-Key: hunter2\nother Cookie: no").unwrap();
        let wanted = "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: varve/x\r\nAccept-Encoding: gzip, br, zstd\r\naccept: text/html\r\n\r\n";
        assert_eq!(text(&prepared.recorded), wanted);
        let sent = text(prepared.sent());
        for line in ["Cookie: given=1\r\n", "X-Key: hunter2\r\n", "Authorization: Basic dTpw\r\n"] {
            assert!(sent.contains(line), "{sent}");
        }
        assert!(!sent.contains("no"), "{sent}");
    }

    #[test]
    fn cookies_from_all_sources_are_one_header() {
        let mut options = HttpClientOptions::new(std::path::Path::new("/unused"));
        options.credentials = Credentials::parse("http://h.example Cookie: a=given").unwrap();
        options.cookies = CookieJar::parse_netscape(
            "h.example\tFALSE\t/\tFALSE\t0\ta\tjar\nh.example\tFALSE\t/\tFALSE\t0\tb\tjar",
        )
        .unwrap();
        let get = || FetchRequest::get("http://h.example/");
        for (request, wanted) in [
            (get(), "Cookie: a=given; b=jar\r\n"),
            (get().header("cookie", "b=brought; c=3"), "Cookie: a=given; b=brought; c=3\r\n"),
        ] {
            let target = RequestTarget::parse(&request.url).unwrap();
            let prepared = prepare(request, &target, &options, None).unwrap();
            assert_eq!(text(prepared.sent()).matches("ookie").count(), 1);
            assert!(text(prepared.sent()).contains(wanted), "{}", text(prepared.sent()));
            assert!(!text(&prepared.recorded).contains("ookie"));
            assert_eq!(format!("Cookie: {}\r\n", prepared.cookie.unwrap().expose()), wanted);
        }
    }

    #[test]
    fn a_body_has_a_content_length() {
        let request =
            FetchRequest { method: "POST".into(), body: b"a=b".to_vec(), ..FetchRequest::get("http://h/") };
        assert!(text(&prepared(request, "").unwrap().recorded).ends_with("Content-Length: 3\r\n\r\na=b"));
    }

    #[test]
    fn requests_cannot_be_split() {
        let get = || FetchRequest::get("http://h/");
        for request in [
            get().header("A\r\nB", "c"),
            get().header("A", "b\r\nC: d"),
            get().header("Host", "other"),
            get().header("transfer-encoding", "chunked"),
            FetchRequest { method: "GET / HTTP/1.1\r\nX:".into(), ..get() },
            FetchRequest { method: "CONNECT".into(), ..get() },
        ] {
            assert_eq!(prepared(request, "").unwrap_err().kind, FetchErrorKind::Request);
        }
    }
}
