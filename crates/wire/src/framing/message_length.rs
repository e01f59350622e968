//! The length of a body as the headers declare it (RFC 9112, 6.3).
//!
//! Where the headers contradict one another, the reading that takes more bytes is chosen, and the
//! length is doubtful.

use super::body::FramedBody;
use crate::chunked::ChunkedDecoder;
use crate::headers::Headers;

/// The declared length of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageLength {
    /// There is no body, even if a length is given.
    NoBody,
    /// The body is chunked.
    Chunked,
    /// The body ends with the connection.
    UntilClose,
    /// `Content-Length` gives one number.
    Exact(u64),
    /// `Content-Length` gives several numbers: the largest.
    Contradictory(u64),
    /// `Content-Length` is no number.
    Unreadable,
}

impl MessageLength {
    /// The length of the body of a response with this status.
    pub(super) fn of(status: u16, headers: &Headers) -> Self {
        if matches!(status, 101 | 204 | 304) {
            return Self::NoBody;
        }
        if headers.get_all("Transfer-Encoding").any(|value| !value.is_empty()) {
            return if headers.is_chunked() { Self::Chunked } else { Self::UntilClose };
        }
        let values = headers.get_all("Content-Length").flat_map(|value| value.split(|byte| *byte == b','));
        let mut length = None;
        for part in values.map(<[u8]>::trim_ascii).filter(|part| !part.is_empty()) {
            let Some(number) = parse_decimal(part) else { return Self::Unreadable };
            length = Some(match length {
                None => Self::Exact(number),
                Some(Self::Exact(other)) if other == number => Self::Exact(other),
                Some(Self::Exact(other) | Self::Contradictory(other)) => {
                    Self::Contradictory(other.max(number))
                }
                Some(other) => other,
            });
        }
        let is_given = headers.get_all("Content-Length").any(|value| !value.is_empty());
        length.unwrap_or(if is_given { Self::Unreadable } else { Self::UntilClose })
    }

    /// The body to receive.
    pub(super) fn body(self, max_trailer_bytes: usize) -> FramedBody {
        match self {
            Self::NoBody => FramedBody::Length(0),
            Self::Chunked => FramedBody::Chunked(ChunkedDecoder::with_trailer_limit(max_trailer_bytes)),
            Self::Exact(length) | Self::Contradictory(length) => FramedBody::Length(length),
            Self::UntilClose | Self::Unreadable => FramedBody::UntilClose,
        }
    }

    /// Whether the headers do not say clearly how long the body is.
    pub(super) fn is_doubtful(self) -> bool {
        matches!(self, Self::Contradictory(_) | Self::Unreadable)
    }
}

fn parse_decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
