//! Storing revisions: body and row together, or neither.
//!
//! A body is written and made durable as a draft before anything else. Then, in one transaction, the
//! row is inserted, which gives the id, the body gets the name that the id demands, its folder is
//! made durable, and only then is the transaction committed. A crash before that leaves at worst a
//! body that no row names; the row that takes its id later puts that file aside. Crystal commits
//! first, and a crash then leaves a row whose body never comes.
//!
//! A Crystal may open the project meanwhile and migrate it from version 1. It makes the folder of the
//! new tree, lists the rows, moves their bodies, commits the version, and deletes the old folder with
//! all that it has not moved. So each transaction reads the version again, and:
//!
//! * Where the folder of the new tree is there, a body goes into it at once. Crystal cannot commit
//!   the version before this transaction ends.
//! * Otherwise Crystal may make that folder and list the rows before this transaction is committed,
//!   and so miss its bodies. They have a second name until that was checked after the commit, and
//!   are put into the tree if there is one by then, even if Crystal has deleted the first.
//! * If there is none, a later migration will list the rows of these bodies.

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

/// Attempts to put a body into a folder that Crystal gives its final name meanwhile.
const MAX_PLACE_ATTEMPTS: usize = 3;

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
        let mut placed = PlacedBodies::default();
        let mut version = self.version();
        let kept = self.change("revisions", |change| {
            version = self.project.read_version()?;
            let ids = ready.into_iter().map(|ready| change.keep(ready, version, &mut placed));
            let ids = ids.collect::<Result<Vec<_>>>()?;
            for folder in &placed.folders {
                self.sync_body_folder(folder)?;
            }
            Ok(ids)
        });
        if matches!(&kept, Err(error) if !matches!(error, Error::Database { .. })) {
            // No row names them. After a failed commit that is not certain, and they stay.
            for path in placed.paths {
                let _ = self.disk.remove_file(&path);
            }
            return kept;
        }
        let ids = kept?;
        self.project.version = version;
        for (id, spare) in &placed.flat {
            self.follow_migration(*id, spare)?;
        }
        self.pack_completed(&ids);
        Ok(ids)
    }

    /// Makes the names in a folder of bodies durable.
    fn sync_body_folder(&self, folder: &Path) -> Result<()> {
        match (self.disk.sync_folder(folder), folder.strip_prefix(self.layout.in_progress())) {
            // Crystal has ended its migration.
            (Err(error), Ok(below)) if error.is_absent() => {
                self.disk.sync_folder(&self.layout.revisions().join(below))
            }
            (synced, _) => synced,
        }
    }

    /// Puts a body of the flat folder into the tree of a migration that may have missed it.
    fn follow_migration(&self, id: RevisionId, spare: &SettledBody) -> Result<()> {
        let (Some(name), Some(below)) = (flat_name(id), tree_path(id)) else { return Ok(()) };
        let (flat, discarded) = (self.layout.revisions(), self.layout.discarded());
        let names = [flat.join(&name), discarded.join(&name), spare.path()];
        retry_absent(|| {
            let tree = match (self.in_progress()?, self.project.read_version()?) {
                (Some(tree), _) => tree,
                (None, MajorVersion::Flat) => return Ok(()),
                (None, _) => self.layout.revisions(),
            };
            self.put_into_tree(&tree, &tree.join(&below), &names)
        })
    }

    /// Gives the body that has one of these names its place in a tree, unless it has it.
    fn put_into_tree(&self, tree: &Path, place: &Path, names: &[PathBuf]) -> Result<()> {
        let parent = place.parent().unwrap_or(tree);
        self.disk.ensure_folders_below(tree, parent)?;
        for name in names {
            // Crystal may move or remove it at the same time.
            if self.disk.kind(name)?.is_some() && self.disk.rename_new(name, place)? {
                break;
            }
        }
        self.disk.sync_folder(parent)
    }

    /// The tree of a migration that is under way.
    fn in_progress(&self) -> Result<Option<PathBuf>> {
        let tree = self.layout.in_progress();
        Ok(self.layout.has_folder(&tree)?.then_some(tree))
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

    /// The folder of all bodies that a new one belongs in, and its file in it.
    fn place_of_new(&self, id: RevisionId, version: MajorVersion) -> Result<BodyTarget> {
        let largest = if version == MajorVersion::Flat { i64::MAX } else { MAX_TREE_ID };
        if id.get() > largest {
            return Err(Error::TooManyRevisions { path: self.path().to_owned(), id: id.get() });
        }
        fit_id(id.get())?;
        let settled = BodyFinder { version, ..self.bodies() }.expected_place(id);
        Ok(match (self.in_progress()?, tree_path(id)) {
            (Some(root), Some(below)) => BodyTarget { file: root.join(below), root },
            _ => BodyTarget { file: settled, root: self.layout.revisions() },
        })
    }
}

/// Where a body is put.
struct BodyTarget {
    root: PathBuf,
    file: PathBuf,
}

/// The bodies that a transaction has put in their places.
#[derive(Default)]
struct PlacedBodies {
    paths: Vec<PathBuf>,
    folders: BTreeSet<PathBuf>,
    /// Those in the flat folder, and the second names that they have if the file system allows it.
    flat: Vec<(RevisionId, SettledBody)>,
}

/// Tries again where a folder was not there: Crystal may just have renamed it.
fn retry_absent<T>(mut act: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..MAX_PLACE_ATTEMPTS {
        match act() {
            Err(error) if error.is_absent() => {}
            done => return done,
        }
    }
    act()
}

impl ProjectChange<'_> {
    fn keep(
        &self,
        ready: PreparedRevision,
        version: MajorVersion,
        placed: &mut PlacedBodies,
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
        retry_absent(|| self.put_aside(id, version))?;
        if let Some(body) = body {
            let BodyTarget { root, file } = retry_absent(|| self.place_body(id, version, &body))?;
            placed.folders.extend(file.parent().map(Path::to_owned));
            placed.paths.push(file);
            if version == MajorVersion::Flat && root == self.writer.layout.revisions() {
                placed.flat.push((id, body));
            } else {
                body.renamed();
            }
        }
        Ok(id)
    }

    /// Gives a body its name. In the flat folder it keeps the one that it has, if it can have two.
    fn place_body(&self, id: RevisionId, version: MajorVersion, body: &SettledBody) -> Result<BodyTarget> {
        let disk = &self.writer.disk;
        let target = self.writer.place_of_new(id, version)?;
        if let Some(parent) = target.file.parent() {
            disk.ensure_folders_below(&target.root, parent)?;
        }
        let is_linked = version == MajorVersion::Flat && disk.link(&body.path(), &target.file)?;
        if !is_linked {
            disk.rename(&body.path(), &target.file)?;
        }
        Ok(target)
    }

    /// Moves a file that no row named out of the way of the one that now gets its name.
    fn put_aside(&self, id: RevisionId, version: MajorVersion) -> Result<()> {
        let name = format!("revision-{id}");
        if version == MajorVersion::Packed
            && let Some((pack, entry)) = pack_path(id)
        {
            let pack = self.writer.layout.revisions().join(pack);
            self.writer.packing().take_out(&pack, &entry, &name)?;
        }
        let settled = BodyFinder { version, ..self.writer.bodies() }.expected_place(id);
        for place in [self.writer.place_of_new(id, version)?.file, settled] {
            if self.writer.disk.kind(&place)?.is_some() {
                salvage(&self.writer.disk, &self.writer.layout.salvage(), &place, &name)?;
            }
        }
        Ok(())
    }
}

/// Refuses texts that no revision has, and a body where there can be none.
fn refuse_texts(error: &str, metadata: &str, has_body: bool) -> Result<()> {
    let refused = |column: &'static str| move |problem: JsonProblem| ChangeRefusal::Text { column, problem };
    let failed = DownloadError::read(error).map_err(refused("error"))?.is_some();
    ResponseMetadata::read(metadata).map_err(refused("metadata"))?;
    if failed && has_body { Err(ChangeRefusal::BodyOfError.into()) } else { Ok(()) }
}
