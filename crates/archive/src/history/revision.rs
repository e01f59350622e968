//! What people call a version: HEAD, a tag, an id or its beginning, a step back from any of them, or a time.

use varve_catalog::{Page, VersionFilter};
use varve_core::{Moment, VersionId};

use super::Holdings;
use crate::error::ArchiveError;

/// So many candidates of a beginning are named.
const MOST_CANDIDATES: usize = 10;
/// No id has a shorter beginning: a word of two letters is a tag that is not there.
const SHORTEST_PREFIX: usize = 4;

/// The version that a person means: `HEAD`, `HEAD~2`, a tag, an id, the beginning of one, or a time (the newest version
/// not after it).
pub fn resolve_version(holdings: &dyn Holdings, text: &str) -> Result<VersionId, ArchiveError> {
    let (name, steps) = split_steps(text);
    let mut version = resolve_name(holdings, name)?;
    for _ in 0..steps {
        let info = holdings.catalog().version(&version)?.ok_or_else(|| unknown(text))?;
        version = info.version.parent.ok_or_else(|| unknown(text))?;
    }
    Ok(version)
}

/// `HEAD~2` is HEAD and two steps back; `HEAD~` is one.
fn split_steps(text: &str) -> (&str, u32) {
    match text.rsplit_once('~') {
        Some((name, "")) => (name, 1),
        Some((name, digits)) => digits.parse().map_or((text, 0), |steps| (name, steps)),
        None => (text, 0),
    }
}

fn resolve_name(holdings: &dyn Holdings, name: &str) -> Result<VersionId, ArchiveError> {
    let catalog = holdings.catalog();
    if name == "HEAD" || name == "@" {
        let head = holdings.head()?.ok_or(ArchiveError::NoVersions)?;
        return match catalog.version(&head)? {
            Some(_) => Ok(head),
            None => Err(unknown(&head.to_string())),
        };
    }
    if let Some(tag) = catalog.tag(name)? {
        return Ok(tag.version);
    }
    let digits: String = name.chars().filter(|letter| *letter != '-').collect();
    let is_id = digits.len() >= SHORTEST_PREFIX && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        let found = catalog.versions_beginning(&digits.to_ascii_lowercase(), MOST_CANDIDATES)?;
        match found.as_slice() {
            [one] => return Ok(*one),
            [] => {}
            several => {
                return Err(ArchiveError::AmbiguousVersion { text: name.to_owned(), count: several.len() });
            }
        }
    }
    let time: Moment = name.parse().map_err(|_| unknown(name))?;
    let filter = VersionFilter { until: Some(time), ..VersionFilter::default() };
    let found = catalog.versions(&filter, Page::first(1))?;
    found.first().map(|info| info.version.id).ok_or_else(|| unknown(name))
}

fn unknown(text: &str) -> ArchiveError {
    ArchiveError::NoVersion { text: text.to_owned() }
}
