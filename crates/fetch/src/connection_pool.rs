//! Idle connections, kept for the next request to the same origin.
//!
//! A connection is either in the pool or in use by one exchange. The one that was used last is
//! taken first, so that the others expire.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::connect::{Connection, ProtocolConnection};
use crate::request_target::ServerOrigin;

/// Idle connections are dropped after this time: a request on one that the server is closing has to
/// be repeated.
const MAX_IDLE_TIME: Duration = Duration::from_secs(20);

/// How often expired connections of all origins are dropped.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of idle connections.
const MAX_IDLE_CONNECTIONS: usize = 512;

/// Idle connections by origin.
pub(crate) struct ConnectionPool {
    connections: Mutex<IdleConnections>,
    max_per_origin: usize,
}

struct IdleConnections {
    idle: HashMap<ServerOrigin, Vec<(Connection, Instant)>>,
    count: usize,
    swept: Instant,
}

impl ConnectionPool {
    pub(crate) fn new(max_per_origin: usize) -> Self {
        let connections = IdleConnections { idle: HashMap::new(), count: 0, swept: Instant::now() };
        Self { connections: Mutex::new(connections), max_per_origin }
    }

    /// An open connection to an origin, if there is one on which a request may be sent.
    pub(crate) fn take(&self, origin: &ServerOrigin) -> Option<Connection> {
        loop {
            let (mut connection, since) = self.lock().take(origin)?;
            if since.elapsed() < MAX_IDLE_TIME && is_ready(&mut connection) {
                return Some(connection);
            }
        }
    }

    /// Gives back a connection after an exchange.
    pub(crate) fn give_back(&self, origin: ServerOrigin, connection: Connection) {
        let mut connections = self.lock();
        let is_full = connections.count >= MAX_IDLE_CONNECTIONS;
        connections.sweep(if is_full { Duration::ZERO } else { SWEEP_INTERVAL });
        let is_full = connections.count >= MAX_IDLE_CONNECTIONS;
        let idle = connections.idle.entry(origin).or_default();
        if !is_full && idle.len() < self.max_per_origin {
            idle.push((connection, Instant::now()));
            connections.count += 1;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IdleConnections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleConnections {
    fn take(&mut self, origin: &ServerOrigin) -> Option<(Connection, Instant)> {
        let taken = self.idle.get_mut(origin)?.pop()?;
        self.count -= 1;
        Some(taken)
    }

    /// Drops expired connections and empty origins, unless that was done within `unless_within`.
    fn sweep(&mut self, unless_within: Duration) {
        if self.swept.elapsed() < unless_within {
            return;
        }
        self.swept = Instant::now();
        self.idle.retain(|_, idle| {
            idle.retain(|(_, since)| since.elapsed() < MAX_IDLE_TIME);
            !idle.is_empty()
        });
        self.count = self.idle.values().map(Vec::len).sum();
    }
}

fn is_ready(connection: &mut Connection) -> bool {
    match &mut connection.protocol {
        ProtocolConnection::Http1(http1) => http1.is_quiet(),
        ProtocolConnection::Http2(http2) => http2.is_open(),
    }
}
