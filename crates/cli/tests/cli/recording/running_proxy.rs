//! A proxy in a process of its own.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;
use varve_testkit::web::Web;

use crate::history::Place;

/// A proxy that runs until it is dropped.
pub(super) struct RunningProxy {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(super) url: String,
}

impl RunningProxy {
    /// Starts `varve proxy` at a free port.
    pub(super) fn start(place: &Place, words: &[&str]) -> Self {
        let folder = place.path("settings");
        let mut command = place.command();
        command.args(["-q", "proxy", "--json", "--listen", "127.0.0.1:0", "--proxy", "none", "--ca-folder"]);
        let mut running = Self::spawn(command.arg(folder).args(words));
        let listening = running.event("listening");
        running.url = listening["proxy"].as_str().unwrap().to_owned();
        running
    }

    /// Starts `varve serve --proxy-listen` at free ports.
    pub(super) fn museum(place: &Place, words: &[&str]) -> Self {
        let mut command = place.command();
        command.args(["-q", "serve", "--json", "--readonly", "--listen", "127.0.0.1:0"]);
        command.args(["--replay-listen", "127.0.0.1:0", "--proxy-listen", "127.0.0.1:0"]);
        let mut running = Self::spawn(command.args(words));
        let line = running.lines.next().unwrap().unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        running.url = told["proxy"].as_str().unwrap().to_owned();
        running
    }

    fn spawn(command: &mut std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, url: String::new() }
    }

    /// Waits for an event.
    fn event(&mut self, name: &str) -> Value {
        loop {
            let line = self.lines.next().expect("the proxy has ended").unwrap();
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == name {
                return event;
            }
        }
    }

    /// Waits until this number of captures is durable.
    pub(super) fn wait_for_checkpoint(&mut self, captured: u64) {
        while self.event("checkpoint")["captured"].as_u64().unwrap() < captured {}
    }

    /// Requests a page of a web.
    pub(super) fn get(&self, web: &Web, path: &str) -> String {
        let mut stream = TcpStream::connect(self.url.trim_start_matches("http://")).unwrap();
        let (url, host) = (web.url(path), web.address());
        write!(stream, "GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// Presses Ctrl-C. Returns the summary.
    pub(super) fn interrupt(&mut self) -> Value {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let mut last = Value::Null;
        for line in self.lines.by_ref() {
            last = serde_json::from_str(&line.unwrap()).unwrap();
        }
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        last
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
