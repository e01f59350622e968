//! The server: one accepting thread, one thread per connection, and a log of requests.

use super::answer::Then;
use super::connection::{Connection, Transport};
use super::request::Request;
use super::site::Site;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Makes of a socket what bytes go through.
type Wrap = dyn Fn(TcpStream) -> io::Result<Box<dyn Transport>> + Send + Sync;

/// One request that the web got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// The target, as it was sent.
    pub target: String,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
}

/// The log of requests.
#[derive(Debug, Default)]
struct Log {
    seen: Vec<Seen>,
    counts: HashMap<String, usize>,
    connections: usize,
}

/// A running web. It stops when it is dropped: bodies without end then end, and silent connections
/// close.
pub struct Web {
    address: SocketAddr,
    scheme: &'static str,
    log: Arc<Mutex<Log>>,
    stopped: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Web {
    /// Starts a web with everything on it.
    pub fn start() -> Self {
        Self::serve(Site::with_everything())
    }

    /// Starts a web with this on it.
    ///
    /// # Panics
    ///
    /// If loopback cannot be listened on: then no test can run.
    pub fn serve(site: Site) -> Self {
        Self::serve_wrapped(site, "http", Box::new(|socket| Ok(Box::new(socket))))
    }

    /// Starts a web with this on it at an address of loopback, where there may have been one
    /// before.
    ///
    /// # Panics
    ///
    /// If it cannot be listened on.
    pub fn serve_at(address: SocketAddr, site: Site) -> Self {
        Self::serve_there(address, site, "http", Box::new(|socket| Ok(Box::new(socket))))
    }

    pub(super) fn serve_wrapped(site: Site, scheme: &'static str, wrap: Box<Wrap>) -> Self {
        Self::serve_there(SocketAddr::from(([127, 0, 0, 1], 0)), site, scheme, wrap)
    }

    fn serve_there(address: SocketAddr, site: Site, scheme: &'static str, wrap: Box<Wrap>) -> Self {
        let listener = TcpListener::bind(address).expect("loopback can be listened on");
        let address = listener.local_addr().expect("a listener has an address");
        let log = Arc::new(Mutex::new(Log::default()));
        let stopped = Arc::new(AtomicBool::new(false));
        let server = Server { site, wrap, log: Arc::clone(&log), stopped: Arc::clone(&stopped) };
        let listener = std::thread::spawn(move || Arc::new(server).listen(&listener));
        Self { address, scheme, log, stopped, listener: Some(listener) }
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// How often a target, path and query, was asked for.
    pub fn count(&self, target: &str) -> usize {
        lock(&self.log).counts.get(target).copied().unwrap_or(0)
    }

    /// How many requests came in all.
    pub fn total(&self) -> usize {
        lock(&self.log).seen.len()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        lock(&self.log).connections
    }

    /// All requests, in the order in which they came.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.log).seen.clone()
    }

    /// The targets that were asked for, with how often, sorted.
    pub fn counts(&self) -> Vec<(String, usize)> {
        let mut counts: Vec<_> = lock(&self.log).counts.clone().into_iter().collect();
        counts.sort();
        counts
    }

    /// Clears the log of requests.
    pub fn forget(&self) {
        *lock(&self.log) = Log::default();
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
    }
}

struct Server {
    site: Site,
    wrap: Box<Wrap>,
    log: Arc<Mutex<Log>>,
    stopped: Arc<AtomicBool>,
}

impl Server {
    fn listen(self: Arc<Self>, listener: &TcpListener) {
        for socket in listener.incoming() {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let Ok(socket) = socket else { continue };
            lock(&self.log).connections += 1;
            let server = Arc::clone(&self);
            // A failing connection is what the client should see, so its error is ignored.
            std::thread::spawn(move || drop(server.converse(socket)));
        }
    }

    /// Answers the requests of one connection.
    fn converse(&self, socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let transport = (self.wrap)(socket.try_clone()?)?;
        let mut connection = Connection::new(transport, socket, Arc::clone(&self.stopped));
        while let Some(mut request) = Request::read(&mut connection.transport())? {
            request.times = self.note(&request);
            let then = self.site.answer(&request, &mut connection)?;
            if then == Then::Close || request.wants_close() || connection.is_over() {
                break;
            }
        }
        Ok(())
    }

    fn note(&self, request: &Request) -> usize {
        let mut log = lock(&self.log);
        log.seen.push(Seen {
            method: request.method.clone(),
            target: request.target.clone(),
            headers: request.headers.clone(),
        });
        let count = log.counts.entry(request.target.clone()).or_default();
        *count += 1;
        *count
    }
}

/// A thread that failed leaves the log as it was: still true.
fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
