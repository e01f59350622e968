//! Asking whether a page changed, and reading the answer that it did not.
//!
//! A 304 is a revision of its own with an empty body. What it stands for is the older revision with its ETag.

use crate::error::Result;
use crate::ids::ResourceId;
use crate::project::Project;
use crate::revision::Metadata;
use crate::rows::Revision;

const NOT_MODIFIED: i64 = 304;
/// The headers of a 304 that replace those of what it stands for.
const RENEWED: [&str; 6] = ["cache-control", "content-location", "date", "etag", "expires", "vary"];
/// More tags than this make no sensible header.
const MOST_TAGS: usize = 100;

/// What a revision stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The revision whose body is meant: an older one, if the given one says that nothing changed.
    pub revision: Revision,
    /// Its status and headers, renewed by those of the given one.
    pub metadata: Option<Metadata>,
}

impl Project {
    /// What a revision stands for. Only a 304 stands for another, if one with its ETag is there; metadata that
    /// cannot be read counts as none.
    pub fn resolve(&self, revision: Revision) -> Result<Resolved> {
        let metadata = revision.metadata().ok().flatten();
        let Some((answer, tag)) = metadata.as_ref().and_then(not_modified) else {
            return Ok(Resolved { revision, metadata });
        };
        for older in self.revisions_of(revision.resource) {
            let older = older?;
            if let Some(found) = older.metadata().ok().flatten()
                && found.status_code != NOT_MODIFIED
                && found.header("ETag") == Some(tag)
            {
                return Ok(Resolved { revision: older, metadata: Some(renewed(found, answer)) });
            }
        }
        Ok(Resolved { revision, metadata })
    }

    /// The `If-None-Match` header for a resource: every ETag that it had, or nothing if it had none.
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
            if tags.len() == MOST_TAGS {
                break;
            }
        }
        tags.reverse();
        Ok(Some(tags.join(", ")).filter(|_| !tags.is_empty()))
    }
}

fn not_modified(metadata: &Metadata) -> Option<(&Metadata, &str)> {
    let tag = metadata.header("ETag")?;
    (metadata.status_code == NOT_MODIFIED).then_some((metadata, tag))
}

/// The older answer with the headers that the newer one renews, at the end as Crystal puts them.
fn renewed(mut older: Metadata, answer: &Metadata) -> Metadata {
    for name in RENEWED {
        if let Some((written, value)) =
            answer.headers.iter().find(|header| header.0.eq_ignore_ascii_case(name))
        {
            older.headers.retain(|header| !header.0.eq_ignore_ascii_case(name));
            older.headers.push((written.clone(), value.clone()));
        }
    }
    older
}
