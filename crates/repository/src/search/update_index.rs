//! Brings an index up to date with a catalog: adds the texts of versions that it does not have.
//!
//! Pages are read on all cores. Each batch is one transaction, or several if its texts are long. A
//! version is marked only with the last rows of its pages, so an interrupted update is continued by
//! the next. Adding a text again changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use varve_core::VersionId;
use varve_core::history::{Capture, CaptureOwner, ListCursor, Presence, VersionFilter};
use varve_core::search_index::{SearchIndex, SearchIndexRead, SearchRow, UrlDeclaration};
use varve_page::dom::HtmlTree;
use varve_search::PageTexts;

use super::declared_urls::declared_urls;
use super::page_parts::{PageParts, page_key, texts_of_records};
use super::page_text::read_text;
use crate::error::RepositoryError;
use crate::history::{HistoryReader, LoadedPage, VersionPages};
use crate::ordered_workers::{WorkerCount, run_in_order};

/// Maximum number of bytes of a body that are read.
const MAX_BODY_BYTES: u64 = 8 << 20;
/// Number of captures in one batch.
const CAPTURES_PER_BATCH: usize = 2_000;
/// The length of records and words from which on they are stored, before their batch is complete.
const MAX_PENDING_ROW_BYTES: usize = 64 << 20;
/// Number of versions read per query.
const VERSIONS_PER_QUERY: usize = 500;

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexUpdate {
    /// Number of versions that were added.
    pub versions: u64,
    /// Number of captures whose bodies could not be read.
    pub unreadable: u64,
}

/// The versions that an index does not have, oldest first.
pub fn missing_versions(
    index: &dyn SearchIndexRead,
    history: &HistoryReader,
) -> Result<Vec<VersionId>, RepositoryError> {
    let catalog = history.catalog();
    let newest = catalog.head()?;
    let is_newest_known = match newest {
        Some(version) => index.has_version(&version)?,
        None => true,
    };
    // Nearly always there is nothing to do, and two counts show it.
    if is_newest_known && index.count_versions()? == catalog.count_versions(u64::MAX)? {
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    let mut after = None;
    loop {
        let cursor = ListCursor { after, limit: VERSIONS_PER_QUERY };
        let versions = catalog.versions(&VersionFilter::default(), cursor)?;
        let Some(last) = versions.last() else { break };
        after = Some(last.version.id);
        for info in &versions {
            if !index.has_version(&info.version.id)? {
                missing.push(info.version.id);
            }
        }
    }
    missing.reverse();
    Ok(missing)
}

/// Adds the versions that an index does not have.
pub fn update_index(
    index: &dyn SearchIndex,
    history: &HistoryReader,
) -> Result<IndexUpdate, RepositoryError> {
    let missing = missing_versions(index.as_read(), history)?;
    // Page by page is much cheaper than version by version, if there are many.
    if index.count_versions()? == 0 && missing.len() > 1 {
        return build_index(index, history);
    }
    let mut done = IndexUpdate::default();
    for version in missing {
        let mut batch = CaptureBatch::new(index, history);
        for capture in VersionPages::new(history.catalog(), Some(version)) {
            batch.add(capture?)?;
        }
        done.unreadable += batch.finish(vec![version])?;
        done.versions += 1;
    }
    Ok(done)
}

/// Fills an index with all captures, page by page.
pub fn build_index(index: &dyn SearchIndex, history: &HistoryReader) -> Result<IndexUpdate, RepositoryError> {
    // Listed first: a version that is added meanwhile is not marked.
    let versions = match history.has_versions() {
        true => missing_versions(index.as_read(), history)?,
        false => Vec::new(),
    };
    let mut batch = CaptureBatch::new(index, history);
    let mut after: Option<String> = None;
    loop {
        let cursor = ListCursor { after: after.as_deref(), limit: CAPTURES_PER_BATCH };
        let mut captures = history.catalog().captures_by_url(cursor)?;
        let Some(last) = captures.last() else { break };
        after = Some(last.url.clone());
        captures.sort_by(|one, other| (&one.url, one.time, one.id).cmp(&(&other.url, other.time, other.id)));
        captures.into_iter().try_for_each(|capture| batch.add(capture))?;
    }
    let count = versions.len() as u64;
    let unreadable = batch.finish(versions)?;
    Ok(IndexUpdate { versions: count, unreadable })
}

/// Captures that are added together.
struct CaptureBatch<'a> {
    index: &'a dyn SearchIndex,
    history: &'a HistoryReader,
    pages: BTreeMap<String, Vec<Capture>>,
    count: usize,
    unreadable: u64,
}

/// The rows of one page, and the number of its captures that could not be read.
type PageRows = Result<(Vec<SearchRow>, u64), RepositoryError>;

impl<'a> CaptureBatch<'a> {
    fn new(index: &'a dyn SearchIndex, history: &'a HistoryReader) -> Self {
        Self { index, history, pages: BTreeMap::new(), count: 0, unreadable: 0 }
    }

    fn add(&mut self, capture: Capture) -> Result<(), RepositoryError> {
        // The captures of an unfinished run are added with its version.
        let is_of_version = matches!(capture.owner, CaptureOwner::Version(_));
        if !is_of_version || Presence::of_status(capture.status) != Presence::Present {
            return Ok(());
        }
        self.pages.entry(page_key(&capture.url)).or_default().push(capture);
        self.count += 1;
        if self.count >= CAPTURES_PER_BATCH { self.write(Vec::new()) } else { Ok(()) }
    }

    /// Stores the rest, and marks the versions. Returns the number of unreadable captures.
    fn finish(mut self, versions: Vec<VersionId>) -> Result<u64, RepositoryError> {
        self.write(versions)?;
        Ok(self.unreadable)
    }

    fn write(&mut self, versions: Vec<VersionId>) -> Result<(), RepositoryError> {
        let (target, index, history) = (self.index, self.index.as_read(), self.history);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = std::mem::take(&mut self.pages).into_iter();
        let worker =
            || |(page, captures): (String, Vec<Capture>)| page_rows(index, history, &page, &captures);
        let (mut rows, mut row_bytes): (Vec<SearchRow>, usize) = (Vec::new(), 0);
        let crew = WorkerCount { threads: threads.min(jobs.len().max(1)), together: 8 };
        run_in_order(crew, jobs, worker, |done: PageRows| {
            let (of_page, unreadable) = done?;
            self.unreadable += unreadable;
            row_bytes += of_page.iter().map(length_of).sum::<usize>();
            rows.extend(of_page);
            if row_bytes > MAX_PENDING_ROW_BYTES {
                row_bytes = 0;
                target.apply(&mut rows.drain(..))?;
            }
            Ok::<(), RepositoryError>(())
        })?;
        self.count = 0;
        rows.extend(versions.into_iter().map(SearchRow::Version));
        Ok(self.index.apply(&mut rows.into_iter())?)
    }
}

/// The bytes that a row keeps in memory, roughly.
fn length_of(row: &SearchRow) -> usize {
    match row {
        SearchRow::Part(part) => {
            part.record.len() + part.words.iter().map(|word| word.len() + size_of::<String>()).sum::<usize>()
        }
        SearchRow::Declaration(declaration) => declaration.page.len() + declaration.target.len(),
        SearchRow::Version(_) => size_of::<VersionId>(),
    }
}

/// The rows of a page with the texts of new captures.
fn page_rows(
    index: &dyn SearchIndexRead,
    history: &HistoryReader,
    page: &str,
    captures: &[Capture],
) -> PageRows {
    let known = index.page(page)?;
    let records = known.map(|known| known.records).unwrap_or_default();
    let mut parts = PageParts::new(texts_of_records(&records)?);
    let (mut seen, mut unreadable) = (HashSet::new(), 0);
    let mut declared: BTreeSet<UrlDeclaration> = BTreeSet::new();
    for capture in captures {
        let body = history.body_id(capture);
        let Ok(key) = body.map(|body| PageTexts::key_of(&body)) else {
            unreadable += 1;
            continue;
        };
        if !seen.insert(key) || parts.has(key) {
            continue;
        }
        let loaded = LoadedPage::load_lossy(history, Some(capture), MAX_BODY_BYTES)?;
        if loaded.is_bodiless() {
            unreadable += 1;
            continue;
        }
        let content_type = loaded.headers.get("content-type").and_then(|values| values.first());
        let see_tree = |tree: &HtmlTree| declared.extend(declared_urls(tree, page, &capture.url));
        if let Some(text) = read_text(&loaded.body, content_type.map(String::as_str), see_tree) {
            parts.add(key, text);
        }
    }
    let url = captures.last().map_or(page, |capture| capture.url.as_str());
    let parts = parts.into_rows(page, url).into_iter().map(SearchRow::Part);
    Ok((parts.chain(declared.into_iter().map(SearchRow::Declaration)).collect(), unreadable))
}
