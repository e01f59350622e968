//! Restores an imported project from its stored facts.

use varve_core::RunId;
use varve_crystal::{
    BodyDraft, DownloadOutcome, NewRevision, ProjectWriter, Resource, ResourceId, RevisionId, property_name,
};
use varve_repository::RepositoryError;

use super::super::fact::{PartFact, ProjectFact, RevisionRow};
use super::super::seal::Seal;
use super::{ProjectExported, ROWS_PER_BATCH, body_from, is_refusal, read_json};
use crate::error::ArchiveError;
use varve_repository::archive::hex_digits;
use varve_repository::history::ArchiveHistoryReader;

/// Fills an empty project with the contents of the fact and its parts.
pub(super) fn restore(
    history: &ArchiveHistoryReader,
    fact: &ProjectFact,
    writer: &mut ProjectWriter,
    progress: &dyn Fn(u64),
) -> Result<ProjectExported, ArchiveError> {
    let layout = history.archive().layout();
    let seal = Seal::open(layout.files(), &layout.secret_key())?;
    let done = ProjectExported { restored: true, ..ProjectExported::default() };
    let mut restoring = Restoring { history, writer, seal, done };
    if fact.major_version != restoring.writer.version().number() {
        restoring.done.leave("layouts other than that of major version 2");
    }
    restoring.properties(fact)?;
    for part in &fact.parts {
        let part: PartFact = read_json(history, *part)?;
        restoring.part(part, progress)?;
    }
    restoring.entities(fact)?;
    Ok(restoring.done)
}

struct Restoring<'a> {
    history: &'a ArchiveHistoryReader,
    writer: &'a mut ProjectWriter,
    seal: Option<Seal>,
    done: ProjectExported,
}

impl Restoring<'_> {
    /// Sets the properties that the project had, and removes those that only new projects have.
    fn properties(&mut self, fact: &ProjectFact) -> Result<(), ArchiveError> {
        let own =
            |name: &str| name == property_name::MAJOR_VERSION || name == property_name::MAJOR_VERSION_OLD;
        let there = self.writer.properties().collect::<Result<Vec<_>, _>>()?;
        for (name, _) in there.iter().filter(|(name, _)| !own(name)) {
            self.writer.restore_property(name, None)?;
        }
        for (name, value) in fact.properties.iter().filter(|(name, _)| !own(name)) {
            match value {
                Some(value) => self.writer.restore_property(name, Some(value))?,
                None => self.done.leave("properties without a value"),
            }
        }
        Ok(())
    }

    fn part(&mut self, part: PartFact, progress: &dyn Fn(u64)) -> Result<(), ArchiveError> {
        self.done.resources += part.resources.len() as u64;
        let resource = |(id, url)| Resource { id: ResourceId(id), url };
        self.writer.restore_resources(part.resources.into_iter().map(resource))?;
        let mut batch = Vec::new();
        for row in part.revisions {
            let revision = self.revision(part.run, row)?;
            batch.extend(revision);
            if batch.len() >= ROWS_PER_BATCH {
                self.writer.add_revisions(batch.drain(..))?;
            }
            progress(1);
        }
        self.writer.add_revisions(batch)?;
        Ok(())
    }

    /// A revision with its body, ready to be written.
    fn revision(&mut self, run: RunId, row: RevisionRow) -> Result<Option<NewRevision>, ArchiveError> {
        if row.id < 1 {
            self.done.leave("revisions with an id that no body can have");
            return Ok(None);
        }
        let request_cookie = row.cookie.as_ref().and_then(|sealed| {
            let opened = self.seal.as_ref().and_then(|seal| seal.unseal(run, row.id, sealed));
            if opened.is_none() {
                self.done.leave("cookies whose key is missing");
            }
            opened
        });
        let body = self.body(&row)?;
        self.done.revisions += 1;
        Ok(Some(NewRevision {
            id: Some(RevisionId(row.id)),
            resource: ResourceId(row.resource),
            request_cookie,
            outcome: DownloadOutcome::Verbatim { error: row.error, metadata: row.metadata, body },
        }))
    }

    fn body(&self, row: &RevisionRow) -> Result<Option<BodyDraft>, ArchiveError> {
        let Some(length) = row.length else { return Ok(None) };
        let Some(record) = row.record else { return Ok(Some(self.writer.begin_body()?)) };
        let payload = self.history.archive().ask(|store| Ok(store.response_payload(&record)?))?;
        let payload = payload.ok_or_else(|| RepositoryError::Absent { id: hex_digits(record) })?;
        let body = body_from(self.writer, payload, record)?;
        if body.length() != length {
            return Err(ArchiveError::BadProjectFact(hex_digits(record)));
        }
        Ok(Some(body))
    }

    fn entities(&mut self, fact: &ProjectFact) -> Result<(), ArchiveError> {
        for root in &fact.roots {
            let restored = self.writer.restore_root(root);
            self.unless_refused(restored, "roots that Crystal would refuse")?;
        }
        for group in &fact.groups {
            let restored = self.writer.restore_group(group);
            self.unless_refused(restored, "groups that Crystal would refuse")?;
        }
        for alias in &fact.aliases {
            let restored = self.writer.restore_alias(alias);
            self.unless_refused(restored, "aliases that Crystal would refuse")?;
        }
        Ok(())
    }

    fn unless_refused(&mut self, done: varve_crystal::Result<()>, what: &str) -> Result<(), ArchiveError> {
        match done {
            Err(error) if is_refusal(&error) => {
                self.done.leave(what);
                Ok(())
            }
            done => Ok(done?),
        }
    }
}
