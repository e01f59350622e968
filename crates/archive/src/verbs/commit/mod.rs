//! `commit`: stores pages supplied by the user as one version.
//!
//! Bodies are stored on all cores, then the manifest is written, and then one transaction inserts
//! the rows. The working tree is updated next, and HEAD is set last. After an interruption, the
//! next writer finds either no version or the whole version.
//!
//! Nothing is held for each page: files are read beside the cache of the last commit, pages are
//! sorted in parts, and changes are written while they are found. The search index is left to the
//! next search, which adds many versions at less cost than one at a time.

mod folder;
mod new_page;
mod stored_pages;
mod tree_commit;

use varve_core::fact::{Manifest, StateChanges};
use varve_core::history::{Coverage, CoverageScope};
use varve_core::{Moment, VersionId};
use varve_repository::RepositoryError;
use varve_repository::history::{
    ArchiveHistoryWriter, CapturePair, ChangeCounts, CommittedPage, HistoryWriter, NewCommit, PageChange,
    StatePages, VersionChanges, each_change_since, half_entered_error, known_version, pairs_with_parent,
    write_with_diff,
};
use varve_repository::seen_files::{SeenCommit, SeenFiles, SeenFilesWriter};

use crate::error::ArchiveError;
use new_page::{refuse_invalid_headers, refuse_long, refuse_unsound, settle_urls};
use stored_pages::{FolderFiles, PageStorage, StoredPages, without_duplicates};
use tree_commit::TreeCommit;

pub use folder::{FolderSource, SkippedFile, SkippedFileKind};
pub(crate) use new_page::normal_url;
pub use new_page::{NewBody, NewPage};
pub use tree_commit::{TreeReport, Unwritten};
pub use varve_repository::history::KeptIntent;

/// Number of pages whose states are looked up at a time.
const PAGES_PER_LOOKUP: usize = 5_000;
/// Looking up one page costs about as much as reading this number of pages of a state in order.
const PAGES_READ_PER_LOOKUP: u64 = 4;

/// Where the pages of a commit come from.
#[derive(Clone, Debug)]
pub enum CommitSource {
    /// A list.
    Pages(Vec<NewPage>),
    /// The files of a folder.
    Folder(FolderSource),
}

impl From<Vec<NewPage>> for CommitSource {
    fn from(pages: Vec<NewPage>) -> Self {
        Self::Pages(pages)
    }
}

impl From<FolderSource> for CommitSource {
    fn from(folder: FolderSource) -> Self {
        Self::Folder(folder)
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
    /// Number of pages of the parent's state that are gone.
    pub gone: u64,
    /// The diff with the parent, which this layout stores with each version, was not made because
    /// one of its bodies is damaged or missing.
    pub lacks_diff: bool,
    /// The entries of the folder that are not pages.
    pub left_out: Vec<SkippedFile>,
    /// The changes to the layout's own working tree.
    pub tree: TreeReport,
}

/// Commits pages as one version.
pub fn commit(
    history: &HistoryWriter,
    request: &Request,
    source: impl Into<CommitSource>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report, ArchiveError> {
    let mut source = source.into();
    if request.message.trim().is_empty() {
        return Err(RepositoryError::NoMessage.into());
    }
    request.parent.map(|parent| known_version(history.as_reader(), &parent)).transpose()?;
    let now = history.now();
    check_source(&mut source, request, now)?;
    // Checked early: a commit that cannot get exclusive access, or is over the limit, fails here
    // and not after all bodies are stored.
    history.exclusively(&mut || check_version_limit(history, request.most_versions))?;
    let (head, parent) = match request.parent {
        // A HEAD that cannot be read leaves the content of the tree unknown: all pages are written.
        Some(parent) => (history.head().ok().flatten(), Some(parent)),
        None => {
            let head = history.head()?;
            (head, head)
        }
    };
    let storage = PageStorage { history, request, redaction: history.redaction(), now, progress };
    let NewPages { mut stored, is_beside_parent, record } = store_pages(&storage, source, parent)?;
    if stored.count == 0 {
        return Err(ArchiveError::NothingToCommit);
    }
    let manifest = manifest_of(request, parent, now);
    let (captures, left_out) = (stored.count, std::mem::take(&mut stored.left_out));
    // Other writers that respect the lock have made no versions meanwhile; Moku does not respect
    // it.
    check_version_limit(history, request.most_versions)?;
    let written = match history {
        HistoryWriter::Archive(archive) => {
            write_version(&storage, archive, manifest, (stored, is_beside_parent))?
        }
        HistoryWriter::Moku(_) => write_site_version(history, manifest, stored)?,
    };
    let WrittenVersion { version, changes, pairs, lacks_diff } = written;
    let tree = TreeCommit { before: head, parent, rewrites: request.read_all };
    let written = tree.write(history, &pairs);
    history.move_head(head, version).map_err(|source| half_entered_error(version, source))?;
    if let Some((record, pages)) = record {
        record.publish(SeenCommit { version, covers: request.covers.clone(), pages });
    }
    let ChangeCounts { changed, gone, .. } = changes;
    Ok(Report { version, parent, captures, changed, gone, lacks_diff, left_out, tree: written? })
}

/// Refuses pages that cannot be committed, and gives each its URL.
fn check_source(source: &mut CommitSource, request: &Request, now: Moment) -> Result<(), ArchiveError> {
    match source {
        CommitSource::Pages(pages) => {
            settle_urls(pages)?;
            refuse_long(pages, request.largest)?;
            refuse_unsound(pages, now)
        }
        CommitSource::Folder(folder) => {
            folder.check()?;
            refuse_invalid_headers(&folder.base_url, &folder.headers)
        }
    }
}

/// The manifest of a version, without its changes.
fn manifest_of(request: &Request, parent: Option<VersionId>, now: Moment) -> Manifest {
    Manifest {
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
        source: None,
    }
}

/// The pages of a commit, and what the next one may use.
struct NewPages {
    stored: StoredPages,
    /// Whether pages that are known to be as in the parent's state were left out.
    is_beside_parent: bool,
    /// The new cache of the folder, and how its names became pages.
    record: Option<(SeenFilesWriter, String)>,
}

fn store_pages(
    storage: &PageStorage<'_>,
    source: CommitSource,
    parent: Option<VersionId>,
) -> Result<NewPages, ArchiveError> {
    let source = match source {
        CommitSource::Pages(pages) => {
            let stored = storage.store_list(pages)?;
            return Ok(NewPages { stored, is_beside_parent: false, record: None });
        }
        CommitSource::Folder(source) => source,
    };
    let (history, request) = (storage.history, storage.request);
    let (seen, mut record) = SeenFiles::of(history, &source.folder);
    let pages = source.page_settings();
    let is_parent = parent.is_some_and(|version| {
        seen.is_of(&SeenCommit { version, covers: request.covers.clone(), pages: pages.clone() })
    });
    // The versions of a site list all their pages.
    let is_parent = is_parent && !request.read_all && matches!(history, HistoryWriter::Archive(_));
    let stored = storage.store_folder(FolderFiles { source: &source, seen, is_parent }, &mut record)?;
    Ok(NewPages { stored, is_beside_parent: is_parent, record: Some((record, pages)) })
}

/// A version that HEAD does not name yet.
struct WrittenVersion {
    version: VersionId,
    changes: ChangeCounts,
    /// Its pages with those of the parent, in a layout with a working tree.
    pairs: Vec<CapturePair>,
    lacks_diff: bool,
}

/// Writes what the pages change against the state of the parent, and what they cover.
fn write_version(
    storage: &PageStorage<'_>,
    archive: &ArchiveHistoryWriter,
    mut manifest: Manifest,
    (stored, is_beside_parent): (StoredPages, bool),
) -> Result<WrittenVersion, ArchiveError> {
    let below = match storage.request.covers.as_deref() {
        None => None,
        Some("") => Some(String::new()),
        Some(url) => Some(format!("{}/", normal_url(url)?.trim_end_matches('/'))),
    };
    let known = stored.known;
    let mut changes = VersionChanges::new(archive, manifest.parent, manifest.time);
    let covered = below.as_deref().filter(|_| !is_beside_parent);
    let counts = add_changes(&mut changes, &manifest, archive, (stored, covered))?;
    let scope = if below.is_some() { CoverageScope::Folder } else { CoverageScope::Pages };
    manifest.coverage = Some(Coverage { scope, complete: true, unchanged: counts.unchanged + known, below });
    let version = changes.write_version(manifest)?;
    Ok(WrittenVersion { version, changes: counts, pairs: Vec::new(), lacks_diff: false })
}

/// Adds the pages that differ from the state of the parent. All pages below `covered` that the commit
/// does not have are gone.
fn add_changes(
    changes: &mut VersionChanges<'_>,
    manifest: &Manifest,
    archive: &ArchiveHistoryWriter,
    (stored, covered): (StoredPages, Option<&str>),
) -> Result<ChangeCounts, ArchiveError> {
    let catalog = archive.catalog();
    let is_covered = |url: &str| covered.is_some_and(|below| url.starts_with(below));
    let is_few = stored.pages.count() < stored.count / PAGES_READ_PER_LOOKUP;
    let looks_up = manifest.parent.filter(|_| covered.is_none() && is_few);
    let mut duplicate = None;
    let mut pages = without_duplicates(stored.pages.sorted()?, &mut duplicate).peekable();
    let mut add = |change| changes.add(change);
    let mut counts = ChangeCounts::default();
    let time = manifest.time;
    if let Some(parent) = looks_up {
        while pages.peek().is_some() {
            let batch = next_batch(&mut pages)?;
            let state = states_at_pages(archive, parent, &batch)?;
            let commit = NewCommit { pages: &mut batch.into_iter().map(Ok), time, covers: &is_covered };
            counts += each_change_since(state, commit, &mut add)?;
        }
    } else {
        let state = StatePages::new(catalog, manifest.parent);
        let commit = NewCommit { pages: &mut pages, time, covers: &is_covered };
        counts = each_change_since(state, commit, &mut add)?;
    }
    drop(pages);
    duplicate.map_or(Ok(counts), |url| Err(ArchiveError::DuplicatePage(url)))
}

/// The next pages, up to the end of a path.
fn next_batch(
    pages: &mut std::iter::Peekable<impl Iterator<Item = Result<CommittedPage, RepositoryError>>>,
) -> Result<Vec<CommittedPage>, RepositoryError> {
    let mut batch: Vec<CommittedPage> = Vec::new();
    while let Some(page) = pages.next_if(|page| {
        let is_same_path = |last: &CommittedPage| page.as_ref().is_ok_and(|page| page.path() == last.path());
        batch.len() < PAGES_PER_LOOKUP || batch.last().is_some_and(is_same_path)
    }) {
        batch.push(page?);
    }
    Ok(batch)
}

/// The state of a version at the paths of some pages, which are sorted.
fn states_at_pages<'a>(
    archive: &'a ArchiveHistoryWriter,
    version: VersionId,
    pages: &[CommittedPage],
) -> Result<StatePages<'a>, RepositoryError> {
    let mut paths: Vec<&str> = pages.iter().map(CommittedPage::path).collect();
    paths.dedup();
    let states = archive.catalog().states_at(&version, &paths)?;
    Ok(StatePages::listed(archive.catalog(), states))
}

/// Writes a version of a site, which lists all its pages.
fn write_site_version(
    history: &HistoryWriter,
    mut manifest: Manifest,
    stored: StoredPages,
) -> Result<WrittenVersion, ArchiveError> {
    let mut duplicate = None;
    for page in without_duplicates(stored.pages.sorted()?, &mut duplicate) {
        if let CommittedPage::Page(page) = page? {
            manifest.inline.pages.push(page);
        }
    }
    if let Some(url) = duplicate {
        return Err(ArchiveError::DuplicatePage(url));
    }
    let (pairs, changes) = compare_with_parent(history, &manifest)?;
    let (version, lacks_diff) = write_with_diff(history, &manifest, &pairs)?;
    Ok(WrittenVersion { version, changes, pairs, lacks_diff })
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

/// The pages of a site with those of the parent, and how many changed.
fn compare_with_parent(
    history: &HistoryWriter,
    manifest: &Manifest,
) -> Result<(Vec<CapturePair>, ChangeCounts), RepositoryError> {
    let (mut pairs, mut counts) = (Vec::new(), ChangeCounts::default());
    for pair in pairs_with_parent(history, manifest) {
        let pair = pair?;
        match pair.lasting_change() {
            PageChange::Added | PageChange::Back | PageChange::Changed => counts.changed += 1,
            PageChange::Gone | PageChange::Removed => counts.gone += 1,
            PageChange::Unchanged | PageChange::Unreachable => counts.unchanged += 1,
        }
        pairs.push(pair);
    }
    Ok((pairs, counts))
}
