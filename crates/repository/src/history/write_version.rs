//! Writes a version: its changes and its manifest as facts, then its rows. The caller moves HEAD.
//!
//! A manifest with few changes holds them itself. Otherwise they are in records of their own, which
//! precede the manifest, so that no record is huge and a reader holds one of them at a time.

use std::collections::BTreeMap;

use uuid::Uuid;
use varve_catalog::CatalogRow;
use varve_core::fact::{ChangesRecord, Manifest, StateChanges, media_type};
use varve_core::history::StoredDiff;
use varve_core::{Moment, RecordId, VersionId};

use super::committed_changes::StateChange;
use super::pending_changes::PendingChanges;
use super::{ArchiveHistoryWriter, CapturePair, CapturePairs, HistoryWriter, StatePages, whole_stored_diff};
use crate::error::RepositoryError;
use crate::rows::{capture_of, rows_of_changes, rows_of_version};

/// The user's plan and expectations, stored with a version so that they can be restored.
#[derive(Clone, Debug, Default)]
pub struct KeptIntent {
    /// The plan.
    pub plan: Option<RecordId>,
    /// The files of expectations, by name.
    pub expectations: BTreeMap<String, RecordId>,
}

/// Maximum number of changes in a manifest.
const MAX_INLINE_CHANGES: usize = 500;
/// Maximum number of changes in a record of their own.
const MAX_RECORD_CHANGES: usize = 1_000;

/// Writes a version and its rows. `manifest` holds all that the version says about pages. HEAD is
/// left for the caller to move.
pub fn write_version(history: &HistoryWriter, manifest: &Manifest) -> Result<VersionId, RepositoryError> {
    let pairs = match history.keeps_diffs() {
        true => pairs_with_parent(history, manifest).collect::<Result<_, _>>()?,
        false => Vec::new(),
    };
    write_with_diff(history, manifest, &pairs).map(|(version, _)| version)
}

/// Like [`write_version`]. `pairs` are those of [`pairs_with_parent`] where this layout stores a diff
/// with each version. Also returns whether that diff could not be made.
pub fn write_with_diff(
    history: &HistoryWriter,
    manifest: &Manifest,
    pairs: &[CapturePair],
) -> Result<(VersionId, bool), RepositoryError> {
    if let HistoryWriter::Archive(archive) = history {
        let mut changes = VersionChanges::new(archive, manifest.parent, manifest.time);
        changes.add_all(&manifest.inline)?;
        return Ok((changes.write_version(manifest.clone_without_changes())?, false));
    }
    let json = serde_json::to_vec(manifest).expect("a manifest can be written as JSON");
    let version = Manifest::version_id(&json);
    let record = history.write_fact(&format!("urn:uuid:{version}"), media_type::VERSION, &json)?;
    let wanted = manifest.parent.filter(|_| history.keeps_diffs());
    let diff = match wanted {
        Some(parent) => diff_row(history, (parent, version), pairs, manifest.time)?,
        None => None,
    };
    let lacks_diff = wanted.is_some() && diff.is_none();
    let rows = rows_of_version((version, record), manifest).chain(diff);
    // In a layout without facts the rows are everything: without them nothing was stored.
    history.enter_version(&mut rows.map(Ok), &version)?;
    Ok((version, lacks_diff))
}

/// What a new version of an archive says about pages, written while it is found out.
///
/// Records of their own are written as soon as they are full, before the manifest that names them.
/// The rows are made from the same bytes later, as in a rebuild, so one record is held at a time.
pub struct VersionChanges<'a> {
    archive: &'a ArchiveHistoryWriter,
    parent: Option<VersionId>,
    time: Moment,
    /// What no record says yet.
    next: StateChanges,
    records: Vec<RecordId>,
    pending: PendingChanges<'static>,
}

impl<'a> VersionChanges<'a> {
    /// For a version with this parent and time.
    pub fn new(archive: &'a ArchiveHistoryWriter, parent: Option<VersionId>, time: Moment) -> Self {
        let (next, pending) = Default::default();
        Self { archive, parent, time, next, records: Vec::new(), pending }
    }

    /// Adds a change. Changes of a kind come by path and URL.
    pub fn add(&mut self, change: StateChange) -> Result<(), RepositoryError> {
        match change {
            StateChange::Page(page) => self.next.pages.push(page),
            StateChange::Gone(url) => self.next.gone.push(url),
        }
        let StateChanges { pages, gone, .. } = &self.next;
        if pages.len() >= MAX_RECORD_CHANGES || gone.len() >= MAX_RECORD_CHANGES {
            self.write_records()?;
        }
        Ok(())
    }

    fn add_all(&mut self, changes: &StateChanges) -> Result<(), RepositoryError> {
        self.next = changes.clone();
        if changes.len() > MAX_INLINE_CHANGES { self.write_records() } else { Ok(()) }
    }

    /// Writes all that no record says yet as records.
    fn write_records(&mut self) -> Result<(), RepositoryError> {
        let next = std::mem::take(&mut self.next);
        for changes in parts_of(&next, MAX_RECORD_CHANGES) {
            let part = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
            let record = ChangesRecord { parent: self.parent, time: self.time, part, changes };
            let json = serde_json::to_vec(&record).expect("changes can be written as JSON");
            // The record is about nothing but itself.
            let about = format!("urn:uuid:{}", Manifest::version_id(&json));
            let (record, _) = self.archive.append_fact(&about, media_type::CHANGES, &json)?;
            self.pending.add(record, &json)?;
            self.records.push(record);
        }
        Ok(())
    }

    /// Writes the version and its rows. `manifest` says the rest about it.
    pub fn write_version(mut self, manifest: Manifest) -> Result<VersionId, RepositoryError> {
        if !self.records.is_empty() || self.next.len() > MAX_INLINE_CHANGES {
            self.write_records()?;
        }
        let Self { archive, next, records, mut pending, .. } = self;
        let manifest = Manifest { inline: next, changes: records, ..manifest };
        let json = serde_json::to_vec(&manifest).expect("a manifest can be written as JSON");
        let version = Manifest::version_id(&json);
        // A record in a silo is found only after complete ones, so one sync covers the bodies, the
        // changes and the manifest.
        let record = archive.write_fact(&format!("urn:uuid:{version}"), media_type::VERSION, &json)?;
        let of_records = manifest.changes.iter().flat_map(|record| match pending.take(*record) {
            Ok(changes) => {
                let changes = changes.unwrap_or_default();
                rows_of_changes(version, manifest.time, &changes).map(Ok).collect()
            }
            Err(error) => vec![Err(error)],
        });
        let rows = rows_of_version((version, Some(record)), &manifest).map(Ok);
        let entered = archive.apply_each(&mut rows.chain(of_records));
        entered.map_err(|source| half_entered_error(version, source))?;
        Ok(version)
    }
}

/// Changes in parts of at most `most` entries.
pub fn parts_of(changes: &StateChanges, most: usize) -> impl Iterator<Item = StateChanges> + '_ {
    let pages = changes.pages.chunks(most);
    let gone = changes.gone.chunks(most);
    let unreachable = changes.unreachable.chunks(most);
    let empty = StateChanges::default;
    pages
        .map(move |pages| StateChanges { pages: pages.to_vec(), ..empty() })
        .chain(gone.map(move |gone| StateChanges { gone: gone.to_vec(), ..empty() }))
        .chain(unreachable.map(move |failed| StateChanges { unreachable: failed.to_vec(), ..empty() }))
}

/// The error for a version whose fact is durable, but whose rows or HEAD are not.
pub fn half_entered_error(version: VersionId, source: RepositoryError) -> RepositoryError {
    RepositoryError::HalfEntered { version, source: Box::new(source) }
}

/// The diff against the parent. `None` if one of its bodies is damaged or missing, which must not
/// block the commit.
fn diff_row(
    history: &HistoryWriter,
    (parent, version): (VersionId, VersionId),
    pairs: &[CapturePair],
    time: Moment,
) -> Result<Option<CatalogRow>, RepositoryError> {
    let (ends, pairs) = ((parent, version), pairs.iter().map(Ok));
    let diff = whole_stored_diff(history.as_reader(), history.redaction(), ends, pairs)?;
    let row = |json| CatalogRow::Diff(StoredDiff { base: Some(parent), head: version, json, time });
    Ok(diff.map(|diff| row(diff.to_json())))
}

/// Pairs the pages of the parent with those of a version that lists all its pages and has no rows and
/// no id yet: the captures of the latter have the nil id as their version.
pub fn pairs_with_parent<'a>(history: &'a HistoryWriter, manifest: &Manifest) -> CapturePairs<'a> {
    let (catalog, version) = (history.catalog(), VersionId::new(Uuid::nil()));
    let head = manifest.inline.pages.iter().map(|page| capture_of(version, page)).collect();
    let head = StatePages::listed_captures(catalog, version, head);
    let hosts = history.as_reader().host_pairing();
    CapturePairs::between(StatePages::new(catalog, manifest.parent), head).with_hosts(hosts)
}
