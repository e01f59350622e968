//! Checkpoints: everything up to here is safe, and need not be done again.
//!
//! The order is that of all of varve: silo, index, rows, and the frontier last. Whatever stops the process in between,
//! a URL that the frontier still has is found to be captured when it comes up again, and is not asked for twice.

use std::time::{Duration, Instant};

use varve_catalog::FrontierOutcome;

use super::dispatcher::{Crawl, FrontierUpdate};
use super::event::CrawlEvent;
use super::request_pool::CrawlMessage;
use crate::crawl::error::CrawlError;

/// A crash loses so much time at most.
const EVERY: Duration = Duration::from_secs(2);
/// And so many captures.
const EVERY_CAPTURES: usize = 4096;

impl Crawl<'_> {
    /// Whether it is time for a checkpoint.
    pub(super) fn checkpoint_is_due(&self) -> bool {
        let something = !self.rows.is_empty() || !self.settled.is_empty() || !self.deferred.is_empty();
        let something = something || !self.doubtful.is_empty();
        something && (self.checked.elapsed() >= EVERY || self.rows.len() >= EVERY_CAPTURES)
    }

    /// Makes everything safe, and lets go on what waited for it.
    pub(super) fn checkpoint(&mut self) -> Result<(), CrawlError> {
        self.make_safe()?;
        self.judge_doubtful()?;
        if self.keeping_now > 0 {
            self.make_safe()?;
        }
        self.checked = Instant::now();
        (self.context.report)(CrawlEvent::Checkpoint { captured: self.tally.captured });
        for task in std::mem::take(&mut self.deferred) {
            self.admit(task)?;
        }
        Ok(())
    }

    fn make_safe(&mut self) -> Result<(), CrawlError> {
        self.wait_for_keepers()?;
        self.push_entries()?;
        self.context.destination.save(std::mem::take(&mut self.rows))?;
        self.settle_all()?;
        self.fresh.clear();
        Ok(())
    }

    /// Lets keepers finish what they have. Answers that come meanwhile wait.
    fn wait_for_keepers(&mut self) -> Result<(), CrawlError> {
        while self.keeping_now > 0 {
            match self.context.messages.recv() {
                Ok(CrawlMessage::Kept(kept)) => self.kept(*kept)?,
                Ok(fetched) => self.inbox.push_back(fetched),
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn settle_all(&mut self) -> Result<(), CrawlError> {
        let outcomes: Vec<_> = self.settled.iter().map(|(no, settled)| (*no, outcome_of(settled))).collect();
        self.context.frontier.settle(&outcomes)?;
        self.settled.clear();
        Ok(())
    }
}

fn outcome_of(settled: &FrontierUpdate) -> FrontierOutcome<'_> {
    match settled {
        FrontierUpdate::Done => FrontierOutcome::Done,
        FrontierUpdate::Failed(reason) => FrontierOutcome::Failed(reason),
        FrontierUpdate::Skipped(rule) => FrontierOutcome::Skipped(rule),
        FrontierUpdate::Again(until) => FrontierOutcome::Again(*until, "retry-after"),
    }
}
