//! `gc`: what is no longer wanted goes, as a list of actions that is computed, shown, and then performed.
//!
//! Versions that no rule keeps are forgotten, and those that descend from them descend from what came before; HEAD and
//! what has a tag always stays. Old diffs are pruned. Then bodies that nobody refers to are swept. Rows go before bodies:
//! whatever stops it in between leaves bodies too many, never too few, and the next call sweeps them.
//!
//! In a varve archive nothing leaves a silo this way: only diffs go.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use varve_catalog::{CatalogError, Page, Row, VersionFilter, VersionInfo};
use varve_core::{BodyId, Moment, VersionId};
use varve_store::body::LooseFile;

use crate::error::ArchiveError;
use crate::history::{HeadState, HistoryWriter, Loose, Pages};

/// So many versions are read at a time.
const PIECE: usize = 500;
/// So many versions are forgotten in one transaction, so that nobody waits long for the database.
const TOGETHER: usize = 50;

/// What stays. Without any rule about versions, all of them do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The newest so many versions.
    pub keep_last: Option<u64>,
    /// The versions with these tags.
    pub keep_tags: Vec<String>,
    /// Versions, and diffs, that are younger than this.
    pub keep_within: Option<Duration>,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A version is forgotten, with its captures, diffs and scores.
    ForgetVersion(Box<VersionInfo>),
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
pub struct Actions {
    /// What to do, in this order.
    pub list: Vec<Action>,
    /// How many versions stay.
    pub kept: u64,
    /// How many bodies stay though nothing refers to them: somebody may be about to.
    pub young: u64,
    /// Bodies are in silos, which nothing leaves by this verb.
    pub in_silos: bool,
}

/// Finds out what is to be done; changes nothing.
pub fn plan(history: &dyn HistoryWriter, policy: &Policy) -> Result<Actions, ArchiveError> {
    let now = history.now();
    let cutoff = policy.keep_within.map(|within| before(now, within));
    let mut actions = Actions { in_silos: history.loose().is_none(), ..Actions::default() };
    for tag in &policy.keep_tags {
        if history.catalog().tag(tag)?.is_none() {
            return Err(ArchiveError::NoTag { name: tag.clone() });
        }
    }
    refuse_lost_rows(history)?;
    let (kept, forgotten) = choose(history, policy, cutoff)?;
    actions.kept = kept.len() as u64;
    let forgotten_ids: Vec<VersionId> = forgotten.iter().map(|info| info.version.id).collect();
    actions.list.extend(forgotten.into_iter().map(Box::new).map(Action::ForgetVersion));
    // In an archive a diff is nothing but a convenience, and all of them go unless some are to stay.
    let diffs = cutoff.or_else(|| actions.in_silos.then(|| Moment::from_seconds(now.seconds() + 1)));
    if let Some(before) = diffs {
        let count = history.catalog().diffs_before(before)?;
        if count > 0 {
            actions.list.push(Action::PruneDiffs { before, count });
        }
    }
    if let Some(loose) = history.loose() {
        let marked = marks(history, &kept, &forgotten_ids)?;
        let (unwanted, young) = unwanted(&loose, &marked)?;
        actions.young = young;
        actions.list.extend(unwanted.into_iter().map(Action::RemoveBody));
    }
    Ok(actions)
}

/// Where HEAD names a version that has no rows, others may have lost theirs too, and all their bodies would seem unwanted.
fn refuse_lost_rows(history: &dyn HistoryWriter) -> Result<(), ArchiveError> {
    let named = match history.mended_head() {
        Some(HeadState::Absent { named, .. }) => Some(*named),
        _ => history.head()?.filter(|_| history.loose().is_some()),
    };
    match named {
        Some(named) if history.catalog().version(&named)?.is_none() => Err(ArchiveError::LostRows { named }),
        _ => Ok(()),
    }
}

/// Does what was planned. Bodies that came to be wanted meanwhile stay.
pub fn perform(
    history: &dyn HistoryWriter,
    actions: &Actions,
    progress: &dyn Fn(u64),
) -> Result<(), ArchiveError> {
    let row = |action: &Action| match action {
        Action::ForgetVersion(info) => Some(Row::ForgetVersion(info.version.id)),
        Action::PruneDiffs { before, .. } => Some(Row::ForgetDiffs(*before)),
        Action::RemoveBody(_) => None,
    };
    let rows: Vec<Row> = actions.list.iter().filter_map(row).collect();
    for rows in rows.chunks(TOGETHER) {
        history.apply(rows.to_vec())?;
        progress(rows.len() as u64);
    }
    let Some(loose) = history.loose() else { return Ok(()) };
    // The rows that there are now have the last word.
    let marked = Marks { referred: referred(history)?, going: HashSet::new() };
    for action in &actions.list {
        let Action::RemoveBody(file) = action else { continue };
        if !file.id.is_some_and(|id| marked.has(&id)) {
            loose.bodies.sweep(file)?;
        }
        progress(1);
    }
    Ok(())
}

/// The instant that lies so far back.
fn before(now: Moment, within: Duration) -> Moment {
    let micros = i64::try_from(within.as_micros()).unwrap_or(i64::MAX);
    Moment::from_micros(now.micros().saturating_sub(micros))
}

/// Which versions stay and which go, newest first.
fn choose(
    history: &dyn HistoryWriter,
    policy: &Policy,
    cutoff: Option<Moment>,
) -> Result<(Vec<VersionId>, Vec<VersionInfo>), ArchiveError> {
    let catalog = history.catalog();
    let heads = [history.head()?, catalog.head()?];
    // Nothing leaves a silo, and without a rule nothing leaves at all.
    let all_stay = history.loose().is_none()
        || (policy.keep_last.is_none() && policy.keep_tags.is_empty() && cutoff.is_none());
    let (mut kept, mut forgotten) = (Vec::new(), Vec::new());
    let (mut after, mut number) = (None, 0);
    loop {
        let piece = catalog.versions(&VersionFilter::default(), Page { after, limit: PIECE })?;
        let Some(last) = piece.last() else { return Ok((kept, forgotten)) };
        after = Some(last.version.id);
        for info in piece {
            let is_recent = policy.keep_last.is_some_and(|last| number < last)
                || cutoff.is_some_and(|cutoff| info.version.time >= cutoff);
            let stays =
                all_stay || is_recent || !info.tags.is_empty() || heads.contains(&Some(info.version.id));
            number += 1;
            if stays { kept.push(info.version.id) } else { forgotten.push(info) }
        }
    }
}

/// Which bodies are referred to now, and which will not be any more.
struct Marks {
    referred: HashSet<BodyId>,
    going: HashSet<BodyId>,
}

impl Marks {
    /// Whether something will refer to it.
    fn has(&self, id: &BodyId) -> bool {
        self.referred.contains(id) && !self.going.contains(id)
    }
}

fn marks(
    history: &dyn HistoryWriter,
    kept: &[VersionId],
    forgotten: &[VersionId],
) -> Result<Marks, ArchiveError> {
    let mut going = HashSet::new();
    if !forgotten.is_empty() {
        each_body_of(history, forgotten, |body| _ = going.insert(body))?;
        each_body_of(history, kept, |body| _ = going.remove(&body))?;
    }
    Ok(Marks { referred: referred(history)?, going })
}

/// Every body that a row refers to, also those of runs that are not finished.
fn referred(history: &dyn HistoryWriter) -> Result<HashSet<BodyId>, ArchiveError> {
    let mut referred = HashSet::new();
    history.catalog().each_body(&mut |body| {
        referred.insert(body);
        Ok::<(), CatalogError>(())
    })?;
    Ok(referred)
}

fn each_body_of(
    history: &dyn HistoryWriter,
    versions: &[VersionId],
    mut each: impl FnMut(BodyId),
) -> Result<(), ArchiveError> {
    for version in versions {
        for page in Pages::new(history.catalog(), Some(*version)) {
            each(page?.body);
        }
    }
    Ok(())
}

/// The bodies that nothing will refer to, and how many more are too young to tell. What is forgotten now was referred to,
/// so nobody is about to; only what no row ever named may be on its way.
fn unwanted(loose: &Loose<'_>, marked: &Marks) -> Result<(Vec<LooseFile>, u64), ArchiveError> {
    let mut young = 0;
    let mut found = Vec::new();
    for file in loose.bodies.list()? {
        match file.id {
            Some(id) if marked.has(&id) => continue,
            Some(id) if marked.going.contains(&id) => {}
            _ if !is_settled(loose, &file) => {
                young += 1;
                continue;
            }
            _ => {}
        }
        found.push(file);
    }
    Ok((found, young))
}

fn is_settled(loose: &Loose<'_>, file: &LooseFile) -> bool {
    let written = std::fs::metadata(&file.path).and_then(|found| found.modified());
    written.is_ok_and(|written| written <= loose.settled)
}

/// Actions by what they do, with how many bytes go, for a summary.
pub fn totals(actions: &[Action]) -> BTreeMap<&'static str, (u64, u64)> {
    let mut totals = BTreeMap::new();
    for action in actions {
        let (name, count, bytes) = match action {
            Action::ForgetVersion(_) => ("versions", 1, 0),
            Action::PruneDiffs { count, .. } => ("diffs", *count, 0),
            Action::RemoveBody(file) => ("bodies", 1, file.length),
        };
        let total: &mut (u64, u64) = totals.entry(name).or_default();
        *total = (total.0 + count, total.1 + bytes);
    }
    totals
}
