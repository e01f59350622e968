//! How many leads wait for the thread that runs the crawl.
//!
//! A sitemap has fifty thousand, and keepers read faster than a frontier takes them in: those who are ahead wait, so that
//! memory does not grow with what is found.

use std::sync::{Condvar, Mutex, PoisonError};

/// Whoever reads answers waits while more leads than this do.
const MAX_WAITING_LINKS: usize = 50_000;

/// Leads that were found and are not in the frontier yet.
#[derive(Default)]
pub(crate) struct LinkBacklog {
    waiting: Mutex<usize>,
    fewer: Condvar,
}

impl LinkBacklog {
    /// So many more wait.
    pub(crate) fn add(&self, leads: usize) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) += leads;
    }

    /// So many were taken in.
    pub(crate) fn take(&self, leads: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = waiting.saturating_sub(leads);
        drop(waiting);
        self.fewer.notify_all();
    }

    /// Nobody takes any in any more.
    pub(crate) fn end(&self) {
        self.take(usize::MAX);
    }

    /// Waits until there are not too many.
    pub(crate) fn wait(&self) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.fewer.wait_while(waiting, |waiting| *waiting > MAX_WAITING_LINKS);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Lets go whoever waits, however a run ends.
pub(crate) struct BacklogGuard<'a>(pub(crate) &'a LinkBacklog);

impl Drop for BacklogGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_ahead_waits() {
        let backlog = LinkBacklog::default();
        backlog.add(MAX_WAITING_LINKS);
        backlog.wait();
        backlog.add(1);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| backlog.wait());
            backlog.take(1);
            waiter.join().unwrap();
        });
        backlog.add(5 * MAX_WAITING_LINKS);
        drop(BacklogGuard(&backlog));
        backlog.wait();
    }
}
