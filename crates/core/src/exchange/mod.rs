//! Exchanges: one request and its answer, as they were on the wire, not yet kept.
//!
//! Owns the value that travels from the fetcher to the store. An [`Exchange`] holds bytes, never a reading of
//! them: what a status or a header says is asked of [`Exchange::head`], which reads the bytes anew, so that nothing can
//! depart from what was received. It knows neither sockets nor files: where the bytes of a long answer lie is hidden
//! behind [`WireBytes`].

mod head;
mod wire;

pub use head::{LONGEST_HEAD, Lines, ResponseHead, StatusLine, head_end};
pub use wire::{Wire, WireBytes, WireReader};

use std::net::IpAddr;

use crate::Moment;

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The URL that was asked, without user info and fragment.
    pub url: String,
    /// When the request was sent.
    pub at: Moment,
    /// The request, head and body, as it was sent except for credentials: their lines are never here.
    pub request: Vec<u8>,
    /// The final answer, exactly as it was received.
    pub response: Wire,
    /// How many interim answers (1xx) came before it; they are not kept.
    pub interim: u32,
    /// The address that answered; none behind a proxy.
    pub ip: Option<IpAddr>,
    /// The protocols spoken, outermost last: `["http/1.1", "tls/1.3"]`.
    pub protocol: Vec<String>,
    /// The cipher suite, by its registered name.
    pub cipher: Option<String>,
    /// How long each part took.
    pub timing: Timing,
    /// Why the answer is not whole; none when it is.
    pub truncated: Option<Truncated>,
    /// Lines that came behind the body and are not in the answer's bytes, as `name: value`: those of HTTP/2. In HTTP/1.1 they are
    /// part of the chunks.
    pub trailers: Vec<String>,
}

impl Exchange {
    /// The method of the request, as it was sent.
    pub fn method(&self) -> &str {
        let word = self.request.split(|byte| *byte == b' ').next().unwrap_or_default();
        std::str::from_utf8(word).unwrap_or_default()
    }

    /// Whether it is a plain question: a `GET`.
    pub fn is_get(&self) -> bool {
        self.method() == "GET"
    }

    /// The head of the answer, read from its bytes. None when the answer does not begin as HTTP does, or its head is
    /// longer than [`LONGEST_HEAD`].
    pub fn head(&self) -> std::io::Result<Option<ResponseHead>> {
        let start = self.response.start(LONGEST_HEAD)?;
        Ok(ResponseHead::read(&start))
    }
}

/// How long the parts of an exchange took, in microseconds. The first three are none on a connection that was open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Finding the address of the host.
    pub dns: Option<u64>,
    /// Opening the connection, through a proxy if there is one.
    pub connect: Option<u64>,
    /// Agreeing on encryption.
    pub tls: Option<u64>,
    /// From sending the request to the first byte of an answer.
    pub first_byte: u64,
    /// From the beginning to the last byte.
    pub total: u64,
}

/// Why an answer is not whole: the reasons of `WARC-Truncated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truncated {
    /// It grew past a limit of size.
    Length,
    /// It took longer than a limit of time.
    Time,
    /// The connection ended too early.
    Disconnect,
    /// Unknown: its framing is contradictory or cannot be parsed.
    Unspecified,
}

impl Truncated {
    /// The word that WARC has for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

impl std::fmt::Display for Truncated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
