//! What this run has, given again to a page that asks for it: from where it is kept.

use std::io::Read;

use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_core::history::Capture;
use varve_wire::MessageHead;

use super::dispatcher::Crawl;
use super::past_captures::{PastLookup, SpellingMatch};
use super::response_cache::{MAX_RESPONSE_BYTES, is_reusable};
use crate::crawl::error::CrawlError;
use varve_repository::history::{ArchiveHistory, Holdings};

/// The question what this run was answered.
pub(crate) struct CacheLookup {
    /// What a page asks for.
    pub(crate) url: String,
    /// Where the answer goes.
    pub(crate) reply: oneshot::Sender<Option<Exchange>>,
}

impl Crawl<'_> {
    /// Gives a page what this run has, if it has it.
    pub(super) fn give_again(&mut self, recall: CacheLookup) -> Result<(), CrawlError> {
        if self.fresh.contains(&recall.url) {
            // It is kept, and cannot be found before that is safe.
            self.checkpoint()?;
        }
        let destination = self.context.destination;
        let found = match destination.past(self.context.run, &recall.url, SpellingMatch::Exact)? {
            PastLookup::ThisRun(stored) => destination.recall(&stored)?,
            PastLookup::Earlier(_) | PastLookup::Nothing => None,
        };
        // The page may be gone by now.
        let _ = recall.reply.send(found);
        Ok(())
    }
}

/// The answer that a capture is, with its codings undone; none if it is not one for whoever asks. It has no request: it was
/// not made now.
pub(super) fn stored_response(
    history: &ArchiveHistory,
    capture: &Capture,
) -> Result<Option<Exchange>, CrawlError> {
    if capture.truncated || capture.length.is_none_or(|length| length > MAX_RESPONSE_BYTES) {
        return Ok(None);
    }
    let wire = history.wire_head(capture)?.unwrap_or_default();
    let parsed = MessageHead::parse(&wire);
    let response = parsed.as_ref().and_then(MessageHead::response);
    let Some(head) = response.filter(is_reusable) else { return Ok(None) };
    let mut bytes = format!("HTTP/1.1 {} ", head.status).into_bytes();
    bytes.extend_from_slice(head.reason);
    bytes.extend_from_slice(b"\r\n");
    let is_framing = |name: &[u8]| {
        ["content-encoding", "transfer-encoding"]
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
    };
    for (name, value) in head.headers.iter().filter(|(name, _)| !is_framing(name)) {
        bytes.extend_from_slice(&[name, b": ", value, b"\r\n"].concat());
    }
    bytes.extend_from_slice(b"\r\n");
    // What cannot be read is asked for again; `audit` says what is wrong with it.
    if history.open_body(capture)?.take(MAX_RESPONSE_BYTES + 1).read_to_end(&mut bytes).is_err() {
        return Ok(None);
    }
    Ok(Some(Exchange {
        url: capture.url.clone(),
        at: capture.time,
        request: Vec::new(),
        response: bytes.into(),
        interim: 0,
        ip: None,
        protocol: Vec::new(),
        cipher: None,
        timing: Default::default(),
        truncated: None,
        trailers: Vec::new(),
    }))
}
