//! Work done on several threads, with the results in the order of the work.
//!
//! A window bounds how far the fastest may run ahead of the slowest, so memory does not grow with the number of jobs.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, mpsc};

/// So many jobs may be under way or wait for an earlier one.
const WINDOW: u64 = 1024;

/// Runs each job on one of `threads` workers, each made by `worker`, and hands the results to `each` in order.
///
/// The first error of `each` ends it; jobs behind it that are under way are finished and forgotten.
pub(crate) fn in_order<J, R, E, W>(
    threads: usize,
    mut jobs: impl Iterator<Item = J>,
    worker: impl Fn() -> W + Sync,
    mut each: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E>
where
    J: Send,
    R: Send,
    W: FnMut(J) -> R,
{
    let (job_sender, job_receiver) = mpsc::channel::<(u64, J)>();
    let job_receiver = Mutex::new(job_receiver);
    let (done_sender, done_receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let done_sender = done_sender.clone();
            let (job_receiver, worker) = (&job_receiver, &worker);
            scope.spawn(move || {
                let mut work = worker();
                while let Some((number, job)) = next(job_receiver) {
                    // A panic travels with the results: were it to end this thread alone, the others would wait for ever.
                    let result = catch_unwind(AssertUnwindSafe(|| work(job)));
                    if done_sender.send((number, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done_sender);
        let mut order = Order { done: done_receiver, waiting: BTreeMap::new(), sent: 0, written: 0 };
        let result = order.run(&job_sender, &mut jobs, &mut each);
        // In this order: a worker may hold the queue while it waits for a job.
        drop(job_sender);
        if let Ok(queue) = job_receiver.lock() {
            while queue.try_recv().is_ok() {}
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Puts results back into the order of their jobs.
struct Order<R> {
    done: mpsc::Receiver<(u64, std::thread::Result<R>)>,
    waiting: BTreeMap<u64, R>,
    sent: u64,
    written: u64,
}

impl<R> Order<R> {
    fn run<J, E>(
        &mut self,
        queue: &mpsc::Sender<(u64, J)>,
        jobs: &mut impl Iterator<Item = J>,
        each: &mut impl FnMut(R) -> Result<(), E>,
    ) -> std::thread::Result<Result<(), E>> {
        loop {
            while self.sent < self.written + WINDOW
                && let Some(job) = jobs.next()
            {
                queue.send((self.sent, job)).expect("the queue outlives this loop");
                self.sent += 1;
            }
            if self.written == self.sent {
                return Ok(Ok(()));
            }
            let (number, result) = self.done.recv().expect("workers wait until the queue is closed");
            self.waiting.insert(number, result?);
            while let Some(result) = self.waiting.remove(&self.written) {
                self.written += 1;
                if let Err(error) = each(result) {
                    return Ok(Err(error));
                }
            }
        }
    }
}

fn next<J>(queue: &Mutex<mpsc::Receiver<(u64, J)>>) -> Option<(u64, J)> {
    queue.lock().ok()?.recv().ok()
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
        in_order(4, 0..5000, worker, |result| {
            seen.push(result);
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(seen, (0..5000).map(|number| number * 2).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_refusal_ends_it() {
        let mut seen = 0;
        let result = in_order(
            3,
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
        assert_eq!(in_order(2, std::iter::empty::<u8>(), || |job| job, |_| Err("never")), Ok(()));
    }
}
