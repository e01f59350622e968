//! Makes a working tree hold the pages of a version.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use varve_core::VersionId;
use varve_core::history::Capture;

use super::{CapturePair, CapturePairs, HistoryReader, PageFolder, WorkingTree};
use crate::body_failure::{BodyFailure, BodyFailures};
use crate::error::RepositoryError;
use crate::ordered_workers::{WorkerCount, run_in_order};

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckoutReport {
    /// Pages written.
    pub written: u64,
    /// Pages of another version that were there and are gone.
    pub removed: u64,
    /// Pages of another version that stay: somebody changed their files, or their bodies are nowhere else.
    pub stayed: u64,
    /// Pages of the version that were left out, because their bodies cannot be had.
    pub left_out: BodyFailures,
    /// Pages of the version in whose place lies another of the same path: a tree has one place for a path, whatever the host.
    pub covered: CoveredPages,
}

/// So many covered pages are named; the others are counted.
const MAX_NAMED_PAGES: usize = 1000;

/// Pages in whose place lies another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredPages {
    /// How many there are.
    pub count: u64,
    /// The URLs of the first of them, each with that of the page in its place.
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

/// Makes a tree that may hold the pages of `before` hold those of `version`.
pub fn write_tree(
    holdings: &dyn HistoryReader,
    root: &Path,
    before: Option<VersionId>,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, RepositoryError> {
    update_tree(holdings, WorkingTree::new(root), before, version, progress)
}

/// Does what [`write_tree`] does with each page that it can be done with, and leaves the others as they are.
pub fn write_tree_lossy(
    holdings: &dyn HistoryReader,
    root: &Path,
    before: Option<VersionId>,
    version: VersionId,
) {
    let mut tree = WorkingTree::new(root);
    for pair in CapturePairs::in_place(holdings.catalog(), before, Some(version)).map_while(Result::ok) {
        // What failed here has been told of already: this call is made because it did.
        let _ = match (pair.base, pair.head) {
            (_, Some(page)) => tree.write(holdings, &page),
            (Some(page), None) => tree.remove(&page).map(|_| ()),
            (None, None) => Ok(()),
        };
    }
}

/// Folders are made and pages removed on this thread, in order; pages are written on all, some hundreds at a time.
pub fn update_tree(
    holdings: &dyn HistoryReader,
    tree: WorkingTree,
    before: Option<VersionId>,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, RepositoryError> {
    let mut filling = TreeUpdate {
        holdings,
        tree,
        waiting: Vec::new(),
        folders: HashSet::new(),
        taken: HashMap::new(),
        done: CheckoutReport::default(),
    };
    std::thread::scope(|scope| {
        let mut is_read_ahead = false;
        for pair in CapturePairs::in_place(holdings.catalog(), before, Some(version)) {
            match pair? {
                CapturePair { base, head: Some(page) } => filling.add(page, base, progress)?,
                CapturePair { base: Some(page), head: None } => {
                    // What is to go may lie where something is to come.
                    filling.write(progress)?;
                    filling.remove(&page)?;
                    progress(1);
                }
                CapturePair { base: None, head: None } => {}
            }
            if !is_read_ahead && filling.waiting.len() == PREFETCH_AFTER_PAGES {
                is_read_ahead = true;
                if let Some(page) = filling.newest() {
                    // Whatever is wrong with it will be found when it is written.
                    scope.spawn(move || holdings.open_body(&page).map(|mut body| body.read(&mut [0])));
                }
            }
        }
        filling.write(progress)
    })?;
    Ok(filling.done)
}

/// Of so many pages that come first one is read ahead of the others.
const PREFETCH_AFTER_PAGES: usize = 16;
/// And it is not longer than this.
const MAX_PREFETCH_BYTES: u64 = 256 << 10;
/// So many folders wait to be written to at most.
const MAX_PENDING_FOLDERS: usize = 512;
/// A thread takes so many at a time.
const FOLDERS_PER_BATCH: usize = 16;

/// A tree on its way.
struct TreeUpdate<'a> {
    holdings: &'a dyn HistoryReader,
    tree: WorkingTree,
    waiting: Vec<FolderJob>,
    /// The folders of those that wait.
    folders: HashSet<PathBuf>,
    /// The folders of all pages that were added, each with the URL of the page that lies in it, once one does.
    taken: HashMap<PathBuf, Option<String>>,
    done: CheckoutReport,
}

/// The pages of one folder, of which the last will be found there; each with what was there before.
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
        // Before there is room for this one: folders that stay empty go with what is written now.
        if self.waiting.len() >= MAX_PENDING_FOLDERS || self.folders.contains(&folder) {
            self.write(progress)?;
        }
        let place = self.tree.place(&page)?;
        self.folders.insert(place.folder().to_owned());
        self.waiting.push(FolderJob { place, pages: vec![(page, base)] });
        Ok(())
    }

    /// Of the small pages that wait, the one whose body was kept last. Read while folders are still made, it makes ready what its silo
    /// needs before any record of it can be read: a dictionary has megabytes.
    fn newest(&self) -> Option<Capture> {
        let pages = self.waiting.iter().map(|job| &job.pages[0].0);
        let first: Vec<&Capture> =
            pages.filter(|page| page.length.is_some_and(|length| length <= MAX_PREFETCH_BYTES)).collect();
        let order = self.holdings.read_order(&first).ok()?;
        let (_, newest) = order.into_iter().zip(first).max_by_key(|(order, _)| *order)?;
        Some(newest.clone())
    }

    /// Writes all that waits.
    fn write(&mut self, progress: &mut dyn FnMut(u64)) -> Result<(), RepositoryError> {
        let jobs = std::mem::take(&mut self.waiting);
        if jobs.is_empty() {
            return Ok(());
        }
        self.folders.clear();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
        let (holdings, done, taken) = (self.holdings, &mut self.done, &mut self.taken);
        let (mut empty, mut given_up) = (Vec::new(), Vec::new());
        let worker = || {
            let mut buffer = Vec::new();
            move |job: FolderJob| job.write(holdings, &mut buffer)
        };
        run_in_order(
            WorkerCount { threads, together: FOLDERS_PER_BATCH },
            in_reading_order(holdings, jobs)?,
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
        // Nobody writes now, so that a folder that is empty stays so.
        empty.iter().try_for_each(|page| self.tree.remove(page).map(|_| ()))?;
        given_up.iter().try_for_each(|page| self.tree.give_up(page))
    }

    /// Removes a page that the version does not have, unless one of the version came in its place: paths that were written
    /// otherwise may lead there, too.
    fn remove(&mut self, page: &Capture) -> Result<(), RepositoryError> {
        if self.taken.contains_key(&self.tree.folder(page)) {
            return Ok(());
        }
        let is_last_copy = self.holdings.working_tree().is_some() && !is_body_readable(self.holdings, page);
        match !is_last_copy && self.tree.remove(page)? {
            true => self.done.removed += 1,
            false => self.done.stayed += 1,
        }
        Ok(())
    }
}

/// Of the pages that were written to one folder the last is found there, and covers the others, and what was written there earlier.
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

/// Whether the body of a page is here and whole. Where it is not, what lies in the tree may be all that is left of it.
fn is_body_readable(holdings: &dyn HistoryReader, page: &Capture) -> bool {
    let read = |mut body: Box<dyn Read + Send>| io::copy(&mut body, &mut io::sink());
    holdings.open_body(page).is_ok_and(|body| read(body).is_ok())
}

/// Jobs in the order in which their bodies are read most quickly.
fn in_reading_order(
    holdings: &dyn HistoryReader,
    jobs: Vec<FolderJob>,
) -> Result<impl Iterator<Item = FolderJob>, RepositoryError> {
    let first: Vec<&Capture> = jobs.iter().map(|job| &job.pages[0].0).collect();
    let order = holdings.read_order(&first)?;
    let mut ordered: Vec<(u64, FolderJob)> = order.into_iter().zip(jobs).collect();
    ordered.sort_by_key(|(order, _)| *order);
    Ok(ordered.into_iter().map(|(_, job)| job))
}

/// What became of the pages of one folder.
#[derive(Default)]
struct WrittenFolder {
    folder: PathBuf,
    /// The URLs of those that were written, in this order.
    urls: Vec<String>,
    /// The URLs of those whose bodies cannot be had.
    left_out: Vec<(BodyFailure, String)>,
    /// What was there before, if nothing came in its place.
    left_empty: Option<Capture>,
    /// A page that was to come where nothing was, and did not.
    given_up: Option<Capture>,
}

impl FolderJob {
    fn write(
        mut self,
        holdings: &dyn HistoryReader,
        buffer: &mut Vec<u8>,
    ) -> Result<WrittenFolder, RepositoryError> {
        let mut done = WrittenFolder { folder: self.place.folder().to_owned(), ..WrittenFolder::default() };
        for (page, base) in self.pages {
            let written = self.place.write(holdings, &page, buffer);
            if let Some(trouble) = written.as_ref().err().and_then(RepositoryError::body_failure) {
                done.left_out.push((trouble, page.url.clone()));
                // The page of another version may not pass for it; the same body, written earlier, may be the last good one.
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
