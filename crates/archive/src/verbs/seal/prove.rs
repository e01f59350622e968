//! Takes the proofs of versions from the log.

use varve_core::fact::{CheckpointSigned, Manifest};
use varve_core::history::ListCursor;
use varve_core::{RecordId, RunId, VersionId};
use varve_repository::RepositoryError;
use varve_repository::history::{ArchiveHistoryReader, HistoryReader};
use varve_repository::sealed_log::LogFiles;
use varve_tlog::{TileTree, TreeCheckpoint, TreeHash};

use super::evidence::{ConsistencyEvidence, LogEvidence, VersionEvidence};
use super::{manifest_bytes, read_fact};
use crate::error::ArchiveError;

/// Maximum number of earlier checkpoints that a proof continues: the newest ones.
const MAX_CONSISTENCY_PROOFS: usize = 1_000;
/// Number of tombstones per query.
const REMOVALS_PER_QUERY: usize = 1_000;

/// The proof of some versions, in the newest checkpoint. The tiles of the log are read from its files,
/// and verified against the checkpoint.
pub fn prove_versions(history: &HistoryReader, versions: &[VersionId]) -> Result<LogEvidence, ArchiveError> {
    let HistoryReader::Archive(archive) = history else { return Err(ArchiveError::NothingSealed) };
    let signed = history.catalog().last_log_checkpoint()?.ok_or(ArchiveError::NothingSealed)?;
    prove(archive, &signed, versions)
}

/// The proof of some versions in a checkpoint.
pub fn prove(
    archive: &ArchiveHistoryReader,
    signed: &CheckpointSigned,
    versions: &[VersionId],
) -> Result<LogEvidence, ArchiveError> {
    let history = HistoryReader::Archive(archive.clone());
    let files = LogFiles::new(archive.archive().layout());
    let (_, checkpoint) = TreeCheckpoint::of_note(signed.note.as_bytes()).map_err(RepositoryError::from)?;
    let tree = TileTree::new(&files, checkpoint.size).map_err(RepositoryError::from)?;
    if tree.root().map_err(RepositoryError::from)? != checkpoint.root {
        return Err(ArchiveError::LogFilesDiffer);
    }
    let mut evidence = LogEvidence::new(signed.note.clone(), signed.keys.clone());
    let timestamps = history.catalog().log_timestamps(signed.size)?;
    evidence.timestamps = timestamps.into_iter().map(|stamped| stamped.answer).collect();
    for version in versions {
        evidence.versions.push(prove_version(&history, &tree, version)?);
    }
    for earlier in earlier_checkpoints(&history, signed.size)? {
        let proof = tree.consistency_proof(earlier.size, checkpoint.size).map_err(RepositoryError::from)?;
        evidence.consistency.push(ConsistencyEvidence { checkpoint: earlier.note, proof: texts(&proof) });
    }
    Ok(evidence)
}

fn prove_version(
    history: &HistoryReader,
    tree: &TileTree<'_>,
    version: &VersionId,
) -> Result<VersionEvidence, ArchiveError> {
    let leaf = history.catalog().leaf_of_version(version)?.filter(|leaf| *leaf < tree.size());
    let leaf = leaf.ok_or(ArchiveError::NotSealed(*version))?;
    let inclusion = texts(&tree.inclusion_proof(leaf, tree.size()).map_err(RepositoryError::from)?);
    let bytes = manifest_bytes(history, version)?;
    let manifest = String::from_utf8(bytes).map_err(|_| ArchiveError::OtherManifest(*version))?;
    let parsed: Manifest =
        serde_json::from_str(&manifest).map_err(|_| ArchiveError::OtherManifest(*version))?;
    let records = match parsed.run {
        Some(run) => sealed_records(history, run.id)?,
        None => Vec::new(),
    };
    let HistoryReader::Archive(archive) = history else { return Err(ArchiveError::NothingSealed) };
    let texts = parsed.changes.iter().map(|record| read_fact(archive, record).map(String::from_utf8));
    let texts = texts.collect::<Result<Vec<_>, _>>()?.into_iter().collect::<Result<Vec<_>, _>>();
    let changes = texts.map_err(|_| ArchiveError::OtherManifest(*version))?;
    Ok(VersionEvidence { version: *version, leaf, manifest, inclusion, changes, records })
}

/// The records of a run as its manifest seals them: with those that were removed since, and without
/// those that replaced them.
fn sealed_records(history: &HistoryReader, run: RunId) -> Result<Vec<RecordId>, ArchiveError> {
    let mut records = Vec::new();
    history.catalog().each_record_of_run(&run, &mut |record| records.push(record))?;
    let mut after = None;
    loop {
        let removals = history.catalog().removals(ListCursor { after, limit: REMOVALS_PER_QUERY })?;
        let Some(last) = removals.last() else { break };
        after = Some(last.tombstone_record);
        for removal in removals.iter().filter(|removal| removal.tombstone.run_of_capture() == Some(run)) {
            records.retain(|record| Some(*record) != removal.tombstone.replaced_by);
            records.push(removal.tombstone.record);
        }
    }
    records.sort_unstable();
    records.dedup();
    Ok(records)
}

/// The newest checkpoints before this size, oldest first.
fn earlier_checkpoints(history: &HistoryReader, size: u64) -> Result<Vec<CheckpointSigned>, ArchiveError> {
    let mut earlier = std::collections::VecDeque::new();
    let mut after = None;
    loop {
        let cursor = ListCursor { after, limit: MAX_CONSISTENCY_PROOFS };
        let checkpoints = history.catalog().log_checkpoints(cursor)?;
        let Some(end) = checkpoints.last() else { return Ok(earlier.into()) };
        after = Some(end.size);
        for signed in checkpoints.into_iter().filter(|signed| signed.size < size) {
            if earlier.len() == MAX_CONSISTENCY_PROOFS {
                earlier.pop_front();
            }
            earlier.push_back(signed);
        }
    }
}

fn texts(hashes: &[TreeHash]) -> Vec<String> {
    hashes.iter().map(TreeHash::to_string).collect()
}
