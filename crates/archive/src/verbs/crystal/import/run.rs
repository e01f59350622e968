//! The id of an import: a digest over all imported data, so that the same project gives the same
//! run.

use sha2::{Digest, Sha256};
use varve_core::RunId;
use varve_core::history::uuid_of;
use varve_crystal::{Error, Project, Result};

/// The run id for importing this project. Reads every row and the length of every body.
pub(super) fn run_of(project: &Project) -> Result<RunId> {
    let mut digest = Fingerprint(Sha256::new());
    digest.text("varve import of a Crystal project");
    digest.rows(project.properties(), |digest, (name, value)| {
        digest.text(&name);
        digest.optional(value.as_deref());
    })?;
    digest.rows(project.resources(), |digest, resource| {
        digest.number(resource.id.get());
        digest.text(&resource.url);
    })?;
    // These contain numbers, texts and no secrets, so their debug output identifies them.
    digest.rows(project.roots(), |digest, root| digest.text(&format!("{root:?}")))?;
    digest.rows(project.groups(), |digest, group| digest.text(&format!("{group:?}")))?;
    digest.rows(project.aliases(), |digest, alias| digest.text(&format!("{alias:?}")))?;
    for revision in project.revisions() {
        let Some(revision) = readable(revision)? else { continue };
        digest.number(revision.id.get());
        digest.number(revision.resource.get());
        digest.text(&revision.error);
        digest.text(&revision.metadata);
        digest.number(i64::from(revision.request_cookie.is_some()));
        let length = if revision.has_body() { project.body_length(revision.id)? } else { None };
        digest.number(length.map_or(-1, |length| i64::try_from(length).unwrap_or(i64::MAX)));
    }
    Ok(RunId::new(uuid_of(&digest.0.finalize().into())))
}

struct Fingerprint(Sha256);

impl Fingerprint {
    /// The length prefix separates a text from the next one.
    fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
    }

    fn optional(&mut self, text: Option<&str>) {
        self.number(i64::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn number(&mut self, number: i64) {
        self.0.update(number.to_be_bytes());
    }

    fn rows<T>(&mut self, rows: impl Iterator<Item = Result<T>>, each: impl Fn(&mut Self, T)) -> Result<()> {
        self.text("rows");
        for row in rows {
            if let Some(row) = readable(row)? {
                each(self, row);
            }
        }
        Ok(())
    }
}

fn readable<T>(row: Result<T>) -> Result<Option<T>> {
    match row {
        Ok(row) => Ok(Some(row)),
        Err(Error::Row(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
