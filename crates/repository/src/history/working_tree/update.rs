//! Updates a working tree from one version to another: writes, replaces and removes pages.
//!
//! Knows which page goes where and in which order; how a page becomes files is known to
//! [`PageFolder`].

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use varve_core::VersionId;
use varve_core::history::Capture;

use super::{PageFolder, WorkingTree};
use crate::body_failure::{BodyFailure, BodyFailures};
use crate::error::RepositoryError;
use crate::history::{CapturePair, CapturePairs, HistoryReader};
use crate::ordered_workers::{WorkerCount, run_in_order};

/// The result of updating a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckoutReport {
    /// Pages written.
    pub written: u64,
    /// Pages of another version that were removed from the tree.
    pub removed: u64,
    /// Pages of another version that stay, because a user changed their files or no other copy of
    /// their bodies exists.
    pub stayed: u64,
    /// Pages of the version that were left out, because their bodies could not be read.
    pub left_out: BodyFailures,
    /// Pages of the version replaced by another page of the same path. A tree has one folder per
    /// path, regardless of the host.
    pub covered: CoveredPages,
    /// Pages that lead to others and have no file, where pages are written as plain files.
    pub redirects: u64,
}

/// Maximum number of covered pages listed by URL; the others are only counted.
const MAX_NAMED_PAGES: usize = 1000;

/// Pages whose folder holds another page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredPages {
    /// The number of covered pages.
    pub count: u64,
    /// The first `MAX_NAMED_PAGES` covered URLs, each with the URL of the page in its folder.
    pub first: Vec<(String, String)>,
}

impl CoveredPages {
    fn add(&mut self, url: String, by: &str) {
        self.count += 1;
        if self.first.len() < MAX_NAMED_PAGES {
            self.first.push((url, by.to_owned()));
        }
    }
}

/// Updates a tree that may hold the pages of `before` to hold those of `version`.
pub fn write_tree(
    history: &HistoryReader,
    root: &Path,
    before: Option<VersionId>,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, RepositoryError> {
    update_tree(history, WorkingTree::new(root), before, version, progress)
}

/// Like [`write_tree`], but skips each page that fails and leaves its files unchanged.
pub fn write_tree_lossy(history: &HistoryReader, root: &Path, before: Option<VersionId>, version: VersionId) {
    let mut tree = WorkingTree::new(root);
    for pair in CapturePairs::in_place(history.catalog(), before, Some(version)).map_while(Result::ok) {
        // The error was already reported: the caller uses this function because the update failed.
        let _ = match (pair.base, pair.head) {
            (_, Some(page)) => tree.write(history, &page),
            (Some(page), None) => remove_from_tree(history, &mut tree, &page).map(|_| ()),
            (None, None) => Ok(()),
        };
    }
}

/// Updates a tree. This thread creates folders and removes pages, in order; all threads write
/// pages, in batches of up to `MAX_PENDING_FOLDERS` folders.
pub fn update_tree(
    history: &HistoryReader,
    tree: WorkingTree,
    before: Option<VersionId>,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, RepositoryError> {
    let mut filling = TreeUpdate {
        history,
        tree,
        waiting: Vec::new(),
        folders: HashSet::new(),
        taken: HashMap::new(),
        done: CheckoutReport::default(),
    };
    std::thread::scope(|scope| {
        let mut is_read_ahead = false;
        for pair in CapturePairs::in_place(history.catalog(), before, Some(version)) {
            match pair? {
                CapturePair { base, head: Some(page), .. } => filling.add(page, base, progress)?,
                CapturePair { base: Some(page), head: None, .. } => {
                    // The page to remove may be in the path of a page to write.
                    filling.write(progress)?;
                    filling.remove(&page)?;
                    progress(1);
                }
                CapturePair { base: None, head: None, .. } => {}
            }
            if !is_read_ahead && filling.waiting.len() == PREFETCH_AFTER_PAGES {
                is_read_ahead = true;
                if let Some(page) = filling.newest() {
                    // An error of this body is reported when the page is written.
                    scope.spawn(move || history.open_body(&page).map(|mut body| body.read(&mut [0])));
                }
            }
        }
        filling.write(progress)
    })?;
    Ok(filling.done)
}

/// Number of waiting folders after which the body of one page is read ahead.
const PREFETCH_AFTER_PAGES: usize = 16;
/// Maximum size of the body read ahead.
const MAX_PREFETCH_BYTES: u64 = 256 << 10;
/// Maximum number of folders waiting to be written.
const MAX_PENDING_FOLDERS: usize = 512;
/// Number of folders that a thread takes at a time.
const FOLDERS_PER_BATCH: usize = 16;

/// A tree update in progress.
struct TreeUpdate<'a> {
    history: &'a HistoryReader,
    tree: WorkingTree,
    waiting: Vec<FolderJob>,
    /// The folders in `waiting`.
    folders: HashSet<PathBuf>,
    /// The folders of all added pages, each with the URL of the page in it once that is written.
    taken: HashMap<PathBuf, Option<String>>,
    done: CheckoutReport,
}

/// The pages of one folder, each with the capture that was there before. The last page stays.
struct FolderJob {
    place: PageFolder,
    /// At least one.
    pages: Vec<(Capture, Option<Capture>)>,
}

impl TreeUpdate<'_> {
    fn add(
        &mut self,
        page: Capture,
        base: Option<Capture>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), RepositoryError> {
        let folder = self.tree.folder(&page);
        self.taken.entry(folder.clone()).or_default();
        if let Some(last) = self.waiting.last_mut().filter(|last| last.place.folder() == folder) {
            last.pages.push((page, base));
            return Ok(());
        }
        // Write before creating the folder of this page: `write` removes folders that stay empty.
        if self.waiting.len() >= MAX_PENDING_FOLDERS || self.folders.contains(&folder) {
            self.write(progress)?;
        }
        let place = self.tree.place(&page)?;
        self.folders.insert(place.folder().to_owned());
        self.waiting.push(FolderJob { place, pages: vec![(page, base)] });
        Ok(())
    }

    /// Of the small waiting pages, the one whose body was stored last. Reading it while folders are
    /// still being created loads what its silo needs before any record can be read, such as a
    /// dictionary of several megabytes.
    fn newest(&self) -> Option<Capture> {
        let pages = self.waiting.iter().map(|job| &job.pages[0].0);
        let first: Vec<&Capture> =
            pages.filter(|page| page.length.is_some_and(|length| length <= MAX_PREFETCH_BYTES)).collect();
        let order = self.history.read_order(&first).ok()?;
        let (_, newest) = order.into_iter().zip(first).max_by_key(|(order, _)| *order)?;
        Some(newest.clone())
    }

    /// Writes all waiting pages.
    fn write(&mut self, progress: &mut dyn FnMut(u64)) -> Result<(), RepositoryError> {
        let jobs = std::mem::take(&mut self.waiting);
        if jobs.is_empty() {
            return Ok(());
        }
        self.folders.clear();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
        let (history, done, taken) = (self.history, &mut self.done, &mut self.taken);
        let (mut empty, mut given_up) = (Vec::new(), Vec::new());
        let worker = || {
            let mut buffer = Vec::new();
            move |job: FolderJob| job.write(history, &mut buffer)
        };
        run_in_order(
            WorkerCount { threads, together: FOLDERS_PER_BATCH },
            in_reading_order(history, jobs)?,
            worker,
            |written| {
                let written: WrittenFolder = written?;
                let count = written.urls.len() as u64;
                done.written += count;
                progress(count + written.left_out.len() as u64);
                record_covered(taken, &mut done.covered, written.folder, written.urls);
                written.left_out.iter().for_each(|(trouble, url)| done.left_out.add(*trouble, url));
                empty.extend(written.left_empty);
                given_up.extend(written.given_up);
                Ok::<(), RepositoryError>(())
            },
        )?;
        // No other thread writes now, so an empty folder stays empty.
        empty.iter().try_for_each(|page| self.tree.remove(page).map(|_| ()))?;
        given_up.iter().try_for_each(|page| self.tree.give_up(page))
    }

    /// Removes a page that the version lacks, unless a page of the version was added to its folder.
    /// Two differently written paths can lead to the same folder.
    fn remove(&mut self, page: &Capture) -> Result<(), RepositoryError> {
        if self.taken.contains_key(&self.tree.folder(page)) {
            return Ok(());
        }
        match remove_from_tree(self.history, &mut self.tree, page)? {
            true => self.done.removed += 1,
            false => self.done.stayed += 1,
        }
        Ok(())
    }
}

/// Removes a page from a tree. Returns whether it was removed: a page that a user changed stays,
/// and so does the last copy of a body.
pub fn remove_from_tree(
    history: &HistoryReader,
    tree: &mut WorkingTree,
    page: &Capture,
) -> Result<bool, RepositoryError> {
    let is_last_copy = history.working_tree().is_some() && !is_body_readable(history, page);
    if is_last_copy { Ok(false) } else { tree.remove(page) }
}

/// Records that the last page written to a folder covers the others and any page written there
/// earlier.
pub fn record_covered(
    taken: &mut HashMap<PathBuf, Option<String>>,
    covered: &mut CoveredPages,
    folder: PathBuf,
    mut urls: Vec<String>,
) {
    let Some(last) = urls.pop() else { return };
    let place = taken.entry(folder).or_default();
    place.take().into_iter().chain(urls).for_each(|url| covered.add(url, &last));
    *place = Some(last);
}

/// Whether the body of a page is stored and intact. If not, the file in the tree may be its last
/// copy. Of a stored file that is longer than the body no more is read than the body would have.
fn is_body_readable(history: &HistoryReader, page: &Capture) -> bool {
    let most = page.length.map_or(u64::MAX, |length| length.saturating_add(1));
    let read = |body: Box<dyn Read + Send>| io::copy(&mut body.take(most), &mut io::sink());
    let is_whole = |read: u64| page.length.is_none_or(|length| length == read);
    history.open_body(page).is_ok_and(|body| read(body).is_ok_and(is_whole))
}

/// Orders jobs by the sort keys of [`HistoryReader::read_order`], in which reading their bodies is
/// fastest.
fn in_reading_order(
    history: &HistoryReader,
    jobs: Vec<FolderJob>,
) -> Result<impl Iterator<Item = FolderJob>, RepositoryError> {
    let first: Vec<&Capture> = jobs.iter().map(|job| &job.pages[0].0).collect();
    let order = history.read_order(&first)?;
    let mut ordered: Vec<(u64, FolderJob)> = order.into_iter().zip(jobs).collect();
    ordered.sort_by_key(|(order, _)| *order);
    Ok(ordered.into_iter().map(|(_, job)| job))
}

/// The result of writing the pages of one folder.
#[derive(Default)]
struct WrittenFolder {
    folder: PathBuf,
    /// The URLs of the pages written, in order.
    urls: Vec<String>,
    /// The URLs of the pages whose bodies could not be read.
    left_out: Vec<(BodyFailure, String)>,
    /// The page that was there before, if no page replaced it.
    left_empty: Option<Capture>,
    /// A page that could not be written and whose folder held no page before.
    given_up: Option<Capture>,
}

impl FolderJob {
    fn write(
        mut self,
        history: &HistoryReader,
        buffer: &mut Vec<u8>,
    ) -> Result<WrittenFolder, RepositoryError> {
        let mut done = WrittenFolder { folder: self.place.folder().to_owned(), ..WrittenFolder::default() };
        for (page, base) in self.pages {
            let written = self.place.write(history, &page, buffer);
            if let Some(trouble) = written.as_ref().err().and_then(RepositoryError::body_failure) {
                done.left_out.push((trouble, page.url.clone()));
                // A page of another version must not pass for this one. The same body, written
                // earlier, stays: it may be the last good copy.
                let is_first = base.is_none();
                let other = base.filter(|base| base.body != page.body);
                if let Some(other) = &other {
                    self.place.clear(other)?;
                }
                done.left_empty = other;
                done.given_up = is_first.then_some(page);
                continue;
            }
            written?;
            done.urls.push(page.url);
            done.left_empty = None;
        }
        Ok(done)
    }
}
