//! The writing half of the seam: rows, and the trait that stores them.

use crate::fact::{CheckpointSigned, CheckpointTimestamped, LeavesAdded, Tombstone, TombstoneKind};
use crate::history::{
    Capture, KeyedUrl, PageAbsence, StoredCheck, StoredDiff, StoredDomainSettings, StoredExtraction,
    StoredScore, StoredVerdict, Version,
};
use crate::{Moment, RecordId, RunId, VersionId};

use super::error::CatalogResult;
use super::read::CatalogRead;

/// One change to a catalog.
///
/// Rows are applied in the order given. Applying the last rows again, from any one to the end,
/// changes nothing: existing rows stay, and the last value that was set is set again.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogRow {
    /// A version. HEAD points to it. If no other version has named its run, the captures of that
    /// run become its captures, including those that come later.
    Version(Version),
    /// A capture of a run, or of a version that exists or comes in the same batch.
    Capture(Box<Capture>),
    /// A page that a version found gone or unreachable. The version exists or comes in the same
    /// batch.
    Absence(Box<PageAbsence>),
    /// A tag. Without a version, the tag is removed.
    Tag {
        /// Its name.
        name: String,
        /// The version that it points to.
        version: Option<VersionId>,
        /// When it was set or removed.
        time: Moment,
    },
    /// HEAD moves to this version.
    Head(VersionId),
    /// A computed diff between versions that exist.
    Diff(StoredDiff),
    /// A score of a version that exists. It replaces the one with the same scoring version.
    Score(Box<StoredScore>),
    /// A check.
    Check(Box<StoredCheck>),
    /// A verdict of a check. It replaces one on the same URL at the same instant.
    Verdict(StoredVerdict),
    /// A saved extraction. It replaces that of the same canonical URL, and its requested URL leads to
    /// it.
    Extraction(Box<StoredExtraction>),
    /// Removes the extraction of a canonical URL, with the requested URLs that lead to it.
    ForgetExtraction(KeyedUrl),
    /// The settings of a domain. They replace those that it has.
    DomainSettings(Box<StoredDomainSettings>),
    /// Removes the settings of a domain.
    ForgetDomainSettings(String),
    /// Leaves of the log of versions. Those that exist stay.
    LogLeaves(Box<LeavesAdded>),
    /// A signed checkpoint of the log. One that exists with its size stays.
    LogCheckpoint(Box<CheckpointSigned>),
    /// A timestamp of a checkpoint.
    LogTimestamp(Box<CheckpointTimestamped>),
    /// A removal from the silos. A removed page is hidden, with its headers, from the versions that
    /// exist now. The children of a removed version descend from its parent.
    Removal(Box<Removal>),
    /// Removes a version with its captures, diffs, scores and tags. Its children, and HEAD if it
    /// pointed there, move to its parent. Only the retention of a Moku site does this.
    ForgetVersion(VersionId),
    /// Removes the diffs that were computed before this instant.
    ForgetDiffs(Moment),
    /// Everything in the silos before this position has its rows. The catalog does not interpret
    /// the number.
    ScannedUpTo(u64),
    /// The time of a garbage collection. A rebuilt catalog does not have it.
    GcDone(Moment),
    /// Removes a run that has not become a version, with its captures.
    ForgetRun(RunId),
}

/// A removal from the silos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The record that holds the tombstone.
    pub tombstone_record: RecordId,
    /// The tombstone.
    pub tombstone: Tombstone,
}

impl Removal {
    /// The URL of a removed response or committed page that nothing replaces.
    pub fn url_of_capture(&self) -> Option<&str> {
        let Tombstone { kind, url, replaced_by, .. } = &self.tombstone;
        let is_capture =
            matches!(kind, TombstoneKind::Response | TombstoneKind::Revisit | TombstoneKind::Resource);
        url.as_deref().filter(|_| is_capture && replaced_by.is_none())
    }
}

/// Stores rows. One process writes at a time; the process that opens a catalog to write holds the
/// lock of the archive.
pub trait Catalog: CatalogRead {
    /// Stores all rows or none. When it returns, they survive a power cut.
    fn apply(&self, rows: &mut dyn Iterator<Item = CatalogRow>) -> CatalogResult<()>;

    /// Stores rows as [`apply`](Self::apply) does, for silos that have lost records: a score or a
    /// move of HEAD whose version does not exist goes to `left_out`.
    fn apply_leniently(
        &self,
        rows: &mut dyn Iterator<Item = CatalogRow>,
        left_out: &mut dyn FnMut(CatalogRow),
    ) -> CatalogResult<()>;

    /// Runs `work` while no process can add rows. `work` may read this catalog, and must not write
    /// to it.
    fn exclusively(&self, work: &mut dyn FnMut()) -> CatalogResult<()>;

    /// The same catalog, for reading.
    fn as_read(&self) -> &dyn CatalogRead;
}
