//! Extractions of earlier captures. They are computed when asked for, and not saved.

use serde::Serialize;
use serde_json::{Map, Value};
use varve_core::history::{Capture, CaptureFilter, CaptureOwner};
use varve_core::url::{request_url, resolve};
use varve_core::{BodyId, CaptureId, Moment, VersionId};
use varve_extract::{ExtractOptions, ExtractedPage};
use varve_repository::history::HistoryReader;

use super::PageError;
use super::read_page;
use super::url_request::UrlRequest;
use crate::error::ArchiveError;
use crate::verbs::cat::{CaptureSelector, find};
use crate::verbs::log::at_address;
use crate::verbs::page_events::all_captures;

/// Maximum number of redirects in a row.
const MAX_REDIRECTS: usize = 10;
/// Fields that every fetch changes.
const FIELDS_OF_FETCH: [&str; 4] = ["fetch_time", "fetch_method", "requested_url", "original_url"];

/// A field of a page object that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The name of the field, as in the page object.
    pub field: String,
    /// Its value before; `None` if it was absent.
    pub before: Option<serde_json::Value>,
    /// Its value since; `None` if it is absent.
    pub after: Option<serde_json::Value>,
}

/// The fields of a page that changed with one capture. The first capture of a page sets all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageChanges {
    /// When the page was captured.
    pub time: Moment,
    /// The version that the capture belongs to.
    pub version: Option<VersionId>,
    /// The capture.
    pub capture: CaptureId,
    /// The status of the response.
    pub status: u16,
    /// The fields, in the order of the page object.
    pub changes: Vec<FieldChange>,
}

/// What a page said at an instant. Redirects of that time are followed.
pub(super) fn at(
    history: &HistoryReader,
    url: &str,
    at: Moment,
    options: &ExtractOptions,
) -> Result<ExtractedPage, PageError> {
    selected(history, url, &CaptureSelector::Time(at), options)
}

/// What the capture of a page said that a selector selects.
pub fn selected(
    history: &HistoryReader,
    url: &str,
    selector: &CaptureSelector,
    options: &ExtractOptions,
) -> Result<ExtractedPage, PageError> {
    let request = UrlRequest::parse(url)?;
    let mut next = request.original.clone();
    for _ in 0..=MAX_REDIRECTS {
        let capture = find(history, &next, selector).map_err(|error| no_capture(error, selector))?;
        match redirect_of(&capture) {
            Some(target) => next = target,
            None => {
                let page = read_page::of_capture(history, &capture, options)?.page;
                let (requested_url, original_url) = (Some(request.cleaned.url), Some(request.original));
                return Ok(ExtractedPage { requested_url, original_url, ..page });
            }
        }
    }
    Err(PageError::Redirects { url: url.to_owned(), is_endless: true })
}

fn no_capture(error: ArchiveError, selector: &CaptureSelector) -> PageError {
    match (error, selector) {
        (ArchiveError::NoCapture { url, .. }, CaptureSelector::Time(at)) => {
            PageError::NoCapture { url, at: Some(*at) }
        }
        (ArchiveError::NoCapture { url, .. }, _) => PageError::NoCapture { url, at: None },
        (error, _) => error.into(),
    }
}

/// The target of a captured redirect.
fn redirect_of(capture: &Capture) -> Option<String> {
    let is_redirect = matches!(capture.status, 301 | 302 | 303 | 307 | 308);
    let location = capture.headers.get("location").filter(|_| is_redirect)?.first()?;
    resolve(&capture.url, location.trim()).ok().as_deref().and_then(request_url)
}

/// Which fields of a page changed with which capture.
pub(super) fn history(
    history: &HistoryReader,
    url: &str,
    options: &ExtractOptions,
) -> Result<Vec<PageChanges>, PageError> {
    let request = UrlRequest::parse(url)?;
    let captures = at_address(history, &request.original, |spellings| {
        let first = spellings.first().copied().unwrap_or(url);
        let captures = all_captures(history, first, &CaptureFilter::default()).map_err(ArchiveError::from)?;
        Ok(Some(captures).filter(|captures| !captures.is_empty()))
    })?;
    let captures = captures.ok_or_else(|| PageError::NoCapture { url: url.to_owned(), at: None })?;
    let mut found = Vec::new();
    let mut before: Option<(u16, BodyId)> = None;
    let mut fields = Map::new();
    for capture in captures {
        let state = (capture.status, history.body_id(&capture)?);
        let is_unchanged = before
            .is_some_and(|(status, body)| body == state.1 && (capture.status == 304 || status == state.0));
        if is_unchanged || redirect_of(&capture).is_some() {
            continue;
        }
        before = Some(state);
        let now = fields_of(history, &capture, options)?;
        let changes = changes_of(&fields, &now);
        fields = now;
        if !changes.is_empty() {
            let version = match capture.owner {
                CaptureOwner::Version(version) => Some(version),
                CaptureOwner::Run(_) => None,
            };
            let Capture { id, time, status, .. } = capture;
            found.push(PageChanges { time, version, capture: id, status, changes });
        }
    }
    Ok(found)
}

/// The fields of a page object, also of one that could not be read whole.
fn fields_of(
    history: &HistoryReader,
    capture: &Capture,
    options: &ExtractOptions,
) -> Result<Map<String, Value>, PageError> {
    let page = match read_page::of_capture(history, capture, options) {
        Ok(read) => read.page,
        Err(error) => error.page().cloned().ok_or(error)?,
    };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(page) else { return Ok(Map::new()) };
    FIELDS_OF_FETCH.iter().for_each(|field| _ = fields.shift_remove(*field));
    Ok(fields)
}

fn changes_of(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<FieldChange> {
    let added =
        after.iter().filter(|(field, value)| before.get(*field) != Some(*value)).map(|(field, value)| {
            let before = before.get(field).cloned();
            FieldChange { field: field.clone(), before, after: Some(value.clone()) }
        });
    let removed = before
        .iter()
        .filter(|(field, _)| !after.contains_key(*field))
        .map(|(field, value)| FieldChange { field: field.clone(), before: Some(value.clone()), after: None });
    added.chain(removed).collect()
}
