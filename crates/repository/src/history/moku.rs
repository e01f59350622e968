//! The history of a Moku site: rows in `.moku/moku.db`, bodies below `.moku/blobs`, and a working
//! tree beside them.
//!
//! Everything is written as Moku itself would write it, so Moku can open the result. Data that only
//! varve has is stored in tables of its own.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use varve_catalog::{Catalog, CatalogRead, CatalogRow};
use varve_core::body::{BodySource, BodyStore, StoredBody};
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_core::{Moment, RecordId, VersionId};
use varve_moku::{MokuCatalog, MokuOptions, MokuPaths};
use varve_store::body::LooseBodies;
use varve_store::disk::LocalDisk;
use varve_store::lock::WriteLock;
use varve_store::steps::step;

use super::database_users::is_open_elsewhere;
use super::head_state::HeadState;
use super::moku_head;
use super::tree_update::{write_tree, write_tree_lossy};
use super::{BodyInput, BodyWorker, HeadMove, HistoryReader, HistoryWriter, LooseBodyView, head};
use crate::archive_writer::{Clock, WriterOptions};
use crate::error::RepositoryError;

/// The bodies of a site.
fn bodies_of(site: &MokuPaths) -> LooseBodies {
    LooseBodies::new(Arc::new(LocalDisk), site.bodies())
}

/// Options for opening a Moku site for writing.
#[derive(Clone, Debug, Default)]
pub struct MokuWriterOptions {
    /// The project of the site, and how a site of an early format is treated.
    pub options: MokuOptions,
    /// Whether sensitive headers are redacted from now on. `None` keeps the setting of the site.
    pub redaction: Option<Redaction>,
}

/// A Moku site, open for reading.
pub struct MokuHistoryReader {
    site: MokuPaths,
    catalog: MokuCatalog,
    bodies: LooseBodies,
}

impl MokuHistoryReader {
    /// Opens the site at `root`.
    pub fn open(root: &Path) -> Result<Self, RepositoryError> {
        let site = MokuPaths::new(root);
        Ok(Self { catalog: MokuCatalog::open_to_read(&site.database())?, bodies: bodies_of(&site), site })
    }

    /// The folder of the site.
    pub fn root(&self) -> &Path {
        self.site.root()
    }

    /// The catalog, with the operations that only Moku sites have.
    pub fn moku(&self) -> &MokuCatalog {
        &self.catalog
    }

    /// The loose bodies.
    pub fn bodies(&self) -> &LooseBodies {
        &self.bodies
    }

    /// The state of the HEAD file, regardless of an intended move.
    pub fn head_as_it_is(&self) -> Result<HeadState, RepositoryError> {
        moku_head::judge(&*self.catalog, &self.site.head())
    }

    /// The target of an interrupted move of HEAD, if the intent is still valid.
    pub fn intended_head(&self) -> Option<VersionId> {
        let intended = head::read_intended(&self.site.intended_head())?;
        intended.stands(self.head().ok().flatten()).then_some(intended.to)
    }
}

impl HistoryReader for MokuHistoryReader {
    fn redaction(&self) -> Redaction {
        // If the setting cannot be read, headers are redacted to be safe.
        self.catalog.redaction().unwrap_or(Redaction::On)
    }

    fn catalog(&self) -> &dyn CatalogRead {
        &*self.catalog
    }

    fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        head::read(&self.site.head())
    }

    fn repaired_head_target(&self) -> Result<Option<VersionId>, RepositoryError> {
        self.head_state()?.wanted().map_or_else(|| self.head(), |to| Ok(Some(to)))
    }

    fn head_state(&self) -> Result<HeadState, RepositoryError> {
        match self.intended_head() {
            Some(to) if self.catalog.version(&to)?.is_some() => Ok(HeadState::Intended { to }),
            _ => self.head_as_it_is(),
        }
    }

    fn working_tree(&self) -> Option<&Path> {
        Some(self.site.root())
    }

    fn lost_head(&self) -> Result<Option<VersionId>, RepositoryError> {
        match self.head_as_it_is()? {
            HeadState::Absent { named, .. } => Ok(Some(named)),
            _ => Ok(self.catalog.lost_head()?),
        }
    }

    fn lost_versions(&self) -> Result<Vec<VersionId>, RepositoryError> {
        Ok(self.catalog.lost_versions()?)
    }

    fn loose(&self, now: Moment) -> Option<LooseBodyView<'_>> {
        let since = Duration::from_micros(u64::try_from(now.micros()).unwrap_or_default());
        let settled = SystemTime::UNIX_EPOCH + since;
        Some(loose(&self.site, &self.bodies, settled))
    }

    fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        open_body(&self.bodies, capture)
    }

    fn wire_head(&self, _: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        Ok(None)
    }
}

fn open_body(bodies: &LooseBodies, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
    bodies.open_body(&capture.body)?.ok_or_else(|| RepositoryError::Absent { id: capture.body.to_string() })
}

/// A Moku site, open for adding to its history.
pub struct MokuHistoryWriter {
    site: MokuPaths,
    catalog: MokuCatalog,
    bodies: LooseBodies,
    redaction: Redaction,
    clock: Clock,
    /// The fault of HEAD that was repaired when the site was opened.
    mended: Option<HeadState>,
    /// Bodies written after this time may belong to a write in progress.
    settled: SystemTime,
    /// The last field, so that the lock is released last.
    _lock: WriteLock,
}

impl MokuHistoryWriter {
    /// Opens the site at `root`, creating it if it does not exist.
    pub fn open(
        root: &Path,
        site_opening: &MokuWriterOptions,
        opening: WriterOptions,
    ) -> Result<Self, RepositoryError> {
        let site = MokuPaths::new(root);
        let folder = root.join(".moku");
        std::fs::create_dir_all(folder.join("blobs")).map_err(RepositoryError::write(&folder))?;
        let lock = WriteLock::take(&site.lock(), &opening.holder)?;
        let settled = settled(&site)?;
        refuse_lost_database(&site)?;
        step("open the database", &site.database());
        let catalog = MokuCatalog::open_to_write(&site.database(), &site_opening.options)?;
        let bodies = bodies_of(&site);
        if let Some(redaction) = site_opening.redaction {
            catalog.set_redaction(redaction)?;
        }
        let redaction = catalog.redaction()?;
        let clock = opening.clock;
        let mut history =
            Self { site, catalog, bodies, redaction, clock, mended: None, settled, _lock: lock };
        let followed = history.follow_intention()?;
        history.mended = history.mend_head()?.or(followed);
        Ok(history)
    }

    /// Completes an interrupted move of HEAD: the rows exist, but HEAD and the working tree are
    /// behind. Returns the state found, if HEAD moved.
    fn follow_intention(&self) -> Result<Option<HeadState>, RepositoryError> {
        let intended = head::read_intended(&self.site.intended_head());
        let before = self.head().ok().flatten();
        let Some(head::IntendedHead { to, by, .. }) = intended.filter(|intended| intended.stands(before))
        else {
            return self.clear_intended_head().map(|()| None);
        };
        if self.catalog.version(&to)?.is_none() {
            return self.clear_intended_head().map(|()| None);
        }
        self.bring_to(to, by)?;
        Ok((before != Some(to)).then_some(HeadState::Intended { to }))
    }

    /// Moves a HEAD that Moku left behind or that is lost. Returns the state found.
    fn mend_head(&self) -> Result<Option<HeadState>, RepositoryError> {
        let state = moku_head::judge(&*self.catalog, &self.site.head())?;
        match state.wanted() {
            Some(version) => {
                // After the repair of HEAD nothing else shows that rows are missing.
                if let HeadState::Absent { named, .. } = &state {
                    self.catalog.set_lost_head(Some(*named))?;
                }
                self.intend_head(&version, HeadMove::Commit)?;
                self.bring_to(version, HeadMove::Commit)?;
                Ok(Some(state))
            }
            None => Ok(None),
        }
    }

    /// Sets working tree, rows and HEAD to those of a version.
    fn bring_to(&self, version: VersionId, by: HeadMove) -> Result<(), RepositoryError> {
        // The tree is a convenience: a failed write there must not block access to the site. Audit
        // reports it.
        let root = self.site.root();
        let before = self.head().ok().flatten().filter(|_| by == HeadMove::Checkout);
        if write_tree(self, root, before, version, &mut |_| {}).is_err() {
            write_tree_lossy(self, root, before, version);
        }
        self.apply(vec![CatalogRow::Head(version)])?;
        self.set_head(&version)
    }
}

/// Fails if the database is lost. A new one would reference no bodies, and the next sweep would
/// delete them all.
fn refuse_lost_database(site: &MokuPaths) -> Result<(), RepositoryError> {
    let path = site.database();
    let is_there = match std::fs::metadata(&path) {
        Ok(found) => found.len() > 0,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(source) => return Err(RepositoryError::Read { path, source }),
    };
    // A new database may consist only of its log.
    let log = path.with_extension("db-wal");
    if is_there || std::fs::metadata(log).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    let has_head = std::fs::metadata(site.head()).is_ok_and(|found| found.len() > 0);
    if has_head || bodies_of(site).list()?.iter().any(|file| file.id.is_some()) {
        return Err(RepositoryError::LostDatabase { path });
    }
    Ok(())
}

/// Bodies written after this time may belong to rows that are not written yet.
fn settled(site: &MokuPaths) -> Result<SystemTime, RepositoryError> {
    let path = site.lock();
    std::fs::metadata(&path).and_then(|found| found.modified()).map_err(RepositoryError::read(&path))
}

/// The loose bodies, for housekeeping. Moku does not know varve's lock, writes bodies before rows,
/// and does not rewrite bodies that exist. So while Moku has the site open, it may be about to
/// reference any of them.
fn loose<'a>(site: &'a MokuPaths, bodies: &'a LooseBodies, settled: SystemTime) -> LooseBodyView<'a> {
    LooseBodyView { bodies, settled, is_shared: Box::new(|| is_open_elsewhere(&site.database())) }
}

impl HistoryReader for MokuHistoryWriter {
    fn redaction(&self) -> Redaction {
        self.redaction
    }

    fn catalog(&self) -> &dyn CatalogRead {
        &*self.catalog
    }

    fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        head::read(&self.site.head())
    }

    fn working_tree(&self) -> Option<&Path> {
        Some(self.site.root())
    }

    fn lost_head(&self) -> Result<Option<VersionId>, RepositoryError> {
        Ok(self.catalog.lost_head()?)
    }

    fn lost_versions(&self) -> Result<Vec<VersionId>, RepositoryError> {
        Ok(self.catalog.lost_versions()?)
    }

    fn loose(&self, _: Moment) -> Option<LooseBodyView<'_>> {
        Some(loose(&self.site, &self.bodies, self.settled))
    }

    fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        open_body(&self.bodies, capture)
    }

    fn wire_head(&self, _: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        Ok(None)
    }
}

impl HistoryWriter for MokuHistoryWriter {
    fn rows(&self) -> &dyn Catalog {
        &*self.catalog
    }

    fn now(&self) -> Moment {
        self.stored_time(Moment::from((self.clock)().instant))
    }

    fn stored_time(&self, time: Moment) -> Moment {
        // Moku stores whole seconds: the reported time must be the stored one.
        Moment::from_seconds(time.seconds())
    }

    fn body_worker(&self) -> BodyWorker<'_> {
        Box::new(|input, _| -> Result<StoredBody, RepositoryError> {
            Ok(match input {
                BodyInput::File(mut file, path) => {
                    let length = file.metadata().map_err(RepositoryError::read(path))?.len();
                    self.bodies.keep_body(&mut (&mut file).take(length.max(1)))?
                }
                BodyInput::Bytes(mut bytes) => self.bodies.keep_body(&mut bytes)?,
            })
        })
    }

    fn sync_bodies(&self) -> Result<(), RepositoryError> {
        Ok(self.bodies.sync_bodies()?)
    }

    fn append_fact(&self, _: &str, _: &str, _: &[u8]) -> Result<Option<RecordId>, RepositoryError> {
        Ok(None)
    }

    fn apply(&self, rows: Vec<CatalogRow>) -> Result<(), RepositoryError> {
        step("begin a transaction", self.catalog.path());
        self.catalog.apply(&mut rows.into_iter())?;
        step("transaction done", self.catalog.path());
        Ok(())
    }

    fn intend_head(&self, version: &VersionId, by: HeadMove) -> Result<(), RepositoryError> {
        let from = self.head().ok().flatten();
        head::write_intended(&self.site.intended_head(), version, by, from)
    }

    fn set_head(&self, version: &VersionId) -> Result<(), RepositoryError> {
        head::write(&self.site.head(), version)?;
        moku_head::outlive_children(&*self.catalog, &self.site.head(), *version)?;
        self.clear_intended_head()
    }

    fn clear_intended_head(&self) -> Result<(), RepositoryError> {
        let path = self.site.intended_head();
        step("remove", &path);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(RepositoryError::Write { path, source: error })
            }
            _ => Ok(()),
        }
    }

    fn keeps_diffs(&self) -> bool {
        true
    }

    fn repaired_head(&self) -> Option<&HeadState> {
        self.mended.as_ref()
    }

    fn exclusively(
        &self,
        work: &mut dyn FnMut() -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError> {
        let mut done = Ok(());
        self.catalog.exclusively(&mut || done = work())?;
        done
    }

    fn vacuum(&self) -> Result<(), RepositoryError> {
        step("give back room", self.catalog.path());
        Ok(self.catalog.vacuum()?)
    }

    fn clear_lost_head(&self) -> Result<(), RepositoryError> {
        Ok(self.catalog.set_lost_head(None)?)
    }

    fn as_reader(&self) -> &dyn HistoryReader {
        self
    }
}
