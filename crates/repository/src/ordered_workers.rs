//! Work done on several threads, with the results in the order of the work.
//!
//! A window bounds how far the fastest may run ahead of the slowest, so memory does not grow with the number of jobs.
//! Threads take several jobs at a time, and give their results together: to wake another thread costs as much as a tenth
//! of a small file does.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

/// So many jobs may be under way or wait for an earlier one.
const MAX_PENDING_JOBS: u64 = 1024;

/// Who works, and how.
#[derive(Clone, Copy, Debug)]
pub struct WorkerCount {
    /// So many threads.
    pub threads: usize,
    /// Each takes so many jobs at a time at most; only 1 hands each result over at once.
    pub together: usize,
}

/// Runs each job on one of the crew's workers, each made by `worker`, and hands the results to `each` in order.
///
/// The first error of `each` ends it; jobs behind it that are under way are finished and forgotten.
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

/// As [`in_order`], for workers that do better with several jobs at a time: each gives a result for each, in their order.
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
                    // A panic travels with the results: were it to end this thread alone, the others would wait for ever.
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

/// Jobs that wait for a worker.
struct JobQueue<J> {
    state: Mutex<JobQueueState<J>>,
    filled: Condvar,
    threads: usize,
    together: usize,
}

struct JobQueueState<J> {
    /// The number of the first job that waits.
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

    /// Some jobs, with the number of the first, once there are any; the fewer wait, the fewer are taken, so that all
    /// workers end at the same time. None when there will be no more.
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

    /// Forgets what waits: no more results are wanted.
    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.jobs.clear();
        self.filled.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, JobQueueState<J>> {
        // Nothing that is done under the lock can leave it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The results of some jobs, with the number of the first.
type Batch<R> = (u64, std::thread::Result<Vec<R>>);

/// Puts results back into the order of their jobs.
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
            // Half a window at a time, so that adding, too, wakes the others seldom.
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
