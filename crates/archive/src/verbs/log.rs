//! `log`: the versions, newest first, or the captures of one URL.

use varve_core::history::Capture;
use varve_core::url::{clean, normalise};

use crate::error::ArchiveError;
use crate::history::Holdings;

pub use varve_catalog::{CaptureFilter, Order, Page, VersionFilter, VersionInfo};

/// Versions, newest first.
pub fn versions(
    holdings: &dyn Holdings,
    filter: &VersionFilter,
    page: Page<varve_core::VersionId>,
) -> Result<Vec<VersionInfo>, ArchiveError> {
    Ok(holdings.catalog().versions(filter, page)?)
}

/// Captures of a URL, newest first. The URL may be spelled in any way that varve takes for the same.
pub fn captures(
    holdings: &dyn Holdings,
    url: &str,
    filter: &CaptureFilter,
    page: Page<&Capture>,
) -> Result<Vec<Capture>, ArchiveError> {
    for spelling in spellings(url) {
        let found = holdings.catalog().captures_of(&spelling, filter, Order::NewestFirst, page)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The texts under which a URL may have been kept, the likeliest first.
pub(crate) fn spellings(url: &str) -> Vec<String> {
    let mut spellings = vec![url.to_owned()];
    let others = [clean(url).ok(), normalise(url).ok(), clean(url).ok().and_then(|url| normalise(&url).ok())];
    for other in others.into_iter().flatten() {
        if !spellings.contains(&other) {
            spellings.push(other);
        }
    }
    spellings
}
