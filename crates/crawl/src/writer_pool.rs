//! Writers: the threads that store responses and read their links.
//!
//! A stored response is not durable yet: the checkpoint syncs the store before it records anything
//! as done.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use varve_store::StoreError;

use super::destination::ResponseWriters;
use super::link_backlog::LinkBacklog;
use super::write_job::{StoreResult, WriteJob};
use varve_repository::RepositoryError;

/// Responses that may wait for a writer; each has at most a megabyte in memory.
const MAX_QUEUED_JOBS: usize = 64;

/// Works until no more jobs come, or no one receives the results.
pub(crate) fn run_writer<M: From<StoreResult>>(
    writers: &dyn ResponseWriters,
    jobs: &Mutex<Receiver<WriteJob>>,
    backlog: &LinkBacklog,
    done: &Sender<M>,
) {
    let mut writer = writers.writer();
    loop {
        backlog.wait();
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(WriteJob { task, input }) = job else { return };
        let result = catch_unwind(AssertUnwindSafe(|| writer(&task, input))).unwrap_or_else(|_| {
            // One page must not end a crawl. The old writer may have stopped inside a record.
            writer = writers.writer();
            let panicked = io::Error::other("a bug in varve: reading it panicked");
            Err(RepositoryError::Store(StoreError::Content(panicked)).into())
        });
        backlog.add(result.as_ref().map_or(0, |stored| stored.links.followed.len()));
        if done.send(M::from(StoreResult { task, result })).is_err() {
            return;
        }
    }
}

/// The queue of the writers, as the dispatcher sees it.
pub(crate) struct WriterQueue {
    jobs: Sender<WriteJob>,
    /// Jobs that wait while a checkpoint is in progress.
    held: VecDeque<WriteJob>,
    is_paused: bool,
    /// Jobs that writers have and have not finished.
    in_progress: usize,
}

impl WriterQueue {
    /// A queue that sends jobs there.
    pub(crate) fn new(jobs: Sender<WriteJob>) -> Self {
        Self { jobs, held: VecDeque::new(), is_paused: false, in_progress: 0 }
    }

    /// Gives a job to the writers, now or after the checkpoint in progress.
    pub(crate) fn push(&mut self, job: WriteJob) {
        if self.is_paused {
            self.held.push_back(job);
            return;
        }
        self.in_progress += 1;
        let sent = self.jobs.send(job);
        debug_assert!(sent.is_ok(), "writers live as long as the dispatcher");
    }

    /// Keeps new jobs back, so that the writers become idle.
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Gives the writers the jobs that were kept back.
    pub(crate) fn resume(&mut self) {
        self.is_paused = false;
        for job in std::mem::take(&mut self.held) {
            self.push(job);
        }
    }

    /// A writer has finished a job.
    pub(crate) fn finished(&mut self) {
        self.in_progress -= 1;
    }

    /// Whether no writer has a job.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_progress == 0
    }

    /// Whether no job is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_progress == 0 && self.held.is_empty()
    }

    /// Whether more responses may be requested.
    pub(crate) fn has_room(&self) -> bool {
        self.in_progress + self.held.len() < MAX_QUEUED_JOBS
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use varve_core::url::RequestUrl;
    use varve_crystal::RevisionId;

    use super::super::fetch_reason::FetchReason;
    use super::super::past_captures::StoredCapture;
    use super::super::task::CrawlTask;
    use super::super::write_job::JobInput;
    use super::*;

    #[test]
    fn jobs_are_kept_back_during_a_checkpoint() {
        let (sender, receiver) = channel();
        let mut queue = WriterQueue::new(sender);
        let job = || WriteJob {
            task: CrawlTask::new(RequestUrl::parse("http://h/").unwrap(), FetchReason::Robots),
            input: JobInput::Stored(StoredCapture::Revision(RevisionId(1))),
        };
        queue.push(job());
        queue.pause();
        queue.push(job());
        assert_eq!(receiver.try_iter().count(), 1);
        queue.finished();
        assert!(queue.is_idle() && !queue.is_empty());
        queue.resume();
        assert_eq!(receiver.try_iter().count(), 1);
        assert!(!queue.is_idle());
    }
}
