//! Why a text or a number is not an id. Knows no particular id: each names itself by its `kind`.

/// A text or number that is not the id it was read as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Too few or too many hex digits.
    #[error("{kind}: expected {expected} hex digits, found {found} characters")]
    Length {
        /// What was being read.
        kind: &'static str,
        /// How many digits there should be.
        expected: usize,
        /// How many characters there are.
        found: usize,
    },
    /// A prefix so short that it would match by accident, or longer than an id.
    #[error("{kind}: expected {least} to {most} hex digits, found {found}")]
    PrefixLength {
        /// What was being read.
        kind: &'static str,
        /// The fewest digits allowed.
        least: usize,
        /// The most digits allowed.
        most: usize,
        /// How many there are.
        found: usize,
    },
    /// A character that is no hex digit.
    #[error("{kind}: `{character}` at position {position} is not a hex digit", character = character.escape_debug())]
    NotHex {
        /// What was being read.
        kind: &'static str,
        /// The offending character.
        character: char,
        /// Its place in the text, counted in characters from 0.
        position: usize,
    },
    /// A text that is no UUID; `reason` is the finding of the UUID reader, which names the place.
    #[error("{kind}: {reason}")]
    NotUuid {
        /// What was being read.
        kind: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A number with more bits than its kind has.
    #[error("{kind}: {value} does not fit {bits} bits")]
    TooGreat {
        /// What was being made.
        kind: &'static str,
        /// How many bits it may have.
        bits: u32,
        /// The number given.
        value: u64,
    },
}
