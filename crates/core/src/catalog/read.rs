//! The reading half of the seam.

use crate::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, TimeOrder,
    VersionFilter, VersionInfo, VersionTag,
};
use crate::{BodyId, Moment, RecordId, RunId, VersionId};

use super::error::CatalogError;
use super::row::{LatestPageList, Removal};

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
pub trait CatalogRead: Send + Sync {
    /// A version.
    fn version(&self, id: &VersionId) -> Result<Option<VersionInfo>, CatalogError>;

    /// At most `limit` versions whose ids begin with `prefix`. Hyphens may be left out.
    fn versions_beginning(&self, prefix: &str, limit: usize) -> Result<Vec<VersionId>, CatalogError>;

    /// Versions by time, newest first. Of two with the same time, the one written later comes
    /// first. A filter on URL, time or tag costs as much as its answer.
    fn versions(
        &self,
        filter: &VersionFilter,
        cursor: ListCursor<VersionId>,
    ) -> Result<Vec<VersionInfo>, CatalogError>;

    /// The number of versions, counted up to `limit`.
    fn count_versions(&self, limit: u64) -> Result<u64, CatalogError>;

    /// The versions whose parent is `id`.
    fn children(&self, id: &VersionId) -> Result<Vec<VersionId>, CatalogError>;

    /// The captures of a version, by the bytes of path and URL. Captures that share both come in
    /// one batch, by time, even if the batch exceeds its limit.
    fn captures_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> Result<Vec<Capture>, CatalogError>;

    /// The captures of a version with one path.
    fn captures_at_path(&self, version: &VersionId, path: &str) -> Result<Vec<Capture>, CatalogError>;

    /// The paths at which two versions may hold different captures, sorted by their bytes. At all
    /// other paths they hold the same. `None` means that reading both versions is as fast.
    fn paths_that_differ(
        &self,
        _base: &VersionId,
        _head: &VersionId,
    ) -> Result<Option<Vec<String>>, CatalogError> {
        Ok(None)
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
    ) -> Result<Vec<Capture>, CatalogError>;

    /// The captures of several URLs in one list, ordered as by [`captures_of`](Self::captures_of).
    /// A layout that decides itself which URLs are the same returns those of the first that it
    /// knows.
    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
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
    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Result<Vec<Capture>, CatalogError> {
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
    ) -> Result<Vec<Vec<Capture>>, CatalogError> {
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
    fn spellings_of(&self, _url: &str) -> Result<Vec<String>, CatalogError> {
        Ok(Vec::new())
    }

    /// The URLs that begin with `prefix`, sorted by their bytes, without repetition.
    fn urls(&self, prefix: &str, cursor: ListCursor<&str>) -> Result<Vec<String>, CatalogError>;

    /// All tags, by name.
    fn tags(&self) -> Result<Vec<VersionTag>, CatalogError>;

    /// A tag.
    fn tag(&self, name: &str) -> Result<Option<VersionTag>, CatalogError>;

    /// The stored diff of two versions.
    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Result<Option<StoredDiff>, CatalogError>;

    /// The stored diffs from or to a version, in order, without their content.
    fn diffs_with(&self, version: &VersionId) -> Result<Vec<StoredDiffInfo>, CatalogError>;

    /// The number of stored diffs that were computed before an instant.
    fn diffs_before(&self, before: Moment) -> Result<u64, CatalogError>;

    /// The scores of a version, newest first.
    fn scores(&self, version: &VersionId) -> Result<Vec<StoredScore>, CatalogError>;

    /// The verdicts on a URL, newest first.
    fn verdicts_of(&self, url: &str, limit: usize) -> Result<Vec<StoredVerdict>, CatalogError>;

    /// The last verdict on each URL, by URL.
    fn last_verdicts(&self, cursor: ListCursor<&str>) -> Result<Vec<StoredVerdict>, CatalogError>;

    /// The removals of a record from the silos, newest first.
    fn removals_of(&self, _record: &RecordId) -> Result<Vec<Removal>, CatalogError> {
        Ok(Vec::new())
    }

    /// The removal of a page from its version. Its body may still be stored for another page.
    fn removal_of_page(&self, _capture: &Capture) -> Result<Option<Removal>, CatalogError> {
        Ok(None)
    }

    /// The removed responses of a URL, last removed first. No capture refers to them any more.
    fn removals_at(&self, _url: &str, _limit: usize) -> Result<Vec<Removal>, CatalogError> {
        Ok(Vec::new())
    }

    /// All removals, by the records of their tombstones.
    fn removals(&self, _cursor: ListCursor<RecordId>) -> Result<Vec<Removal>, CatalogError> {
        Ok(Vec::new())
    }

    /// The runs that have captures and have not become versions, oldest first.
    fn open_runs(&self) -> Result<Vec<RunId>, CatalogError>;

    /// The number of captures of a run.
    fn captures_of_run(&self, run: &RunId) -> Result<u64, CatalogError>;

    /// Calls `each` with the records of the captures of a run, in no order.
    fn each_record_of_run(&self, _run: &RunId, _each: &mut dyn FnMut(RecordId)) -> Result<(), CatalogError> {
        Ok(())
    }

    /// The version that a run became: the first that named it.
    fn version_of_run(&self, _run: &RunId) -> Result<Option<VersionId>, CatalogError> {
        Ok(None)
    }

    /// The version that HEAD pointed to when the last row about it was written.
    fn head(&self) -> Result<Option<VersionId>, CatalogError>;

    /// The position in the silos up to which rows were written: the last
    /// [`CatalogRow::ScannedUpTo`](super::CatalogRow::ScannedUpTo).
    fn scanned_up_to(&self) -> Result<Option<u64>, CatalogError>;

    /// The page list that was written last.
    fn latest_page_list(&self) -> Result<Option<LatestPageList>, CatalogError> {
        Ok(None)
    }

    /// The time of the last garbage collection: the last
    /// [`CatalogRow::GcDone`](super::CatalogRow::GcDone).
    fn last_gc(&self) -> Result<Option<Moment>, CatalogError> {
        Ok(None)
    }

    /// Calls `each` with every body that a capture refers to, in no order, possibly more than once.
    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> Result<(), CatalogError>)
    -> Result<(), CatalogError>;
}
