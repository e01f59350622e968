//! How much of what follows a head is its body.

use super::chunks::Chunks;

/// A body on its way.
pub(super) enum Body {
    Length(u64),
    Chunked(Chunks),
    UntilClose,
}

impl Body {
    pub(super) fn none() -> Self {
        Self::Length(0)
    }

    pub(super) fn of_length(length: u64) -> Self {
        Self::Length(length)
    }

    pub(super) fn chunked(trailer_bytes: usize) -> Self {
        Self::Chunked(Chunks::new(trailer_bytes))
    }

    pub(super) fn until_close() -> Self {
        Self::UntilClose
    }

    /// How many bytes of the input belong to the body.
    pub(super) fn take(&mut self, input: &[u8]) -> usize {
        match self {
            Self::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                taken
            }
            Self::Chunked(chunks) => chunks.take(input),
            Self::UntilClose => input.len(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunks) => chunks.is_done(),
            Self::UntilClose => false,
        }
    }

    /// Whether the end of the connection is an end of the body.
    pub(super) fn may_end_here(&self) -> bool {
        match self {
            Self::Length(_) => self.is_done(),
            Self::Chunked(chunks) => chunks.is_done() || chunks.is_broken(),
            Self::UntilClose => true,
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        matches!(self, Self::Chunked(chunks) if chunks.is_broken())
    }

    pub(super) fn ends_with_connection(&self) -> bool {
        matches!(self, Self::UntilClose)
    }

    pub(super) fn expected(&self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(*left),
            _ => None,
        }
    }
}
