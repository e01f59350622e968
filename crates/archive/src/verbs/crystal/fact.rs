//! The facts that an archive stores about a project besides its responses: every row, so that the
//! project can be restored.
//!
//! One fact holds the small tables: properties, roots, groups, aliases. Resources and revisions are
//! in parts of bounded size, which it lists. The texts of a revision are stored byte for byte. Its
//! body is in the response that the row names. The fact is the plan of the version made by the
//! import.

use serde::{Deserialize, Serialize};
use varve_core::{RecordId, RunId};
use varve_crystal::{
    AliasId, GroupId, GroupSource, ProjectAlias, ResourceGroup, ResourceId, RootId, RootResource,
};

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
    pub(super) roots: Vec<RootRow>,
    pub(super) groups: Vec<GroupRow>,
    pub(super) aliases: Vec<AliasRow>,
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

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RootRow {
    id: i64,
    name: String,
    resource: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GroupRow {
    id: i64,
    name: String,
    url_pattern: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_root: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_group: Option<i64>,
    do_not_download: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AliasRow {
    id: i64,
    source: String,
    target: String,
    external: bool,
}

impl From<RootResource> for RootRow {
    fn from(root: RootResource) -> Self {
        Self { id: root.id.get(), name: root.name, resource: root.resource.get() }
    }
}

impl From<&RootRow> for RootResource {
    fn from(row: &RootRow) -> Self {
        Self { id: RootId(row.id), name: row.name.clone(), resource: ResourceId(row.resource) }
    }
}

impl From<ResourceGroup> for GroupRow {
    fn from(group: ResourceGroup) -> Self {
        let (source_root, source_group) = match group.source {
            Some(GroupSource::Root(id)) => (Some(id.get()), None),
            Some(GroupSource::Group(id)) => (None, Some(id.get())),
            None => (None, None),
        };
        Self {
            id: group.id.get(),
            name: group.name,
            url_pattern: group.url_pattern,
            source_root,
            source_group,
            do_not_download: group.do_not_download,
        }
    }
}

impl From<&GroupRow> for ResourceGroup {
    fn from(row: &GroupRow) -> Self {
        let root = row.source_root.map(|id| GroupSource::Root(RootId(id)));
        Self {
            id: GroupId(row.id),
            name: row.name.clone(),
            url_pattern: row.url_pattern.clone(),
            source: root.or(row.source_group.map(|id| GroupSource::Group(GroupId(id)))),
            do_not_download: row.do_not_download,
        }
    }
}

impl From<ProjectAlias> for AliasRow {
    fn from(alias: ProjectAlias) -> Self {
        Self {
            id: alias.id.get(),
            source: alias.source_url_prefix,
            target: alias.target_url_prefix,
            external: alias.target_is_external,
        }
    }
}

impl From<&AliasRow> for ProjectAlias {
    fn from(row: &AliasRow) -> Self {
        Self {
            id: AliasId(row.id),
            source_url_prefix: row.source.clone(),
            target_url_prefix: row.target.clone(),
            target_is_external: row.external,
        }
    }
}
