//! Storing revisions: body and row together, or neither.
//!
//! A body is written and made durable as a draft before anything else. Then, in one transaction, the
//! row is inserted, which gives the id, the body gets the name that the id demands, its folder is
//! made durable, and only then is the transaction committed. A crash before that leaves at worst a
//! body that no row names; the row that takes its id later puts that file aside. Crystal commits
//! first, and a crash then leaves a row whose body never comes.
//!
//! A Crystal may open the project meanwhile and migrate it. So each transaction reads the version
//! again. Crystal lists the rows of a project of version 1 when it has made the folder of the new
//! tree, and in the end deletes what it has not moved: a body that it may have missed is moved here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use varve_core::secret::Secret;

use crate::body::{BodyDraft, BodyFinder, MAX_TREE_ID, SettledBody, flat_name, pack_path, tree_path};
use crate::error::{ChangeRefusal, Error, Result};
use crate::format_error::JsonProblem;
use crate::ids::{ResourceId, RevisionId};
use crate::revision::{DownloadError, ResponseMetadata};
use crate::salvage::salvage;
use crate::version::MajorVersion;

use super::{ProjectChange, ProjectWriter, fit_id};

/// A revision to store.
#[derive(Debug)]
pub struct NewRevision {
    /// The id to give it, or none for the next.
    pub id: Option<RevisionId>,
    /// The resource that was downloaded.
    pub resource: ResourceId,
    /// The `Cookie` header that was sent.
    pub request_cookie: Option<Secret<String>>,
    /// The outcome.
    pub outcome: DownloadOutcome,
}

/// The outcome of a download.
#[derive(Debug)]
pub enum DownloadOutcome {
    /// A response with a body, which may be empty. Without HTTP there is no metadata.
    Fetched {
        /// Status and headers.
        metadata: Option<ResponseMetadata>,
        /// The body.
        body: BodyDraft,
    },
    /// No response.
    Failed(DownloadError),
    /// The two texts of a row of another project, unchanged, and its body if it has one.
    Verbatim {
        /// The text of the `error` column.
        error: String,
        /// The text of the `metadata` column.
        metadata: String,
        /// The body, if there is one.
        body: Option<BodyDraft>,
    },
}

/// The texts and the body of a revision, ready to be stored.
struct PreparedRevision {
    id: Option<RevisionId>,
    resource: ResourceId,
    request_cookie: Option<Secret<String>>,
    error: String,
    metadata: String,
    body: Option<SettledBody>,
    is_verbatim: bool,
}

impl ProjectWriter {
    /// Begins a body. Write its bytes, then pass it with its revision.
    pub fn begin_body(&self) -> Result<BodyDraft> {
        BodyDraft::begin(&self.layout)
    }

    /// Stores a revision durably. Returns its id.
    pub fn add_revision(&mut self, new: NewRevision) -> Result<RevisionId> {
        let ids = self.add_revisions([new])?;
        Ok(ids[0])
    }

    /// Stores all of these revisions, or none.
    pub fn add_revisions(&mut self, new: impl IntoIterator<Item = NewRevision>) -> Result<Vec<RevisionId>> {
        let ready: Vec<PreparedRevision> =
            new.into_iter().map(|new| self.ready(new)).collect::<Result<_>>()?;
        let mut placed = Vec::new();
        let mut version = self.version();
        let kept = self.change("revisions", |change| {
            version = self.project.read_version()?;
            let mut folders = BTreeSet::new();
            let ids = ready.into_iter().map(|ready| change.keep(ready, version, &mut placed, &mut folders));
            let ids = ids.collect::<Result<Vec<_>>>()?;
            for folder in &folders {
                self.disk.sync_folder(folder)?;
            }
            Ok(ids)
        });
        if matches!(&kept, Err(error) if !matches!(error, Error::Database { .. })) {
            // No row names them. After a failed commit that is not certain, and they stay.
            for path in placed {
                let _ = self.disk.remove_file(&path);
            }
        }
        let ids = kept?;
        self.project.version = version;
        self.follow_migration(&ids)?;
        self.pack_completed(&ids);
        Ok(ids)
    }

    /// Moves bodies out of the flat folder that a Crystal is emptying at this moment.
    fn follow_migration(&mut self, stored: &[RevisionId]) -> Result<()> {
        if self.version() != MajorVersion::Flat {
            return Ok(());
        }
        let layout = &self.project.layout;
        let tree = match (layout.has_folder(&layout.in_progress())?, self.project.read_version()?) {
            (true, _) => layout.in_progress(),
            (false, MajorVersion::Flat) => return Ok(()),
            (false, _) => layout.revisions(),
        };
        for id in stored {
            let (Some(name), Some(path)) = (flat_name(*id), tree_path(*id)) else { continue };
            let to = tree.join(path);
            for from in [layout.revisions().join(&name), layout.discarded().join(&name)] {
                if self.disk.kind(&from)?.is_some() {
                    self.disk.ensure_folders_below(&tree, to.parent().unwrap_or(&tree))?;
                    self.disk.rename_new(&from, &to)?;
                }
            }
            self.disk.sync_folder(to.parent().unwrap_or(&tree))?;
        }
        Ok(())
    }

    /// Makes the body durable and writes the texts.
    fn ready(&self, new: NewRevision) -> Result<PreparedRevision> {
        let NewRevision { id, resource, request_cookie, outcome } = new;
        let is_verbatim = matches!(outcome, DownloadOutcome::Verbatim { .. });
        let null = || "null".to_owned();
        let (error, metadata, body) = match outcome {
            DownloadOutcome::Fetched { metadata, body } => {
                (null(), metadata.map_or_else(null, |metadata| metadata.to_json()), Some(body))
            }
            DownloadOutcome::Failed(error) => (error.to_json(), null(), None),
            DownloadOutcome::Verbatim { error, metadata, body } => {
                refuse_texts(&error, &metadata, body.is_some())?;
                (error, metadata, body)
            }
        };
        let body = body.map(|body| body.settle(&self.disk)).transpose()?;
        Ok(PreparedRevision { id, resource, request_cookie, error, metadata, body, is_verbatim })
    }

    /// The file in which a new body with that id belongs.
    fn place_of_new(&self, id: RevisionId, version: MajorVersion) -> Result<PathBuf> {
        let largest = if version == MajorVersion::Flat { i64::MAX } else { MAX_TREE_ID };
        if id.get() > largest {
            return Err(Error::TooManyRevisions { path: self.path().to_owned(), id: id.get() });
        }
        fit_id(id.get())?;
        Ok(BodyFinder { version, ..self.bodies() }.expected_place(id))
    }
}

impl ProjectChange<'_> {
    fn keep(
        &self,
        ready: PreparedRevision,
        version: MajorVersion,
        placed: &mut Vec<PathBuf>,
        folders: &mut BTreeSet<PathBuf>,
    ) -> Result<RevisionId> {
        let PreparedRevision { id, resource, request_cookie, error, metadata, body, is_verbatim } = ready;
        if !is_verbatim && self.writer.resource(resource)?.is_none() {
            return Err(ChangeRefusal::Unknown { what: "resource", id: resource.get() }.into());
        }
        let sql = "INSERT INTO resource_revision (id, resource_id, request_cookie, error, metadata) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let cookie = request_cookie.as_ref().map(Secret::expose);
        let taken = || "a revision with that id".to_owned();
        let id = RevisionId(self.insert(sql, (id, resource, cookie, error, metadata), taken)?);
        let place = self.writer.place_of_new(id, version)?;
        self.put_aside(id, version, &place)?;
        if let Some(body) = body {
            self.name_body(body, &place)?;
            folders.extend(place.parent().map(Path::to_owned));
            placed.push(place);
        }
        Ok(id)
    }

    fn name_body(&self, body: SettledBody, place: &Path) -> Result<()> {
        let disk = &self.writer.disk;
        if let Some(parent) = place.parent() {
            disk.ensure_folders_below(&self.writer.layout.revisions(), parent)?;
        }
        let from = body.keep();
        disk.rename(&from, place).inspect_err(|_| {
            let _ = disk.remove_file(&from);
        })
    }

    /// Moves a file that no row named out of the way of the one that now gets its name.
    fn put_aside(&self, id: RevisionId, version: MajorVersion, place: &Path) -> Result<()> {
        let name = format!("revision-{id}");
        if version == MajorVersion::Packed
            && let Some((pack, entry)) = pack_path(id)
        {
            let pack = self.writer.layout.revisions().join(pack);
            self.writer.packing().take_out(&pack, &entry, &name)?;
        }
        if self.writer.disk.kind(place)?.is_none() {
            return Ok(());
        }
        salvage(&self.writer.disk, &self.writer.layout.salvage(), place, &name).map(drop)
    }
}

/// Refuses texts that no revision has, and a body where there can be none.
fn refuse_texts(error: &str, metadata: &str, has_body: bool) -> Result<()> {
    let refused = |column: &'static str| move |problem: JsonProblem| ChangeRefusal::Text { column, problem };
    let failed = DownloadError::read(error).map_err(refused("error"))?.is_some();
    ResponseMetadata::read(metadata).map_err(refused("metadata"))?;
    if failed && has_body { Err(ChangeRefusal::BodyOfError.into()) } else { Ok(()) }
}
