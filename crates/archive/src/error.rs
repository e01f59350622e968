//! Why a verb could not do its work, with the place where it happened.

use std::io;
use std::path::{Path, PathBuf};

use varve_catalog::CatalogError;
use varve_core::body::BodyError;
use varve_core::url::UrlError;
use varve_core::{Moment, VersionId};
use varve_plan::{EditError, Problem};
use varve_repository::{BodyFailure, RepositoryError};
use varve_store::StoreError;

use varve_crawl::{CrawlError, and_more};

/// Why a verb could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive could not be opened, read or written.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The live web could not be captured or checked. Errors of the archive itself are in `Repository`.
    #[error(transparent)]
    Crawl(CrawlError),
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
    /// The folder is an archive already.
    #[error("`{}` is an archive already", path.display())]
    Already {
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
    /// Versions are asked of a layout that keeps none.
    #[error("a Crystal project keeps no versions")]
    KeepsNoVersions,
    /// A choice among captures is asked of a layout where each version has made it.
    #[error("a version says itself which capture of a page it holds")]
    NothingToChoose,
    /// A project keeps answers alone.
    #[error("a Crystal project has no place for what a browser makes of a page")]
    NoPlaceForRenderings,
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
    /// Rows of a version are lost, and with them what only they name would go.
    #[error(
        "version {version} was committed here and is not there: rows are lost, and bodies that only they name would go"
    )]
    LostVersion {
        /// The version.
        version: VersionId,
    },
    /// Nothing was captured there.
    #[error("nothing was captured of `{}`{}", url.escape_debug(), at.as_deref().map(|at| format!(" {at}")).unwrap_or_default())]
    NoCapture {
        /// The URL.
        url: String,
        /// When, in words.
        at: Option<String>,
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
    /// Two checkouts to one folder at once.
    #[error("another checkout is writing to `{}`", path.display())]
    CheckedOutTo {
        /// The folder.
        path: PathBuf,
    },
    /// No tag is called so.
    #[error("there is no tag `{}`", name.escape_debug())]
    NoTag {
        /// What was given.
        name: String,
    },
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
    /// A plan that makes no sense.
    #[error("the plan cannot be followed: {problem}{}", and_more(*.more))]
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
    /// A page could not be had.
    #[error("could not fetch `{}`", url.escape_debug())]
    Fetch {
        /// Its URL.
        url: String,
        /// Why.
        source: varve_fetch::FetchError,
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
}

impl ArchiveError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| RepositoryError::Read { path: path.to_owned(), source }.into()
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| RepositoryError::Write { path: path.to_owned(), source }.into()
    }

    /// Why a body cannot be read, if that is the cause.
    pub fn body_failure(&self) -> Option<BodyFailure> {
        self.repository().and_then(RepositoryError::body_failure)
    }

    /// The error of the archive, if that is the cause.
    pub fn repository(&self) -> Option<&RepositoryError> {
        match self {
            Self::Repository(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the disk, the folder or a file can only be read.
    pub fn is_read_only(&self) -> bool {
        self.repository().is_some_and(RepositoryError::is_read_only)
    }

    /// Whether a disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.repository().is_some_and(RepositoryError::is_disk_full)
            || varve_store::audit::is_out_of_space(self)
    }

    /// Whether the archive itself cannot go on, as opposed to one file that is to be stored or restored.
    pub fn is_fatal(&self) -> bool {
        self.repository().is_some_and(RepositoryError::is_fatal)
    }
}

impl From<CrawlError> for ArchiveError {
    fn from(error: CrawlError) -> Self {
        match error {
            CrawlError::Repository(error) => Self::Repository(error),
            error => Self::Crawl(error),
        }
    }
}

/// Errors of the crates below `varve-repository` are errors of the archive.
macro_rules! from_repository {
    ($($error:ty),*) => {$(
        impl From<$error> for ArchiveError {
            fn from(error: $error) -> Self {
                Self::Repository(error.into())
            }
        }
    )*};
}

from_repository!(CatalogError, StoreError, BodyError, varve_crystal::Error, varve_store::lock::LockError);
