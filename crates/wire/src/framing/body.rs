//! How many of the bytes that follow a head belong to its body.

use crate::chunked::ChunkedDecoder;

/// A body while it is received.
pub(super) enum FramedBody {
    Length(u64),
    Chunked(ChunkedDecoder),
    UntilClose,
}

impl FramedBody {
    /// Returns how many bytes of the input belong to the body.
    pub(super) fn take(&mut self, input: &[u8]) -> usize {
        match self {
            Self::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                taken
            }
            Self::Chunked(decoder) => decoder.push(input, &mut |_| {}),
            Self::UntilClose => input.len(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(decoder) => decoder.is_done(),
            Self::UntilClose => false,
        }
    }

    /// Whether the end of the connection is an end of the body.
    pub(super) fn may_end_here(&self) -> bool {
        match self {
            Self::Length(_) => self.is_done(),
            Self::Chunked(decoder) => decoder.is_done() || decoder.is_broken(),
            Self::UntilClose => true,
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        matches!(self, Self::Chunked(decoder) if decoder.is_broken())
    }

    pub(super) fn ends_with_connection(&self) -> bool {
        matches!(self, Self::UntilClose)
    }

    /// The number of bytes still to come, if it is known.
    pub(super) fn expected(&self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(*left),
            _ => None,
        }
    }
}
