//! [`HistoryWriter`]: adding to history, in either layout that can be added to.
//!
//! As with [`HistoryReader`], each method says here what every layout does. A writer is also a
//! reader of the same history, which sees what the writer has stored.

use std::ops::Deref;

use varve_catalog::{Catalog, CatalogRow};
use varve_core::{Moment, RecordId, VersionId};

use super::{ArchiveHistoryWriter, BodyWorker, HeadState, HistoryReader, MokuHistoryWriter};
use crate::error::RepositoryError;

/// A layout that history can be added to. Only one process has it open for writing at a time.
pub enum HistoryWriter {
    /// A varve archive.
    Archive(ArchiveHistoryWriter),
    /// A Moku site.
    Moku(MokuHistoryWriter),
}

impl From<&ArchiveHistoryWriter> for HistoryWriter {
    fn from(archive: &ArchiveHistoryWriter) -> Self {
        Self::Archive(archive.clone())
    }
}

impl Deref for HistoryWriter {
    type Target = HistoryReader;

    fn deref(&self) -> &HistoryReader {
        self.as_reader()
    }
}

impl HistoryWriter {
    /// This layout as a reader.
    pub fn as_reader(&self) -> &HistoryReader {
        match self {
            Self::Archive(archive) => archive.as_reader(),
            Self::Moku(site) => site.as_reader(),
        }
    }

    /// The catalog, for adding rows.
    pub fn rows(&self) -> &dyn Catalog {
        match self {
            Self::Archive(archive) => archive.rows(),
            Self::Moku(site) => site.rows(),
        }
    }

    /// The current time.
    pub fn now(&self) -> Moment {
        match self {
            Self::Archive(archive) => archive.now(),
            Self::Moku(site) => site.now(),
        }
    }

    /// The time at the resolution that rows store, which is coarser in some layouts.
    pub fn stored_time(&self, time: Moment) -> Moment {
        match self {
            Self::Archive(_) => time,
            Self::Moku(site) => site.stored_time(time),
        }
    }

    /// Returns a worker that stores bodies. The second argument of the worker is the media type.
    pub fn body_worker(&self) -> BodyWorker<'_> {
        match self {
            Self::Archive(archive) => archive.body_worker(),
            Self::Moku(site) => site.body_worker(),
        }
    }

    /// Writes a fact durably, together with every body stored before it. Returns `None` if the
    /// layout stores facts only as rows.
    pub fn write_fact(
        &self,
        about: &str,
        media_type: &str,
        json: &[u8],
    ) -> Result<Option<RecordId>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.write_fact(about, media_type, json).map(Some),
            Self::Moku(site) => site.sync_bodies().map(|()| None),
        }
    }

    /// Stores rows. Everything the rows are derived from must be durable already.
    pub fn apply(&self, rows: Vec<CatalogRow>) -> Result<(), RepositoryError> {
        match self {
            Self::Archive(archive) => archive.apply(rows),
            Self::Moku(site) => site.apply(rows),
        }
    }

    /// Stores the rows of a new version that HEAD is about to point to. If this process dies before
    /// it moves HEAD, the next writer moves it.
    pub fn enter_version(
        &self,
        rows: &mut dyn Iterator<Item = Result<CatalogRow, RepositoryError>>,
        version: &VersionId,
    ) -> Result<(), RepositoryError> {
        match self {
            // The silos already record the version, and the next writer follows them.
            Self::Archive(archive) => archive.apply_each(rows),
            Self::Moku(site) => site.enter_version(rows.collect::<Result<_, _>>()?, version),
        }
    }

    /// Records that HEAD is about to point to an existing version. If this process dies before it
    /// moves HEAD, the next writer moves it.
    pub fn intend_head(&self, version: &VersionId) -> Result<(), RepositoryError> {
        match self {
            // The silos already record the move, and the next writer follows them.
            Self::Archive(_) => Ok(()),
            Self::Moku(site) => site.intend_head(version),
        }
    }

    /// Clears the intended move of HEAD after the operation failed and its failure was reported.
    pub fn clear_intended_head(&self) -> Result<(), RepositoryError> {
        match self {
            Self::Archive(_) => Ok(()),
            Self::Moku(site) => site.clear_intended_head(),
        }
    }

    /// Moves HEAD from `from`, where the caller found it, to another version. Fails if another
    /// writer has moved it meanwhile, so that the version of that writer does not lose its place.
    pub fn move_head(&self, from: Option<VersionId>, to: VersionId) -> Result<(), RepositoryError> {
        match self {
            Self::Archive(archive) => archive.move_head(from, to),
            Self::Moku(site) => site.move_head(from, to),
        }
    }

    /// Whether each version is stored with its diff against its parent.
    pub fn keeps_diffs(&self) -> bool {
        match self {
            Self::Archive(_) => false,
            Self::Moku(_) => true,
        }
    }

    /// The repair made to HEAD when this writer was opened, if any. HEAD now points where this
    /// value says.
    pub fn repaired_head(&self) -> Option<&HeadState> {
        match self {
            Self::Archive(_) => None,
            Self::Moku(site) => site.repaired_head(),
        }
    }

    /// Runs `work` while no other process can add rows, not even a program that does not know our
    /// lock.
    pub fn exclusively(
        &self,
        work: &mut dyn FnMut() -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError> {
        match self {
            Self::Archive(archive) => archive.exclusively(work),
            Self::Moku(site) => site.exclusively(work),
        }
    }
}
