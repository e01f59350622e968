//! `gc`: removes versions, diffs and bodies that the retention policy does not keep. It computes a
//! list of actions, shows it, and then performs it.
//!
//! Versions that no rule keeps are removed, and their children get the nearest kept ancestor as
//! parent. HEAD and tagged versions always stay. Old diffs are pruned. Then unreferenced bodies are
//! swept.
//!
//! Diffs with new parents are made first, and rows are deleted before bodies. An interruption
//! therefore leaves too much, never too little, and the next call does the rest. The time of the
//! run is recorded last, so an interrupted run does not count as done.
//!
//! In a varve archive nothing is removed from a silo by `gc`. Only diffs are pruned, and as in a
//! site only those older than the retention period.

mod diffs;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use varve_catalog::{CatalogError, CatalogRow};
use varve_core::history::{ListCursor, StoredDiff, VersionFilter, VersionInfo};
use varve_core::{BodyId, Moment, VersionId};

use self::diffs::Going;
use crate::error::ArchiveError;
use varve_repository::RepositoryError;
use varve_repository::history::{
    CapturePairs, HistoryReader, HistoryWriter, LooseBodyView, MokuHistoryReader, MokuHistoryWriter,
    VersionPages, whole_stored_diff,
};

pub use varve_store::body::LooseFile;

/// Number of versions read per query.
const VERSIONS_PER_QUERY: usize = 500;
/// Number of versions removed per transaction, which bounds how long other writers wait for the
/// database.
const DIFFS_PER_BATCH: usize = 50;
/// Number of bodies removed under one exclusive lock.
const SWEPT_TOGETHER: usize = 2000;

/// The retention rules. Without any rule about versions, all versions are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Keep this many of the newest versions.
    pub keep_last: Option<u64>,
    /// Keep the versions with these tags.
    pub keep_tags: Vec<String>,
    /// Keep versions younger than this, and diffs unless `keep_diffs_within` is set.
    pub keep_within: Option<Duration>,
    /// Keep diffs younger than this, regardless of the age of versions.
    pub keep_diffs_within: Option<Duration>,
    /// Accept that lost rows cannot be recovered, and remove the bodies that only they referenced.
    pub accept_lost: bool,
}

/// One step of a garbage collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GcAction {
    /// Gives up a version whose rows are lost. Its children then have no parent.
    AcceptLost {
        /// The version.
        version: VersionId,
        /// One of its children, if it has any.
        child: Option<VersionId>,
    },
    /// Makes the diff of a version with its new parent, replacing the diff with the parent that is
    /// removed.
    MakeDiff {
        /// The new parent.
        base: VersionId,
        /// The version.
        head: VersionId,
    },
    /// Removes a version with its captures, diffs and scores.
    ForgetVersion {
        /// The version.
        info: Box<VersionInfo>,
        /// Number of diffs removed with it. A diff between two removed versions is counted with the
        /// newer one.
        diffs: u64,
    },
    /// Removes diffs computed before an instant. They can be computed again.
    PruneDiffs {
        /// The instant.
        before: Moment,
        /// Number of diffs.
        count: u64,
    },
    /// Removes a body that nothing will reference.
    RemoveBody(LooseFile),
}

/// The planned actions, and counts of what is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcActions {
    /// The actions, in the order in which they are performed.
    pub list: Vec<GcAction>,
    /// Number of versions kept.
    pub kept: u64,
    /// Number of unreferenced bodies that are kept because a writer may be about to reference them.
    pub young: u64,
    /// Bodies are in silos, from which this verb removes nothing.
    pub in_silos: bool,
    /// The version that HEAD named and that has no rows, if the policy accepts lost rows.
    pub lost: Option<VersionId>,
}

/// The last garbage collection was too recent to run another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSoon {
    /// When the last one was done.
    pub done: Moment,
    /// The earliest time for the next one.
    pub again: Moment,
}

/// Reports whether the last garbage collection was less than `every` ago. A recorded time in the
/// future is ignored: the clock was ahead then, and that time may be far away.
pub fn too_soon(
    history: &HistoryReader,
    now: Moment,
    every: Duration,
) -> Result<Option<TooSoon>, ArchiveError> {
    let done = history.catalog().last_gc()?.filter(|done| *done <= now);
    let found = done.map(|done| TooSoon { done, again: after(done, every) });
    Ok(found.filter(|found| now < found.again))
}

/// Computes the actions; changes nothing.
pub fn plan(history: &HistoryWriter, policy: &RetentionPolicy) -> Result<GcActions, ArchiveError> {
    plan_to_show(history.as_reader(), history.now(), policy)
}

/// Computes the actions on a read-only archive: the result of [`plan`] if nothing changes until
/// then.
pub fn plan_to_show(
    history: &HistoryReader,
    now: Moment,
    policy: &RetentionPolicy,
) -> Result<GcActions, ArchiveError> {
    // Only a Moku site has loose bodies. From silos, only a purge removes any.
    let site = match history {
        HistoryReader::Moku(site) => Some(site),
        HistoryReader::Archive(_) | HistoryReader::Crystal(_) | HistoryReader::WebArchive(_) => None,
    };
    let cutoff = policy.keep_within.map(|within| before(now, within));
    let diff_cutoff = policy.keep_diffs_within.map(|within| before(now, within)).or(cutoff);
    let mut actions = GcActions { in_silos: site.is_none(), ..GcActions::default() };
    for tag in &policy.keep_tags {
        if history.catalog().tag(tag)?.is_none() {
            return Err(ArchiveError::NoTag(tag.clone()));
        }
    }
    let VersionSelection { kept, forgotten, lost_parents } = choose(history, policy, site.is_some(), cutoff)?;
    if let Some(site) = site {
        actions.lost = lost_head(site)?;
        let lost = actions.lost.map(|named| (named, None));
        let mut lost =
            lost.into_iter().chain(lost_parents.iter().map(|(named, child)| (*named, Some(*child))));
        if let Some((named, child)) = lost.next().filter(|_| !policy.accept_lost) {
            return Err(ArchiveError::LostRows { named, child });
        }
        let without_child = site.lost_versions()?;
        if let Some(version) = without_child.first().copied().filter(|_| !policy.accept_lost) {
            return Err(ArchiveError::LostVersion(version));
        }
        let lost_parents = lost_parents.into_iter().map(|(version, child)| (version, Some(child)));
        let all_lost = lost_parents.chain(without_child.into_iter().map(|version| (version, None)));
        actions.list.extend(all_lost.map(|(version, child)| GcAction::AcceptLost { version, child }));
    }
    actions.kept = kept.len() as u64;
    let forgotten_ids: Vec<VersionId> = forgotten.iter().map(|info| info.version.id).collect();
    let going = Going::find(history, &forgotten, diff_cutoff)?;
    actions.list.extend(going.made.iter().map(|&(base, head)| GcAction::MakeDiff { base, head }));
    let forget = |info: VersionInfo| GcAction::ForgetVersion {
        diffs: going.with(&info.version.id),
        info: info.into(),
    };
    actions.list.extend(forgotten.into_iter().map(forget));
    if let Some(before) = diff_cutoff {
        let count = history.catalog().diffs_before(before)?.saturating_sub(going.before(before));
        if count > 0 {
            actions.list.push(GcAction::PruneDiffs { before, count });
        }
    }
    if let Some(site) = site {
        let marked = marks(history, &kept, &forgotten_ids)?;
        let (unwanted, young) = unwanted(&site.loose(now), &marked)?;
        actions.young = young;
        actions.list.extend(unwanted.into_iter().map(GcAction::RemoveBody));
    }
    Ok(actions)
}

/// The version that HEAD names, or named before it was repaired, if it has no rows. Other versions
/// may have lost their rows too, and all their bodies would seem unreferenced.
fn lost_head(site: &MokuHistoryReader) -> Result<Option<VersionId>, ArchiveError> {
    for named in site.lost_head()?.into_iter().chain(site.repaired_head_target()?) {
        if site.catalog().version(&named)?.is_none() {
            return Ok(Some(named));
        }
    }
    Ok(None)
}

/// Bodies that were planned for removal and were kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct StayedBodies {
    /// Number of bodies.
    pub bodies: u64,
    /// Their total length in bytes.
    pub bytes: u64,
}

/// Deviations from the planned actions.
#[derive(Debug, Default)]
pub struct GcReport {
    /// Number of diffs not made because one of their bodies is damaged or missing. Such a diff does
    /// not stop the collection.
    pub unmade: u64,
    /// Bodies kept because another program now references them, or has the layout open and may be
    /// about to.
    pub stayed: StayedBodies,
    /// Why the database could not release the space of its deleted rows, if it could not: the disk
    /// was full, or another program was writing. The database is intact.
    pub kept_room: Option<RepositoryError>,
    /// Why the time of this run could not be recorded, if it could not. Everything else is done.
    pub undated: Option<RepositoryError>,
}

/// Performs the planned actions and records the time. Bodies that are referenced by now are kept.
pub fn perform(
    history: &HistoryWriter,
    actions: &GcActions,
    progress: &dyn Fn(u64),
) -> Result<GcReport, ArchiveError> {
    let done = clear(history, actions, progress)?;
    let undated = history.apply(vec![CatalogRow::GcDone(history.now())]).err();
    Ok(GcReport { undated, ..done })
}

fn clear(
    history: &HistoryWriter,
    actions: &GcActions,
    progress: &dyn Fn(u64),
) -> Result<GcReport, ArchiveError> {
    let unmade = make_diffs(history, &actions.list, progress)?;
    let row = |action: &GcAction| match action {
        GcAction::ForgetVersion { info, .. } => Some(CatalogRow::ForgetVersion(info.version.id)),
        GcAction::AcceptLost { version, .. } => Some(CatalogRow::ForgetVersion(*version)),
        GcAction::PruneDiffs { before, .. } => Some(CatalogRow::ForgetDiffs(*before)),
        GcAction::MakeDiff { .. } | GcAction::RemoveBody(_) => None,
    };
    let rows: Vec<CatalogRow> = actions.list.iter().filter_map(row).collect();
    for rows in rows.chunks(DIFFS_PER_BATCH) {
        history.apply(rows.to_vec())?;
        progress(rows.len() as u64);
    }
    let HistoryWriter::Moku(site) = history else {
        return Ok(GcReport { unmade, ..GcReport::default() });
    };
    let stayed = sweep(site, actions, progress)?;
    if actions.lost.is_some() {
        site.clear_lost_head()?;
    }
    // Last: all removals are complete, even if releasing the space in the database fails.
    let kept_room = if rows.is_empty() { None } else { site.vacuum().err() };
    Ok(GcReport { unmade, stayed, kept_room, undated: None })
}

/// Removes bodies. Returns those that were kept because another program may reference them by now.
fn sweep(
    site: &MokuHistoryWriter,
    actions: &GcActions,
    progress: &dyn Fn(u64),
) -> Result<StayedBodies, ArchiveError> {
    let file = |action: &GcAction| match action {
        GcAction::RemoveBody(file) => Some(file.clone()),
        _ => None,
    };
    let files: Vec<LooseFile> = actions.list.iter().filter_map(file).collect();
    let (mut stayed, loose) = (StayedBodies::default(), site.loose());
    for files in files.chunks(SWEPT_TOGETHER) {
        site.exclusively(&mut || {
            // The current rows decide, and the lock keeps other writers from adding to them.
            let referred = referred(site)?;
            for file in files {
                if file.id.is_some_and(|id| referred.contains(&id)) || (loose.is_shared)() {
                    stayed.bodies += 1;
                    stayed.bytes += file.length;
                } else {
                    loose.bodies.sweep(file)?;
                }
            }
            Ok(())
        })?;
        progress(files.len() as u64);
    }
    Ok(stayed)
}

fn make_diffs(
    history: &HistoryWriter,
    actions: &[GcAction],
    progress: &dyn Fn(u64),
) -> Result<u64, ArchiveError> {
    let mut unmade = 0;
    for action in actions {
        let GcAction::MakeDiff { base, head } = action else { continue };
        let pairs = CapturePairs::new(history.catalog(), Some(*base), Some(*head))
            .with_hosts(history.as_reader().host_pairing());
        match whole_stored_diff(history.as_reader(), history.redaction(), (*base, *head), pairs)? {
            Some(diff) => {
                let (json, time) = (diff.to_json(), history.now());
                history.apply(vec![CatalogRow::Diff(StoredDiff {
                    base: Some(*base),
                    head: *head,
                    json,
                    time,
                })])?;
            }
            None => unmade += 1,
        }
        progress(1);
    }
    Ok(unmade)
}

/// The instant `within` before `now`.
fn before(now: Moment, within: Duration) -> Moment {
    let micros = i64::try_from(within.as_micros()).unwrap_or(i64::MAX);
    Moment::from_micros(now.micros().saturating_sub(micros))
}

/// The instant `span` after `time`.
fn after(time: Moment, span: Duration) -> Moment {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Moment::from_micros(time.micros().saturating_add(micros))
}

/// The kept and the removed versions, newest first.
#[derive(Default)]
struct VersionSelection {
    kept: Vec<VersionId>,
    forgotten: Vec<VersionInfo>,
    /// Parents without rows, each with one of its children.
    lost_parents: BTreeMap<VersionId, VersionId>,
}

fn choose(
    history: &HistoryReader,
    policy: &RetentionPolicy,
    may_go: bool,
    cutoff: Option<Moment>,
) -> Result<VersionSelection, ArchiveError> {
    let catalog = history.catalog();
    let heads = [history.repaired_head_target()?, catalog.head()?];
    // Nothing is removed from a silo, and without a rule nothing is removed at all.
    let all_stay = !may_go || (policy.keep_last.is_none() && policy.keep_tags.is_empty() && cutoff.is_none());
    let mut choice = VersionSelection::default();
    let mut seen = HashSet::new();
    let (mut after, mut number) = (None, 0);
    loop {
        let piece =
            catalog.versions(&VersionFilter::default(), ListCursor { after, limit: VERSIONS_PER_QUERY })?;
        let Some(last) = piece.last() else { break };
        after = Some(last.version.id);
        for info in piece {
            seen.insert(info.version.id);
            choice.lost_parents.extend(info.version.parent.map(|parent| (parent, info.version.id)));
            let is_recent = policy.keep_last.is_some_and(|last| number < last)
                || cutoff.is_some_and(|cutoff| info.version.time >= cutoff);
            let stays =
                all_stay || is_recent || !info.tags.is_empty() || heads.contains(&Some(info.version.id));
            number += 1;
            if stays { choice.kept.push(info.version.id) } else { choice.forgotten.push(info) }
        }
    }
    choice.lost_parents.retain(|parent, _| !seen.contains(parent));
    Ok(choice)
}

/// The bodies referenced now, and those that lose their last reference.
struct BodyReferences {
    referred: HashSet<BodyId>,
    going: HashSet<BodyId>,
}

impl BodyReferences {
    /// Whether the body will still be referenced.
    fn has(&self, id: &BodyId) -> bool {
        self.referred.contains(id) && !self.going.contains(id)
    }
}

fn marks(
    history: &HistoryReader,
    kept: &[VersionId],
    forgotten: &[VersionId],
) -> Result<BodyReferences, ArchiveError> {
    let mut going = HashSet::new();
    if !forgotten.is_empty() {
        each_body_of(history, forgotten, |body| _ = going.insert(body))?;
        each_body_of(history, kept, |body| _ = going.remove(&body))?;
    }
    Ok(BodyReferences { referred: referred(history)?, going })
}

/// Every body that a row references, including rows of unfinished runs.
fn referred(history: &HistoryReader) -> Result<HashSet<BodyId>, RepositoryError> {
    let mut referred = HashSet::new();
    history.catalog().each_body(&mut |body| {
        referred.insert(body);
        Ok::<(), CatalogError>(())
    })?;
    Ok(referred)
}

fn each_body_of(
    history: &HistoryReader,
    versions: &[VersionId],
    mut each: impl FnMut(BodyId),
) -> Result<(), ArchiveError> {
    for version in versions {
        for page in VersionPages::new(history.catalog(), Some(*version)) {
            each(page?.body);
        }
    }
    Ok(())
}

/// The bodies that nothing will reference, and the number of others that a writer may be about to
/// reference. While another program has the layout open, all count as the latter; otherwise only
/// the recently written ones do.
fn unwanted(
    loose: &LooseBodyView<'_>,
    marked: &BodyReferences,
) -> Result<(Vec<LooseFile>, u64), ArchiveError> {
    let is_shared = (loose.is_shared)();
    let mut young = 0;
    let mut found = Vec::new();
    for file in loose.bodies.list()? {
        match file.id {
            Some(id) if marked.has(&id) => {}
            _ if is_shared => young += 1,
            Some(id) if marked.going.contains(&id) => found.push(file),
            _ if is_settled(loose, &file) => found.push(file),
            _ => young += 1,
        }
    }
    Ok((found, young))
}

fn is_settled(loose: &LooseBodyView<'_>, file: &LooseFile) -> bool {
    let written = std::fs::symlink_metadata(&file.path).and_then(|found| found.modified());
    written.is_ok_and(|written| written <= loose.settled)
}

/// The numbers of planned actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GcTotals {
    /// Versions removed.
    pub versions: u64,
    /// Diffs removed.
    pub diffs: u64,
    /// Diffs made with a new parent.
    pub made: u64,
    /// Bodies removed.
    pub bodies: u64,
    /// Their total length in bytes.
    pub bytes: u64,
}

impl GcTotals {
    /// The numbers without the actions that were not performed.
    pub fn without(self, done: &GcReport) -> Self {
        Self {
            made: self.made.saturating_sub(done.unmade),
            bodies: self.bodies.saturating_sub(done.stayed.bodies),
            bytes: self.bytes.saturating_sub(done.stayed.bytes),
            ..self
        }
    }
}

/// Counts actions, for a summary.
pub fn totals(actions: &[GcAction]) -> GcTotals {
    let mut totals = GcTotals::default();
    for action in actions {
        match action {
            GcAction::AcceptLost { .. } => {}
            GcAction::MakeDiff { .. } => totals.made += 1,
            GcAction::ForgetVersion { diffs, .. } => {
                totals.versions += 1;
                totals.diffs += diffs;
            }
            GcAction::PruneDiffs { count, .. } => totals.diffs += count,
            GcAction::RemoveBody(file) => {
                totals.bodies += 1;
                totals.bytes += file.length;
            }
        }
    }
    totals
}
