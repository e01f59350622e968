//! Why a text is not a usable URL: the problem and its byte position.
//!
//! No error repeats any part of the URL but a single character, so that a password never reaches a
//! message.

/// A text is not a valid URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {at}")]
pub struct UrlError {
    /// The problem.
    pub problem: UrlProblem,
    /// The position, in bytes from the beginning of the text.
    pub at: usize,
}

/// The problems of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlProblem {
    /// A control character outside the fragment.
    #[error("control character")]
    ControlCharacter,
    /// The text begins with a colon.
    #[error("missing scheme before `:`")]
    MissingScheme,
    /// A relative reference whose first segment could be taken for a scheme.
    #[error("colon in the first path segment")]
    ColonInFirstSegment,
    /// A percent sign without two hex digits after it.
    #[error("percent sign without two hex digits")]
    BadEscape,
    /// A percent escape of a character that a host must not hide.
    #[error("escape not allowed in a host")]
    EscapeInHost,
    /// A character that no host has.
    #[error("character {0:?} not allowed in a host")]
    HostCharacter(char),
    /// A character that must be escaped in the user info.
    #[error("character not allowed in the user info")]
    UserInfoCharacter,
    /// An address that begins with `[` and does not end.
    #[error("missing `]`")]
    UnclosedBracket,
    /// The text after the host is not a port.
    #[error("port that is not a number")]
    BadPort,
    /// A port beyond 65535.
    #[error("port greater than 65535")]
    PortTooGreat,
    /// A text that should be absolute begins with no scheme.
    #[error("missing scheme")]
    NoScheme,
    /// A web URL without a host.
    #[error("missing host")]
    NoHost,
    /// A host whose escapes encode bytes that are not UTF-8.
    #[error("host that is not UTF-8")]
    HostNotText,
    /// A host that has no form in the domain name system.
    #[error("host that is not a domain name")]
    NotDomainName,
    /// The text in brackets is not an address.
    #[error("brackets around what is no address")]
    NotAddress,
}

impl UrlProblem {
    /// The problem with its place.
    pub(crate) const fn at(self, at: usize) -> UrlError {
        UrlError { problem: self, at }
    }
}
