//! The kinds of verdict of a check, under the names that facts, catalogs and reports use. The crate
//! `expect` decides which one a response gets.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The result of a check, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    /// The response is as expected.
    Ok,
    /// The server answered with other content, another type or another redirect than expected.
    Changed,
    /// The server answered with an error status (4xx or 5xx) where success was expected.
    Broken,
    /// There is no complete response.
    Unreachable,
    /// The URL was not requested.
    Skipped,
}

/// A text is not the name of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a verdict: ok, changed, broken, unreachable or skipped", .0.escape_debug())]
pub struct UnknownVerdict(pub String);

impl VerdictKind {
    /// All verdicts, in the order of a summary.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Changed, Self::Broken, Self::Unreachable, Self::Skipped];

    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Broken => "broken",
            Self::Unreachable => "unreachable",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for VerdictKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for VerdictKind {
    type Err = UnknownVerdict;

    fn from_str(name: &str) -> Result<Self, UnknownVerdict> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownVerdict(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_text_use_the_same_names() {
        for kind in VerdictKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "drift".parse::<VerdictKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`drift` is not a verdict: ok, changed, broken, unreachable or skipped"
        );
    }
}
