//! The facts that an archive stores about a project besides its responses: every row, so that the
//! project can be restored.
//!
//! One fact holds the small tables: properties, roots, groups, aliases. Resources and revisions are
//! in parts of bounded size, which it lists. The texts of a revision are stored byte for byte. Its
//! body is in the response that the row names. The fact is the plan of the version made by the
//! import.

use serde::{Deserialize, Serialize};
use varve_core::{RecordId, RunId};
use varve_crystal::{ProjectAlias, ResourceGroup, RootResource};

/// The media type of both kinds of facts.
pub(super) const MEDIA_TYPE: &str = "application/vnd.varve.crystal+json";

/// A project without its resources and revisions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ProjectFact {
    /// The run of its revisions.
    pub(super) run: Option<RunId>,
    /// Its name, without the suffix.
    pub(super) name: String,
    pub(super) major_version: u8,
    pub(super) properties: Vec<(String, Option<String>)>,
    pub(super) roots: Vec<RootResource>,
    pub(super) groups: Vec<ResourceGroup>,
    pub(super) aliases: Vec<ProjectAlias>,
    /// The records of its resources and revisions.
    pub(super) parts: Vec<RecordId>,
}

/// Some of its resources and revisions.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PartFact {
    pub(super) run: RunId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) resources: Vec<(i64, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) revisions: Vec<RevisionRow>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RevisionRow {
    pub(super) id: i64,
    pub(super) resource: i64,
    pub(super) error: String,
    pub(super) metadata: String,
    /// The length of its body in bytes; `None` if it has none.
    pub(super) length: Option<u64>,
    /// The response whose payload is its body; `None` if the body is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) record: Option<RecordId>,
    /// The cookie that was sent, encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cookie: Option<String>,
}
