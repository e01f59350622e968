//! `rebuild`: rebuilds index, catalog and HEAD from the silos alone, reading each silo once. Then the
//! search index is built from the captures.

use std::path::PathBuf;

use varve_catalog::CatalogRow;
use varve_store::StoreError;
use varve_store::exchange::{ScannedRecord, end_of, scan};
use varve_store::index::{IndexOptions, SiloPlace};
use varve_store::rebuild::{bytes_to_read as silo_bytes, rebuild as rebuild_store};
use varve_store::silo::UnreadSiloFile;

use super::rebuild_losses::{lost_head, lost_items};
use crate::error::ArchiveError;
use varve_repository::RepositoryError;
use varve_repository::archive::read_settings;
use varve_repository::archive_paths::ArchivePaths;
use varve_repository::archive_writer::{ArchiveWriter, WriterOptions};
use varve_repository::backends::Backends;
use varve_repository::history::{ArchiveHistoryReader, CatalogFiller, FilledCatalog, catch_up};
use varve_repository::pending_swap::remove;
use varve_repository::sealed_log::{LogFiles, rebuild_log_files};
use varve_repository::search::rebuild_search_index;

pub use super::rebuild_losses::LostItem;
pub use varve_repository::history::OmittedRow;
pub use varve_store::rebuild::RebuildDone;

/// The result of a rebuild.
#[derive(Debug)]
pub struct Rebuilt {
    /// The result for the silos and the index.
    pub index: RebuildDone,
    /// Rows that the silos contain and the catalog does not, because data they depend on is lost.
    pub left_out: Vec<OmittedRow>,
    /// What the old catalog and HEAD knew, and the silos do not hold any more.
    pub lost: Vec<LostItem>,
}

/// Number of bytes that the rebuild will read, for a progress display.
pub fn bytes_to_read(layout: &ArchivePaths) -> Result<u64, ArchiveError> {
    let backends = Backends::open(layout, &read_settings(layout)?)?;
    Ok(silo_bytes(&backends.silos())?)
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
    let mut catalog = NewCatalog::begin(layout)?;
    let (files, options) = (catalog.backends.silos(), IndexOptions::default());
    let mut told = |said: ScannedRecord| catalog.filling.add(&said);
    let index = rebuild_store(&files, &layout.index(), options, threads, progress, &mut told)?;
    let compares_rows = !index.lost_silos.is_empty()
        || index.lost_entries > 0
        || index.unread_files.iter().any(UnreadSiloFile::is_ambiguous)
        || !index.findings.is_empty()
        || catalog.is_ahead_of_silos()?;
    let InstalledCatalog { mut left_out, lost } = catalog.install(compares_rows)?;
    let reader = ArchiveHistoryReader::open_at(layout)?;
    rebuild_search_index(&reader)?;
    match rebuild_log_files(&LogFiles::new(layout), reader.catalog()) {
        Ok(()) => {}
        Err(RepositoryError::Log(error)) => left_out.push(OmittedRow::Log(error)),
        Err(error) => return Err(error.into()),
    }
    drop(lock);
    Ok(Rebuilt { index, left_out, lost })
}

/// Rebuilds the catalog alone.
pub(crate) fn rebuild_catalog(layout: &ArchivePaths) -> Result<(), ArchiveError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut catalog = NewCatalog::begin(layout)?;
    let files = catalog.backends.silos();
    scan(&files, threads, &|_| {}, &mut |said| {
        catalog.filling.add(&said);
        Ok::<(), StoreError>(())
    })?;
    catalog.install(false).map(drop)
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

    /// Whether the old catalog has read more than the silos hold.
    fn is_ahead_of_silos(&self) -> Result<bool, ArchiveError> {
        let silos = self.backends.silos().list().map_err(StoreError::from)?;
        let end = silos.values().next_back().map(|last| (last.number, last.length));
        // A catalog that cannot be read is no witness.
        let known = self.backends.read_catalog().and_then(|old| Ok(old.rows.scanned_up_to()?));
        let reached = known.ok().flatten().map(SiloPlace::from_number);
        Ok(reached.map(|place| (place.silo(), place.offset())) > end)
    }

    /// Installs the new catalog and corrects HEAD. Names the rows of the old catalog that are lost
    /// if `compares_rows`.
    fn install(self, compares_rows: bool) -> Result<InstalledCatalog, ArchiveError> {
        let layout = self.layout;
        let FilledCatalog { catalog, left_out } = self.filling.finish()?;
        let mut lost = lost_items(&self.backends, catalog.as_read(), compares_rows)?;
        // A HEAD that cannot be read names nothing that could be lost.
        let named = self.backends.head().read().ok().flatten();
        // Also past lost silos: from here on, only `audit` reports them as missing.
        if let Some(end) = end_of(&self.backends.silos())? {
            catalog.apply(&mut std::iter::once(CatalogRow::ScannedUpTo(end.number())))?;
        }
        drop(catalog);
        self.backends.install_catalog(&layout.temporary())?;
        let catalog = self.backends.write_catalog()?;
        catch_up(&self.backends, &*catalog.rows, read_settings(layout)?.redaction())?;
        let lost_head = lost_head(named, &self.backends)?;
        if matches!(lost_head, Some(LostItem::Head { to: None, .. })) {
            self.backends.head().clear().map_err(RepositoryError::from)?;
        }
        lost.extend(lost_head);
        Ok(InstalledCatalog { left_out, lost })
    }
}

/// The result of installing a new catalog.
struct InstalledCatalog {
    left_out: Vec<OmittedRow>,
    lost: Vec<LostItem>,
}

fn unfinished(layout: &ArchivePaths) -> PathBuf {
    layout.temporary().join("catalog.db")
}
