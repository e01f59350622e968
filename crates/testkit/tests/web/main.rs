//! The web that misbehaves must itself be right: each path answers what its table says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod faults;
mod pages;
#[cfg(feature = "tls")]
mod tls;
mod traps;

use std::io::{Read, Write};
use std::net::TcpStream;
use varve_testkit::web::Web;

/// Opens a connection and asks.
fn ask(web: &Web, target: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(web.address()).unwrap();
    let host = web.address();
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n").as_bytes()).unwrap();
    stream
}

/// All that is answered before the connection ends, and how it ends.
fn get_with(web: &Web, target: &str, headers: &str) -> (Vec<u8>, std::io::Result<usize>) {
    let mut answer = Vec::new();
    let end = ask(web, target, &format!("Connection: close\r\n{headers}")).read_to_end(&mut answer);
    (answer, end)
}

/// All that is answered, as text.
fn get(web: &Web, target: &str) -> String {
    String::from_utf8_lossy(&get_with(web, target, "").0).into_owned()
}

/// Head and body of an answer.
fn split(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").unwrap_or((answer, ""))
}

/// What stands in the `href` attributes.
fn hrefs(html: &str) -> Vec<&str> {
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}
