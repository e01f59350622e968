//! A page in memory: its body, as far as it is looked at, and the headers that belong to it.

use std::io::Read;

use varve_core::headers::HeaderView;
use varve_core::history::{Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_diff::compare::CaptureSide;

use super::{HistoryReader, removal_of};
use crate::body_failure::BodyFailure;
use crate::error::RepositoryError;

/// What a server answers when nothing changed.
pub const STATUS_NOT_MODIFIED: u16 = 304;
/// So many captures are looked at for one that has all headers.
const MAX_CAPTURES_SEARCHED: usize = 100;
/// What it answered before, where that is not known.
const STATUS_OK: u16 = 200;

/// Bodies longer than this are not compared, only weighed.
pub const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// A page in memory; nothing at all where there is none.
#[derive(Default)]
pub struct LoadedPage {
    /// The response headers.
    pub headers: HeaderView,
    /// The body, up to the requested limit.
    pub body: Vec<u8>,
    /// The page is known, and its body cannot be had.
    pub failure: Option<BodyFailure>,
}

impl LoadedPage {
    /// Reads a page, of its body at most `most` bytes.
    pub fn of(
        holdings: &dyn HistoryReader,
        capture: Option<&Capture>,
        most: u64,
    ) -> Result<Self, RepositoryError> {
        let Some(capture) = capture else { return Ok(Self::default()) };
        let mut body = Vec::new();
        let reader: Box<dyn Read + Send> = match holdings.open_body(capture) {
            Err(RepositoryError::Absent { .. }) => {
                return Self::without_body(holdings, capture, BodyFailure::Missing);
            }
            // A download that failed is a page with nothing on it.
            Err(RepositoryError::DownloadFailed { .. }) => return Ok(Self::default()),
            other => other?,
        };
        reader
            .take(most)
            .read_to_end(&mut body)
            .map_err(|error| RepositoryError::Body(varve_core::body::BodyError::new(error)))?;
        Ok(Self { body, ..Self::head_of(holdings, Some(capture))? })
    }

    /// Reads a page as far as it can be read: what keeps its body from being read is said, and keeps nobody from the other pages.
    pub fn load_lossy(
        holdings: &dyn HistoryReader,
        capture: Option<&Capture>,
        most: u64,
    ) -> Result<Self, RepositoryError> {
        let loaded = Self::of(holdings, capture, most);
        match (capture, loaded.as_ref().err().and_then(RepositoryError::body_failure)) {
            (Some(capture), Some(trouble)) => Self::without_body(holdings, capture, trouble),
            _ => loaded,
        }
    }

    fn without_body(
        holdings: &dyn HistoryReader,
        capture: &Capture,
        trouble: BodyFailure,
    ) -> Result<Self, RepositoryError> {
        // With a body that was taken out, what was said beside it went.
        let is_removed = trouble == BodyFailure::Missing && removal_of(holdings, capture)?.is_some();
        let head = if is_removed { Self::default() } else { Self::head_of(holdings, Some(capture))? };
        Ok(Self { failure: Some(trouble), ..head })
    }

    /// Reads the headers of a page, and no body.
    pub fn head_of(holdings: &dyn HistoryReader, capture: Option<&Capture>) -> Result<Self, RepositoryError> {
        let headers = capture.map(|capture| headers_of(holdings, capture)).transpose()?;
        Ok(Self { headers: headers.unwrap_or_default(), ..Self::default() })
    }

    /// The page as one side of a comparison.
    pub fn side<'a>(&'a self, id: &'a str) -> CaptureSide<'a> {
        CaptureSide { id, headers: &self.headers, body: &self.body, media_type: None }
    }

    /// Whether there is no body to look at.
    pub const fn is_bodiless(&self) -> bool {
        self.failure.is_some()
    }
}

/// The headers of a page. A server that says that nothing changed leaves most of them out: then they are those of the
/// last answer that had them.
pub fn headers_of(holdings: &dyn HistoryReader, capture: &Capture) -> Result<HeaderView, RepositoryError> {
    let full = full_answer(holdings, capture)?;
    Ok(full.map_or_else(|| capture.headers.clone(), |full| full.headers))
}

/// A capture as if its server had said all of it: where it said that nothing changed, with the status and the headers of
/// what had not changed.
pub fn with_full_response(
    holdings: &dyn HistoryReader,
    capture: Capture,
) -> Result<Capture, RepositoryError> {
    if capture.status != STATUS_NOT_MODIFIED {
        return Ok(capture);
    }
    Ok(match full_answer(holdings, &capture)? {
        Some(full) => Capture { status: full.status, headers: full.headers, ..capture },
        // The answer before is out of sight. That there is a body shows that there was one.
        None if capture.length != Some(0) => Capture { status: STATUS_OK, ..capture },
        None => capture,
    })
}

/// The last answer that a capture repeats without saying it.
fn full_answer(holdings: &dyn HistoryReader, capture: &Capture) -> Result<Option<Capture>, RepositoryError> {
    if capture.status != STATUS_NOT_MODIFIED {
        return Ok(None);
    }
    let filter = CaptureFilter { until: Some(capture.time), ..CaptureFilter::default() };
    let page = ListCursor::first(MAX_CAPTURES_SEARCHED);
    let before = holdings.catalog().captures_of(&capture.url, &filter, TimeOrder::NewestFirst, page)?;
    Ok(before.into_iter().find(|one| one.status != STATUS_NOT_MODIFIED && one.body == capture.body))
}
