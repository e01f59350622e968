//! URLs in progress: in flight, or captured and not yet durable.
//!
//! A task for such a URL waits for the next checkpoint, after which the capture can be found.

use std::collections::HashSet;

use super::task::CrawlTask;

/// URLs in progress.
#[derive(Default)]
pub(crate) struct UrlsInProgress {
    /// In flight, or waiting for their host.
    busy: HashSet<String>,
    /// Captured since the last checkpoint.
    fresh: HashSet<String>,
    /// Pages among those in flight.
    pages: u64,
}

impl UrlsInProgress {
    /// A URL is requested, or a writer reads it.
    pub(crate) fn begin(&mut self, task: &mut CrawlTask, is_counted_page: bool) {
        self.busy.insert(task.url.to_string());
        task.is_counted_page = is_counted_page;
        self.pages += u64::from(is_counted_page);
    }

    /// A URL is no longer requested.
    pub(crate) fn end(&mut self, task: &CrawlTask) {
        if !task.is_non_capture() {
            self.busy.remove(task.url.as_str());
        }
        self.pages -= u64::from(task.is_counted_page);
    }

    /// A URL was captured.
    pub(crate) fn captured(&mut self, url: &str) {
        self.fresh.insert(url.to_owned());
    }

    /// All captures are durable.
    pub(crate) fn checkpointed(&mut self) {
        self.fresh.clear();
    }

    /// Whether a URL is in flight.
    pub(crate) fn is_busy(&self, url: &str) -> bool {
        self.busy.contains(url)
    }

    /// Whether a URL was captured since the last checkpoint.
    pub(crate) fn is_fresh(&self, url: &str) -> bool {
        self.fresh.contains(url)
    }

    /// Whether a URL is in progress.
    pub(crate) fn contains(&self, url: &str) -> bool {
        self.is_busy(url) || self.is_fresh(url)
    }

    /// Pages in flight.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }
}
