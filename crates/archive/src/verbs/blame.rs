//! `blame`: which version brought each passage of a page.
//!
//! A body is read once for each change of the page, however many versions have it. Bodies are read
//! one after another, so memory holds one of them and the different items of all.

use varve_core::VersionId;
use varve_core::history::{Capture, CaptureOwner, Version};
use varve_page::charset::decode;
use varve_repository::RepositoryError;
use varve_repository::history::{HistoryReader, LoadedPage, open_body_or_removal};
use varve_repository::search::page_text;
use varve_search::attribute;

use super::log::at_address;
use super::page_events::captures_up_to;
use crate::error::ArchiveError;

pub use varve_search::{Attributed, Passage, PassageKind};

/// Maximum number of bytes of a body that are attributed.
const MAX_BLAMED_BYTES: u64 = 64 << 20;

/// The items of a page that are attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlameUnit {
    /// Passages of its text.
    Passages,
    /// Lines of its source.
    Lines,
}

/// The page and the state to look at.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL, in any spelling.
    pub url: String,
    /// The version whose state is shown.
    pub version: VersionId,
    /// The items.
    pub unit: BlameUnit,
}

/// An attributed page.
#[derive(Clone, Debug)]
pub struct Report {
    /// The capture that is shown.
    pub capture: Capture,
    /// The captures that changed the page, oldest first, each with its version.
    pub origins: Vec<BlameOrigin>,
    /// The items, each with the place of its origin in `origins`.
    pub items: Vec<Attributed<Passage>>,
    /// The earlier captures that changed the page and cannot be read. What they brought is attributed
    /// to a later one.
    pub unreadable: Vec<Capture>,
}

/// A capture that changed a page.
#[derive(Clone, Debug)]
pub struct BlameOrigin {
    /// The capture.
    pub capture: Capture,
    /// Its version, if the layout keeps versions.
    pub version: Option<Version>,
}

/// Attributes the items of a page.
pub fn blame(history: &HistoryReader, request: &Request) -> Result<Report, ArchiveError> {
    let Request { url, version, unit } = request;
    let captures = at_address(history, url, |spellings| {
        let first = spellings.first().copied().unwrap_or(url);
        Ok(Some(captures_up_to(history, version, first)?).filter(|captures| !captures.is_empty()))
    })?;
    let no_capture =
        || ArchiveError::NoCapture { url: url.clone(), at: Some(format!("in version {version}")) };
    let captures = captures.ok_or_else(no_capture)?;
    let capture = captures.last().cloned().ok_or_else(no_capture)?;
    // Without the shown body there is nothing to attribute.
    drop(open_body_or_removal(history, &capture)?);
    let changes = changes_of(history, captures)?;
    let shown = changes.len().saturating_sub(1);
    let (mut origins, mut unreadable) = (Vec::new(), Vec::new());
    let mut read = |(place, capture): (usize, Capture)| {
        let loaded = match place == shown {
            true => LoadedPage::of(history, Some(&capture), MAX_BLAMED_BYTES)?,
            false => LoadedPage::load_lossy(history, Some(&capture), MAX_BLAMED_BYTES)?,
        };
        if loaded.is_bodiless() {
            unreadable.push(capture);
            return Ok(None);
        }
        origins.push(BlameOrigin { version: version_of(history, &capture)?, capture });
        Ok::<_, RepositoryError>(Some(items_of(&loaded, *unit)))
    };
    let lists = changes.into_iter().enumerate().filter_map(|change| read(change).transpose());
    let items = attribute(lists)?;
    Ok(Report { capture, origins, items, unreadable })
}

/// The captures whose body is not that of the capture before.
fn changes_of(history: &HistoryReader, captures: Vec<Capture>) -> Result<Vec<Capture>, RepositoryError> {
    let (mut changes, mut before) = (Vec::new(), None);
    for capture in captures {
        let body = history.body_id(&capture)?;
        if before.replace(body) != Some(body) {
            changes.push(capture);
        }
    }
    Ok(changes)
}

fn version_of(history: &HistoryReader, capture: &Capture) -> Result<Option<Version>, RepositoryError> {
    match capture.owner {
        CaptureOwner::Version(version) if history.has_versions() => {
            Ok(history.catalog().version(&version)?.map(|info| info.version))
        }
        _ => Ok(None),
    }
}

/// The items of a page.
fn items_of(loaded: &LoadedPage, unit: BlameUnit) -> Vec<Passage> {
    let content_type = loaded.headers.get("content-type").and_then(|values| values.first());
    let content_type = content_type.map(String::as_str);
    match unit {
        BlameUnit::Passages => page_text(&loaded.body, content_type).map_or(Vec::new(), |text| text.passages),
        BlameUnit::Lines => {
            let line = |line: &str| Passage { kind: PassageKind::Text, text: line.to_owned() };
            decode(&loaded.body, content_type).text.lines().map(line).collect()
        }
    }
}
