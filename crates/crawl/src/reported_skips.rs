//! URLs that were reported as skipped and may occur again. A page in a browser may request a URL
//! any number of times, and the run finds it in the page again.
//!
//! Each is reported once. The set is bounded, so that no site can fill the memory.

use std::collections::HashSet;

/// URLs that are remembered; of later ones some are reported again.
const MAX_REPORTED_SKIPS: usize = 50_000;

/// URLs that were reported as skipped.
#[derive(Default)]
pub(crate) struct ReportedSkips(HashSet<Box<str>>);

impl ReportedSkips {
    /// Adds a URL; whether it was not reported before.
    pub(crate) fn insert(&mut self, url: &str) -> bool {
        let is_new = !self.0.contains(url);
        if is_new && self.0.len() < MAX_REPORTED_SKIPS {
            self.0.insert(url.into());
        }
        is_new
    }

    /// Whether a URL was reported.
    pub(crate) fn contains(&self, url: &str) -> bool {
        self.0.contains(url)
    }
}
