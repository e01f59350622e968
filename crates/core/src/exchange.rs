//! Exchanges: one request and its response, as they were on the wire, not yet stored.
//!
//! Owns the value that travels from the fetcher to the store. An [`Exchange`] holds the received
//! bytes. Its status and headers come from [`MessageBytes::head`], which parses those bytes once,
//! so that they cannot differ from the received ones. It knows neither sockets nor files.

use std::net::IpAddr;

use varve_wire::{MessageBytes, MessageHead, ResponseHead, TruncationReason};

use crate::Moment;
use crate::secret::Secret;

/// One request and its response.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The requested URL, without user information and fragment.
    pub url: String,
    /// When the request was sent.
    pub at: Moment,
    /// The request, head and body, as sent, but without the lines of credentials.
    pub request: Vec<u8>,
    /// The `Cookie` header that was sent, which is not in `request`.
    pub cookie: Option<Secret<String>>,
    /// The final response, exactly as received.
    pub response: MessageBytes,
    /// The number of interim responses (1xx) before it, which are not stored.
    pub interim: u32,
    /// The address of the server; `None` behind a proxy.
    pub ip: Option<IpAddr>,
    /// The protocols spoken, outermost last: `["http/1.1", "tls/1.3"]`.
    pub protocol: Vec<String>,
    /// The cipher suite, by its registered name.
    pub cipher: Option<String>,
    /// The duration of each part.
    pub timing: Timing,
    /// Why the response is truncated; `None` if it is complete.
    pub truncated: Option<TruncationReason>,
    /// Trailers that are not in the bytes of the response, as `name: value`: those of HTTP/2. In
    /// HTTP/1.1 they are part of the chunked body.
    pub trailers: Vec<String>,
}

impl Exchange {
    /// A complete response to a request of which nothing but the URL and the time is known.
    pub fn of_response(url: String, at: Moment, response: MessageBytes) -> Self {
        Self {
            url,
            at,
            request: Vec::new(),
            cookie: None,
            response,
            interim: 0,
            ip: None,
            protocol: Vec::new(),
            cipher: None,
            timing: Timing::default(),
            truncated: None,
            trailers: Vec::new(),
        }
    }

    /// The method of the request, as sent.
    pub fn method(&self) -> &str {
        let word = self.request.split(|byte| *byte == b' ').next().unwrap_or_default();
        std::str::from_utf8(word).unwrap_or_default()
    }

    /// Whether the request is a `GET`.
    pub fn is_get(&self) -> bool {
        self.method() == "GET"
    }

    /// The head of the response. `None` if the response does not begin with an HTTP head that has a
    /// status.
    pub fn head(&self) -> std::io::Result<Option<ResponseHead<'_>>> {
        Ok(self.response.head()?.and_then(MessageHead::response))
    }
}

/// The durations of the parts of an exchange, in microseconds. The first three are `None` on a
/// reused connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Resolving the host name.
    pub dns: Option<u64>,
    /// Opening the connection, through a proxy if there is one.
    pub connect: Option<u64>,
    /// The TLS handshake.
    pub tls: Option<u64>,
    /// From sending the request to the first byte of the response.
    pub first_byte: u64,
    /// From the beginning to the last byte.
    pub total: u64,
}
