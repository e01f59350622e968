//! What was got since the last checkpoint: bodies that are safe in `tmp`, and rows that are not yet.
//!
//! Every link that was found becomes a resource, as in Crystal, where the members of a group are found among them. A site
//! links to its own pages from everywhere, so that what was recorded is remembered for a while.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use varve_core::secret::Secret;
use varve_core::url::RequestUrl;
use varve_crystal::{DownloadError, DownloadOutcome, NewRevision, ProjectWriter, Result};

use super::download_error::download_error;

/// So many links are remembered: some ten megabytes.
const MAX_SEEN_LINKS: usize = 1 << 19;
/// So many hosts that failed are remembered.
const MAX_FAILED_HOSTS: usize = 10_000;
/// So many revisions become one transaction.
const REVISIONS_PER_TRANSACTION: usize = 1000;

/// What was got, and not yet kept.
#[derive(Default)]
pub(super) struct PendingRevisions {
    waiting: RevisionBatch,
    seen: HashSet<u64>,
    hasher: RandomState,
    /// How hosts failed that cannot even be asked what they want of robots.
    lost_hosts: HashMap<String, DownloadError>,
}

/// What the next checkpoint keeps.
#[derive(Default)]
pub(super) struct RevisionBatch {
    revisions: Vec<(String, Option<Secret<String>>, DownloadOutcome)>,
    links: Vec<String>,
    failed: HashSet<String>,
}

impl PendingRevisions {
    /// An answer came, or what stands for one.
    pub(super) fn add(&mut self, url: &str, cookie: Option<Secret<String>>, outcome: DownloadOutcome) {
        self.waiting.revisions.push((url.to_owned(), cookie, outcome));
    }

    /// Links were found.
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

    /// A URL could not be had.
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
        // Two reasons to ask for it are no reason to record its failure twice.
        if self.waiting.failed.insert(url.to_owned()) {
            self.add(url, cookie, DownloadOutcome::Failed(error));
        }
    }

    /// Everything that waits.
    pub(super) fn take(&mut self) -> RevisionBatch {
        std::mem::take(&mut self.waiting)
    }
}

impl RevisionBatch {
    /// Keeps all of it: resources first, then revisions with their bodies.
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
