//! Errors of opening, reading and writing an archive, each with the path or id it concerns.

use std::io;
use std::path::{Path, PathBuf};

use varve_catalog::{CatalogError, Removal};
use varve_core::body::BodyError;
use varve_core::fact::FactError;
use varve_core::head_store::HeadError;
use varve_core::id::IdError;
use varve_core::secret::ShownUrl;
use varve_core::writer_lock::LockError;
use varve_core::{RecordId, VersionId};
use varve_plan::PlanError;
use varve_search::TextRecordError;
use varve_store::StoreError;
use varve_store::aardwarc::AardwarcError;
use varve_webarchive::WebArchiveError;

use crate::settings::SettingsError;
use crate::tree_manifest_error::ManifestError;

/// A record that should be a fact and cannot be parsed as one.
#[derive(Debug, thiserror::Error)]
#[error("record {record} cannot be understood")]
pub struct UnreadableFact {
    /// The record.
    pub record: RecordId,
    /// The cause.
    pub source: FactError,
}

/// An error of opening, reading or writing an archive.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// The log of versions cannot be used.
    #[error("the log of versions cannot be used: {0}")]
    Log(varve_tlog::LogError),
    /// A dictionary exceeds the size that silo readers are required to support (8 MiB).
    #[error("`{}` is no dictionary for silos: it is larger than 8 MiB", path.display())]
    Dictionary {
        /// The file.
        path: PathBuf,
    },
    /// The folder is not an archive.
    #[error("`{}` is no archive: it holds no `varve.toml`", path.display())]
    NotAnArchive {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is not empty.
    #[error("`{}` is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The settings file is invalid.
    #[error("cannot use `{}`", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: SettingsError,
    },
    /// The index is missing.
    #[error("the archive has no index: `{}` is missing", path.display())]
    NoIndex {
        /// The expected path.
        path: PathBuf,
    },
    /// New silos are in place, but the index and catalog derived from them are not yet.
    #[error("`{}` stands between two states: new silos are in place, and their index and catalog are not yet", path.display())]
    PendingSwap {
        /// The archive.
        path: PathBuf,
    },
    /// The catalog is missing.
    #[error("the archive has no catalog: `{}` is missing", path.display())]
    NoCatalog {
        /// The expected path.
        path: PathBuf,
    },
    /// The silos hold records that the catalog lacks, and reading those records failed.
    #[error("the catalog is behind the silos, and what they say behind it cannot be read")]
    Behind {
        /// The cause.
        source: Box<RepositoryError>,
    },
    /// A catalog operation failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A record of the search index cannot be read.
    #[error(transparent)]
    TextRecord(#[from] TextRecordError),
    /// A body could not be read or stored.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A history record could not be parsed.
    #[error(transparent)]
    UnreadableFact(#[from] UnreadableFact),
    /// HEAD does not hold a version id.
    #[error("`{}` does not hold the id of a version", path.display())]
    BadHead {
        /// The file.
        path: PathBuf,
        /// The parse error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// HEAD was moved while a writer was about to move it.
    #[error("HEAD was moved meanwhile: it should be at {}, and is at {}", id_or_none(*expected), id_or_none(*found))]
    HeadMoved {
        /// The version that it should name.
        expected: Option<VersionId>,
        /// The version that it names.
        found: Option<VersionId>,
    },
    /// The archive has no version yet.
    #[error("there is no version yet")]
    NoVersions,
    /// A Moku site holds versions or bodies, but the database that describes them is missing or
    /// empty.
    #[error("`{}` is missing or empty, though the site holds versions or bodies", path.display())]
    LostDatabase {
        /// The expected path.
        path: PathBuf,
    },
    /// The version is stored durably, but the catalog rows or HEAD that make it visible were not
    /// written.
    #[error("version {version} is kept, and could not be entered everywhere")]
    HalfEntered {
        /// The version.
        version: VersionId,
        /// The cause.
        source: Box<RepositoryError>,
    },
    /// Versions cannot be added to this layout.
    #[error("`{}` is a Crystal project, to which versions cannot be added", path.display())]
    NotForVersions {
        /// The project.
        path: PathBuf,
    },
    /// A web archive is read in place, and nothing is added to it.
    #[error("`{}` is a web archive of another program, to which nothing is added", path.display())]
    ReadInPlace {
        /// The file or folder.
        path: PathBuf,
    },
    /// A web archive cannot be opened or read.
    #[error(transparent)]
    WebArchive(#[from] WebArchiveError),
    /// The capture records a failed download, so it has no body.
    #[error("the download of `{}` failed then: {kind}: {}", url.escape_debug(), message.escape_debug())]
    DownloadFailed {
        /// The URL.
        url: String,
        /// The kind of failure, as the project names it.
        kind: String,
        /// The failure message that the project recorded.
        message: String,
    },
    /// The file of a body is missing.
    #[error("the body of `{}` is lost: `{}` is missing", url.escape_debug(), expected.display())]
    BodyLost {
        /// The URL.
        url: String,
        /// The expected path.
        expected: PathBuf,
    },
    /// No version has this name.
    #[error("no version is called `{}`", ShownUrl(text).to_string().escape_debug())]
    NoVersion {
        /// The text that the user gave.
        text: String,
    },
    /// The version was removed from the silos.
    #[error("{}", describe_removal(&format!("version {version}"), removal))]
    VersionRemoved {
        /// The version.
        version: VersionId,
        /// The removal, with its tombstone.
        removal: Box<Removal>,
    },
    /// The text asks for more steps back than there are versions.
    #[error("`{}` goes back past the first version", text.escape_debug())]
    BeforeFirst {
        /// The text that the user gave.
        text: String,
    },
    /// The time is before the first version.
    #[error("there was no version yet at `{}`", text.escape_debug())]
    NoVersionYet {
        /// The text that the user gave.
        text: String,
    },
    /// The text is a time, but an irreversible operation requires the version to be named.
    #[error("`{}` is a time, and what is to go must be named", text.escape_debug())]
    NotByTime {
        /// The text that the user gave.
        text: String,
    },
    /// No check has this id.
    #[error("there is no check `{}`", text.escape_debug())]
    NoCheck {
        /// The text that the user gave.
        text: String,
    },
    /// Several check ids begin with this prefix.
    #[error("{count} or more checks begin with `{text}`")]
    AmbiguousCheck {
        /// The text that the user gave.
        text: String,
        /// The number of matches found.
        count: usize,
    },
    /// Several version ids begin with this prefix.
    #[error("{count} or more versions begin with `{text}`")]
    AmbiguousVersion {
        /// The text that the user gave.
        text: String,
        /// The number of matches found.
        count: usize,
    },
    /// The content was removed from the silos.
    #[error("{}", describe_removal(&format!("`{}`", url.escape_debug()), removal))]
    Removed {
        /// The requested URL or id.
        url: String,
        /// The removal, with its tombstone.
        removal: Box<Removal>,
    },
    /// The history has reached or exceeded the allowed number of versions.
    #[error("nothing is committed to a history of {most} or more versions: it has {found}")]
    TooManyVersions {
        /// The number of versions.
        found: u64,
        /// The allowed number of versions.
        most: u64,
        /// Whether the versions are stored in silos, from which nothing is removed.
        in_silos: bool,
    },
    /// A path in a working tree must be a folder, but something else is there.
    #[error("`{}` is in the way: it is not a folder", path.display())]
    InTheWay {
        /// The path.
        path: PathBuf,
    },
    /// A version requires a message.
    #[error("a version needs a message")]
    NoMessage,
    /// A plan is invalid.
    #[error("cannot use `{}`", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: PlanError,
    },
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A store operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The text is not an id.
    #[error("`{}` is not an id", text.escape_debug())]
    NotAnId {
        /// The text that the user gave.
        text: String,
        /// The cause.
        source: IdError,
    },
    /// The archive holds nothing with this id.
    #[error("nothing in this archive has the id `{id}`")]
    Absent {
        /// The id, or its prefix.
        id: String,
    },
    /// A file or folder cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path must be a folder, but is something else.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// The path that the user gave.
        path: PathBuf,
    },
    /// The pattern is not a valid glob.
    #[error("`{}` is not a pattern", pattern.escape_debug())]
    Pattern {
        /// The pattern that the user gave.
        pattern: String,
        /// The cause.
        source: globset::Error,
    },
    /// The object is not the manifest of a tree, or is one that is unsafe to restore.
    #[error("`{id}` is not the manifest of a tree that can be restored")]
    Manifest {
        /// The object.
        id: String,
        /// The cause.
        source: ManifestError,
    },
    /// An AardWARC store cannot be read.
    #[error("could not read the AardWARC store `{}`", path.display())]
    Aardwarc {
        /// Its folder.
        path: PathBuf,
        /// The cause.
        source: AardwarcError,
    },
    /// An operation on a Crystal project failed.
    #[error(transparent)]
    Crystal(#[from] varve_crystal::Error),
    /// The caller asked an AardWARC store for more than reading objects.
    #[error("`{}` is an AardWARC store: its objects can be read, and nothing can be added", path.display())]
    OnlyObjects {
        /// The store.
        path: PathBuf,
    },
    /// The settings are those of an AardWARC store, but the folder they name holds none of its
    /// silos.
    #[error("`{}` has the settings of an AardWARC store, and no silo of one is where they say", path.display())]
    NoAardwarcSilos {
        /// The store.
        path: PathBuf,
    },
    /// Reading an object failed. `source` wraps the store's error if the silo is at fault.
    #[error("could not read the object `{id}`")]
    ReadObject {
        /// The object.
        id: String,
        /// The cause.
        source: io::Error,
    },
}

impl RepositoryError {
    /// Wraps the error that prevented the catalog from catching up with the silos.
    pub fn behind(source: impl Into<Self>) -> Self {
        Self::Behind { source: Box::new(source.into()) }
    }

    /// Wraps an I/O error from reading `path`.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    /// Wraps an I/O error from writing `path`.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    /// Returns true if the file system, folder or file is read-only.
    pub fn is_read_only(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let forbids = |error: &(dyn std::error::Error + 'static)| {
            let error = error.downcast_ref::<io::Error>();
            error.is_some_and(|error| matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem))
        };
        let mut causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        matches!(self, Self::Catalog(CatalogError::ReadOnly { .. })) || causes.any(forbids)
    }

    /// Returns true if a disk is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Catalog(CatalogError::DiskFull { .. }) => true,
            Self::HalfEntered { source, .. } => source.is_disk_full(),
            _ => varve_store::is_out_of_space(self),
        }
    }

    /// Returns true if the archive as a whole cannot continue, rather than one file to store or
    /// restore.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Store(StoreError::Content(_)) => false,
            Self::Store(_) | Self::Lock(_) | Self::Catalog(_) | Self::Behind { .. } => true,
            // An unreadable row affects only one page.
            Self::Crystal(error) => !matches!(error, varve_crystal::Error::Row(_)),
            _ => false,
        }
    }
}

impl From<HeadError> for RepositoryError {
    fn from(error: HeadError) -> Self {
        match error {
            HeadError::Moved { expected, found } => Self::HeadMoved { expected, found },
            HeadError::NotAnId { place: path, source } => Self::BadHead { path, source },
            HeadError::Read { place: path, source } => Self::Read { path, source },
            HeadError::Write { place: path, source } => Self::Write { path, source },
        }
    }
}

fn id_or_none(version: Option<VersionId>) -> String {
    version.map_or_else(|| "no version".to_owned(), |id| id.to_string())
}

/// Formats the message that `what` was removed.
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

impl From<varve_tlog::LogError> for RepositoryError {
    fn from(error: varve_tlog::LogError) -> Self {
        Self::Log(error)
    }
}
