//! Errors of parsing, with their position.

use std::fmt;

/// A position in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl Place {
    /// The beginning of a text.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// The text cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// It is not YAML.
    #[error("{place}: {problem}")]
    Syntax {
        /// The position.
        place: Place,
        /// The problem.
        problem: String,
    },
    /// An alias without a complete value before it.
    #[error("{place}: `*{name}` stands for no value before it")]
    Alias {
        /// The position.
        place: Place,
        /// The name.
        name: String,
    },
    /// A list or mapping as a key.
    #[error("{place}: a key must be a single value")]
    Key {
        /// The position.
        place: Place,
    },
    /// `<<` with something that cannot be merged.
    #[error("{place}: only mappings can be merged")]
    Merge {
        /// The position.
        place: Place,
    },
    /// `<<` would copy too many entries.
    #[error("{place}: too much is merged")]
    TooMuchMerged {
        /// The position.
        place: Place,
    },
    /// Too many levels.
    #[error("{place}: nested too deeply")]
    TooDeep {
        /// The position.
        place: Place,
    },
    /// The text is too long.
    #[error("longer than {} MiB", super::MAX_TEXT_BYTES >> 20)]
    TooLong,
}

impl YamlError {
    /// The position of the error, if it has one.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Syntax { place, .. } | Self::Alias { place, .. } | Self::Key { place } => Some(*place),
            Self::Merge { place } | Self::TooMuchMerged { place } | Self::TooDeep { place } => Some(*place),
            Self::TooLong => None,
        }
    }
}
