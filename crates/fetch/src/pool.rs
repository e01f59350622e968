//! Connections that are open and idle, kept for the next request to the same origin.
//!
//! A connection is in the pool or in the hands of one exchange, never both. The one used last is taken first, so that the
//! others grow old and go.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::connect::{Connection, Link};
use crate::target::Origin;

/// Idle connections are dropped after this time: a request on one that the server is closing has to be repeated.
const MAX_IDLE_TIME: Duration = Duration::from_secs(20);

/// How often expired connections of all origins are dropped.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Idle connections by origin.
pub(crate) struct Pool {
    shelves: Mutex<Shelves>,
    per_origin: usize,
    in_all: usize,
}

struct Shelves {
    idle: HashMap<Origin, Vec<(Connection, Instant)>>,
    count: usize,
    swept: Instant,
}

impl Pool {
    pub(crate) fn new(per_origin: usize, in_all: usize) -> Self {
        let shelves = Shelves { idle: HashMap::new(), count: 0, swept: Instant::now() };
        Self { shelves: Mutex::new(shelves), per_origin, in_all }
    }

    /// An open connection to an origin, if there is one on which a request may be sent.
    pub(crate) fn take(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let (mut connection, since) = self.shelves().take(origin)?;
            if since.elapsed() < MAX_IDLE_TIME && is_ready(&mut connection) {
                return Some(connection);
            }
        }
    }

    /// Gives back a connection after an exchange.
    pub(crate) fn give_back(&self, origin: Origin, connection: Connection) {
        let mut shelves = self.shelves();
        shelves.sweep(SWEEP_INTERVAL);
        if shelves.count >= self.in_all {
            shelves.sweep(Duration::ZERO);
        }
        let full = shelves.count >= self.in_all;
        let shelf = shelves.idle.entry(origin).or_default();
        if !full && shelf.len() < self.per_origin {
            shelf.push((connection, Instant::now()));
            shelves.count += 1;
        }
    }

    fn shelves(&self) -> std::sync::MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    fn take(&mut self, origin: &Origin) -> Option<(Connection, Instant)> {
        let taken = self.idle.get_mut(origin)?.pop()?;
        self.count -= 1;
        Some(taken)
    }

    /// Drops what is too old, and origins without connections, unless that was done just now.
    fn sweep(&mut self, unless_within: Duration) {
        if self.swept.elapsed() < unless_within {
            return;
        }
        self.swept = Instant::now();
        self.idle.retain(|_, shelf| {
            shelf.retain(|(_, since)| since.elapsed() < MAX_IDLE_TIME);
            !shelf.is_empty()
        });
        self.count = self.idle.values().map(Vec::len).sum();
    }
}

fn is_ready(connection: &mut Connection) -> bool {
    match &mut connection.link {
        Link::One(line) => line.is_quiet(),
        Link::Two(session) => session.is_open(),
    }
}
