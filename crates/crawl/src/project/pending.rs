//! Revisions since the last checkpoint: their bodies are durable as drafts, their rows are not
//! written yet.
//!
//! Every link found becomes a resource, as in Crystal, which looks for the members of a group among
//! the resources. Sites link to their own pages from everywhere, so recorded links are remembered
//! for a while.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use varve_core::secret::Secret;
use varve_core::url::RequestUrl;
use varve_crystal::{DownloadError, DownloadOutcome, NewRevision, ProjectWriter, Result};

use super::download_error::download_error;

/// Maximum number of links that are remembered: about ten megabytes.
const MAX_SEEN_LINKS: usize = 1 << 19;
/// Maximum number of failed hosts that are remembered.
const MAX_FAILED_HOSTS: usize = 10_000;
/// Number of revisions in one transaction.
const REVISIONS_PER_TRANSACTION: usize = 1000;

/// Revisions and links that are not written to the project yet.
#[derive(Default)]
pub(super) struct PendingRevisions {
    waiting: RevisionBatch,
    seen: HashSet<u64>,
    hasher: RandomState,
    /// The failures of hosts from which not even `robots.txt` could be fetched.
    lost_hosts: HashMap<String, DownloadError>,
}

/// The revisions and links that the next checkpoint writes.
#[derive(Default)]
pub(super) struct RevisionBatch {
    revisions: Vec<(String, Option<Secret<String>>, DownloadOutcome)>,
    links: Vec<String>,
    failed: HashSet<String>,
}

impl PendingRevisions {
    /// Adds a response, or the failure that takes its place.
    pub(super) fn add(&mut self, url: &str, cookie: Option<Secret<String>>, outcome: DownloadOutcome) {
        self.waiting.revisions.push((url.to_owned(), cookie, outcome));
    }

    /// Adds links that were found.
    pub(super) fn link(&mut self, links: Vec<String>) {
        if self.seen.len() >= MAX_SEEN_LINKS {
            self.seen.clear();
        }
        for link in links {
            if self.seen.insert(self.hasher.hash_one(&link)) {
                self.waiting.links.push(link);
            }
        }
    }

    /// Adds the failure of a URL.
    pub(super) fn fail(&mut self, url: &str, kind: &str, message: &str, cookie: Option<Secret<String>>) {
        let parsed = RequestUrl::verbatim(url);
        let host = parsed.as_ref().map_or("", |url| url.authority());
        let error = match kind {
            "robots" => self.lost_hosts.get(host).cloned(),
            kind => download_error(kind, url, message),
        };
        let Some(error) = error else { return };
        if self.lost_hosts.len() < MAX_FAILED_HOSTS {
            self.lost_hosts.insert(host.to_owned(), error.clone());
        }
        // A URL that was requested for two reasons fails only once.
        if self.waiting.failed.insert(url.to_owned()) {
            self.add(url, cookie, DownloadOutcome::Failed(error));
        }
    }

    /// Takes everything that is pending.
    pub(super) fn take(&mut self) -> RevisionBatch {
        std::mem::take(&mut self.waiting)
    }
}

impl RevisionBatch {
    /// Writes everything to the project: resources first, then revisions with their bodies.
    pub(super) fn keep_in(self, writer: &mut ProjectWriter) -> Result<()> {
        let Self { revisions, links, .. } = self;
        if revisions.is_empty() && links.is_empty() {
            return Ok(());
        }
        let urls = revisions.iter().map(|(url, ..)| url.as_str());
        let resources = writer.add_resources(urls.chain(links.iter().map(String::as_str)))?;
        let mut new =
            revisions.into_iter().zip(resources).filter_map(|((_, request_cookie, outcome), resource)| {
                Some(NewRevision { id: None, resource: resource?, request_cookie, outcome })
            });
        loop {
            let piece: Vec<NewRevision> = new.by_ref().take(REVISIONS_PER_TRANSACTION).collect();
            if piece.is_empty() {
                return Ok(());
            }
            writer.room()?;
            writer.add_revisions(piece)?;
        }
    }
}
