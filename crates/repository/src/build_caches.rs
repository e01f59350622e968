//! Index and catalog built outside the archive, so that an archive can be read without its own:
//! they are missing or damaged, or the medium cannot be written.
//!
//! Knows how to build them from the silos alone. Which verbs may do without the archive's own caches
//! is decided by the caller.

use std::path::Path;
use std::sync::Arc;

use varve_catalog::{CatalogError, CatalogRow};
use varve_store::StoreError;
use varve_store::disk::LocalDisk;
use varve_store::index::{IndexOptions, IndexReader, SiloPlace};
use varve_store::rebuild::build_index_elsewhere;
use varve_store::silo::SiloFiles;

use crate::archive::read_settings;
use crate::archive_paths::ArchivePaths;
use crate::backends::Backends;
use crate::cache_folder::CacheFolder;
use crate::error::RepositoryError;
use crate::history::{CatalogFiller, FilledCatalog};

/// Whether an error means that index or catalog are missing or damaged, so that reading needs caches
/// from elsewhere.
pub fn needs_other_caches(error: &RepositoryError) -> bool {
    match error {
        RepositoryError::NoIndex { .. } | RepositoryError::NoCatalog { .. } => true,
        RepositoryError::Store(StoreError::Index(_)) => true,
        RepositoryError::Catalog(error) => {
            !matches!(error, CatalogError::Busy { .. } | CatalogError::Newer { .. })
        }
        _ => false,
    }
}

/// Builds index and catalog of an archive in `kept_in`, or in a temporary folder. Caches that are
/// there and cover all silos are used as they are. Changes nothing in the archive.
pub fn with_built_caches(
    layout: &ArchivePaths,
    kept_in: Option<&Path>,
) -> Result<ArchivePaths, RepositoryError> {
    let folder = match kept_in {
        Some(parent) => CacheFolder::kept_in(parent)?,
        None => CacheFolder::temporary()?,
    };
    let built = layout.with_caches_in(Arc::new(folder));
    let settings = read_settings(layout)?;
    let backends = Backends::open(&built, &settings)?;
    let end = end_of_silos(&backends.silos())?;
    if kept_in.is_some() && covers_silos(&backends, &built, end) {
        return Ok(built);
    }
    for ending in ["", "-wal", "-shm"] {
        let path = built.catalog().with_extension(format!("db{ending}"));
        built.cache_files().remove(&path).map_err(RepositoryError::write(&path))?;
    }
    let path = built.index().parent().map(Path::to_owned).unwrap_or_default();
    let mut filling = CatalogFiller::new(backends.new_catalog(&path)?, settings.redaction());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let place = (&LocalDisk::new(&path) as &dyn varve_store::disk::Disk, built.index());
    build_index_elsewhere(
        &backends.silos(),
        (place.0, &place.1),
        IndexOptions::default(),
        threads,
        &mut |scanned| filling.add(&scanned),
    )?;
    // What could not be entered is reported by `audit` and `rebuild`.
    let FilledCatalog { catalog, left_out: _ } = filling.finish()?;
    if let Some(end) = end {
        catalog.apply(&mut std::iter::once(CatalogRow::ScannedUpTo(end.number())))?;
    }
    Ok(built)
}

/// The end of the last silo.
fn end_of_silos(files: &SiloFiles) -> Result<Option<SiloPlace>, RepositoryError> {
    let silos = files.list().map_err(StoreError::from)?;
    let last = silos.values().next_back().map(|last| SiloPlace::new(last.number, last.length));
    Ok(last.transpose().map_err(StoreError::from)?)
}

/// Whether earlier caches were built from the silos as they are.
fn covers_silos(backends: &Backends, built: &ArchivePaths, end: Option<SiloPlace>) -> bool {
    let reached = backends.read_catalog().and_then(|kept| Ok(kept.rows.scanned_up_to()?));
    let has_index = IndexReader::open(&*built.index_disk(), &built.index()).is_ok();
    has_index && reached.is_ok_and(|reached| reached == end.map(SiloPlace::number))
}
