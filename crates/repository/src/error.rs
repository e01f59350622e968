//! Why an archive could not be opened, read or written, with the place where it happened.

use std::io;
use std::path::{Path, PathBuf};

use varve_catalog::{CatalogError, Removal};
use varve_core::VersionId;
use varve_core::body::BodyError;
use varve_core::id::IdError;
use varve_plan::PlanError;
use varve_store::StoreError;
use varve_store::aardwarc::AardwarcError;
use varve_store::lock::LockError;

use crate::rows::UnreadableFact;
use crate::settings::SettingsError;
use crate::tree::ManifestError;

/// Why an archive could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// A dictionary is larger than readers must hold.
    #[error("`{}` is no dictionary for silos: it is larger than 8 MiB", path.display())]
    Dictionary {
        /// The file.
        path: PathBuf,
    },
    /// The folder is no archive.
    #[error("`{}` is no archive: it holds no `varve.toml`", path.display())]
    NotAnArchive {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something else.
    #[error("`{}` is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The settings cannot be used.
    #[error("cannot use `{}`", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SettingsError,
    },
    /// The index is gone.
    #[error("the archive has no index: `{}` is missing", path.display())]
    NoIndex {
        /// Where it should be.
        path: PathBuf,
    },
    /// New silos are in their place, and what was made from them is not.
    #[error("`{}` stands between two states: new silos are in place, and their index and catalog are not yet", path.display())]
    PendingSwap {
        /// The archive.
        path: PathBuf,
    },
    /// There is no catalog.
    #[error("the archive has no catalog: `{}` is missing", path.display())]
    NoCatalog {
        /// Where it should be.
        path: PathBuf,
    },
    /// The silos say more than the catalog knows, and it cannot be had.
    #[error("the catalog is behind the silos, and what they say behind it cannot be read")]
    Behind {
        /// Why.
        source: Box<RepositoryError>,
    },
    /// The catalog did not do it.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A body could not be had or kept.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A record of history that cannot be understood.
    #[error(transparent)]
    UnreadableFact(#[from] UnreadableFact),
    /// HEAD does not hold a version.
    #[error("`{}` does not hold the id of a version", path.display())]
    BadHead {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: IdError,
    },
    /// Nothing was committed yet.
    #[error("there is no version yet")]
    NoVersions,
    /// A Moku site holds what only its database explains, and that is not there.
    #[error("`{}` is missing or empty, though the site holds versions or bodies", path.display())]
    LostDatabase {
        /// Where it should be.
        path: PathBuf,
    },
    /// A version was written down for good, and what makes it seen was not.
    #[error("version {version} is kept, and could not be entered everywhere")]
    HalfEntered {
        /// The version.
        version: VersionId,
        /// Why not.
        source: Box<RepositoryError>,
    },
    /// Versions cannot be added to this layout.
    #[error("`{}` is a Crystal project, to which versions cannot be added", path.display())]
    NotForVersions {
        /// The project.
        path: PathBuf,
    },
    /// The capture records that nothing could be had.
    #[error("the download of `{}` failed then: {kind}: {}", url.escape_debug(), message.escape_debug())]
    DownloadFailed {
        /// The URL.
        url: String,
        /// The kind of failure, as the project names it.
        kind: String,
        /// What was said about it.
        message: String,
    },
    /// A body that should be there is not.
    #[error("the body of `{}` is lost: `{}` is missing", url.escape_debug(), expected.display())]
    BodyLost {
        /// The URL.
        url: String,
        /// Where it should be.
        expected: PathBuf,
    },
    /// No version is called so.
    #[error("no version is called `{}`", text.escape_debug())]
    NoVersion {
        /// What was given.
        text: String,
    },
    /// A version was taken out of the silos.
    #[error("{}", describe_removal(&format!("version {version}"), removal))]
    VersionRemoved {
        /// The version.
        version: VersionId,
        /// What tells of it.
        removal: Box<Removal>,
    },
    /// More steps back than there are versions.
    #[error("`{}` goes back past the first version", text.escape_debug())]
    BeforeFirst {
        /// What was given.
        text: String,
    },
    /// A time before all versions.
    #[error("there was no version yet at `{}`", text.escape_debug())]
    NoVersionYet {
        /// What was given.
        text: String,
    },
    /// A time, where what is meant must be named.
    #[error("`{}` is a time, and what is to go must be named", text.escape_debug())]
    NotByTime {
        /// What was given.
        text: String,
    },
    /// Several versions begin so.
    #[error("{count} or more versions begin with `{text}`")]
    AmbiguousVersion {
        /// What was given.
        text: String,
        /// How many were found.
        count: usize,
    },
    /// It was taken out of the silos.
    #[error("{}", describe_removal(&format!("`{}`", url.escape_debug()), removal))]
    Removed {
        /// The URL, or the id that was asked for.
        url: String,
        /// What tells of it.
        removal: Box<Removal>,
    },
    /// There are as many versions as were allowed, or more.
    #[error("nothing is committed to a history of {most} or more versions: it has {found}")]
    TooManyVersions {
        /// How many there are.
        found: u64,
        /// How many there may be.
        most: u64,
        /// Whether they are in silos, which nothing leaves.
        in_silos: bool,
    },
    /// Something in a working tree that is no folder.
    #[error("`{}` is in the way: it is not a folder", path.display())]
    InTheWay {
        /// What is there.
        path: PathBuf,
    },
    /// A version needs a reason.
    #[error("a version needs a message")]
    NoMessage,
    /// A plan that cannot be read.
    #[error("cannot use `{}`", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PlanError,
    },
    /// Somebody else is writing.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The text is no id.
    #[error("`{}` is not an id", text.escape_debug())]
    NotAnId {
        /// What was given.
        text: String,
        /// Why.
        source: IdError,
    },
    /// Nothing has that id.
    #[error("nothing in this archive has the id `{id}`")]
    Absent {
        /// The id, or its beginning.
        id: String,
    },
    /// A file or folder cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else where a folder was meant.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// What was given.
        path: PathBuf,
    },
    /// A pattern that is none.
    #[error("`{}` is not a pattern", pattern.escape_debug())]
    Pattern {
        /// What was given.
        pattern: String,
        /// Why.
        source: globset::Error,
    },
    /// An object is no manifest of a tree, or one that must not be followed.
    #[error("`{id}` is not the manifest of a tree that can be restored")]
    Manifest {
        /// The object.
        id: String,
        /// Why.
        source: ManifestError,
    },
    /// An AardWARC store cannot be read.
    #[error("could not read the AardWARC store `{}`", path.display())]
    Aardwarc {
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: AardwarcError,
    },
    /// A Crystal project did not do it.
    #[error(transparent)]
    Crystal(#[from] varve_crystal::Error),
    /// An AardWARC store is asked for more than objects.
    #[error("`{}` is an AardWARC store: its objects can be read, and nothing can be added", path.display())]
    OnlyObjects {
        /// The store.
        path: PathBuf,
    },
    /// The settings of an AardWARC store, without its silos.
    #[error("`{}` has the settings of an AardWARC store, and no silo of one is where they say", path.display())]
    NoAardwarcSilos {
        /// The store.
        path: PathBuf,
    },
    /// An object was read with an error: the store's when it was the silo's fault.
    #[error("could not read the object `{id}`")]
    ReadObject {
        /// The object.
        id: String,
        /// Why.
        source: io::Error,
    },
}

impl RepositoryError {
    /// The catalog cannot be brought up to the silos.
    pub fn behind(source: impl Into<Self>) -> Self {
        Self::Behind { source: Box::new(source.into()) }
    }

    /// Wraps an I/O error of reading `path`.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    /// Wraps an I/O error of writing `path`.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    /// Whether the disk, the folder or a file can only be read.
    pub fn is_read_only(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let forbids = |error: &(dyn std::error::Error + 'static)| {
            let error = error.downcast_ref::<io::Error>();
            error.is_some_and(|error| matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem))
        };
        let mut causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        matches!(self, Self::Catalog(CatalogError::ReadOnly { .. })) || causes.any(forbids)
    }

    /// Whether a disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Catalog(CatalogError::DiskFull { .. }))
            || varve_store::audit::is_out_of_space(self)
    }

    /// Whether the archive itself cannot go on, as opposed to one file that is to be stored or restored.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Store(StoreError::Content(_)) => false,
            Self::Store(_) | Self::Lock(_) | Self::Catalog(_) | Self::Behind { .. } => true,
            // A row that cannot be understood is one page's trouble.
            Self::Crystal(error) => !matches!(error, varve_crystal::Error::Row(_)),
            _ => false,
        }
    }
}

/// That something was taken out, in words.
fn describe_removal(what: &str, removal: &Removal) -> String {
    let Removal { tombstone_record, tombstone } = removal;
    let (from, record) = match tombstone.is_of_record() {
        true => ("the silos", format!("the record was {}, and ", tombstone.record)),
        false => ("its versions", String::new()),
    };
    format!(
        "{what} was taken out of {from} on {} by {}: {}; {record}its tombstone is {tombstone_record}",
        tombstone.time.for_people(),
        tombstone.who.escape_debug(),
        tombstone.why.escape_debug(),
    )
}
