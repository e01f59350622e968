//! Runs independent pieces of a test at the same time: those that kill a process hundreds of times
//! mostly wait for processes.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads per core: most of the time they wait for processes.
const THREADS_PER_CORE: usize = 2;

/// Runs `work` on each item, several at a time, and returns the sum of the results.
///
/// # Panics
///
/// Panics when `work` panics.
pub fn sum_in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) -> usize + Sync) -> usize {
    let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * THREADS_PER_CORE;
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    sum.fetch_add(work(item), Ordering::Relaxed);
                }
            });
        }
    });
    sum.into_inner()
}
