//! What only shows on real connections: framing, slow readers, shutdown.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use varve_archive::CaptureChoice;
use varve_archive::history::open_reader_choosing;
use varve_serve::{ServeSettings, Server};
use varve_testkit::{Requirement, skip};

use super::{Museum, page, resource};

const CAPTURE_TIME: &str = "2026-01-01T00:00:00Z";
const LONG_BODY_BYTES: usize = 12 << 20;

/// A server on free ports, in a thread of this process.
struct Running {
    _museum: Museum,
    ui: SocketAddr,
    replay: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start() -> Self {
        let museum = Museum::new(true);
        let long: String = "thin layers ".repeat(LONG_BODY_BYTES / 12);
        museum.commit(
            &[
                page("http://e.org/", CAPTURE_TIME, "<p>x"),
                resource("http://e.org/long", CAPTURE_TIME, "text/plain", &long),
            ],
            "pages",
        );
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = ServeSettings {
            name: "museum".to_owned(),
            size: Box::new(|| None),
            listen: any,
            replay_listen: any,
            hosts: Vec::new(),
            pages: None,
            signing_key: None,
        };
        let history = open_reader_choosing(&museum.root(), CaptureChoice::Newest).unwrap();
        let server = Server::bind(history, settings).unwrap();
        let (ui, replay) = (server.address(), server.replay_address());
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(&flag));
        Self { _museum: museum, ui, replay, stop, thread: Some(thread) }
    }

    /// Sends a request and returns the connection, with nothing read yet.
    fn send(&self, method: &str, target: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.replay).unwrap();
        let host = self.replay;
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn read_to_end(mut stream: TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_response_to_head_announces_a_length_only_if_it_is_known() {
    let server = Running::start();
    let head = |path: &str| {
        let target = format!("/web/20260101000000/http://e.org/{path}");
        String::from_utf8(read_to_end(server.send("HEAD", &target))).unwrap().to_ascii_lowercase()
    };
    let known = head("long");
    assert!(known.starts_with("http/1.1 200") && known.ends_with("\r\n\r\n"), "{known}");
    assert!(known.contains(&format!("\r\ncontent-length: {LONG_BODY_BYTES}\r\n")), "{known}");
    let rewritten = head("");
    assert!(rewritten.starts_with("http/1.1 200") && rewritten.ends_with("\r\n\r\n"), "{rewritten}");
    assert!(!rewritten.contains("content-length"), "{rewritten}");
}

/// More clients than blocking threads stop reading in the middle of a body. Others are still
/// served.
#[test]
fn slow_readers_do_not_delay_others() {
    let server = Running::start();
    let target = "/web/20260101000000id_/http://e.org/long";
    let stalled: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = server.send("GET", target);
            stream.read_exact(&mut [0; 1000]).unwrap();
            stream
        })
        .collect();
    let started = Instant::now();
    let bytes = read_to_end(server.send("GET", target));
    assert!(bytes.len() > LONG_BODY_BYTES, "{}", bytes.len());
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    // A slow reader gets everything too, once it reads.
    let rest = read_to_end(stalled.into_iter().next().unwrap());
    assert!(rest.len() + 1000 > LONG_BODY_BYTES, "{}", rest.len());
}

/// Clients that open connections and send nothing fill one origin, and not the other.
#[test]
fn idle_connections_to_archived_pages_leave_the_ui_reachable() {
    let server = Running::start();
    let idle: Vec<TcpStream> = (0..600).map_while(|_| TcpStream::connect(server.replay).ok()).collect();
    if idle.len() < 600 {
        return skip(Requirement::OpenFiles, "the limit is too low for 600 connections");
    }
    let mut stream = TcpStream::connect(server.ui).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.ui);
    stream.write_all(request.as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
}

#[test]
fn stopping_waits_for_open_responses_but_not_for_ever() {
    let mut server = Running::start();
    let finished = server.send("GET", "/web/20260101000000/http://e.org/");
    let mut stalled = server.send("GET", "/web/20260101000000id_/http://e.org/long");
    stalled.read_exact(&mut [0; 1000]).unwrap();
    let started = Instant::now();
    server.stop();
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(String::from_utf8(read_to_end(finished)).unwrap().contains("<p>x"));
    // The long body was cut, and does not look whole.
    let mut bytes = Vec::new();
    let _ = stalled.read_to_end(&mut bytes);
    assert!(bytes.len() < LONG_BODY_BYTES, "{}", bytes.len());
}
