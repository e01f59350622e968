//! The seam for reading.

use varve_core::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, Tag,
    TimeOrder, VersionFilter, VersionInfo,
};
use varve_core::{BodyId, Moment, RecordId, RunId, VersionId};

use crate::error::CatalogError;
use crate::row::{LatestPageList, Removal};

/// Reads rows. Any number may read while another process writes.
pub trait CatalogRead: Send + Sync {
    /// A version.
    fn version(&self, id: &VersionId) -> Result<Option<VersionInfo>, CatalogError>;

    /// The versions whose ids begin with this text (hyphens may be left out), at most `limit`.
    fn versions_beginning(&self, prefix: &str, limit: usize) -> Result<Vec<VersionId>, CatalogError>;

    /// Versions, newest first: by time, and among equals the one that was written last comes first. The cost is that
    /// of the answer where only a URL, a time or a tag is asked for.
    fn versions(
        &self,
        filter: &VersionFilter,
        page: ListCursor<VersionId>,
    ) -> Result<Vec<VersionInfo>, CatalogError>;

    /// How many versions there are, counted no further than `most`: the cost is that of the answer.
    fn count_versions(&self, most: u64) -> Result<u64, CatalogError>;

    /// The versions that descend directly from one.
    fn children(&self, id: &VersionId) -> Result<Vec<VersionId>, CatalogError>;

    /// The captures of a version, by path and then by URL, both by their bytes. Captures that share both are never
    /// parted: they come together, by time, even if that is more than the page should hold.
    fn captures_in(
        &self,
        version: &VersionId,
        page: ListCursor<(&str, &str)>,
    ) -> Result<Vec<Capture>, CatalogError>;

    /// The captures of a version with one path.
    fn captures_at_path(&self, version: &VersionId, path: &str) -> Result<Vec<Capture>, CatalogError>;

    /// The paths at which two versions may hold other captures, sorted by their bytes: at all others they hold the same ones. None
    /// where reading both versions is as quick as finding that out.
    fn paths_that_differ(
        &self,
        _base: &VersionId,
        _head: &VersionId,
    ) -> Result<Option<Vec<String>>, CatalogError> {
        Ok(None)
    }

    /// The captures of a URL, which is compared byte for byte, by time; among equals the one that was written last is
    /// the newest. `after` is the last one seen, known by its time and its id.
    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError>;

    /// The captures of several URLs as if they were one: as [`captures_of`](Self::captures_of), in one line. Where a layout itself
    /// decides which URLs mean the same, it is the first of them that it knows.
    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        for url in urls {
            let found = self.captures_of(url, filter, order, page)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// The captures of several URLs in one version, whatever their paths, by time. Where a layout itself decides which URLs mean the same,
    /// its paths are URLs, and it is the first of them that it knows.
    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Result<Vec<Capture>, CatalogError> {
        for url in urls {
            let found = self.captures_at_path(version, url)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// The URLs that are here and have the same [identity](varve_core::url::PageUrl) as this one, sorted by their bytes; it may be one of
    /// them itself. Nothing where a layout itself decides which URLs mean the same.
    fn spellings_of(&self, _url: &str) -> Result<Vec<String>, CatalogError> {
        Ok(Vec::new())
    }

    /// The URLs that begin with `prefix`, sorted by their bytes, each once.
    fn urls(&self, prefix: &str, page: ListCursor<&str>) -> Result<Vec<String>, CatalogError>;

    /// All tags, by name.
    fn tags(&self) -> Result<Vec<Tag>, CatalogError>;

    /// A tag.
    fn tag(&self, name: &str) -> Result<Option<Tag>, CatalogError>;

    /// The diff that is kept for two versions, if one is.
    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Result<Option<StoredDiff>, CatalogError>;

    /// The diffs that are kept from a version or to it, in order, without what they say.
    fn diffs_with(&self, version: &VersionId) -> Result<Vec<StoredDiffInfo>, CatalogError>;

    /// How many diffs are kept that were computed before an instant.
    fn diffs_before(&self, before: Moment) -> Result<u64, CatalogError>;

    /// The scores of a version, newest first.
    fn scores(&self, version: &VersionId) -> Result<Vec<StoredScore>, CatalogError>;

    /// The verdicts on a URL, newest first.
    fn verdicts_of(&self, url: &str, limit: usize) -> Result<Vec<StoredVerdict>, CatalogError>;

    /// The last verdict on every URL, by URL.
    fn last_verdicts(&self, page: ListCursor<&str>) -> Result<Vec<StoredVerdict>, CatalogError>;

    /// What tells that a record was taken out of the silos, the newest first; nothing where there are no silos.
    fn removals_of(&self, _record: &RecordId) -> Result<Vec<Removal>, CatalogError> {
        Ok(Vec::new())
    }

    /// What tells that a page was taken out of its version, though its body may still be here; nothing where there are no silos.
    fn removal_of_page(&self, _capture: &Capture) -> Result<Option<Removal>, CatalogError> {
        Ok(None)
    }

    /// The answers of a URL that were taken out of the silos, what went last first: no capture tells of them any more.
    fn removals_at(&self, _url: &str, _limit: usize) -> Result<Vec<Removal>, CatalogError> {
        Ok(Vec::new())
    }

    /// All that was taken out of the silos, by the records that tell of it.
    fn removals(&self, _page: ListCursor<RecordId>) -> Result<Vec<Removal>, CatalogError> {
        Ok(Vec::new())
    }

    /// The runs that have captures and have not become versions, oldest first.
    fn open_runs(&self) -> Result<Vec<RunId>, CatalogError>;

    /// How many captures a run has.
    fn captures_of_run(&self, run: &RunId) -> Result<u64, CatalogError>;

    /// Where HEAD pointed when the last row about it was written.
    fn head(&self) -> Result<Option<VersionId>, CatalogError>;

    /// How far the silos have been read, as [`CatalogRow::Reached`](crate::CatalogRow::Reached) said last.
    fn reached(&self) -> Result<Option<u64>, CatalogError>;

    /// The list of pages that was written last; none where there are none, or the layout has no place for them.
    fn last_list(&self) -> Result<Option<LatestPageList>, CatalogError> {
        Ok(None)
    }

    /// When gc was done last, as [`CatalogRow::GcDone`](crate::CatalogRow::GcDone) said; none where that is not known, or the layout has no place for it.
    fn last_gc(&self) -> Result<Option<Moment>, CatalogError> {
        Ok(None)
    }

    /// Every body that a capture refers to, in no order, some perhaps twice, without holding them in memory.
    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> Result<(), CatalogError>)
    -> Result<(), CatalogError>;

    /// Every row as a line of JSON, in an order that depends on what was recorded only: to compare two catalogs. What is not made from
    /// silos (diffs, the frontier, when gc was done) is left out.
    fn each_row(&self, each: &mut dyn FnMut(&str) -> Result<(), CatalogError>) -> Result<(), CatalogError>;
}
