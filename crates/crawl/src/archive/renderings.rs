//! Stores the renderings of a page in a browser as records: the document after its scripts have
//! run, and a screenshot.
//!
//! The record of the response names both. Links that only scripts made are in the document, so it
//! is read for links as well.

use std::collections::HashSet;
use std::io::Read;

use varve_core::headers::Headers;
use varve_core::history::Capture;

use super::super::discovered_link::{DiscoveredLink, ResponseLinks};
use super::super::task::CrawlTask;
use super::writers::ArchiveWriters;
use crate::error::CrawlError;

/// The type of every document.
const DOCUMENT_MEDIA_TYPE: &str = "text/html; charset=utf-8";

impl ArchiveWriters<'_> {
    /// Adds the links of a document. Its URL is that of the response, not what scripts made of it.
    pub(super) fn read_document(
        &self,
        task: &CrawlTask,
        status: u16,
        document: &mut dyn Read,
        links: &mut ResponseLinks,
    ) {
        let mut headers = Headers::new();
        headers.push("Content-Type", DOCUMENT_MEDIA_TYPE);
        let more = self.read(task, (status, &headers), document).links;
        let known: HashSet<DiscoveredLink> = links.followed.iter().cloned().collect();
        links.followed.extend(more.followed.into_iter().filter(|link| !known.contains(link)));
        links.unfollowed.extend(more.unfollowed);
        links.over_limit.append(more.over_limit);
        links.stopped_at = links.stopped_at.or(more.stopped_at);
    }

    /// Adds the links of the document of a capture, if it has one.
    pub(super) fn read_stored_document(
        &self,
        task: &CrawlTask,
        capture: &Capture,
        links: &mut ResponseLinks,
    ) -> Result<(), CrawlError> {
        let Some(id) = self.history.renderings(capture)?.document else { return Ok(()) };
        let Some(document) = self.history.writer().reader().object(&id)? else { return Ok(()) };
        self.read_document(task, capture.status, &mut document.read()?, links);
        Ok(())
    }
}
