//! The seam for writing: rows, and the one way in which they are kept.

use varve_core::fact::Tombstone;
use varve_core::history::{Capture, StoredDiff, StoredScore, StoredVerdict, Version};
use varve_core::{Moment, RecordId, RunId, VersionId};

use crate::error::CatalogError;
use crate::read::CatalogRead;

/// Something to remember. Rows are applied in the order in which they are given. Applying the last rows again, from any
/// one on to the end, changes nothing: what is there already stays, and what was set last is set last again.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogRow {
    /// A version. If it names a run that no other version has named, the captures of that run are its captures from
    /// now on, those to come as well. HEAD points to it.
    Version(Version),
    /// A capture, of a version that is there or comes in the same batch, or of a run.
    Capture(Box<Capture>),
    /// All captures of a version that is there and has no others, each page once. Many of them are nearly always those
    /// of its parent: kept together, what did not change costs next to nothing.
    Pages {
        /// The version.
        version: VersionId,
        /// Its captures.
        captures: Vec<Capture>,
    },
    /// A tag; without a version it is taken away.
    Tag {
        /// Its name.
        name: String,
        /// What it stands for.
        version: Option<VersionId>,
        /// When.
        time: Moment,
    },
    /// HEAD points elsewhere.
    Head(VersionId),
    /// A diff between versions that are there, which can be computed again.
    Diff(StoredDiff),
    /// A score of a version that is there, with its evidence and attributions; it replaces the one of the same scoring version.
    Score(Box<StoredScore>),
    /// A verdict of a check; it replaces one on the same URL at the same instant.
    Verdict(StoredVerdict),
    /// Something that was taken out of the silos. If it is a page, it is out of the versions that are there by now, with the headers that
    /// it was answered with.
    Removal(Box<Removal>),
    /// Forget a version with its captures, diffs, scores and tags; its children descend from its parent, and HEAD goes
    /// there if it pointed to it. Only retention of a Moku site does this.
    ForgetVersion(VersionId),
    /// Forget the diffs that were computed before this instant.
    ForgetDiffs(Moment),
    /// The silos have been read up to this place, which is a number to the catalog: what came before it has its rows.
    Reached(u64),
    /// The list of pages that was written last, which manifests to come may name.
    List(LatestPageList),
    /// gc was done at this instant. That is no history: a catalog that is made again does not know it.
    GcDone(Moment),
    /// Forget a run that has not become a version, with its captures.
    ForgetRun(RunId),
}

/// The list of pages that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatestPageList {
    /// Its record.
    pub record: RecordId,
    /// How many pages the manifests that name it list besides, and leave out, all of them together.
    pub spent: u64,
}

/// What was taken out of the silos, and the record that tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The record that tells of it.
    pub told_by: RecordId,
    /// What it tells.
    pub tombstone: Tombstone,
}

impl Removal {
    /// The URL, if an answer to it is gone and nothing stands in its place.
    pub(crate) fn url_of_answer(&self) -> Option<&str> {
        let Tombstone { kind, url, replaced_by, .. } = &self.tombstone;
        let is_answer = matches!(kind.as_str(), "response" | "revisit") && replaced_by.is_none();
        url.as_deref().filter(|_| is_answer)
    }
}

/// Keeps rows. One process writes at a time, which whoever opens it sees to.
pub trait Catalog: CatalogRead {
    /// Keeps rows, all or none, durably.
    fn apply(&self, rows: &mut dyn Iterator<Item = CatalogRow>) -> Result<(), CatalogError>;

    /// The same catalog, for reading.
    fn as_read(&self) -> &dyn CatalogRead;
}
