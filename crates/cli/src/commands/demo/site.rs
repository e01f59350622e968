//! A small site on loopback for the tour: a few pages with a style sheet, a picture and a script,
//! in three states.
//!
//! It answers `GET`, one request per connection, with ETags. It is not a general web server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest request head that is read.
const MAX_HEAD_BYTES: u64 = 16 << 10;
/// Time to wait for a silent client.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

const STYLE_SHEET: &str = include_str!("style.css");
const LAKE_SCRIPT: &str = include_str!("lake.js");
const VARVE_PICTURE: &str = include_str!("varve.svg");
const FRONT_PAGE: &str = include_str!("index.html");
const FRONT_PAGE_LATER: &str = include_str!("index-later.html");
const LAYERS_PAGE: &str = include_str!("layers.html");
const LAYERS_PAGE_LATER: &str = include_str!("layers-later.html");
const CORING_PAGE: &str = include_str!("coring.html");
const VISIT_PAGE: &str = include_str!("visit.html");

/// The site, which runs until it is dropped.
pub(super) struct DemoSite {
    address: SocketAddr,
    state: Arc<DemoSiteState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct DemoSiteState {
    age: AtomicUsize,
    closed: AtomicBool,
}

impl DemoSite {
    /// Starts the site.
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(DemoSiteState::default());
        let shared = Arc::clone(&state);
        let thread =
            thread::Builder::new().name("site".to_owned()).spawn(move || serve(&listener, &shared))?;
        Ok(Self { address, state, thread: Some(thread) })
    }

    /// The URL of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Changes the site: first a page is added and one removed, then another is removed.
    pub(super) fn grow_older(&self) {
        self.state.age.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for DemoSite {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::SeqCst);
        // Wakes the accept loop, so that it sees the flag.
        let _ = TcpStream::connect_timeout(&self.address, CONNECTION_TIMEOUT);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, state: &DemoSiteState) {
    for stream in listener.incoming() {
        if state.closed.load(Ordering::SeqCst) {
            return;
        }
        // A client that disconnects does not stop the site.
        let _ = stream.and_then(|stream| converse(stream, state.age.load(Ordering::SeqCst)));
    }
}

fn converse(mut stream: TcpStream, age: usize) -> io::Result<()> {
    stream.set_read_timeout(Some(CONNECTION_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?.take(MAX_HEAD_BYTES));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
    let mut known = None;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("if-none-match")
        {
            known = Some(value.trim().to_owned());
        }
    }
    stream.write_all(answer(&path, known.as_deref(), age).as_bytes())
}

fn answer(path: &str, known: Option<&str>, age: usize) -> String {
    let Some((media_type, body)) = page(path, age) else {
        let body = "There is no such page.\n";
        let length = body.len();
        return format!(
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    };
    let tag = tag(body);
    if known == Some(&tag) {
        return format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\nConnection: close\r\n\r\n");
    }
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nETag: {tag}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// The ETag of a body (FNV-1a).
fn tag(body: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("\"{:016x}\"", body.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

fn page(path: &str, age: usize) -> Option<(&'static str, &'static str)> {
    const HTML_TYPE: &str = "text/html; charset=utf-8";
    Some(match (path, age) {
        ("/", 0) => (HTML_TYPE, FRONT_PAGE),
        ("/", _) => (HTML_TYPE, FRONT_PAGE_LATER),
        ("/layers.html", 0) => (HTML_TYPE, LAYERS_PAGE),
        ("/layers.html", 1) => (HTML_TYPE, LAYERS_PAGE_LATER),
        ("/visit.html", 0) => (HTML_TYPE, VISIT_PAGE),
        ("/coring.html", 1..) => (HTML_TYPE, CORING_PAGE),
        ("/style.css", _) => ("text/css", STYLE_SHEET),
        ("/lake.js", _) => ("text/javascript", LAKE_SCRIPT),
        ("/varve.svg" | "/favicon.ico", _) => ("image/svg+xml", VARVE_PICTURE),
        _ => return None,
    })
}
