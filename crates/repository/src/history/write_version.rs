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

use super::{ArchiveHistoryWriter, CapturePair, CapturePairs, HistoryWriter, StatePages, whole_stored_diff};
use crate::error::RepositoryError;
use crate::rows::{capture_of, rows_of_version};

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
    let json = match history {
        HistoryWriter::Archive(archive) if manifest.inline.len() > MAX_INLINE_CHANGES => {
            let written = with_change_records(archive, manifest)?;
            serde_json::to_vec(&written)
        }
        _ => serde_json::to_vec(manifest),
    };
    let json = json.expect("a manifest can be written as JSON");
    let version = Manifest::version_id(&json);
    // A record in a silo is found only after complete ones, so one sync covers the bodies, the
    // changes and the manifest.
    let record = history.write_fact(&format!("urn:uuid:{version}"), media_type::VERSION, &json)?;
    let wanted = manifest.parent.filter(|_| history.keeps_diffs());
    let diff = match wanted {
        Some(parent) => diff_row(history, (parent, version), pairs, manifest.time)?,
        None => None,
    };
    let lacks_diff = wanted.is_some() && diff.is_none();
    let mut rows = rows_of_version((version, record), manifest).chain(diff);
    // In a layout without facts the rows are everything: without them nothing was stored.
    history.enter_version(&mut rows, &version).map_err(|source| match record {
        Some(_) => half_entered_error(version, source),
        None => source,
    })?;
    Ok((version, lacks_diff))
}

/// Writes the changes of a manifest as records of their own. Returns the manifest that names them.
fn with_change_records(
    archive: &ArchiveHistoryWriter,
    manifest: &Manifest,
) -> Result<Manifest, RepositoryError> {
    let mut changes = Vec::new();
    for (part, said) in parts_of(&manifest.inline, MAX_RECORD_CHANGES).enumerate() {
        let record = ChangesRecord {
            parent: manifest.parent,
            time: manifest.time,
            part: u32::try_from(part).unwrap_or(u32::MAX),
            changes: said,
        };
        let json = serde_json::to_vec(&record).expect("changes can be written as JSON");
        // The record is about nothing but itself.
        let about = format!("urn:uuid:{}", Manifest::version_id(&json));
        changes.push(archive.append_fact(&about, media_type::CHANGES, &json)?.0);
    }
    Ok(Manifest { changes, ..manifest.clone_without_changes() })
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
