//! Replaces old silos with new ones, so that any interruption leaves one intact archive.

use std::fs;
use std::path::Path;

use varve_store::index::IndexOptions;
use varve_store::steps::step;
use varve_store::{StoreSettings, StoreWriter};

use super::dictionary::{Dictionaries, Renewed};
use crate::error::ArchiveError;
use crate::verbs::rebuild::rebuild_catalog;
use varve_repository::backends::open_silo_files;
use varve_repository::pending_swap::{finish_pending_swap, prepared_paths, remove, rename, sync};
use varve_repository::{ArchivePaths, ArchiveWriter};

/// Bytes of all silos.
pub(super) fn bytes(layout: &ArchivePaths) -> Result<u64, ArchiveError> {
    Ok(varve_store::rebuild::bytes_to_read(&open_silo_files(layout))?)
}

/// A new archive under construction in the folder for unfinished files.
pub(super) struct Prepared {
    layout: ArchivePaths,
    store: StoreWriter,
    /// Bytes of the silos shared with the old archive.
    linked: u64,
    dictionaries: Dictionaries,
}

impl Prepared {
    /// Begins an archive with the settings of the old one and hard links to its silos before
    /// `first`. The others are packed as `renewed` specifies.
    pub(super) fn begin(writer: &ArchiveWriter, first: u32, renewed: Renewed) -> Result<Self, ArchiveError> {
        let layout = prepared_paths(writer.layout());
        fs::create_dir_all(layout.root()).map_err(ArchiveError::write(layout.root()))?;
        let settings = layout.settings();
        step("copy the settings", &settings);
        fs::copy(writer.layout().settings(), &settings).map_err(ArchiveError::write(&settings))?;
        if let Some(dictionary) = &renewed.stored {
            let path = layout.dictionary();
            step("write the dictionary", &path);
            fs::write(&path, dictionary).map_err(ArchiveError::write(&path))?;
        }
        let old = writer.store().settings();
        let settings = StoreSettings {
            packing: renewed.packing,
            index: IndexOptions::default(),
            index_folder: layout.index(),
            temporary: layout.temporary(),
            ..old.clone()
        };
        let linked = link_silos(writer.layout(), &layout, first)?;
        let (store, _) = StoreWriter::open(open_silo_files(&layout), settings)?;
        Ok(Self { layout, store, linked, dictionaries: renewed.fate })
    }

    /// Bytes of the silos shared with the old archive.
    pub(super) fn linked(&self) -> u64 {
        self.linked
    }

    /// The store for the new records.
    pub(super) fn store(&self) -> &StoreWriter {
        &self.store
    }

    /// Completes and syncs the new archive, and replaces the old one with it.
    pub(super) fn finish(self, old: &ArchiveWriter) -> Result<(), ArchiveError> {
        self.store.sync()?;
        self.store.housekeeping()?;
        let Self { layout, store, dictionaries, .. } = self;
        drop(store);
        // An archive that has lost its last record still has a folder of silos.
        fs::create_dir_all(layout.silos()).map_err(ArchiveError::write(&layout.silos()))?;
        rebuild_catalog(&layout)?;
        let mark = layout.pending_swap();
        step("mark the silos", &mark);
        fs::write(&mark, b"").map_err(ArchiveError::write(&mark))?;
        sync_below(layout.root())?;
        let to = old.layout();
        // The list of seen files may name bodies that were removed.
        remove(&to.seen_files())?;
        // Before anything looks complete: files left behind by a kill must not contain removed
        // data.
        match dictionaries {
            Dictionaries::AsTheyWere => {}
            Dictionaries::MadeAgain => rename(&layout.dictionary(), &to.dictionary())?,
            Dictionaries::Removed => remove(&to.dictionary())?,
        }
        if !layout.head().exists() {
            // No version is left. Until the swap, the catalog knows the version at HEAD.
            remove(&to.head())?;
        }
        sync(to.root())?;
        exchange(&layout.silos(), &to.silos())?;
        sync(to.root())?;
        sync(layout.root())?;
        finish_pending_swap(to)?;
        for left in [layout.root(), &to.temporary().join("old-index")] {
            step("remove folders", left);
            fs::remove_dir_all(left).map_err(ArchiveError::write(left))?;
        }
        Ok(())
    }
}

/// Hard-links the silos before `first`, or copies them where the file system has no links. All of
/// them are sealed, so no writer changes a file through either name.
fn link_silos(from: &ArchivePaths, to: &ArchivePaths, first: u32) -> Result<u64, ArchiveError> {
    let mut bytes = 0;
    let silos = open_silo_files(from).list().map_err(varve_store::StoreError::from)?;
    for silo in silos.range(..first).map(|(_, silo)| silo) {
        let (old, new) = (from.silos().join(silo.name()), to.silos().join(silo.name()));
        let folder = new.parent().unwrap_or(to.root());
        fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
        step("link a silo", &new);
        if fs::hard_link(&old, &new).is_err() {
            fs::copy(&old, &new).map_err(ArchiveError::write(&new))?;
        }
        bytes += silo.length;
    }
    Ok(bytes)
}

/// Exchanges two folders in one step.
fn exchange(one: &Path, other: &Path) -> Result<(), ArchiveError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    fs::create_dir_all(other).map_err(ArchiveError::write(other))?;
    step("exchange", other);
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
        .map_err(|error| ArchiveError::Exchange { path: other.to_owned(), source: error.into() })
}

/// Syncs everything below a folder to disk.
fn sync_below(folder: &Path) -> Result<(), ArchiveError> {
    for entry in fs::read_dir(folder).map_err(ArchiveError::read(folder))? {
        let entry = entry.map_err(ArchiveError::read(folder))?;
        let kind = entry.file_type().map_err(ArchiveError::read(&entry.path()))?;
        if kind.is_dir() {
            sync_below(&entry.path())?;
        } else {
            sync(&entry.path())?;
        }
    }
    Ok(sync(folder)?)
}
