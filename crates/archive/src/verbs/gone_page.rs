//! Finds out whether a page was gone when a reader asks for it as it was.
//!
//! The newest capture of a page says nothing about that: a complete run or a folder may have left
//! the page out later, which makes no capture. The state of the version says it. A capture that is
//! newer than that, for example of a run that is not finished, decides instead.

use varve_core::history::{
    Capture, CaptureFilter, ListCursor, PageState, Presence, TimeOrder, VersionFilter,
};
use varve_core::{Moment, VersionId};

use super::cat::{CaptureSelector, look_up, removal_of, version_of};
use super::log::{at_address, first_kept};
use crate::error::ArchiveError;
use varve_catalog::UrlMatch;
use varve_repository::history::HistoryReader;

/// Number of captures read per query.
const CAPTURES_PER_QUERY: usize = 50;

/// A page that was gone.
#[derive(Clone, Debug, PartialEq)]
pub struct GonePage {
    /// When this was first found.
    pub since: Moment,
    /// The status of the response; `None` if the page was left out.
    pub status: Option<u16>,
    /// The version whose run or folder left it out or got that response.
    pub found_by: Option<VersionId>,
    /// The page as it was before. `None` if it never was captured, or a purge removed it.
    pub last: Option<Capture>,
}

/// A page as it was at a time, in a version, or at last.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedPage {
    /// What to print. If the page was gone, the response that says so; without one, `None`, or the
    /// page as it was before if no time and no version was selected.
    pub capture: Option<Capture>,
    /// What is known if it was gone.
    pub gone: Option<GonePage>,
}

/// Like [`look_up`], and reports whether the page was gone.
pub fn look_up_page(
    history: &HistoryReader,
    url: &str,
    at: &CaptureSelector,
) -> Result<SelectedPage, ArchiveError> {
    let found = match look_up(history, url, at) {
        Ok(found) => found,
        Err(missing @ ArchiveError::NoCapture { .. }) => {
            let gone = gone_page(history, url, at, None)?.ok_or(missing)?;
            return Ok(SelectedPage { capture: None, gone: Some(gone) });
        }
        Err(error) => return Err(error),
    };
    let gone = gone_page(history, &found.url, at, Some(&found))?;
    let is_shown = gone.is_none() || *at == CaptureSelector::Newest || is_gone(&found);
    Ok(SelectedPage { capture: Some(found).filter(|_| is_shown), gone })
}

/// What is known of a page that was gone: in the selected version, at the selected time, or without
/// either in HEAD. `found` is the selected capture. `None` if the page was not gone; and for good
/// captures and responses of a check, whose selection does not depend on that.
fn gone_page(
    history: &HistoryReader,
    url: &str,
    at: &CaptureSelector,
    found: Option<&Capture>,
) -> Result<Option<GonePage>, ArchiveError> {
    let version = match at {
        CaptureSelector::Check(_) | CaptureSelector::NewestGood => return Ok(None),
        CaptureSelector::Version(version) => Some(*version),
        CaptureSelector::Time(time) => newest_version(history, *time)?,
        CaptureSelector::Newest => history.head()?,
    };
    let state = match version.filter(|_| history.has_versions()) {
        Some(version) => state_of(history, url, &version)?,
        None => None,
    };
    let by_state = state.filter(|state| state.presence == Presence::Gone);
    let by_state = by_state.map(|state| gone_by_state(history, state)).transpose()?.flatten();
    let gone = match (by_state, found) {
        (Some(gone), Some(found)) if found.time > gone.since => of_response(found),
        (Some(gone), _) => Some(gone),
        (None, found) => found.and_then(of_response),
    };
    gone.map(|gone| first_found(history, url, gone)).transpose()
}

/// The newest version until an instant.
fn newest_version(history: &HistoryReader, time: Moment) -> Result<Option<VersionId>, ArchiveError> {
    let filter = VersionFilter { until: Some(time), ..VersionFilter::default() };
    let found = history.catalog().versions(&filter, ListCursor::first(1))?;
    Ok(found.first().map(|info| info.version.id))
}

/// The state of a page, under the first spelling that has one.
fn state_of(
    history: &HistoryReader,
    url: &str,
    version: &VersionId,
) -> Result<Option<PageState>, ArchiveError> {
    first_kept(history, url, |spelling| {
        Ok(history.catalog().states_of(version, &[spelling], UrlMatch::SamePage)?.pop().flatten())
    })
}

/// The page of a state that says it is gone. `None` if the version that says so is not known.
fn gone_by_state(history: &HistoryReader, state: PageState) -> Result<Option<GonePage>, ArchiveError> {
    let last = state.capture.filter(|_| !state.is_hidden);
    let found_by = Some(state.said_by);
    if let Some(response) = state.evidence {
        let (since, status) = (response.time, Some(response.status));
        return Ok(Some(GonePage { since, status, found_by, last }));
    }
    let info = history.catalog().version(&state.said_by)?;
    Ok(info.map(|info| GonePage { since: info.version.time, status: None, found_by, last }))
}

/// The page of a response, if that says it is gone.
fn of_response(found: &Capture) -> Option<GonePage> {
    is_gone(found).then(|| of_gone(found))
}

/// The page of a response that says it is gone.
fn of_gone(response: &Capture) -> GonePage {
    let (status, found_by) = (Some(response.status), version_of(response));
    GonePage { since: response.time, status, found_by, last: None }
}

fn is_gone(response: &Capture) -> bool {
    Presence::of_status(response.status) == Presence::Gone
}

/// Goes back from the latest evidence over earlier responses that say the same, to the first, and
/// to the page before it.
fn first_found(history: &HistoryReader, url: &str, mut gone: GonePage) -> Result<GonePage, ArchiveError> {
    let filter = CaptureFilter { until: Some(gone.since), ..CaptureFilter::default() };
    let before = at_address(history, url, |spellings| {
        let mut after: Option<Capture> = None;
        loop {
            let page = ListCursor { after: after.as_ref(), limit: CAPTURES_PER_QUERY };
            let order = TimeOrder::NewestFirst;
            let captures = history.catalog().captures_of_any(spellings, &filter, order, page)?;
            for capture in &captures {
                match Presence::of_status(capture.status) {
                    Presence::Gone => gone = GonePage { last: gone.last.take(), ..of_gone(capture) },
                    Presence::Unreachable { .. } => {}
                    Presence::Present => return Ok(Some(capture.clone())),
                }
            }
            if captures.len() < CAPTURES_PER_QUERY {
                return Ok(None);
            }
            after = captures.into_iter().last();
        }
    })?;
    if let Some(before) = before.filter(|_| gone.last.is_none())
        && removal_of(history, &before)?.is_none()
    {
        gone.last = Some(before);
    }
    Ok(gone)
}
