//! Why there is no exchange.
//!
//! A truncated or malformed response is still an exchange, with the received bytes. These errors are for
//! the rest: not one byte of an answer, or nowhere to put it.

use varve_core::secret::ShownUrl;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a request has no answer. Its message says what failed; its source is the
/// cause.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub struct FetchError {
    /// The sort of failure.
    pub kind: FetchErrorKind,
    sentence: String,
    source: Option<Source>,
}

/// The sorts of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchErrorKind {
    /// The URL cannot be asked: not HTTP, no host, not a URL.
    Url,
    /// The request cannot be sent: a header of it, or nobody knows the proxy that it should go through.
    Request,
    /// The host has no address.
    Dns,
    /// The guard refuses the address.
    Guard,
    /// Nobody listens there.
    Refused,
    /// The connection could not be opened for another reason, or was lost before an answer.
    Connect,
    /// No encryption could be agreed on, or the certificate is not accepted.
    Tls,
    /// No authority that is known stands for the certificate.
    Issuer,
    /// The certificate has expired, or is not valid yet.
    Expired,
    /// The certificate is for another name.
    Name,
    /// Encryption was asked of a server that speaks plain HTTP there.
    NoTls,
    /// Plain HTTP was asked of a server that speaks TLS there.
    WantsTls,
    /// The proxy refuses, or does not speak its protocol.
    Proxy,
    /// Nothing came in time.
    Timeout,
    /// The server closed, or sent interim answers without end, instead of answering.
    Protocol,
    /// The answer could not be put down on the local disk.
    Spool,
    /// The browser failed.
    Browser,
}

impl FetchErrorKind {
    /// The word that machines read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Request => "request",
            Self::Dns => "dns",
            Self::Guard => "guard",
            Self::Refused => "refused",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Issuer => "tls:issuer",
            Self::Expired => "tls:expired",
            Self::Name => "tls:name",
            Self::NoTls => "tls:none",
            Self::WantsTls => "tls:wanted",
            Self::Proxy => "proxy",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Spool => "spool",
            Self::Browser => "browser",
        }
    }

    /// Whether trying again a little later can help. Certificates and schemes are changed by people.
    pub const fn may_pass(self) -> bool {
        use FetchErrorKind::{Expired, Guard, Issuer, Name, NoTls, Request, Spool, Url, WantsTls};
        !matches!(self, Url | Request | Guard | Issuer | Expired | Name | NoTls | WantsTls | Spool)
    }

    /// Whether nothing at all was heard of the server, and that may pass.
    pub const fn is_silence(self) -> bool {
        use FetchErrorKind::{Connect, Dns, Proxy, Refused, Timeout, Tls};
        matches!(self, Dns | Refused | Connect | Tls | Proxy | Timeout)
    }
}

impl std::fmt::Display for FetchErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl FetchError {
    pub(crate) fn new(kind: FetchErrorKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into(), source: None }
    }

    pub(crate) fn because(mut self, source: impl Into<Source>) -> Self {
        let source = source.into();
        // Here rustls speaks to programmers, with a link to its manual.
        let is_cut = source.to_string().contains("close_notify");
        self.source = Some(if is_cut { "the connection was closed in the middle".into() } else { source });
        self
    }

    /// A fetcher gave no exchange, which none should.
    pub fn nothing(url: &str) -> Self {
        Self::new(FetchErrorKind::Protocol, format!("there is no answer from `{}`", ShownUrl(url)))
    }

    /// Time was over before it could be asked for.
    pub(crate) fn late(url: &str) -> Self {
        let sentence = format!("the time was over before `{}` was asked for", ShownUrl(url));
        Self::new(FetchErrorKind::Timeout, sentence)
    }

    pub(crate) fn url(text: &str, why: &str) -> Self {
        Self::new(FetchErrorKind::Url, format!("`{}` cannot be fetched: {why}", ShownUrl(text)))
    }

    pub(crate) fn timeout(what: &str, host: &str) -> Self {
        Self::new(FetchErrorKind::Timeout, format!("{what} `{host}` took too long"))
    }

    pub(crate) fn connect(what: &str, error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::ConnectionRefused => FetchErrorKind::Refused,
            std::io::ErrorKind::TimedOut => FetchErrorKind::Timeout,
            _ => FetchErrorKind::Connect,
        };
        Self::new(kind, format!("cannot connect to {what}")).because(error)
    }

    pub(crate) fn spool(error: std::io::Error) -> Self {
        Self::new(FetchErrorKind::Spool, "the answer cannot be written to the temporary folder")
            .because(error)
    }
}
