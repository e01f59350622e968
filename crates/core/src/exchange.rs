//! Exchanges: one request and its response, as they were on the wire, not yet stored.
//!
//! Owns the value that travels from the fetcher to the store. An [`Exchange`] holds the received bytes; its status and
//! headers come from [`MessageBytes::head`], which parses those bytes once, so that they cannot differ from what was
//! received. It knows neither sockets nor files.

use std::net::IpAddr;

use varve_wire::{MessageBytes, MessageHead, ResponseHead, TruncationReason};

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
    pub response: MessageBytes,
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
    pub truncated: Option<TruncationReason>,
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

    /// The head of the response. None when the response does not begin with an HTTP head that has a status.
    pub fn head(&self) -> std::io::Result<Option<ResponseHead<'_>>> {
        Ok(self.response.head()?.and_then(MessageHead::response))
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
