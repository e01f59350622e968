//! `rebuild`: makes index, catalog and HEAD again from the silos alone.

use std::{fs, io};

use varve_catalog::{Catalog, Row, SqliteCatalog};
use varve_store::index::{IndexOptions, Place};
use varve_store::rebuild::{bytes_to_read as silo_bytes, rebuild as rebuild_store};
use varve_store::steps::step;

use crate::archive::{Archive, silo_files};
use crate::error::ArchiveError;
use crate::history::{catch_up, fill};
use crate::layout::Layout;
use crate::writer::{ArchiveWriter, Opening};

pub use varve_store::rebuild::RebuildDone;

/// Bytes that the rebuild will read, for those who show progress.
pub fn bytes_to_read(layout: &Layout) -> Result<u64, ArchiveError> {
    Ok(silo_bytes(&silo_files(layout))?)
}

/// Makes the index of the archive at `layout` again. Nobody else may write meanwhile, which the lock sees to.
pub fn rebuild(
    layout: &Layout,
    opening: Opening,
    progress: &(impl Fn(u64) + Sync),
) -> Result<RebuildDone, ArchiveError> {
    let lock = ArchiveWriter::lock(layout, &opening)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let done =
        rebuild_store(&silo_files(layout), &layout.index(), IndexOptions::default(), threads, progress)?;
    rebuild_catalog(layout)?;
    drop(lock);
    Ok(done)
}

/// Makes the catalog again beside the old one, and puts it in its place when it is whole.
pub(crate) fn rebuild_catalog(layout: &Layout) -> Result<(), ArchiveError> {
    let archive = Archive::open(layout.root())?;
    let path = layout.catalog();
    let unfinished = layout.temporary().join("catalog.db");
    let catalog = SqliteCatalog::open_to_write(&unfinished)?;
    fill(&archive, &catalog)?;
    if let Some(last) =
        archive.store().files().list().map_err(varve_store::StoreError::from)?.into_values().next_back()
    {
        let end = Place::new(last.number, last.length).map_err(varve_store::StoreError::from)?;
        catalog.apply(&mut std::iter::once(Row::Reached(end.number())))?;
    }
    drop(catalog);
    for ending in ["-wal", "-shm"] {
        let left = layout.root().join(format!("catalog.db{ending}"));
        step("remove", &left);
        match fs::remove_file(&left) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ArchiveError::Write { path: left, source: error });
            }
            _ => {}
        }
    }
    step("rename", &path);
    fs::rename(&unfinished, &path).map_err(ArchiveError::write(&path))?;
    let catalog = SqliteCatalog::open_to_write(&path)?;
    catch_up(layout, &catalog, archive.settings().redaction())
}
