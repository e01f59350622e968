//! Writes a version: its manifest as a fact, then its rows. The caller moves HEAD.

use std::collections::BTreeMap;

use varve_catalog::CatalogRow;
use varve_core::fact::{Manifest, media_type};
use varve_core::history::StoredDiff;
use varve_core::{RecordId, VersionId};

use super::{CapturePairs, HeadMove, HistoryWriter, VersionPages, manifest_with_list, whole_stored_diff};
use crate::error::RepositoryError;
use crate::rows::{capture_of, rows_of_version};

/// What people want, kept with a version so that it can be brought back.
#[derive(Clone, Debug, Default)]
pub struct KeptIntent {
    /// The plan.
    pub plan: Option<RecordId>,
    /// The files of expectations, by name.
    pub expectations: BTreeMap<String, RecordId>,
}

/// Writes a version down, which has all its pages in `manifest`, and makes its rows. HEAD stays where it is, for the caller
/// to move.
pub fn write_version(history: &dyn HistoryWriter, manifest: &Manifest) -> Result<VersionId, RepositoryError> {
    write_with_diff(history, manifest).map(|(version, _)| version)
}

/// The same; with the version comes whether a diff is kept with it in this layout and could not be made.
pub fn write_with_diff(
    history: &dyn HistoryWriter,
    manifest: &Manifest,
) -> Result<(VersionId, bool), RepositoryError> {
    let (written, list) = manifest_with_list(history, manifest)?;
    let json = serde_json::to_vec(&written).expect("a manifest can be written as JSON");
    let version = Manifest::version_id(&json);
    // In a silo a record is only ever found behind whole ones: one sync is enough for the bodies and what names them.
    let record = history.write_fact(&format!("urn:uuid:{version}"), media_type::VERSION, &json)?;
    let mut rows = rows_of_version(version, record, manifest, &manifest.pages);
    rows.extend(list);
    let wanted = manifest.parent.filter(|_| history.keeps_diffs());
    let diff = match wanted {
        Some(parent) => diff_row(history, manifest, (parent, version))?,
        None => None,
    };
    let lacks_diff = wanted.is_some() && diff.is_none();
    rows.extend(diff);
    history.intend_head(&version, HeadMove::Commit)?;
    // Where there are no facts, rows are all there is, and without them nothing was kept.
    history.apply(rows).map_err(|source| match record {
        Some(_) => half_entered_error(version, source),
        None => source,
    })?;
    Ok((version, lacks_diff))
}

/// The error of a version whose fact is durable and whose rows or HEAD are not.
pub fn half_entered_error(version: VersionId, source: RepositoryError) -> RepositoryError {
    RepositoryError::HalfEntered { version, source: Box::new(source) }
}

/// The diff against the parent; none where a body of it is damaged or not here, which must keep nobody from going on.
fn diff_row(
    history: &dyn HistoryWriter,
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

/// The pages of the parent, and those of a version that no row tells of yet.
pub fn pairs_with_parent<'a>(
    history: &'a dyn HistoryWriter,
    manifest: &Manifest,
    version: VersionId,
) -> CapturePairs<'a> {
    let catalog = history.catalog();
    let head = manifest.pages.iter().map(|page| capture_of(version, page)).collect();
    CapturePairs::between(VersionPages::new(catalog, manifest.parent), VersionPages::listed(catalog, head))
}
