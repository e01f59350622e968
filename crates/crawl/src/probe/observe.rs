//! What an answer says, as far as promises go.

use std::io::{self, Read};

use sha2::{Digest, Sha256};
use varve_core::BodyId;
use varve_core::exchange::Exchange;
use varve_fetch::wants_tls;
use varve_wire::{MessageBytes, TruncationReason};

use crate::wire_exchange;
use varve_expect::Observed;

/// One answer, looked at.
pub(super) struct ObservedResponse {
    /// What it says, without the redirects before it.
    pub(super) observed: Observed,
    /// Whether it says that TLS is spoken there.
    pub(super) wants_tls: bool,
    /// The answer itself, if it is wanted.
    pub(super) exchange: Option<Exchange>,
}

/// Looks at an answer. Reads all of its body if the content counts.
pub(super) fn observe_response(exchange: Box<Exchange>, content: bool, whole: bool) -> ObservedResponse {
    let observed = observe(&exchange, content);
    let wants_tls = observed.status == Some(400) && wants_tls(&exchange);
    ObservedResponse { observed, wants_tls, exchange: whole.then_some(*exchange) }
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
    if let Some(reason) = exchange.truncated.and_then(|cut| broken(cut, content)) {
        observed.error = Some(reason);
    } else if content && observed.location.is_none() && exchange.truncated.is_none() {
        match measure(&exchange.response) {
            Ok((length, digest)) => (observed.length, observed.sha256) = (Some(length), Some(digest)),
            Err(error) => observed.error = Some(format!("the content cannot be read: {error}")),
        }
    }
    observed
}

/// Why an answer that was cut short is no answer. Where only its beginning counts, varve itself may have cut it.
fn broken(cut: TruncationReason, content: bool) -> Option<String> {
    let reason = match cut {
        TruncationReason::Length | TruncationReason::Time if !content => return None,
        TruncationReason::Length => "it grew too long",
        TruncationReason::Time => "it took too long",
        TruncationReason::Disconnect => "the connection ended before it did",
        TruncationReason::Unspecified => "its length contradicts itself or cannot be read",
    };
    Some(format!("the answer is not whole: {reason}"))
}

/// Length and digest of the body, with its codings undone.
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
