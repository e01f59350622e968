//! When a page had what a query looks for: first seen, last seen, and each change in between.
//!
//! A version brings the words if its capture has them and the state of its parent has not. It takes
//! them away if it is the other way round, or if the page is gone since. So each branch has its own
//! changes.

use std::collections::HashMap;

use varve_core::history::{Capture, CaptureFilter, CaptureOwner, PageState, Presence};
use varve_core::{Moment, VersionId};
use varve_repository::history::HistoryReader;
use varve_search::{TextKey, TextMatch};

use super::{Request, has_text};
use crate::error::ArchiveError;
use crate::verbs::page_events::{all_captures, state_at, state_before};

/// A capture that had the words, or the version that found the page gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenIn {
    /// The version, if the layout keeps versions.
    pub version: Option<VersionId>,
    /// The time of the capture or of the version.
    pub time: Moment,
}

/// A change of whether a page has the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitChange {
    /// Whether the words appeared, or vanished.
    pub appeared: bool,
    /// When, and in which version.
    pub seen: SeenIn,
}

/// When a page had the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitHistory {
    /// The first capture that had them.
    pub first: SeenIn,
    /// The last capture that had them.
    pub last: SeenIn,
    /// Whether the page has them in the state of HEAD.
    pub is_current: bool,
    /// The changes, by time.
    pub changes: Vec<HitChange>,
}

type Matching = HashMap<TextKey, (usize, TextMatch)>;

/// The history of a page, or `None` if no capture in the requested time had the words.
pub(super) fn of_page(
    history: &HistoryReader,
    request: &Request,
    url: &str,
    matching: &Matching,
) -> Result<Option<HitHistory>, ArchiveError> {
    let filter = CaptureFilter { since: request.since, until: request.until, ..CaptureFilter::default() };
    let captures = all_captures(history, url, &filter)?;
    let (mut first, mut last, mut changes) = (None, None, Vec::new());
    let mut before = false;
    for (place, capture) in captures.iter().enumerate() {
        let is_hit = has_text(history, capture, matching)?;
        let seen = seen_in(history, capture);
        if is_hit {
            first.get_or_insert(seen);
            last = Some(seen);
        }
        // The last capture of a page in a version is its state.
        let is_replaced = captures.get(place + 1).is_some_and(|next| next.owner == capture.owner);
        if is_replaced && history.has_versions() {
            continue;
        }
        let was_hit = match capture.owner {
            CaptureOwner::Version(version) if history.has_versions() => {
                shows_text(history, state_before(history, &version, url)?, matching)?
            }
            _ => before,
        };
        before = is_hit;
        // A failed request changes nothing.
        let is_failure = matches!(Presence::of_status(capture.status), Presence::Unreachable { .. });
        if is_hit != was_hit && !is_failure {
            changes.push(HitChange { appeared: is_hit, seen });
        }
    }
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let state = history.head()?.map(|head| state_at(history, &head, url)).transpose()?.flatten();
    let gone = match (&state, history) {
        // The versions of a site list all their pages, and say nothing about others.
        (None, HistoryReader::Moku(_)) => dropped_in(history, url, matching)?,
        _ => gone_since(history, state.as_ref(), matching)?,
    };
    changes.extend(gone.filter(|change| !changes.contains(change)));
    let is_current = shows_text(history, state, matching)?;
    Ok(Some(HitHistory { first, last, is_current, changes }))
}

fn seen_in(history: &HistoryReader, capture: &Capture) -> SeenIn {
    let version = match capture.owner {
        CaptureOwner::Version(version) => Some(version).filter(|_| history.has_versions()),
        CaptureOwner::Run(_) => None,
    };
    SeenIn { version, time: capture.time }
}

/// Whether a page shows one of the texts.
fn shows_text(
    history: &HistoryReader,
    state: Option<PageState>,
    matching: &Matching,
) -> Result<bool, ArchiveError> {
    let shown = state.filter(|state| !state.is_hidden).and_then(PageState::into_shown);
    shown.map_or(Ok(false), |capture| has_text(history, &capture, matching))
}

/// The change by which a page with the words was found gone, without a capture.
fn gone_since(
    history: &HistoryReader,
    state: Option<&PageState>,
    matching: &Matching,
) -> Result<Option<HitChange>, ArchiveError> {
    let Some(state) = state.filter(|state| state.presence == Presence::Gone && state.evidence.is_none())
    else {
        return Ok(None);
    };
    let Some(capture) = &state.capture else { return Ok(None) };
    if !has_text(history, capture, matching)? {
        return Ok(None);
    }
    let info = history.catalog().version(&state.said_by)?;
    let seen = info.map(|info| SeenIn { version: Some(state.said_by), time: info.version.time });
    Ok(seen.map(|seen| HitChange { appeared: false, seen }))
}

/// The change by which the ancestors of HEAD stopped to list a page with the words.
fn dropped_in(
    history: &HistoryReader,
    url: &str,
    matching: &Matching,
) -> Result<Option<HitChange>, ArchiveError> {
    let mut first_without = None;
    let mut next = history.head()?;
    while let Some(version) = next {
        let state = state_at(history, &version, url)?;
        if state.is_some() {
            let had_text = shows_text(history, state, matching)?;
            return Ok(first_without.filter(|_| had_text));
        }
        let Some(info) = history.catalog().version(&version)? else { break };
        let seen = SeenIn { version: Some(version), time: info.version.time };
        first_without = Some(HitChange { appeared: false, seen });
        next = info.version.parent;
    }
    Ok(None)
}
