//! One intercepted request of a page: made by the client, and answered to the browser.

use std::time::Instant;

use data_encoding::BASE64;
use serde_json::{Value, json};
use varve_core::exchange::Exchange;
use varve_core::headers::{Headers, decode_header_text};
use varve_core::secret::ShownUrl;

use super::PageNetwork;
use super::browser_page::PageSession;
use super::decode::body;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::FetchRequest;
use crate::request_gate::{Admitted, Question};

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
const NOT_ANSWERED: [&str; 4] = ["content-encoding", "content-length", "transfer-encoding", "trailer"];

/// Headers that make a cached response unusable.
const OF_ITS_OWN: [&str; 6] =
    ["range", "authorization", "if-none-match", "if-modified-since", "if-match", "if-range"];

/// An intercepted request.
pub(super) struct PausedRequest {
    pub(super) paused: Value,
    /// Until when it may take.
    pub(super) until: Option<Instant>,
    /// Whether it is the one for the page.
    pub(super) is_page: bool,
}

/// The result of a request.
#[derive(Default)]
pub(super) struct PausedOutcome {
    pub(super) exchange: Option<Exchange>,
    /// The response, if it came from the cache.
    pub(super) recalled: Option<Exchange>,
    /// Why there is no response. The notes report it to the user.
    pub(super) error: Option<FetchError>,
    /// What the guard refused: the URL, and why.
    pub(super) refused: Option<(String, String)>,
    pub(super) notes: Vec<String>,
    /// It came when the time was over, and the page did not get it.
    pub(super) is_late: bool,
    /// Nothing will be shown: a download, or an answer without content.
    pub(super) shows_nothing: bool,
}

/// Makes an intercepted request and answers it. A response after the deadline is recorded, and not
/// handed to the page.
pub(super) async fn answer(
    network: PageNetwork,
    session: PageSession,
    request: PausedRequest,
) -> PausedOutcome {
    let PausedRequest { paused, until, is_page } = request;
    let id = paused["requestId"].clone();
    let url = paused["request"]["url"].as_str().unwrap_or_default().to_owned();
    if !url.starts_with("http:") && !url.starts_with("https:") {
        let _ = session.call("Fetch.continueRequest", json!({ "requestId": id })).await;
        return PausedOutcome::default();
    }
    let turn = match &network.gate {
        Some(gate) => match in_time(until, gate.admit(question(&paused["request"], &url, is_page))).await {
            Some(Ok(Admitted::Ask(turn))) => Some(turn),
            Some(Ok(Admitted::Recalled(exchange))) => {
                let mut answered = PausedOutcome::default();
                give(&session, &id, &Ok(&exchange), &mut answered.notes).await;
                answered.recalled = Some(*exchange);
                return answered;
            }
            Some(Err(rule)) => return refuse(&session, id, &url, &rule).await,
            None => return PausedOutcome::default(),
        },
        None => None,
    };
    let Some(sent) = request_body(&paused["request"]) else {
        let answered = refuse(&session, id, &url, "the browser does not say what is sent").await;
        let note = format!("`{}` was not asked for: the browser does not say what is sent", ShownUrl(&url));
        return PausedOutcome { notes: vec![note], ..answered };
    };
    let cookies = cookies(&session, &url).await;
    let mut request = request_of(&paused["request"], url.clone(), cookies);
    request.body = sent;
    request.until = until;
    let outcome = network.client.exchange(request).await;
    match (turn, &outcome) {
        (Some(turn), Ok(exchange)) => turn.answered(exchange),
        (turn, _) => drop(turn),
    }
    let mut answered = PausedOutcome::default();
    let in_time = until.is_none_or(|until| Instant::now() < until);
    if in_time {
        give(&session, &id, &outcome.as_ref(), &mut answered.notes).await;
    }
    answered.is_late = !in_time;
    answered.take(&url, outcome);
    answered
}

/// The question for the gate.
fn question(asked: &Value, url: &str, is_page: bool) -> Question {
    let method = asked["method"].as_str().unwrap_or("GET").to_owned();
    let is_its_own = |name: &String| OF_ITS_OWN.iter().any(|other| name.eq_ignore_ascii_case(other));
    let headers = asked["headers"].as_object();
    let is_plain = method == "GET" && !headers.is_some_and(|headers| headers.keys().any(is_its_own));
    Question { url: url.to_owned(), method, is_page, is_plain }
}

/// Hands an answer to the page, or word that there is none. The page may be gone by now; the
/// exchange is not.
async fn give(
    session: &PageSession,
    id: &Value,
    outcome: &Result<&Exchange, &FetchError>,
    notes: &mut Vec<String>,
) {
    let (method, params) = match outcome {
        Ok(exchange) => fulfilment(exchange, id, notes),
        Err(error) => ("Fetch.failRequest", json!({ "requestId": id, "errorReason": reason(error.kind) })),
    };
    if let Err(error) = session.call(method, params).await {
        let url = outcome.map_or("", |exchange| exchange.url.as_str());
        notes.push(format!("the answer of `{url}` did not reach the page: {error}"));
        // A page must not wait for what the browser does not take.
        let params = json!({ "requestId": id, "errorReason": "Failed" });
        let _ = session.call("Fetch.failRequest", params).await;
    }
}

impl PausedOutcome {
    /// Takes the outcome. What came to nothing for want of time is no news.
    fn take(&mut self, url: &str, outcome: Result<Exchange, FetchError>) {
        match outcome {
            Ok(exchange) => self.exchange = Some(exchange),
            Err(error) => {
                match error.kind {
                    FetchErrorKind::Guard => self.refused = Some((url.to_owned(), error.to_string())),
                    _ if !self.is_late => {
                        self.notes.push(format!("`{}` was not to be had: {error}", ShownUrl(url)))
                    }
                    _ => {}
                }
                self.error = Some(error);
            }
        }
    }
}

/// What comes in time.
async fn in_time<T>(until: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => tokio::time::timeout_at(until.into(), work).await.ok(),
        None => Some(work.await),
    }
}

/// Fails a request of the page. The gate reports its decision itself.
async fn refuse(session: &PageSession, id: Value, url: &str, rule: &str) -> PausedOutcome {
    let params = json!({ "requestId": id, "errorReason": "BlockedByClient" });
    let _ = session.call("Fetch.failRequest", params).await;
    let message = format!("`{url}` was not asked for ({rule})");
    let error = FetchError::new(FetchErrorKind::Browser, message);
    PausedOutcome { error: Some(error), ..PausedOutcome::default() }
}

/// The value of `Cookie`, which the browser adds only to requests that it makes itself.
async fn cookies(session: &PageSession, url: &str) -> Option<String> {
    let found = session.call("Network.getCookies", json!({ "urls": [url] })).await.ok()?;
    let pair = |cookie: &Value| Some(format!("{}={}", cookie["name"].as_str()?, cookie["value"].as_str()?));
    let pairs: Vec<String> = found["cookies"].as_array()?.iter().filter_map(pair).collect();
    (!pairs.is_empty()).then(|| pairs.join("; "))
}

fn request_of(asked: &Value, url: String, cookies: Option<String>) -> FetchRequest {
    let mut request = FetchRequest::get(url);
    request.method = asked["method"].as_str().unwrap_or("GET").to_owned();
    for (name, value) in asked["headers"].as_object().into_iter().flatten() {
        let passed = !NOT_PASSED_ON.iter().any(|other| name.eq_ignore_ascii_case(other));
        if let Some(value) = value.as_str().filter(|_| passed) {
            request.headers.push((name.clone(), value.to_owned()));
        }
    }
    let has_cookie = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    if let Some(cookies) = cookies.filter(|_| !has_cookie) {
        request.headers.push(("Cookie".to_owned(), cookies));
    }
    request
}

/// What is sent; none where the browser keeps some of it to itself, as it does with files. Half of
/// it would be something else.
fn request_body(asked: &Value) -> Option<Vec<u8>> {
    let bytes = |entry: &Value| BASE64.decode(entry["bytes"].as_str()?.as_bytes()).ok();
    match (asked["postDataEntries"].as_array(), asked["postData"].as_str()) {
        (Some(entries), _) => Some(entries.iter().map(bytes).collect::<Option<Vec<_>>>()?.concat()),
        (None, Some(text)) => Some(text.as_bytes().to_vec()),
        (None, None) => (asked["hasPostData"] != true).then(Vec::new),
    }
}

/// The call that hands an answer to the browser.
fn fulfilment(exchange: &Exchange, id: &Value, notes: &mut Vec<String>) -> (&'static str, Value) {
    let head = exchange.head().ok().flatten();
    let whole = head.and_then(|head| body(exchange).map(|body| (head, body)));
    let Some((head, body)) = whole else {
        notes.push(format!(
            "`{}` was kept but not shown to the page: it is too large or cannot be decoded",
            exchange.url
        ));
        return ("Fetch.failRequest", json!({ "requestId": id, "errorReason": "Failed" }));
    };
    let params = json!({
        "requestId": id,
        "responseCode": head.status,
        // Without one, only those codes are taken that have a phrase of their own.
        "responsePhrase": phrase(head.reason),
        "responseHeaders": answered_headers(head.headers),
        "body": BASE64.encode(&body),
    });
    ("Fetch.fulfillRequest", params)
}

/// What stands behind the code, as far as a browser takes it.
fn phrase(reason: &[u8]) -> String {
    let plain = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
    let phrase: String = reason.iter().filter(plain).take(100).map(|byte| char::from(*byte)).collect();
    if phrase.is_empty() { "Unnamed".to_owned() } else { phrase }
}

fn answered_headers(headers: &Headers) -> Vec<Value> {
    let passed = |name: &[u8]| !NOT_ANSWERED.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()));
    headers
        .iter()
        .filter(|(name, _)| passed(name))
        .map(|(name, value)| json!({ "name": decode_header_text(name), "value": decode_header_text(value) }))
        .collect()
}

/// The browser's word for a failure.
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
