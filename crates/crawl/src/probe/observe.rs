//! Extracts from a response the facts that expectations are checked against.

use std::io::{self, Read};

use sha2::{Digest, Sha256};
use varve_core::BodyId;
use varve_core::exchange::Exchange;
use varve_fetch::wants_tls;
use varve_wire::{MessageBytes, ReadAtCursor, TruncationReason};

use crate::wire_exchange;
use varve_expect::Observed;

/// One response and the facts observed in it.
pub(super) struct ObservedResponse {
    /// The observed facts, without the redirects before it.
    pub(super) observed: Observed,
    /// Whether the server answered that it requires TLS.
    pub(super) wants_tls: bool,
    /// Whether it sets a cookie.
    pub(super) sets_cookie: bool,
    /// The exchange itself, if the caller wants it.
    pub(super) exchange: Option<Exchange>,
}

/// Observes a response. Reads the whole body if `content` is set.
pub(super) fn observe_response(exchange: Box<Exchange>, content: bool, whole: bool) -> ObservedResponse {
    let observed = observe(&exchange, content);
    let wants_tls = observed.status == Some(400) && wants_tls(&exchange);
    let head = exchange.head().ok().flatten();
    let sets_cookie = head.is_some_and(|head| head.headers.get("set-cookie").is_some());
    ObservedResponse { observed, wants_tls, sets_cookie, exchange: whole.then_some(*exchange) }
}

fn observe(exchange: &Exchange, content: bool) -> Observed {
    let head = match exchange.head() {
        Ok(Some(head)) => head,
        Ok(None) => return Observed::failed("the answer is not HTTP"),
        Err(error) => return Observed::failed(format!("the answer cannot be read: {error}")),
    };
    let text = |name: &str| head.headers.get_text(name).map(|value| value.into_owned());
    let leads = matches!(head.status, 301 | 302 | 303 | 307 | 308);
    let mut observed = Observed {
        status: Some(head.status),
        location: text("location").filter(|_| leads),
        media_type: text("content-type"),
        ..Observed::default()
    };
    if let Some(cut) = exchange.truncated.filter(|_| has_unended_head(&exchange.response)) {
        observed.error = Some(format!("its header did not end: {}", cut_reason(cut)));
        (observed.status, observed.location) = (None, None);
    } else if let Some(reason) = exchange.truncated.and_then(|cut| broken(cut, content)) {
        observed.error = Some(reason);
    } else if content && observed.location.is_none() && exchange.truncated.is_none() {
        match measure(&exchange.response) {
            Ok((length, digest)) => (observed.length, observed.sha256) = (Some(length), Some(digest)),
            Err(error) => observed.error = Some(format!("the content cannot be read: {error}")),
        }
    }
    observed
}

/// Why a truncated response counts as failed. If the content does not matter, varve itself may have
/// cut it, and that is no failure.
fn broken(cut: TruncationReason, content: bool) -> Option<String> {
    if matches!(cut, TruncationReason::Length | TruncationReason::Time) && !content {
        return None;
    }
    Some(format!("the answer is not whole: {}", cut_reason(cut)))
}

fn cut_reason(cut: TruncationReason) -> &'static str {
    match cut {
        TruncationReason::Length => "it grew too long",
        TruncationReason::Time => "it took too long",
        TruncationReason::Disconnect => "the connection ended before it did",
        TruncationReason::Unspecified => "its length contradicts itself or cannot be read",
    }
}

/// Whether a truncated response ends within its head.
fn has_unended_head(response: &MessageBytes) -> bool {
    let Ok(Some(head)) = response.head() else { return false };
    if response.len() > head.length as u64 {
        return false;
    }
    let mut end = Vec::new();
    let read = ReadAtCursor::new(response, response.len().saturating_sub(4)).read_to_end(&mut end);
    read.is_ok() && !end.ends_with(b"\n\r\n") && !end.ends_with(b"\n\n")
}

/// Length and digest of the body with its codings removed.
fn measure(wire: &MessageBytes) -> io::Result<(u64, BodyId)> {
    let mut hasher = Sha256::new();
    let mut length = 0;
    if let Some(mut body) = wire_exchange::open_wire_body(wire)? {
        let mut buffer = vec![0; 32 << 10];
        loop {
            match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.update(&buffer[..count]);
                    length += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok((length, BodyId::new(hasher.finalize().into())))
}
