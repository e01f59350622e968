//! The error type of the verbs.

use std::io;
use std::path::{Path, PathBuf};

use varve_catalog::CatalogError;
use varve_core::body::BodyError;
use varve_core::secret::ShownUrl;
use varve_core::url::UrlError;
use varve_core::{Moment, VersionId};
use varve_plan::{EditError, Problem};
use varve_repository::{BodyFailure, RepositoryError};
use varve_store::StoreError;

use varve_crawl::{CrawlError, and_more};

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file cannot be read as a WARC or ARC file.
    #[error("could not read `{}` as a WARC file", path.display())]
    WarcFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: varve_warc::Error,
    },
    /// The target of an export exists.
    #[error("`{}` exists already", _0.display())]
    TargetExists(PathBuf),
    /// A format of several files was to be written to a stream.
    #[error("this format is a folder of several files, which cannot be written to standard output")]
    ManyFiles,
    /// A file cannot be opened.
    #[error("could not open `{}`", path.display())]
    OpenFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no version that could be sealed.
    #[error("there are no versions to seal")]
    NothingToSeal,
    /// A seal needs a private key.
    #[error("there is no key to sign with")]
    NoSealKey,
    /// The log has no checkpoint.
    #[error("nothing is sealed here")]
    NothingSealed,
    /// A version is not in the log.
    #[error("version {0} is not sealed")]
    NotSealed(VersionId),
    /// The record of a manifest is not that of its version.
    #[error("the manifest of version {0} is not the one that its id is derived from")]
    OtherManifest(VersionId),
    /// The files of the log do not match its checkpoint.
    #[error("the files in `seal` do not match the newest checkpoint")]
    LogFilesDiffer,
    /// The answer of a timestamp authority cannot be kept.
    #[error("the timestamp cannot be kept: {0}")]
    Timestamp(varve_tlog::LogError),
    /// The archive could not be opened, read or written.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// A file to import cannot be opened or read.
    #[error("could not read `{}`", path.display())]
    ImportOpen {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file to import is not a WARC or ARC file, or cannot be read.
    #[error("could not import `{}`", path.display())]
    ImportRead {
        /// The file.
        path: PathBuf,
        /// Why.
        source: varve_warc::Error,
    },
    /// A package to import cannot be read.
    #[error("could not import `{}`", path.display())]
    ImportPackage {
        /// The file.
        path: PathBuf,
        /// Why.
        source: varve_wacz::WaczError,
    },
    /// The live web could not be captured or checked. Errors of the archive itself are in
    /// `Repository`.
    #[error(transparent)]
    Crawl(CrawlError),
    /// The proxy could not listen.
    #[error(transparent)]
    Listen(#[from] varve_proxy::ListenError),
    /// There is no certificate authority for HTTPS.
    #[error(transparent)]
    Authority(#[from] varve_proxy::AuthorityError),
    /// The browser could not be started.
    #[error("the browser could not be started")]
    Browser(#[source] varve_fetch::FetchError),
    /// The records are too few, or have too little in common, for a dictionary.
    #[error("no dictionary can be made of {samples} records")]
    NoDictionary {
        /// Number of records.
        samples: u64,
        /// The cause.
        source: io::Error,
    },
    /// A dictionary was requested for an archive that packs records without one.
    #[error("this archive packs records with gzip, which uses no dictionary")]
    NotZstd,
    /// There is no archive in this folder or above it.
    #[error("there is no archive in `{}` or above it", _0.display())]
    NoArchive(PathBuf),
    /// The folder is already an archive.
    #[error("`{}` is an archive already", _0.display())]
    Already(PathBuf),
    /// The folder is inside one that an archive reserves for itself.
    #[error("`{}` is inside `{}`, which an archive reserves for itself", path.display(), own.display())]
    InsideArchive {
        /// The folder.
        path: PathBuf,
        /// The reserved folder.
        own: PathBuf,
    },
    /// Versions were requested from a layout that has none.
    #[error("a Crystal project keeps no versions")]
    KeepsNoVersions,
    /// A choice among captures was requested, but in this layout each version already selects one
    /// capture per page.
    #[error("in an archive each version already selects one capture per page")]
    NothingToChoose,
    /// A project stores responses only.
    #[error("a Crystal project cannot store rendered documents and screenshots")]
    NoPlaceForRenderings,
    /// Rows are missing, so a sweep would remove bodies that are still needed.
    #[error(
        "{} version {named}, which has no rows: bodies that only lost rows reference would be removed",
        child.map_or_else(|| "HEAD named".to_owned(), |child| format!("version {child} descends from"))
    )]
    LostRows {
        /// The missing version.
        named: VersionId,
        /// Its child; `None` if HEAD named it.
        child: Option<VersionId>,
    },
    /// Rows of a version are lost, so bodies that only they reference would be removed.
    #[error("version {0} has no rows: bodies that only lost rows reference would be removed")]
    LostVersion(VersionId),
    /// The URL has no capture.
    #[error("nothing was captured of `{}`{}", ShownUrl(url).to_string().escape_debug(), at.as_deref().map(|at| format!(" {at}")).unwrap_or_default())]
    NoCapture {
        /// The URL.
        url: String,
        /// The requested time, in words.
        at: Option<String>,
    },
    /// The text is not a URL.
    #[error("`{}` is not a URL", text.escape_debug())]
    NotAUrl {
        /// The text.
        text: String,
        /// The cause.
        source: UrlError,
    },
    /// A URL to which no file name can be appended.
    #[error("`{}` has a query or a fragment, so no file name can be appended to it", _0.escape_debug())]
    NotAFolderUrl(String),
    /// A version has pages, but all their bodies are unavailable.
    #[error("no page of version {version} can be scored: {}", if *missing { "the bodies are missing" } else { "the bodies are damaged or cannot be read" })]
    NoBodies {
        /// The version.
        version: VersionId,
        /// Whether all of them are missing.
        missing: bool,
    },
    /// A version without pages.
    #[error("version {0} has no pages")]
    NoPages(VersionId),
    /// An operation that needs an archive with silos.
    #[error("`{}` has no silos", _0.display())]
    NoSilos(PathBuf),
    /// Two folders could not be exchanged in one step.
    #[error("could not exchange the new silos with `{}`", path.display())]
    Exchange {
        /// The folder of the old silos.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A purge was requested without a reason.
    #[error("a purge needs a reason")]
    NoReason,
    /// Nothing to commit.
    #[error("there is nothing to commit")]
    NothingToCommit,
    /// A header that no server could have sent.
    #[error("`{name}` of `{url}` is not a valid header: a name has no spaces, and a value has one line")]
    NotAHeader {
        /// The URL of the page.
        url: String,
        /// The name of the header.
        name: String,
    },
    /// The capture time of a page is in the future.
    #[error("`{url}` was captured at {time}, which is in the future")]
    InFuture {
        /// Its URL.
        url: String,
        /// The given time.
        time: Moment,
    },
    /// A page is given twice.
    #[error("`{0}` is given twice")]
    DuplicatePage(String),
    /// A page is over the maximum length.
    #[error("`{}` has {length} bytes, and no page may have more than {largest}", url.escape_debug())]
    TooLong {
        /// Its URL.
        url: String,
        /// Its length in bytes.
        length: u64,
        /// The maximum length in bytes.
        largest: u64,
    },
    /// Two checkouts to one folder at once.
    #[error("another checkout is writing to `{}`", _0.display())]
    CheckedOutTo(PathBuf),
    /// A folder with pages in another layout.
    #[error("`{}` holds an earlier checkout in another layout", _0.display())]
    OtherFolderLayout(PathBuf),
    /// No tag has this name.
    #[error("there is no tag `{}`", _0.escape_debug())]
    NoTag(String),
    /// The folder is not a Moku site.
    #[error("`{}` is not a Moku site", _0.display())]
    NotASite(PathBuf),
    /// The text is not a valid tag name.
    #[error("`{}` cannot be the name of a tag", _0.escape_debug())]
    BadTag(String),
    /// A URL that would be stored contains a user name or password.
    #[error("`{0}` contains a user name or a password")]
    UserInfo(String),
    /// The URL is not a web URL.
    #[error("`{}` is not a web URL", ShownUrl(_0).to_string().escape_debug())]
    NotOnTheWeb(String),
    /// No seed URL was given.
    #[error("there is no URL to start with")]
    NoSeeds,
    /// The plan is invalid.
    #[error("the plan cannot be followed: {problem}{}", and_more(*.more))]
    PlanProblem {
        /// The first problem.
        problem: Problem,
        /// Number of further problems.
        more: usize,
    },
    /// The plan has no root.
    #[error("the plan has no root to start with")]
    NoRoots,
    /// An edit of the plan was refused.
    #[error(transparent)]
    PlanEdit(#[from] EditError),
    /// The version has no stored plan or expectations.
    #[error("version {0} has neither a plan nor expectations")]
    NoIntent(String),
    /// A page could not be fetched.
    #[error("could not fetch `{}`", url.escape_debug())]
    Fetch {
        /// Its URL.
        url: String,
        /// The cause.
        source: varve_fetch::FetchError,
    },
    /// A range begins after the end of the object.
    #[error("`{id}` has {length} bytes, and the range begins at byte {start}")]
    Range {
        /// The object.
        id: String,
        /// Its length in bytes.
        length: u64,
        /// The first byte of the range.
        start: u64,
    },
    /// The file already exists.
    #[error("`{}` exists already", _0.display())]
    Exists(PathBuf),
    /// The path is a folder, not a file.
    #[error("`{}` is a folder", _0.display())]
    Folder(PathBuf),
    /// A URI that no record can refer to.
    #[error("`{}` contains `<`, `>` or a control character, so no record can refer to it", _0.escape_debug())]
    Reference(String),
    /// The text is not a media type.
    #[error("`{}` is not a media type", _0.escape_debug())]
    MediaType(String),
    /// The key for encrypted cookies cannot be used.
    #[error("`{}` is not a key of 32 bytes", _0.display())]
    BadKey(PathBuf),
    /// The stored facts about an imported project are unreadable.
    #[error("the stored facts about the imported project cannot be parsed: record `{0}`")]
    BadProjectFact(String),
    /// A partial audit or a report was requested for a layout that is only audited as a whole.
    #[error("`{}` can only be audited completely: `--since`, `--sample` and `--report` are for archives", _0.display())]
    AuditedWhole(PathBuf),
    /// The folder contains nothing that can be imported.
    #[error("`{}` contains nothing that can be imported", _0.display())]
    NotImportable(PathBuf),
}

impl ArchiveError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| RepositoryError::Read { path: path.to_owned(), source }.into()
    }

    /// The error of a temporary file without a name.
    pub fn temporary(source: io::Error) -> Self {
        Self::write(Path::new("a temporary file"))(source)
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

    /// Whether the disk, the folder or a file is read-only.
    pub fn is_read_only(&self) -> bool {
        self.repository().is_some_and(RepositoryError::is_read_only)
    }

    /// Whether a disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.repository().is_some_and(RepositoryError::is_disk_full) || varve_store::is_out_of_space(self)
    }

    /// Whether the archive itself failed, as opposed to one file to be stored or restored.
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
