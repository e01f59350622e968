//! What people call a version: HEAD, a tag, an id or its beginning, a step back from any of them, or a time.

use varve_catalog::{Page, VersionFilter};
use varve_core::{Moment, VersionId};

use super::Holdings;
use crate::error::ArchiveError;

/// So many candidates of a beginning are named.
const MOST_CANDIDATES: usize = 10;
/// No id has a shorter beginning: a word of two letters is a tag that is not there.
const SHORTEST_PREFIX: usize = 4;

/// The version that a person means: `HEAD`, `HEAD~2`, a tag, an id, the beginning of one, or a time, which [means](meant_time) the newest
/// version not after it.
pub fn resolve_version(holdings: &dyn Holdings, text: &str) -> Result<VersionId, ArchiveError> {
    let (name, steps) = split_steps(text);
    let mut version = match named_version(holdings, name)? {
        Some(version) => version,
        None => newest_until(holdings, meant_time(name).ok_or_else(|| unknown(name))?, name)?,
    };
    for _ in 0..steps {
        let info = holdings.catalog().version(&version)?.ok_or_else(|| unknown(text))?;
        version = info.version.parent.ok_or_else(|| unknown(text))?;
    }
    Ok(version)
}

/// The instant as of which a person asks who names a time in the place of a version. The one rule for it: [`Moment::parse_end`].
pub(crate) fn meant_time(text: &str) -> Option<Moment> {
    Moment::parse_end(text).ok()
}

fn newest_until(holdings: &dyn Holdings, time: Moment, name: &str) -> Result<VersionId, ArchiveError> {
    let filter = VersionFilter { until: Some(time), ..VersionFilter::default() };
    let found = holdings.catalog().versions(&filter, Page::first(1))?;
    found.first().map(|info| info.version.id).ok_or_else(|| unknown(name))
}

/// `HEAD~2` is HEAD and two steps back; `HEAD~` is one.
fn split_steps(text: &str) -> (&str, u32) {
    match text.rsplit_once('~') {
        Some((name, "")) => (name, 1),
        Some((name, digits)) => digits.parse().map_or((text, 0), |steps| (name, steps)),
        None => (text, 0),
    }
}

/// The version of that name: HEAD, a tag, an id or its beginning. None where nothing is called so.
pub(crate) fn named_version(holdings: &dyn Holdings, name: &str) -> Result<Option<VersionId>, ArchiveError> {
    let catalog = holdings.catalog();
    if name == "HEAD" || name == "@" {
        let head = holdings.head()?.ok_or(ArchiveError::NoVersions)?;
        return match catalog.version(&head)? {
            Some(_) => Ok(Some(head)),
            None => Err(unknown(&head.to_string())),
        };
    }
    if let Some(tag) = catalog.tag(name)? {
        return Ok(Some(tag.version));
    }
    if !may_begin_id(name) {
        return Ok(None);
    }
    let digits: String = name.chars().filter(|letter| *letter != '-').collect();
    match catalog.versions_beginning(&digits.to_ascii_lowercase(), MOST_CANDIDATES)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => Err(ArchiveError::AmbiguousVersion { text: name.to_owned(), count: several.len() }),
    }
}

/// Whether an id may begin so: hexadecimal digits, with hyphens where an id has them, or without. A day has its hyphens elsewhere.
fn may_begin_id(name: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    let fits = |(at, byte): (usize, u8)| is_digit(byte) || (byte == b'-' && HYPHENS.contains(&at));
    name.bytes().filter(|byte| is_digit(*byte)).count() >= SHORTEST_PREFIX
        && name.bytes().enumerate().all(fits)
}

fn unknown(text: &str) -> ArchiveError {
    ArchiveError::NoVersion { text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_no_id() {
        for id in ["2026", "20261117", "2026111a-22bb-8", "deadbeef-"] {
            assert!(may_begin_id(id), "{id}");
        }
        for other in ["2026-11-17", "202", "2d", "dead-beef", "HEAD"] {
            assert!(!may_begin_id(other), "{other}");
        }
    }
}
