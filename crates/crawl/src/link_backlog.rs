//! The number of links that wait for the dispatcher.
//!
//! A sitemap may have 50,000 links, and writers read faster than the frontier stores them. Writers
//! that are ahead wait, so that memory does not grow with the number of links.

use std::sync::{Condvar, Mutex, PoisonError};

/// Writers wait while more links than this do.
const MAX_WAITING_LINKS: usize = 50_000;

/// Links that were found and are not in the frontier yet.
#[derive(Default)]
pub(crate) struct LinkBacklog {
    waiting: Mutex<usize>,
    fewer: Condvar,
}

impl LinkBacklog {
    /// More links wait.
    pub(crate) fn add(&self, links: usize) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) += links;
    }

    /// The dispatcher took links.
    pub(crate) fn take(&self, links: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = waiting.saturating_sub(links);
        drop(waiting);
        self.fewer.notify_all();
    }

    /// The dispatcher takes no more links.
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

/// Releases waiting writers when the run ends, also by an error.
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
    fn writers_that_are_ahead_wait() {
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
