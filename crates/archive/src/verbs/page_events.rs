//! The captures of a page that lead to its state at a version, and the state before a version.
//!
//! Follows the parents of versions, so a page on a branch has the history of that branch. The cost is
//! that of the captures of the page, not of the versions.

use varve_catalog::UrlMatch;
use varve_core::VersionId;
use varve_core::history::{Capture, CaptureFilter, CaptureOwner, ListCursor, PageState, TimeOrder};
use varve_repository::RepositoryError;
use varve_repository::history::HistoryReader;

/// The page at `url` in the state of a version.
pub(crate) fn state_at(
    history: &HistoryReader,
    version: &VersionId,
    url: &str,
) -> Result<Option<PageState>, RepositoryError> {
    Ok(history.catalog().states_of(version, &[url], UrlMatch::SamePage)?.pop().flatten())
}

/// The page in the state of the parent of a version.
pub(crate) fn state_before(
    history: &HistoryReader,
    version: &VersionId,
    url: &str,
) -> Result<Option<PageState>, RepositoryError> {
    let parent = history.catalog().version(version)?.and_then(|info| info.version.parent);
    parent.map_or(Ok(None), |parent| state_at(history, &parent, url))
}

/// All captures of a page by time, oldest first.
pub(crate) fn all_captures(
    history: &HistoryReader,
    url: &str,
    filter: &CaptureFilter,
) -> Result<Vec<Capture>, RepositoryError> {
    let mut spellings = history.catalog().spellings_of(url)?;
    if spellings.is_empty() {
        spellings.push(url.to_owned());
    }
    let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
    let all = ListCursor::first(usize::MAX);
    Ok(history.catalog().captures_of_any(&spellings, filter, TimeOrder::OldestFirst, all)?)
}

/// The captures that showed a page, up to its state at a version, oldest first. Captures that a purge
/// hides are left out.
pub(crate) fn captures_up_to(
    history: &HistoryReader,
    version: &VersionId,
    url: &str,
) -> Result<Vec<Capture>, RepositoryError> {
    let mut captures = Vec::new();
    let mut state = state_at(history, version, url)?;
    if !history.has_versions() {
        let until = state.and_then(|state| state.capture).map(|capture| capture.time);
        return all_captures(history, url, &CaptureFilter { until, ..CaptureFilter::default() });
    }
    while let Some(capture) = state.as_ref().and_then(|state| state.capture.clone()) {
        let CaptureOwner::Version(owner) = capture.owner else { break };
        if !state.is_some_and(|state| state.is_hidden) {
            captures.push(capture);
        }
        state = state_before(history, &owner, url)?;
    }
    captures.reverse();
    Ok(captures)
}
