//! How a verb ends, and the exit codes of the program. No other file decides a code.

/// The work is done, and there are findings; or a search has no hits, as with grep.
const EXIT_FINDINGS: u8 = 1;
/// The verb could not run: usage, settings, environment.
pub(crate) const EXIT_FAILURE: u8 = 2;
/// The process was interrupted; shells use the same code for Ctrl-C.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;
/// A bug in varve.
pub(crate) const EXIT_BUG: u8 = 255;

/// How a verb ended that did its work.
#[derive(Clone, Copy)]
pub(crate) enum ExitStatus {
    /// Everything was done, and nothing was found.
    Done,
    /// The work is done, and there are findings to look at.
    Findings,
    /// A search has no hits.
    NoHits,
    /// Part of the work could not be done. Each failure was reported when it happened.
    Incomplete,
    /// The verb was asked to stop, and stopped in a consistent state.
    Interrupted,
}

impl ExitStatus {
    /// Done, or with findings if there are any.
    pub(crate) fn of_findings(count: u64) -> Self {
        if count > 0 { Self::Findings } else { Self::Done }
    }

    /// The status with the higher exit code.
    pub(crate) fn worse(self, other: Self) -> Self {
        if other.code() > self.code() { other } else { self }
    }

    /// The exit code of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Findings | Self::NoHits => EXIT_FINDINGS,
            Self::Incomplete => EXIT_FAILURE,
            Self::Interrupted => EXIT_INTERRUPTED,
        }
    }
}
