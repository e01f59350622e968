//! What can keep an archive from doing what it was asked, each with the place where it happened.

use std::io;
use std::path::{Path, PathBuf};

use varve_catalog::{CatalogError, Removal};
use varve_core::body::BodyError;
use varve_core::id::IdError;
use varve_core::url::UrlError;
use varve_core::{Moment, VersionId};
use varve_plan::{EditError, PlanError, Problem};
use varve_store::StoreError;
use varve_store::aardwarc::AardwarcError;
use varve_store::lock::LockError;

use crate::rows::OddFact;
use crate::settings::SettingsError;
use crate::tree::ManifestError;

/// Why the archive did not do it.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A dictionary is larger than readers must hold.
    #[error("`{}` is no dictionary for silos: it is larger than 8 MiB", path.display())]
    Dictionary {
        /// The file.
        path: PathBuf,
    },
    /// Records have too little in common, or there are too few, for a dictionary.
    #[error("no dictionary can be made of {samples} records")]
    NoDictionary {
        /// How many there were.
        samples: u64,
        /// The cause.
        source: io::Error,
    },
    /// A dictionary was asked for where records are packed without one.
    #[error("this archive packs records with gzip, which uses no dictionary")]
    NotZstd,
    /// There is no archive in this folder or above it.
    #[error("there is no archive in `{}` or above it", start.display())]
    None {
        /// Where the search began.
        start: PathBuf,
    },
    /// The folder is no archive.
    #[error("`{}` is no archive: it holds no `varve.toml`", path.display())]
    NotAnArchive {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is an archive already.
    #[error("`{}` is an archive already", path.display())]
    Already {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something else.
    #[error("`{}` is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is inside one that an archive has for itself.
    #[error("`{}` is inside `{}`, which an archive has for itself", path.display(), own.display())]
    InsideArchive {
        /// The folder.
        path: PathBuf,
        /// That of the archive.
        own: PathBuf,
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
    Unsettled {
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
        source: Box<ArchiveError>,
    },
    /// The catalog did not do it.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A body could not be had or kept.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A record of history that cannot be understood.
    #[error(transparent)]
    OddFact(#[from] OddFact),
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
    /// Nothing was committed but what checks found.
    #[error("only checks have made versions here, and what one found is no promise for the next")]
    OnlyChecks,
    /// Versions are asked of a layout that keeps none.
    #[error("a Crystal project keeps no versions")]
    KeepsNoVersions,
    /// A choice among captures is asked of a layout where each version has made it.
    #[error("a version says itself which capture of a page it holds")]
    NothingToChoose,
    /// A project keeps answers alone.
    #[error("a Crystal project has no place for what a browser makes of a page")]
    NoPlaceForRenderings,
    /// An answer was recorded as a failure, because it is none, or not whole.
    #[error("{kind}: {}", message.escape_debug())]
    RecordedAsFailure {
        /// The kind of failure, as the project names it.
        kind: String,
        /// What is said about it.
        message: String,
    },
    /// A Moku site holds what only its database explains, and that is not there.
    #[error("`{}` is missing or empty, though the site holds versions or bodies", path.display())]
    LostDatabase {
        /// Where it should be.
        path: PathBuf,
    },
    /// Bodies would be swept by rows that cannot be all of them.
    #[error(
        "{} version {named}, which is not there: rows are lost, and bodies that only they name would go",
        child.map_or_else(|| "HEAD named".to_owned(), |child| format!("version {child} descends from"))
    )]
    LostRows {
        /// The version that is not there.
        named: VersionId,
        /// The version that descends from it; none where HEAD named it.
        child: Option<VersionId>,
    },
    /// A version was written down for good, and what makes it seen was not.
    #[error("version {version} is kept, and could not be entered everywhere")]
    HalfEntered {
        /// The version.
        version: VersionId,
        /// Why not.
        source: Box<ArchiveError>,
    },
    /// Rows of a version are lost, and with them what only they name would go.
    #[error(
        "version {version} was committed here and is not there: rows are lost, and bodies that only they name would go"
    )]
    LostVersion {
        /// The version.
        version: VersionId,
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
    #[error("{}", told(&format!("version {version}"), removal))]
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
    /// Nothing was captured there.
    #[error("nothing was captured of `{}`{}", url.escape_debug(), at.as_deref().map(|at| format!(" {at}")).unwrap_or_default())]
    NoCapture {
        /// The URL.
        url: String,
        /// When, in words.
        at: Option<String>,
    },
    /// It was taken out of the silos.
    #[error("{}", told(&format!("`{}`", url.escape_debug()), removal))]
    Removed {
        /// The URL, or the id that was asked for.
        url: String,
        /// What tells of it.
        removal: Box<Removal>,
    },
    /// What was given is no URL.
    #[error("`{}` is not a URL", text.escape_debug())]
    NotAUrl {
        /// What was given.
        text: String,
        /// Why.
        source: UrlError,
    },
    /// A URL to which no name of a file can be added.
    #[error("`{}` has a query or a fragment, and names of files cannot stand behind one", text.escape_debug())]
    NotAFolderUrl {
        /// What was given.
        text: String,
    },
    /// A version has pages, and the body of none of them can be had.
    #[error("no page of version {version} can be looked at: {}", if *missing { "the bodies are not here" } else { "the bodies are damaged or cannot be read" })]
    NoBodies {
        /// The version.
        version: VersionId,
        /// Whether they are not here, all of them.
        missing: bool,
    },
    /// A version without pages.
    #[error("version {version} holds no page")]
    NoPages {
        /// The version.
        version: VersionId,
    },
    /// Something that only an archive with silos can do.
    #[error("`{}` has no silos", path.display())]
    NoSilos {
        /// The folder.
        path: PathBuf,
    },
    /// Two folders could not be exchanged in one step.
    #[error("could not put the new silos in the place of `{}`", path.display())]
    Exchange {
        /// The folder of the old ones.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is taken out for good needs a reason.
    #[error("a rewrite needs a reason")]
    NoReason,
    /// Nothing to commit.
    #[error("there is nothing to commit")]
    NothingToCommit,
    /// A header that no server could have sent.
    #[error(
        "`{name}` of `{url}` is no header: a name is letters, digits and signs without spaces, and a value stands on one line"
    )]
    NotAHeader {
        /// Of which page.
        url: String,
        /// Its name.
        name: String,
    },
    /// A page that is to be captured yet.
    #[error("`{url}` was captured at {time}, which is yet to come")]
    YetToCome {
        /// Its URL.
        url: String,
        /// The time it is given.
        time: Moment,
    },
    /// A page is given twice.
    #[error("`{url}` is given twice")]
    TwicePage {
        /// Its URL.
        url: String,
    },
    /// A page is longer than was allowed.
    #[error("`{}` has {length} bytes, and no page may have more than {largest}", url.escape_debug())]
    TooLong {
        /// Its URL.
        url: String,
        /// How long it is.
        length: u64,
        /// How long it may be.
        largest: u64,
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
    /// Two checkouts to one folder at once.
    #[error("another checkout is writing to `{}`", path.display())]
    CheckedOutTo {
        /// The folder.
        path: PathBuf,
    },
    /// Something in a working tree that is no folder.
    #[error("`{}` is in the way: it is not a folder", path.display())]
    InTheWay {
        /// What is there.
        path: PathBuf,
    },
    /// No tag is called so.
    #[error("there is no tag `{}`", name.escape_debug())]
    NoTag {
        /// What was given.
        name: String,
    },
    /// A version needs a reason.
    #[error("a version needs a message")]
    NoMessage,
    /// Something else where a Moku site is needed.
    #[error("`{}` is not a Moku site", path.display())]
    NotASite {
        /// Where.
        path: PathBuf,
    },
    /// A tag that is no name.
    #[error("`{}` cannot be the name of a tag", name.escape_debug())]
    BadTag {
        /// What was given.
        name: String,
    },
    /// There is nothing to resume.
    #[error("there is no unfinished run")]
    NoRun,
    /// A run that cannot be resumed because what it was asked to do cannot be read.
    #[error("the settings of the unfinished run cannot be read")]
    RunSettings(#[source] serde_json::Error),
    /// A run that stands in the way of another.
    #[error("an earlier run is not finished")]
    UnfinishedRun,
    /// A password where it would be written down.
    #[error("`{shown}` holds a name or a password")]
    UserInfo {
        /// The URL, without them.
        shown: String,
    },
    /// A URL of something else.
    #[error("`{}` is not an address of the web", text.escape_debug())]
    NotOnTheWeb {
        /// What was given.
        text: String,
    },
    /// There is nothing to begin with.
    #[error("there is no URL to begin with")]
    NoSeeds,
    /// A plan that cannot be read.
    #[error("cannot use `{}`", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PlanError,
    },
    /// A plan that makes no sense.
    #[error("the plan cannot be followed: {problem}{}", others(*.more))]
    PlanProblem {
        /// The first problem.
        problem: Problem,
        /// How many more there are.
        more: usize,
    },
    /// A plan without a root.
    #[error("the plan has no root to begin with")]
    NoRoots,
    /// A change that was not made.
    #[error(transparent)]
    PlanEdit(#[from] EditError),
    /// A version that was made before there was anything of the sort.
    #[error("version {version} has neither a plan nor expectations")]
    NoIntent {
        /// The version.
        version: String,
    },
    /// There is no browser.
    #[error("there is no Chromium to load pages with")]
    NoBrowser,
    /// What is to load pages is something else.
    #[error("`{}` is no Chromium: asked for its version, it {said}", path.display())]
    NotABrowser {
        /// Where.
        path: PathBuf,
        /// What it said, or that it said nothing.
        said: String,
    },
    /// A page could not be had.
    #[error("could not fetch `{}`", url.escape_debug())]
    Fetch {
        /// Its URL.
        url: String,
        /// Why.
        source: varve_fetch::FetchError,
    },
    /// Credentials that cannot be read.
    #[error("the credentials cannot be used")]
    Credentials(#[source] varve_fetch::CredentialsError),
    /// A run would go on without what it was begun with.
    #[error(
        "the run was begun with `{}` for `{}`{}, which is not given now",
        secret.name.escape_debug(), secret.origin.escape_debug(), others(*.more)
    )]
    SecretMissing {
        /// What is missing.
        secret: crate::network_options::SecretName,
        /// How many more there are.
        more: usize,
    },
    /// An entry of a list of private addresses that is none.
    #[error(transparent)]
    Allow(#[from] varve_fetch::guard::AllowError),
    /// A proxy that is none.
    #[error(transparent)]
    Proxy(#[from] varve_fetch::ProxyError),
    /// Certificates that cannot be used.
    #[error("the certificates cannot be used")]
    Roots(#[source] varve_fetch::RootsError),
    /// Threads could not be started.
    #[error("threads could not be started")]
    Threads(#[source] io::Error),
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
    /// A range that begins behind the end.
    #[error("`{id}` has {length} bytes, and the range begins at byte {start}")]
    Range {
        /// The object.
        id: String,
        /// How long it is.
        length: u64,
        /// Where the range begins.
        start: u64,
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
    /// A file would be overwritten.
    #[error("`{}` is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A folder where a file was meant.
    #[error("`{}` is a folder", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// Something else where a folder was meant.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// What was given.
        path: PathBuf,
    },
    /// A URI that no record can refer to.
    #[error("`{}` holds `<`, `>` or a control character, and no record can refer to it", text.escape_debug())]
    Reference {
        /// What was given.
        text: String,
    },
    /// A media type that is none.
    #[error("`{}` is not a media type", text.escape_debug())]
    MediaType {
        /// What was given.
        text: String,
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
    /// The key to sealed secrets cannot be used.
    #[error("`{}` is not a key of 32 bytes", path.display())]
    BadKey {
        /// The file.
        path: PathBuf,
    },
    /// What an import wrote down about a project cannot be understood.
    #[error("what is kept of the imported project cannot be understood: record `{id}`")]
    BadProjectFact {
        /// The record.
        id: String,
    },
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
    /// A part of an audit, or a report of it, is asked of a layout that is audited as a whole.
    #[error("`{}` is audited as a whole: `--since`, `--sample` and `--report` are for archives", path.display())]
    AuditedWhole {
        /// The layout.
        path: PathBuf,
    },
    /// A folder that holds nothing that can be imported.
    #[error("`{}` holds nothing that can be imported", path.display())]
    NotImportable {
        /// The folder.
        path: PathBuf,
    },
    /// An object was read with an error: the store's when it was the silo's fault.
    #[error("could not read the object `{id}`")]
    Object {
        /// The object.
        id: String,
        /// Why.
        source: io::Error,
    },
}

fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more") }
}

impl ArchiveError {
    /// The catalog cannot be brought up to the silos.
    pub(crate) fn behind(source: impl Into<Self>) -> Self {
        Self::Behind { source: Box::new(source.into()) }
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    /// Whether the disk, the folder or a file can only be read.
    pub fn is_of_reading_only(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let forbids = |error: &(dyn std::error::Error + 'static)| {
            let error = error.downcast_ref::<io::Error>();
            error.is_some_and(|error| matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem))
        };
        let mut causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        matches!(self, Self::Catalog(CatalogError::ReadOnly { .. })) || causes.any(forbids)
    }

    /// Whether a disk is full.
    pub fn lacks_room(&self) -> bool {
        matches!(self, Self::Catalog(CatalogError::DiskFull { .. }))
            || varve_store::audit::is_out_of_space(self)
    }

    /// Whether the archive itself cannot go on, as opposed to one file that is to be stored or restored.
    pub fn ends_all(&self) -> bool {
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
fn told(what: &str, removal: &Removal) -> String {
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
