//! Servers that lie and break. Every byte here is written by hand, because it is wrong on purpose.

use super::answer::{Answer, Then};
use super::connection::Connection;
use super::request::Request;
use super::site::Site;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::time::Duration;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

impl Site {
    /// Adds servers that lie and break.
    #[must_use]
    pub fn with_faults(self) -> Self {
        self.with_wrong_lengths().with_wrong_heads().with_wrong_ends().with_wrong_codings()
    }

    fn with_wrong_lengths(self) -> Self {
        let page = "<p>0123456789</p>".repeat(64);
        self.at("/slow/", slow)
            .at("/endless", |_, connection| endless(connection))
            .raw("/length/short", format!("{OK}Content-Length: 1000\r\n\r\n0123456789"))
            .raw("/length/long", format!("{OK}Content-Length: 10\r\n\r\n{page}"))
            .raw(
                "/length/two",
                format!("{OK}Content-Length: 10\r\nContent-Length: 20\r\n\r\n01234567890123456789"),
            )
            .raw("/length/negative", format!("{OK}Content-Length: -1\r\n\r\n0123456789"))
            .raw("/chunks/good", chunked("5;a=b\r\n01234\r\n5\r\n56789\r\n0\r\nTrailer: yes\r\n\r\n"))
            .raw("/chunks/cut", chunked("5\r\n01234\r\n5\r\n56"))
            .raw("/chunks/broken", chunked("5\r\n01234\r\nxyz\r\n56789\r\n0\r\n\r\n"))
            .raw("/chunks/huge", chunked("8000000000000000\r\n0123456789"))
    }

    fn with_wrong_heads(self) -> Self {
        let many: String = (0..10_000).map(|number| format!("X-Flood-{number}: {number}\r\n")).collect();
        let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
                     HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n";
        self.raw("/headers/flood", format!("{OK}{many}Content-Length: 2\r\n\r\nok"))
            .raw(
                "/headers/long",
                format!("{OK}X-Long: {}\r\nContent-Length: 2\r\n\r\nok", "x".repeat(1 << 20)),
            )
            .at("/headers/endless", |_, connection| {
                connection.send(OK)?;
                repeat("X-Endless: 0123456789abcdef\r\n", connection)
            })
            .raw("/headers/folded", format!("{OK}X-Folded: one\r\n\ttwo\r\nContent-Length: 2\r\n\r\nok"))
            .raw("/headers/garbage", format!("{OK}no colon here\r\n: no name\r\nContent-Length: 2\r\n\r\nok"))
            .raw("/early", format!("{early}{OK}Content-Length: 2\r\n\r\nok"))
    }

    fn with_wrong_ends(self) -> Self {
        self.at("/reset", |_, connection| {
            connection.send(format!("{OK}Content-Length: 100000\r\n\r\n{}", "x".repeat(1000)))?;
            // Time for the client to read the beginning: a reset discards bytes in transit.
            connection.wait(Duration::from_millis(50));
            connection.reset()?;
            Ok(Then::Close)
        })
        .at("/close", |_, _| Ok(Then::Close))
        .at("/silence", |_, connection| {
            connection.wait(Duration::from_secs(600));
            Ok(Then::Close)
        })
        .raw("/garbage", "\0\u{1}\u{2} this is no HTTP \r\n\r\n".to_owned())
        .raw("/bare", "<p>A page without a head.</p>\n".to_owned())
    }

    fn with_wrong_codings(self) -> Self {
        let text = "<p>Packed.</p>".repeat(100);
        let packed = gzip(text.as_bytes());
        let cut = packed[..packed.len() / 2].to_vec();
        let answer = |body: Vec<u8>| Answer::of("text/html", body).header("Content-Encoding", "gzip");
        let utf_16: Vec<u8> = "\u{feff}<p>Größe <a href=\"/about.html\">über</a></p>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let latin = b"<p>Gr\xf6\xdfe <a href=\"/about.html\">\xfcber</a></p>".to_vec();
        self.computed("/bomb/", |request| {
            Answer::of("text/html", bomb(request.number(1))).header("Content-Encoding", "gzip")
        })
        .page("/gzip/good", answer(packed))
        .page("/gzip/cut", answer(cut))
        .page("/gzip/false", answer(text.into_bytes()))
        .page("/charset/utf-16", Answer::of("text/html", utf_16))
        .page("/charset/wrong", Answer::of("text/html; charset=utf-8", latin.clone()))
        .page("/charset/none", Answer::of("text/html", latin))
    }

    /// Adds an answer whose bytes are sent as they are; then the connection is closed.
    #[must_use]
    pub fn raw(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        self.at(path, move |_, connection| {
            connection.send(&bytes)?;
            Ok(Then::Close)
        })
    }
}

fn chunked(body: &str) -> String {
    format!("{OK}Transfer-Encoding: chunked\r\n\r\n{body}")
}

/// `/slow/N`
fn slow(request: &Request, connection: &mut Connection) -> io::Result<Then> {
    let length = request.number(1);
    connection.send(format!("{OK}Content-Length: {length}\r\n\r\n"))?;
    for _ in 0..length {
        if connection.is_over() {
            return Ok(Then::Close);
        }
        connection.wait(Duration::from_millis(10));
        connection.send("x")?;
    }
    Ok(Then::KeepOpen)
}

fn endless(connection: &mut Connection) -> io::Result<Then> {
    connection.send(format!("{OK}\r\n"))?;
    repeat(&"<p>and so on</p>\n".repeat(256), connection)
}

/// Sends the same for ever: until the client has gone, or the test is over.
fn repeat(text: &str, connection: &mut Connection) -> io::Result<Then> {
    while !connection.is_over() {
        connection.send(text)?;
    }
    Ok(Then::Close)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written")
}

/// This many MiB of zeros, packed with gzip.
fn bomb(mebibytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let block = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        encoder.write_all(&block).expect("memory can be written");
    }
    encoder.finish().expect("memory can be written")
}
