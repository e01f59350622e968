//! The id of an import: a digest over all imported data, so that the same project gives the same
//! run.

use serde::Serialize;
use sha2::{Digest, Sha256};
use varve_core::RunId;
use varve_core::history::uuid_of;
use varve_crystal::{Project, Resource, Result, Revision};

use super::super::plan::understood;

/// The run id for importing this project. Reads every row and the length of every body.
pub(super) fn run_of(project: &Project) -> Result<RunId> {
    let mut digest = Sha256::new();
    add_rows(&mut digest, "properties", project.properties(), Ok)?;
    let resource = |Resource { id, url }| Ok((id, url));
    add_rows(&mut digest, "resources", project.resources(), resource)?;
    add_rows(&mut digest, "roots", project.roots(), Ok)?;
    add_rows(&mut digest, "groups", project.groups(), Ok)?;
    add_rows(&mut digest, "aliases", project.aliases(), Ok)?;
    add_rows(&mut digest, "revisions", project.revisions(), |revision: Revision| {
        let length = if revision.has_body() { project.body_length(revision.id)? } else { None };
        let has_cookie = revision.request_cookie.is_some();
        Ok((revision.id, revision.resource, revision.error, revision.metadata, has_cookie, length))
    })?;
    Ok(RunId::new(uuid_of(&digest.finalize().into())))
}

/// Adds the rows of a table as lines of JSON, which cannot be mistaken for each other.
fn add_rows<T, V: Serialize>(
    digest: &mut Sha256,
    table: &str,
    rows: impl Iterator<Item = Result<T>>,
    value: impl Fn(T) -> Result<V>,
) -> Result<()> {
    digest.update(format!("{table}\n"));
    for row in understood(rows) {
        digest.update(serde_json::to_vec(&value(row?)?).expect("rows can be written as JSON"));
        digest.update(b"\n");
    }
    Ok(())
}
