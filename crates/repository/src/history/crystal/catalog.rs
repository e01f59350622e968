//! The rows of a project behind the catalog interface.
//!
//! Captures of a URL are ordered by revision number, which is Crystal's own order and decides which
//! of them is shown. Their times come from the servers and only select among them. Queries for data
//! that a project does not have (tags, scores, verdicts, runs) return nothing.

use varve_catalog::{CatalogError, CatalogRead, SealedLogRead};
use varve_core::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, TimeOrder,
    Version, VersionFilter, VersionInfo, VersionTag,
};
use varve_core::{BodyId, Moment, RunId, VersionId};
use varve_crystal::{
    CaptureChoice, Error, Resource, ResourceState, Revision, RevisionId, RevisionSearch, UrlLookup,
};

use super::capture::{newest_in, revision_of, version_at};
use super::moment::time_of;
use super::{CrystalCatalog, CrystalReaderState};

type Answer<T> = Result<T, CatalogError>;

impl CrystalCatalog {
    /// The captures of all URLs that a search finds, newest first.
    pub(super) fn latest(
        &self,
        filter: &CaptureFilter,
        search: RevisionSearch,
        page: ListCursor<&Capture>,
    ) -> Answer<Vec<Capture>> {
        let inner = &mut *self.lock();
        let from = page.after.map_or(i64::MAX, |last| revision_of(&last.id).get().saturating_sub(1));
        let mut found = Vec::new();
        let mut newest = RevisionId(from);
        while found.len() < page.limit {
            let piece = page.limit - found.len();
            let revisions: Vec<_> = inner.project.search_revisions(search, newest).take(piece).collect();
            let was_last = revisions.len() < piece;
            for revision in revisions {
                let revision = revision.map_err(|error| inner.failed(error))?;
                newest = RevisionId(revision.id.get().saturating_sub(1));
                if inner.is_wanted(&revision, filter)? {
                    let url = inner.url_of(&revision)?;
                    found.push(inner.unread_capture(&url, revision).map_err(|error| inner.failed(error))?);
                }
            }
            if was_last {
                break;
            }
        }
        Ok(found)
    }
}

impl CrystalReaderState {
    fn failed(&self, error: Error) -> CatalogError {
        let path = self.project.path().to_owned();
        match error {
            Error::Row(row) => CatalogError::Damaged {
                path,
                table: row.table,
                what: format!("row {}, column `{}`: {}", row.id, row.column, row.problem),
            },
            error => CatalogError::Database { path, source: Box::new(error) },
        }
    }

    fn url_of(&self, revision: &Revision) -> Answer<String> {
        let resource = self.project.resource(revision.resource).map_err(|error| self.failed(error))?;
        Ok(resource.map(|resource| resource.url).unwrap_or_default())
    }

    fn time(&self, revision: &Revision) -> Answer<Moment> {
        time_of(&self.project, revision).map_err(|error| self.failed(error))
    }

    fn is_wanted(&self, revision: &Revision, filter: &CaptureFilter) -> Answer<bool> {
        if filter.since.is_none() && filter.until.is_none() {
            return Ok(true);
        }
        let time = self.time(revision)?;
        Ok(filter.since.is_none_or(|since| time >= since) && filter.until.is_none_or(|until| time <= until))
    }

    /// Finds the resource of a URL by the project's own rules. An alias that leads out of the
    /// project is an error.
    fn find(&self, url: &str) -> Answer<Option<Resource>> {
        match self.project.find(url).map_err(|error| self.failed(error))? {
            UrlLookup::Resource(resource) => Ok(Some(resource)),
            UrlLookup::Unknown(_) => Ok(None),
            UrlLookup::External(target) => Err(CatalogError::Outside { url: url.to_owned(), target }),
        }
    }

    /// The capture of a resource when `newest` was the newest revision.
    fn capture_at(&mut self, resource: &Resource, newest: RevisionId) -> Answer<Option<Capture>> {
        let chosen = self.project.default_revision_at(resource.id, newest, self.choice);
        let revision = chosen.map_err(|error| self.failed(error))?;
        let Some(revision) = revision else { return Ok(None) };
        self.unread_capture(&resource.url, revision).map(Some).map_err(|error| self.failed(error))
    }

    /// The version, if the project ever was in that state.
    fn info(&self, newest: RevisionId) -> Answer<Option<VersionInfo>> {
        let failed = |error| self.failed(error);
        let Some(last) = self.newest().map_err(failed)?.filter(|last| newest <= *last) else {
            return Ok(None);
        };
        let revision = self.project.revisions_down_from(newest).next().transpose().map_err(failed)?;
        let time = revision.map_or(Ok(Moment::from_seconds(0)), |revision| self.time(&revision))?;
        let message = match newest == last {
            true => "the project as it is".to_owned(),
            false => format!("the project as it was when revision {newest} was its newest"),
        };
        let version = Version {
            id: version_at(newest),
            parent: None,
            message,
            author: None,
            time,
            run: None,
            record: None,
            coverage: None,
        };
        let captures = self.project.downloaded_resources(newest).map_err(failed)?;
        Ok(Some(VersionInfo { version, captures, tags: Vec::new() }))
    }

    /// The newest revision that is not after `until`. Revisions are numbered in order of arrival,
    /// so their times are searched by bisection. Where server clocks disagree within fewer than
    /// [`MAX_NEARBY_REVISIONS`] revisions, the newest of those wins.
    fn newest_until(&self, until: Option<Moment>) -> Answer<Option<RevisionId>> {
        let Some(last) = self.newest().map_err(|error| self.failed(error))? else { return Ok(None) };
        let Some(until) = until else { return Ok(Some(last)) };
        let (mut within, mut after) = (0, last.get().saturating_add(1));
        while after - within > 1 {
            let middle = within + (after - within) / 2;
            match self.timed(middle, within)? {
                Some((_, time)) if time > until => after = middle,
                Some(_) => within = middle,
                // No revision examined in this range has a time, so newer ones decide.
                None => within = middle,
            }
        }
        let newest = RevisionId(within.saturating_add(MAX_NEARBY_REVISIONS).min(last.get()));
        for revision in self.project.revisions_down_from(newest) {
            let revision = revision.map_err(|error| self.failed(error))?;
            if own_time_is_within(&revision, until) {
                return Ok(Some(revision.id).filter(|id| id.get() > 0));
            }
        }
        Ok(None)
    }

    /// The newest revision that has a time of its own and lies after `oldest` and not after
    /// `newest`.
    fn timed(&self, newest: i64, oldest: i64) -> Answer<Option<(RevisionId, Moment)>> {
        let older = self
            .project
            .revisions_down_from(RevisionId(newest))
            .take(usize::try_from(MAX_NEARBY_REVISIONS).unwrap_or(64));
        for revision in older {
            let revision = revision.map_err(|error| self.failed(error))?;
            if revision.id.get() <= oldest {
                break;
            }
            if let Some(time) = own_time(&revision) {
                return Ok(Some((revision.id, time)));
            }
        }
        Ok(None)
    }
}

/// Number of revisions around a time that are examined one by one.
const MAX_NEARBY_REVISIONS: i64 = 64;

/// The download time that the revision itself states.
fn own_time(revision: &Revision) -> Option<Moment> {
    Some(Moment::from(revision.metadata().ok().flatten()?.fetched_at()?))
}

/// Whether the time of a revision is not after `until`. False for a revision without a time.
fn own_time_is_within(revision: &Revision, until: Moment) -> bool {
    own_time(revision).is_some_and(|time| time <= until)
}

/// A project has no log.
impl SealedLogRead for CrystalCatalog {}

impl CatalogRead for CrystalCatalog {
    fn version(&self, id: &VersionId) -> Answer<Option<VersionInfo>> {
        newest_in(id).map_or(Ok(None), |newest| self.lock().info(newest))
    }

    fn versions_beginning(&self, prefix: &str, limit: usize) -> Answer<Vec<VersionId>> {
        let inner = self.lock();
        let digits: String = prefix.chars().filter(|letter| *letter != '-').collect();
        let Some(last) = inner.newest().map_err(|error| inner.failed(error))? else { return Ok(Vec::new()) };
        let whole = VersionId::new(varve_core::history::uuid_of(&[0; 32]));
        let text = whole.to_string().replace('-', "");
        // The digits not given are taken from the id of number zero.
        let Some(rest) = text.get(digits.len()..).filter(|_| digits.len() >= 8) else {
            return Ok(Vec::new());
        };
        let id = format!("{digits}{rest}").parse::<VersionId>().ok();
        let found = id.and_then(|id| newest_in(&id)).filter(|newest| *newest <= last);
        Ok(found.map(version_at).into_iter().take(limit).collect())
    }

    fn versions(&self, filter: &VersionFilter, page: ListCursor<VersionId>) -> Answer<Vec<VersionInfo>> {
        let is_more =
            [&filter.url, &filter.author, &filter.message, &filter.tag].iter().any(|ask| ask.is_some());
        if is_more || page.after.is_some() || page.limit == 0 {
            return Ok(Vec::new());
        }
        let inner = self.lock();
        let Some(newest) = inner.newest_until(filter.until)? else { return Ok(Vec::new()) };
        let info = inner.info(newest)?;
        let wanted = info.filter(|info| filter.since.is_none_or(|since| info.version.time >= since));
        Ok(wanted.into_iter().collect())
    }

    fn count_versions(&self, most: u64) -> Answer<u64> {
        Ok(u64::from(self.head()?.is_some()).min(most))
    }

    fn children(&self, _: &VersionId) -> Answer<Vec<VersionId>> {
        Ok(Vec::new())
    }

    fn captures_in(&self, version: &VersionId, page: ListCursor<(&str, &str)>) -> Answer<Vec<Capture>> {
        let Some(newest) = newest_in(version) else { return Ok(Vec::new()) };
        let inner = &mut *self.lock();
        let mut found = Vec::new();
        if inner.choice == CaptureChoice::Newest {
            let after = page.after.map(|(_, url)| url);
            let states: Vec<_> =
                inner.project.newest_revisions_after(newest, after).take(page.limit).collect();
            for state in states {
                let ResourceState { resource, revision } = state.map_err(|error| inner.failed(error))?;
                let capture = inner.unread_capture(&resource.url, revision);
                found.push(capture.map_err(|error| inner.failed(error))?);
            }
            return Ok(found);
        }
        let mut after = page.after.map(|(_, url)| url.to_owned());
        while found.len() < page.limit {
            let piece: Vec<_> =
                inner.project.resources_under_after("", after.as_deref()).take(page.limit).collect();
            let was_last = piece.len() < page.limit;
            for resource in piece {
                let resource = resource.map_err(|error| inner.failed(error))?;
                if found.len() < page.limit {
                    found.extend(inner.capture_at(&resource, newest)?);
                    after = Some(resource.url);
                }
            }
            if was_last {
                break;
            }
        }
        Ok(found)
    }

    /// Only a URL with a revision between the two states can differ in them.
    fn each_page_that_differs(
        &self,
        base: &VersionId,
        head: &VersionId,
        each: &mut dyn FnMut(&str, &str),
    ) -> Answer<bool> {
        let (Some(base), Some(head)) = (newest_in(base), newest_in(head)) else { return Ok(false) };
        let inner = self.lock();
        let urls = inner.project.urls_changed_between(base.min(head), base.max(head));
        urls.map_err(|error| inner.failed(error))?.iter().for_each(|url| each(url, url));
        Ok(true)
    }

    fn identify_bodies(&self, base: &mut Capture, head: &mut Capture) -> Answer<()> {
        let inner = &mut *self.lock();
        inner.identify(base, head).map_err(|error| inner.failed(error))
    }

    fn captures_at_path(&self, version: &VersionId, path: &str) -> Answer<Vec<Capture>> {
        let inner = &mut *self.lock();
        let (Some(newest), Some(resource)) = (newest_in(version), inner.find(path)?) else {
            return Ok(Vec::new());
        };
        Ok(inner.capture_at(&resource, newest)?.into_iter().collect())
    }

    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Answer<Vec<Capture>> {
        let inner = &mut *self.lock();
        let Some(resource) = inner.find(url)? else { return Ok(Vec::new()) };
        let after = page.after.map(|last| revision_of(&last.id).get());
        let project = &inner.project;
        let revisions = match order {
            TimeOrder::NewestFirst => {
                let from = after.map_or(i64::MAX, |id| id.saturating_sub(1));
                project.revisions_of_down_from(resource.id, RevisionId(from))
            }
            TimeOrder::OldestFirst => {
                let from = after.map_or(i64::MIN, |id| id.saturating_add(1));
                project.revisions_of_up_from(resource.id, RevisionId(from))
            }
        };
        let mut wanted = Vec::new();
        for revision in revisions {
            let revision = revision.map_err(|error| inner.failed(error))?;
            if wanted.len() >= page.limit {
                break;
            }
            if inner.is_wanted(&revision, filter)? {
                wanted.push(revision);
            }
        }
        let captures = wanted.into_iter().map(|revision| inner.capture(&resource.url, revision));
        captures.collect::<Result<Vec<_>, _>>().map_err(|error| inner.failed(error))
    }

    fn urls(&self, prefix: &str, page: ListCursor<&str>) -> Answer<Vec<String>> {
        let inner = self.lock();
        let resources = inner.project.resources_under_after(prefix, page.after).take(page.limit);
        let urls = resources.map(|resource| resource.map(|resource| resource.url));
        urls.collect::<Result<Vec<_>, _>>().map_err(|error| inner.failed(error))
    }

    fn tags(&self) -> Answer<Vec<VersionTag>> {
        Ok(Vec::new())
    }

    /// `r` followed by a revision number names the state of the project at that revision.
    fn tag(&self, name: &str) -> Answer<Option<VersionTag>> {
        let number = name.strip_prefix('r').and_then(|digits| digits.parse::<i64>().ok());
        let Some(newest) = number.filter(|number| *number > 0).map(RevisionId) else { return Ok(None) };
        let info = self.lock().info(newest)?;
        Ok(info.map(|info| VersionTag {
            name: name.to_owned(),
            version: info.version.id,
            time: info.version.time,
        }))
    }

    fn diff(&self, _: Option<&VersionId>, _: &VersionId) -> Answer<Option<StoredDiff>> {
        Ok(None)
    }

    fn scores(&self, _: &VersionId) -> Answer<Vec<StoredScore>> {
        Ok(Vec::new())
    }

    fn verdicts_of(&self, _: &str, _: usize) -> Answer<Vec<StoredVerdict>> {
        Ok(Vec::new())
    }

    fn last_verdicts(&self, _: ListCursor<&str>) -> Answer<Vec<StoredVerdict>> {
        Ok(Vec::new())
    }

    fn open_runs(&self) -> Answer<Vec<RunId>> {
        Ok(Vec::new())
    }

    fn captures_of_run(&self, _: &RunId) -> Answer<u64> {
        Ok(0)
    }

    fn head(&self) -> Answer<Option<VersionId>> {
        let inner = self.lock();
        Ok(inner.newest().map_err(|error| inner.failed(error))?.map(version_at))
    }

    fn diffs_with(&self, _: &VersionId) -> Answer<Vec<StoredDiffInfo>> {
        Ok(Vec::new())
    }

    fn diffs_before(&self, _: varve_core::Moment) -> Answer<u64> {
        Ok(0)
    }

    fn scanned_up_to(&self) -> Answer<Option<u64>> {
        Ok(None)
    }

    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> Answer<()>) -> Answer<()> {
        self.each_capture(&mut |capture| {
            let inner = &mut *self.lock();
            let named = inner.named(capture).map_err(|error| inner.failed(error))?;
            each(named)
        })
    }
}

impl CrystalCatalog {
    /// Visits every capture, newest first, in batches.
    fn each_capture(&self, each: &mut dyn FnMut(&Capture) -> Answer<()>) -> Answer<()> {
        const PIECE: usize = 200;
        let mut last: Option<Capture> = None;
        loop {
            let page = ListCursor { after: last.as_ref(), limit: PIECE };
            let piece = self.latest(&CaptureFilter::default(), RevisionSearch::default(), page)?;
            piece.iter().try_for_each(&mut *each)?;
            match piece.into_iter().last() {
                Some(capture) => last = Some(capture),
                None => return Ok(()),
            }
        }
    }
}
