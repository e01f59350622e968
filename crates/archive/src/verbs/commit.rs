//! `commit`: stores pages supplied by the user as one version.
//!
//! Bodies are stored on all cores, then the manifest is written, and then one transaction inserts
//! the rows. The working tree is updated next, and HEAD is set last. After an interruption, the
//! next writer finds either no version or the whole version.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use varve_repository::RepositoryError;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use varve_core::fact::{Manifest, ManifestPage, StateChanges, sort_pages};
use varve_core::headers::{HeaderView, Headers, Redaction};
use varve_core::history::{Capture, Coverage, CoverageScope};
use varve_core::secret::ShownUrl;
use varve_core::url::normalise;
use varve_core::{Moment, VersionId};

use super::capture::refuse_user_info;
use crate::error::ArchiveError;
use crate::site_files::MARK_FILE;
pub use varve_repository::history::KeptIntent;
use varve_repository::history::{
    BodyInput, CapturePair, CoveredPages, HistoryWriter, NewCommit, PageChange, StatePages, VersionPages,
    WorkingTree, changes_since, half_entered_error, known_version, pairs_with_parent, record_covered,
    remove_from_tree, write_with_diff,
};
use varve_repository::media_type::{OCTET_STREAM, of_name};
use varve_repository::ordered_workers::{WorkerCount, run_in_order};
use varve_repository::page_path::{in_site, page_path};
use varve_repository::search::index_new_versions;
use varve_repository::seen_files::{PageMark, SeenCommit, SeenFiles};

/// Number of pages that a thread takes at a time.
const PAGES_PER_BATCH: usize = 16;
/// Number of paths looked up per query.
const PATHS_PER_QUERY: usize = 5_000;
/// Maximum number of unwritten pages reported by URL; the others are only counted.
const MAX_NAMED_PAGES: usize = 1000;
const CONTENT_TYPE_HEADER: &str = "content-type";

/// The body of a page to commit.
#[derive(Clone, Debug)]
pub enum NewBody {
    /// The content of a file.
    File(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A page to commit.
#[derive(Clone, Debug)]
pub struct NewPage {
    /// Its URL.
    pub url: String,
    /// When it was captured; default: now.
    pub time: Option<Moment>,
    /// The status of its response.
    pub status: u16,
    /// The headers of its response.
    pub headers: Headers,
    /// Its body.
    pub body: NewBody,
}

impl NewPage {
    /// The file that holds its body.
    fn file(&self) -> Option<&Path> {
        match &self.body {
            NewBody::File(path) => Some(path),
            NewBody::Bytes(_) => None,
        }
    }

    /// The mark by which the page is known again.
    fn mark(&self) -> PageMark {
        PageMark::of(&self.url, self.status, &self.headers)
    }
}

/// The options of a commit.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The commit message.
    pub message: String,
    /// The author.
    pub author: Option<String>,
    /// The parent version; default: HEAD.
    pub parent: Option<VersionId>,
    /// The plan and the expectations in force.
    pub intent: KeptIntent,
    /// Number of threads that store bodies.
    pub threads: usize,
    /// The folder that contains all files, if there is one. Files unchanged since its last version
    /// are not read.
    pub folder: Option<PathBuf>,
    /// The pages are all there are below this URL; other pages of the parent's state below it are
    /// gone. The empty text stands for all URLs. Without it, other pages stay as they are.
    pub covers: Option<String>,
    /// Read unchanged files as well.
    pub read_all: bool,
    /// Maximum length of a page, in bytes.
    pub largest: Option<u64>,
    /// Maximum number of versions: a commit is refused once the archive holds this many.
    pub most_versions: Option<u64>,
}

/// The result of a commit.
#[derive(Debug)]
pub struct Report {
    /// The version.
    pub version: VersionId,
    /// Its parent.
    pub parent: Option<VersionId>,
    /// Number of pages in it.
    pub captures: u64,
    /// Number of pages that are new or differ from those of the parent.
    pub changed: u64,
    /// The diff with the parent, which this layout stores with each version, was not made because
    /// one of its bodies is damaged or missing.
    pub lacks_diff: bool,
    /// The changes to the layout's own working tree.
    pub tree: TreeReport,
}

/// The changes that a commit made to a working tree.
#[derive(Debug, Default)]
pub struct TreeReport {
    /// Pages that could not be written to the tree, or not removed from it.
    pub unwritten: Unwritten,
    /// Pages whose place in the tree is taken by another page with the same path.
    pub covered: CoveredPages,
    /// Number of folders whose page was removed, because the version has none there.
    pub removed: u64,
    /// Number of folders whose page stays, though the version has none there, because a user
    /// changed its files or no other copy of its body exists.
    pub stayed: u64,
}

/// Pages that could not be written to a working tree, each with its own reason.
#[derive(Debug, Default)]
pub struct Unwritten {
    /// Number of such pages.
    pub count: u64,
    /// The URLs of the first of them, with the error of each.
    pub first: Vec<(String, RepositoryError)>,
}

impl Unwritten {
    fn add(&mut self, url: String, why: RepositoryError) {
        self.count += 1;
        if self.first.len() < MAX_NAMED_PAGES {
            self.first.push((url, why));
        }
    }
}

/// The files below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderFiles {
    /// Every file with its URL, sorted.
    pub files: Vec<(String, PathBuf)>,
    /// The skipped entries, sorted.
    pub left_out: Vec<SkippedFile>,
}

/// An entry below a folder that is not a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub why: SkippedFileKind,
}

/// Why an entry is not a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkippedFileKind {
    /// A symbolic link. Links are not followed, because one may lead out of the folder or form a
    /// cycle.
    Link,
    /// A pipe, socket or device, which has no content to store.
    Special,
}

/// Normalises a URL. A URL with a user name or password is refused, because committed data is
/// permanent.
pub(crate) fn normal_url(text: &str) -> Result<String, ArchiveError> {
    refuse_user_info(text)?;
    normalise(text).map_err(|source| ArchiveError::NotAUrl { text: ShownUrl(text).to_string(), source })
}

/// Every file below a folder with its URL. A file named `index` stands for its folder, as with most
/// servers. The mark of a checkout is left out. Links are not followed, except the folder itself,
/// because the user named it.
pub fn files_below(folder: &Path, base_url: &str, index: Option<&str>) -> Result<FolderFiles, ArchiveError> {
    normal_url(base_url)?;
    if base_url.contains(['?', '#']) {
        return Err(ArchiveError::NotAFolderUrl(ShownUrl(base_url).to_string()));
    }
    let base = base_url.trim_end_matches('/');
    let (mut found, top) = (FolderFiles::default(), folder);
    let mut waiting = vec![(base.to_owned(), folder.to_owned())];
    while let Some((url, folder)) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(ArchiveError::read(&folder))? {
            let entry = entry.map_err(ArchiveError::read(&folder))?;
            let kind = entry.file_type().map_err(ArchiveError::read(&entry.path()))?;
            let name = entry.file_name();
            if name == MARK_FILE && entry.path().parent() == Some(top) {
                continue;
            }
            let stands_for_folder = kind.is_file() && index.is_some_and(|index| name == index);
            let segment = if stands_for_folder { String::new() } else { percent_encode(&name) };
            let url = format!("{url}/{segment}");
            if kind.is_dir() {
                waiting.push((url, entry.path()));
            } else if kind.is_file() {
                found.files.push((url, entry.path()));
            } else {
                let why = if kind.is_symlink() { SkippedFileKind::Link } else { SkippedFileKind::Special };
                found.left_out.push(SkippedFile { path: entry.path(), why });
            }
        }
    }
    found.files.sort();
    found.left_out.sort();
    Ok(found)
}

/// Percent-encodes a file name as a URL path segment.
fn percent_encode(name: &OsStr) -> String {
    /// The characters allowed in a path segment (RFC 3986).
    const UNESCAPED_BYTES: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'!')
        .remove(b'$')
        .remove(b'&')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')')
        .remove(b'*')
        .remove(b'+')
        .remove(b',')
        .remove(b';')
        .remove(b'=')
        .remove(b':')
        .remove(b'@');
    percent_encoding::percent_encode(name.as_encoded_bytes(), UNESCAPED_BYTES).to_string()
}

/// Commits pages as one version.
pub fn commit(
    history: &HistoryWriter,
    request: &Request,
    mut pages: Vec<NewPage>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report, ArchiveError> {
    if request.message.trim().is_empty() {
        return Err(RepositoryError::NoMessage.into());
    }
    request.parent.map(|parent| known_version(history.as_reader(), &parent)).transpose()?;
    settle_urls(&mut pages)?;
    refuse_long(&pages, request.largest)?;
    // Checked early: a commit that cannot get exclusive access, or is over the limit, fails here
    // and not after all bodies are stored.
    history.exclusively(&mut || check_version_limit(history, request.most_versions))?;
    let now = history.now();
    refuse_unsound(&pages, now)?;
    let mut seen = SeenFiles::of(history, request.folder.as_deref());
    if !request.read_all {
        seen.look_up(history, pages.iter().filter_map(NewPage::file))?;
    }
    let (head, parent) = match request.parent {
        // A HEAD that cannot be read leaves the content of the tree unknown: all pages are written.
        Some(parent) => (history.head().ok().flatten(), Some(parent)),
        None => {
            let head = history.head()?;
            (head, head)
        }
    };
    let captures = pages.len() as u64;
    let known = KnownPages::take(history, request, (&seen, parent), &mut pages);
    if let Some(known) = &known {
        progress(known.skipped);
    }
    let mut kept = keep_bodies(history, (request.threads, &seen), pages, now, progress)?;
    sort_pages(&mut kept);
    let mut manifest = Manifest {
        parent,
        message: request.message.clone(),
        author: request.author.clone(),
        time: now,
        run: None,
        coverage: None,
        inline: StateChanges::default(),
        changes: Vec::new(),
        plan: request.intent.plan,
        expectations: request.intent.expectations.clone(),
    };
    let (pairs, changed) = match history {
        HistoryWriter::Archive(_) => {
            (Vec::new(), add_changes(history, request, &mut manifest, (known, kept))?)
        }
        // The versions of a site list all their pages.
        HistoryWriter::Moku(_) => {
            manifest.inline.pages = kept;
            compare_with_parent(history, &manifest)?
        }
    };
    // Other writers that respect the lock have made no versions meanwhile; Moku does not respect
    // it.
    check_version_limit(history, request.most_versions)?;
    let (version, lacks_diff) = write_with_diff(history, &manifest, &pairs)?;
    let tree = TreeCommit { before: head, parent, rewrites: request.read_all };
    let written = tree.write(history, &pairs);
    history.move_head(head, version).map_err(|source| half_entered_error(version, source))?;
    seen.write_down(SeenCommit { version, covers: request.covers.clone() });
    if let HistoryWriter::Archive(archive) = history {
        index_new_versions(archive);
    }
    Ok(Report { version, parent, captures, changed, lacks_diff, tree: written? })
}

/// Returns an error if the archive holds `most_versions` or more. A caller that writes before it
/// calls [`commit`] checks here first.
pub fn check_version_limit(
    history: &HistoryWriter,
    most_versions: Option<u64>,
) -> Result<(), RepositoryError> {
    let Some(most) = most_versions else { return Ok(()) };
    if history.catalog().count_versions(most)? < most {
        return Ok(());
    }
    // The exact count is computed only for the error, because its cost grows with the number of
    // versions.
    let found = history.catalog().count_versions(u64::MAX)?;
    let in_silos = matches!(history, HistoryWriter::Archive(_));
    Err(RepositoryError::TooManyVersions { found, most, in_silos })
}

/// How a commit updates the layout's own working tree, so that it holds the pages of the new version.
/// Files that a user added or changed stay.
struct TreeCommit {
    /// The version that the tree holds, if it is known.
    before: Option<VersionId>,
    /// The parent of the new version.
    parent: Option<VersionId>,
    /// Whether pages that the tree holds already are written again.
    rewrites: bool,
}

/// The pages of one folder of a working tree.
#[derive(Default)]
struct FolderPages<'a> {
    /// Those of the version that the tree holds.
    held: Vec<&'a Capture>,
    /// Those of the new version.
    new: Vec<&'a Capture>,
}

impl TreeCommit {
    /// Writes the pages that differ from those in the tree and removes those that the new version
    /// does not have. The version already exists, so pages that cannot be written do not fail the
    /// commit. A just stored body that cannot be read is not a fault of the tree: it is returned as
    /// the error after all other pages.
    fn write(&self, history: &HistoryWriter, pairs: &[CapturePair]) -> Result<TreeReport, RepositoryError> {
        let mut done = TreeReport::default();
        let Some(root) = history.working_tree() else { return Ok(done) };
        let mut tree = WorkingTree::new(root);
        let holds_parent = self.before == self.parent;
        let of_other = match holds_parent {
            true => Vec::new(),
            false => VersionPages::new(history.catalog(), self.before).collect::<Result<_, _>>()?,
        };
        let of_parent = pairs.iter().filter(|_| holds_parent).filter_map(|pair| pair.base.as_ref());
        let mut folders = HashMap::<PathBuf, FolderPages<'_>>::new();
        for page in of_parent.chain(&of_other) {
            folders.entry(tree.folder(page)).or_default().held.push(page);
        }
        for page in pairs.iter().filter_map(|pair| pair.head.as_ref()) {
            folders.entry(tree.folder(page)).or_default().new.push(page);
        }
        let redaction = history.redaction();
        folders.retain(|_, pages| self.rewrites || !pages.is_held_in(&tree, redaction));
        let ordered: BTreeMap<_, _> = folders.into_iter().collect();
        let mut lost = None;
        for (folder, pages) in ordered.iter().filter(|(_, pages)| !pages.new.is_empty()) {
            lost = lost.or(done.write_folder(history, &mut tree, folder, pages));
        }
        // After all writes: a folder of both kinds of pages is not removed and made again.
        for pages in ordered.values().filter(|pages| pages.new.is_empty()) {
            done.remove_folder(history, &mut tree, pages);
        }
        lost.map_or(Ok(done), Err)
    }
}

impl FolderPages<'_> {
    /// Whether the folder holds its page already: the version before had the same one there, and the
    /// files have its lengths.
    fn is_held_in(&self, tree: &WorkingTree, redaction: Redaction) -> bool {
        let ([page], [held]) = (self.new.as_slice(), self.held.as_slice()) else { return false };
        let is_same = page.body == held.body && page.status == held.status && page.headers == held.headers;
        is_same && page.path == held.path && tree.holds(page, redaction)
    }
}

impl TreeReport {
    /// Writes the pages of a folder. Returns the error of a body that cannot be read.
    fn write_folder(
        &mut self,
        history: &HistoryWriter,
        tree: &mut WorkingTree,
        folder: &Path,
        pages: &FolderPages<'_>,
    ) -> Option<RepositoryError> {
        let (mut lost, mut urls) = (None, Vec::with_capacity(pages.new.len()));
        for page in &pages.new {
            match tree.write(history.as_reader(), page) {
                Err(why) if why.body_failure().is_some() => lost = lost.or(Some(why)),
                Err(why) => self.unwritten.add(page.url.clone(), why),
                Ok(()) => urls.push(page.url.clone()),
            }
        }
        record_covered(&mut HashMap::new(), &mut self.covered, folder.to_owned(), urls);
        lost
    }

    /// Removes the page of a folder, which is one of those that the tree held there.
    fn remove_folder(&mut self, history: &HistoryWriter, tree: &mut WorkingTree, pages: &FolderPages<'_>) {
        for page in &pages.held {
            match remove_from_tree(history.as_reader(), tree, page) {
                Ok(true) => return self.removed += 1,
                Ok(false) => {}
                Err(why) => return self.unwritten.add(page.url.clone(), why),
            }
        }
        self.stayed += 1;
    }
}

/// Normalises the URL of each page, because lookups use the normalised form. Refuses duplicates.
fn settle_urls(pages: &mut [NewPage]) -> Result<(), ArchiveError> {
    if pages.is_empty() {
        return Err(ArchiveError::NothingToCommit);
    }
    for page in &mut *pages {
        page.url = normal_url(&page.url)?;
    }
    let mut urls = HashSet::with_capacity(pages.len());
    match pages.iter().find(|page| !urls.insert(page.url.as_str())) {
        Some(page) => Err(ArchiveError::DuplicatePage(page.url.clone())),
        None => Ok(()),
    }
}

/// Refuses pages over the maximum length before any page is stored.
fn refuse_long(pages: &[NewPage], largest: Option<u64>) -> Result<(), ArchiveError> {
    let Some(largest) = largest else { return Ok(()) };
    for page in pages {
        let length = match &page.body {
            NewBody::Bytes(bytes) => bytes.len() as u64,
            NewBody::File(path) => fs::metadata(path).map_err(ArchiveError::read(path))?.len(),
        };
        if length > largest {
            return Err(ArchiveError::TooLong { url: page.url.clone(), length, largest });
        }
    }
    Ok(())
}

/// Refuses headers that would change the meaning of a response when it is written out. Refuses
/// times that would precede every later capture in a listing; a clock may be one day ahead.
fn refuse_unsound(pages: &[NewPage], now: Moment) -> Result<(), ArchiveError> {
    const DAY_MICROSECONDS: i64 = 24 * 60 * 60 * 1_000_000;
    let latest = Moment::from_micros(now.micros().saturating_add(DAY_MICROSECONDS));
    for page in pages {
        if let Some((name, _)) =
            page.headers.iter().find(|(name, value)| !varve_wire::is_valid_header(name, value))
        {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err(ArchiveError::NotAHeader { url: page.url.clone(), name });
        }
        if let Some(time) = page.time.filter(|time| *time > latest) {
            return Err(ArchiveError::InFuture { url: page.url.clone(), time });
        }
    }
    Ok(())
}

fn keep_bodies(
    history: &HistoryWriter,
    (threads, seen): (usize, &SeenFiles),
    pages: Vec<NewPage>,
    now: Moment,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<ManifestPage>, ArchiveError> {
    let mut kept = Vec::with_capacity(pages.len());
    let (redaction, has_tree) = (history.redaction(), history.working_tree().is_some());
    let worker = || {
        let mut keep = history.body_worker();
        move |mut page: NewPage| -> Result<ManifestPage, ArchiveError> {
            let (media_type, mark) = (media_type_of(&page), page.mark());
            if page.headers.get_text(CONTENT_TYPE_HEADER).is_none() && media_type != OCTET_STREAM {
                // The type that a server would send for a file with this name.
                page.headers.push("Content-Type", media_type.as_str());
            }
            let body = match &page.body {
                NewBody::Bytes(bytes) => keep(BodyInput::Bytes(bytes), &media_type)?,
                NewBody::File(path) => match seen.body_of(path, &mark) {
                    Some(body) => body,
                    None => seen.watch(path, mark, |file| keep(BodyInput::File(file, path), &media_type))?,
                },
            };
            let path = page_path(&page.url);
            Ok(ManifestPage {
                path: if has_tree { in_site(&path).into_owned() } else { path },
                url: page.url,
                time: page.time.map_or(now, |time| history.stored_time(time)),
                status: page.status,
                headers: HeaderView::of(&page.headers, redaction),
                body: body.id,
                length: body.length,
                record: None,
                truncated: false,
            })
        }
    };
    run_in_order(WorkerCount { threads, together: PAGES_PER_BATCH }, pages.into_iter(), worker, |result| {
        kept.push(result?);
        progress(1);
        Ok::<(), ArchiveError>(())
    })?;
    Ok(kept)
}

/// The media type from the headers, or else from the file name.
fn media_type_of(page: &NewPage) -> String {
    let said = page
        .headers
        .get_text(CONTENT_TYPE_HEADER)
        .filter(|text| varve_repository::media_type::is_media_type(text));
    match (said, &page.body) {
        (Some(said), _) => said.into_owned(),
        (None, NewBody::File(path)) => of_name(path).to_owned(),
        (None, NewBody::Bytes(_)) => OCTET_STREAM.to_owned(),
    }
}

/// Pages that are known to be as in the parent's state, because their files did not change since it
/// was committed.
struct KnownPages {
    /// The number of these pages.
    skipped: u64,
    /// The URLs of pages that were committed with the parent and have no file now.
    missing: HashSet<String>,
    parent: VersionId,
}

impl KnownPages {
    /// Takes known pages out of `pages`. `None` if the parent is not the last commit of the folder.
    fn take(
        history: &HistoryWriter,
        request: &Request,
        (seen, parent): (&SeenFiles, Option<VersionId>),
        pages: &mut Vec<NewPage>,
    ) -> Option<Self> {
        let parent = parent.filter(|_| !request.read_all && matches!(history, HistoryWriter::Archive(_)))?;
        if !seen.is_of(&SeenCommit { version: parent, covers: request.covers.clone() }) {
            return None;
        }
        let mut missing = seen.missing_pages(pages.iter().filter_map(NewPage::file));
        let before = pages.len();
        pages.retain(|page| {
            let is_known = page.file().is_some_and(|file| seen.has_page(file, &page.mark()));
            !is_known || page.time.is_some()
        });
        // A file may have moved to another name with the same URL.
        pages.iter().for_each(|page| _ = missing.remove(&page.url));
        Some(Self { skipped: (before - pages.len()) as u64, missing, parent })
    }
}

/// The state of a version at the paths of some pages.
fn states_at_pages<'a>(
    history: &'a HistoryWriter,
    version: VersionId,
    pages: &[ManifestPage],
    missing: &HashSet<String>,
) -> Result<StatePages<'a>, RepositoryError> {
    let mut paths: Vec<String> = pages.iter().map(|page| page.path.clone()).collect();
    paths.extend(missing.iter().map(|url| page_path(url)));
    paths.sort_unstable();
    paths.dedup();
    let mut states = Vec::new();
    for paths in paths.chunks(PATHS_PER_QUERY) {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        states.append(&mut history.catalog().states_at(&version, &paths)?);
    }
    Ok(StatePages::listed(history.catalog(), states))
}

/// Adds to the manifest what the pages change against the state of its parent, and what they cover.
/// Returns the number of pages that are new or differ.
fn add_changes(
    history: &HistoryWriter,
    request: &Request,
    manifest: &mut Manifest,
    (known, pages): (Option<KnownPages>, Vec<ManifestPage>),
) -> Result<u64, ArchiveError> {
    let below = match request.covers.as_deref() {
        None => None,
        Some("") => Some(String::new()),
        Some(url) => Some(format!("{}/", normal_url(url)?.trim_end_matches('/'))),
    };
    let time = manifest.time;
    let (found, skipped) = match known {
        Some(KnownPages { skipped, missing, parent }) => {
            let state = states_at_pages(history, parent, &pages, &missing)?;
            let covers = |url: &str| below.is_some() && missing.contains(url);
            (changes_since(state, NewCommit { pages, time, covers: &covers })?, skipped)
        }
        None => {
            let covers = |url: &str| below.as_ref().is_some_and(|below| url.starts_with(below));
            let state = StatePages::new(history.catalog(), manifest.parent);
            (changes_since(state, NewCommit { pages, time, covers: &covers })?, 0)
        }
    };
    let scope = if below.is_some() { CoverageScope::Folder } else { CoverageScope::Pages };
    let unchanged = found.unchanged + skipped;
    manifest.coverage = Some(Coverage { scope, complete: true, unchanged, below });
    manifest.inline = found.changes;
    Ok(found.changed)
}

/// The pages of a site with those of the parent, and how many are new or differ.
fn compare_with_parent(
    history: &HistoryWriter,
    manifest: &Manifest,
) -> Result<(Vec<CapturePair>, u64), RepositoryError> {
    let (mut pairs, mut changed) = (Vec::new(), 0);
    for pair in pairs_with_parent(history, manifest) {
        let pair = pair?;
        changed += u64::from(matches!(
            pair.lasting_change(),
            PageChange::Added | PageChange::Back | PageChange::Changed
        ));
        pairs.push(pair);
    }
    Ok((pairs, changed))
}
