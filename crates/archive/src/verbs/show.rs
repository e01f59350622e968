//! `show`: shows one version: what it captured, its state, and how each page changed since its
//! parent. Or one check: its verdicts.

use std::io;

use varve_core::fact::{CheckRecord, Manifest};
use varve_core::{CheckId, VersionId};

use super::log::CheckVerdict;
use crate::error::ArchiveError;
use varve_repository::RepositoryError;
use varve_repository::history::{CapturePairs, HistoryReader, known_version};

pub use varve_core::fact::VersionSource;
pub use varve_core::history::{StateCounts, StoredCheck, VersionInfo};
pub use varve_repository::history::PageChange;

/// A version. If it does not exist, the error says why.
pub fn version(history: &HistoryReader, id: &VersionId) -> Result<VersionInfo, RepositoryError> {
    known_version(history, id)
}

/// The number of pages in its state.
pub fn state(history: &HistoryReader, id: &VersionId) -> Result<StateCounts, RepositoryError> {
    Ok(history.catalog().state_counts(id)?)
}

/// Manifests up to this size are read for the source of a version, in bytes.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// The file that it was imported from, if it was.
pub fn source(history: &HistoryReader, info: &VersionInfo) -> Result<Option<VersionSource>, RepositoryError> {
    let (HistoryReader::Archive(archive), Some(record), Some(_)) =
        (history, info.version.record, info.version.run)
    else {
        return Ok(None);
    };
    let json = archive.read_object(&record, MAX_MANIFEST_BYTES)?;
    Ok(serde_json::from_slice::<Manifest>(&json).ok().and_then(|manifest| manifest.source))
}

/// Its pages paired with those of its parent, in the order of their paths. Unless all are
/// requested, pages known to be unchanged may be left out, and are counted at the end. If little
/// changed, the cost is proportional to the changes.
pub fn pages<'a>(
    history: &'a HistoryReader,
    info: &VersionInfo,
    all: bool,
) -> Result<CapturePairs<'a>, RepositoryError> {
    let (catalog, base, head) = (history.catalog(), info.version.parent, Some(info.version.id));
    let pairs = match all {
        true => CapturePairs::new(catalog, base, head),
        false => CapturePairs::that_differ(catalog, base, head)?,
    };
    Ok(pairs.with_hosts(history.host_pairing()))
}

/// A check. If it does not exist, the error says so.
pub fn check(history: &HistoryReader, id: &CheckId) -> Result<StoredCheck, RepositoryError> {
    history.catalog().check(id)?.ok_or_else(|| RepositoryError::NoCheck { text: id.to_string() })
}

/// Passes on the verdicts of a check, in the order of the requests. They are read from its fact one
/// at a time; damage is an error at the end.
pub fn verdicts<E: From<ArchiveError>>(
    history: &HistoryReader,
    check: &StoredCheck,
    mut each: impl FnMut(CheckVerdict) -> Result<(), E>,
) -> Result<(), E> {
    let HistoryReader::Archive(archive) = history else { return Ok(()) };
    let fact = archive.open_object(&check.record).map_err(ArchiveError::from)?;
    let read = CheckRecord::read_verdicts(fact, |verdict| each(CheckVerdict { check: check.id, verdict }));
    read.unwrap_or_else(|error| {
        let (id, source) = (check.record.to_string(), io::Error::from(error));
        Err(ArchiveError::from(RepositoryError::ReadObject { id, source }).into())
    })
}
