//! The beginning of a run: its seeds, the members of groups that the destination knows, and, when
//! the run is resumed, the state that an earlier process of it had.

use varve_catalog::PastUrl;

use super::{CrawlContext, CrawlDispatcher};
use crate::discovered_link::DiscoveredLink;
use crate::error::CrawlError;
use crate::fetch_reason::FetchReason;
use crate::seen_urls::Novelty;
use crate::task::FrontierEntry;

/// Known members of groups that go into the frontier at once.
const MEMBERS_PER_PUSH: usize = 2048;

impl CrawlDispatcher<'_> {
    /// Pushes the seeds into the frontier.
    pub(crate) fn push_seeds(&mut self) -> Result<(), CrawlError> {
        let policy = self.context.policy;
        for seed in policy.settings.seeds.iter().filter_map(|seed| policy.stored_url(seed)) {
            let link = DiscoveredLink::new(seed.clone(), FetchReason::Page { depth: 0 });
            self.seen.insert(&link);
            self.push_entry(FrontierEntry::new(link, 0, None, false));
            if !policy.settings.politeness.obey_robots {
                self.push_sitemaps(&seed, Vec::new());
            }
        }
        self.push_entries()
    }

    /// Pushes the members of groups into the frontier that the destination knows already.
    pub(crate) fn push_members(&mut self) -> Result<(), CrawlError> {
        let CrawlContext { destination, policy, .. } = self.context;
        destination.members(&mut |url, group| {
            if let Some(url) = policy.stored_url(&url) {
                self.push_link(DiscoveredLink::new(url, FetchReason::Page { depth: group }));
            }
            let is_full = self.threads.checkpoints.pending.entries.len() >= MEMBERS_PER_PUSH;
            if is_full { self.push_entries() } else { Ok(()) }
        })?;
        self.push_entries()
    }

    /// Pushes a link of the run itself, unless it was seen.
    pub(super) fn push_link(&mut self, link: DiscoveredLink) {
        if self.seen.insert(&link) != Novelty::Seen {
            self.push_entry(FrontierEntry::new(link, 0, None, false));
        }
    }

    pub(super) fn push_entry(&mut self, entry: FrontierEntry) {
        self.threads.checkpoints.pending.entries.push(entry);
    }

    /// Restores what an earlier process of the same run knew.
    pub(crate) fn restore(&mut self) -> Result<(), CrawlError> {
        self.reporter.tally.failed_before = self.context.frontier.counts()?.failed;
        self.hosts.resume();
        let (seen, traps, hosts) = (&mut self.seen, &mut self.traps, &mut self.hosts);
        let policy = self.context.policy;
        self.context.frontier.each_past(&mut |past| {
            let PastUrl { url, reason, is_done } = past;
            let Some(url) = policy.stored_url(url) else { return };
            if is_done {
                hosts.captured(url.authority(), url.origin());
            }
            if reason.depends_on_depth() {
                seen.restore(url.page().as_str(), reason);
                if reason.is_page() && reason.depth() > 0 {
                    let _ = traps.note(url.page().as_str());
                }
            }
        })?;
        Ok(())
    }
}
