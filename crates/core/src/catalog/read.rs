//! The reading half of the seam.

use crate::history::{
    Capture, CaptureFilter, KeyedUrl, ListCursor, PageAbsence, PageState, StateCounts, StoredCheck,
    StoredDiff, StoredDiffInfo, StoredDomainSettings, StoredExtraction, StoredScore, StoredVerdict,
    TimeOrder, VersionFilter, VersionInfo, VersionTag,
};
use crate::{BodyId, CheckId, Moment, RecordId, RunId, VersionId};

use super::error::CatalogResult;
use super::row::Removal;
use super::sealed_log::SealedLogRead;

/// Which URLs count as the one that is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlMatch {
    /// The same text, byte for byte.
    Exact,
    /// Every URL with the same [identity](crate::url::PageUrl).
    SamePage,
}

/// Reads rows. Any number of readers may read while one process writes, and each call sees one
/// state of the catalog.
///
/// Default methods answer for layouts that do not store the rows in question.
pub trait CatalogRead: SealedLogRead + Send + Sync {
    /// A version.
    fn version(&self, id: &VersionId) -> CatalogResult<Option<VersionInfo>>;

    /// At most `limit` versions whose ids begin with `prefix`. Hyphens may be left out.
    fn versions_beginning(&self, prefix: &str, limit: usize) -> CatalogResult<Vec<VersionId>>;

    /// Versions by time, newest first. Of two with the same time, the one written later comes
    /// first. A filter on URL, time or tag costs as much as its answer.
    fn versions(
        &self,
        filter: &VersionFilter,
        cursor: ListCursor<VersionId>,
    ) -> CatalogResult<Vec<VersionInfo>>;

    /// The number of versions, counted up to `limit`.
    fn count_versions(&self, limit: u64) -> CatalogResult<u64>;

    /// The versions whose parent is `id`.
    fn children(&self, id: &VersionId) -> CatalogResult<Vec<VersionId>>;

    /// The captures of a version, by the bytes of path and URL. Captures that share both come in
    /// one batch, by time, even if the batch exceeds its limit.
    fn captures_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<Capture>>;

    /// The captures of a version with one path.
    fn captures_at_path(&self, version: &VersionId, path: &str) -> CatalogResult<Vec<Capture>>;

    /// The pages that a version found gone or unreachable without a capture, by path and URL.
    fn absences_in(
        &self,
        _version: &VersionId,
        _cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<PageAbsence>> {
        Ok(Vec::new())
    }

    /// The state of a version: its pages by path and URL, those that are gone included. The batch
    /// ends with a whole path, even if it exceeds its limit; the cursor holds path and URL of the
    /// last page. The cost is that of the URLs that are passed over.
    ///
    /// By default, for a layout whose versions list all their pages, each capture is a page.
    fn state_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<PageState>> {
        let captures = self.captures_in(version, cursor)?;
        Ok(captures.into_iter().map(|capture| PageState::listed(*version, capture)).collect())
    }

    /// The pages in the state of a version at some paths, by path in the order given and by URL.
    fn states_at(&self, version: &VersionId, paths: &[&str]) -> CatalogResult<Vec<PageState>> {
        let mut states = Vec::new();
        for path in paths {
            let captures = self.captures_at_path(version, path)?;
            states.extend(captures.into_iter().map(|capture| PageState::listed(*version, capture)));
        }
        Ok(states)
    }

    /// Looks up many URLs in the state of a version: for each, in the order of `urls`, its page.
    /// [`UrlMatch::Exact`] considers only events of that spelling.
    fn states_of(
        &self,
        version: &VersionId,
        urls: &[&str],
        matching: UrlMatch,
    ) -> CatalogResult<Vec<Option<PageState>>> {
        let find = |url: &&str| {
            let mut spellings = match matching {
                UrlMatch::Exact => Vec::new(),
                UrlMatch::SamePage => self.spellings_of(url)?,
            };
            if !spellings.iter().any(|spelling| spelling == url) {
                spellings.insert(0, (*url).to_owned());
            }
            let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
            let newest = self.captures_of_any_in(version, &spellings)?.pop();
            Ok(newest.map(|capture| PageState::listed(*version, capture)))
        };
        urls.iter().map(find).collect()
    }

    /// The number of pages in the state of a version, by their presence.
    fn state_counts(&self, version: &VersionId) -> CatalogResult<StateCounts> {
        let present = self.version(version)?.map_or(0, |info| info.captures);
        Ok(StateCounts { present, ..StateCounts::default() })
    }

    /// Calls `each` with the path and the URL of every page in which the states of two versions
    /// may differ, in any order; a path may come several times. At all other paths they are the
    /// same. The cost is that of the events between the two versions. Returns false, and calls
    /// `each` for no page, if reading both states is as fast.
    fn each_page_that_differs(
        &self,
        _base: &VersionId,
        _head: &VersionId,
        _each: &mut dyn FnMut(&str, &str),
    ) -> CatalogResult<bool> {
        Ok(false)
    }

    /// Fills in the ids of the bodies of two captures that are to be compared, where a list left
    /// them out because computing them means reading the bodies.
    fn identify_bodies(&self, _base: &mut Capture, _head: &mut Capture) -> CatalogResult<()> {
        Ok(())
    }

    /// The captures of a URL by time. URLs are compared byte for byte. Of two captures with the
    /// same time, the one written later is the newer. The cursor holds the last capture of the
    /// previous batch, which is found by its time and id.
    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> CatalogResult<Vec<Capture>>;

    /// All captures by URL, those of one URL in no order. A batch holds whole URLs and at least
    /// `limit` captures; the cursor holds the last URL of the previous batch.
    fn captures_by_url(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<Capture>> {
        let (filter, oldest) = (CaptureFilter::default(), TimeOrder::OldestFirst);
        let mut found = Vec::new();
        let mut after = cursor.after.map(str::to_owned);
        while found.len() < cursor.limit {
            let urls = self.urls("", ListCursor { after: after.as_deref(), limit: 1 })?;
            let Some(url) = urls.into_iter().next() else { break };
            found.append(&mut self.captures_of(&url, &filter, oldest, ListCursor::first(usize::MAX))?);
            after = Some(url);
        }
        Ok(found)
    }

    /// The captures of several URLs in one list, ordered as by [`captures_of`](Self::captures_of).
    /// A layout that decides itself which URLs are the same returns those of the first that it
    /// knows.
    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> CatalogResult<Vec<Capture>> {
        for url in urls {
            let found = self.captures_of(url, filter, order, cursor)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// The captures of several URLs in one version, by time. A layout that decides itself which
    /// URLs are the same has URLs as paths, and returns those of the first that it knows.
    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> CatalogResult<Vec<Capture>> {
        for url in urls {
            let found = self.captures_at_path(version, url)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// Looks up many URLs at once: for each, in the order of `urls`, at most `limit` captures,
    /// newest first.
    fn newest_captures(
        &self,
        urls: &[&str],
        matching: UrlMatch,
        limit: usize,
    ) -> CatalogResult<Vec<Vec<Capture>>> {
        let (filter, newest) = (CaptureFilter::default(), TimeOrder::NewestFirst);
        let find = |url: &&str| {
            let spellings = match matching {
                UrlMatch::Exact => Vec::new(),
                UrlMatch::SamePage => self.spellings_of(url)?,
            };
            let mut urls: Vec<&str> = spellings.iter().map(String::as_str).collect();
            if !urls.contains(url) {
                urls.insert(0, url);
            }
            self.captures_of_any(&urls, &filter, newest, ListCursor::first(limit))
        };
        urls.iter().map(find).collect()
    }

    /// The URLs of this catalog with the same [identity](crate::url::PageUrl) as `url`, sorted by
    /// their bytes. `url` may be one of them. Empty for a layout that decides itself which URLs are
    /// the same.
    fn spellings_of(&self, _url: &str) -> CatalogResult<Vec<String>> {
        Ok(Vec::new())
    }

    /// The URLs that begin with `prefix`, sorted by their bytes, without repetition.
    fn urls(&self, prefix: &str, cursor: ListCursor<&str>) -> CatalogResult<Vec<String>>;

    /// All tags, by name.
    fn tags(&self) -> CatalogResult<Vec<VersionTag>>;

    /// A tag.
    fn tag(&self, name: &str) -> CatalogResult<Option<VersionTag>>;

    /// The stored diff of two versions.
    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> CatalogResult<Option<StoredDiff>>;

    /// The stored diffs from or to a version, in order, without their content.
    fn diffs_with(&self, version: &VersionId) -> CatalogResult<Vec<StoredDiffInfo>>;

    /// The number of stored diffs that were computed before an instant.
    fn diffs_before(&self, before: Moment) -> CatalogResult<u64>;

    /// The scores of a version, newest first.
    fn scores(&self, version: &VersionId) -> CatalogResult<Vec<StoredScore>>;

    /// The checks by time and id, newest first.
    fn checks(&self, _cursor: ListCursor<CheckId>) -> CatalogResult<Vec<StoredCheck>> {
        Ok(Vec::new())
    }

    /// A check.
    fn check(&self, _id: &CheckId) -> CatalogResult<Option<StoredCheck>> {
        Ok(None)
    }

    /// At most `limit` checks whose ids begin with `prefix`. Hyphens may be left out.
    fn checks_beginning(&self, _prefix: &str, _limit: usize) -> CatalogResult<Vec<CheckId>> {
        Ok(Vec::new())
    }

    /// The verdicts on a URL, newest first.
    fn verdicts_of(&self, url: &str, limit: usize) -> CatalogResult<Vec<StoredVerdict>>;

    /// The last verdict on each URL, by URL.
    fn last_verdicts(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredVerdict>>;

    /// The saved extraction that a requested URL leads to, or that of the page with this canonical URL.
    /// It may have expired. URLs are compared byte for byte: another one with the same key is not an
    /// answer.
    fn extraction(&self, _requested: &KeyedUrl) -> CatalogResult<Option<StoredExtraction>> {
        Ok(None)
    }

    /// The saved extractions by canonical URL.
    fn extractions(&self, _cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredExtraction>> {
        Ok(Vec::new())
    }

    /// The requested URLs that lead to the extraction of a canonical URL, by their bytes.
    fn requests_of(&self, _page: &KeyedUrl) -> CatalogResult<Vec<KeyedUrl>> {
        Ok(Vec::new())
    }

    /// The settings of a domain.
    fn domain_settings(&self, _domain: &str) -> CatalogResult<Option<StoredDomainSettings>> {
        Ok(None)
    }

    /// The settings of all domains, by domain.
    fn all_domain_settings(&self, _cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredDomainSettings>> {
        Ok(Vec::new())
    }

    /// The removals of a record from the silos, newest first.
    fn removals_of(&self, _record: &RecordId) -> CatalogResult<Vec<Removal>> {
        Ok(Vec::new())
    }

    /// The removal of a page from its version. Its body may still be stored for another page.
    fn removal_of_page(&self, _capture: &Capture) -> CatalogResult<Option<Removal>> {
        Ok(None)
    }

    /// For each capture, whether [`removal_of_page`](Self::removal_of_page) has an answer.
    fn are_removed_pages(&self, captures: &[&Capture]) -> CatalogResult<Vec<bool>> {
        captures.iter().map(|capture| Ok(self.removal_of_page(capture)?.is_some())).collect()
    }

    /// The removed responses and committed pages of a URL, last removed first. No capture refers to them any more.
    fn removals_at(&self, _url: &str, _limit: usize) -> CatalogResult<Vec<Removal>> {
        Ok(Vec::new())
    }

    /// All removals, by the records of their tombstones.
    fn removals(&self, _cursor: ListCursor<RecordId>) -> CatalogResult<Vec<Removal>> {
        Ok(Vec::new())
    }

    /// The runs that have captures and have not become versions, oldest first.
    fn open_runs(&self) -> CatalogResult<Vec<RunId>>;

    /// The number of captures of a run.
    fn captures_of_run(&self, run: &RunId) -> CatalogResult<u64>;

    /// Calls `each` with the records of the captures of a run, in no order.
    fn each_record_of_run(&self, _run: &RunId, _each: &mut dyn FnMut(RecordId)) -> CatalogResult<()> {
        Ok(())
    }

    /// The version that a run became: the first that named it.
    fn version_of_run(&self, _run: &RunId) -> CatalogResult<Option<VersionId>> {
        Ok(None)
    }

    /// The version that HEAD pointed to when the last row about it was written.
    fn head(&self) -> CatalogResult<Option<VersionId>>;

    /// The position in the silos up to which rows were written: the last
    /// [`CatalogRow::ScannedUpTo`](super::CatalogRow::ScannedUpTo).
    fn scanned_up_to(&self) -> CatalogResult<Option<u64>>;

    /// The time of the last garbage collection: the last
    /// [`CatalogRow::GcDone`](super::CatalogRow::GcDone).
    fn last_gc(&self) -> CatalogResult<Option<Moment>> {
        Ok(None)
    }

    /// Calls `each` with every body that a capture refers to, in no order, possibly more than once.
    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> CatalogResult<()>) -> CatalogResult<()>;
}
