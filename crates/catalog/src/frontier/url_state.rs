//! The codes by which the tables store the state of a URL and the kind of its reason.

use rusqlite::Row;
use varve_core::frontier::{FetchKind, FetchReason};
use varve_sqlite::UnlocatedError;

/// The state of a URL. The numbers are those of the column `state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UrlState {
    /// Waiting to be claimed.
    Ready = 0,
    /// Claimed by a worker.
    Claimed = 1,
    /// Captured.
    Done = 2,
    /// Waiting for the instant of the next attempt.
    Waiting = 3,
    /// Failed for good.
    Failed = 4,
    /// Skipped by a rule.
    Skipped = 5,
}

/// The kinds, in the order of their codes in the column `kind`.
const FETCH_KINDS: [FetchKind; 5] =
    [FetchKind::Page, FetchKind::Embed, FetchKind::Frame, FetchKind::Sitemap, FetchKind::Robots];

/// The code of a kind.
pub(super) fn kind_code(kind: FetchKind) -> i64 {
    match kind {
        FetchKind::Page => 0,
        FetchKind::Embed => 1,
        FetchKind::Frame => 2,
        FetchKind::Sitemap => 3,
        FetchKind::Robots => 4,
    }
}

/// Reads a reason from three columns: kind, depth and chain.
pub(super) fn read_reason(row: &Row<'_>, column: usize) -> Result<FetchReason, UnlocatedError> {
    let code: i64 = row.get(column)?;
    let kind = usize::try_from(code).ok().and_then(|code| FETCH_KINDS.get(code));
    let unknown = || UnlocatedError::Damaged("frontier", format!("there is no kind {code} of a URL"));
    Ok(FetchReason::from_parts(*kind.ok_or_else(unknown)?, row.get(column + 1)?, row.get(column + 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_the_code_of_its_position() {
        for (code, kind) in (0..).zip(FETCH_KINDS) {
            assert_eq!(kind_code(kind), code);
        }
    }
}
