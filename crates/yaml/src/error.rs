//! Why a text is no YAML that can be used, and where.

use std::fmt;

/// Where something stands in a text, both counted from 1.
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

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// It is no YAML.
    #[error("{place}: {problem}")]
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong there.
        problem: String,
    },
    /// An alias for which there is no complete value before it.
    #[error("{place}: `*{name}` stands for no value before it")]
    Alias {
        /// Where.
        place: Place,
        /// The name.
        name: String,
    },
    /// A list or mapping as a key.
    #[error("{place}: a key must be a single value")]
    Key {
        /// Where.
        place: Place,
    },
    /// `<<` with something that cannot be merged.
    #[error("{place}: only mappings can be merged")]
    Merge {
        /// Where.
        place: Place,
    },
    /// Merges that would grow beyond all use.
    #[error("{place}: too much is merged")]
    TooMuchMerged {
        /// Where.
        place: Place,
    },
    /// Too many levels.
    #[error("{place}: nested too deeply")]
    TooDeep {
        /// Where.
        place: Place,
    },
    /// Too long for a file that people edit.
    #[error("longer than {} MiB", super::MAX_TEXT_BYTES >> 20)]
    TooLong,
}

impl YamlError {
    /// Where it is wrong, if that is one place.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Syntax { place, .. } | Self::Alias { place, .. } | Self::Key { place } => Some(*place),
            Self::Merge { place } | Self::TooMuchMerged { place } | Self::TooDeep { place } => Some(*place),
            Self::TooLong => None,
        }
    }
}
