//! Which of a resource's revisions to show, and which one a 304 stands for.
//!
//! Crystal shows the revision with the highest id even if it records an error, which hides every
//! older good one. [`CaptureChoice::NewestGood`] skips errors and truncated responses. A 304 is a
//! revision of its own with an empty body: it stands for the older revision with its ETag.

use varve_core::history::CaptureChoice;

use super::Project;
use crate::error::Result;
use crate::ids::{ResourceId, RevisionId};
use crate::revision::ResponseMetadata;
use crate::rows::Revision;

const NOT_MODIFIED: i64 = 304;
/// Headers of a 304 that replace those of the older response.
const UPDATED_HEADERS: [&str; 6] = ["cache-control", "content-location", "date", "etag", "expires", "vary"];
/// ETags in one `If-None-Match` header.
const MAX_ETAGS: usize = 100;

/// The revision whose body and headers are shown for a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRevision {
    /// The revision whose body is meant: an older one, if the given one says that nothing changed.
    pub revision: Revision,
    /// Its status and headers, renewed by those of the given one.
    pub metadata: Option<ResponseMetadata>,
}

impl Project {
    /// The revision to show for a resource, if it has any.
    pub fn default_revision(&self, resource: ResourceId, choice: CaptureChoice) -> Result<Option<Revision>> {
        self.default_revision_at(resource, RevisionId(i64::MAX), choice)
    }

    /// The revision to show for a resource when `newest` was the newest of all.
    pub fn default_revision_at(
        &self,
        resource: ResourceId,
        newest: RevisionId,
        choice: CaptureChoice,
    ) -> Result<Option<Revision>> {
        if choice == CaptureChoice::Newest {
            return self.revision_of_at(resource, newest);
        }
        choice.choose(self.revisions_of_down_from(resource, newest), |revision| self.is_good(revision))
    }

    /// Whether a revision's body is shorter than its `Content-Length`, because the server closed
    /// the connection early. Crystal records such a response like any other.
    pub fn is_cut_short(&self, revision: &Revision) -> Result<bool> {
        let promised = revision.metadata().ok().flatten().and_then(|metadata| metadata.promised_length());
        let Some(promised) = promised.filter(|_| revision.has_body()) else { return Ok(false) };
        Ok(self.body_length(revision.id)?.is_some_and(|length| length < promised))
    }

    fn is_good(&self, revision: &Revision) -> Result<bool> {
        let status = match revision.metadata() {
            Ok(metadata) => metadata.map_or(200, |metadata| metadata.status_code),
            Err(_) => return Ok(false),
        };
        let is_whole = revision.has_body()
            && self.body_length(revision.id)?.is_some()
            && !self.is_cut_short(revision)?;
        Ok(CaptureChoice::is_good(status, is_whole))
    }
}

impl Project {
    /// The revision whose body is meant: for a 304, the older revision with its ETag, if there is
    /// one. Metadata that cannot be read counts as none.
    pub fn resolve(&self, revision: Revision) -> Result<ResolvedRevision> {
        let metadata = revision.metadata().ok().flatten();
        let Some((answer, tag)) = metadata.as_ref().and_then(not_modified) else {
            return Ok(ResolvedRevision { revision, metadata });
        };
        for older in self.revisions_of(revision.resource) {
            let older = older?;
            if let Some(found) = older.metadata().ok().flatten()
                && found.status_code != NOT_MODIFIED
                && found.header("ETag") == Some(tag)
            {
                return Ok(ResolvedRevision { revision: older, metadata: Some(renewed(found, answer)) });
            }
        }
        Ok(ResolvedRevision { revision, metadata })
    }

    /// The `If-None-Match` header for a resource: every ETag that it had, or nothing if it had
    /// none.
    pub fn if_none_match(&self, resource: ResourceId) -> Result<Option<String>> {
        let mut tags: Vec<String> = Vec::new();
        for revision in self.revisions_of(resource) {
            let metadata = revision?.metadata().ok().flatten();
            let Some(metadata) = metadata.filter(|metadata| metadata.status_code != NOT_MODIFIED) else {
                continue;
            };
            if let Some(tag) = metadata.header("ETag")
                && !tags.iter().any(|known| known == tag)
            {
                tags.push(tag.to_owned());
            }
            if tags.len() == MAX_ETAGS {
                break;
            }
        }
        tags.reverse();
        Ok(Some(tags.join(", ")).filter(|_| !tags.is_empty()))
    }
}

fn not_modified(metadata: &ResponseMetadata) -> Option<(&ResponseMetadata, &str)> {
    let tag = metadata.header("ETag")?;
    (metadata.status_code == NOT_MODIFIED).then_some((metadata, tag))
}

/// The older answer with the headers that the newer one renews, at the end as Crystal puts them.
fn renewed(mut older: ResponseMetadata, answer: &ResponseMetadata) -> ResponseMetadata {
    for name in UPDATED_HEADERS {
        if let Some((written, value)) =
            answer.headers.iter().find(|header| header.0.eq_ignore_ascii_case(name))
        {
            older.headers.retain(|header| !header.0.eq_ignore_ascii_case(name));
            older.headers.push((written.clone(), value.clone()));
        }
    }
    older
}
