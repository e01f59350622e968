//! A running server, and a client that sees every byte of its responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::varve;

/// A server that runs until it is dropped.
pub(super) struct Served {
    child: Child,
    /// Host and port of the web pages.
    pub(super) ui: String,
    /// Host and port of archived pages.
    pub(super) replay: String,
}

/// A response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the body is complete.
    pub(super) whole: bool,
}

impl Served {
    pub(super) fn start(root: &Path) -> Self {
        Self::start_with(root, &[])
    }

    /// The same, with more arguments.
    pub(super) fn start_with(root: &Path, words: &[&str]) -> Self {
        let mut child = varve()
            .args(["-C", root.to_str().unwrap(), "-q", "serve", "--json"])
            .args(["--replay-listen", "127.0.0.1:0"])
            .args(["--listen", "127.0.0.1:0"].iter().filter(|_| !words.contains(&"--listen")))
            .args(words)
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = |name: &str| {
            told[name].as_str().unwrap().trim_start_matches("http://").split('/').next().unwrap().to_owned()
        };
        Self { ui: address("ui"), replay: address("replay"), child }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the server has exited.
    pub(super) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Requests an archived page.
    pub(super) fn get(&self, target: &str) -> Reply {
        ask(&self.replay, "GET", target, &[])
    }

    /// Requests an archived page, with more headers.
    pub(super) fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> Reply {
        ask(&self.replay, "GET", target, headers)
    }

    /// Requests a web page.
    pub(super) fn page(&self, target: &str) -> Reply {
        ask(&self.ui, "GET", target, &[])
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    /// The only value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut values =
            self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} comes twice");
        value
    }

    pub(super) fn text(&self) -> String {
        assert!(self.whole, "the body was cut: {self:?}");
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// Sends a request.
pub(super) fn ask(server: &str, method: &str, target: &str, headers: &[(&str, &str)]) -> Reply {
    send(server, method, target, headers, "")
}

/// Sends a request with a body.
pub(super) fn send(server: &str, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut request = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request.push_str(&format!("Host: {server}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    request.push_str("\r\n");
    request.push_str(body);
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A closed connection is a result too.
    let _ = stream.read_to_end(&mut answer);
    read(&answer, method == "HEAD")
}

fn read(answer: &[u8], head_only: bool) -> Reply {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<_> = lines
        .map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{line}")))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let rest = &answer[end + 4..];
    let (body, whole) = match (find("transfer-encoding"), find("content-length")) {
        _ if head_only => (rest.to_vec(), true),
        (Some(_), _) => unchunk(rest),
        (None, Some(length)) => (rest.to_vec(), rest.len() == length.parse::<usize>().unwrap()),
        (None, None) => (rest.to_vec(), true),
    };
    Reply { status, headers, body, whole }
}

/// The body in chunks, and whether the last chunk was received.
fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(line) = rest.windows(2).position(|window| window == b"\r\n") else { return (body, false) };
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let Some(chunk) = rest.get(line + 2..line + 2 + size) else { return (body, false) };
        body.extend_from_slice(chunk);
        rest = rest.get(line + 4 + size..).unwrap_or_default();
    }
}
