//! One request at a time to a host, with a pause in between, over all requests of a process.
//!
//! A crawl has a schedule of its own. Here each request waits for its turn, in the order of asking.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;

/// Number of hosts above which those that nobody waits for are forgotten.
const MAX_REMEMBERED_HOSTS: usize = 10_000;

/// When the last request to a host ended.
type HostTurn = Arc<AsyncMutex<Option<Instant>>>;

/// The turns of all hosts.
pub(super) struct HostTurns {
    delay: Duration,
    hosts: Mutex<HashMap<String, HostTurn>>,
}

impl HostTurns {
    /// Turns with a pause between two requests.
    pub(super) fn new(delay: Duration) -> Self {
        Self { delay, hosts: Mutex::default() }
    }

    /// Runs `request` when it is the turn of its host.
    pub(super) async fn in_turn<T>(&self, host: &str, request: impl Future<Output = T>) -> T {
        let turn = self.turn_of(host);
        let mut last = turn.lock().await;
        if let Some(ended) = *last {
            tokio::time::sleep(self.delay.saturating_sub(ended.elapsed())).await;
        }
        let answer = request.await;
        *last = Some(Instant::now());
        answer
    }

    fn turn_of(&self, host: &str) -> HostTurn {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_REMEMBERED_HOSTS {
            let is_due = |turn: &HostTurn| {
                let last = turn.try_lock().map(|last| *last);
                last.is_ok_and(|last| last.is_none_or(|ended| ended.elapsed() >= self.delay))
            };
            hosts.retain(|_, turn| Arc::strong_count(turn) > 1 || !is_due(turn));
        }
        Arc::clone(hosts.entry(host.to_owned()).or_default())
    }
}
