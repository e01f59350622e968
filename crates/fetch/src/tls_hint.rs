//! Detects servers that expect TLS on a port that was asked in plain HTTP.
//!
//! Some send a TLS alert, which is no HTTP response. Others send a page with status 400, whose text
//! depends on the server; the texts of the common servers are known here.

use varve_core::exchange::Exchange;

/// A TLS alert record: type, version, two bytes of length, level, reason.
const ALERT_BYTES: usize = 7;

/// How much of a response is searched.
const SEARCHED_BYTES: usize = 4096;

/// The messages of nginx, Apache and Go servers.
const TLS_MESSAGES: [&[u8]; 3] = [
    b"plain HTTP request was sent to HTTPS port",
    b"speaking plain HTTP to an SSL-enabled server port",
    b"sent an HTTP request to an HTTPS server",
];

/// Whether an answer in plain HTTP says that TLS is spoken there.
pub fn wants_tls(exchange: &Exchange) -> bool {
    let is_refusal = || exchange.head().is_ok_and(|head| head.is_some_and(|head| head.status == 400));
    if !exchange.url.starts_with("http:") || !is_refusal() {
        return false;
    }
    let Ok(start) = exchange.response.start(SEARCHED_BYTES) else { return false };
    TLS_MESSAGES.iter().any(|words| start.windows(words.len()).any(|part| part == *words))
}

/// Whether what came back in plain HTTP is an alert of TLS and nothing else.
pub(crate) fn is_alert(exchange: &Exchange) -> bool {
    if !exchange.url.starts_with("http:") || exchange.response.len() != ALERT_BYTES as u64 {
        return false;
    }
    let start = exchange.response.start(ALERT_BYTES);
    start.is_ok_and(|start| matches!(*start, [21, 3, 0..=4, 0, 2, 1 | 2, _]))
}
