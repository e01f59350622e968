//! The facts of the seal: which versions are leaves of the log, its signed checkpoints, and their
//! timestamps.
//!
//! They contain digests and signatures, and nothing of the versions, so that they stay when a version
//! is removed. Decision 088 gives the reasons.

use serde::{Deserialize, Serialize};

use crate::history::uuid_of;
use crate::{ManifestDigest, Moment, VersionId};

/// Versions became leaves of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeavesAdded {
    /// The number of the first of these leaves, from 0.
    pub first: u64,
    /// The manifests of the versions, in the order of writing.
    pub manifests: Vec<ManifestDigest>,
}

/// A checkpoint of the log was signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointSigned {
    /// The number of leaves.
    pub size: u64,
    /// The signed note, with its line feeds.
    pub note: String,
    /// The public keys of its signatures.
    pub keys: Vec<String>,
    /// When it was signed, by the clock of the signer.
    pub time: Moment,
}

/// An authority confirmed when a checkpoint existed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointTimestamped {
    /// The number of leaves of the checkpoint.
    pub size: u64,
    /// The RFC 3161 answer, in base64.
    pub answer: String,
    /// When the answer was stored.
    pub time: Moment,
}

impl ManifestDigest {
    /// The version that the manifest describes.
    pub fn version(&self) -> VersionId {
        VersionId::new(uuid_of(self.as_bytes()))
    }
}
