//! What a catalog is: a fold over rows, as plainly as it can be said. Slow, and right by being obvious.

use std::collections::{BTreeMap, BTreeSet};

use varve_catalog::{CatalogError, CatalogRead, CatalogRow};
use varve_core::history::{
    Belongs, Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, Tag,
    TimeOrder, Version, VersionFilter, VersionInfo,
};
use varve_core::{BodyId, Moment, RunId, VersionId};

type Answer<T> = Result<T, CatalogError>;

#[derive(Clone, Default)]
pub(crate) struct Model {
    /// As they were written.
    versions: Vec<Version>,
    /// As they were written.
    captures: Vec<Capture>,
    /// The version that named a run first.
    claims: BTreeMap<RunId, VersionId>,
    runs: Vec<RunId>,
    tags: BTreeMap<String, Tag>,
    head: Option<VersionId>,
    reached: Option<u64>,
    last_gc: Option<Moment>,
    diffs: BTreeMap<(Option<VersionId>, VersionId), StoredDiff>,
    scores: Vec<StoredScore>,
    verdicts: BTreeMap<(String, Moment), StoredVerdict>,
}

impl Model {
    pub(crate) fn apply(&mut self, rows: &[CatalogRow]) {
        for row in rows {
            self.keep(row.clone());
        }
    }

    pub(crate) fn has(&self, id: &VersionId) -> bool {
        self.versions.iter().any(|version| version.id == *id)
    }

    fn keep(&mut self, row: CatalogRow) {
        match row {
            CatalogRow::Version(version) => self.version(version),
            CatalogRow::Capture(capture) => self.capture(*capture),
            CatalogRow::Pages { captures, .. } => {
                captures.into_iter().for_each(|capture| self.capture(capture))
            }
            CatalogRow::Tag { name, version: Some(version), time } => {
                self.tags.insert(name.clone(), Tag { name, version, time });
            }
            CatalogRow::Tag { name, .. } => _ = self.tags.remove(&name),
            CatalogRow::Head(head) => self.head = Some(head),
            CatalogRow::Diff(diff) => _ = self.diffs.insert((diff.base, diff.head), diff),
            CatalogRow::Score(score) => {
                let key = |score: &StoredScore| (score.version, score.scoring_version.clone());
                self.scores.retain(|other| key(other) != key(&score));
                self.scores.push(*score);
            }
            CatalogRow::Verdict(verdict) => {
                self.verdicts.insert((verdict.url.clone(), verdict.time), verdict);
            }
            CatalogRow::ForgetVersion(id) => self.forget_version(id),
            CatalogRow::ForgetDiffs(before) => self.diffs.retain(|_, diff| diff.time >= before),
            CatalogRow::PageList(_) | CatalogRow::Removal(_) => {}
            CatalogRow::ScannedUpTo(place) => self.reached = Some(place),
            CatalogRow::GcDone(time) => self.last_gc = Some(time),
            CatalogRow::ForgetRun(run) => {
                self.captures.retain(|capture| capture.belongs != Belongs::Run(run));
                self.runs.retain(|open| *open != run);
            }
        }
    }

    fn version(&mut self, version: Version) {
        self.head = Some(version.id);
        if self.has(&version.id) {
            return;
        }
        if let Some(run) = version.run.filter(|run| !self.claims.contains_key(run)) {
            self.claims.insert(run, version.id);
            self.runs.retain(|open| *open != run);
            for capture in &mut self.captures {
                if capture.belongs == Belongs::Run(run) {
                    capture.belongs = Belongs::Version(version.id);
                }
            }
        }
        self.versions.push(version);
    }

    fn capture(&mut self, mut capture: Capture) {
        if self.captures.iter().any(|other| other.id == capture.id) {
            return;
        }
        if let Belongs::Run(run) = capture.belongs {
            match self.claims.get(&run) {
                Some(version) => capture.belongs = Belongs::Version(*version),
                None if !self.runs.contains(&run) => self.runs.push(run),
                None => {}
            }
        }
        self.captures.push(capture);
    }

    fn forget_version(&mut self, id: VersionId) {
        let Some(place) = self.versions.iter().position(|version| version.id == id) else { return };
        let gone = self.versions.remove(place);
        for version in &mut self.versions {
            if version.parent == Some(id) {
                version.parent = gone.parent;
            }
        }
        self.captures.retain(|capture| capture.belongs != Belongs::Version(id));
        self.claims.retain(|_, version| *version != id);
        self.tags.retain(|_, tag| tag.version != id);
        self.diffs.retain(|_, diff| diff.base != Some(id) && diff.head != id);
        self.scores.retain(|score| score.version != id);
        if self.head == Some(id) {
            self.head = gone.parent;
        }
    }

    fn info(&self, version: &Version) -> VersionInfo {
        let captures =
            self.captures.iter().filter(|capture| capture.belongs == Belongs::Version(version.id)).count();
        let tags = self.tags.values().filter(|tag| tag.version == version.id).map(|tag| tag.name.clone());
        VersionInfo { version: version.clone(), captures: captures as u64, tags: tags.collect() }
    }

    fn holds(&self, id: VersionId, url: &str) -> bool {
        self.captures.iter().any(|capture| capture.belongs == Belongs::Version(id) && capture.url == url)
    }
}

fn contains(text: Option<&str>, wanted: &Option<String>) -> bool {
    wanted
        .as_ref()
        .is_none_or(|wanted| text.is_some_and(|text| text.to_lowercase().contains(&wanted.to_lowercase())))
}

fn behind<T>(list: Vec<T>, after: impl FnOnce(&[T]) -> Option<usize>, limit: usize) -> Vec<T> {
    let skip = after(&list).map_or(0, |place| place + 1);
    list.into_iter().skip(skip).take(limit).collect()
}

impl CatalogRead for Model {
    fn version(&self, id: &VersionId) -> Answer<Option<VersionInfo>> {
        Ok(self.versions.iter().find(|version| version.id == *id).map(|version| self.info(version)))
    }

    fn versions_beginning(&self, prefix: &str, limit: usize) -> Answer<Vec<VersionId>> {
        let plain = |text: &str| text.replace('-', "").to_lowercase();
        let mut ids: Vec<_> = self.versions.iter().map(|version| version.id).collect();
        ids.retain(|id| plain(&id.to_string()).starts_with(&plain(prefix)));
        ids.sort();
        ids.truncate(limit);
        Ok(ids)
    }

    fn versions(&self, filter: &VersionFilter, page: ListCursor<VersionId>) -> Answer<Vec<VersionInfo>> {
        let mut list: Vec<_> = self.versions.iter().rev().map(|version| self.info(version)).collect();
        list.sort_by_key(|info| std::cmp::Reverse(info.version.time));
        let list = behind(
            list,
            |list| page.after.and_then(|after| list.iter().position(|info| info.version.id == after)),
            usize::MAX,
        );
        Ok(list
            .into_iter()
            .filter(|info| {
                let version = &info.version;
                filter.url.as_ref().is_none_or(|url| self.holds(version.id, url))
                    && filter.since.is_none_or(|since| version.time >= since)
                    && filter.until.is_none_or(|until| version.time <= until)
                    && contains(version.author.as_deref(), &filter.author)
                    && contains(Some(&version.message), &filter.message)
                    && filter.tag.as_ref().is_none_or(|tag| info.tags.contains(tag))
            })
            .take(page.limit)
            .collect())
    }

    fn count_versions(&self, most: u64) -> Answer<u64> {
        Ok(most.min(self.versions.len() as u64))
    }

    fn children(&self, id: &VersionId) -> Answer<Vec<VersionId>> {
        Ok(self
            .versions
            .iter()
            .filter(|version| version.parent == Some(*id))
            .map(|version| version.id)
            .collect())
    }

    fn captures_in(&self, version: &VersionId, page: ListCursor<(&str, &str)>) -> Answer<Vec<Capture>> {
        let mut list: Vec<_> = self
            .captures
            .iter()
            .filter(|capture| capture.belongs == Belongs::Version(*version))
            .filter(|capture| page.after.is_none_or(|after| (&*capture.path, &*capture.url) > after))
            .cloned()
            .collect();
        list.sort_by(|a, b| (&a.path, &a.url, a.time).cmp(&(&b.path, &b.url, b.time)));
        let together = |place: usize| {
            place > 0
                && (&list[place].path, &list[place].url) == (&list[place - 1].path, &list[place - 1].url)
        };
        let end = (page.limit..list.len()).find(|&place| !together(place)).unwrap_or(list.len());
        list.truncate(end);
        Ok(list)
    }

    fn captures_at_path(&self, version: &VersionId, path: &str) -> Answer<Vec<Capture>> {
        let mut list = self.captures_in(version, ListCursor::first(usize::MAX))?;
        list.retain(|capture| capture.path == path);
        Ok(list)
    }

    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Answer<Vec<Capture>> {
        self.captures_of_any(&[url], filter, order, page)
    }

    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Answer<Vec<Capture>> {
        let is_one = |capture: &&Capture| urls.contains(&capture.url.as_str());
        let mut list: Vec<_> = self.captures.iter().filter(is_one).cloned().collect();
        list.sort_by_key(|capture| capture.time);
        if order == TimeOrder::NewestFirst {
            list.reverse();
        }
        let list = behind(
            list,
            |list| page.after.and_then(|after| list.iter().position(|capture| capture.id == after.id)),
            usize::MAX,
        );
        let wanted = |capture: &Capture| {
            filter.since.is_none_or(|since| capture.time >= since)
                && filter.until.is_none_or(|until| capture.time <= until)
                && !(filter.committed_only && matches!(capture.belongs, Belongs::Run(_)))
        };
        Ok(list.into_iter().filter(wanted).take(page.limit).collect())
    }

    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Answer<Vec<Capture>> {
        let mut list = self.captures_in(version, ListCursor::first(usize::MAX))?;
        list.retain(|capture| urls.contains(&capture.url.as_str()));
        Ok(list)
    }

    fn urls(&self, prefix: &str, page: ListCursor<&str>) -> Answer<Vec<String>> {
        let urls: BTreeSet<_> = self.captures.iter().map(|capture| &capture.url).collect();
        Ok(urls
            .into_iter()
            .filter(|url| url.starts_with(prefix) && page.after.is_none_or(|after| url.as_str() > after))
            .take(page.limit)
            .cloned()
            .collect())
    }

    fn tags(&self) -> Answer<Vec<Tag>> {
        Ok(self.tags.values().cloned().collect())
    }

    fn tag(&self, name: &str) -> Answer<Option<Tag>> {
        Ok(self.tags.get(name).cloned())
    }

    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Answer<Option<StoredDiff>> {
        Ok(self.diffs.get(&(base.copied(), *head)).cloned())
    }

    fn diffs_with(&self, version: &VersionId) -> Answer<Vec<StoredDiffInfo>> {
        let info = |diff: &StoredDiff| StoredDiffInfo { base: diff.base, head: diff.head, time: diff.time };
        let of = |diff: &StoredDiffInfo| diff.base == Some(*version) || diff.head == *version;
        let mut found: Vec<_> = self.diffs.values().map(info).filter(of).collect();
        found.sort();
        Ok(found)
    }

    fn diffs_before(&self, before: Moment) -> Answer<u64> {
        Ok(self.diffs.values().filter(|diff| diff.time < before).count() as u64)
    }

    fn scores(&self, version: &VersionId) -> Answer<Vec<StoredScore>> {
        let mut scores: Vec<_> =
            self.scores.iter().rev().filter(|score| score.version == *version).cloned().collect();
        scores.sort_by_key(|score| std::cmp::Reverse(score.time));
        Ok(scores)
    }

    fn verdicts_of(&self, url: &str, limit: usize) -> Answer<Vec<StoredVerdict>> {
        let of_url = self.verdicts.values().rev().filter(|verdict| verdict.url == url);
        Ok(of_url.take(limit).cloned().collect())
    }

    fn last_verdicts(&self, page: ListCursor<&str>) -> Answer<Vec<StoredVerdict>> {
        let last: BTreeMap<_, _> = self.verdicts.values().map(|verdict| (&verdict.url, verdict)).collect();
        Ok(last
            .into_values()
            .filter(|verdict| page.after.is_none_or(|after| verdict.url.as_str() > after))
            .take(page.limit)
            .cloned()
            .collect())
    }

    fn open_runs(&self) -> Answer<Vec<RunId>> {
        Ok(self.runs.clone())
    }

    fn captures_of_run(&self, run: &RunId) -> Answer<u64> {
        let owner = self.claims.get(run).map_or(Belongs::Run(*run), |version| Belongs::Version(*version));
        Ok(self.captures.iter().filter(|capture| capture.belongs == owner).count() as u64)
    }

    fn head(&self) -> Answer<Option<VersionId>> {
        Ok(self.head)
    }

    fn scanned_up_to(&self) -> Result<Option<u64>, CatalogError> {
        Ok(self.reached)
    }

    fn last_gc(&self) -> Answer<Option<Moment>> {
        Ok(self.last_gc)
    }

    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> Answer<()>) -> Answer<()> {
        self.captures.iter().try_for_each(|capture| each(capture.body))
    }
}
