//! Checks whether the captures of each run match the seal of its version.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

use varve_core::fact::{RunSummary, Sealing, Tombstone};
use varve_core::{RecordId, RunId, VersionId};

use super::run_records::RunRecords;

/// A version of a run, and the record of its manifest.
pub(super) struct SealedRun {
    pub(super) version: VersionId,
    pub(super) run: RunSummary,
    pub(super) record: RecordId,
}

/// Records removed from a run on purpose, and their replacements. The seal covers the removed
/// records.
#[derive(Default)]
struct PurgedRecords {
    gone: BTreeSet<RecordId>,
    instead: HashSet<RecordId>,
}

/// The captures of one run as they were sealed, so far.
#[derive(Default)]
struct SealTally {
    sealing: Sealing,
    count: u64,
}

impl SealTally {
    fn add(&mut self, record: &RecordId) {
        self.sealing.add(record);
        self.count += 1;
    }
}

/// The seals that do not match: the record of each, and a message.
pub(super) fn broken_seals(
    sealed: Vec<SealedRun>,
    records: RunRecords,
    tombstones: &[Tombstone],
) -> io::Result<Vec<(RecordId, String)>> {
    let mut rewritten: HashMap<RunId, PurgedRecords> = HashMap::new();
    for tombstone in tombstones {
        // Seals cover only response records.
        let Some(run) = tombstone.run_of_capture() else { continue };
        let run = rewritten.entry(run).or_default();
        run.gone.insert(tombstone.record);
        run.instead.extend(tombstone.replaced_by);
    }
    for PurgedRecords { gone, instead } in rewritten.values_mut() {
        // A replacement that a later rewrite removed was never covered by a seal.
        gone.retain(|record| !instead.contains(record));
    }
    let mut runs: HashMap<RunId, SealTally> =
        sealed.iter().map(|sealed| (sealed.run.id, SealTally::default())).collect();
    records.each(&mut |run, record| {
        let Some(counted) = runs.get_mut(&run) else { return };
        if let Some(rewritten) = rewritten.get_mut(&run) {
            if rewritten.instead.contains(&record) {
                return;
            }
            // Removed records are counted in their sort order among the others.
            while let Some(gone) = rewritten.gone.first().copied().filter(|gone| *gone < record) {
                counted.add(&gone);
                rewritten.gone.pop_first();
            }
        }
        counted.add(&record);
    })?;
    for (run, rewritten) in rewritten {
        if let Some(counted) = runs.get_mut(&run) {
            rewritten.gone.iter().for_each(|gone| counted.add(gone));
        }
    }
    let broken = sealed.into_iter().filter_map(|SealedRun { version, run, record }| {
        let SealTally { sealing, count } = runs.remove(&run.id).unwrap_or_default();
        let message = format!(
            "version {version} was sealed over {} captures, and the {count} that are here are not those",
            run.captures
        );
        (count != run.captures || sealing.finish() != run.seal).then_some((record, message))
    });
    Ok(broken.collect())
}
