//! Replaces old silos with new ones, so that any interruption leaves one intact archive.

use std::io;
use std::path::Path;

use varve_file::{EntryKind, RootedFiles};
use varve_store::disk::DiskError;
use varve_store::index::IndexOptions;
use varve_store::steps::step;
use varve_store::{StoreError, StoreSettings, StoreWriter};

use super::dictionary::{Dictionaries, Renewed};
use crate::error::ArchiveError;
use crate::verbs::rebuild::rebuild_catalog;
use varve_repository::backends::Backends;
use varve_repository::pending_swap::{
    finish_pending_swap, old_index, prepared_paths, remove, rename, sync_folder,
};
use varve_repository::settings::MAX_SETTINGS_BYTES;
use varve_repository::{ArchivePaths, ArchiveWriter, RepositoryError};

/// Bytes of all silos.
pub(super) fn bytes(backends: &Backends) -> Result<u64, ArchiveError> {
    Ok(varve_store::rebuild::bytes_to_read(&backends.silos())?)
}

/// A new archive under construction in the folder for unfinished files.
pub(super) struct Prepared {
    layout: ArchivePaths,
    backends: Backends,
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
        let files = layout.files();
        files.make_folders(layout.root()).map_err(ArchiveError::write(layout.root()))?;
        copy_settings(writer.layout(), &layout)?;
        if let Some(dictionary) = &renewed.stored {
            let path = layout.dictionary();
            step("write the dictionary", &path);
            files.replace(&path, dictionary).map_err(ArchiveError::write(&path))?;
        }
        let old = writer.store().settings();
        let settings = StoreSettings {
            packing: renewed.packing,
            index: IndexOptions::default(),
            index_folder: layout.index(),
            temporary: layout.temporary(),
            ..old.clone()
        };
        let linked = link_silos(writer, &layout, first)?;
        let backends = writer.backends().for_layout(&layout);
        let (store, _) = StoreWriter::open(backends.silos(), settings)?;
        Ok(Self { layout, backends, store, linked, dictionaries: renewed.fate })
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
        let Self { layout, backends, store, dictionaries, .. } = self;
        drop(store);
        // An archive that has lost its last record still has a folder of silos.
        let files = layout.files();
        files.make_folders(&layout.silos()).map_err(ArchiveError::write(&layout.silos()))?;
        rebuild_catalog(&layout)?;
        let mark = layout.pending_swap();
        step("mark the silos", &mark);
        files.replace(&mark, b"").map_err(ArchiveError::write(&mark))?;
        sync_below(&layout, layout.root())?;
        let to = old.layout();
        // The list of seen files may name bodies that were removed.
        remove(to, &to.seen_files())?;
        // Before anything looks complete: files left behind by a kill must not contain removed
        // data.
        match dictionaries {
            Dictionaries::AsTheyWere => {}
            Dictionaries::MadeAgain => rename(to, &layout.dictionary(), &to.dictionary())?,
            Dictionaries::Removed => remove(to, &to.dictionary())?,
        }
        if backends.head().read().map_err(RepositoryError::from)?.is_none() {
            // No version is left. Until the swap, the catalog knows the version at HEAD.
            old.backends().head().clear().map_err(RepositoryError::from)?;
        }
        sync_folder(to, to.root())?;
        exchange(to, &layout.silos(), &to.silos())?;
        sync_folder(to, to.root())?;
        sync_folder(to, layout.root())?;
        finish_pending_swap(old.backends())?;
        for left in [layout.root(), &old_index(to)] {
            to.disk().remove_tree(left).map_err(StoreError::from)?;
        }
        Ok(())
    }
}

/// Hard-links the silos before `first`, or copies them where the file system has no links. All of
/// them are sealed, so no writer changes a file through either name.
fn link_silos(writer: &ArchiveWriter, to: &ArchivePaths, first: u32) -> Result<u64, ArchiveError> {
    let from = writer.layout();
    let (mut bytes, files) = (0, from.files());
    let silos = writer.backends().silos().list().map_err(StoreError::from)?;
    for silo in silos.range(..first).map(|(_, silo)| silo) {
        let (old, new) = (from.silos().join(silo.name()), to.silos().join(silo.name()));
        let folder = new.parent().unwrap_or(to.root());
        files.make_folders(folder).map_err(ArchiveError::write(folder))?;
        step("link a silo", &new);
        if files.hard_link(&old, &new).is_err() {
            copy_file(files, &old, &new).map_err(ArchiveError::write(&new))?;
        }
        bytes += silo.length;
    }
    Ok(bytes)
}

/// Exchanges two folders in one step.
fn exchange(layout: &ArchivePaths, one: &Path, other: &Path) -> Result<(), ArchiveError> {
    layout.disk().make_folders(other).map_err(StoreError::from)?;
    let failed = |error: DiskError| ArchiveError::Exchange { path: other.to_owned(), source: error.source };
    layout.disk().exchange(one, other).map_err(failed)
}

fn copy_settings(from: &ArchivePaths, to: &ArchivePaths) -> Result<(), ArchiveError> {
    let (old, new) = (from.settings(), to.settings());
    let text = from.files().read(&old, MAX_SETTINGS_BYTES).map_err(ArchiveError::read(&old))?;
    step("copy the settings", &new);
    to.files().replace(&new, &text.unwrap_or_default()).map_err(ArchiveError::write(&new))
}

/// Copies a file with its permissions.
fn copy_file(files: &RootedFiles, from: &Path, to: &Path) -> io::Result<()> {
    let (mut old, mut new) = (files.open_to_read(from)?, files.create_new(to)?);
    io::copy(&mut old, &mut new)?;
    new.set_permissions(old.metadata()?.permissions())
}

/// Syncs everything below a folder to disk.
fn sync_below(layout: &ArchivePaths, folder: &Path) -> Result<(), ArchiveError> {
    let files = layout.files();
    for entry in files.list(folder).map_err(ArchiveError::read(folder))? {
        let path = folder.join(&entry.name);
        if entry.kind == EntryKind::Folder {
            sync_below(layout, &path)?;
        } else {
            step("sync", &path);
            let synced = files.open_to_read(&path).and_then(|file| file.sync_all());
            synced.map_err(ArchiveError::write(&path))?;
        }
    }
    Ok(sync_folder(layout, folder)?)
}
