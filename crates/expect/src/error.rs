//! Why a file of a URL database cannot be used.

use varve_yaml::{Place, YamlError};

/// Why a text is not a domain file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainFileError {
    /// It is not YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// A document is not a mapping.
    #[error("{place}: {what} must be a mapping")]
    NotAMapping {
        /// Where it begins.
        place: Place,
        /// Which document.
        what: &'static str,
    },
    /// A record without its path.
    #[error("{place}: the record has no `_path`")]
    NoPath {
        /// Where it begins.
        place: Place,
    },
    /// Two records for one path.
    #[error("{place}: the path `{}` has a record at {first} already", path.escape_debug())]
    RepeatedPath {
        /// Where the second record begins.
        place: Place,
        /// Where the first record begins.
        first: Place,
        /// The path.
        path: String,
    },
    /// A path with a fragment, which no server ever sees.
    #[error("{place}: the path `{}` has a fragment; remove `#` and what follows", path.escape_debug())]
    Fragment {
        /// Where the record begins.
        place: Place,
        /// The path.
        path: String,
    },
    /// A key with a value of the wrong kind.
    #[error("{place}: `{key}` must be {wanted}")]
    Value {
        /// The place of the key.
        place: Place,
        /// The key.
        key: &'static str,
        /// The accepted values.
        wanted: &'static str,
    },
}

impl DomainFileError {
    /// The place of the error, if there is one.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Yaml(error) => error.place(),
            Self::NotAMapping { place, .. }
            | Self::NoPath { place }
            | Self::RepeatedPath { place, .. }
            | Self::Fragment { place, .. }
            | Self::Value { place, .. } => Some(*place),
        }
    }
}
