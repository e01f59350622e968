//! A small site on loopback, for the tour: a few pages with a style sheet, a picture and a script, as they are at first,
//! and as they are after a change.
//!
//! It answers `GET`, one request a connection, and knows what has not changed. It is no server for anything else.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The longest head of a request that is read.
const LONGEST_HEAD: u64 = 16 << 10;
/// For a visitor that says nothing.
const PATIENCE: Duration = Duration::from_secs(5);

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("lake.js");
const PICTURE: &str = include_str!("varve.svg");
const FRONT: &str = include_str!("index.html");
const FRONT_LATER: &str = include_str!("index-later.html");
const LAYERS: &str = include_str!("layers.html");
const LAYERS_LATER: &str = include_str!("layers-later.html");
const CORING: &str = include_str!("coring.html");
const VISIT: &str = include_str!("visit.html");

/// The site, up until it is dropped.
pub(super) struct Site {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    changed: AtomicBool,
    closed: AtomicBool,
}

impl Site {
    /// Opens the site.
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let thread =
            thread::Builder::new().name("site".to_owned()).spawn(move || serve(&listener, &shared))?;
        Ok(Self { address, state, thread: Some(thread) })
    }

    /// The URL of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// From now on the site is another.
    pub(super) fn change(&self) {
        self.state.changed.store(true, Ordering::SeqCst);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::SeqCst);
        // Whoever waits for visitors must see one to notice.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, state: &State) {
    for stream in listener.incoming() {
        if state.closed.load(Ordering::SeqCst) {
            return;
        }
        // A visitor that leaves early is no reason to close.
        let _ = stream.and_then(|stream| converse(stream, state.changed.load(Ordering::SeqCst)));
    }
}

fn converse(mut stream: TcpStream, changed: bool) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?.take(LONGEST_HEAD));
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
    stream.write_all(answer(&path, known.as_deref(), changed).as_bytes())
}

fn answer(path: &str, known: Option<&str>, changed: bool) -> String {
    let Some((media_type, body)) = page(path, changed) else {
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

/// Tells contents of this site apart (FNV-1a).
fn tag(body: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("\"{:016x}\"", body.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

fn page(path: &str, changed: bool) -> Option<(&'static str, &'static str)> {
    const HTML: &str = "text/html; charset=utf-8";
    Some(match path {
        "/" if changed => (HTML, FRONT_LATER),
        "/" => (HTML, FRONT),
        "/layers.html" if changed => (HTML, LAYERS_LATER),
        "/layers.html" => (HTML, LAYERS),
        "/visit.html" if !changed => (HTML, VISIT),
        "/coring.html" if changed => (HTML, CORING),
        "/style.css" => ("text/css", STYLE),
        "/lake.js" => ("text/javascript", SCRIPT),
        "/varve.svg" | "/favicon.ico" => ("image/svg+xml", PICTURE),
        _ => return None,
    })
}
