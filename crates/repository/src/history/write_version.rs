//! Writes a version: its manifest as a fact, then its rows. The caller moves HEAD.

use std::collections::BTreeMap;

use varve_catalog::CatalogRow;
use varve_core::fact::{Manifest, media_type};
use varve_core::history::StoredDiff;
use varve_core::{RecordId, VersionId};

use super::{CapturePairs, HeadMove, HistoryWriter, VersionPages, whole_stored_diff};
use crate::error::RepositoryError;
use crate::rows::{capture_of, each_version_row};

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
    write_with_diff(history, manifest).map(|(version, _)| version)
}

/// Like [`write_version`]. Also returns whether this layout stores a diff with the version and the
/// diff could not be made.
pub fn write_with_diff(
    history: &HistoryWriter,
    manifest: &Manifest,
) -> Result<(VersionId, bool), RepositoryError> {
    let json = serde_json::to_vec(manifest).expect("a manifest can be written as JSON");
    let version = Manifest::version_id(&json);
    // A record in a silo is found only after complete ones, so one sync covers the bodies and the
    // manifest.
    let record = history.write_fact(&format!("urn:uuid:{version}"), media_type::VERSION, &json)?;
    let mut rows = Vec::new();
    let mut find = |record| match history {
        HistoryWriter::Archive(archive) => archive.read_changes(record),
        HistoryWriter::Moku(_) => Ok(None),
    };
    each_version_row((version, record), manifest, &mut find, &mut Vec::new(), &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    let wanted = manifest.parent.filter(|_| history.keeps_diffs());
    let diff = match wanted {
        Some(parent) => diff_row(history, manifest, (parent, version))?,
        None => None,
    };
    let lacks_diff = wanted.is_some() && diff.is_none();
    rows.extend(diff);
    history.intend_head(&version, HeadMove::Commit)?;
    // In a layout without facts the rows are everything: without them nothing was stored.
    history.apply(rows).map_err(|source| match record {
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
    manifest: &Manifest,
    (parent, version): (VersionId, VersionId),
) -> Result<Option<CatalogRow>, RepositoryError> {
    let pairs = pairs_with_parent(history, manifest, version);
    let ends = (parent, version);
    let diff = whole_stored_diff(history.as_reader(), history.redaction(), ends, pairs)?;
    let row =
        |json| CatalogRow::Diff(StoredDiff { base: Some(parent), head: version, json, time: manifest.time });
    Ok(diff.map(|diff| row(diff.to_json())))
}

/// Pairs the pages of the parent with those of a version that has no rows yet.
pub fn pairs_with_parent<'a>(
    history: &'a HistoryWriter,
    manifest: &Manifest,
    version: VersionId,
) -> CapturePairs<'a> {
    let catalog = history.catalog();
    let head = manifest.inline.pages.iter().map(|page| capture_of(version, page)).collect();
    CapturePairs::between(VersionPages::new(catalog, manifest.parent), VersionPages::listed(catalog, head))
}
