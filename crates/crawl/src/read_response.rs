//! Reads a response: its links, and the text of a `robots.txt`.

use std::io::{self, Read};

use varve_core::headers::Headers;
use varve_core::robots::MAX_ROBOTS_BYTES;
use varve_store::StoreError;
use varve_wire::MessageBytes;

use super::crawl_policy::CrawlPolicy;
use super::discovered_link::ResponseLinks;
use super::extract_links::{ParsedHead, extract_links};
use super::fetch_reason::FetchReason;
use super::task::CrawlTask;
use varve_repository::RepositoryError;

use crate::error::CrawlError;
use crate::wire_exchange;

/// The content read from a response.
#[derive(Default)]
pub(crate) struct ReadResponse {
    /// The links of the response.
    pub(crate) links: ResponseLinks,
    /// The text of a `robots.txt`.
    pub(crate) robots: Option<Vec<u8>>,
}

/// Reads a response. `each` gets every link, followed or not.
pub(crate) fn read_response(
    policy: &CrawlPolicy,
    task: &CrawlTask,
    (status, headers): (u16, &Headers),
    body: &mut dyn Read,
    each: &mut dyn FnMut(&str),
) -> ReadResponse {
    let head = ParsedHead { url: &task.url, status, headers };
    let robots = (task.reason == FetchReason::Robots).then(|| {
        let mut text = Vec::new();
        // The rules before the damage count.
        let _ = body.take(MAX_ROBOTS_BYTES as u64).read_to_end(&mut text);
        text
    });
    ReadResponse { links: extract_links(policy, task.reason, &head, body, each), robots }
}

/// The body of a response with its codings removed; empty where a coding is not supported.
pub(crate) fn decoded_body(wire: &MessageBytes) -> Result<Box<dyn Read + Send + '_>, CrawlError> {
    let unreadable = |error| RepositoryError::Store(StoreError::Content(error));
    wire.head().map_err(unreadable)?;
    Ok(match wire_exchange::open_wire_body(wire) {
        Ok(Some(body)) if body.unremoved_coding().is_none() => Box::new(body),
        _ => Box::new(io::empty()),
    })
}
