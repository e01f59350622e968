//! What people can do about an error: one table per type of error. No hint where nothing can be
//! done.
//!
//! Requests that fail or are not sent have their own table, because a crawl collects its hints.

use std::collections::BTreeMap;
use std::io;

use varve_archive::expectations::UrlsError;
use varve_archive::pages::PageError;
use varve_archive::verbs::capture::CredentialsError;
use varve_archive::verbs::crystal::Error as CrystalError;
use varve_archive::verbs::doctor::DoctorError;
use varve_archive::verbs::proxy::{AuthorityError, ListenError};
use varve_archive::verbs::seal::SealKeyError;
use varve_archive::verbs::urls::add::AddError;
use varve_archive::verbs::verify::VerifyFileError;
use varve_archive::{
    AardwarcError, ArchiveError, CatalogError, CrawlError, EditError, EntryKind, FolderError, IndexError,
    LockError, RecordPackError, RepositoryError, SettingsError, StoreError, WebArchiveError,
};
use varve_serve::ServeError;

use crate::error::Error;

/// Where to find out why a body is missing.
pub(crate) const MISSING_BODY_HINT: &str =
    "`varve log URL` shows who removed a page and why; `varve audit` lists missing bodies";

const SEARCH_INDEX_HINT: &str = "delete `search.db`: the next search makes it again, as `varve rebuild` does";
const REBUILD_HINT: &str = "`varve rebuild` makes it again from the silos";

const DAMAGED_SILO_HINT: &str = "`varve audit` lists what is missing or damaged: restore it from a copy, or use the varve \
                                 that wrote it; if it is lost, `varve rebuild` makes the catalog from the rest and lists what it leaves out";

const WAIT_HINT: &str = "wait until it has finished; reading verbs need not wait";

const MORE_DIGITS_HINT: &str = "give more digits";

/// The hint of the first pattern that matches. A hint is a text, or the result of another table.
macro_rules! hint_table {
    ($failure:expr; $($pattern:pat $(if $guard:expr)? => $hint:expr,)*) => {
        match $failure {
            $($pattern $(if $guard)? => Option::<&'static str>::from($hint),)*
            _ => None,
        }
    };
}

/// The hints for an error.
pub(crate) fn hints(failure: &Error) -> Vec<String> {
    let fetch_hint = match failure {
        Error::UrlAdd(AddError::Answer { trouble: Some(trouble), .. }) => {
            hint_for_fetch_error(trouble.kind.word(), &trouble.url)
        }
        Error::Archive(ArchiveError::Fetch { url, source }) => hint_for_fetch_error(source.kind.word(), url),
        _ => None,
    };
    let hint = folder_hint(failure).or_else(|| hint(failure));
    hint.map(str::to_owned).into_iter().chain(fetch_hint).collect()
}

fn hint(failure: &Error) -> Option<&'static str> {
    hint_table! { failure;
        Error::Archive(ArchiveError::Authority(AuthorityError::Readable(_))) =>
            "`chmod 600` makes it private; if others may have read it, delete it, and remove its certificate from clients",
        Error::Archive(ArchiveError::Authority(AuthorityError::Invalid(_))) =>
            "delete it: the next recording makes another, which clients must trust anew",
        Error::Write { source, .. } => write_hint(source.kind()),
        Error::Temporary(_) => "TMPDIR names the folder for temporary files; it needs free space",
        Error::Urls(failure) | Error::UrlAdd(AddError::Database(failure)) => urls_hint(failure),
        Error::UrlAdd(AddError::Answer { .. }) => "`--offline` records the path without a request",
        Error::Doctor(failure) => doctor_hint(failure),
        Error::SealKey(failure) => seal_key_hint(failure),
        Error::VerifyFile(VerifyFileError::NoProof { .. }) =>
            "`varve seal prove` makes a proof; without a file, `varve verify` checks the archive",
        Error::VerifyFile(VerifyFileError::NoCheckpoint { .. }) =>
            "`varve seal` prints the checkpoint; `seal/checkpoint` in an archive is the newest",
        Error::Reachable { .. } =>
            "anyone who can connect can read the whole archive; to allow that, give `--allow-remote`, and the name of the server with `--host`",
        Error::OpenProxy { .. } => "to allow that, give `--allow-remote`",
        Error::NoSettingsFolder => "name a folder for the certificate authority with `--ca-folder`",
        Error::Page(failure) => page_hint(failure),
        Error::SigningKey(_) => "`varve token make-key` makes one",
        Error::NoSigningKey =>
            "name one with VARVE_SIGNING_KEY, `--signing-key-file` or `--signing-key`; `varve token make-key` makes one",
        Error::Serve(ServeError::Listen { source, .. } | ServeError::Proxy(ListenError { source, .. }))
        | Error::Archive(ArchiveError::Listen(ListenError { source, .. }))
            if source.kind() == io::ErrorKind::AddrInUse =>
            "another program listens there; choose another port, or 0 for any free port",
        Error::Archive(failure) => archive_hint(failure),
        Error::ReadOnlyAsked { .. } => "nothing was changed; to write, leave out `--readonly`",
    }
}

/// A hint if something in an archive is of a kind, or of a size, that varve never makes.
fn folder_hint(failure: &Error) -> Option<&'static str> {
    let first: &(dyn std::error::Error + 'static) = failure;
    let mut causes = std::iter::successors(Some(first), |cause| cause.source());
    causes.find_map(|cause| match as_folder_error(cause)? {
        FolderError::WrongKind { found: EntryKind::SymbolicLink, .. } => Some(
            "varve follows no links inside an archive: put the file or folder itself there, or mount it there",
        ),
        FolderError::WrongKind { .. } => Some("varve did not make it: move it away"),
        FolderError::TooLarge { .. } => Some("varve did not write it: move it away, or restore it from a copy"),
        _ => None,
    })
}

fn as_folder_error<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a FolderError> {
    // The source of an `io::Error` is that of the error inside it.
    let inside = cause.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    inside.and_then(|inside| inside.downcast_ref()).or_else(|| cause.downcast_ref())
}

fn page_hint(failure: &PageError) -> Option<&'static str> {
    hint_table! { failure;
        PageError::Refused { .. } => "`--allow-private` allows it; `allow_private` in `varve.toml` allows single hosts permanently",
        error if error.may_need_browser() => "if its scripts make the text, `--headless` loads it in Chromium",
        PageError::HeadlessDisabled(_) => "`--chromium FILE` names a Chromium that is not in PATH",
        PageError::ReadOnly => "`--at TIME` reads captures that the archive has",
        PageError::Busy(_) => WAIT_HINT,
        PageError::Redirects { is_endless: true, .. } => "`varve log URL` lists the captured redirects",
    }
}

fn seal_key_hint(failure: &SealKeyError) -> Option<&'static str> {
    hint_table! { failure;
        SealKeyError::Exists(_) => "varve replaces no key; choose another name, or move it away",
        SealKeyError::Readable(_) => "`chmod 600 FILE`; if others may have read it, make another key",
        SealKeyError::Key { .. } =>
            "`varve seal make-key` makes a private key and prints the public one, for `varve verify --key`",
        SealKeyError::Write { source, .. } => write_hint(source.kind()),
    }
}

fn archive_hint(failure: &ArchiveError) -> Option<&'static str> {
    hint_table! { failure;
        ArchiveError::NoSealKey => "`varve seal make-key` makes one; `--key FILE` names one in another place",
        ArchiveError::NothingSealed => "`varve seal` seals the versions of an archive",
        ArchiveError::NothingToSeal => "`varve capture URL` and `varve commit FILE` make versions",
        ArchiveError::NotSealed(_) => "`varve seal` seals it",
        ArchiveError::LogFilesDiffer => "`varve verify` names them, and `varve rebuild` writes them again",
        ArchiveError::OtherManifest(_) => "`varve audit` lists the damage",
        ArchiveError::Timestamp(_) =>
            "the answer must be for a request that `varve seal --timestamp-request` wrote for this archive",
        ArchiveError::Repository(failure) => repository_hint(failure),
        ArchiveError::Crawl(failure) => crawl_hint(failure),
        ArchiveError::NoArchive(_) =>
            "`varve init DIR` makes an archive; `-C DIR` or VARVE_ARCHIVE names one in another folder",
        ArchiveError::InsideArchive { .. } => "choose a folder outside of the archive",
        ArchiveError::CheckedOutTo(_) => "wait until it has finished, or choose another folder",
        ArchiveError::OtherFolderLayout(_) => "choose another folder, or the `--layout` of that checkout",
        ArchiveError::TargetExists(_) => "choose another name: an export replaces nothing",
        ArchiveError::ManyFiles => "name a folder that does not exist",
        ArchiveError::WarcFile { .. } => "`varve doctor FILE` examines it",
        ArchiveError::Exists(_) => "choose another name, or overwrite it with `--force`",
        ArchiveError::NotImportable(_) =>
            "import takes WARC, ARC and WACZ files and folders of them, a Crystal project, or the folder of an AardWARC store, in which `0` holds the first silos",
        ArchiveError::NoDictionary { .. } =>
            "a dictionary is made from pages in the archive: capture or commit some first",
        ArchiveError::NotAUrl { text, .. } if !text.contains("://") =>
            "a URL begins with its scheme, as in `https://example.com/`",
        ArchiveError::NotAFolderUrl(_) =>
            "give the URL of the folder alone, as in `--base-url https://example.com/docs/`",
        ArchiveError::Folder(_) => "`varve stow` stores a folder with everything in it",
        ArchiveError::MediaType(_) =>
            "a media type is two words with `/` between them: `text/plain`",
        ArchiveError::NotOnTheWeb(_) => "a URL begins with `http://` or `https://`: other protocols cannot be captured",
        ArchiveError::NoRoots => "`varve plan root add URL` adds one; `varve capture URL` needs no plan",
        ArchiveError::PlanProblem { .. } => "`varve plan check` lists them all",
        ArchiveError::PlanEdit(EditError::InUse { .. }) =>
            "with `--cascade` those groups are looked for on all pages",
        ArchiveError::PlanEdit(EditError::Absent { .. }) => "`varve plan show` lists the plan",
        ArchiveError::UserInfo(_) =>
            "leave them out of the URL; to send them, write a line `HOST Authorization: Basic ...` into a file, and name it with `--credentials`",
        ArchiveError::NoBodies { missing: true, .. } => MISSING_BODY_HINT,
        ArchiveError::NoBodies { .. } => "`varve audit` lists the damage",
        ArchiveError::Exchange { .. } =>
            "the archive is unchanged; its file system must support exchanging two folders (renameat2)",
        ArchiveError::BadKey(_) =>
            "restore the key from a copy; without it, move the file away: encrypted cookies then stay encrypted",
        ArchiveError::KeepsNoVersions =>
            "name two times instead, as in `varve diff 2026-01-01 2026-06-01`; `varve log URL` shows captures",
        ArchiveError::NothingToChoose =>
            "`--newest-good` is for Crystal projects, and for `cat` and `serve` of any archive",
        ArchiveError::NoPlaceForRenderings =>
            "without `--browser` responses become revisions; `varve init DIR` makes an archive, which keeps renderings too",
        ArchiveError::AuditedWhole(_) => "leave them out; `--quick` is supported",
        ArchiveError::NoCapture { at: Some(_), .. } => "`varve log URL` lists when it was captured",
        ArchiveError::NoTag(_) => "`varve tag` lists all tags",
        ArchiveError::BadTag(_) =>
            "a tag has letters, digits and `._-/+`, does not begin with `.`, `-` or `/`, and is not HEAD, an id or a time such as `2d`",
        ArchiveError::NoSilos(_) => "`varve gc` removes versions and bodies from a Moku site",
        ArchiveError::LostRows { .. } | ArchiveError::LostVersion(_) =>
            "no body was removed; restore `moku.db` from a copy; if the rows are lost, `varve gc --accept-lost` removes what refers to them",
        ArchiveError::NotASite(_) => "`varve moku new DIR` makes one",
    }
    .or_else(|| failure.is_disk_full().then(|| write_hint(io::ErrorKind::StorageFull)).flatten())
}

fn repository_hint(failure: &RepositoryError) -> Option<&'static str> {
    hint_table! { failure;
        RepositoryError::NotAnArchive { .. } => "`varve init DIR` makes an archive",
        RepositoryError::NotEmpty { .. } => "choose a new name, or an empty folder",
        RepositoryError::Settings { source: SettingsError::Format { .. }, .. } =>
            "use the varve that made it, or a later one",
        RepositoryError::Lock(LockError::Held { .. }) =>
            "`--wait 10m` waits longer until it has finished; reading verbs need not wait",
        RepositoryError::Lock(LockError::Io { source, .. }) | RepositoryError::Write { source, .. } =>
            write_hint(source.kind()),
        RepositoryError::NotAnId { .. } =>
            "an id is 64 hex digits, as `varve store` prints it, or at least the first 4 of them",
        RepositoryError::NotAFolder { .. } => "`varve store` stores single files",
        RepositoryError::Catalog(failure) => catalog_hint(failure),
        RepositoryError::TextRecord(_) => SEARCH_INDEX_HINT,
        RepositoryError::PendingSwap { .. } =>
            "`varve housekeeping` completes it, and so does any verb that writes",
        RepositoryError::Behind { .. } => DAMAGED_SILO_HINT,
        RepositoryError::HalfEntered { source, .. } if source.is_disk_full() =>
            "free space on that disk: the next verb that writes enters it in the catalog; do not make it again",
        RepositoryError::HalfEntered { .. } =>
            "do not make it again: the next verb that writes enters it in the catalog, and `varve log` then shows it",
        RepositoryError::NoCatalog { .. } | RepositoryError::NoIndex { .. } => REBUILD_HINT,
        RepositoryError::HeadMoved { .. } =>
            "run the command again: it then starts from the present HEAD",
        RepositoryError::BadHead { .. } =>
            "`varve log` lists versions; `varve checkout VERSION` moves HEAD",
        RepositoryError::BodyLost { .. } => "`varve crystal verify` lists everything that is lost",
        RepositoryError::Store(failure) => store_hint(failure),
        RepositoryError::LostDatabase { .. } =>
            "nothing was changed; restore `moku.db` from a copy, or store the bodies in an archive with `varve store`",
        RepositoryError::NotForVersions { .. } =>
            "`varve import` copies it into an archive, which keeps versions",
        RepositoryError::ReadInPlace { .. } =>
            "`varve import` copies it into an archive, to which versions can be added",
        RepositoryError::WebArchive(WebArchiveError::Changed { .. } | WebArchiveError::RecordGone { .. }) =>
            "run the command again: it then reads the files as they are now",
        RepositoryError::WebArchive(WebArchiveError::NoOriginal { .. }) =>
            "name the folder that also has the files of the earlier crawl",
        RepositoryError::WebArchive(WebArchiveError::Write { source, .. }) => write_hint(source.kind()),
        RepositoryError::WebArchive(_) => "`varve doctor FILE` says what is wrong with a file",
        RepositoryError::DownloadFailed { .. } =>
            "`--newest-good` shows the newest capture with a good response; `varve log URL` shows them all",
        RepositoryError::Crystal(failure) => crystal_hint(failure),
        RepositoryError::OnlyObjects { .. } =>
            "`varve get`, `varve filter` and `varve audit` read it in place; for other verbs copy it into an archive with `varve import`",
        RepositoryError::NoAardwarcSilos { .. } =>
            "name the folder in which `0` holds the first silos, or correct `silo.directory`",
        RepositoryError::Aardwarc { source: AardwarcError::Ambiguous { .. }, .. } => MORE_DIGITS_HINT,
        RepositoryError::Aardwarc { source: AardwarcError::NotWhole { .. }, .. } =>
            "`varve audit` lists all incomplete objects; the missing silo may be in a copy of the store",
        RepositoryError::NoVersions => "`varve capture URL` or `varve commit` makes the first one",
        RepositoryError::NoVersion { .. } =>
            "a version is HEAD, a tag, an id or its first four or more digits, or a time; `varve log` lists them",
        RepositoryError::NoCheck { .. } => "`varve log --checks` lists them",
        RepositoryError::NotByTime { .. } =>
            "name a version by HEAD, a tag, its id or the first digits of it; `varve log` lists them",
        RepositoryError::BeforeFirst { .. } | RepositoryError::NoVersionYet { .. } =>
            "`varve log` lists versions, the oldest last",
        RepositoryError::AmbiguousVersion { .. } | RepositoryError::AmbiguousCheck { .. } => MORE_DIGITS_HINT,
        RepositoryError::Removed { .. } | RepositoryError::VersionRemoved { .. } =>
            "`varve get TOMBSTONE` prints what is known about it",
        RepositoryError::TooManyVersions { in_silos: true, .. } =>
            "an archive never removes versions: give a larger number, or make another archive with `varve init DIR`",
        RepositoryError::TooManyVersions { .. } =>
            "`varve gc --keep-last N` removes all but the newest versions; or give a larger number",
    }
    .or_else(|| failure.is_disk_full().then(|| write_hint(io::ErrorKind::StorageFull)).flatten())
}

fn crawl_hint(failure: &CrawlError) -> Option<&'static str> {
    hint_table! { failure;
        CrawlError::UnfinishedRun =>
            "`varve capture --resume` continues it, or `varve proxy --resume` if it is a recording; with `--finish` instead, either ends it with what it has captured",
        CrawlError::NoRun => "`varve capture URL` starts one",
        CrawlError::NoBrowser | CrawlError::NotABrowser { .. } =>
            "install Chromium (the package `chromium` in Debian), or give its path with `--chromium FILE`",
        CrawlError::SecretMissing { .. } =>
            "give it again with `--header`, `--credentials`, `--proxy` or the variable VARVE_CREDENTIALS, or continue without it by `--without-credentials`",
        CrawlError::Cookies { .. } =>
            "a line has seven fields between tabs: host, TRUE or FALSE for its subdomains, path, TRUE or FALSE for https only, time of expiry or 0, name, value",
        CrawlError::Credentials(
            CredentialsError::ReservedHeader { .. } | CredentialsError::ReservedInLine { .. },
        ) => "remove `Host`, `Connection`, `Content-Length`, `Transfer-Encoding` and `TE`",
        CrawlError::Credentials(CredentialsError::Header { .. }) =>
            "write a header with a colon: `--header 'Cookie: a=b'`",
        CrawlError::Credentials(_) => "a line is `HOST NAME: VALUE`: `example.com Cookie: a=b`",
    }
}

fn store_hint(failure: &StoreError) -> Option<&'static str> {
    hint_table! { failure;
        StoreError::Index(IndexError::Damaged { .. } | IndexError::Incomplete { .. }) => REBUILD_HINT,
        StoreError::Ambiguous { .. } => MORE_DIGITS_HINT,
        StoreError::Pack(RecordPackError::Io(source)) if source.kind() == io::ErrorKind::InvalidData =>
            "`dictionary.zstd` is damaged: `varve train` makes a new one; without the file records are compressed without a dictionary",
    }
}

fn catalog_hint(failure: &CatalogError) -> Option<&'static str> {
    hint_table! { failure;
        CatalogError::Busy { .. } => "wait until the other program has finished, and try again",
        CatalogError::ReadOnly { .. } =>
            "reading verbs work; to write, copy the folder to a place that you may write to",
        CatalogError::Newer { .. } =>
            "use the program that wrote it, or a later varve; nothing was changed",
        CatalogError::Foreign { path, .. }
        | CatalogError::Database { path, .. }
        | CatalogError::Damaged { path, .. }
            if path.ends_with("search.db") => SEARCH_INDEX_HINT,
        CatalogError::Foreign { path, .. } if path.ends_with("catalog.db") =>
            "nothing was changed; `varve rebuild` makes the catalog again from the silos",
        CatalogError::Foreign { .. } =>
            "nothing was changed; restore `moku.db` of a Moku site from a copy; an archive without `catalog.db` makes it again with `varve rebuild`",
        CatalogError::DiskFull { .. } =>
            "free space on that disk and try again; the stored rows are intact",
        CatalogError::Unreachable { .. } =>
            "nothing was changed; check that the disk works, has free space and may be written to, and try again",
        CatalogError::Database { path, .. } | CatalogError::Damaged { path, .. } if path.ends_with("catalog.db") =>
            "nothing was changed; `varve rebuild` makes the catalog again from the silos",
        CatalogError::Database { .. } | CatalogError::Damaged { .. } =>
            "nothing was changed; in an archive `varve rebuild` makes the catalog again; restore `moku.db` of a Moku site from a copy",
        CatalogError::Outside { .. } =>
            "open that URL; after `varve plan alias remove SOURCE` the project keeps such pages itself",
        CatalogError::Older { .. } => REBUILD_HINT,
        CatalogError::EarlyMoku { .. } => "`varve moku upgrade` does that, completely or not at all",
        CatalogError::OtherProject { .. } =>
            "name the project that it belongs to, or change it with `varve moku set --project ID --force`",
        CatalogError::NoVersion(_) => "`varve log` lists versions",
    }
}

fn urls_hint(failure: &UrlsError) -> Option<&'static str> {
    hint_table! { failure;
        UrlsError::Write { source, .. } => write_hint(source.kind()),
        UrlsError::NoDatabase { .. } =>
            "`varve urls add --domain-file URL` makes one; `--db DIR` names another folder",
        UrlsError::UnknownDomain { .. } =>
            "`varve urls add --domain-file URL` makes a file for its domain",
        UrlsError::AliasNotAsked { .. } => "`--cnames` checks every alias as well",
        UrlsError::Unexpected { .. } => "`varve urls list` shows the URLs in the database",
        UrlsError::NotText { .. } => "convert the file with `iconv -t UTF-8`",
        UrlsError::Target(_) => "a URL is like `https://example.com/path?query`",
    }
}

fn doctor_hint(failure: &DoctorError) -> Option<&'static str> {
    hint_table! { failure;
        DoctorError::Write { source, .. } => write_hint(source.kind()),
        DoctorError::Folder(_) =>
            "name the files in it, for example `varve doctor FOLDER/*.warc.gz`",
        DoctorError::Exists(_) => "choose a new name: doctor never overwrites",
        DoctorError::Ending(_) =>
            "the file extension selects the compression; a folder must exist already",
        DoctorError::NoFolder(_) => "make the folder first",
        DoctorError::NotAFolder(_) => "make the folder first, or repair one file at a time",
        DoctorError::Read { source, .. } if source.is_zip() =>
            "unzip it and repair the files in its `archive` folder",
    }
}

fn crystal_hint(failure: &CrystalError) -> Option<&'static str> {
    hint_table! { failure;
        CrystalError::Absent { .. } => "`varve crystal new PATH` makes a project",
        CrystalError::NotNamedSo { .. } => "the name of a project's folder ends with `.crystalproj`",
        CrystalError::Partial { .. } => "copy the original again, with `varve crystal save-as`",
        CrystalError::Exists { .. } => "choose another name",
        CrystalError::TooNew { .. } => "a later varve may support it; nothing was changed",
        CrystalError::ReadOnly { .. } =>
            "copy it with `varve crystal save-as` to a place that you may write to",
        CrystalError::Locked { .. } => WAIT_HINT,
        CrystalError::InUse { .. } => "close the project there first; reading verbs need not wait",
        CrystalError::NoRoom { .. } => write_hint(io::ErrorKind::StorageFull),
        CrystalError::Io { source, .. } => write_hint(source.kind()),
    }
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

/// Hints for the failures of a run: options, settings or URLs that would prevent them. One for each kind.
#[derive(Debug, Default)]
pub(crate) struct NetworkHints(BTreeMap<String, String>);

impl NetworkHints {
    /// Records a failure of this kind.
    pub(crate) fn add(&mut self, kind: &str, url: &str) {
        if !self.0.contains_key(kind)
            && let Some(hint) = hint_for_fetch_error(kind, url)
        {
            self.0.insert(kind.to_owned(), hint);
        }
    }

    /// The hints, one for each kind of failure.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }
}

/// The hint for one kind of failure.
pub(crate) fn hint_for_fetch_error(kind: &str, url: &str) -> Option<String> {
    Some(match kind {
        "robots" => {
            "`--ignore-robots` captures pages that robots.txt excludes, or that wait for it".to_owned()
        },
        "guard" => "`--allow-private` allows private addresses for one run; \
                    `allow_private = [\"HOST\", \"10.0.0.0/8\"]` in `varve.toml` allows single ones permanently"
            .to_owned(),
        "tls:issuer" => "`--ca FILE` trusts the certificates in a file besides those of the system".to_owned(),
        "tls:expired" => {
            "check the clock of this machine; if it is right, the operator of the site must renew the certificate"
                .to_owned()
        }
        "tls:name" => {
            "use a host name that the certificate is for, with or without `www.`".to_owned()
        }
        "tls:none" => format!("`{}` may be the right URL", url.replacen("https:", "http:", 1)),
        "tls:wanted" => format!("`{}` may be the right URL", url.replacen("http:", "https:", 1)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_url_with_the_other_scheme() {
        let hint = |kind, url| hint_for_fetch_error(kind, url).unwrap_or_default();
        assert_eq!(hint("tls:none", "https://h:80/"), "`http://h:80/` may be the right URL");
        assert_eq!(hint("tls:wanted", "http://h:443/?http:"), "`https://h:443/?http:` may be the right URL");
        assert_eq!(hint_for_fetch_error("dns", "http://h/"), None);
    }
}
