//! Checks the log of an archive: leaves against versions, checkpoints against leaves, signatures, and
//! timestamps against checkpoints.
//!
//! The content comes from the catalog, or from the silos in an audit. The check is the same.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use varve_catalog::CatalogRead;
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped, Fact, LeavesAdded};
use varve_core::history::ListCursor;
use varve_core::{ManifestDigest, VersionId};
use varve_tlog::{
    CompactRange, NoteVerifier, TreeCheckpoint, TreeHash, VerifiedTimestamp, decode_base64, hash_leaf,
    verify_timestamp,
};

use super::log_entry;
use crate::error::RepositoryError;

/// Number of rows per query.
const ROWS_PER_QUERY: usize = 1_000;

/// The kind of a finding about the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFindingKind {
    /// A leaf has no version, and no tombstone explains that.
    VersionMissing,
    /// A version that was written before a sealed one is no leaf.
    LeafMissing,
    /// Two leaves are one version, or leaves contradict each other.
    Leaves,
    /// A checkpoint does not have the root of the leaves, or is malformed.
    Checkpoint,
    /// A signature is wrong or missing.
    Signature,
    /// A timestamp is not of its checkpoint, or wrong.
    Timestamp,
    /// A file in the folder `seal` is not as the log makes it.
    File,
    /// A record of a file is not in the sealed versions.
    Record,
}

/// A finding about the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogFinding {
    /// Its kind.
    pub kind: LogFindingKind,
    /// The message.
    pub message: String,
}

impl LogFinding {
    /// A finding of this kind.
    pub fn new(kind: LogFindingKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// The versions of an archive.
#[derive(Default)]
pub struct LogVersions {
    /// In the order of writing.
    pub written: Vec<VersionId>,
    /// Those that were removed on purpose.
    pub removed: HashSet<VersionId>,
}

/// The log.
#[derive(Default)]
pub struct LogContent {
    leaves: Vec<ManifestDigest>,
    checkpoints: Vec<CheckpointSigned>,
    timestamps: Vec<CheckpointTimestamped>,
    /// What was wrong when it was read.
    findings: Vec<LogFinding>,
}

impl LogContent {
    /// Reads the log in a catalog.
    pub fn of_catalog(catalog: &dyn CatalogRead) -> Result<Self, RepositoryError> {
        let mut content = Self::default();
        loop {
            let first = content.leaves.len() as u64;
            let leaves = catalog.log_leaves(first, ROWS_PER_QUERY)?;
            let Some((begin, _)) = leaves.first() else { break };
            if *begin != first || leaves.iter().zip(first..).any(|((leaf, _), number)| *leaf != number) {
                content.add_gap(first);
                break;
            }
            content.leaves.extend(leaves.into_iter().map(|(_, manifest)| manifest));
        }
        let mut after = None;
        loop {
            let checkpoints = catalog.log_checkpoints(ListCursor { after, limit: ROWS_PER_QUERY })?;
            let Some(last) = checkpoints.last() else { return Ok(content) };
            after = Some(last.size);
            for signed in checkpoints {
                content.timestamps.extend(catalog.log_timestamps(signed.size)?);
                content.checkpoints.push(signed);
            }
        }
    }

    /// Adds a fact of the silos, if it is about the log.
    pub fn add_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::LogLeaves(added) => self.add_leaves(added),
            Fact::LogCheckpoint(signed) => {
                let known = self.checkpoints.iter().rev().find(|known| known.size == signed.size);
                if known.is_some_and(|known| known.note != signed.note) {
                    let message = format!("there are two checkpoints of {} leaves", signed.size);
                    self.findings.push(LogFinding::new(LogFindingKind::Checkpoint, message));
                } else {
                    self.checkpoints.push((**signed).clone());
                }
            }
            Fact::LogTimestamp(stamped) => self.timestamps.push((**stamped).clone()),
            _ => {}
        }
    }

    fn add_leaves(&mut self, added: &LeavesAdded) {
        let begin = usize::try_from(added.first).unwrap_or(usize::MAX);
        if begin > self.leaves.len() {
            return self.add_gap(self.leaves.len() as u64);
        }
        let (known, new) = added.manifests.split_at((self.leaves.len() - begin).min(added.manifests.len()));
        if known != &self.leaves[begin..begin + known.len()] {
            let message = format!("leaf {begin} and those after it are recorded twice, and differ");
            self.findings.push(LogFinding::new(LogFindingKind::Leaves, message));
        }
        self.leaves.extend_from_slice(new);
    }

    fn add_gap(&mut self, leaf: u64) {
        self.findings
            .push(LogFinding::new(LogFindingKind::Leaves, format!("leaf {leaf} of the log is missing")));
    }

    /// The leaves.
    pub fn leaves(&self) -> &[ManifestDigest] {
        &self.leaves
    }

    /// The signed checkpoints.
    pub fn checkpoints(&self) -> &[CheckpointSigned] {
        &self.checkpoints
    }

    /// The roots of the log at these sizes; a size that the log does not have has none.
    pub fn roots_at(&self, sizes: &HashSet<u64>) -> HashMap<u64, TreeHash> {
        let mut range = CompactRange::default();
        let mut roots = HashMap::new();
        for leaf in &self.leaves {
            range.push(hash_leaf(log_entry(leaf)));
            if sizes.contains(&range.size()) {
                roots.insert(range.size(), range.root());
            }
        }
        roots
    }

    /// Checks everything. Returns the timestamps that hold, with the sizes of their checkpoints.
    pub fn check(
        &self,
        versions: &LogVersions,
        found: &mut dyn FnMut(LogFinding),
    ) -> Vec<(u64, VerifiedTimestamp)> {
        self.findings.iter().cloned().for_each(&mut *found);
        self.check_leaves(versions, found);
        self.check_checkpoints(found);
        self.check_timestamps(found)
    }

    fn check_leaves(&self, versions: &LogVersions, found: &mut dyn FnMut(LogFinding)) {
        let written: HashSet<VersionId> = versions.written.iter().copied().collect();
        let mut sealed = HashSet::new();
        for (leaf, manifest) in self.leaves.iter().enumerate() {
            let version = manifest.version();
            if !sealed.insert(version) {
                let message = format!("leaf {leaf} is version {version}, which is a leaf already");
                found(LogFinding::new(LogFindingKind::Leaves, message));
            }
            if !written.contains(&version) && !versions.removed.contains(&version) {
                let message = format!("leaf {leaf} is version {version}, which is not in this archive");
                found(LogFinding::new(LogFindingKind::VersionMissing, message));
            }
        }
        let last = versions.written.iter().rposition(|version| sealed.contains(version)).unwrap_or(0);
        for version in versions.written[..last].iter().filter(|version| !sealed.contains(*version)) {
            let message =
                format!("version {version} was written before a sealed one, and is no leaf of the log");
            found(LogFinding::new(LogFindingKind::LeafMissing, message));
        }
    }

    fn check_checkpoints(&self, found: &mut dyn FnMut(LogFinding)) {
        let sizes = self.checkpoints.iter().map(|signed| signed.size).collect();
        let roots = self.roots_at(&sizes);
        let mut origin: Option<String> = None;
        for signed in &self.checkpoints {
            let size = signed.size;
            let mut wrong = |kind, what: &str| {
                found(LogFinding::new(kind, format!("the checkpoint of {size} leaves: {what}")));
            };
            let (note, checkpoint) = match TreeCheckpoint::of_note(signed.note.as_bytes()) {
                Ok(parsed) => parsed,
                Err(error) => {
                    wrong(LogFindingKind::Checkpoint, &error.to_string());
                    continue;
                }
            };
            if checkpoint.size != size || roots.get(&size) != Some(&checkpoint.root) {
                wrong(
                    LogFindingKind::Checkpoint,
                    "the leaves of the log are others than those that were sealed",
                );
            }
            if origin.get_or_insert_with(|| checkpoint.origin.clone()) != &checkpoint.origin {
                wrong(LogFindingKind::Checkpoint, "it has another origin than the first");
            }
            if signed.keys.is_empty() {
                wrong(LogFindingKind::Signature, "its public key is not recorded");
            }
            for key in &signed.keys {
                if let Err(error) = NoteVerifier::parse(key).and_then(|key| note.verify(&key)) {
                    wrong(LogFindingKind::Signature, &error.to_string());
                }
            }
        }
    }

    fn check_timestamps(&self, found: &mut dyn FnMut(LogFinding)) -> Vec<(u64, VerifiedTimestamp)> {
        let notes: HashMap<u64, &str> =
            self.checkpoints.iter().map(|signed| (signed.size, signed.note.as_str())).collect();
        let mut verified = Vec::new();
        for stamped in &self.timestamps {
            let size = stamped.size;
            let checked = match (notes.get(&size), decode_base64(&stamped.answer)) {
                (None, _) => Err("there is no such checkpoint".to_owned()),
                (_, None) => Err("the answer of the authority is not base64".to_owned()),
                (Some(note), Some(answer)) => {
                    verify_timestamp(&answer, note.as_bytes()).map_err(|error| error.to_string())
                }
            };
            match checked {
                Ok(timestamp) => verified.push((size, timestamp)),
                Err(what) => {
                    let message = format!("the timestamp of the checkpoint of {size} leaves: {what}");
                    found(LogFinding::new(LogFindingKind::Timestamp, message));
                }
            }
        }
        verified
    }
}
