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

    /// Whether the URL did not answer as expected.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Changed | Self::Broken | Self::Unreachable)
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

/// The number of verdicts of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// As expected.
    pub ok: u64,
    /// Other content, type or redirect than expected.
    pub changed: u64,
    /// An error status where success was expected.
    pub broken: u64,
    /// No complete response.
    pub unreachable: u64,
    /// Not requested.
    pub skipped: u64,
}

impl VerdictCounts {
    /// Counts one verdict.
    pub fn add(&mut self, verdict: VerdictKind) {
        *match verdict {
            VerdictKind::Ok => &mut self.ok,
            VerdictKind::Changed => &mut self.changed,
            VerdictKind::Broken => &mut self.broken,
            VerdictKind::Unreachable => &mut self.unreachable,
            VerdictKind::Skipped => &mut self.skipped,
        } += 1;
    }

    /// The number of all verdicts.
    pub fn total(&self) -> u64 {
        self.ok + self.failures() + self.skipped
    }

    /// The number of failures.
    pub fn failures(&self) -> u64 {
        self.changed + self.broken + self.unreachable
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
