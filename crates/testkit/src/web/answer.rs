//! A correct response. Incorrect ones are written to the connection by hand.

use super::connection::Connection;
use super::request::Request;
use std::io;

/// The connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It waits for the next request.
    KeepOpen,
    /// It is closed.
    Close,
}

/// A complete, correct answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    /// An answer with this status and no body.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// A page.
    pub fn html(text: impl Into<String>) -> Self {
        Self::of("text/html; charset=utf-8", text.into())
    }

    /// A body of this media type.
    pub fn of(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::status(200) }.header("Content-Type", kind)
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    /// The same answer with another status.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The same answer with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The bytes of the answer.
    pub fn bytes(&self, with_body: bool) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.status != 304 && self.status != 204 {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        if with_body {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }

    /// Sends the answer.
    pub fn send(&self, request: &Request, connection: &mut Connection) -> io::Result<Then> {
        connection.send(self.bytes(request.method != "HEAD"))?;
        Ok(Then::KeepOpen)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
