//! The diffs that are removed with versions, and those that replace them.
//!
//! When versions between others are removed, the next remaining version gets another parent. If its
//! diff with the old parent was stored, one with the new parent is stored instead: a site has the
//! diff of each version with its parent, before and after.

use std::collections::{HashMap, HashSet};

use varve_core::history::{StoredDiffInfo, VersionInfo};
use varve_core::{Moment, VersionId};

use crate::error::ArchiveError;
use varve_repository::history::HistoryReader;

/// The diffs affected by the removal of versions.
#[derive(Default)]
pub(super) struct Going {
    /// Number of diffs removed with each version. A diff between two removed versions is counted
    /// with the newer one.
    counts: HashMap<VersionId, u64>,
    /// When each of them was computed.
    times: Vec<Moment>,
    /// The diffs to make: from the new parent to the remaining version.
    pub(super) made: Vec<(VersionId, VersionId)>,
}

impl Going {
    /// Determines the diffs to remove and to make. Diffs computed before `cutoff` are not made
    /// again.
    pub(super) fn find(
        history: &HistoryReader,
        forgotten: &[VersionInfo],
        cutoff: Option<Moment>,
    ) -> Result<Self, ArchiveError> {
        let parents: HashMap<_, _> =
            forgotten.iter().map(|info| (info.version.id, info.version.parent)).collect();
        let mut going = Self::default();
        for info in forgotten {
            let id = info.version.id;
            let children: HashSet<VersionId> = history.catalog().children(&id)?.into_iter().collect();
            for diff in history.catalog().diffs_with(&id)? {
                going.count(id, diff, &parents);
                let stays = children.contains(&diff.head) && !parents.contains_key(&diff.head);
                let is_old = cutoff.is_some_and(|cutoff| diff.time < cutoff);
                if let Some(parent) = remaining(&parents, id).filter(|_| stays && !is_old) {
                    going.made.push((parent, diff.head));
                }
            }
        }
        // Moku may have stored a diff twice.
        going.made.dedup();
        Ok(going)
    }

    fn count(
        &mut self,
        id: VersionId,
        diff: StoredDiffInfo,
        parents: &HashMap<VersionId, Option<VersionId>>,
    ) {
        if diff.head == id || !parents.contains_key(&diff.head) {
            *self.counts.entry(id).or_default() += 1;
            self.times.push(diff.time);
        }
    }

    /// Number of diffs removed with a version.
    pub(super) fn with(&self, id: &VersionId) -> u64 {
        self.counts.get(id).copied().unwrap_or_default()
    }

    /// Number of these diffs computed before an instant.
    pub(super) fn before(&self, before: Moment) -> u64 {
        self.times.iter().filter(|time| **time < before).count() as u64
    }
}

/// The nearest remaining ancestor; `None` if the parents form a cycle.
fn remaining(parents: &HashMap<VersionId, Option<VersionId>>, from: VersionId) -> Option<VersionId> {
    let mut seen = HashSet::new();
    let mut at = from;
    while let Some(parent) = parents.get(&at) {
        if !seen.insert(at) {
            return None;
        }
        at = (*parent)?;
    }
    Some(at)
}
