//! Why a request has no exchange.
//!
//! A truncated or malformed response is still an exchange, with the received bytes. These errors
//! are for requests without any byte of a response, and for local failures.

use varve_core::secret::ShownUrl;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a request has no response. Its message says what failed; its source is the
/// cause.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub struct FetchError {
    /// The kind of failure.
    pub kind: FetchErrorKind,
    sentence: String,
    source: Option<Source>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchErrorKind {
    /// The URL cannot be fetched: not HTTP, no host, or not a URL.
    Url,
    /// The request cannot be sent: a header is invalid, or its proxy is unknown.
    Request,
    /// The host has no address.
    Dns,
    /// The guard refuses the address.
    Guard,
    /// The connection was refused.
    Refused,
    /// The connection could not be opened for another reason, or was lost before an answer.
    Connect,
    /// The TLS handshake failed, or the certificate is not accepted.
    Tls,
    /// The issuer of the certificate is not trusted.
    Issuer,
    /// The certificate has expired, or is not valid yet.
    Expired,
    /// The certificate is for another name.
    Name,
    /// TLS was used on a port with plain HTTP.
    NoTls,
    /// Plain HTTP was used on a port with TLS.
    WantsTls,
    /// The proxy refused, or does not follow its protocol.
    Proxy,
    /// A timeout passed.
    Timeout,
    /// The server closed the connection, or sent endless interim responses.
    Protocol,
    /// The response could not be written to the local disk.
    Spool,
    /// The browser failed.
    Browser,
}

impl FetchErrorKind {
    /// The name in JSON output.
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

    /// Whether a retry may succeed. Certificates and schemes change only by hand.
    pub const fn is_retryable(self) -> bool {
        use FetchErrorKind::{Expired, Guard, Issuer, Name, NoTls, Request, Spool, Url, WantsTls};
        !matches!(self, Url | Request | Guard | Issuer | Expired | Name | NoTls | WantsTls | Spool)
    }

    /// Whether the server did not respond at all, and a retry may succeed.
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
        // This message of rustls is for programmers.
        let is_cut = source.to_string().contains("close_notify");
        self.source = Some(if is_cut { "the connection was closed in the middle".into() } else { source });
        self
    }

    /// A fetcher returned no exchange.
    pub fn nothing(url: &str) -> Self {
        Self::new(FetchErrorKind::Protocol, format!("there is no answer from `{}`", ShownUrl(url)))
    }

    /// The deadline passed before the request could be sent.
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
