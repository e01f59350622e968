//! The pace at which hosts are asked when it is not only the run that asks: a page in a browser wants many things at once.
//!
//! The agenda decides which page is next; here every single request, of the run or of a page, waits for its turn at its
//! host, so that both together keep to the delay and to the budget of connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use varve_fetch::{Client, FetchError, FetchRequest, Fetched, Fetcher, Pending};

use super::address::host_of;

/// Hosts at rest are forgotten when there are more.
const MOST_HOSTS: usize = 10_000;

/// The pace of all hosts.
pub(crate) struct Pace {
    per_host: usize,
    delay: Duration,
    hosts: Mutex<HashMap<Box<str>, Arc<Host>>>,
}

struct Host {
    permits: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    delay: Duration,
    not_before: Option<Instant>,
}

/// A turn at a host. The next one begins a delay after it ends.
pub(crate) struct Turn {
    host: Arc<Host>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Pace {
    /// So many requests to a host at a time, and so long between them.
    pub(crate) fn new(per_host: usize, delay: Duration) -> Self {
        Self { per_host: per_host.max(1), delay, hosts: Mutex::default() }
    }

    /// A host asks for a longer delay.
    pub(crate) fn slow_down(&self, host: &str, delay: Duration) {
        let host = self.host(host);
        let mut state = host.state();
        state.delay = state.delay.max(delay);
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self, host: &str) -> Turn {
        let host = self.host(host);
        let permit = Arc::clone(&host.permits).acquire_owned().await.ok();
        while let Some(until) = host.begin(Instant::now()) {
            tokio::time::sleep_until(until).await;
        }
        Turn { host, _permit: permit }
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MOST_HOSTS {
            let now = Instant::now();
            hosts.retain(|_, host| Arc::strong_count(host) > 1 || !host.is_at_rest(now, self.delay));
        }
        let new = || {
            let state = Mutex::new(State { delay: self.delay, not_before: None });
            Arc::new(Host { permits: Arc::new(Semaphore::new(self.per_host)), state })
        };
        Arc::clone(hosts.entry(name.into()).or_insert_with(new))
    }
}

impl Host {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request, or says until when that is too early.
    fn begin(&self, now: Instant) -> Option<Instant> {
        let mut state = self.state();
        if let Some(until) = state.not_before.filter(|until| *until > now) {
            return Some(until);
        }
        state.not_before = Some(now + state.delay);
        None
    }

    fn is_at_rest(&self, now: Instant, usual: Duration) -> bool {
        let state = self.state();
        state.delay == usual && state.not_before.is_none_or(|then| then <= now)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.host.state();
        state.not_before = Some(Instant::now() + state.delay);
    }
}

/// A client that waits for its turns.
pub(crate) struct Paced {
    pub(crate) client: Client,
    pub(crate) pace: Arc<Pace>,
}

impl Fetcher for Paced {
    fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let _turn = request.in_time(self.pace.turn(host_of(&request.url))).await?;
            self.client.fetch(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn host(pace: &Pace) -> Arc<Host> {
        pace.host("h")
    }

    #[test]
    fn a_host_rests_from_each_beginning_and_from_each_end() {
        let pace = Pace::new(1, SECOND);
        let (host, now) = (host(&pace), Instant::now());
        assert_eq!(host.begin(now), None);
        assert_eq!(host.begin(now), Some(now + SECOND));
        assert_eq!(host.begin(now + SECOND), None);
        pace.slow_down("h", 3 * SECOND);
        pace.slow_down("h", 2 * SECOND);
        assert_eq!(host.begin(now + 2 * SECOND), None);
        assert_eq!(host.begin(now + 2 * SECOND), Some(now + 5 * SECOND));
        assert!(pace.host("other").begin(now).is_none(), "hosts do not wait for each other");
    }

    #[test]
    fn no_more_at_a_time_than_the_budget() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let pace = Pace::new(2, Duration::ZERO);
            let (one, _two) = (pace.turn("h").await, pace.turn("h").await);
            assert_eq!(host(&pace).permits.available_permits(), 0);
            drop(one);
            let _three = pace.turn("h").await;
        });
    }
}
