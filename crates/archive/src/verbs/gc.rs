//! `gc`: what is no longer wanted goes, as a list of actions that is computed, shown, and then performed.
//!
//! Versions that no rule keeps are forgotten, and those that descend from them descend from what came before; HEAD and
//! what has a tag always stays. Old diffs are pruned. Then bodies that nobody refers to are swept. Diffs with new parents
//! are made first, and rows go before bodies: whatever stops it in between leaves too much, never too little, and the next
//! call does the rest. When it was done is written down after all else, so that one that was stopped has not been done.
//!
//! In a varve archive nothing leaves a silo this way: only diffs go, and as in a site only those that are older than what is
//! to be kept.

mod diffs;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use varve_catalog::{CatalogError, CatalogRow};
use varve_core::history::{ListCursor, StoredDiff, VersionFilter, VersionInfo};
use varve_core::{BodyId, Moment, VersionId};
use varve_store::body::LooseFile;

use self::diffs::Going;
use crate::error::ArchiveError;
use varve_repository::RepositoryError;
use varve_repository::history::{
    CapturePairs, HistoryReader, HistoryWriter, LooseBodyView, VersionPages, whole_stored_diff,
};

/// So many versions are read at a time.
const VERSIONS_PER_QUERY: usize = 500;
/// So many versions are forgotten in one transaction, so that nobody waits long for the database.
const DIFFS_PER_BATCH: usize = 50;
/// And so many bodies are removed while nobody can write.
const SWEPT_TOGETHER: usize = 2000;

/// What stays. Without any rule about versions, all of them do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// The newest so many versions.
    pub keep_last: Option<u64>,
    /// The versions with these tags.
    pub keep_tags: Vec<String>,
    /// Versions, and diffs, that are younger than this.
    pub keep_within: Option<Duration>,
    /// Rows that were lost are gone for good: what only they named goes too.
    pub accept_lost: bool,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GcAction {
    /// A version whose rows are lost is let go: those that descend from it descend from nothing then.
    AcceptLost {
        /// The version.
        version: VersionId,
        /// One that descends from it, if any does.
        child: Option<VersionId>,
    },
    /// The diff of a version with the parent that it will have is made, in place of the one with the parent that goes.
    MakeDiff {
        /// The new parent.
        base: VersionId,
        /// The version.
        head: VersionId,
    },
    /// A version is forgotten, with its captures, diffs and scores.
    ForgetVersion {
        /// The version.
        info: Box<VersionInfo>,
        /// How many diffs go with it. One between two versions that go is counted with the newer.
        diffs: u64,
    },
    /// So many diffs that were computed before an instant are forgotten; they can be computed again.
    PruneDiffs {
        /// The instant.
        before: Moment,
        /// How many.
        count: u64,
    },
    /// A body that nothing will refer to is removed.
    RemoveBody(LooseFile),
}

/// What is to be done, and what stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcActions {
    /// What to do, in this order.
    pub list: Vec<GcAction>,
    /// How many versions stay.
    pub kept: u64,
    /// How many bodies stay though nothing refers to them: somebody may be about to.
    pub young: u64,
    /// Bodies are in silos, which nothing leaves by this verb.
    pub in_silos: bool,
    /// The version that HEAD named and that has no rows, where that was accepted.
    pub lost: Option<VersionId>,
}

/// It was done a short while ago, and is not to be done again yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSoon {
    /// When it was done.
    pub done: Moment,
    /// When it may be done again.
    pub again: Moment,
}

/// Whether it was done less than `every` ago. A time that is still to come says nothing: the clock was ahead then, and it may be long
/// until that time.
pub fn too_soon(
    holdings: &dyn HistoryReader,
    now: Moment,
    every: Duration,
) -> Result<Option<TooSoon>, ArchiveError> {
    let done = holdings.catalog().last_gc()?.filter(|done| *done <= now);
    let found = done.map(|done| TooSoon { done, again: after(done, every) });
    Ok(found.filter(|found| now < found.again))
}

/// Finds out what is to be done; changes nothing.
pub fn plan(history: &dyn HistoryWriter, policy: &RetentionPolicy) -> Result<GcActions, ArchiveError> {
    plan_to_show(history.as_reader(), history.now(), policy)
}

/// The same where nothing may be written: what [`plan`] would find if nothing changed until then.
pub fn plan_to_show(
    holdings: &dyn HistoryReader,
    now: Moment,
    policy: &RetentionPolicy,
) -> Result<GcActions, ArchiveError> {
    let loose = holdings.loose(now);
    let cutoff = policy.keep_within.map(|within| before(now, within));
    let mut actions = GcActions { in_silos: loose.is_none(), ..GcActions::default() };
    for tag in &policy.keep_tags {
        if holdings.catalog().tag(tag)?.is_none() {
            return Err(ArchiveError::NoTag { name: tag.clone() });
        }
    }
    let VersionSelection { kept, forgotten, lost_parents } =
        choose(holdings, policy, loose.is_some(), cutoff)?;
    if loose.is_some() {
        actions.lost = lost_head(holdings)?;
        let lost = actions.lost.map(|named| (named, None));
        let mut lost =
            lost.into_iter().chain(lost_parents.iter().map(|(named, child)| (*named, Some(*child))));
        if let Some((named, child)) = lost.next().filter(|_| !policy.accept_lost) {
            return Err(ArchiveError::LostRows { named, child });
        }
        let without_child = holdings.lost_versions()?;
        if let Some(version) = without_child.first().copied().filter(|_| !policy.accept_lost) {
            return Err(ArchiveError::LostVersion { version });
        }
        let lost_parents = lost_parents.into_iter().map(|(version, child)| (version, Some(child)));
        let all_lost = lost_parents.chain(without_child.into_iter().map(|version| (version, None)));
        actions.list.extend(all_lost.map(|(version, child)| GcAction::AcceptLost { version, child }));
    }
    actions.kept = kept.len() as u64;
    let forgotten_ids: Vec<VersionId> = forgotten.iter().map(|info| info.version.id).collect();
    let going = Going::find(holdings, &forgotten, cutoff)?;
    actions.list.extend(going.made.iter().map(|&(base, head)| GcAction::MakeDiff { base, head }));
    let forget = |info: VersionInfo| GcAction::ForgetVersion {
        diffs: going.with(&info.version.id),
        info: info.into(),
    };
    actions.list.extend(forgotten.into_iter().map(forget));
    if let Some(before) = cutoff {
        let count = holdings.catalog().diffs_before(before)?.saturating_sub(going.before(before));
        if count > 0 {
            actions.list.push(GcAction::PruneDiffs { before, count });
        }
    }
    if let Some(loose) = loose {
        let marked = marks(holdings, &kept, &forgotten_ids)?;
        let (unwanted, young) = unwanted(&loose, &marked)?;
        actions.young = young;
        actions.list.extend(unwanted.into_iter().map(GcAction::RemoveBody));
    }
    Ok(actions)
}

/// The version that HEAD names, or named before it was mended, if it has no rows. Then others may have lost theirs too, and
/// all their bodies would seem unwanted.
fn lost_head(holdings: &dyn HistoryReader) -> Result<Option<VersionId>, ArchiveError> {
    for named in holdings.lost_head()?.into_iter().chain(holdings.repaired_head_target()?) {
        if holdings.catalog().version(&named)?.is_none() {
            return Ok(Some(named));
        }
    }
    Ok(None)
}

/// Bodies that were to go and did not.
#[derive(Clone, Copy, Debug, Default)]
pub struct StayedBodies {
    /// How many.
    pub bodies: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

/// What became of it, besides what was planned.
#[derive(Debug, Default)]
pub struct GcReport {
    /// How many diffs were not made, because a body that they are about is damaged or not here: that keeps nobody from clearing
    /// up.
    pub unmade: u64,
    /// Bodies that stay: another program has come to refer to them, or has the layout open and may be about to.
    pub stayed: StayedBodies,
    /// Why the database is still as large as it was, if it could not give back what its rows left: there was no room for it, or
    /// another program was writing. Nothing is wrong with it.
    pub kept_room: Option<RepositoryError>,
    /// Why it could not be written down when this was done, if it could not. All else is done.
    pub undated: Option<RepositoryError>,
}

/// Does what was planned, and writes down when. Bodies that came to be wanted meanwhile stay.
pub fn perform(
    history: &dyn HistoryWriter,
    actions: &GcActions,
    progress: &dyn Fn(u64),
) -> Result<GcReport, ArchiveError> {
    let done = clear(history, actions, progress)?;
    let undated = history.apply(vec![CatalogRow::GcDone(history.now())]).err();
    Ok(GcReport { undated, ..done })
}

fn clear(
    history: &dyn HistoryWriter,
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
    let Some(loose) = history.loose(history.now()) else {
        return Ok(GcReport { unmade, ..GcReport::default() });
    };
    let stayed = sweep(history, &loose, actions, progress)?;
    if actions.lost.is_some() {
        history.clear_lost_head()?;
    }
    // Last: all that is to go is gone, whatever becomes of the room that it took.
    let kept_room = if rows.is_empty() { None } else { history.vacuum().err() };
    Ok(GcReport { unmade, stayed, kept_room, undated: None })
}

/// Removes bodies, and says which stay because somebody may refer to them by now.
fn sweep(
    history: &dyn HistoryWriter,
    loose: &LooseBodyView<'_>,
    actions: &GcActions,
    progress: &dyn Fn(u64),
) -> Result<StayedBodies, ArchiveError> {
    let file = |action: &GcAction| match action {
        GcAction::RemoveBody(file) => Some(file.clone()),
        _ => None,
    };
    let files: Vec<LooseFile> = actions.list.iter().filter_map(file).collect();
    let mut stayed = StayedBodies::default();
    for files in files.chunks(SWEPT_TOGETHER) {
        history.exclusively(&mut || {
            // The rows that there are now have the last word, and nobody adds to them meanwhile.
            let referred = referred(history.as_reader())?;
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
    history: &dyn HistoryWriter,
    actions: &[GcAction],
    progress: &dyn Fn(u64),
) -> Result<u64, ArchiveError> {
    let mut unmade = 0;
    for action in actions {
        let GcAction::MakeDiff { base, head } = action else { continue };
        let pairs = CapturePairs::new(history.catalog(), Some(*base), Some(*head));
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

/// The instant that lies so far back.
fn before(now: Moment, within: Duration) -> Moment {
    let micros = i64::try_from(within.as_micros()).unwrap_or(i64::MAX);
    Moment::from_micros(now.micros().saturating_sub(micros))
}

/// The instant that comes so much later.
fn after(time: Moment, span: Duration) -> Moment {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Moment::from_micros(time.micros().saturating_add(micros))
}

/// Which versions stay and which go, newest first.
#[derive(Default)]
struct VersionSelection {
    kept: Vec<VersionId>,
    forgotten: Vec<VersionInfo>,
    /// The versions that others descend from and that have no rows, each with one of those others.
    lost_parents: BTreeMap<VersionId, VersionId>,
}

fn choose(
    holdings: &dyn HistoryReader,
    policy: &RetentionPolicy,
    may_go: bool,
    cutoff: Option<Moment>,
) -> Result<VersionSelection, ArchiveError> {
    let catalog = holdings.catalog();
    let heads = [holdings.repaired_head_target()?, catalog.head()?];
    // Nothing leaves a silo, and without a rule nothing leaves at all.
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

/// Which bodies are referred to now, and which will not be any more.
struct BodyReferences {
    referred: HashSet<BodyId>,
    going: HashSet<BodyId>,
}

impl BodyReferences {
    /// Whether something will refer to it.
    fn has(&self, id: &BodyId) -> bool {
        self.referred.contains(id) && !self.going.contains(id)
    }
}

fn marks(
    holdings: &dyn HistoryReader,
    kept: &[VersionId],
    forgotten: &[VersionId],
) -> Result<BodyReferences, ArchiveError> {
    let mut going = HashSet::new();
    if !forgotten.is_empty() {
        each_body_of(holdings, forgotten, |body| _ = going.insert(body))?;
        each_body_of(holdings, kept, |body| _ = going.remove(&body))?;
    }
    Ok(BodyReferences { referred: referred(holdings)?, going })
}

/// Every body that a row refers to, also those of runs that are not finished.
fn referred(holdings: &dyn HistoryReader) -> Result<HashSet<BodyId>, RepositoryError> {
    let mut referred = HashSet::new();
    holdings.catalog().each_body(&mut |body| {
        referred.insert(body);
        Ok::<(), CatalogError>(())
    })?;
    Ok(referred)
}

fn each_body_of(
    holdings: &dyn HistoryReader,
    versions: &[VersionId],
    mut each: impl FnMut(BodyId),
) -> Result<(), ArchiveError> {
    for version in versions {
        for page in VersionPages::new(holdings.catalog(), Some(*version)) {
            each(page?.body);
        }
    }
    Ok(())
}

/// The bodies that nothing will refer to, and how many more somebody may be about to refer to: all of them, while another program has
/// the layout open, and otherwise those that were written just now.
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
    let written = std::fs::metadata(&file.path).and_then(|found| found.modified());
    written.is_ok_and(|written| written <= loose.settled)
}

/// Actions by what they do, with how many bytes go, for a summary.
pub fn totals(actions: &[GcAction]) -> BTreeMap<&'static str, (u64, u64)> {
    let mut totals = BTreeMap::new();
    for action in actions {
        let (name, count, bytes) = match action {
            GcAction::AcceptLost { .. } => ("accepted", 1, 0),
            GcAction::MakeDiff { .. } => ("made", 1, 0),
            GcAction::ForgetVersion { diffs, .. } => {
                let total: &mut (u64, u64) = totals.entry("diffs").or_default();
                total.0 += diffs;
                ("versions", 1, 0)
            }
            GcAction::PruneDiffs { count, .. } => ("diffs", *count, 0),
            GcAction::RemoveBody(file) => ("bodies", 1, file.length),
        };
        let total: &mut (u64, u64) = totals.entry(name).or_default();
        *total = (total.0 + count, total.1 + bytes);
    }
    totals
}
