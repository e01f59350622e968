//! The fact that a check leaves: its verdicts, and the records that are their evidence.
//!
//! Responses to a check are no captures and belong to no version. Each verdict names the record of
//! the response that decided it, so the evidence is found without a row of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::history::{VerdictCounts, VerdictKind, uuid_of};
use crate::{BodyId, CheckId, Moment, RecordId, RunId};

/// A check: when, why and by whom it was made, and its verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// The run. The records of the responses name it.
    pub run: RunId,
    /// When the check ended.
    pub time: Moment,
    /// The message.
    pub message: String,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The expectation files in force, by name, each stored as an object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expectations: BTreeMap<String, RecordId>,
    /// The verdicts, in the order of the requests.
    pub verdicts: Vec<UrlVerdict>,
}

impl CheckRecord {
    /// The id of the check whose fact has these bytes.
    pub fn check_id(bytes: &[u8]) -> CheckId {
        CheckId::new(uuid_of(&Sha256::digest(bytes).into()))
    }

    /// The number of verdicts of each kind.
    pub fn counts(&self) -> VerdictCounts {
        let mut counts = VerdictCounts::default();
        self.verdicts.iter().for_each(|verdict| counts.add(verdict.verdict));
        counts
    }
}

/// The verdict of a check on one URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UrlVerdict {
    /// The requested URL.
    pub url: String,
    /// The time of the deciding response if there is one, otherwise of the check.
    pub time: Moment,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The status of the last response.
    pub status: Option<u16>,
    /// The details.
    #[serde(flatten)]
    pub detail: VerdictDetail,
}

/// The details of a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerdictDetail {
    /// The expectation in words, if the response differs from it.
    #[serde(default)]
    pub expected: Option<String>,
    /// The observed facts in words.
    #[serde(default)]
    pub got: Option<String>,
    /// What is wrong although the expectation is met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The locations of the redirects that were followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// The response that decided.
    #[serde(default)]
    pub evidence: Option<EvidenceRecord>,
    /// The expectation, in the JSON of the crate that defines it.
    #[serde(default)]
    pub expectation: serde_json::Value,
}

/// A response that a check received, and its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// The record.
    pub record: RecordId,
    /// Its URL, if redirects led to another than the one that was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The time of the request.
    pub time: Moment,
    /// The status.
    pub status: u16,
    /// The body.
    pub body: BodyId,
    /// The length of the body in bytes.
    pub length: u64,
    /// Whether the response is truncated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}
