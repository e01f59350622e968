//! A catalog in memory: a fold over rows in its plainest form. It is slow, and simple enough to be
//! the model that other catalogs are compared with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_core::catalog::{
    Catalog, CatalogError, CatalogRead, CatalogResult, CatalogRow, Removal, SealedLogRead, UrlMatch,
};
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped};
use varve_core::headers::HeaderView;
use varve_core::history::{
    Capture, CaptureFilter, CaptureOwner, KeyedUrl, ListCursor, PageAbsence, PageState, Presence,
    StateCounts, StoredCheck, StoredDiff, StoredDiffInfo, StoredDomainSettings, StoredExtraction,
    StoredScore, StoredVerdict, TimeOrder, Version, VersionFilter, VersionInfo, VersionTag,
};
use varve_core::url::{PageUrl, page_identity};
use varve_core::{BodyId, CheckId, ManifestDigest, Moment, RecordId, RunId, VersionId};

/// The state of a catalog.
#[derive(Clone, Default)]
pub struct MemoryModel {
    /// In the order of writing.
    versions: Vec<Version>,
    /// In the order of writing.
    captures: Vec<Capture>,
    /// In the order of writing.
    absences: Vec<PageAbsence>,
    /// The version that named a run first.
    claims: BTreeMap<RunId, VersionId>,
    runs: Vec<RunId>,
    tags: BTreeMap<String, VersionTag>,
    head: Option<VersionId>,
    scanned_up_to: Option<u64>,
    last_gc: Option<Moment>,
    diffs: BTreeMap<(Option<VersionId>, VersionId), StoredDiff>,
    scores: Vec<StoredScore>,
    checks: BTreeMap<(Moment, CheckId), StoredCheck>,
    verdicts: BTreeMap<(String, Moment), StoredVerdict>,
    /// By canonical URL.
    extractions: BTreeMap<String, StoredExtraction>,
    /// The pages that requested URLs lead to.
    requests: BTreeMap<String, (KeyedUrl, KeyedUrl)>,
    domain_settings: BTreeMap<String, StoredDomainSettings>,
    log_leaves: BTreeMap<u64, ManifestDigest>,
    log_checkpoints: BTreeMap<u64, CheckpointSigned>,
    /// By size and answer.
    log_timestamps: BTreeMap<(u64, String), CheckpointTimestamped>,
    /// By the records of their tombstones, with the versions that a tombstone of a page applies to.
    removals: BTreeMap<RecordId, (Removal, BTreeSet<VersionId>)>,
}

impl MemoryModel {
    /// Applies rows, which must be valid.
    pub fn apply(&mut self, rows: &[CatalogRow]) {
        for row in rows {
            self.keep(row.clone());
        }
    }

    /// Whether a version exists.
    pub fn has(&self, id: &VersionId) -> bool {
        self.versions.iter().any(|version| version.id == *id)
    }

    fn keep(&mut self, row: CatalogRow) {
        match row {
            CatalogRow::Version(version) => self.version(version),
            CatalogRow::Capture(capture) => self.capture(*capture),
            CatalogRow::Absence(absence) => self.absence(*absence),
            CatalogRow::Tag { name, version: Some(version), time } => {
                self.tags.insert(name.clone(), VersionTag { name, version, time });
            }
            CatalogRow::Tag { name, .. } => _ = self.tags.remove(&name),
            CatalogRow::Head(head) => self.head = Some(head),
            CatalogRow::Diff(diff) => _ = self.diffs.insert((diff.base, diff.head), diff),
            CatalogRow::Score(score) => {
                let key = |score: &StoredScore| (score.version, score.scoring_version.clone());
                self.scores.retain(|other| key(other) != key(&score));
                self.scores.push(*score);
            }
            CatalogRow::Check(check) => {
                self.checks.retain(|_, other| other.id != check.id);
                self.checks.insert((check.time, check.id), *check);
            }
            CatalogRow::Verdict(verdict) => {
                self.verdicts.insert((verdict.url.clone(), verdict.time), verdict);
            }
            CatalogRow::Extraction(extraction) => {
                let StoredExtraction { page, requested, .. } = (*extraction).clone();
                self.requests.insert(requested.url.clone(), (requested, page));
                self.extractions.insert(extraction.page.url.clone(), *extraction);
            }
            CatalogRow::ForgetExtraction(page) => {
                self.requests.retain(|_, (_, target)| *target != page);
                self.extractions.remove(&page.url);
            }
            CatalogRow::DomainSettings(settings) => {
                self.domain_settings.insert(settings.domain.clone(), *settings);
            }
            CatalogRow::ForgetDomainSettings(domain) => _ = self.domain_settings.remove(&domain),
            CatalogRow::ForgetVersion(id) => self.forget_version(id),
            CatalogRow::ForgetDiffs(before) => self.diffs.retain(|_, diff| diff.time >= before),
            CatalogRow::LogLeaves(added) => {
                for (leaf, manifest) in (added.first..).zip(added.manifests) {
                    self.log_leaves.entry(leaf).or_insert(manifest);
                }
            }
            CatalogRow::LogCheckpoint(signed) => {
                _ = self.log_checkpoints.entry(signed.size).or_insert(*signed)
            }
            CatalogRow::LogTimestamp(stamped) => {
                let key = (stamped.size, stamped.answer.clone());
                self.log_timestamps.entry(key).or_insert(*stamped);
            }
            CatalogRow::Removal(removal) => self.removal(*removal),
            CatalogRow::ScannedUpTo(place) => self.scanned_up_to = Some(place),
            CatalogRow::GcDone(time) => self.last_gc = Some(time),
            CatalogRow::ForgetRun(run) => {
                self.captures.retain(|capture| capture.owner != CaptureOwner::Run(run));
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
                if capture.owner == CaptureOwner::Run(run) {
                    capture.owner = CaptureOwner::Version(version.id);
                }
            }
        }
        self.versions.push(version);
    }

    fn capture(&mut self, mut capture: Capture) {
        if self.captures.iter().any(|other| other.id == capture.id) {
            return;
        }
        if let CaptureOwner::Run(run) = capture.owner {
            match self.claims.get(&run) {
                Some(version) => capture.owner = CaptureOwner::Version(*version),
                None if !self.runs.contains(&run) => self.runs.push(run),
                None => {}
            }
        }
        self.captures.push(capture);
    }

    fn absence(&mut self, absence: PageAbsence) {
        let key = |absence: &PageAbsence| (absence.version, absence.url.clone(), absence.path.clone());
        if !self.absences.iter().any(|other| key(other) == key(&absence)) {
            self.absences.push(absence);
        }
    }

    fn removal(&mut self, removal: Removal) {
        if self.removals.contains_key(&removal.tombstone_record) {
            return;
        }
        let mut versions = BTreeSet::new();
        if let Some(url) = removal.tombstone.page() {
            versions.extend(self.versions.iter().map(|version| version.id));
            for capture in &mut self.captures {
                if capture.url == url && capture.record == Some(removal.tombstone.record) {
                    capture.headers = HeaderView::default();
                }
            }
        }
        self.removals.insert(removal.tombstone_record, (removal, versions));
    }

    /// The removals that a condition holds for, newest first.
    fn removals_where(&self, is_wanted: impl Fn(&Removal) -> bool) -> Vec<Removal> {
        let mut found: Vec<Removal> = self.removals.values().map(|(removal, _)| removal.clone()).collect();
        found.retain(is_wanted);
        found.sort_by_key(|removal| std::cmp::Reverse(removal.tombstone.time));
        found
    }

    fn forget_version(&mut self, id: VersionId) {
        let Some(place) = self.versions.iter().position(|version| version.id == id) else { return };
        let gone = self.versions.remove(place);
        for version in &mut self.versions {
            if version.parent == Some(id) {
                version.parent = gone.parent;
            }
        }
        self.captures.retain(|capture| capture.owner != CaptureOwner::Version(id));
        self.absences.retain(|absence| absence.version != id);
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
            self.captures.iter().filter(|capture| capture.owner == CaptureOwner::Version(version.id)).count();
        let tags = self.tags.values().filter(|tag| tag.version == version.id).map(|tag| tag.name.clone());
        let unchanged = version.coverage.as_ref().map_or(0, |coverage| coverage.unchanged);
        VersionInfo { version: version.clone(), captures: captures as u64 + unchanged, tags: tags.collect() }
    }

    /// A version and its ancestors, newest first. A removed version is passed over.
    fn ancestors(&self, version: &VersionId) -> Vec<VersionId> {
        let mut ancestors = Vec::new();
        let mut next = Some(*version).filter(|version| self.has(version));
        while let Some(id) = next {
            let parent = match self.versions.iter().find(|version| version.id == id) {
                Some(version) => {
                    ancestors.push(id);
                    version.parent
                }
                None => {
                    let removals = self.removals.values().map(|(removal, _)| &removal.tombstone);
                    removals
                        .filter(|tombstone| tombstone.version == Some(id))
                        .find_map(|tombstone| tombstone.parent)
                }
            };
            next = parent;
        }
        ancestors
    }

    /// All events of a version and its ancestors, newest first.
    fn events(&self, version: &VersionId) -> Vec<ModelEvent<'_>> {
        let ancestors = self.ancestors(version);
        let depth = |owner: CaptureOwner| match owner {
            CaptureOwner::Version(version) => ancestors.iter().position(|ancestor| *ancestor == version),
            CaptureOwner::Run(_) => None,
        };
        let captures = self.captures.iter().enumerate().filter_map(|(number, capture)| {
            Some((depth(capture.owner)?, ModelEvent::Capture(number, capture)))
        });
        let absences = self.absences.iter().filter_map(|absence| {
            Some((depth(CaptureOwner::Version(absence.version))?, ModelEvent::Absence(absence)))
        });
        let mut events: Vec<(usize, ModelEvent<'_>)> = captures.chain(absences).collect();
        events.sort_by_key(|(depth, event)| (*depth, std::cmp::Reverse(event.order())));
        events.into_iter().map(|(_, event)| event).collect()
    }

    /// The state of a version, by path and URL.
    fn state(&self, version: &VersionId) -> Vec<PageState> {
        let mut pages: BTreeMap<(String, String), Vec<ModelEvent<'_>>> = BTreeMap::new();
        for event in self.events(version) {
            pages.entry((page_name(event.url()), event.path().to_owned())).or_default().push(event);
        }
        let mut states: Vec<PageState> =
            pages.into_values().filter_map(|events| self.page_state(events)).collect();
        states.sort_by(|one, other| (&one.path, &one.url).cmp(&(&other.path, &other.url)));
        states
    }

    /// The state of a page with these events, newest first.
    fn page_state(&self, events: Vec<ModelEvent<'_>>) -> Option<PageState> {
        let is_failure = |event: &ModelEvent<'_>| matches!(event.says(), Presence::Unreachable { .. });
        let behind_failures = events.iter().find(|event| !is_failure(event));
        let decides = match behind_failures {
            Some(event) if event.says() == Presence::Gone => event,
            _ => events.first()?,
        };
        let page = events.iter().find(|event| event.says() == Presence::Present);
        let capture = page.and_then(ModelEvent::capture);
        let names = page.unwrap_or(decides);
        Some(PageState {
            url: names.url().to_owned(),
            path: names.path().to_owned(),
            presence: decides.says(),
            said_by: decides.version(),
            evidence: decides
                .capture()
                .filter(|evidence| Some(&evidence.id) != capture.as_ref().map(|it| &it.id)),
            is_hidden: capture
                .as_ref()
                .is_some_and(|it| self.removal_of_page(it).is_ok_and(|it| it.is_some())),
            capture,
        })
    }

    fn holds(&self, id: VersionId, url: &str) -> bool {
        self.captures.iter().any(|capture| capture.owner == CaptureOwner::Version(id) && capture.url == url)
    }
}

/// What a version says about a page.
#[derive(Clone, Copy)]
enum ModelEvent<'a> {
    /// A capture, with its place in the order of writing.
    Capture(usize, &'a Capture),
    Absence(&'a PageAbsence),
}

impl ModelEvent<'_> {
    fn url(&self) -> &str {
        match self {
            Self::Capture(_, capture) => &capture.url,
            Self::Absence(absence) => &absence.url,
        }
    }

    fn path(&self) -> &str {
        match self {
            Self::Capture(_, capture) => &capture.path,
            Self::Absence(absence) => &absence.path,
        }
    }

    fn says(&self) -> Presence {
        match self {
            Self::Capture(_, capture) => Presence::of_status(capture.status),
            Self::Absence(absence) => absence.kind.clone().into(),
        }
    }

    fn version(&self) -> VersionId {
        match self {
            Self::Capture(_, Capture { owner: CaptureOwner::Version(version), .. }) => *version,
            Self::Capture(_, capture) => panic!("{capture:?} belongs to no version"),
            Self::Absence(absence) => absence.version,
        }
    }

    fn capture(&self) -> Option<Capture> {
        match self {
            Self::Capture(_, capture) => Some((*capture).clone()),
            Self::Absence(_) => None,
        }
    }

    /// The order within a version: a later event is greater.
    fn order(&self) -> (Moment, Option<usize>, String) {
        match self {
            Self::Capture(number, capture) => (capture.time, Some(*number), String::new()),
            Self::Absence(absence) => (absence.time, None, absence.url.clone()),
        }
    }
}

/// The text that all spellings of a URL share.
fn page_name(url: &str) -> String {
    page_identity(url).unwrap_or_else(|| url.to_owned())
}

fn contains(text: Option<&str>, wanted: &Option<String>) -> bool {
    wanted
        .as_ref()
        .is_none_or(|wanted| text.is_some_and(|text| text.to_lowercase().contains(&wanted.to_lowercase())))
}

fn after_cursor<T>(list: Vec<T>, after: impl FnOnce(&[T]) -> Option<usize>, limit: usize) -> Vec<T> {
    let skip = after(&list).map_or(0, |place| place + 1);
    list.into_iter().skip(skip).take(limit).collect()
}

impl SealedLogRead for MemoryModel {
    fn log_size(&self) -> CatalogResult<u64> {
        Ok(self.log_leaves.last_key_value().map_or(0, |(last, _)| last + 1))
    }

    fn log_leaves(&self, first: u64, limit: usize) -> CatalogResult<Vec<(u64, ManifestDigest)>> {
        Ok(self.log_leaves.range(first..).take(limit).map(|(leaf, manifest)| (*leaf, *manifest)).collect())
    }

    fn leaf_of_version(&self, version: &VersionId) -> CatalogResult<Option<u64>> {
        let mut leaves = self.log_leaves.iter();
        Ok(leaves.find(|(_, manifest)| manifest.version() == *version).map(|(leaf, _)| *leaf))
    }

    fn versions_without_leaf(&self, limit: usize) -> CatalogResult<Vec<VersionId>> {
        let ids = self.versions.iter().map(|version| version.id);
        Ok(ids.filter(|id| self.leaf_of_version(id).is_ok_and(|leaf| leaf.is_none())).take(limit).collect())
    }

    fn versions_by_writing(&self, cursor: ListCursor<VersionId>) -> CatalogResult<Vec<VersionId>> {
        let ids: Vec<VersionId> = self.versions.iter().map(|version| version.id).collect();
        let after = cursor.after.and_then(|after| ids.iter().position(|id| *id == after));
        Ok(ids.into_iter().skip(after.map_or(0, |at| at + 1)).take(cursor.limit).collect())
    }

    fn log_checkpoints(&self, cursor: ListCursor<u64>) -> CatalogResult<Vec<CheckpointSigned>> {
        let later = self.log_checkpoints.values().filter(|one| Some(one.size) > cursor.after);
        Ok(later.take(cursor.limit).cloned().collect())
    }

    fn last_log_checkpoint(&self) -> CatalogResult<Option<CheckpointSigned>> {
        Ok(self.log_checkpoints.last_key_value().map(|(_, last)| last.clone()))
    }

    fn log_timestamps(&self, size: u64) -> CatalogResult<Vec<CheckpointTimestamped>> {
        Ok(self.log_timestamps.values().filter(|one| one.size == size).cloned().collect())
    }
}

impl CatalogRead for MemoryModel {
    fn version(&self, id: &VersionId) -> CatalogResult<Option<VersionInfo>> {
        Ok(self.versions.iter().find(|version| version.id == *id).map(|version| self.info(version)))
    }

    fn versions_beginning(&self, prefix: &str, limit: usize) -> CatalogResult<Vec<VersionId>> {
        let plain = |text: &str| text.replace('-', "").to_lowercase();
        let mut ids: Vec<_> = self.versions.iter().map(|version| version.id).collect();
        ids.retain(|id| plain(&id.to_string()).starts_with(&plain(prefix)));
        ids.sort();
        ids.truncate(limit);
        Ok(ids)
    }

    fn versions(
        &self,
        filter: &VersionFilter,
        cursor: ListCursor<VersionId>,
    ) -> CatalogResult<Vec<VersionInfo>> {
        let mut list: Vec<_> = self.versions.iter().rev().map(|version| self.info(version)).collect();
        list.sort_by_key(|info| std::cmp::Reverse(info.version.time));
        let list = after_cursor(
            list,
            |list| cursor.after.and_then(|after| list.iter().position(|info| info.version.id == after)),
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
            .take(cursor.limit)
            .collect())
    }

    fn count_versions(&self, limit: u64) -> CatalogResult<u64> {
        Ok(limit.min(self.versions.len() as u64))
    }

    fn children(&self, id: &VersionId) -> CatalogResult<Vec<VersionId>> {
        Ok(self
            .versions
            .iter()
            .filter(|version| version.parent == Some(*id))
            .map(|version| version.id)
            .collect())
    }

    fn captures_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<Capture>> {
        let mut list: Vec<_> = self
            .captures
            .iter()
            .filter(|capture| capture.owner == CaptureOwner::Version(*version))
            .filter(|capture| cursor.after.is_none_or(|after| (&*capture.path, &*capture.url) > after))
            .cloned()
            .collect();
        list.sort_by(|a, b| (&a.path, &a.url, a.time).cmp(&(&b.path, &b.url, b.time)));
        let together = |place: usize| {
            place > 0
                && (&list[place].path, &list[place].url) == (&list[place - 1].path, &list[place - 1].url)
        };
        let end = (cursor.limit..list.len()).find(|&place| !together(place)).unwrap_or(list.len());
        list.truncate(end);
        Ok(list)
    }

    fn captures_at_path(&self, version: &VersionId, path: &str) -> CatalogResult<Vec<Capture>> {
        let mut list = self.captures_in(version, ListCursor::first(usize::MAX))?;
        list.retain(|capture| capture.path == path);
        Ok(list)
    }

    fn absences_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<PageAbsence>> {
        let mut found: Vec<PageAbsence> =
            self.absences.iter().filter(|absence| absence.version == *version).cloned().collect();
        found.retain(|absence| cursor.after.is_none_or(|after| (&*absence.path, &*absence.url) > after));
        found.sort_by(|one, other| (&one.path, &one.url).cmp(&(&other.path, &other.url)));
        found.truncate(cursor.limit);
        Ok(found)
    }

    fn state_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> CatalogResult<Vec<PageState>> {
        let mut states = self.state(version);
        states.retain(|state| cursor.after.is_none_or(|(path, _)| state.path.as_str() > path));
        let ends_path = |place: usize| states[place].path != states[place - 1].path;
        let end = (cursor.limit.max(1)..states.len()).find(|place| ends_path(*place));
        states.truncate(end.unwrap_or(states.len()));
        Ok(states)
    }

    fn states_at(&self, version: &VersionId, paths: &[&str]) -> CatalogResult<Vec<PageState>> {
        let state = self.state(version);
        let at = |path: &&str| state.iter().filter(|page| page.path == *path).cloned().collect::<Vec<_>>();
        Ok(paths.iter().flat_map(at).collect())
    }

    fn states_of(
        &self,
        version: &VersionId,
        urls: &[&str],
        matching: UrlMatch,
    ) -> CatalogResult<Vec<Option<PageState>>> {
        let find = |url: &&str| {
            let is_wanted = |event: &ModelEvent<'_>| match matching {
                UrlMatch::Exact => event.url() == *url,
                UrlMatch::SamePage => page_name(event.url()) == page_name(url),
            };
            self.page_state(self.events(version).into_iter().filter(is_wanted).collect())
        };
        Ok(urls.iter().map(find).collect())
    }

    fn state_counts(&self, version: &VersionId) -> CatalogResult<StateCounts> {
        let mut counts = StateCounts::default();
        let captured = self.state(version).into_iter().filter(|page| page.capture.is_some());
        captured.for_each(|page| counts.add(&page.presence));
        Ok(counts)
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
        let is_one = |capture: &&Capture| urls.contains(&capture.url.as_str());
        let mut list: Vec<_> = self.captures.iter().filter(is_one).cloned().collect();
        list.sort_by_key(|capture| capture.time);
        if order == TimeOrder::NewestFirst {
            list.reverse();
        }
        let list = after_cursor(
            list,
            |list| cursor.after.and_then(|after| list.iter().position(|capture| capture.id == after.id)),
            usize::MAX,
        );
        let wanted = |capture: &Capture| {
            filter.since.is_none_or(|since| capture.time >= since)
                && filter.until.is_none_or(|until| capture.time <= until)
                && !(filter.committed_only && matches!(capture.owner, CaptureOwner::Run(_)))
        };
        Ok(list.into_iter().filter(wanted).take(cursor.limit).collect())
    }

    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> CatalogResult<Vec<Capture>> {
        let mut list = self.captures_in(version, ListCursor::first(usize::MAX))?;
        list.retain(|capture| urls.contains(&capture.url.as_str()));
        list.sort_by_key(|capture| capture.time);
        Ok(list)
    }

    fn spellings_of(&self, url: &str) -> CatalogResult<Vec<String>> {
        let page = PageUrl::parse(url);
        let absent = self.absences.iter().map(|absence| &absence.url);
        let urls: BTreeSet<_> = self.captures.iter().map(|capture| &capture.url).chain(absent).collect();
        let is_same = |other: &&&String| ***other == url || page.is_some() && PageUrl::parse(other) == page;
        Ok(urls.iter().filter(is_same).map(|url| (*url).clone()).collect())
    }

    fn urls(&self, prefix: &str, cursor: ListCursor<&str>) -> CatalogResult<Vec<String>> {
        let urls: BTreeSet<_> = self.captures.iter().map(|capture| &capture.url).collect();
        Ok(urls
            .into_iter()
            .filter(|url| url.starts_with(prefix) && cursor.after.is_none_or(|after| url.as_str() > after))
            .take(cursor.limit)
            .cloned()
            .collect())
    }

    fn tags(&self) -> CatalogResult<Vec<VersionTag>> {
        Ok(self.tags.values().cloned().collect())
    }

    fn tag(&self, name: &str) -> CatalogResult<Option<VersionTag>> {
        Ok(self.tags.get(name).cloned())
    }

    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> CatalogResult<Option<StoredDiff>> {
        Ok(self.diffs.get(&(base.copied(), *head)).cloned())
    }

    fn diffs_with(&self, version: &VersionId) -> CatalogResult<Vec<StoredDiffInfo>> {
        let info = |diff: &StoredDiff| StoredDiffInfo { base: diff.base, head: diff.head, time: diff.time };
        let of = |diff: &StoredDiffInfo| diff.base == Some(*version) || diff.head == *version;
        let mut found: Vec<_> = self.diffs.values().map(info).filter(of).collect();
        found.sort();
        Ok(found)
    }

    fn diffs_before(&self, before: Moment) -> CatalogResult<u64> {
        Ok(self.diffs.values().filter(|diff| diff.time < before).count() as u64)
    }

    fn scores(&self, version: &VersionId) -> CatalogResult<Vec<StoredScore>> {
        let mut scores: Vec<_> =
            self.scores.iter().rev().filter(|score| score.version == *version).cloned().collect();
        scores.sort_by_key(|score| std::cmp::Reverse(score.time));
        Ok(scores)
    }

    fn checks(&self, cursor: ListCursor<CheckId>) -> CatalogResult<Vec<StoredCheck>> {
        let newest_first = self.checks.values().rev();
        let after = newest_first.skip_while(|check| cursor.after.is_some_and(|after| after != check.id));
        Ok(after.skip(usize::from(cursor.after.is_some())).take(cursor.limit).cloned().collect())
    }

    fn check(&self, id: &CheckId) -> CatalogResult<Option<StoredCheck>> {
        Ok(self.checks.values().find(|check| check.id == *id).cloned())
    }

    fn checks_beginning(&self, prefix: &str, limit: usize) -> CatalogResult<Vec<CheckId>> {
        let plain = |id: &str| id.replace('-', "").to_lowercase();
        let mut found: Vec<CheckId> = self.checks.values().map(|check| check.id).collect();
        found.retain(|id| plain(&id.to_string()).starts_with(&plain(prefix)));
        found.sort_unstable();
        found.truncate(limit);
        Ok(found)
    }

    fn verdicts_of(&self, url: &str, limit: usize) -> CatalogResult<Vec<StoredVerdict>> {
        let of_url = self.verdicts.values().rev().filter(|verdict| verdict.url == url);
        Ok(of_url.take(limit).cloned().collect())
    }

    fn last_verdicts(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredVerdict>> {
        let last: BTreeMap<_, _> = self.verdicts.values().map(|verdict| (&verdict.url, verdict)).collect();
        Ok(last
            .into_values()
            .filter(|verdict| cursor.after.is_none_or(|after| verdict.url.as_str() > after))
            .take(cursor.limit)
            .cloned()
            .collect())
    }

    fn open_runs(&self) -> CatalogResult<Vec<RunId>> {
        Ok(self.runs.clone())
    }

    fn captures_of_run(&self, run: &RunId) -> CatalogResult<u64> {
        let owner =
            self.claims.get(run).map_or(CaptureOwner::Run(*run), |version| CaptureOwner::Version(*version));
        Ok(self.captures.iter().filter(|capture| capture.owner == owner).count() as u64)
    }

    fn each_record_of_run(&self, run: &RunId, each: &mut dyn FnMut(RecordId)) -> CatalogResult<()> {
        let owner =
            self.claims.get(run).map_or(CaptureOwner::Run(*run), |version| CaptureOwner::Version(*version));
        let captures = self.captures.iter().filter(|capture| capture.owner == owner);
        captures.filter_map(|capture| capture.record).for_each(each);
        Ok(())
    }

    fn version_of_run(&self, run: &RunId) -> CatalogResult<Option<VersionId>> {
        Ok(self.claims.get(run).copied())
    }

    fn extraction(&self, requested: &KeyedUrl) -> CatalogResult<Option<StoredExtraction>> {
        let mapped = self.requests.get(&requested.url).map(|(_, page)| &page.url);
        let mapped = mapped.and_then(|page| self.extractions.get(page));
        Ok(mapped.or_else(|| self.extractions.get(&requested.url)).cloned())
    }

    fn extractions(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredExtraction>> {
        let later = self.extractions.iter().filter(|(url, _)| Some(url.as_str()) > cursor.after);
        Ok(later.map(|(_, extraction)| extraction.clone()).take(cursor.limit).collect())
    }

    fn requests_of(&self, page: &KeyedUrl) -> CatalogResult<Vec<KeyedUrl>> {
        let leading = self.requests.values().filter(|(_, target)| target == page);
        Ok(leading.map(|(requested, _)| requested.clone()).collect())
    }

    fn domain_settings(&self, domain: &str) -> CatalogResult<Option<StoredDomainSettings>> {
        Ok(self.domain_settings.get(domain).cloned())
    }

    fn all_domain_settings(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<StoredDomainSettings>> {
        let later = self.domain_settings.iter().filter(|(domain, _)| Some(domain.as_str()) > cursor.after);
        Ok(later.map(|(_, settings)| settings.clone()).take(cursor.limit).collect())
    }

    fn removals_of(&self, record: &RecordId) -> CatalogResult<Vec<Removal>> {
        Ok(self.removals_where(|removal| removal.tombstone.record == *record))
    }

    fn removal_of_page(&self, capture: &Capture) -> CatalogResult<Option<Removal>> {
        let CaptureOwner::Version(version) = capture.owner else { return Ok(None) };
        let hides = |removal: &Removal| {
            removal.tombstone.page() == Some(&capture.url)
                && Some(removal.tombstone.record) == capture.record
                && self.removals[&removal.tombstone_record].1.contains(&version)
        };
        Ok(self.removals_where(hides).into_iter().next())
    }

    fn removals_at(&self, url: &str, limit: usize) -> CatalogResult<Vec<Removal>> {
        let mut found = self.removals_where(|removal| removal.url_of_capture() == Some(url));
        found.truncate(limit);
        Ok(found)
    }

    fn removals(&self, cursor: ListCursor<RecordId>) -> CatalogResult<Vec<Removal>> {
        let later = self.removals.iter().filter(|(record, _)| Some(**record) > cursor.after);
        Ok(later.map(|(_, (removal, _))| removal.clone()).take(cursor.limit).collect())
    }

    fn head(&self) -> CatalogResult<Option<VersionId>> {
        Ok(self.head)
    }

    fn scanned_up_to(&self) -> CatalogResult<Option<u64>> {
        Ok(self.scanned_up_to)
    }

    fn last_gc(&self) -> CatalogResult<Option<Moment>> {
        Ok(self.last_gc)
    }

    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> CatalogResult<()>) -> CatalogResult<()> {
        self.captures.iter().try_for_each(|capture| each(capture.body))
    }
}

/// A catalog in memory. Clones share their rows.
#[derive(Clone, Default)]
pub struct MemoryCatalog {
    model: Arc<Mutex<MemoryModel>>,
}

impl MemoryCatalog {
    fn model(&self) -> MutexGuard<'_, MemoryModel> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails if a row refers to a version that does not exist.
fn check_versions(model: &MemoryModel, rows: &[CatalogRow]) -> CatalogResult<()> {
    for row in rows {
        let versions: Vec<VersionId> = match row {
            CatalogRow::Diff(diff) => diff.base.into_iter().chain([diff.head]).collect(),
            CatalogRow::Score(score) => vec![score.version],
            CatalogRow::Absence(absence) => vec![absence.version],
            CatalogRow::Capture(capture) => match capture.owner {
                CaptureOwner::Version(version) => vec![version],
                CaptureOwner::Run(_) => Vec::new(),
            },
            _ => Vec::new(),
        };
        if let Some(missing) = versions.into_iter().find(|version| !model.has(version)) {
            return Err(CatalogError::NoVersion(missing));
        }
    }
    Ok(())
}

impl Catalog for MemoryCatalog {
    fn apply(&self, rows: &mut dyn Iterator<Item = CatalogRow>) -> CatalogResult<()> {
        let rows: Vec<CatalogRow> = rows.collect();
        let mut next = self.model().clone();
        let mut ever = next.clone();
        // A row may refer to a version that a later row of the batch brings or removes.
        ever.apply(
            &rows.iter().filter(|row| matches!(row, CatalogRow::Version(_))).cloned().collect::<Vec<_>>(),
        );
        check_versions(&ever, &rows)?;
        next.apply(&rows);
        *self.model() = next;
        Ok(())
    }

    fn apply_leniently(
        &self,
        rows: &mut dyn Iterator<Item = CatalogRow>,
        left_out: &mut dyn FnMut(CatalogRow),
    ) -> CatalogResult<()> {
        let mut versions = self.model().clone();
        let mut kept = Vec::new();
        for row in rows {
            let version = match &row {
                CatalogRow::Score(score) => Some(score.version),
                CatalogRow::Head(version) => Some(*version),
                _ => None,
            };
            match version {
                Some(version) if !versions.has(&version) => left_out(row),
                _ => {
                    versions.apply(std::slice::from_ref(&row));
                    kept.push(row);
                }
            }
        }
        self.apply(&mut kept.into_iter())
    }

    fn exclusively(&self, work: &mut dyn FnMut()) -> CatalogResult<()> {
        work();
        Ok(())
    }

    fn as_read(&self) -> &dyn CatalogRead {
        self
    }
}

/// Forwards the methods of a catalog in memory to its model.
macro_rules! forward_to_model {
    ($seam:ident: $(fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $answer:ty;)*) => {
        impl $seam for MemoryCatalog {
            $(fn $name(&self $(, $arg: $type)*) -> CatalogResult<$answer> {
                self.model().$name($($arg),*)
            })*
        }
    };
}

forward_to_model! {
    SealedLogRead:
    fn log_size(&self) -> u64;
    fn log_leaves(&self, first: u64, limit: usize) -> Vec<(u64, ManifestDigest)>;
    fn leaf_of_version(&self, version: &VersionId) -> Option<u64>;
    fn versions_without_leaf(&self, limit: usize) -> Vec<VersionId>;
    fn versions_by_writing(&self, cursor: ListCursor<VersionId>) -> Vec<VersionId>;
    fn log_checkpoints(&self, cursor: ListCursor<u64>) -> Vec<CheckpointSigned>;
    fn last_log_checkpoint(&self) -> Option<CheckpointSigned>;
    fn log_timestamps(&self, size: u64) -> Vec<CheckpointTimestamped>;
}

forward_to_model! {
    CatalogRead:
    fn version(&self, id: &VersionId) -> Option<VersionInfo>;
    fn versions_beginning(&self, prefix: &str, limit: usize) -> Vec<VersionId>;
    fn versions(&self, filter: &VersionFilter, cursor: ListCursor<VersionId>) -> Vec<VersionInfo>;
    fn count_versions(&self, limit: u64) -> u64;
    fn children(&self, id: &VersionId) -> Vec<VersionId>;
    fn captures_in(&self, version: &VersionId, cursor: ListCursor<(&str, &str)>) -> Vec<Capture>;
    fn captures_at_path(&self, version: &VersionId, path: &str) -> Vec<Capture>;
    fn absences_in(&self, version: &VersionId, cursor: ListCursor<(&str, &str)>) -> Vec<PageAbsence>;
    fn state_in(&self, version: &VersionId, cursor: ListCursor<(&str, &str)>) -> Vec<PageState>;
    fn states_at(&self, version: &VersionId, paths: &[&str]) -> Vec<PageState>;
    fn states_of(&self, version: &VersionId, urls: &[&str], matching: UrlMatch) -> Vec<Option<PageState>>;
    fn state_counts(&self, version: &VersionId) -> StateCounts;
    fn captures_of(&self, url: &str, filter: &CaptureFilter, order: TimeOrder, cursor: ListCursor<&Capture>) -> Vec<Capture>;
    fn captures_of_any(&self, urls: &[&str], filter: &CaptureFilter, order: TimeOrder, cursor: ListCursor<&Capture>) -> Vec<Capture>;
    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Vec<Capture>;
    fn spellings_of(&self, url: &str) -> Vec<String>;
    fn urls(&self, prefix: &str, cursor: ListCursor<&str>) -> Vec<String>;
    fn tags(&self) -> Vec<VersionTag>;
    fn tag(&self, name: &str) -> Option<VersionTag>;
    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Option<StoredDiff>;
    fn diffs_with(&self, version: &VersionId) -> Vec<StoredDiffInfo>;
    fn diffs_before(&self, before: Moment) -> u64;
    fn scores(&self, version: &VersionId) -> Vec<StoredScore>;
    fn checks(&self, cursor: ListCursor<CheckId>) -> Vec<StoredCheck>;
    fn check(&self, id: &CheckId) -> Option<StoredCheck>;
    fn checks_beginning(&self, prefix: &str, limit: usize) -> Vec<CheckId>;
    fn verdicts_of(&self, url: &str, limit: usize) -> Vec<StoredVerdict>;
    fn last_verdicts(&self, cursor: ListCursor<&str>) -> Vec<StoredVerdict>;
    fn open_runs(&self) -> Vec<RunId>;
    fn captures_of_run(&self, run: &RunId) -> u64;
    fn each_record_of_run(&self, run: &RunId, each: &mut dyn FnMut(RecordId)) -> ();
    fn version_of_run(&self, run: &RunId) -> Option<VersionId>;
    fn extraction(&self, requested: &KeyedUrl) -> Option<StoredExtraction>;
    fn extractions(&self, cursor: ListCursor<&str>) -> Vec<StoredExtraction>;
    fn requests_of(&self, page: &KeyedUrl) -> Vec<KeyedUrl>;
    fn domain_settings(&self, domain: &str) -> Option<StoredDomainSettings>;
    fn all_domain_settings(&self, cursor: ListCursor<&str>) -> Vec<StoredDomainSettings>;
    fn removals_of(&self, record: &RecordId) -> Vec<Removal>;
    fn removal_of_page(&self, capture: &Capture) -> Option<Removal>;
    fn are_removed_pages(&self, captures: &[&Capture]) -> Vec<bool>;
    fn removals_at(&self, url: &str, limit: usize) -> Vec<Removal>;
    fn removals(&self, cursor: ListCursor<RecordId>) -> Vec<Removal>;
    fn head(&self) -> Option<VersionId>;
    fn scanned_up_to(&self) -> Option<u64>;
    fn last_gc(&self) -> Option<Moment>;
    fn each_body(&self, each: &mut dyn FnMut(BodyId) -> CatalogResult<()>) -> ();
}
