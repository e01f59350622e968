//! Runs jobs on several threads and returns the results in the order of the jobs.
//!
//! A window limits how far the fastest thread may run ahead of the slowest, so memory does not grow
//! with the number of jobs. Threads take several jobs at a time and return their results together:
//! waking another thread costs as much as a tenth of a small file.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

/// Maximum number of jobs in progress or waiting for an earlier one.
const MAX_PENDING_JOBS: u64 = 1024;

/// The number of threads, and their batch size.
#[derive(Clone, Copy, Debug)]
pub struct WorkerCount {
    /// Number of threads.
    pub threads: usize,
    /// Maximum number of jobs that a thread takes at a time. Only with 1 is each result delivered
    /// at once.
    pub together: usize,
}

/// Runs each job on one of the worker threads, each created by `worker`, and passes the results to
/// `each` in order.
///
/// The first error of `each` ends the run; later jobs in progress are completed and their results
/// dropped.
pub fn run_in_order<J, R, E, W>(
    crew: WorkerCount,
    jobs: impl Iterator<Item = J>,
    worker: impl Fn() -> W + Sync,
    each: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E>
where
    J: Send,
    R: Send,
    W: FnMut(J) -> R,
{
    let one_by_one = || {
        let mut work = worker();
        move |jobs: Vec<J>| jobs.into_iter().map(&mut work).collect()
    };
    together_in_order(crew, jobs, one_by_one, each)
}

/// Like [`run_in_order`], for workers that process several jobs at a time. A worker returns one
/// result per job, in order.
pub fn together_in_order<J, R, E, W>(
    crew: WorkerCount,
    mut jobs: impl Iterator<Item = J>,
    worker: impl Fn() -> W + Sync,
    mut each: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E>
where
    J: Send,
    R: Send,
    W: FnMut(Vec<J>) -> Vec<R>,
{
    let threads = crew.threads.max(1);
    let queue =
        JobQueue { state: Mutex::default(), filled: Condvar::new(), threads, together: crew.together };
    let (done_sender, done_receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let done_sender = done_sender.clone();
            let (queue, worker) = (&queue, &worker);
            scope.spawn(move || {
                let mut work = worker();
                while let Some((number, jobs)) = queue.take() {
                    // A panic is sent with the results: if it ended only this thread, the others
                    // would wait forever.
                    let results = catch_unwind(AssertUnwindSafe(|| work(jobs)));
                    if done_sender.send((number, results)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done_sender);
        let mut order = ReorderBuffer { done: done_receiver, waiting: BTreeMap::new(), sent: 0, written: 0 };
        let result = order.run(&queue, &mut jobs, &mut each);
        queue.close();
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Jobs waiting for a worker.
struct JobQueue<J> {
    state: Mutex<JobQueueState<J>>,
    filled: Condvar,
    threads: usize,
    together: usize,
}

struct JobQueueState<J> {
    /// The number of the first waiting job.
    first: u64,
    jobs: VecDeque<J>,
    closed: bool,
}

impl<J> Default for JobQueueState<J> {
    fn default() -> Self {
        Self { first: 0, jobs: VecDeque::new(), closed: false }
    }
}

impl<J> JobQueue<J> {
    fn add(&self, jobs: Vec<J>) {
        self.lock().jobs.extend(jobs);
        self.filled.notify_all();
    }

    /// Waits for jobs and takes some, with the number of the first. The fewer are waiting, the
    /// fewer are taken, so that all workers finish at about the same time. `None` after the last
    /// job.
    fn take(&self) -> Option<(u64, Vec<J>)> {
        let is_idle = |state: &mut JobQueueState<J>| state.jobs.is_empty() && !state.closed;
        let waited = self.filled.wait_while(self.lock(), is_idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return None;
        }
        let count = (state.jobs.len() / (self.threads * 4)).clamp(1, self.together.max(1));
        let number = state.first;
        state.first += count as u64;
        Some((number, state.jobs.drain(..count).collect()))
    }

    /// Drops the waiting jobs: no more results are needed.
    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.jobs.clear();
        self.filled.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, JobQueueState<J>> {
        // No operation under the lock can leave the state inconsistent, so poisoning is ignored.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The results of some jobs, with the number of the first.
type Batch<R> = (u64, std::thread::Result<Vec<R>>);

/// Restores the order of the jobs.
struct ReorderBuffer<R> {
    done: mpsc::Receiver<Batch<R>>,
    waiting: BTreeMap<u64, Vec<R>>,
    sent: u64,
    written: u64,
}

impl<R> ReorderBuffer<R> {
    fn run<J, E>(
        &mut self,
        queue: &JobQueue<J>,
        jobs: &mut impl Iterator<Item = J>,
        each: &mut impl FnMut(R) -> Result<(), E>,
    ) -> std::thread::Result<Result<(), E>> {
        let mut ended = false;
        loop {
            // Adds half a window at a time, so that adding jobs rarely wakes the other threads.
            if !ended && self.sent - self.written <= MAX_PENDING_JOBS / 2 {
                let more: Vec<J> =
                    jobs.take((self.written + MAX_PENDING_JOBS - self.sent) as usize).collect();
                ended = more.is_empty();
                self.sent += more.len() as u64;
                queue.add(more);
            }
            if self.written == self.sent {
                return Ok(Ok(()));
            }
            let (number, results) = self.done.recv().expect("workers wait until the queue is closed");
            self.waiting.insert(number, results?);
            while let Some(results) = self.waiting.remove(&self.written) {
                for result in results {
                    self.written += 1;
                    if let Err(error) = each(result) {
                        return Ok(Err(error));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_jobs() {
        let mut seen = Vec::new();
        let worker = || {
            |number: u64| {
                if number.is_multiple_of(7) {
                    std::thread::yield_now();
                }
                number * 2
            }
        };
        for together in [1, 16] {
            seen.clear();
            run_in_order(WorkerCount { threads: 4, together }, 0..5000, worker, |result| {
                seen.push(result);
                Ok::<(), ()>(())
            })
            .unwrap();
            assert_eq!(seen, (0..5000).map(|number| number * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_refusal_ends_it() {
        let mut seen = 0;
        let result = run_in_order(
            WorkerCount { threads: 3, together: 16 },
            0..,
            || |number: u64| number,
            |number| {
                seen += 1;
                if number == 2000 { Err("enough") } else { Ok(()) }
            },
        );
        assert_eq!((result, seen), (Err("enough"), 2001));
    }

    #[test]
    fn no_jobs_are_no_trouble() {
        assert_eq!(
            run_in_order(
                WorkerCount { threads: 2, together: 1 },
                std::iter::empty::<u8>(),
                || |job| job,
                |_| Err("never")
            ),
            Ok(())
        );
    }
}
