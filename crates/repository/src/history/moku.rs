//! The history of a Moku site: rows in `.moku/moku.db`, bodies below `.moku/blobs`, and a working
//! tree beside them.
//!
//! Everything is written as Moku itself would write it, so Moku can open the result. Data that only
//! varve has is stored in tables of its own.

use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use varve_catalog::{Catalog, CatalogRead, CatalogRow};
use varve_core::body::{BodySource, BodyStore, StoredBody};
use varve_core::head_store::HeadStore;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_core::writer_lock::LockGuard;
use varve_core::{BodyId, Moment, VersionId};
use varve_file::RootedFiles;
use varve_moku::{IntendedHead, MOKU_LOCK_FILE, MokuCatalog, MokuOptions, MokuPaths, SnapshotScore};
use varve_store::body::LooseBodies;
use varve_store::disk::LocalDisk;
use varve_store::steps::step;

use super::database_users::is_open_elsewhere;
use super::head_state::HeadState;
use super::moku_head;
use super::working_tree::{write_tree, write_tree_lossy};
use super::{BodyInput, BodyWorker, HistoryReader, LooseBodyView};
use crate::archive_writer::{Clock, WriterOptions};
use crate::backends::{file_head, file_lock};
use crate::error::RepositoryError;

/// HEAD of a site.
fn head_of(site: &MokuPaths) -> Arc<dyn HeadStore> {
    file_head(RootedFiles::new(site.root()), site.head())
}

/// The bodies of a site.
fn bodies_of(site: &MokuPaths) -> LooseBodies {
    LooseBodies::new(Arc::new(LocalDisk::new(site.root())), site.bodies())
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
#[derive(Clone)]
pub struct MokuHistoryReader {
    site: MokuPaths,
    catalog: Arc<MokuCatalog>,
    head: Arc<dyn HeadStore>,
    bodies: Arc<LooseBodies>,
    /// The time before which bodies are settled, if a writer of this process has the site open.
    settled: Option<SystemTime>,
}

impl MokuHistoryReader {
    /// Opens the site at `root`.
    pub fn open(root: &Path) -> Result<Self, RepositoryError> {
        let site = MokuPaths::new(root);
        let path = root.join(".moku");
        RootedFiles::new(root).open_folder(&path).map_err(RepositoryError::read(&path))?;
        let catalog = Arc::new(MokuCatalog::open_to_read(site.database())?);
        let (head, bodies) = (head_of(&site), Arc::new(bodies_of(&site)));
        Ok(Self { catalog, head, bodies, site, settled: None })
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
        moku_head::judge(&self.catalog, &*self.head)
    }

    /// The target of an interrupted move of HEAD, if the intent is still valid.
    pub fn intended_head(&self) -> Option<VersionId> {
        // An intent that cannot be read counts as none: HEAD itself decides then.
        let intended = self.catalog.intended_head().ok().flatten()?;
        intended.stands(self.head().ok().flatten()).then_some(intended.to)
    }

    /// Whether sensitive headers are redacted.
    pub fn redaction(&self) -> Redaction {
        // If the setting cannot be read, headers are redacted to be safe.
        self.catalog.redaction().unwrap_or(Redaction::On)
    }

    /// The catalog rows.
    pub fn catalog(&self) -> &dyn CatalogRead {
        &**self.catalog
    }

    /// The version that HEAD names.
    pub fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        Ok(self.head.read()?)
    }

    /// The version that HEAD points to after the next writer has possibly repaired HEAD.
    pub fn repaired_head_target(&self) -> Result<Option<VersionId>, RepositoryError> {
        self.head_state()?.wanted().map_or_else(|| self.head(), |to| Ok(Some(to)))
    }

    /// The state of HEAD, including an intended move.
    pub fn head_state(&self) -> Result<HeadState, RepositoryError> {
        match self.intended_head() {
            Some(to) if self.catalog.version(&to)?.is_some() => Ok(HeadState::Intended { to }),
            _ => self.head_as_it_is(),
        }
    }

    /// A version that HEAD names, or named before a repair, and that has no rows. Bodies that only
    /// those rows referenced may still be stored.
    pub fn lost_head(&self) -> Result<Option<VersionId>, RepositoryError> {
        match self.head_as_it_is()? {
            HeadState::Absent { named, .. } => Ok(Some(named)),
            _ => Ok(self.catalog.lost_head()?),
        }
    }

    /// Versions that were committed here and have no rows, although no user removed them.
    pub fn lost_versions(&self) -> Result<Vec<VersionId>, RepositoryError> {
        Ok(self.catalog.lost_versions()?)
    }

    /// The loose bodies, which housekeeping may sweep. A read-only caller passes the current time.
    pub fn loose(&self, now: Moment) -> LooseBodyView<'_> {
        let since = Duration::from_micros(u64::try_from(now.micros()).unwrap_or_default());
        let settled = self.settled.unwrap_or(SystemTime::UNIX_EPOCH + since);
        loose(&self.site, &self.bodies, settled)
    }

    /// Opens the body of a capture. Reading it to the end verifies it. A file that is longer than the
    /// recorded length is an error before it is read.
    pub fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        let body = match capture.length {
            Some(length) => self.bodies.open_body_within(&capture.body, length)?,
            None => self.bodies.open_body(&capture.body)?,
        };
        body.ok_or_else(|| RepositoryError::Absent { id: capture.body.to_string() })
    }
}

/// A Moku site, open for adding to its history.
pub struct MokuHistoryWriter {
    site: MokuPaths,
    catalog: Arc<MokuCatalog>,
    head: Arc<dyn HeadStore>,
    bodies: Arc<LooseBodies>,
    reader: HistoryReader,
    clock: Clock,
    /// The fault of HEAD that was repaired when the site was opened.
    mended: Option<HeadState>,
    /// Bodies written after this time may belong to a write in progress.
    settled: SystemTime,
    /// The last field, so that the lock is released last.
    _lock: LockGuard,
}

impl Deref for MokuHistoryWriter {
    type Target = HistoryReader;

    fn deref(&self) -> &HistoryReader {
        &self.reader
    }
}

impl MokuHistoryWriter {
    /// Opens the site at `root`, creating it if it does not exist.
    pub fn open(
        root: &Path,
        site_opening: &MokuWriterOptions,
        opening: WriterOptions,
    ) -> Result<Self, RepositoryError> {
        let site = MokuPaths::new(root);
        let path = root.join(".moku");
        RootedFiles::new(root).make_folders(&site.bodies()).map_err(RepositoryError::write(&path))?;
        let lock = file_lock(root, MOKU_LOCK_FILE).take(&opening.holder)?;
        let settled = settled(&site)?;
        refuse_lost_database(&site)?;
        step("open the database", site.database().as_path());
        let catalog = Arc::new(MokuCatalog::open_to_write(site.database(), &site_opening.options)?);
        let (head, bodies) = (head_of(&site), Arc::new(bodies_of(&site)));
        if let Some(redaction) = site_opening.redaction {
            catalog.set_redaction(redaction)?;
        }
        // Fails here rather than at a commit.
        catalog.redaction()?;
        let reader = MokuHistoryReader {
            site: site.clone(),
            catalog: Arc::clone(&catalog),
            head: Arc::clone(&head),
            bodies: Arc::clone(&bodies),
            settled: Some(settled),
        };
        let (reader, clock) = (HistoryReader::Moku(reader), opening.clock);
        let mut history =
            Self { site, catalog, head, bodies, reader, clock, mended: None, settled, _lock: lock };
        let followed = history.follow_intention()?;
        history.mended = history.mend_head()?.or(followed);
        history.catalog.record_seen_versions()?;
        Ok(history)
    }

    /// Completes an interrupted move of HEAD: the rows exist, but HEAD and the working tree are
    /// behind. Returns the state found, if HEAD moved.
    fn follow_intention(&self) -> Result<Option<HeadState>, RepositoryError> {
        let before = self.head().ok().flatten();
        let to = match self.catalog.intended_head() {
            Ok(None) => return Ok(None),
            Ok(Some(intended)) if intended.stands(before) => intended.to,
            // Obsolete, or not an intended move at all.
            Ok(Some(_)) | Err(_) => return self.clear_intended_head().map(|()| None),
        };
        if self.catalog.version(&to)?.is_none() {
            return self.clear_intended_head().map(|()| None);
        }
        self.bring_to(to)?;
        Ok((before != Some(to)).then_some(HeadState::Intended { to }))
    }

    /// Moves a HEAD that Moku left behind or that is lost. Returns the state found.
    fn mend_head(&self) -> Result<Option<HeadState>, RepositoryError> {
        let state = moku_head::judge(&self.catalog, &*self.head)?;
        match state.wanted() {
            Some(version) => {
                // After the repair of HEAD nothing else shows that rows are missing.
                if let HeadState::Absent { named, .. } = &state {
                    self.catalog.set_lost_head(Some(*named))?;
                }
                self.intend_head(&version)?;
                self.bring_to(version)?;
                Ok(Some(state))
            }
            None => Ok(None),
        }
    }

    /// Sets working tree, rows and HEAD to those of a version.
    fn bring_to(&self, version: VersionId) -> Result<(), RepositoryError> {
        // The tree is a convenience: a failed write there must not block access to the site. Audit
        // reports it.
        let root = self.site.root();
        let before = self.head().ok().flatten();
        if write_tree(self, root, before, version, &mut |_| {}).is_err() {
            write_tree_lossy(self, root, before, version);
        }
        self.apply(vec![CatalogRow::Head(version)])?;
        self.head.repair(version)?;
        self.settle_head()
    }

    /// This site as a reader.
    pub fn as_reader(&self) -> &HistoryReader {
        &self.reader
    }

    pub(super) fn rows(&self) -> &dyn Catalog {
        &**self.catalog
    }

    pub(super) fn now(&self) -> Moment {
        self.stored_time(Moment::from((self.clock)().instant))
    }

    pub(super) fn stored_time(&self, time: Moment) -> Moment {
        // Moku stores whole seconds: the reported time must be the stored one.
        Moment::from_seconds(time.seconds())
    }

    pub(super) fn body_worker(&self) -> BodyWorker<'_> {
        Box::new(|input, _| -> Result<StoredBody, RepositoryError> {
            Ok(match input {
                BodyInput::File(mut file, path) => {
                    let about = file.metadata().map_err(RepositoryError::read(path))?;
                    match about.is_file() && about.len() > 0 {
                        true => self.bodies.keep_seekable(&mut file)?,
                        // A pipe cannot be read twice.
                        false => self.bodies.keep_body(&mut (&mut file).take(about.len().max(1)))?,
                    }
                }
                BodyInput::Bytes(bytes) => self.bodies.keep_seekable(&mut io::Cursor::new(bytes))?,
            })
        })
    }

    /// The cache of committed files, and the time of this opening by the clock of the disk.
    pub(crate) fn seen_files(&self) -> (PathBuf, SystemTime) {
        (self.site.seen_files(), self.settled)
    }

    /// The folder of the site.
    pub(crate) fn site_root(&self) -> &Path {
        self.site.root()
    }

    /// Whether each body is stored with its length.
    pub(crate) fn have_lengths(&self, bodies: &[(BodyId, u64)]) -> Result<Vec<bool>, RepositoryError> {
        Ok(self.bodies.have_lengths(bodies)?)
    }

    pub(super) fn sync_bodies(&self) -> Result<(), RepositoryError> {
        Ok(self.bodies.sync_bodies()?)
    }

    pub(super) fn apply(&self, rows: Vec<CatalogRow>) -> Result<(), RepositoryError> {
        step("begin a transaction", self.catalog.path());
        self.catalog.apply(&mut rows.into_iter())?;
        step("transaction done", self.catalog.path());
        Ok(())
    }

    pub(super) fn intend_head(&self, version: &VersionId) -> Result<(), RepositoryError> {
        step("intend to move HEAD", self.catalog.path());
        Ok(self.catalog.intend_head(self.move_to(version))?)
    }

    /// Stores the rows of a new version with the intended move of HEAD to it, in one transaction.
    pub(super) fn enter_version(
        &self,
        rows: Vec<CatalogRow>,
        version: &VersionId,
    ) -> Result<(), RepositoryError> {
        step("begin a transaction", self.catalog.path());
        self.catalog.enter_version(rows, self.move_to(version))?;
        step("transaction done", self.catalog.path());
        Ok(())
    }

    fn move_to(&self, version: &VersionId) -> IntendedHead {
        IntendedHead { to: *version, from: self.head().ok().flatten() }
    }

    pub(super) fn move_head(&self, from: Option<VersionId>, to: VersionId) -> Result<(), RepositoryError> {
        self.head.advance(from, to)?;
        self.settle_head()
    }

    /// Completes a move of HEAD.
    fn settle_head(&self) -> Result<(), RepositoryError> {
        // Versions that exist by now do not show that HEAD was left behind.
        self.catalog.record_seen_versions()?;
        self.clear_intended_head()
    }

    pub(super) fn clear_intended_head(&self) -> Result<(), RepositoryError> {
        step("clear the intended move of HEAD", self.catalog.path());
        Ok(self.catalog.clear_intended_head()?)
    }

    pub(super) fn repaired_head(&self) -> Option<&HeadState> {
        self.mended.as_ref()
    }

    /// The loose bodies, which housekeeping may sweep.
    pub fn loose(&self) -> LooseBodyView<'_> {
        loose(&self.site, &self.bodies, self.settled)
    }

    /// Runs `work` while no other process can add rows, not even Moku, which does not know our
    /// lock.
    pub fn exclusively(
        &self,
        work: &mut dyn FnMut() -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError> {
        let mut done = Ok(());
        self.catalog.exclusively(&mut || done = work())?;
        done
    }

    /// Stores the scores of the snapshots of a version, as Moku reads them. If `is_known`, only
    /// where they are missing.
    pub fn store_snapshot_scores(
        &self,
        (version, rules, time): (&VersionId, &str, Moment),
        scores: &[SnapshotScore],
        is_known: bool,
    ) -> Result<(), RepositoryError> {
        Ok(self.catalog.store_snapshot_scores((version, rules, time), scores, is_known)?)
    }

    /// Returns the space of deleted rows to the file system.
    pub fn vacuum(&self) -> Result<(), RepositoryError> {
        step("give back room", self.catalog.path());
        Ok(self.catalog.vacuum()?)
    }

    /// Gives up the rows of [`MokuHistoryReader::lost_head`] for good.
    pub fn clear_lost_head(&self) -> Result<(), RepositoryError> {
        Ok(self.catalog.set_lost_head(None)?)
    }
}

/// Fails if the database is lost. A new one would reference no bodies, and the next sweep would
/// delete them all.
fn refuse_lost_database(site: &MokuPaths) -> Result<(), RepositoryError> {
    let (path, files) = (site.database().as_path().to_owned(), RootedFiles::new(site.root()));
    let has_content = |path: &Path| -> Result<bool, RepositoryError> {
        let found = files.entry(path).map_err(RepositoryError::read(path))?;
        Ok(found.is_some_and(|found| found.length > 0))
    };
    // A new database may consist only of its log.
    if has_content(&path)? || has_content(&path.with_extension("db-wal"))? {
        return Ok(());
    }
    if has_content(&site.head())? || bodies_of(site).list()?.iter().any(|file| file.id.is_some()) {
        return Err(RepositoryError::LostDatabase { path });
    }
    Ok(())
}

/// Bodies written after this time may belong to rows that are not written yet.
fn settled(site: &MokuPaths) -> Result<SystemTime, RepositoryError> {
    let path = site.lock();
    let lock = RootedFiles::new(site.root()).open_to_read(&path);
    lock.and_then(|lock| lock.metadata()?.modified()).map_err(RepositoryError::read(&path))
}

/// The loose bodies, for housekeeping. Moku does not know varve's lock, writes bodies before rows,
/// and does not rewrite bodies that exist. So while Moku has the site open, it may be about to
/// reference any of them.
fn loose<'a>(site: &'a MokuPaths, bodies: &'a LooseBodies, settled: SystemTime) -> LooseBodyView<'a> {
    LooseBodyView { bodies, settled, is_shared: Box::new(|| is_open_elsewhere(site.database().as_path())) }
}
