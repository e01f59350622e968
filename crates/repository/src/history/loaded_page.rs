//! A page in memory: its body, up to a limit, and its headers.

use std::io::Read;

use varve_core::headers::HeaderView;
use varve_core::history::{Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_diff::compare::CaptureSide;

use super::{HistoryReader, removal_of};
use crate::body_failure::BodyFailure;
use crate::error::RepositoryError;

/// The status of a response to a conditional request when nothing changed.
pub const STATUS_NOT_MODIFIED: u16 = 304;
/// Maximum number of captures searched for one with all headers.
const MAX_CAPTURES_SEARCHED: usize = 100;
/// The status assumed for the earlier response, if that is not known.
const STATUS_OK: u16 = 200;

/// Maximum size of a body that is read at once instead of as a stream.
const MAX_BUFFERED_BYTES: u64 = 4 << 20;

/// Maximum size of a body that is compared by content.
pub const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// A page in memory; empty if there is no page.
#[derive(Default)]
pub struct LoadedPage {
    /// The response headers.
    pub headers: HeaderView,
    /// The body, up to the requested limit.
    pub body: Vec<u8>,
    /// Why the body could not be read, if the page has one.
    pub failure: Option<BodyFailure>,
}

impl LoadedPage {
    /// Reads a page, with at most `most` bytes of its body.
    pub fn of(
        history: &HistoryReader,
        capture: Option<&Capture>,
        most: u64,
    ) -> Result<Self, RepositoryError> {
        let Some(capture) = capture else { return Ok(Self::default()) };
        let mut body = Vec::new();
        let is_short = capture.length.is_some_and(|length| length <= most.min(MAX_BUFFERED_BYTES));
        if is_short && matches!(history.read_body(capture, most.min(MAX_BUFFERED_BYTES), &mut body), Ok(true))
        {
            return Self::with_body(history, capture, body);
        }
        // Streamed, as far as it can be read.
        body.clear();
        let reader: Box<dyn Read + Send> = match history.open_body(capture) {
            Err(RepositoryError::Absent { .. }) => {
                return Self::without_body(history, capture, BodyFailure::Missing);
            }
            // A failed download is an empty page.
            Err(RepositoryError::DownloadFailed { .. }) => return Ok(Self::default()),
            other => other?,
        };
        reader
            .take(most)
            .read_to_end(&mut body)
            .map_err(|error| RepositoryError::Body(varve_core::body::BodyError::new(error)))?;
        Ok(Self { body, ..Self::head_of(history, Some(capture))? })
    }

    /// A page whose body was read already.
    pub fn with_body(
        history: &HistoryReader,
        capture: &Capture,
        body: Vec<u8>,
    ) -> Result<Self, RepositoryError> {
        Ok(Self { body, ..Self::head_of(history, Some(capture))? })
    }

    /// Reads a page as far as possible. A failure to read its body is recorded in `failure` and
    /// does not affect other pages.
    pub fn load_lossy(
        history: &HistoryReader,
        capture: Option<&Capture>,
        most: u64,
    ) -> Result<Self, RepositoryError> {
        let loaded = Self::of(history, capture, most);
        match (capture, loaded.as_ref().err().and_then(RepositoryError::body_failure)) {
            (Some(capture), Some(trouble)) => Self::without_body(history, capture, trouble),
            _ => loaded,
        }
    }

    fn without_body(
        history: &HistoryReader,
        capture: &Capture,
        trouble: BodyFailure,
    ) -> Result<Self, RepositoryError> {
        // If the body was removed, its headers were removed with it.
        let is_removed = trouble == BodyFailure::Missing && removal_of(history, capture)?.is_some();
        let head = if is_removed { Self::default() } else { Self::head_of(history, Some(capture))? };
        Ok(Self { failure: Some(trouble), ..head })
    }

    /// Reads only the headers of a page.
    pub fn head_of(history: &HistoryReader, capture: Option<&Capture>) -> Result<Self, RepositoryError> {
        let headers = capture.map(|capture| headers_of(history, capture)).transpose()?;
        Ok(Self { headers: headers.unwrap_or_default(), ..Self::default() })
    }

    /// The page as one side of a comparison.
    pub fn side<'a>(&'a self, id: &'a str) -> CaptureSide<'a> {
        CaptureSide { id, headers: &self.headers, body: &self.body, media_type: None }
    }

    /// Whether the body could not be read.
    pub const fn is_bodiless(&self) -> bool {
        self.failure.is_some()
    }
}

/// The headers of a page. A 304 response omits most headers, so they are taken from the last full
/// response.
pub fn headers_of(history: &HistoryReader, capture: &Capture) -> Result<HeaderView, RepositoryError> {
    let full = full_answer(history, capture)?;
    Ok(full.map_or_else(|| capture.headers.clone(), |full| full.headers))
}

/// Returns the capture with the full response: a 304 gets the status and headers of the response
/// that it confirms.
pub fn with_full_response(history: &HistoryReader, capture: Capture) -> Result<Capture, RepositoryError> {
    if capture.status != STATUS_NOT_MODIFIED {
        return Ok(capture);
    }
    Ok(match full_answer(history, &capture)? {
        Some(full) => Capture { status: full.status, headers: full.headers, ..capture },
        // The earlier response was not found, but a body shows that there was one.
        None if capture.length != Some(0) => Capture { status: STATUS_OK, ..capture },
        None => capture,
    })
}

/// The last full response that a 304 capture confirms.
fn full_answer(history: &HistoryReader, capture: &Capture) -> Result<Option<Capture>, RepositoryError> {
    if capture.status != STATUS_NOT_MODIFIED {
        return Ok(None);
    }
    let filter = CaptureFilter { until: Some(capture.time), ..CaptureFilter::default() };
    let page = ListCursor::first(MAX_CAPTURES_SEARCHED);
    let before = history.catalog().captures_of(&capture.url, &filter, TimeOrder::NewestFirst, page)?;
    let body = history.body_id(capture)?;
    Ok(before.into_iter().find(|one| one.status != STATUS_NOT_MODIFIED && one.body == body))
}
