//! Which captures are exported.

use varve_catalog::UrlMatch;
use varve_core::VersionId;
use varve_core::history::{Capture, CaptureFilter, ListCursor, PageState, TimeOrder};
use varve_repository::history::{HistoryReader, StatePages, VersionPages};

use super::page_resources::PageResources;
use crate::error::ArchiveError;
use crate::verbs::log::at_address;

/// Number of captures or URLs per query.
const ROWS_PER_QUERY: usize = 500;

/// The captures to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSelection {
    /// Of which time.
    pub scope: ExportScope,
    /// Of which pages.
    pub pages: ExportPages,
}

/// The part of history to export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportScope {
    /// The state of a version: of each page the newest capture up to it.
    State(VersionId),
    /// What a version captured itself.
    Captures(VersionId),
    /// All captures.
    Ever,
}

/// The pages to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportPages {
    /// All.
    All,
    /// Those with these URLs, in any of their spellings.
    Urls(Vec<String>),
    /// Those with these URLs, and the captured resources that they embed.
    Documents(Vec<String>),
    /// Those of this host.
    Host(String),
    /// These captures, which were found otherwise.
    Found(Vec<Capture>),
}

/// Calls `each` with the selected captures.
pub(super) fn each_capture(
    history: &HistoryReader,
    selection: &ExportSelection,
    each: &mut dyn FnMut(Capture) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    match &selection.pages {
        ExportPages::All => all(history, selection.scope, each),
        ExportPages::Found(captures) => captures.iter().cloned().try_for_each(each),
        ExportPages::Urls(urls) => {
            urls.iter().try_for_each(|url| of_url(history, selection.scope, url, each))
        }
        ExportPages::Documents(urls) => {
            let mut resources = PageResources::default();
            let mut whole = |page| resources.each(history, selection.scope, page, &mut *each);
            urls.iter().try_for_each(|url| of_url(history, selection.scope, url, &mut whole))
        }
        ExportPages::Host(host) => {
            for scheme in ["https", "http"] {
                // With a port the host is followed by a colon.
                for end in ["/", ":"] {
                    of_prefix(history, selection.scope, &format!("{scheme}://{host}{end}"), each)?;
                }
            }
            Ok(())
        }
    }
}

fn all(
    history: &HistoryReader,
    scope: ExportScope,
    each: &mut dyn FnMut(Capture) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let catalog = history.catalog();
    match scope {
        ExportScope::State(version) => {
            for page in StatePages::new(catalog, Some(version)) {
                shown(page?).map_or(Ok(()), &mut *each)?;
            }
            Ok(())
        }
        ExportScope::Captures(version) => {
            VersionPages::new(catalog, Some(version)).try_for_each(|capture| each(capture?))
        }
        ExportScope::Ever => of_prefix(history, scope, "", each),
    }
}

/// The capture that the state shows. A page whose capture was removed shows none.
pub(super) fn shown(page: PageState) -> Option<Capture> {
    if page.is_hidden { None } else { page.into_shown() }
}

/// The captures of a URL. That there are none is an error.
fn of_url(
    history: &HistoryReader,
    scope: ExportScope,
    url: &str,
    each: &mut dyn FnMut(Capture) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let captures = match scope {
        ExportScope::State(version) => {
            let selector = crate::verbs::cat::CaptureSelector::Version(version);
            vec![crate::verbs::cat::find(history, url, &selector)?]
        }
        ExportScope::Captures(version) => {
            let find = |spellings: &[&str]| {
                let found = history.catalog().captures_of_any_in(&version, spellings)?;
                Ok(Some(found).filter(|found| !found.is_empty()))
            };
            at_address(history, url, find)?.unwrap_or_default()
        }
        ExportScope::Ever => at_address(history, url, |spellings| {
            let found = all_of(history, spellings)?;
            Ok(Some(found).filter(|found| !found.is_empty()))
        })?
        .unwrap_or_default(),
    };
    if captures.is_empty() {
        let at = match scope {
            ExportScope::Captures(version) => Some(format!("in version {version}")),
            ExportScope::State(_) | ExportScope::Ever => None,
        };
        return Err(ArchiveError::NoCapture { url: url.to_owned(), at });
    }
    captures.into_iter().try_for_each(each)
}

/// All captures of these URLs, oldest first.
fn all_of(history: &HistoryReader, urls: &[&str]) -> Result<Vec<Capture>, ArchiveError> {
    let (filter, mut captures) = (CaptureFilter::default(), Vec::<Capture>::new());
    loop {
        let cursor = ListCursor { after: captures.last(), limit: ROWS_PER_QUERY };
        let found = history.catalog().captures_of_any(urls, &filter, TimeOrder::OldestFirst, cursor)?;
        let is_last = found.len() < ROWS_PER_QUERY;
        captures.extend(found);
        if is_last {
            return Ok(captures);
        }
    }
}

/// The captures of all URLs with this beginning.
fn of_prefix(
    history: &HistoryReader,
    scope: ExportScope,
    prefix: &str,
    each: &mut dyn FnMut(Capture) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let catalog = history.catalog();
    let mut after: Option<String> = None;
    loop {
        let urls = catalog.urls(prefix, ListCursor { after: after.as_deref(), limit: ROWS_PER_QUERY })?;
        let Some(last) = urls.last() else { return Ok(()) };
        let names: Vec<&str> = urls.iter().map(String::as_str).collect();
        match scope {
            ExportScope::State(version) => {
                for page in catalog.states_of(&version, &names, UrlMatch::Exact)?.into_iter().flatten() {
                    shown(page).map_or(Ok(()), &mut *each)?;
                }
            }
            ExportScope::Captures(version) => {
                for url in names {
                    catalog.captures_of_any_in(&version, &[url])?.into_iter().try_for_each(&mut *each)?;
                }
            }
            ExportScope::Ever => {
                for url in names {
                    all_of(history, &[url])?.into_iter().try_for_each(&mut *each)?;
                }
            }
        }
        after = Some(last.clone());
    }
}
