//! Checkpoints: everything up to here is durable and need not be done again.
//!
//! The order is that of all of Varve: silo, index, rows, and the frontier last. When the process
//! stops in between, a URL that the frontier still has is found to be captured when it is claimed
//! again, and is not requested twice.
//!
//! A thread of its own makes checkpoints, and the dispatcher goes on meanwhile. Only the writers
//! wait: a row says that everything before it in the silos has rows as well.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use varve_catalog::{CatalogRow, Frontier, FrontierOutcome};
use varve_core::Moment;

use super::destination::Destination;
use super::message::CrawlMessage;
use super::task::FrontierEntry;
use crate::error::CrawlError;

/// A crash loses at most this much time.
pub(crate) const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(2);
/// A crash loses at most this number of captures.
const MAX_PENDING_ROWS: usize = 4096;
/// Links that are pushed into the frontier at once.
const MAX_PENDING_ENTRIES: usize = 2048;
/// Updates of the frontier that may wait without a capture among them.
const MAX_PENDING_UPDATES: usize = 16 << 10;

/// The outcome of a URL of the frontier. It is recorded after everything else is durable.
pub(crate) enum FrontierUpdate {
    Done,
    Failed(String),
    Skipped(String),
    /// To be requested at this instant.
    Again(Moment),
}

impl FrontierUpdate {
    fn outcome(&self) -> FrontierOutcome<'_> {
        match self {
            Self::Done => FrontierOutcome::Done,
            Self::Failed(reason) => FrontierOutcome::Failed(reason),
            Self::Skipped(rule) => FrontierOutcome::Skipped(rule),
            Self::Again(until) => FrontierOutcome::Again(*until, "retry-after"),
        }
    }
}

/// The batch that the next checkpoint makes durable.
#[derive(Default)]
pub(crate) struct CheckpointBatch {
    /// Links on their way into the frontier.
    pub(crate) entries: Vec<FrontierEntry>,
    /// Rows of captures.
    pub(crate) rows: Vec<CatalogRow>,
    /// The outcomes of URLs of the frontier.
    pub(crate) updates: Vec<(i64, FrontierUpdate)>,
}

impl CheckpointBatch {
    /// Makes everything durable; whether the frontier has new URLs.
    fn save(self, destination: &dyn Destination, frontier: &dyn Frontier) -> Result<bool, CrawlError> {
        let has_new = push_entries(frontier, &self.entries)?;
        destination.save(self.rows)?;
        let outcomes: Vec<_> = self.updates.iter().map(|(no, update)| (*no, update.outcome())).collect();
        frontier.record_outcomes(&outcomes)?;
        Ok(has_new)
    }
}

/// Pushes links into the frontier; whether any of them is new.
pub(crate) fn push_entries(frontier: &dyn Frontier, entries: &[FrontierEntry]) -> Result<bool, CrawlError> {
    if entries.is_empty() {
        return Ok(false);
    }
    let new: Vec<_> = entries.iter().map(FrontierEntry::as_new).collect();
    Ok(frontier.push(&new)? > 0)
}

/// Makes checkpoints until no more batches come.
pub(crate) fn run_checkpoints(
    batches: &Receiver<CheckpointBatch>,
    destination: &dyn Destination,
    frontier: &dyn Frontier,
    done: &Sender<CrawlMessage>,
) {
    for batch in batches {
        let saved = catch_unwind(AssertUnwindSafe(|| batch.save(destination, frontier)));
        let saved = saved.unwrap_or_else(|_| {
            let panicked = std::io::Error::other("a bug in varve: the checkpoint panicked");
            Err(CrawlError::Threads(panicked))
        });
        if done.send(CrawlMessage::Checkpointed(saved)).is_err() {
            return;
        }
    }
}

/// The state of checkpoints, as the dispatcher sees it.
pub(crate) struct Checkpoints {
    /// The batch that the next checkpoint makes durable.
    pub(crate) pending: CheckpointBatch,
    batches: Sender<CheckpointBatch>,
    phase: CheckpointPhase,
    last: Instant,
}

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckpointPhase {
    /// None is wanted.
    Idle,
    /// One waits until the writers are idle.
    WaitingForWriters,
    /// One is being saved.
    Saving,
}

impl Checkpoints {
    /// No checkpoint yet.
    pub(crate) fn new(batches: Sender<CheckpointBatch>, now: Instant) -> Self {
        let pending = CheckpointBatch::default();
        Self { pending, batches, phase: CheckpointPhase::Idle, last: now }
    }

    /// How far the checkpoint is.
    pub(crate) fn phase(&self) -> CheckpointPhase {
        self.phase
    }

    /// Whether a checkpoint is due, where tasks or exchanges may wait for one.
    pub(crate) fn is_due(&self, has_waiting: bool, now: Instant) -> bool {
        let CheckpointBatch { rows, updates, .. } = &self.pending;
        let has_work = !rows.is_empty() || !updates.is_empty() || has_waiting;
        let is_time = now.saturating_duration_since(self.last) >= CHECKPOINT_INTERVAL;
        self.phase == CheckpointPhase::Idle && has_work && (is_time || rows.len() >= MAX_PENDING_ROWS)
    }

    /// Wants a checkpoint as soon as the writers are idle.
    pub(crate) fn request(&mut self) {
        if self.phase == CheckpointPhase::Idle {
            self.phase = CheckpointPhase::WaitingForWriters;
        }
    }

    /// Starts to save the pending batch. The writers must be idle.
    pub(crate) fn begin_saving(&mut self) {
        self.phase = CheckpointPhase::Saving;
        let sent = self.batches.send(std::mem::take(&mut self.pending));
        debug_assert!(sent.is_ok(), "the thread of checkpoints lives as long as the dispatcher");
    }

    /// Marks the batch as saved: it is durable.
    pub(crate) fn saved(&mut self, now: Instant) {
        self.phase = CheckpointPhase::Idle;
        self.last = now;
    }

    /// Whether there are enough links to push into the frontier.
    pub(crate) fn has_many_entries(&self) -> bool {
        self.pending.entries.len() >= MAX_PENDING_ENTRIES
    }

    /// Whether there are too many updates to wait for a capture among them.
    pub(crate) fn has_many_updates(&self) -> bool {
        self.pending.updates.len() >= MAX_PENDING_UPDATES
    }

    /// Records what happened to a URL, if it is one of the frontier.
    pub(crate) fn update(&mut self, no: Option<i64>, update: FrontierUpdate) {
        self.pending.updates.extend(no.map(|no| (no, update)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::clock::ManualTime;

    #[test]
    fn a_checkpoint_is_due_when_there_is_work_and_time_has_passed() {
        let (sender, batches) = channel();
        let start = ManualTime::new().instant();
        let mut checkpoints = Checkpoints::new(sender, start);
        let later = start + CHECKPOINT_INTERVAL;
        assert!(!checkpoints.is_due(false, later), "there is nothing to save");
        checkpoints.update(Some(1), FrontierUpdate::Done);
        checkpoints.update(None, FrontierUpdate::Done);
        assert!(!checkpoints.is_due(false, start) && checkpoints.is_due(false, later));
        checkpoints.request();
        assert!(!checkpoints.is_due(false, later), "one is in progress");
        checkpoints.begin_saving();
        assert_eq!(batches.recv().map(|batch| batch.updates.len()), Ok(1));
        checkpoints.saved(later);
        assert_eq!(checkpoints.phase(), CheckpointPhase::Idle);
    }
}
