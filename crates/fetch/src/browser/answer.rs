//! One request that the browser wants to make: made by the client, and answered by hand.

use data_encoding::BASE64;
use serde_json::{Value, json};
use varve_core::exchange::{Exchange, ResponseHead};
use varve_core::headers::decode;

use super::Browser;
use super::decode::body;
use super::pipe::Pipe;
use crate::error::{FetchError, FetchErrorKind};
use crate::fetcher::FetchRequest;

/// Headers that the client makes itself, or that only mean something between the browser and a server.
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

/// Headers that no longer fit a body whose codings were undone.
const NOT_ANSWERED: [&str; 4] = ["content-encoding", "content-length", "transfer-encoding", "trailer"];

/// What came of a request.
#[derive(Default)]
pub(super) struct Answered {
    pub(super) exchange: Option<Exchange>,
    pub(super) error: Option<FetchError>,
    pub(super) notes: Vec<String>,
    /// Nothing will be shown: a download, or an answer without content.
    pub(super) shows_nothing: bool,
}

/// Makes a stopped request and answers it.
pub(super) async fn answer(browser: Browser, pipe: Pipe, session: String, paused: Value) -> Answered {
    let id = paused["requestId"].clone();
    let url = paused["request"]["url"].as_str().unwrap_or_default().to_owned();
    if !url.starts_with("http:") && !url.starts_with("https:") {
        let _ = pipe.call(Some(&session), "Fetch.continueRequest", json!({ "requestId": id })).await;
        return Answered::default();
    }
    let turn = match &browser.gate {
        Some(gate) => match gate.admit(url.clone()).await {
            Ok(turn) => Some(turn),
            Err(rule) => return refuse(&pipe, &session, id, &url, &rule).await,
        },
        None => None,
    };
    let cookies = cookies(&pipe, &session, &url).await;
    let outcome = browser.client.exchange(request_of(&paused["request"], url.clone(), cookies)).await;
    drop(turn);
    let mut notes = Vec::new();
    let (method, params) = match &outcome {
        Ok(exchange) => fulfilment(exchange, id, &mut notes),
        Err(error) => ("Fetch.failRequest", json!({ "requestId": id, "errorReason": reason(error.kind) })),
    };
    // The page may be gone by now; the exchange is not.
    if let Err(error) = pipe.call(Some(&session), method, params).await {
        notes.push(format!("the answer of `{url}` did not reach the page: {error}"));
    }
    match outcome {
        Ok(exchange) => Answered { exchange: Some(exchange), notes, ..Answered::default() },
        Err(error) => Answered { error: Some(error), notes, ..Answered::default() },
    }
}

/// Tells the page that it does not get something.
async fn refuse(pipe: &Pipe, session: &str, id: Value, url: &str, rule: &str) -> Answered {
    let params = json!({ "requestId": id, "errorReason": "BlockedByClient" });
    let _ = pipe.call(Some(session), "Fetch.failRequest", params).await;
    let message = format!("`{url}` was not asked for ({rule})");
    let error = FetchError::new(FetchErrorKind::Browser, message);
    Answered { error: Some(error), ..Answered::default() }
}

/// The value of `Cookie`, which the browser adds only to requests that it makes itself.
async fn cookies(pipe: &Pipe, session: &str, url: &str) -> Option<String> {
    let found = pipe.call(Some(session), "Network.getCookies", json!({ "urls": [url] })).await.ok()?;
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
    request.body = request_body(asked);
    request
}

fn request_body(asked: &Value) -> Vec<u8> {
    match asked["postDataEntries"].as_array() {
        Some(entries) => entries
            .iter()
            .filter_map(|entry| BASE64.decode(entry["bytes"].as_str()?.as_bytes()).ok())
            .flatten()
            .collect(),
        None => asked["postData"].as_str().unwrap_or_default().as_bytes().to_vec(),
    }
}

/// The call that hands an answer to the browser.
fn fulfilment(exchange: &Exchange, id: Value, notes: &mut Vec<String>) -> (&'static str, Value) {
    let head = exchange.head().ok().flatten();
    let whole = head.and_then(|head| body(exchange, &head).map(|body| (head, body)));
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
        "responseHeaders": answered_headers(&head),
        "body": BASE64.encode(&body),
    });
    ("Fetch.fulfillRequest", params)
}

fn answered_headers(head: &ResponseHead) -> Vec<Value> {
    let passed = |name: &[u8]| !NOT_ANSWERED.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()));
    head.headers
        .iter()
        .filter(|header| passed(&header.name))
        .map(|header| json!({ "name": decode(&header.name), "value": decode(&header.value) }))
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
