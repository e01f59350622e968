//! Writes a version: its manifest as a fact, then its rows. The caller moves HEAD.

use std::collections::BTreeMap;

use uuid::Uuid;
use varve_catalog::CatalogRow;
use varve_core::fact::{Manifest, media_type};
use varve_core::history::StoredDiff;
use varve_core::{Moment, RecordId, VersionId};

use super::{CapturePair, CapturePairs, HistoryWriter, VersionPages, manifest_with_list, whole_stored_diff};
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

/// Writes a version and its rows. `manifest` holds all its pages. HEAD is left for the caller to
/// move.
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
    let (written, list) = match history {
        HistoryWriter::Archive(archive) => manifest_with_list(archive, manifest)?,
        HistoryWriter::Moku(_) => (manifest.clone(), None),
    };
    let json = serde_json::to_vec(&written).expect("a manifest can be written as JSON");
    let version = Manifest::version_id(&json);
    // A record in a silo is found only after complete ones, so one sync covers the bodies and the
    // manifest.
    let record = history.write_fact(&format!("urn:uuid:{version}"), media_type::VERSION, &json)?;
    let mut rows = rows_of_version(version, record, manifest, &manifest.pages);
    rows.extend(list);
    let wanted = manifest.parent.filter(|_| history.keeps_diffs());
    let diff = match wanted {
        Some(parent) => diff_row(history, (parent, version), pairs, manifest.time)?,
        None => None,
    };
    let lacks_diff = wanted.is_some() && diff.is_none();
    rows.extend(diff);
    // In a layout without facts the rows are everything: without them nothing was stored.
    history.enter_version(rows, &version).map_err(|source| match record {
        Some(_) => half_entered_error(version, source),
        None => source,
    })?;
    Ok((version, lacks_diff))
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

/// Pairs the pages of the parent with those of a version that has no rows and no id yet: the captures
/// of the latter have the nil id as their version.
pub fn pairs_with_parent<'a>(history: &'a HistoryWriter, manifest: &Manifest) -> CapturePairs<'a> {
    let (catalog, version) = (history.catalog(), VersionId::new(Uuid::nil()));
    let head = manifest.pages.iter().map(|page| capture_of(version, page)).collect();
    CapturePairs::between(VersionPages::new(catalog, manifest.parent), VersionPages::listed(catalog, head))
}
