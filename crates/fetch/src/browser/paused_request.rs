//! One intercepted request of a page: made by the client, and answered to the browser.

use std::time::Instant;

use data_encoding::BASE64;
use serde_json::{Value, json};
use varve_core::exchange::Exchange;
use varve_core::headers::{Headers, decode_header_text};
use varve_core::secret::ShownUrl;

use super::browser_page::PageSession;
use super::decode::body;
use super::{PageNetwork, failed};
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::FetchRequest;
use crate::request_bytes::is_one_of;
use crate::request_gate::{GateDecision, PageRequest};

/// Headers that the client makes itself, or that only mean something between the browser and a
/// server.
const NOT_PASSED_ON: [&str; 8] = [
    "host",
    "connection",
    "proxy-connection",
    "content-length",
    "transfer-encoding",
    "te",
    "accept-encoding",
    "user-agent",
];

/// Headers that do not apply to a decoded body.
const OF_ENCODED_BODY: [&str; 4] = ["content-encoding", "content-length", "transfer-encoding", "trailer"];

/// Headers that make a cached response unusable.
const SPECIAL_HEADERS: [&str; 6] =
    ["range", "authorization", "if-none-match", "if-modified-since", "if-match", "if-range"];

/// Why a request is refused whose body is not known: a part of it would be another request.
const INCOMPLETE_BODY: &str = "the browser does not provide its body";

/// An intercepted request.
pub(super) struct PausedRequest {
    pub(super) network: PageNetwork,
    pub(super) session: PageSession,
    /// The parameters of `Fetch.requestPaused`.
    pub(super) paused: Value,
    pub(super) until: Option<Instant>,
    /// Whether it is the request for the page.
    pub(super) is_page: bool,
}

/// The result of a request.
#[derive(Default)]
pub(super) struct PausedOutcome {
    pub(super) exchange: Option<Exchange>,
    /// The response, if it came from the cache.
    pub(super) reused: Option<Exchange>,
    /// Why there is no response. The notes report it to the user.
    pub(super) error: Option<FetchError>,
    /// What the guard refused: the URL, and why.
    pub(super) refused: Option<(String, String)>,
    pub(super) notes: Vec<String>,
    /// It came after the deadline, and the page did not get it.
    pub(super) is_late: bool,
    /// Nothing will be shown: a download, or a response without content.
    pub(super) shows_nothing: bool,
}

impl PausedRequest {
    /// Makes the request and answers it. A response after the deadline is recorded, and not handed
    /// to the page.
    pub(super) async fn answer(self) -> PausedOutcome {
        let url = self.paused["request"]["url"].as_str().unwrap_or_default();
        let mut answered = PausedOutcome::default();
        if !url.starts_with("http:") && !url.starts_with("https:") {
            // The page may be closed by now.
            let _ = self.call("Fetch.continueRequest", json!({})).await;
            return answered;
        }
        let permit = match &self.network.gate {
            None => None,
            Some(gate) => match in_time(self.until, gate.admit(self.page_request(url))).await {
                Some(Ok(GateDecision::Send(permit))) => Some(permit),
                Some(Ok(GateDecision::Reuse(exchange))) => {
                    self.fulfil(&exchange, &mut answered.notes).await;
                    answered.reused = Some(*exchange);
                    return answered;
                }
                Some(Err(rule)) => return self.refuse(url, &rule).await,
                None => return answered,
            },
        };
        let Some(body) = request_body(&self.paused["request"]) else {
            answered = self.refuse(url, INCOMPLETE_BODY).await;
            answered.notes.push(format!("`{}` was not requested: {INCOMPLETE_BODY}", ShownUrl(url)));
            return answered;
        };
        let outcome = self.network.client.exchange(self.fetch_request(url, body).await).await;
        if let (Some(permit), Ok(exchange)) = (permit, &outcome) {
            permit.answered(exchange);
        }
        answered.is_late = self.until.is_some_and(|until| Instant::now() >= until);
        match &outcome {
            _ if answered.is_late => {}
            Ok(exchange) => self.fulfil(exchange, &mut answered.notes).await,
            Err(error) => self.fail(reason(error.kind)).await,
        }
        answered.take(url, outcome);
        answered
    }

    fn page_request(&self, url: &str) -> PageRequest {
        let request = &self.paused["request"];
        let method = request["method"].as_str().unwrap_or("GET").to_owned();
        let is_special = |name: &String| is_one_of(name, &SPECIAL_HEADERS);
        let has_special = request["headers"].as_object().is_some_and(|all| all.keys().any(is_special));
        let is_plain = method == "GET" && !has_special;
        PageRequest { url: url.to_owned(), method, is_page: self.is_page, is_plain }
    }

    /// The request for the client.
    async fn fetch_request(&self, url: &str, body: Vec<u8>) -> FetchRequest {
        let paused = &self.paused["request"];
        let mut request = FetchRequest { body, until: self.until, ..FetchRequest::get(url) };
        request.method = paused["method"].as_str().unwrap_or("GET").to_owned();
        for (name, value) in paused["headers"].as_object().into_iter().flatten() {
            if let Some(value) = value.as_str().filter(|_| !is_one_of(name, &NOT_PASSED_ON)) {
                request.headers.push((name.clone(), value.to_owned()));
            }
        }
        let has_cookie = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        if let Some(cookies) = self.cookies(url).await.filter(|_| !has_cookie) {
            request.headers.push(("Cookie".to_owned(), cookies));
        }
        let given = self.network.headers.as_ref().map(|headers| headers(url)).unwrap_or_default();
        replace_headers(&mut request.headers, given);
        request
    }

    /// The value of `Cookie`, which the browser adds only to requests that it makes itself.
    async fn cookies(&self, url: &str) -> Option<String> {
        let found = self.session.call("Network.getCookies", json!({ "urls": [url] })).await.ok()?;
        let pair =
            |cookie: &Value| Some(format!("{}={}", cookie["name"].as_str()?, cookie["value"].as_str()?));
        let pairs: Vec<String> = found["cookies"].as_array()?.iter().filter_map(pair).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Hands a response to the page. The exchange is recorded even if the page is closed by now.
    async fn fulfil(&self, exchange: &Exchange, notes: &mut Vec<String>) {
        let head = exchange.head().ok().flatten();
        let Some((head, body)) = head.and_then(|head| body(exchange).map(|body| (head, body))) else {
            let url = &exchange.url;
            notes.push(format!(
                "`{url}` was kept but not shown to the page: it is too large or cannot be decoded"
            ));
            return self.fail("Failed").await;
        };
        let params = json!({
            "responseCode": head.status,
            // Without a phrase, only codes that have a standard phrase are accepted.
            "responsePhrase": phrase(head.reason),
            "responseHeaders": response_headers(head.headers),
            "body": BASE64.encode(&body),
        });
        if let Err(error) = self.call("Fetch.fulfillRequest", params).await {
            notes.push(format!("the response of `{}` did not reach the page: {error}", exchange.url));
            // A page must not wait for a response that the browser rejects.
            self.fail("Failed").await;
        }
    }

    /// Refuses the request. The gate reports its decision itself.
    async fn refuse(&self, url: &str, rule: &str) -> PausedOutcome {
        self.fail("BlockedByClient").await;
        let error = failed(format!("`{url}` was not requested ({rule})"));
        PausedOutcome { error: Some(error), ..PausedOutcome::default() }
    }

    /// Fails the request in the page, which may be closed by now.
    async fn fail(&self, reason: &str) {
        let _ = self.call("Fetch.failRequest", json!({ "errorReason": reason })).await;
    }

    async fn call(&self, method: &str, mut params: Value) -> Result<Value, FetchError> {
        params["requestId"] = self.paused["requestId"].clone();
        self.session.call(method, params).await
    }
}

impl PausedOutcome {
    /// Takes the outcome. A failure after the deadline is not reported.
    fn take(&mut self, url: &str, outcome: Result<Exchange, FetchError>) {
        match outcome {
            Ok(exchange) => self.exchange = Some(exchange),
            Err(error) => {
                if error.kind == FetchErrorKind::Guard {
                    self.refused = Some((url.to_owned(), error.to_string()));
                } else if !self.is_late {
                    self.notes.push(format!("`{}` could not be fetched: {error}", ShownUrl(url)));
                }
                self.error = Some(error);
            }
        }
    }
}

/// The result of `work`, or none after the deadline.
async fn in_time<T>(until: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => tokio::time::timeout_at(until.into(), work).await.ok(),
        None => Some(work.await),
    }
}

/// The body of a request; none if the browser does not provide all of it, as with files.
fn request_body(request: &Value) -> Option<Vec<u8>> {
    let bytes = |entry: &Value| BASE64.decode(entry["bytes"].as_str()?.as_bytes()).ok();
    match (request["postDataEntries"].as_array(), request["postData"].as_str()) {
        (Some(entries), _) => Some(entries.iter().map(bytes).collect::<Option<Vec<_>>>()?.concat()),
        (None, Some(text)) => Some(text.as_bytes().to_vec()),
        (None, None) => (request["hasPostData"] != true).then(Vec::new),
    }
}

/// The reason phrase, as far as a browser accepts it.
fn phrase(reason: &[u8]) -> String {
    let plain = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
    let phrase: String = reason.iter().filter(plain).take(100).map(|byte| char::from(*byte)).collect();
    if phrase.is_empty() { "Unnamed".to_owned() } else { phrase }
}

/// Puts headers in place of those of the same name. Cookies are added to those of the browser.
fn replace_headers(headers: &mut Vec<(String, String)>, given: Vec<(String, String)>) {
    headers.retain(|(name, _)| {
        let is_given = given.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        !is_given || name.eq_ignore_ascii_case("cookie")
    });
    headers.extend(given);
}

fn response_headers(headers: &Headers) -> Vec<Value> {
    let pairs = headers.iter().map(|(name, value)| (decode_header_text(name), decode_header_text(value)));
    pairs
        .filter(|(name, _)| !is_one_of(name, &OF_ENCODED_BODY))
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect()
}

/// The DevTools name of a failure.
fn reason(kind: FetchErrorKind) -> &'static str {
    match kind {
        FetchErrorKind::Dns => "NameNotResolved",
        FetchErrorKind::Guard => "AccessDenied",
        FetchErrorKind::Refused => "ConnectionRefused",
        FetchErrorKind::Timeout => "TimedOut",
        FetchErrorKind::Connect | FetchErrorKind::Protocol => "ConnectionFailed",
        _ => "Failed",
    }
}
