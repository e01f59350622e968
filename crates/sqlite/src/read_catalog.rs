//! The queries of a catalog, in any layout. Each runs on a connection of the pool.

use varve_core::catalog::{CatalogRead, CatalogResult, Removal, SealedLogRead, UrlMatch};
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped};
use varve_core::history::{
    Capture, CaptureFilter, KeyedUrl, ListCursor, PageAbsence, PageState, StateCounts, StoredCheck,
    StoredDiff, StoredDiffInfo, StoredDomainSettings, StoredExtraction, StoredScore, StoredVerdict,
    TimeOrder, VersionFilter, VersionInfo, VersionTag,
};
use varve_core::{BodyId, CheckId, ManifestDigest, Moment, RecordId, RunId, VersionId};

use crate::table_layout::TableLayout;
use crate::{TableCatalog, read_annotations, verdicts, versions};

impl<L: TableLayout> SealedLogRead for TableCatalog<L> {
    fn log_size(&self) -> CatalogResult<u64> {
        self.query(L::log_size)
    }

    fn log_leaves(&self, first: u64, limit: usize) -> CatalogResult<Vec<(u64, ManifestDigest)>> {
        self.query(|connection| L::log_leaves(connection, first, limit))
    }

    fn leaf_of_version(&self, version: &VersionId) -> CatalogResult<Option<u64>> {
        self.query(|connection| L::leaf_of_version(connection, version))
    }

    fn versions_without_leaf(&self, limit: usize) -> CatalogResult<Vec<VersionId>> {
        self.query(|connection| L::versions_without_leaf(connection, limit))
    }

    fn versions_by_writing(&self, cursor: ListCursor<VersionId>) -> CatalogResult<Vec<VersionId>> {
        self.query(|connection| L::versions_by_writing(connection, cursor))
    }

    fn log_checkpoints(&self, cursor: ListCursor<u64>) -> CatalogResult<Vec<CheckpointSigned>> {
        self.query(|connection| L::log_checkpoints(connection, cursor))
    }

    fn last_log_checkpoint(&self) -> CatalogResult<Option<CheckpointSigned>> {
        self.query(L::last_log_checkpoint)
    }

    fn log_timestamps(&self, size: u64) -> CatalogResult<Vec<CheckpointTimestamped>> {
        self.query(|connection| L::log_timestamps(connection, size))
    }
}

impl<L: TableLayout> CatalogRead for TableCatalog<L> {
    fn version(&self, id: &VersionId) -> CatalogResult<Option<VersionInfo>> {
        self.query(|connection| versions::version::<L>(connection, id))
    }

    fn versions_beginning(&self, prefix: &str, limit: usize) -> CatalogResult<Vec<VersionId>> {
        self.query(|connection| versions::beginning::<L>(connection, prefix, limit))
    }

    fn versions(
        &self,
        filter: &VersionFilter,
        cursor: ListCursor<VersionId>,
    ) -> CatalogResult<Vec<VersionInfo>> {
        self.query(|connection| versions::versions::<L>(connection, filter, cursor))
    }

    fn count_versions(&self, limit: u64) -> CatalogResult<u64> {
        self.query(|connection| versions::count::<L>(connection, limit))
    }

    fn children(&self, id: &VersionId) -> CatalogResult<Vec<VersionId>> {
        self.query(|connection| versions::children::<L>(connection, id))
    }

    fn captures_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<Capture>> {
        self.query(|connection| L::captures_in(connection, version, cursor))
    }

    fn captures_at_path(&self, version: &VersionId, path: &str) -> CatalogResult<Vec<Capture>> {
        self.query(|connection| L::captures_at_path(connection, version, path))
    }

    fn absences_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<PageAbsence>> {
        self.query(|connection| L::absences_in(connection, version, cursor))
    }

    fn state_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<PageState>> {
        self.query(|connection| L::state_in(connection, version, cursor))
    }

    fn states_at(&self, version: &VersionId, paths: &[&str]) -> CatalogResult<Vec<PageState>> {
        self.query(|connection| L::states_at(connection, version, paths))
    }

    fn states_of(
        &self,
        version: &VersionId,
        urls: &[&str],
        matching: UrlMatch,
    ) -> CatalogResult<Vec<Option<PageState>>> {
        self.query(|connection| L::states_of(connection, version, urls, matching))
    }

    fn state_counts(&self, version: &VersionId) -> CatalogResult<StateCounts> {
        self.query(|connection| match L::state_counts(connection, version)? {
            Some(counts) => Ok(counts),
            None => {
                let info = versions::version::<L>(connection, version)?;
                let present = info.map_or(0, |info| info.captures);
                Ok(StateCounts { present, ..StateCounts::default() })
            }
        })
    }

    fn each_page_that_differs(
        &self,
        base: &VersionId,
        head: &VersionId,
        each: &mut dyn FnMut(&str, &str),
    ) -> CatalogResult<bool> {
        self.query(|connection| L::each_page_that_differs(connection, base, head, each))
    }

    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> CatalogResult<Vec<Capture>> {
        self.captures_of_any(&[url], filter, order, cursor)
    }

    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> CatalogResult<Vec<Capture>> {
        self.query(|connection| L::captures_of_any(connection, urls, filter, order, cursor))
    }

    fn captures_by_url(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<Capture>> {
        self.query(|connection| {
            if let Some(found) = L::captures_by_url(connection, cursor)? {
                return Ok(found);
            }
            let (filter, oldest, all) =
                (CaptureFilter::default(), TimeOrder::OldestFirst, ListCursor::first(usize::MAX));
            let mut found = Vec::new();
            let mut after = cursor.after.map(str::to_owned);
            while found.len() < cursor.limit {
                let urls = L::urls(connection, "", ListCursor { after: after.as_deref(), limit: 1 })?;
                let Some(url) = urls.into_iter().next() else { break };
                found.append(&mut L::captures_of_any(connection, &[&url], &filter, oldest, all)?);
                after = Some(url);
            }
            Ok(found)
        })
    }

    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> CatalogResult<Vec<Capture>> {
        self.query(|connection| L::captures_of_any_in(connection, version, urls))
    }

    fn newest_captures(
        &self,
        urls: &[&str],
        matching: UrlMatch,
        limit: usize,
    ) -> CatalogResult<Vec<Vec<Capture>>> {
        self.query(|connection| L::newest_captures(connection, urls, matching, limit))
    }

    fn spellings_of(&self, url: &str) -> CatalogResult<Vec<String>> {
        self.query(|connection| L::spellings_of(connection, url))
    }

    fn urls(&self, prefix: &str, cursor: ListCursor<&str>) -> CatalogResult<Vec<String>> {
        self.query(|connection| L::urls(connection, prefix, cursor))
    }

    fn tags(&self) -> CatalogResult<Vec<VersionTag>> {
        self.query(|connection| read_annotations::tags::<L>(connection, None))
    }

    fn tag(&self, name: &str) -> CatalogResult<Option<VersionTag>> {
        self.query(|connection| Ok(read_annotations::tags::<L>(connection, Some(name))?.pop()))
    }

    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> CatalogResult<Option<StoredDiff>> {
        self.query(|connection| read_annotations::diff::<L>(connection, base, head))
    }

    fn diffs_with(&self, version: &VersionId) -> CatalogResult<Vec<StoredDiffInfo>> {
        self.query(|connection| read_annotations::diffs_with::<L>(connection, version))
    }

    fn diffs_before(&self, before: Moment) -> CatalogResult<u64> {
        self.query(|connection| read_annotations::diffs_before::<L>(connection, before))
    }

    fn scores(&self, version: &VersionId) -> CatalogResult<Vec<StoredScore>> {
        self.query(|connection| read_annotations::scores::<L>(connection, version))
    }

    fn checks(&self, cursor: ListCursor<CheckId>) -> CatalogResult<Vec<StoredCheck>> {
        self.query(|connection| verdicts::checks::<L>(connection, cursor))
    }

    fn check(&self, id: &CheckId) -> CatalogResult<Option<StoredCheck>> {
        self.query(|connection| verdicts::check::<L>(connection, id))
    }

    fn checks_beginning(&self, prefix: &str, limit: usize) -> CatalogResult<Vec<CheckId>> {
        self.query(|connection| verdicts::checks_beginning::<L>(connection, prefix, limit))
    }

    fn verdicts_of(&self, url: &str, limit: usize) -> CatalogResult<Vec<StoredVerdict>> {
        self.query(|connection| verdicts::verdicts_of::<L>(connection, url, limit))
    }

    fn last_verdicts(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredVerdict>> {
        self.query(|connection| verdicts::last_verdicts::<L>(connection, cursor))
    }

    fn extraction(&self, requested: &KeyedUrl) -> CatalogResult<Option<StoredExtraction>> {
        self.query(|connection| L::extraction(connection, requested))
    }

    fn extractions(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredExtraction>> {
        self.query(|connection| L::extractions(connection, cursor))
    }

    fn requests_of(&self, page: &KeyedUrl) -> CatalogResult<Vec<KeyedUrl>> {
        self.query(|connection| L::requests_of(connection, page))
    }

    fn domain_settings(&self, domain: &str) -> CatalogResult<Option<StoredDomainSettings>> {
        self.query(|connection| L::domain_settings(connection, domain))
    }

    fn all_domain_settings(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredDomainSettings>> {
        self.query(|connection| L::all_domain_settings(connection, cursor))
    }

    fn removals_of(&self, record: &RecordId) -> CatalogResult<Vec<Removal>> {
        self.query(|connection| L::removals_of(connection, record))
    }

    fn removal_of_page(&self, capture: &Capture) -> CatalogResult<Option<Removal>> {
        // One statement, and asked for each body that is read.
        self.query_statement(|connection| L::removal_of_page(connection, capture))
    }

    fn are_removed_pages(&self, captures: &[&Capture]) -> CatalogResult<Vec<bool>> {
        self.query(|connection| {
            let is_removed = |capture: &&Capture| Ok(L::removal_of_page(connection, capture)?.is_some());
            captures.iter().map(is_removed).collect()
        })
    }

    fn removals_at(&self, url: &str, limit: usize) -> CatalogResult<Vec<Removal>> {
        self.query(|connection| L::removals_at(connection, url, limit))
    }

    fn removals(&self, cursor: ListCursor<RecordId>) -> CatalogResult<Vec<Removal>> {
        self.query(|connection| L::removals(connection, cursor))
    }

    fn open_runs(&self) -> CatalogResult<Vec<RunId>> {
        self.query(read_annotations::open_runs::<L>)
    }

    fn captures_of_run(&self, run: &RunId) -> CatalogResult<u64> {
        self.query(|connection| read_annotations::captures_of_run::<L>(connection, run))
    }

    fn each_record_of_run(&self, run: &RunId, each: &mut dyn FnMut(RecordId)) -> CatalogResult<()> {
        self.query(|connection| read_annotations::each_record_of_run::<L>(connection, run, each))
    }

    fn version_of_run(&self, run: &RunId) -> CatalogResult<Option<VersionId>> {
        self.query(|connection| versions::of_run::<L>(connection, run))
    }

    fn head(&self) -> CatalogResult<Option<VersionId>> {
        self.query(|connection| read_annotations::parsed_state::<L, _>(connection, "head"))
    }

    fn scanned_up_to(&self) -> CatalogResult<Option<u64>> {
        self.query(|connection| read_annotations::parsed_state::<L, _>(connection, "scanned_up_to"))
    }

    fn last_gc(&self) -> CatalogResult<Option<Moment>> {
        self.query(read_annotations::last_gc::<L>)
    }

    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> CatalogResult<()>) -> CatalogResult<()> {
        self.query(|connection| L::each_body(connection, each))
    }
}
