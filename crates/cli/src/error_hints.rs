//! What people can do about an error. One function per area; no hint where nothing can be done.

use std::io;

use varve_archive::expectations::UrlsError;
use varve_archive::verbs::crystal::Error as CrystalError;
use varve_archive::verbs::doctor::DoctorError;
use varve_archive::verbs::urls::add::AddError;
use varve_archive::{
    AardwarcError, ArchiveError, CatalogError, CrawlError, EditError, IndexError, LockError, RecordPackError,
    RepositoryError, SettingsError, StoreError,
};
use varve_serve::ServeError;

use crate::error::Error;
use crate::network_hints::hint_for_fetch_error;

/// Where to find out why a body is missing.
pub(crate) const MISSING_BODY_HINT: &str =
    "`varve log URL` shows who removed a page and why; `varve audit` lists missing bodies";

const REBUILD_HINT: &str = "`varve rebuild` makes it again from the silos";

const DAMAGED_SILO_HINT: &str = "`varve audit` lists what is missing or damaged: restore it from a copy, or use the varve \
                                 that wrote it; if it is lost, `varve rebuild` makes the catalog from the rest and lists what it leaves out";

const WAIT_HINT: &str = "wait until it has finished; reading verbs need not wait";

/// The hints for an error.
pub(crate) fn hints(failure: &Error) -> Vec<String> {
    hint(failure).map(str::to_owned).into_iter().chain(fetch_hint(failure)).collect()
}

fn hint(failure: &Error) -> Option<&'static str> {
    match failure {
        Error::Write { source, .. } => write_hint(source.kind()),
        Error::Temporary(_) => Some("TMPDIR names the folder for temporary files; it needs free space"),
        Error::Urls(failure) | Error::UrlAdd(AddError::Database(failure)) => urls_hint(failure),
        Error::UrlAdd(AddError::Answer { .. }) => Some("`--offline` records the path without a request"),
        Error::Doctor(failure) => doctor_hint(failure),
        Error::Archive(failure) => archive_hint(failure),
        Error::Reachable { .. } => Some(
            "anyone who can connect can read the whole archive; to allow that, give `--allow-remote`, and the name of the server with `--host`",
        ),
        Error::Serve(ServeError::Listen { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => {
            Some("another program listens there; choose another port, or 0 for any free port")
        }
        Error::ReadOnlyAsked { .. } => Some("nothing was changed; to write, leave out `--readonly`"),
        _ => None,
    }
}

/// For errors of a request to the web.
fn fetch_hint(failure: &Error) -> Option<String> {
    match failure {
        Error::UrlAdd(AddError::Answer { trouble: Some(trouble), .. }) => {
            hint_for_fetch_error(trouble.kind.word(), &trouble.url)
        }
        Error::Archive(ArchiveError::Fetch { url, source }) => hint_for_fetch_error(source.kind.word(), url),
        _ => None,
    }
}

fn archive_hint(failure: &ArchiveError) -> Option<&'static str> {
    match failure {
        ArchiveError::Repository(failure) => repository_hint(failure),
        ArchiveError::Crawl(failure) => crawl_hint(failure),
        _ => input_hint(failure)
            .or_else(|| history_hint(failure))
            .or_else(|| failure.is_disk_full().then(|| write_hint(io::ErrorKind::StorageFull)).flatten()),
    }
}

fn repository_hint(failure: &RepositoryError) -> Option<&'static str> {
    folder_hint(failure)
        .or_else(|| recovery_hint(failure))
        .or_else(|| layout_hint(failure))
        .or_else(|| version_hint(failure))
        .or_else(|| failure.is_disk_full().then(|| write_hint(io::ErrorKind::StorageFull)).flatten())
}

/// Folders, files, URLs and plans that a verb is given.
fn input_hint(failure: &ArchiveError) -> Option<&'static str> {
    Some(match failure {
        ArchiveError::None { .. } => {
            "`varve init DIR` makes an archive; `-C DIR` or VARVE_ARCHIVE names one in another folder"
        }
        ArchiveError::InsideArchive { .. } => "choose a folder outside of the archive",
        ArchiveError::CheckedOutTo { .. } => "wait until it has finished, or choose another folder",
        ArchiveError::Exists { .. } => "choose another name, or overwrite it with `--force`",
        ArchiveError::NotImportable { .. } => {
            "import takes a Crystal project, or the folder of an AardWARC store, in which `0` holds the first silos"
        }
        ArchiveError::NoDictionary { .. } => {
            "a dictionary is made from pages in the archive: capture or commit some first"
        }
        ArchiveError::NotAUrl { text, .. } if !text.contains("://") => {
            "a URL begins with its scheme, as in `https://example.com/`"
        }
        ArchiveError::NotAFolderUrl { .. } => {
            "give the URL of the folder alone, as in `--base-url https://example.com/docs/`"
        }
        ArchiveError::Folder { .. } => "`varve stow` stores a folder with everything in it",
        ArchiveError::MediaType { .. } => "a media type is two words with `/` between them: `text/plain`",
        ArchiveError::NoRoots => "`varve plan root add URL` adds one; `varve capture URL` needs no plan",
        ArchiveError::PlanProblem { .. } => "`varve plan check` lists them all",
        ArchiveError::PlanEdit(EditError::InUse { .. }) => {
            "with `--cascade` those groups are looked for on all pages"
        }
        ArchiveError::PlanEdit(EditError::Absent { .. }) => "`varve plan show` lists the plan",
        ArchiveError::UserInfo { .. } => {
            "leave them out of the URL; to send them, write a line `HOST Authorization: Basic ...` into a file, and name it with `--credentials`"
        }
        _ => return None,
    })
}

/// History that does not have what a verb asks for.
fn history_hint(failure: &ArchiveError) -> Option<&'static str> {
    Some(match failure {
        ArchiveError::NoBodies { missing: true, .. } => MISSING_BODY_HINT,
        ArchiveError::NoBodies { .. } => "`varve audit` lists the damage",
        ArchiveError::Exchange { .. } => {
            "the archive is unchanged; its file system must support exchanging two folders (renameat2)"
        }
        ArchiveError::BadKey { .. } => {
            "restore the key from a copy; without it, move the file away: encrypted cookies then stay encrypted"
        }
        ArchiveError::KeepsNoVersions => {
            "name two times instead, as in `varve diff 2026-01-01 2026-06-01`; `varve log URL` shows captures"
        }
        ArchiveError::NothingToChoose => {
            "`--newest-good` is for Crystal projects, and for `cat` and `serve` of any archive"
        }
        ArchiveError::NoPlaceForRenderings => {
            "without `--browser` responses become revisions; `varve init DIR` makes an archive, which keeps renderings too"
        }
        ArchiveError::AuditedWhole { .. } => "leave them out; `--quick` is supported",
        ArchiveError::NoCapture { at: Some(_), .. } => "`varve log URL` lists when it was captured",
        ArchiveError::NoTag { .. } => "`varve tag` lists all tags",
        ArchiveError::BadTag { .. } => {
            "a tag has letters, digits and `._-/+`, does not begin with `.`, `-` or `/`, and is not HEAD, an id or a time such as `2d`"
        }
        ArchiveError::NoSilos { .. } => "`varve gc` removes versions and bodies from a Moku site",
        ArchiveError::LostRows { .. } | ArchiveError::LostVersion { .. } => {
            "no body was removed; restore `moku.db` from a copy; if the rows are lost, `varve gc --accept-lost` removes what refers to them"
        }
        ArchiveError::NotASite { .. } => "`varve moku new DIR` makes one",
        _ => return None,
    })
}

/// Finding, making and locking the folder of an archive.
fn folder_hint(failure: &RepositoryError) -> Option<&'static str> {
    Some(match failure {
        RepositoryError::NotAnArchive { .. } => "`varve init DIR` makes an archive",
        RepositoryError::NotEmpty { .. } => "choose a new name, or an empty folder",
        RepositoryError::Settings { source: SettingsError::Format { .. }, .. } => {
            "use the varve that made it, or a later one"
        }
        RepositoryError::Lock(LockError::Held { .. }) => WAIT_HINT,
        RepositoryError::Lock(LockError::Io { source, .. }) | RepositoryError::Write { source, .. } => {
            return write_hint(source.kind());
        }
        RepositoryError::NotAnId { .. } => {
            "an id is 64 hex digits, as `varve store` prints it, or at least the first 4 of them"
        }
        RepositoryError::NotAFolder { .. } => "`varve store` stores single files",
        _ => return None,
    })
}

/// Index, catalog, HEAD and bodies that are damaged, missing or behind.
fn recovery_hint(failure: &RepositoryError) -> Option<&'static str> {
    Some(match failure {
        RepositoryError::Catalog(failure) => return catalog_hint(failure),
        RepositoryError::PendingSwap { .. } => {
            "`varve housekeeping` completes it, and so does any verb that writes"
        }
        RepositoryError::Behind { .. } => DAMAGED_SILO_HINT,
        RepositoryError::HalfEntered { source, .. } if source.is_disk_full() => {
            "free space on that disk: the next verb that writes enters it in the catalog; do not make it again"
        }
        RepositoryError::HalfEntered { .. } => {
            "do not make it again: the next verb that writes enters it in the catalog, and `varve log` then shows it"
        }
        RepositoryError::NoCatalog { .. } | RepositoryError::NoIndex { .. } => REBUILD_HINT,
        RepositoryError::HeadMoved { .. } => "run the command again: it then starts from the present HEAD",
        RepositoryError::BadHead { .. } => "`varve log` lists versions; `varve checkout VERSION` moves HEAD",
        RepositoryError::BodyLost { .. } => "`varve crystal verify` lists everything that is lost",
        RepositoryError::Store(failure) => return store_hint(failure),
        RepositoryError::LostDatabase { .. } => {
            "nothing was changed; restore `moku.db` from a copy, or store the bodies in an archive with `varve store`"
        }
        _ => return None,
    })
}

/// Layouts that do not support the verb.
fn layout_hint(failure: &RepositoryError) -> Option<&'static str> {
    Some(match failure {
        RepositoryError::NotForVersions { .. } => {
            "`varve import` copies it into an archive, which keeps versions"
        }
        RepositoryError::DownloadFailed { .. } => {
            "`--newest-good` shows the newest capture with a good response; `varve log URL` shows them all"
        }
        RepositoryError::Crystal(failure) => return crystal_hint(failure),
        RepositoryError::OnlyObjects { .. } => {
            "`varve get`, `varve filter` and `varve audit` read it in place; for other verbs copy it into an archive with `varve import`"
        }
        RepositoryError::NoAardwarcSilos { .. } => {
            "name the folder in which `0` holds the first silos, or correct `silo.directory`"
        }
        RepositoryError::Aardwarc { source: AardwarcError::Ambiguous { .. }, .. } => "give more digits",
        RepositoryError::Aardwarc { source: AardwarcError::NotWhole { .. }, .. } => {
            "`varve audit` lists all incomplete objects; the missing silo may be in a copy of the store"
        }
        _ => return None,
    })
}

/// A version that does not exist, or cannot be made.
fn version_hint(failure: &RepositoryError) -> Option<&'static str> {
    Some(match failure {
        RepositoryError::NoVersions => "`varve capture URL` or `varve commit` makes the first one",
        RepositoryError::NoVersion { .. } => {
            "a version is HEAD, a tag, an id or its first four or more digits, or a time; `varve log` lists them"
        }
        RepositoryError::NotByTime { .. } => {
            "name a version by HEAD, a tag, its id or the first digits of it; `varve log` lists them"
        }
        RepositoryError::BeforeFirst { .. } | RepositoryError::NoVersionYet { .. } => {
            "`varve log` lists versions, the oldest last"
        }
        RepositoryError::AmbiguousVersion { .. } => "give more digits",
        RepositoryError::Removed { .. } | RepositoryError::VersionRemoved { .. } => {
            "`varve get TOMBSTONE` prints what is known about it"
        }
        RepositoryError::TooManyVersions { in_silos: true, .. } => {
            "an archive never removes versions: give a larger number, or make another archive with `varve init DIR`"
        }
        RepositoryError::TooManyVersions { .. } => {
            "`varve gc --keep-last N` removes all but the newest versions; or give a larger number"
        }
        _ => return None,
    })
}

/// Capturing and checking the live web.
fn crawl_hint(failure: &CrawlError) -> Option<&'static str> {
    Some(match failure {
        CrawlError::OnlyChecks => "`varve capture URL` makes a version to compare the web with",
        CrawlError::UnfinishedRun => {
            "`varve capture --resume` continues it; `varve capture --finish` ends it with what it has captured"
        }
        CrawlError::NoRun => "`varve capture URL` starts one",
        CrawlError::NoBrowser | CrawlError::NotABrowser { .. } => {
            "install Chromium (the package `chromium` in Debian), or give its path with `--chromium FILE`"
        }
        CrawlError::SecretMissing { .. } => {
            "give it again with `--header`, `--credentials`, `--proxy` or the variable VARVE_CREDENTIALS, or continue without it by `--without-credentials`"
        }
        CrawlError::Credentials(_) => "a line is `HOST NAME: VALUE`: `example.com Cookie: a=b`",
        _ => return None,
    })
}

fn store_hint(failure: &StoreError) -> Option<&'static str> {
    match failure {
        StoreError::Index(IndexError::Damaged { .. } | IndexError::Incomplete { .. }) => Some(REBUILD_HINT),
        StoreError::Ambiguous { .. } => Some("give more digits"),
        StoreError::Pack(RecordPackError::Io(source)) if source.kind() == io::ErrorKind::InvalidData => Some(
            "`dictionary.zstd` is damaged: `varve train` makes a new one; without the file records are compressed without a dictionary",
        ),
        _ => None,
    }
}

fn catalog_hint(failure: &CatalogError) -> Option<&'static str> {
    Some(match failure {
        CatalogError::Busy { .. } => "wait until the other program has finished, and try again",
        CatalogError::ReadOnly { .. } => {
            "reading verbs work; to write, copy the folder to a place that you may write to"
        }
        CatalogError::Newer { .. } => "use the program that wrote it, or a later varve; nothing was changed",
        CatalogError::Foreign { .. } => {
            "nothing was changed; restore `moku.db` of a Moku site from a copy; an archive without `catalog.db` makes it again with `varve rebuild`"
        }
        CatalogError::DiskFull { .. } => "free space on that disk and try again; the stored rows are intact",
        CatalogError::Unreachable { .. } => {
            "nothing was changed; check that the disk works, has free space and may be written to, and try again"
        }
        // The message itself says what to do.
        CatalogError::Unsupported { .. } => return None,
        CatalogError::Database { .. } | CatalogError::Damaged { .. } => {
            "nothing was changed; in an archive `varve rebuild` makes the catalog again; restore `moku.db` of a Moku site from a copy"
        }
        CatalogError::Outside { .. } => {
            "open that URL; after `varve plan alias remove SOURCE` the project keeps such pages itself"
        }
        CatalogError::Older { .. } => REBUILD_HINT,
        CatalogError::EarlyMoku { .. } => "`varve moku upgrade` does that, completely or not at all",
        CatalogError::OtherProject { .. } => {
            "name the project that it belongs to, or change it with `varve moku set --project ID --force`"
        }
        CatalogError::NoVersion(_) => "`varve log` lists versions",
    })
}

fn urls_hint(failure: &UrlsError) -> Option<&'static str> {
    Some(match failure {
        UrlsError::Write { source, .. } => return write_hint(source.kind()),
        UrlsError::NoDatabase { .. } => {
            "`varve urls add --domain-file URL` makes one; `--db DIR` names another folder"
        }
        UrlsError::UnknownDomain { .. } => "`varve urls add --domain-file URL` makes a file for its domain",
        UrlsError::AliasNotAsked { .. } => "`--cnames` checks every alias as well",
        UrlsError::Unexpected { .. } => "`varve urls list` shows the URLs in the database",
        UrlsError::NotText { .. } => "convert the file with `iconv -t UTF-8`",
        UrlsError::Target(_) => "a URL is like `https://example.com/path?query`",
        _ => return None,
    })
}

fn doctor_hint(failure: &DoctorError) -> Option<&'static str> {
    Some(match failure {
        DoctorError::Write { source, .. } => return write_hint(source.kind()),
        DoctorError::Folder { .. } => "name the files in it, for example `varve doctor FOLDER/*.warc.gz`",
        DoctorError::Exists { .. } => "choose a new name: doctor never overwrites",
        DoctorError::Ending { .. } => {
            "the file extension selects the compression; a folder must exist already"
        }
        DoctorError::NoFolder { .. } => "make the folder first",
        DoctorError::NotAFolder { .. } => "make the folder first, or repair one file at a time",
        DoctorError::Read { source, .. } if source.is_zip() => {
            "unzip it and examine the files in its `archive` folder"
        }
        _ => return None,
    })
}

fn crystal_hint(failure: &CrystalError) -> Option<&'static str> {
    Some(match failure {
        CrystalError::Absent { .. } => "`varve crystal new PATH` makes a project",
        CrystalError::NotNamedSo { .. } => "the name of a project's folder ends with `.crystalproj`",
        CrystalError::Partial { .. } => "copy the original again, with `varve crystal save-as`",
        CrystalError::Exists { .. } => "choose another name",
        CrystalError::TooNew { .. } => "a later varve may support it; nothing was changed",
        CrystalError::NotWritten { .. } => "it can be read, and copied with `varve crystal save-as`",
        CrystalError::ReadOnly { .. } => {
            "copy it with `varve crystal save-as` to a place that you may write to"
        }
        CrystalError::Locked { .. } => WAIT_HINT,
        CrystalError::InUse { .. } => "close the project there first; reading verbs need not wait",
        CrystalError::NoRoom { .. } => return write_hint(io::ErrorKind::StorageFull),
        CrystalError::Io { source, .. } => return write_hint(source.kind()),
        _ => return None,
    })
}

fn write_hint(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::PermissionDenied => Some("choose a place that you may write to"),
        io::ErrorKind::ReadOnlyFilesystem => Some(
            "the disk is read-only: `log`, `show`, `cat`, `diff` and `audit` work on it; to write, copy the folder",
        ),
        io::ErrorKind::StorageFull => Some("free space on that disk, or choose another"),
        _ => None,
    }
}
