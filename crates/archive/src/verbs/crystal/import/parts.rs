//! Writes resources and revisions in parts of bounded size.

use serde::Serialize;
use varve_core::{RecordId, RunId};
use varve_crystal::Resource;

use super::super::fact::{MEDIA_TYPE, PartFact, RevisionRow};
use crate::error::ArchiveError;
use varve_repository::history::ArchiveHistoryWriter;

/// Maximum number of rows in a part.
const MAX_BATCH_ROWS: usize = 2000;
/// Approximate maximum number of bytes of text in a part.
const MAX_BATCH_BYTES: usize = 1 << 20;

/// The parts written so far, and the one being filled.
pub(super) struct FactParts<'a> {
    history: &'a ArchiveHistoryWriter,
    part: PartFact,
    bytes: usize,
    written: Vec<RecordId>,
}

impl<'a> FactParts<'a> {
    pub(super) fn new(history: &'a ArchiveHistoryWriter, run: RunId) -> Self {
        let part = PartFact { run, resources: Vec::new(), revisions: Vec::new() };
        Self { history, part, bytes: 0, written: Vec::new() }
    }

    pub(super) fn resource(&mut self, resource: Resource) -> Result<(), ArchiveError> {
        self.bytes += resource.url.len();
        self.part.resources.push((resource.id.get(), resource.url));
        self.write_if_full()
    }

    pub(super) fn revision(&mut self, row: RevisionRow) -> Result<(), ArchiveError> {
        self.bytes += row.error.len() + row.metadata.len() + row.cookie.as_ref().map_or(0, String::len);
        self.part.revisions.push(row);
        self.write_if_full()
    }

    /// Writes the last part and returns the records of all parts.
    pub(super) fn finish(mut self) -> Result<Vec<RecordId>, ArchiveError> {
        self.write()?;
        Ok(self.written)
    }

    fn write_if_full(&mut self) -> Result<(), ArchiveError> {
        let rows = self.part.resources.len() + self.part.revisions.len();
        if rows >= MAX_BATCH_ROWS || self.bytes >= MAX_BATCH_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), ArchiveError> {
        if !self.part.resources.is_empty() || !self.part.revisions.is_empty() {
            self.written.push(keep(self.history, self.part.run, &self.part)?);
        }
        self.part.resources.clear();
        self.part.revisions.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Stores a fact about a run.
pub(super) fn keep(
    history: &ArchiveHistoryWriter,
    run: RunId,
    fact: &impl Serialize,
) -> Result<RecordId, ArchiveError> {
    let json = serde_json::to_vec(fact).expect("rows can be written as JSON");
    Ok(history.write_fact(&format!("urn:uuid:{run}"), MEDIA_TYPE, &json)?)
}
