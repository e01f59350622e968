//! `cat`: outputs a page as it was captured.

use std::io::{self, Read};
use varve_repository::RepositoryError;

use varve_catalog::{CatalogRead, UrlMatch};
use varve_core::history::{
    Capture, CaptureChoice, CaptureFilter, CaptureOwner, ListCursor, PageState, Presence, TimeOrder,
};
use varve_core::{CheckId, Moment, VersionId};

use super::log::{at_address, first_kept, spellings};
use crate::error::ArchiveError;
use varve_repository::history::{
    HistoryReader, evidence_of, known_version, named_check, named_version, parse_version_time,
    resolve_version,
};
pub use varve_repository::history::{open_body_or_removal as body, removal_of};

/// Number of captures read per query, after the first.
const CAPTURES_PER_QUERY: usize = 20;

/// Which capture of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureSelector {
    /// The newest capture.
    Newest,
    /// The newest capture with a successful response; if there is none, the newest.
    NewestGood,
    /// The newest capture that is not after this instant.
    Time(Moment),
    /// The capture in this version, or the one that its state shows.
    Version(VersionId),
    /// The response that decided the verdict of this check.
    Check(CheckId),
}

/// Parses a user's text: a version name, a check, or a time. One step back from a time is a version
/// again.
pub fn at(history: &HistoryReader, text: &str) -> Result<CaptureSelector, ArchiveError> {
    if let Some(check) = check_named(history, text)? {
        return Ok(CaptureSelector::Check(check));
    }
    match (named_version(history, text)?, parse_version_time(text)) {
        (Some(version), _) => Ok(CaptureSelector::Version(known_version(history, &version)?.version.id)),
        (None, Some(time)) => Ok(CaptureSelector::Time(time)),
        (None, None) => Ok(CaptureSelector::Version(resolve_version(history, text)?)),
    }
}

/// The check with this id or beginning of an id, unless a version has that name.
pub fn check_named(history: &HistoryReader, text: &str) -> Result<Option<CheckId>, ArchiveError> {
    let Some(check) = named_check(history, text)? else { return Ok(None) };
    Ok(named_version(history, text)?.is_none().then_some(check))
}

/// The response that decided the verdict of a check on a URL.
fn in_check(history: &HistoryReader, url: &str, check: &CheckId) -> Result<Option<Capture>, ArchiveError> {
    for spelling in spellings(url) {
        let verdicts = history.catalog().verdicts_of(&spelling, usize::MAX)?;
        if let Some(verdict) = verdicts.iter().find(|verdict| verdict.check == *check) {
            return Ok(evidence_of(history, verdict)?);
        }
    }
    Ok(None)
}

/// The capture of a URL that the selector selects.
pub fn find(history: &HistoryReader, url: &str, at: &CaptureSelector) -> Result<Capture, ArchiveError> {
    let found = match at {
        CaptureSelector::Check(check) => in_check(history, url, check)?,
        _ => at_address(history, url, |spellings| find_spelled(history, (url, spellings), at))?,
    };
    if let Some(capture) = found {
        return Ok(capture);
    }
    let at = match at {
        CaptureSelector::Newest | CaptureSelector::NewestGood => None,
        CaptureSelector::Time(time) => Some(format!("at {time} or before")),
        CaptureSelector::Version(version) => {
            let state = history.catalog().states_of(version, &[url], UrlMatch::SamePage)?.pop().flatten();
            let is_gone = state.is_some_and(|page| page.presence == Presence::Gone);
            Some(format!("in version {version}{}", if is_gone { ", where it is gone" } else { "" }))
        }
        CaptureSelector::Check(check) => Some(format!("in check {check}")),
    };
    Err(ArchiveError::NoCapture { url: url.to_owned(), at })
}

/// The capture of a URL that is stored under these spellings.
fn find_spelled(
    history: &HistoryReader,
    (url, spellings): (&str, &[&str]),
    at: &CaptureSelector,
) -> Result<Option<Capture>, ArchiveError> {
    let catalog = history.catalog();
    let until = match at {
        CaptureSelector::Version(version) => return in_version(history, (url, spellings), version),
        CaptureSelector::NewestGood => {
            let found = newest_good(catalog, spellings)?;
            let found = in_last_version(history, spellings, found, Capture::is_good)?;
            return found.map(|found| as_asked(catalog, url, found, Capture::is_good)).transpose();
        }
        CaptureSelector::Time(time) => Some(*time),
        CaptureSelector::Newest | CaptureSelector::Check(_) => None,
    };
    let filter = CaptureFilter { until, ..CaptureFilter::default() };
    let found = catalog.captures_of_any(spellings, &filter, TimeOrder::NewestFirst, ListCursor::first(1))?;
    let is_in_time = |capture: &Capture| until.is_none_or(|until| capture.time <= until);
    let mut found = found.into_iter().next();
    if until.is_none() {
        found = in_last_version(history, spellings, found, |_| true)?;
    }
    found.map(|found| as_asked(catalog, url, found, is_in_time)).transpose()
}

/// Corrects the capture with the latest time by the order of versions.
///
/// A capture cannot be later than the version that HEAD names. If it seems so, the clock was ahead
/// when it was made, and its time says nothing about its order. Then the first version from HEAD
/// backwards with a wanted capture of the page decides. Without such a clock this costs one lookup.
fn in_last_version(
    history: &HistoryReader,
    spellings: &[&str],
    found: Option<Capture>,
    is_wanted: impl Fn(&Capture) -> bool,
) -> Result<Option<Capture>, ArchiveError> {
    let Some(found) = found else { return Ok(None) };
    let CaptureOwner::Version(owner) = found.owner else { return Ok(Some(found)) };
    if !history.has_versions() {
        return Ok(Some(found));
    }
    let catalog = history.catalog();
    let mut next = history.head()?;
    let mut is_ahead = None;
    while let Some(version) = next.filter(|version| *version != owner) {
        let Some(info) = catalog.version(&version)? else { break };
        if !*is_ahead.get_or_insert(found.time > info.version.time) {
            break;
        }
        let captures = catalog.captures_of_any_in(&version, spellings)?;
        if let Some(capture) = newest_of(captures.into_iter().filter(&is_wanted).collect()) {
            return Ok(Some(capture));
        }
        next = info.version.parent;
    }
    Ok(Some(found))
}

/// The capture in a version.
fn in_version(
    history: &HistoryReader,
    (url, spellings): (&str, &[&str]),
    version: &VersionId,
) -> Result<Option<Capture>, ArchiveError> {
    let catalog = history.catalog();
    if !history.has_versions() {
        // Such a layout has URLs instead of paths, and itself decides which URLs are equivalent.
        let spelling = spellings.first().copied().unwrap_or(url);
        return Ok(catalog.captures_at_path(version, spelling)?.into_iter().next());
    }
    let path = varve_repository::page_path::page_path(url);
    let mut found = catalog.captures_at_path(version, &path)?;
    // A Moku site has no queries in its paths.
    if let Some((bare, _)) = path.split_once('?').filter(|_| found.is_empty()) {
        found = catalog.captures_at_path(version, bare)?;
    }
    found.retain(|capture| spellings.contains(&capture.url.as_str()));
    if found.is_empty() {
        // Its path may have been written differently, as Moku does with dots.
        found = catalog.captures_of_any_in(version, spellings)?;
    }
    // A version may hold several captures of a page, for example after the import of a project.
    // They are ordered oldest first.
    if found.is_empty() {
        // The version did not capture the page, and has it as it was before.
        let stored = spellings.first().copied().unwrap_or(url);
        let state = catalog.states_of(version, &[stored], UrlMatch::SamePage)?.pop().flatten();
        return Ok(state.and_then(PageState::into_shown));
    }
    let exactly = found.iter().rposition(|capture| capture.url == url);
    Ok(exactly.map(|place| found.swap_remove(place)).or_else(|| newest_of(found)))
}

/// The newest capture; the last one if several have the same time.
fn newest_of(captures: Vec<Capture>) -> Option<Capture> {
    captures.into_iter().max_by_key(|capture| capture.time)
}

/// Prefers the capture with the requested spelling if the same version or run has one, since a site
/// may redirect from one spelling to the other. Otherwise returns `found`.
fn as_asked(
    catalog: &dyn CatalogRead,
    url: &str,
    found: Capture,
    is_wanted: impl Fn(&Capture) -> bool,
) -> Result<Capture, ArchiveError> {
    if found.url == url {
        return Ok(found);
    }
    let filter = CaptureFilter { until: Some(found.time), ..CaptureFilter::default() };
    let exactly =
        catalog.captures_of(url, &filter, TimeOrder::NewestFirst, ListCursor::first(1))?.into_iter().next();
    Ok(exactly.filter(|exactly| exactly.owner == found.owner && is_wanted(exactly)).unwrap_or(found))
}

/// The newest successful capture; if there is none, the newest. It is mostly the first, so the
/// others are only queried if it is not.
fn newest_good(catalog: &dyn CatalogRead, spellings: &[&str]) -> Result<Option<Capture>, ArchiveError> {
    let mut last: Option<Capture> = None;
    let mut limit = 1;
    let mut ready = Vec::new().into_iter();
    let captures = std::iter::from_fn(|| {
        if let Some(capture) = ready.next() {
            return Some(Ok(capture));
        }
        let page = ListCursor { after: last.as_ref(), limit };
        match catalog.captures_of_any(spellings, &CaptureFilter::default(), TimeOrder::NewestFirst, page) {
            Ok(found) => {
                limit = CAPTURES_PER_QUERY;
                last = found.last().cloned();
                ready = found.into_iter();
                ready.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    });
    Ok(CaptureChoice::NewestGood.choose(captures, |capture| Ok(capture.is_good()))?)
}

/// Like [`find`], but if a purge removed the capture, the error says so.
pub fn look_up(history: &HistoryReader, url: &str, at: &CaptureSelector) -> Result<Capture, ArchiveError> {
    let missing = match find(history, url, at) {
        Err(missing @ ArchiveError::NoCapture { .. }) => missing,
        found => return found,
    };
    let run = match at {
        CaptureSelector::Version(version) => history.catalog().version(version)?.map(|info| info.version.run),
        _ => None,
    };
    let removed = first_kept(history, url, |spelling| {
        let mut removals = history.catalog().removals_at(spelling, CAPTURES_PER_QUERY)?.into_iter();
        // The run that a version was made from is known.
        Ok(removals.find(|removal| run.is_none_or(|run| run == removal.tombstone.run)))
    })?;
    Err(match removed {
        Some(removal) => RepositoryError::Removed { url: url.to_owned(), removal: Box::new(removal) }.into(),
        None => missing,
    })
}

/// The response as received, if it is stored; otherwise a generated head and the body.
pub fn wire(history: &HistoryReader, capture: &Capture) -> Result<Box<dyn Read + Send>, ArchiveError> {
    // Returns the error for a removed capture.
    let body = body(history, capture)?;
    match history.open_wire(capture)? {
        Some(wire) => Ok(wire),
        None => Ok(Box::new(io::Cursor::new(head(history, capture)?).chain(body))),
    }
}

/// The head of the response: as received if it is stored, otherwise as far as the rows have it.
/// Returns an error for a removed capture, because the head was removed with the body.
pub fn head(history: &HistoryReader, capture: &Capture) -> Result<Vec<u8>, ArchiveError> {
    if let Some(removal) = removal_of(history, capture)? {
        return Err(RepositoryError::Removed { url: capture.url.clone(), removal: Box::new(removal) }.into());
    }
    if let Some(head) = history.wire_head(capture)? {
        return Ok(head);
    }
    let mut text = format!("HTTP/1.1 {}\r\n", capture.status);
    for (name, value) in capture.headers.shown(history.redaction()).pairs() {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    Ok(text.into_bytes())
}

/// The version of a capture; `None` if its run has become none.
pub fn version_of(capture: &Capture) -> Option<VersionId> {
    match capture.owner {
        CaptureOwner::Version(version) => Some(version),
        CaptureOwner::Run(_) => None,
    }
}
