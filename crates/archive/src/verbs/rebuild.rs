//! `rebuild`: makes index, catalog and HEAD again from the silos alone, reading each once.

use std::fs;
use std::path::PathBuf;

use varve_catalog::{Catalog, CatalogRow, SqliteCatalog};
use varve_store::StoreError;
use varve_store::exchange::{ScannedRecord, end_of, scan};
use varve_store::index::IndexOptions;
use varve_store::rebuild::{bytes_to_read as silo_bytes, rebuild as rebuild_store};
use varve_store::steps::step;

use crate::error::ArchiveError;
use varve_repository::archive::{open_silo_files, read_settings};
use varve_repository::archive_paths::ArchivePaths;
use varve_repository::archive_writer::{ArchiveWriter, WriterOptions};
use varve_repository::history::{CatalogFiller, FilledCatalog, catch_up};
use varve_repository::pending_swap::remove;

pub use varve_repository::history::OmittedRow;
pub use varve_store::rebuild::RebuildDone;

/// What a rebuild came to.
#[derive(Debug)]
pub struct Rebuilt {
    /// What it came to with the silos and the index.
    pub index: RebuildDone,
    /// What the silos say and the catalog does not, because something else is lost.
    pub left_out: Vec<OmittedRow>,
}

/// Bytes that the rebuild will read, for those who show progress.
pub fn bytes_to_read(layout: &ArchivePaths) -> Result<u64, ArchiveError> {
    Ok(silo_bytes(&open_silo_files(layout))?)
}

/// Makes the index and the catalog of the archive at `layout` again. Nobody else may write meanwhile, which the lock
/// sees to.
pub fn rebuild(
    layout: &ArchivePaths,
    opening: WriterOptions,
    progress: &(impl Fn(u64) + Sync),
) -> Result<Rebuilt, ArchiveError> {
    let lock = ArchiveWriter::lock(layout, &opening)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (files, options) = (open_silo_files(layout), IndexOptions::default());
    let mut catalog = NewCatalog::begin(layout)?;
    let mut told = |said: ScannedRecord| catalog.filling.add(&said);
    let index = rebuild_store(&files, &layout.index(), options, threads, progress, &mut told)?;
    let left_out = catalog.install()?;
    drop(lock);
    Ok(Rebuilt { index, left_out })
}

/// Makes the catalog alone again.
pub(crate) fn rebuild_catalog(layout: &ArchivePaths) -> Result<(), ArchiveError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut catalog = NewCatalog::begin(layout)?;
    scan(&open_silo_files(layout), threads, &|_| {}, &mut |said| {
        catalog.filling.add(&said);
        Ok::<(), StoreError>(())
    })?;
    catalog.install().map(drop)
}

/// A catalog that is made beside the old one, and put in its place when it is whole.
struct NewCatalog<'a> {
    layout: &'a ArchivePaths,
    filling: CatalogFiller,
}

impl<'a> NewCatalog<'a> {
    fn begin(layout: &'a ArchivePaths) -> Result<Self, ArchiveError> {
        let redaction = read_settings(layout)?.redaction();
        let path = unfinished(layout);
        // What an interrupted rebuild left is no beginning.
        for ending in ["", "-wal", "-shm"] {
            remove(&path.with_extension(format!("db{ending}")))?;
        }
        let catalog = SqliteCatalog::open_to_write(&path)?;
        Ok(Self { layout, filling: CatalogFiller::new(catalog, redaction) })
    }

    /// Puts it in its place. Gives what could not be entered.
    fn install(self) -> Result<Vec<OmittedRow>, ArchiveError> {
        let layout = self.layout;
        let FilledCatalog { catalog, left_out } = self.filling.finish()?;
        // Behind silos that are lost, too: from here on nobody misses them but audit.
        if let Some(end) = end_of(&open_silo_files(layout))? {
            catalog.apply(&mut std::iter::once(CatalogRow::ScannedUpTo(end.number())))?;
        }
        drop(catalog);
        for ending in ["-wal", "-shm"] {
            remove(&layout.root().join(format!("catalog.db{ending}")))?;
        }
        let path = layout.catalog();
        step("rename", &path);
        fs::rename(unfinished(layout), &path).map_err(ArchiveError::write(&path))?;
        let catalog = SqliteCatalog::open_to_write(&path)?;
        catch_up(layout, &catalog, read_settings(layout)?.redaction())?;
        Ok(left_out)
    }
}

fn unfinished(layout: &ArchivePaths) -> PathBuf {
    layout.temporary().join("catalog.db")
}
