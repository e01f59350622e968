//! Why a text or a number is not an id. The error names the kind of id by its `kind`.

/// A text or number is not a valid id of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Too few or too many hex digits.
    #[error("{kind}: expected {expected} hex digits, found {found} characters")]
    Length {
        /// The kind of id.
        kind: &'static str,
        /// The required number of digits.
        expected: usize,
        /// The number of characters found.
        found: usize,
    },
    /// A prefix is so short that it could match by accident, or longer than an id.
    #[error("{kind}: expected {least} to {most} hex digits, found {found}")]
    PrefixLength {
        /// The kind of id.
        kind: &'static str,
        /// The minimum number of digits.
        least: usize,
        /// The maximum number of digits.
        most: usize,
        /// The number of digits found.
        found: usize,
    },
    /// A character is not a hex digit.
    #[error("{kind}: `{character}` at position {position} is not a hex digit", character = character.escape_debug())]
    NotHex {
        /// The kind of id.
        kind: &'static str,
        /// The invalid character.
        character: char,
        /// Its position in the text, in characters from 0.
        position: usize,
    },
    /// A text is not a UUID; `reason` is the message of the UUID parser, which names the position.
    #[error("{kind}: {reason}")]
    NotUuid {
        /// The kind of id.
        kind: &'static str,
        /// The message of the UUID parser.
        reason: String,
    },
    /// A number has more bits than its kind allows.
    #[error("{kind}: {value} does not fit {bits} bits")]
    TooGreat {
        /// The kind of number.
        kind: &'static str,
        /// The maximum number of bits.
        bits: u32,
        /// The number.
        value: u64,
    },
}
