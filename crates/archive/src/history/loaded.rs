//! A page in memory: its body, as far as it is looked at, and the headers that belong to it.

use std::io::Read;

use varve_catalog::{CaptureFilter, Order, Page};
use varve_core::headers::HeaderView;
use varve_core::history::Capture;

use super::Holdings;
use crate::error::ArchiveError;

/// What a server answers when nothing changed.
pub(crate) const NOT_MODIFIED: u16 = 304;
/// So many captures are looked at for one that has all headers.
const LOOK_BACK: usize = 100;

/// A page in memory; nothing at all where there is none.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) headers: HeaderView,
    pub(crate) body: Vec<u8>,
    /// The page is known, but its body is not here: taken out by a rewrite, or lost, which audit tells apart.
    pub(crate) absent: bool,
}

impl Loaded {
    /// Reads a page, of its body at most `most` bytes.
    pub(crate) fn of(
        holdings: &dyn Holdings,
        capture: Option<&Capture>,
        most: u64,
    ) -> Result<Self, ArchiveError> {
        let Some(capture) = capture else { return Ok(Self::default()) };
        let mut body = Vec::new();
        let reader: Box<dyn Read + Send> = match holdings.open_body(capture) {
            Err(ArchiveError::Absent { .. }) => {
                return Ok(Self { headers: headers_of(holdings, capture)?, body, absent: true });
            }
            // A download that failed is a page with nothing on it.
            Err(ArchiveError::DownloadFailed { .. }) => return Ok(Self::default()),
            other => other?,
        };
        reader
            .take(most)
            .read_to_end(&mut body)
            .map_err(|error| ArchiveError::Body(varve_core::body::BodyError::new(error)))?;
        Ok(Self { headers: headers_of(holdings, capture)?, body, absent: false })
    }
}

/// The headers of a page. A server that says that nothing changed leaves most of them out: then they are those of the
/// last answer that had them.
pub(crate) fn headers_of(holdings: &dyn Holdings, capture: &Capture) -> Result<HeaderView, ArchiveError> {
    if capture.status != NOT_MODIFIED {
        return Ok(capture.headers.clone());
    }
    let filter = CaptureFilter { until: Some(capture.time), ..CaptureFilter::default() };
    let page = Page::first(LOOK_BACK);
    let before = holdings.catalog().captures_of(&capture.url, &filter, Order::NewestFirst, page)?;
    let full = before.into_iter().find(|one| one.status != NOT_MODIFIED && one.body == capture.body);
    Ok(full.map_or_else(|| capture.headers.clone(), |full| full.headers))
}
