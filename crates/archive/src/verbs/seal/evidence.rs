//! The proof file: what shows, without the archive, that versions are in a sealed log.
//!
//! It has the manifests of the versions, their inclusion proofs, a signed checkpoint with its
//! timestamps, and consistency proofs from earlier checkpoints. Each part can be checked with any
//! program for RFC 6962 and signed notes; `docs/evidence.md` shows how.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use varve_core::fact::{ChangesRecord, Manifest, RunSummary};
use varve_core::{ManifestDigest, RecordId, VersionId};
use varve_repository::sealed_log::{LogFinding, LogFindingKind, log_entry};
use varve_store::record::parse_id;
use varve_tlog::{
    LogError, NoteVerifier, TreeCheckpoint, TreeHash, VerifiedTimestamp, decode_base64, hash_leaf,
    verify_consistency, verify_inclusion, verify_timestamp,
};
use varve_warc::digest::Digest;
use varve_warc::write::RecordUri;

/// Maximum length of a proof file.
pub const MAX_EVIDENCE_BYTES: u64 = 256 << 20;
/// The name of the format.
const EVIDENCE_FORMAT: &str = "varve-proof";
/// The number of the format.
const EVIDENCE_FORMAT_NUMBER: u32 = 1;
/// Maximum number of hashes of a proof: the height of the largest log, and some.
const MAX_PROOF_HASHES: usize = 64;

/// A proof file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEvidence {
    /// `varve-proof`.
    pub format: String,
    /// The number of the format, 1.
    pub number: u32,
    /// The signed checkpoint.
    pub checkpoint: String,
    /// The public keys of its signatures. Whom they belong to is not proven here.
    pub keys: Vec<String>,
    /// RFC 3161 answers for the checkpoint, in base64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timestamps: Vec<String>,
    /// The versions.
    pub versions: Vec<VersionEvidence>,
    /// Proofs that the checkpoint continues earlier ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consistency: Vec<ConsistencyEvidence>,
}

/// A version in a proof file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionEvidence {
    /// The version.
    pub version: VersionId,
    /// The number of its leaf.
    pub leaf: u64,
    /// Its manifest, byte for byte.
    pub manifest: String,
    /// The inclusion proof, from the leaf to the root.
    pub inclusion: Vec<String>,
    /// The further records with changes that the manifest names, byte for byte.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The records of the captures of its run, sorted, as the manifest seals them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordId>,
}

/// A consistency proof in a proof file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsistencyEvidence {
    /// The signed earlier checkpoint.
    pub checkpoint: String,
    /// The proof.
    pub proof: Vec<String>,
}

/// A file is no proof file.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// It is not JSON of this form.
    #[error("it is no proof of varve")]
    Json(#[source] serde_json::Error),
    /// It is a WARC file without a proof.
    #[error("no record has a proof")]
    Absent,
    /// It is of another format or number.
    #[error("it has the format `{format}` {number}, and this varve reads `varve-proof` 1")]
    Format {
        /// The name of its format.
        format: String,
        /// The number.
        number: u32,
    },
    /// Its checkpoint cannot be read.
    #[error("its checkpoint cannot be used: {0}")]
    Checkpoint(LogError),
}

impl LogEvidence {
    /// A proof with this checkpoint.
    pub fn new(checkpoint: String, keys: Vec<String>) -> Self {
        let format = EVIDENCE_FORMAT.to_owned();
        let (timestamps, versions, consistency) = Default::default();
        Self { format, number: EVIDENCE_FORMAT_NUMBER, checkpoint, keys, timestamps, versions, consistency }
    }

    /// Parses a proof file.
    pub fn parse(bytes: &[u8]) -> Result<Self, EvidenceError> {
        let evidence: Self = serde_json::from_slice(bytes).map_err(EvidenceError::Json)?;
        if evidence.format != EVIDENCE_FORMAT || evidence.number != EVIDENCE_FORMAT_NUMBER {
            return Err(EvidenceError::Format { format: evidence.format, number: evidence.number });
        }
        Ok(evidence)
    }

    /// Checks everything in it. Returns the timestamps that hold.
    pub fn check(
        &self,
        trusted: Option<&NoteVerifier>,
        older: Option<&str>,
        found: &mut dyn FnMut(LogFinding),
    ) -> Result<Vec<VerifiedTimestamp>, EvidenceError> {
        let (note, checkpoint) =
            TreeCheckpoint::of_note(self.checkpoint.as_bytes()).map_err(EvidenceError::Checkpoint)?;
        let own: Vec<_> = self.keys.iter().map(|key| NoteVerifier::parse(key)).collect();
        if own.is_empty() && trusted.is_none() {
            found(LogFinding::new(
                LogFindingKind::Signature,
                "the proof has no public key, and none was given",
            ));
        }
        for key in own.into_iter().chain(trusted.cloned().map(Ok)) {
            if let Err(error) = key.and_then(|key| note.verify(&key)) {
                found(LogFinding::new(LogFindingKind::Signature, format!("the checkpoint: {error}")));
            }
        }
        for version in &self.versions {
            if let Err(message) = version.check(&checkpoint) {
                found(LogFinding::new(
                    LogFindingKind::Leaves,
                    format!("version {}: {message}", version.version),
                ));
            }
        }
        for earlier in &self.consistency {
            if let Err(error) = earlier.check(&checkpoint) {
                found(LogFinding::new(LogFindingKind::Checkpoint, format!("a consistency proof: {error}")));
            }
        }
        if let Some(older) = older {
            self.check_against(older, &checkpoint, trusted, found);
        }
        Ok(self.check_timestamps(found))
    }

    /// Checks that the checkpoint continues one that the caller has from elsewhere.
    fn check_against(
        &self,
        older: &str,
        checkpoint: &TreeCheckpoint,
        trusted: Option<&NoteVerifier>,
        found: &mut dyn FnMut(LogFinding),
    ) {
        let mut wrong = |kind, message: String| found(LogFinding::new(kind, message));
        let (note, old) = match TreeCheckpoint::of_note(older.as_bytes()) {
            Ok(parsed) => parsed,
            Err(error) => return wrong(LogFindingKind::Checkpoint, format!("the given checkpoint: {error}")),
        };
        if let Some(Err(error)) = trusted.map(|key| note.verify(key)) {
            wrong(LogFindingKind::Signature, format!("the given checkpoint: {error}"));
        }
        if old.origin != checkpoint.origin {
            let message =
                format!("the given checkpoint is of `{}`, the proof of `{}`", old.origin, checkpoint.origin);
            return wrong(LogFindingKind::Checkpoint, message);
        }
        let same = |earlier: &&ConsistencyEvidence| {
            let parsed = TreeCheckpoint::of_note(earlier.checkpoint.as_bytes());
            parsed.is_ok_and(|(_, parsed)| parsed.size == old.size)
        };
        let proof = self.consistency.iter().find(same).map(|earlier| parse_hashes(&earlier.proof));
        let checked = match proof {
            _ if old.size == checkpoint.size => verify_consistency(ends(&old), ends(checkpoint), &[]),
            Some(proof) => proof.and_then(|proof| verify_consistency(ends(&old), ends(checkpoint), &proof)),
            None => {
                let message = format!(
                    "the file has no consistency proof from {} leaves to {}, so the two checkpoints cannot be compared",
                    old.size, checkpoint.size
                );
                return wrong(LogFindingKind::Checkpoint, message);
            }
        };
        if let Err(error) = checked {
            wrong(
                LogFindingKind::Checkpoint,
                format!("the log does not continue the given checkpoint: {error}"),
            );
        }
    }

    /// The records that the versions of a proof seal: captures of their runs and committed pages. Valid if
    /// the proof is.
    pub fn sealed_records(&self) -> HashSet<RecordId> {
        let mut records = HashSet::new();
        for version in &self.versions {
            records.extend(&version.records);
            let inline = serde_json::from_str(&version.manifest).map(|manifest: Manifest| manifest.inline);
            let more = version.changes.iter().map(|json| serde_json::from_str(json));
            let more = more.map(|parsed| parsed.map(|part: ChangesRecord| part.changes));
            for changes in std::iter::once(inline).chain(more).flatten() {
                let pages = changes.pages.iter();
                records.extend(pages.map(|page| page.record.unwrap_or(RecordId::of_body(page.body))));
            }
        }
        records
    }

    fn check_timestamps(&self, found: &mut dyn FnMut(LogFinding)) -> Vec<VerifiedTimestamp> {
        let mut verified = Vec::new();
        for answer in &self.timestamps {
            let answer = decode_base64(answer).ok_or(LogError::Timestamp("the timestamp is not base64"));
            match answer.and_then(|answer| verify_timestamp(&answer, self.checkpoint.as_bytes())) {
                Ok(timestamp) => verified.push(timestamp),
                Err(error) => found(LogFinding::new(LogFindingKind::Timestamp, error.to_string())),
            }
        }
        verified
    }
}

impl VersionEvidence {
    /// Checks that the manifest is that of the version and in the log, and seals the records.
    fn check(&self, checkpoint: &TreeCheckpoint) -> Result<(), String> {
        let digest: ManifestDigest = Manifest::digest(self.manifest.as_bytes());
        if digest.version() != self.version {
            return Err(format!("its manifest is that of version {}", digest.version()));
        }
        let path = parse_hashes(&self.inclusion).map_err(|error| error.to_string())?;
        verify_inclusion(hash_leaf(log_entry(&digest)), self.leaf, ends(checkpoint), &path)
            .map_err(|error| error.to_string())?;
        let manifest: Manifest = serde_json::from_str(&self.manifest).map_err(|error| error.to_string())?;
        if !self.changes.is_empty() {
            let ids: Vec<RecordId> = self.changes.iter().filter_map(|json| changes_record(json)).collect();
            if ids != manifest.changes {
                return Err("its changes are not those that its manifest names".to_owned());
            }
        }
        match manifest.run {
            Some(run)
                if !self.records.is_empty() && RunSummary::seal_of(self.records.clone()) != run.seal =>
            {
                Err("the records of its run are not those that its manifest seals".to_owned())
            }
            None if !self.records.is_empty() => {
                Err("it has records, and its manifest names no run".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl ConsistencyEvidence {
    fn check(&self, checkpoint: &TreeCheckpoint) -> Result<(), LogError> {
        let (_, old) = TreeCheckpoint::of_note(self.checkpoint.as_bytes())?;
        verify_consistency(ends(&old), ends(checkpoint), &parse_hashes(&self.proof)?)
    }
}

/// The id of the record with these changes, which is about nothing but itself.
fn changes_record(json: &str) -> Option<RecordId> {
    let about = format!("urn:uuid:{}", Manifest::version_id(json.as_bytes()));
    let content = Digest::of_sha256(Manifest::digest(json.as_bytes()).as_bytes());
    parse_id(RecordUri::of_metadata(&about, &content).as_str().as_bytes())
}

fn ends(checkpoint: &TreeCheckpoint) -> (u64, TreeHash) {
    (checkpoint.size, checkpoint.root)
}

fn parse_hashes(hashes: &[String]) -> Result<Vec<TreeHash>, LogError> {
    if hashes.len() > MAX_PROOF_HASHES {
        return Err(LogError::Proof("the proof has too many hashes"));
    }
    let parsed = hashes.iter().map(|hash| TreeHash::parse(hash));
    parsed.collect::<Option<_>>().ok_or(LogError::Proof("a hash of the proof is not 32 bytes in base64"))
}
