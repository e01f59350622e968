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
    idle: Mutex<IdleConnections>,
    max_per_origin: usize,
}

struct IdleConnections {
    by_origin: HashMap<ServerOrigin, Vec<(Connection, Instant)>>,
    count: usize,
    swept: Instant,
}

impl ConnectionPool {
    pub(crate) fn new(max_per_origin: usize) -> Self {
        let idle = IdleConnections { by_origin: HashMap::new(), count: 0, swept: Instant::now() };
        Self { idle: Mutex::new(idle), max_per_origin }
    }

    /// An open connection to an origin, if there is one on which a request may be sent.
    pub(crate) fn take(&self, origin: &ServerOrigin) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (mut connection, since) = idle.by_origin.get_mut(origin)?.pop()?;
            idle.count -= 1;
            if since.elapsed() < MAX_IDLE_TIME && is_ready(&mut connection) {
                return Some(connection);
            }
        }
    }

    /// Gives back a connection after an exchange. Drops expired ones of all origins now and then,
    /// and when the pool is full.
    pub(crate) fn give_back(&self, origin: ServerOrigin, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.count >= MAX_IDLE_CONNECTIONS || idle.swept.elapsed() >= SWEEP_INTERVAL {
            idle.swept = Instant::now();
            idle.by_origin.retain(|_, connections| {
                connections.retain(|(_, since)| since.elapsed() < MAX_IDLE_TIME);
                !connections.is_empty()
            });
            idle.count = idle.by_origin.values().map(Vec::len).sum();
        }
        let is_full = idle.count >= MAX_IDLE_CONNECTIONS;
        let connections = idle.by_origin.entry(origin).or_default();
        if !is_full && connections.len() < self.max_per_origin {
            connections.push((connection, Instant::now()));
            idle.count += 1;
        }
    }
}

fn is_ready(connection: &mut Connection) -> bool {
    match &mut connection.protocol {
        ProtocolConnection::Http1(http1) => http1.is_quiet(),
        ProtocolConnection::Http2(http2) => http2.is_open(),
    }
}
