//! From typed errors to what a person reads and what a script tests: message, causes, hint, exit code.
//!
//! Rooms below say what failed, with path and offset; they know neither hints nor exit codes. Verbs pass their
//! errors up unchanged. This file is the only place that decides how a failure is worded for people.

use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::ErrorKind;
use varve_archive::expectations::UrlsError;
use varve_archive::verbs::doctor::DoctorError;
use varve_archive::verbs::urls::add::AddError;
use varve_archive::{
    AardwarcError, ArchiveError, CatalogError, CrawlError, EditError, IndexError, LockError, PackError,
    RepositoryError, SettingsError, StoreError,
};
use varve_serve::ServeError;

use crate::commands::filter::NotAnId;
use crate::urls::{Place, Unreadable};

/// The exit code for "done, and there are findings".
pub(crate) const FINDINGS: u8 = 1;
/// The exit code for "could not run": usage, settings, surroundings.
pub(crate) const COULD_NOT_RUN: u8 = 2;

/// Everything that can stop a verb.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line makes no sense.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// Standard output cannot be written.
    #[error("could not write to standard output")]
    Output(#[source] io::Error),
    /// Standard input cannot be read.
    #[error("could not read standard input")]
    Input(#[source] io::Error),
    /// What is set aside for a moment cannot be written or read.
    #[error("could not use a temporary file")]
    Temporary(#[source] io::Error),
    /// Something was to be changed, and `--readonly` forbids it.
    #[error("`varve {verb}` would write here, and `--readonly` was given")]
    ReadOnlyAsked {
        /// The verb.
        verb: String,
    },
    /// What was given is no URL.
    #[error("{place} is not a URL")]
    Url {
        /// Where it stood.
        place: Place,
        /// What is wrong with it.
        #[source]
        source: Unreadable,
    },
    /// What was given is no id.
    #[error("{place} is not an id")]
    Id {
        /// Where it stood.
        place: Place,
        /// What is wrong with it.
        #[source]
        source: NotAnId,
    },
    /// The archive did not do it.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// There is no current folder, or it may not be known.
    #[error("could not find out the current folder")]
    CurrentFolder(#[source] io::Error),
    /// A URL database did not do it.
    #[error(transparent)]
    Urls(#[from] UrlsError),
    /// A URL was not added to a URL database.
    #[error(transparent)]
    UrlAdd(#[from] AddError),
    /// Nothing can be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A server that others can reach, and nobody said that they may.
    #[error("{address} can be reached from other machines")]
    Reachable {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// A WARC or ARC file could not be dealt with.
    #[error(transparent)]
    Doctor(#[from] DoctorError),
    /// A file cannot be read.
    #[error("could not read `{path}`")]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// An object in a file of JSON lines that cannot be used.
    #[error("`{file}`, object {number}: {what}")]
    Object {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A file or folder cannot be written.
    #[error("could not write `{path}`")]
    Write {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl From<CrawlError> for Error {
    fn from(failure: CrawlError) -> Self {
        Self::Archive(failure.into())
    }
}

impl From<RepositoryError> for Error {
    fn from(failure: RepositoryError) -> Self {
        Self::Archive(failure.into())
    }
}

impl Error {
    /// Whether the reader of our output went away, as `head` does: the end of the work, not a failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The help page, when nothing at all was asked for: then it is worth more than an error message.
    pub(crate) fn help_for_bare_call(&self) -> Option<String> {
        match self {
            Self::Usage(mistake) if mistake.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Some(mistake.render().ansi().to_string())
            }
            _ => None,
        }
    }
}

/// A failure, worded.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// What failed, in one line.
    pub(crate) message: String,
    /// Why, nearest cause first.
    pub(crate) causes: Vec<String>,
    /// What to do about it.
    pub(crate) hints: Vec<String>,
    /// What the process ends with.
    pub(crate) code: u8,
}

impl Report {
    /// Message and causes on one line, for machines.
    pub(crate) fn one_line(&self) -> String {
        let parts: Vec<&str> =
            std::iter::once(&self.message).chain(&self.causes).map(String::as_str).collect();
        parts.join(": ")
    }
}

/// Words `failure`.
pub(crate) fn report(failure: &Error) -> Report {
    if let Error::Usage(mistake) = failure {
        return usage(mistake);
    }
    Report {
        message: failure.to_string(),
        causes: causes(failure),
        hints: hints(failure),
        code: COULD_NOT_RUN,
    }
}

fn causes(failure: &Error) -> Vec<String> {
    std::iter::successors(failure.source(), |cause| (*cause).source()).map(ToString::to_string).collect()
}

fn hints(failure: &Error) -> Vec<String> {
    let hint = match failure {
        Error::Write { source, .. } | Error::Doctor(DoctorError::Write { source, .. }) => {
            for_writing(source.kind())
        }
        Error::Urls(UrlsError::Write { source, .. })
        | Error::UrlAdd(AddError::Database(UrlsError::Write { source, .. })) => for_writing(source.kind()),
        Error::Temporary(_) => Some("TMPDIR names the folder for temporary files; it needs some room"),
        Error::Urls(failure) | Error::UrlAdd(AddError::Database(failure)) => {
            crate::commands::urls::hint(failure)
        }
        Error::UrlAdd(AddError::Answer { .. }) => Some("`--offline` records the path alone"),
        Error::Doctor(failure) => crate::commands::doctor::hint(failure),
        Error::Archive(failure) => for_archive(failure),
        Error::Reachable { .. } => Some(
            "whoever reaches it reads the whole archive; say `--allow-remote` if that is meant, and its name with `--host`",
        ),
        Error::Serve(ServeError::Listen { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => {
            Some("something else listens there; choose another port, or 0 for any")
        }
        Error::Serve(_) => None,
        Error::ReadOnlyAsked { .. } => Some("nothing was changed; leave `--readonly` out to write"),
        Error::Usage(_) | Error::Output(_) | Error::Input(_) | Error::Url { .. } => None,
        Error::Id { .. } | Error::CurrentFolder(_) | Error::Read { .. } | Error::Object { .. } => None,
    };
    hint.map(str::to_owned).into_iter().chain(for_reaching(failure)).collect()
}

/// What can be done where the web was asked and could not be reached.
fn for_reaching(failure: &Error) -> Option<String> {
    match failure {
        Error::UrlAdd(AddError::Answer { trouble: Some(trouble), .. }) => {
            crate::hints::for_failure(trouble.kind.word(), &trouble.url)
        }
        Error::Archive(ArchiveError::Fetch { url, source }) => {
            crate::hints::for_failure(source.kind.word(), url)
        }
        _ => None,
    }
}

/// What can be done where silos say what cannot be read.
const BEHIND: &str = "`varve audit` names what is missing or damaged: put it back, or use the varve that wrote it, and all goes on; where it is lost for good, `varve rebuild` makes the catalog of what is left, and says what it leaves out";

/// Hints for the verbs themselves.
fn for_archive(failure: &ArchiveError) -> Option<&'static str> {
    match failure {
        ArchiveError::Repository(failure) => for_repository(failure),
        ArchiveError::Crawl(failure) => for_crawl(failure),
        ArchiveError::None { .. } => {
            Some("`varve init DIR` makes an archive; `-C DIR` or VARVE_ARCHIVE names one that is elsewhere")
        }
        ArchiveError::NoDictionary { .. } => {
            Some("it is made of what the archive holds: capture or commit some pages first")
        }
        ArchiveError::InsideArchive { .. } => Some("choose a folder elsewhere"),
        ArchiveError::CheckedOutTo { .. } => Some("wait until it is done, or choose another folder"),
        ArchiveError::NoBodies { missing: true, .. } => Some(crate::troubles::WHY_NOT_HERE),
        ArchiveError::NoBodies { .. } => Some("`varve audit` names the damage"),
        ArchiveError::NotAUrl { text, .. } if !text.contains("://") => {
            Some("a URL begins with its scheme, as in `https://example.com/`")
        }
        ArchiveError::NotAFolderUrl { .. } => {
            Some("give the URL of the folder alone, as in `--base-url https://example.com/docs/`")
        }
        ArchiveError::Exchange { .. } => {
            Some("the archive is as it was; its disk must be able to exchange two folders in one step")
        }
        ArchiveError::BadKey { .. } => Some(
            "put the key back from a copy; without it, move the file away, and sealed cookies stay sealed",
        ),
        ArchiveError::KeepsNoVersions => Some(
            "name two times instead, as in `varve diff 2026-01-01 2026-06-01`; `varve log URL` shows captures",
        ),
        ArchiveError::NothingToChoose => {
            Some("`--newest-good` is for Crystal projects, and for `cat` and `serve` of any archive")
        }
        ArchiveError::NoPlaceForRenderings => Some(
            "without `--browser` the answers become revisions; `varve init DIR` makes an archive, which keeps renderings too",
        ),
        ArchiveError::AuditedWhole { .. } => Some("leave them out; `--quick` is understood"),
        ArchiveError::NotImportable { .. } => Some(
            "import takes a Crystal project, or the folder of an AardWARC store, in which `0` holds the first silos",
        ),
        ArchiveError::NoCapture { at: Some(_), .. } => Some("`varve log URL` lists when it was captured"),
        ArchiveError::Exists { .. } => Some("choose another name, or overwrite it with `--force`"),
        ArchiveError::Folder { .. } => Some("`varve stow` keeps a folder with all that is in it"),
        ArchiveError::MediaType { .. } => {
            Some("a media type is two words with `/` between them: `text/plain`")
        }
        ArchiveError::NoTag { .. } => Some("`varve tag` lists all tags"),
        ArchiveError::BadTag { .. } => Some(
            "a tag has letters, digits and `._-/+`, begins with none of `.-/`, and is neither HEAD nor like an id or a time such as `2d`",
        ),
        ArchiveError::NoSilos { .. } => Some("`varve gc` removes versions and bodies from a Moku site"),
        ArchiveError::LostRows { .. } | ArchiveError::LostVersion { .. } => Some(
            "no body was removed; put `moku.db` back as it was; if those rows are gone for good, `varve gc --accept-lost` clears up what they left",
        ),
        ArchiveError::NotASite { .. } => Some("`varve moku new DIR` makes one"),
        ArchiveError::NoRoots => {
            Some("`varve plan root add URL` adds one; `varve capture URL` needs no plan")
        }
        ArchiveError::PlanProblem { .. } => Some("`varve plan check` lists them all"),
        ArchiveError::PlanEdit(EditError::InUse { .. }) => {
            Some("`--cascade` lets them be found on all pages")
        }
        ArchiveError::PlanEdit(EditError::Absent { .. }) => Some("`varve plan show` lists what there is"),
        ArchiveError::UserInfo { .. } => Some(
            "leave them out of the URL; to capture with them, write a line `HOST Authorization: Basic ...` into a file, and name it with `--credentials`",
        ),
        _ if failure.lacks_room() => for_writing(io::ErrorKind::StorageFull),
        _ => None,
    }
}

/// Hints for opening, reading and writing an archive.
fn for_repository(failure: &RepositoryError) -> Option<&'static str> {
    match failure {
        RepositoryError::NotAnArchive { .. } => Some("`varve init DIR` makes an archive"),
        RepositoryError::NotEmpty { .. } => Some("choose a new name, or an empty folder"),
        RepositoryError::Settings { source: SettingsError::Format { .. }, .. } => {
            Some("use the varve that made it, or a later one")
        }
        RepositoryError::Catalog(failure) => for_catalog(failure),
        RepositoryError::Unsettled { .. } => {
            Some("`varve housekeeping` puts them there; so does any verb that writes")
        }
        RepositoryError::Behind { .. } => Some(BEHIND),
        RepositoryError::HalfEntered { source, .. } if source.lacks_room() => Some(
            "make room on that disk: the next verb that writes then enters it, and it need not be made again",
        ),
        RepositoryError::HalfEntered { .. } => Some(
            "it need not be made again: the next verb that writes enters it, and `varve log` shows it then",
        ),
        RepositoryError::NoCatalog { .. } => {
            Some("`varve rebuild` makes it again: the silos hold everything")
        }
        RepositoryError::BadHead { .. } => {
            Some("`varve log` lists versions; `varve checkout VERSION` moves HEAD")
        }
        RepositoryError::NotForVersions { .. } => {
            Some("`varve import` brings it into an archive, which keeps versions")
        }
        RepositoryError::DownloadFailed { .. } => Some(
            "`--newest-good` shows the newest capture with a good answer; `varve log URL` shows them all",
        ),
        RepositoryError::BodyLost { .. } => Some("`varve crystal verify` finds all that is lost"),
        RepositoryError::Crystal(failure) => crate::commands::crystal::hint(failure),
        RepositoryError::NoIndex { .. } => Some(REBUILD),
        RepositoryError::OnlyObjects { .. } => Some(
            "`varve get`, `varve filter` and `varve audit` read it where it is; `varve import` brings it into an archive, which has all the rest",
        ),
        RepositoryError::NoAardwarcSilos { .. } => {
            Some("name the folder in which `0` holds the first silos, or put `silo.directory` right")
        }
        RepositoryError::Aardwarc { source: AardwarcError::Ambiguous { .. }, .. } => Some("give more digits"),
        RepositoryError::Aardwarc { source: AardwarcError::NotWhole { .. }, .. } => {
            Some("`varve audit` names all that is not whole; the missing silo may be in a copy of the store")
        }
        RepositoryError::Lock(LockError::Held { .. }) => {
            Some("wait until it has finished; reading needs no waiting")
        }
        RepositoryError::Lock(LockError::Io { source, .. }) => for_writing(source.kind()),
        RepositoryError::NotAnId { .. } => {
            Some("an id is 64 hex digits, as `varve store` prints it, or at least the first 4 of them")
        }
        RepositoryError::NotAFolder { .. } => Some("`varve store` keeps single files"),
        RepositoryError::Write { source, .. } => for_writing(source.kind()),
        RepositoryError::NoVersions => Some("`varve capture URL` or `varve commit` makes the first one"),
        RepositoryError::NoVersion { .. } => Some(
            "a version is HEAD, a tag, an id or four or more digits of its beginning, or a time; `varve log` lists them",
        ),
        RepositoryError::NotByTime { .. } => Some(
            "a version is named by HEAD, a tag, or its id or the beginning of it; `varve log` lists them",
        ),
        RepositoryError::BeforeFirst { .. } | RepositoryError::NoVersionYet { .. } => {
            Some("`varve log` lists versions, the first one last")
        }
        RepositoryError::AmbiguousVersion { .. } => Some("give more digits"),
        RepositoryError::Removed { .. } | RepositoryError::VersionRemoved { .. } => {
            Some("`varve get TOMBSTONE` prints what is known of it")
        }
        RepositoryError::TooManyVersions { in_silos: true, .. } => Some(
            "in an archive versions stay for good: give a larger number, or begin another archive with `varve init DIR`",
        ),
        RepositoryError::TooManyVersions { .. } => {
            Some("`varve gc --keep-last N` removes all but the newest versions; or give a larger number")
        }
        RepositoryError::LostDatabase { .. } => Some(
            "nothing was changed; put `moku.db` back from a copy, or keep the bodies in an archive with `varve store`",
        ),
        _ if failure.lacks_room() => for_writing(io::ErrorKind::StorageFull),
        RepositoryError::Store(failure) => for_store(failure),
        _ => None,
    }
}

/// Hints for capturing and checking the live web.
fn for_crawl(failure: &CrawlError) -> Option<&'static str> {
    match failure {
        CrawlError::OnlyChecks => {
            Some("`varve capture URL` makes a version that the web can be held against")
        }
        CrawlError::UnfinishedRun => Some(
            "`varve capture --resume` goes on with it; `varve capture --finish` leaves it at what it has got",
        ),
        CrawlError::NoRun => Some("`varve capture URL` begins one"),
        CrawlError::NoBrowser | CrawlError::NotABrowser { .. } => {
            Some("install Chromium (Debian's package is `chromium`), or name it with `--chromium FILE`")
        }
        CrawlError::SecretMissing { .. } => Some(
            "give it again as when the run was begun, with `--header`, `--credentials`, `--proxy` or the variable VARVE_CREDENTIALS; `--without-credentials` goes on without it",
        ),
        CrawlError::Credentials(_) => Some("a line is `HOST NAME: VALUE`: `example.com Cookie: a=b`"),
        _ => None,
    }
}

/// What helps where an index is lost or damaged.
const REBUILD: &str = "`varve rebuild` makes it again: the silos hold everything";

fn for_store(failure: &StoreError) -> Option<&'static str> {
    match failure {
        StoreError::Index(IndexError::Damaged { .. } | IndexError::Incomplete { .. }) => Some(REBUILD),
        StoreError::Ambiguous { .. } => Some("give more digits"),
        StoreError::Pack(PackError::Io(source)) if source.kind() == io::ErrorKind::InvalidData => Some(
            "`dictionary.zstd` is damaged: `varve train` makes another, and without the file records are packed without one",
        ),
        _ => None,
    }
}

fn for_catalog(failure: &CatalogError) -> Option<&'static str> {
    match failure {
        CatalogError::Busy { .. } => Some("wait until the other program has finished, and try again"),
        CatalogError::ReadOnly { .. } => {
            Some("reading verbs work; to write, copy the folder to a place that you may write to")
        }
        CatalogError::Newer { .. } => {
            Some("use the program that wrote it, or a later varve; nothing was changed")
        }
        CatalogError::Foreign { .. } => Some(
            "nothing was changed; a Moku site needs its own `moku.db`, from a copy; an archive without `catalog.db` makes it again with `varve rebuild`",
        ),
        CatalogError::DiskFull { .. } => {
            Some("make room on that disk and try again; what was kept there is whole")
        }
        CatalogError::Unreachable { .. } => Some(
            "nothing was changed; look whether that disk works, has room and may be written to, and try again",
        ),
        // It says itself what to do.
        CatalogError::Unsupported { .. } => None,
        CatalogError::Database { .. } | CatalogError::Damaged { .. } => Some(
            "nothing was changed; an archive makes its catalog again with `varve rebuild`, a Moku site needs a copy of its `moku.db`",
        ),
        CatalogError::Outside { .. } => {
            Some("look there; `varve plan alias remove SOURCE` lets the project keep such pages itself")
        }
        CatalogError::Older { .. } => Some("`varve rebuild` makes it again: the silos hold everything"),
        CatalogError::EarlyMoku { .. } => Some("`varve moku upgrade` does that, all of it or nothing"),
        CatalogError::OtherProject { .. } => {
            Some("name the project that it belongs to, or take it with `varve moku set --project ID --force`")
        }
        CatalogError::NoVersion(_) => Some("`varve log` lists versions"),
    }
}

pub(crate) fn for_writing(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::PermissionDenied => Some("choose a place that you may write to"),
        io::ErrorKind::ReadOnlyFilesystem => Some(
            "that disk can only be read: `log`, `show`, `cat`, `diff` and `audit` work on it; to write, copy the folder",
        ),
        io::ErrorKind::StorageFull => Some("make room on that disk, or choose another"),
        _ => None,
    }
}

/// Puts clap's wording into varve's: its paragraphs are the message, tips, the usage line and a pointer to help.
fn usage(mistake: &clap::Error) -> Report {
    let text = mistake.render().to_string().replace('\'', "`");
    let mut paragraphs = text.split("\n\n").map(str::trim_end);
    let message = paragraphs.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut hints = Vec::new();
    for paragraph in paragraphs {
        let lines = paragraph.lines().map(str::trim);
        hints.extend(lines.filter_map(|line| {
            let tip = line.strip_prefix("tip: ").map(str::to_owned);
            // Of what excludes each other, it would show all as if it could be said.
            let usage =
                line.strip_prefix("Usage: ").filter(|_| mistake.kind() != ErrorKind::ArgumentConflict);
            tip.or_else(|| usage.map(|usage| format!("usage is `{usage}`")))
        }));
    }
    Report { message, causes: Vec::new(), hints, code: COULD_NOT_RUN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_hints_come_with_the_message() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let report = report(&Error::Write { path: "man/varve.1".into(), source });
        assert_eq!(report.message, "could not write `man/varve.1`");
        assert_eq!(report.causes, ["permission denied"]);
        assert_eq!(report.hints, ["choose a place that you may write to"]);
        assert_eq!(report.code, 2);
    }

    #[test]
    fn only_a_closed_pipe_on_stdout_is_quiet() {
        assert!(Error::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!Error::Output(io::ErrorKind::StorageFull.into()).is_closed_pipe());
        let elsewhere = Error::Write { path: "x".into(), source: io::ErrorKind::BrokenPipe.into() };
        assert!(!elsewhere.is_closed_pipe());
    }
}
