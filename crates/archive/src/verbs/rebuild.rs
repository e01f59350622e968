//! `rebuild`: rebuilds index, catalog and HEAD from the silos alone, reading each silo once.

use std::path::PathBuf;

use varve_catalog::CatalogRow;
use varve_store::StoreError;
use varve_store::exchange::{ScannedRecord, end_of, scan};
use varve_store::index::IndexOptions;
use varve_store::rebuild::{bytes_to_read as silo_bytes, rebuild as rebuild_store};
use varve_store::steps::step;

use crate::error::ArchiveError;
use varve_repository::archive::read_settings;
use varve_repository::archive_paths::ArchivePaths;
use varve_repository::archive_writer::{ArchiveWriter, WriterOptions};
use varve_repository::backends::{Backends, open_silo_files};
use varve_repository::history::{CatalogFiller, FilledCatalog, catch_up};
use varve_repository::pending_swap::remove;

pub use varve_repository::history::OmittedRow;
pub use varve_store::rebuild::RebuildDone;

/// The result of a rebuild.
#[derive(Debug)]
pub struct Rebuilt {
    /// The result for the silos and the index.
    pub index: RebuildDone,
    /// Rows that the silos contain and the catalog does not, because data they depend on is lost.
    pub left_out: Vec<OmittedRow>,
}

/// Number of bytes that the rebuild will read, for a progress display.
pub fn bytes_to_read(layout: &ArchivePaths) -> Result<u64, ArchiveError> {
    Ok(silo_bytes(&open_silo_files(layout))?)
}

/// Rebuilds the index and the catalog of the archive at `layout`. The lock keeps other writers out
/// meanwhile.
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

/// Rebuilds the catalog alone.
pub(crate) fn rebuild_catalog(layout: &ArchivePaths) -> Result<(), ArchiveError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut catalog = NewCatalog::begin(layout)?;
    scan(&open_silo_files(layout), threads, &|_| {}, &mut |said| {
        catalog.filling.add(&said);
        Ok::<(), StoreError>(())
    })?;
    catalog.install().map(drop)
}

/// A catalog built beside the old one, which replaces it when it is complete.
struct NewCatalog<'a> {
    layout: &'a ArchivePaths,
    backends: Backends,
    filling: CatalogFiller,
}

impl<'a> NewCatalog<'a> {
    fn begin(layout: &'a ArchivePaths) -> Result<Self, ArchiveError> {
        let settings = read_settings(layout)?;
        let backends = Backends::open(layout, &settings)?;
        let path = unfinished(layout);
        // Files left by an interrupted rebuild are not reused.
        for ending in ["", "-wal", "-shm"] {
            remove(layout, &path.with_extension(format!("db{ending}")))?;
        }
        let catalog = backends.new_catalog(&layout.temporary())?;
        Ok(Self { layout, backends, filling: CatalogFiller::new(catalog, settings.redaction()) })
    }

    /// Installs the new catalog. Returns the rows that could not be entered.
    fn install(self) -> Result<Vec<OmittedRow>, ArchiveError> {
        let layout = self.layout;
        let FilledCatalog { catalog, left_out } = self.filling.finish()?;
        // Also past lost silos: from here on, only `audit` reports them as missing.
        if let Some(end) = end_of(&self.backends.silos())? {
            catalog.apply(&mut std::iter::once(CatalogRow::ScannedUpTo(end.number())))?;
        }
        drop(catalog);
        for ending in ["-wal", "-shm"] {
            remove(layout, &layout.root().join(format!("catalog.db{ending}")))?;
        }
        let path = layout.catalog();
        step("rename", &path);
        layout.files().rename(&unfinished(layout), &path).map_err(ArchiveError::write(&path))?;
        let catalog = self.backends.write_catalog()?;
        catch_up(&self.backends, &*catalog.rows, read_settings(layout)?.redaction())?;
        Ok(left_out)
    }
}

fn unfinished(layout: &ArchivePaths) -> PathBuf {
    layout.temporary().join("catalog.db")
}
