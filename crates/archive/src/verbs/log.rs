//! `log`: the versions, newest first, or the captures of one URL.

use varve_core::fact::UrlVerdict;
use varve_core::history::{Capture, CaptureOwner, StoredVerdict};
use varve_core::url::query::UrlQuery;
use varve_core::url::{clean, normalise, page_identity};
use varve_core::{CheckId, Moment, VersionId};

use super::canonical_lookup::declaring_pages;
use super::capture::refuse_user_info;
use super::cat::CaptureSelector;
use crate::error::ArchiveError;
use varve_repository::history::{HistoryReader, detail_of};

pub use super::canonical_lookup::is_of_declaring_page;
pub use varve_catalog::Removal;
pub use varve_core::history::{
    CaptureFilter, ListCursor, StoredCheck, TimeOrder, VersionFilter, VersionInfo,
};

/// Versions, newest first.
pub fn versions(
    history: &HistoryReader,
    filter: &VersionFilter,
    page: ListCursor<VersionId>,
) -> Result<Vec<VersionInfo>, ArchiveError> {
    Ok(history.catalog().versions(filter, page)?)
}

/// Checks, newest first.
pub fn checks(history: &HistoryReader, page: ListCursor<CheckId>) -> Result<Vec<StoredCheck>, ArchiveError> {
    Ok(history.catalog().checks(page)?)
}

/// The verdicts of checks on a URL, newest first. The URL may be given in any equivalent spelling.
pub fn verdicts(history: &HistoryReader, url: &str, limit: usize) -> Result<Vec<CheckVerdict>, ArchiveError> {
    for spelling in spellings(url) {
        let found = history.catalog().verdicts_of(&spelling, limit)?;
        if !found.is_empty() {
            return Ok(found.into_iter().map(verdict_of_row).collect());
        }
    }
    Ok(Vec::new())
}

/// A verdict, and the check that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckVerdict {
    /// The check.
    pub check: CheckId,
    /// The verdict.
    pub verdict: UrlVerdict,
}

fn verdict_of_row(row: StoredVerdict) -> CheckVerdict {
    let detail = detail_of(&row);
    let StoredVerdict { check, url, time, verdict, status, .. } = row;
    let status = Some(status).filter(|status| *status != 0);
    CheckVerdict { check, verdict: UrlVerdict { url, time, verdict, status, detail } }
}

/// Captures of a URL, newest first, under any of its spellings. The URL may be given in any
/// equivalent spelling.
pub fn captures(
    history: &HistoryReader,
    url: &str,
    filter: &CaptureFilter,
    page: ListCursor<&Capture>,
) -> Result<Vec<Capture>, ArchiveError> {
    let found = at_address(history, url, |spellings| {
        let found = history.catalog().captures_of_any(spellings, filter, TimeOrder::NewestFirst, page)?;
        Ok(Some(found).filter(|found| !found.is_empty()))
    })?;
    Ok(found.unwrap_or_default())
}

/// The last capture of a URL in a version in the order of [`captures`], which is the oldest. The
/// list continues with other versions after it. Captures of other versions may stand between those
/// of one.
pub fn last_in_version(
    history: &HistoryReader,
    url: &str,
    version: VersionId,
) -> Result<Capture, ArchiveError> {
    if !history.has_versions() {
        return super::cat::find(history, url, &CaptureSelector::Version(version));
    }
    let found = at_address(history, url, |spellings| {
        let mut found = history.catalog().captures_of_any_in(&version, spellings)?;
        let Some(oldest) = found.first().map(|capture| capture.time) else { return Ok(None) };
        found.retain(|capture| capture.time == oldest);
        if found.len() == 1 {
            return Ok(found.pop());
        }
        first_of_instant(history, spellings, oldest, version)
    })?;
    let at = || Some(format!("in version {version}"));
    found.ok_or_else(|| ArchiveError::NoCapture { url: url.to_owned(), at: at() })
}

/// The capture that the list has last among several of a version at one instant. Only the list
/// itself defines their order.
fn first_of_instant(
    history: &HistoryReader,
    spellings: &[&str],
    time: Moment,
    version: VersionId,
) -> Result<Option<Capture>, ArchiveError> {
    const CAPTURES_PER_QUERY: usize = 200;
    let filter = CaptureFilter { since: Some(time), until: Some(time), ..CaptureFilter::default() };
    let mut last: Option<Capture> = None;
    loop {
        let page = ListCursor { after: last.as_ref(), limit: CAPTURES_PER_QUERY };
        let found = history.catalog().captures_of_any(spellings, &filter, TimeOrder::OldestFirst, page)?;
        let is_all = found.len() < CAPTURES_PER_QUERY;
        last = found.last().cloned();
        let own = found.into_iter().find(|capture| capture.owner == CaptureOwner::Version(version));
        if own.is_some() || is_all {
            return Ok(own);
        }
    }
}

/// Whether a page of the list of [`captures`] may end after this capture. A caller that continues
/// after its version then continues exactly here, without missing or repeating a capture.
pub fn may_end_behind(history: &HistoryReader, url: &str, capture: &Capture) -> Result<bool, ArchiveError> {
    match capture.owner {
        // Its run has no version yet, so the list cannot be continued after it.
        CaptureOwner::Run(_) => Ok(false),
        CaptureOwner::Version(_) if !history.has_versions() => Ok(true),
        CaptureOwner::Version(version) => Ok(last_in_version(history, url, version)?.id == capture.id),
    }
}

/// The result for all stored spellings of a URL together. If none is stored, the result for the
/// first likely spelling that has one, or else for the first page that declared the URL as its
/// canonical one.
pub(crate) fn at_address<T>(
    history: &HistoryReader,
    url: &str,
    mut find: impl FnMut(&[&str]) -> Result<Option<T>, ArchiveError>,
) -> Result<Option<T>, ArchiveError> {
    refuse_user_info(url)?;
    let kept = history.catalog().spellings_of(url)?;
    let found = match kept.is_empty() {
        true => first_kept(history, url, |spelling| find(&[spelling]))?,
        false => find(&kept.iter().map(String::as_str).collect::<Vec<_>>())?,
    };
    if found.is_some() || !kept.is_empty() {
        return Ok(found);
    }
    for page in declaring_pages(history, url)? {
        let kept = history.catalog().spellings_of(&page)?;
        if let Some(found) = find(&kept.iter().map(String::as_str).collect::<Vec<_>>())? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The responses and committed pages of a URL that were removed from the silos and have no capture
/// any more, latest removal first. One that was removed together with its page still has a capture,
/// which shows that removal.
pub fn removals(history: &HistoryReader, url: &str, limit: usize) -> Result<Vec<Removal>, ArchiveError> {
    let found = first_kept(history, url, |spelling| {
        let found = history.catalog().removals_at(spelling, limit)?;
        let mut without_capture = Vec::with_capacity(found.len());
        for removal in found {
            let same_record = history.catalog().removals_of(&removal.tombstone.record)?;
            if !same_record.iter().any(|other| other.tombstone.page() == Some(spelling)) {
                without_capture.push(removal);
            }
        }
        Ok(Some(without_capture).filter(|found| !found.is_empty()))
    })?;
    Ok(found.unwrap_or_default())
}

/// The result for the first spelling of a URL that has one. A crawl stores a URL under the first
/// spelling it meets, so all stored spellings follow the likely ones.
pub(crate) fn first_kept<T>(
    history: &HistoryReader,
    url: &str,
    mut find: impl FnMut(&str) -> Result<Option<T>, ArchiveError>,
) -> Result<Option<T>, ArchiveError> {
    refuse_user_info(url)?;
    let likely = spellings(url);
    for spelling in &likely {
        if let Some(found) = find(spelling)? {
            return Ok(Some(found));
        }
    }
    for kept in history.catalog().spellings_of(url)? {
        if !likely.contains(&kept)
            && let Some(found) = find(&kept)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Whether a URL is a spelling of the page identity `of`.
pub(crate) fn is_spelling(url: &str, of: &str) -> bool {
    url == of || page_identity(url).is_some_and(|identity| identity == of)
}

/// The spellings under which a URL may be stored, the likeliest first. Without a scheme it is looked
/// for by https, then by http.
pub(crate) fn spellings(url: &str) -> Vec<String> {
    if has_no_scheme(url) {
        let with_scheme = ["https", "http"].map(|scheme| spellings(&format!("{scheme}://{url}")));
        return std::iter::once(url.to_owned()).chain(with_scheme.into_iter().flatten()).collect();
    }
    let mut spellings = vec![url.to_owned()];
    // Cleaning drops parts it does not understand, and the result may then be another page.
    let cleaned = clean(url).ok().filter(|_| !loses_by_cleaning(url));
    let normal = cleaned.as_deref().and_then(|url| normalise(url).ok());
    for other in [page_identity(url), cleaned, normalise(url).ok(), normal].into_iter().flatten() {
        if !spellings.contains(&other) {
            spellings.push(other);
        }
    }
    spellings
}

/// Whether a text begins with a host name: `example.com/s`, `localhost:8080`.
fn has_no_scheme(url: &str) -> bool {
    let host = url.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    !url.contains("://")
        && (port.is_some_and(is_port) || (port.is_none() && name.contains('.') && !name.starts_with('.')))
}

fn loses_by_cleaning(url: &str) -> bool {
    let query = url.split('#').next().and_then(|url| url.split_once('?'));
    query.is_some_and(|(_, query)| !UrlQuery::parse(query).dropped.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_scheme_is_looked_for_by_https_and_http() {
        assert_eq!(
            spellings("example.com/s"),
            ["example.com/s", "https://example.com/s", "http://example.com/s"]
        );
        assert_eq!(spellings("localhost:8080/")[1], "https://localhost:8080/");
        for text in ["urn:isbn:1", "mailto:a@example.com", "about", "/a.b", ".hidden/x", "ftp://example.com/"]
        {
            assert!(!has_no_scheme(text), "{text}");
        }
    }

    #[test]
    fn no_spelling_is_another_page() {
        assert_eq!(spellings("http://h/git?p=a;b=c"), ["http://h/git?p=a;b=c"]);
        let spellings = spellings("HTTP://h/?b&a=1&utm_source=x#top");
        for spelling in ["http://h/?a=1&b", "http://h/?a=1&b="] {
            assert!(spellings.iter().any(|known| known == spelling), "{spellings:?}");
        }
    }
}
