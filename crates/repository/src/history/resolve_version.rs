//! Resolves version names: HEAD, a tag, an id or its prefix, a number of steps back from any of
//! them, or a time.

use varve_catalog::Removal;
use varve_core::history::{ListCursor, VersionFilter, VersionInfo};
use varve_core::{Moment, VersionId};

use super::HistoryReader;
use crate::error::RepositoryError;

/// Maximum number of candidates queried for an id prefix.
pub(super) const MAX_CANDIDATES: usize = 10;
/// Number of tombstones read per query.
const REMOVALS_PER_QUERY: usize = 500;
/// Minimum length of an id prefix. Shorter text is taken for the name of a missing tag.
const SHORTEST_PREFIX: usize = 4;

/// Resolves `HEAD`, `HEAD~2`, a tag, an id, an id prefix, or a time. A time means the newest
/// version not after it.
pub fn resolve_version(history: &HistoryReader, text: &str) -> Result<VersionId, RepositoryError> {
    let (name, steps) = split_steps(text);
    let version = match named_version(history, name)? {
        Some(version) => version,
        None => {
            let time = parse_version_time(name).ok_or_else(|| unknown(named(name, text)))?;
            newest_until(history, time, name)?
        }
    };
    back(history, version, steps, text)
}

/// Like [`resolve_version`], but rejects times: an irreversible operation requires the version to
/// be named.
pub fn resolve_named_version(history: &HistoryReader, text: &str) -> Result<VersionId, RepositoryError> {
    let (name, steps) = split_steps(text);
    let version = named_version(history, name)?.ok_or_else(|| match parse_version_time(name) {
        Some(_) => RepositoryError::NotByTime { text: name.to_owned() },
        None => unknown(named(name, text)),
    })?;
    back(history, version, steps, text)
}

/// The catalog entry of a version. If the version is not here, the error says why.
pub fn known_version(history: &HistoryReader, id: &VersionId) -> Result<VersionInfo, RepositoryError> {
    if let Some(info) = history.catalog().version(id)? {
        return Ok(info);
    }
    let removal = removed(history, |version| version == *id)?;
    Err(removal.unwrap_or_else(|| unknown(&id.to_string())))
}

/// Returns the error for a version removed from the silos, if a tombstone names one. This reads all
/// tombstones, so it is called only for versions that were not found.
fn removed(
    history: &HistoryReader,
    is_wanted: impl Fn(VersionId) -> bool,
) -> Result<Option<RepositoryError>, RepositoryError> {
    let mut after = None;
    loop {
        let removals = history.catalog().removals(ListCursor { after, limit: REMOVALS_PER_QUERY })?;
        let Some(last) = removals.last() else { return Ok(None) };
        after = Some(last.tombstone_record);
        let version_of = |removal: &Removal| removal.tombstone.version.filter(|version| is_wanted(*version));
        if let Some((version, removal)) =
            removals.into_iter().find_map(|removal| Some((version_of(&removal)?, removal)))
        {
            return Ok(Some(RepositoryError::VersionRemoved { version, removal: Box::new(removal) }));
        }
    }
}

/// Goes `steps` back from a version. `text` is the user's input, for messages.
fn back(
    history: &HistoryReader,
    version: VersionId,
    steps: u32,
    text: &str,
) -> Result<VersionId, RepositoryError> {
    let mut info = known_version(history, &version)?;
    for _ in 0..steps {
        let parent =
            info.version.parent.ok_or_else(|| RepositoryError::BeforeFirst { text: text.to_owned() })?;
        info = known_version(history, &parent)?;
    }
    Ok(info.version.id)
}

/// Parses a time given in place of a version, as [`Moment::parse_end`] does. Digits alone may also be
/// the beginning of an id, which is looked for first. They are a time only in the years of the web,
/// so that a mistyped id rarely selects another version.
pub fn parse_version_time(text: &str) -> Option<Moment> {
    /// The seconds from 1990 to 2099.
    const WEB_SECONDS: std::ops::Range<i64> = 631_152_000..4_102_444_800;
    let time = Moment::parse_end(text).ok()?;
    (!may_begin_id(text) || WEB_SECONDS.contains(&time.seconds())).then_some(time)
}

/// The text that the error reports as unknown: the name, or the whole input if the name is empty.
fn named<'t>(name: &'t str, text: &'t str) -> &'t str {
    if name.is_empty() { text } else { name }
}

fn newest_until(history: &HistoryReader, time: Moment, name: &str) -> Result<VersionId, RepositoryError> {
    let filter = VersionFilter { until: Some(time), ..VersionFilter::default() };
    let found = history.catalog().versions(&filter, ListCursor::first(1))?;
    found
        .first()
        .map(|info| info.version.id)
        .ok_or_else(|| RepositoryError::NoVersionYet { text: name.to_owned() })
}

/// `HEAD~2` is two steps back from HEAD; `HEAD~` is one; `HEAD~2~` is three.
fn split_steps(text: &str) -> (&str, u32) {
    let (mut name, mut steps) = (text, 0u32);
    while let Some((rest, digits)) = name.rsplit_once('~') {
        let Some(more) = digits.parse::<u32>().ok().or(digits.is_empty().then_some(1)) else { break };
        (name, steps) = (rest, steps.saturating_add(more));
    }
    (name, steps)
}

/// The version of this name: HEAD, a tag, an id or its prefix. `None` if nothing has this name.
pub fn named_version(history: &HistoryReader, name: &str) -> Result<Option<VersionId>, RepositoryError> {
    let catalog = history.catalog();
    if name == "HEAD" || name == "@" {
        let head = history.head()?.ok_or(RepositoryError::NoVersions)?;
        return known_version(history, &head).map(|_| Some(head));
    }
    if let Some(tag) = catalog.tag(name)? {
        return Ok(Some(tag.version));
    }
    if !may_begin_id(name) {
        return Ok(None);
    }
    let digits: String = name.chars().filter(|letter| *letter != '-').collect();
    let digits = digits.to_ascii_lowercase();
    match catalog.versions_beginning(&digits, MAX_CANDIDATES)?.as_slice() {
        [] => {
            let begins = |version: VersionId| version.to_string().replace('-', "").starts_with(&digits);
            removed(history, begins)?.map_or(Ok(None), Err)
        }
        [one] => Ok(Some(*one)),
        several => Err(RepositoryError::AmbiguousVersion { text: name.to_owned(), count: several.len() }),
    }
}

/// Whether the text can be an id prefix: hexadecimal digits, with hyphens only where an id has
/// them. A date has its hyphens elsewhere.
pub(super) fn may_begin_id(name: &str) -> bool {
    const HYPHEN_POSITIONS: [usize; 4] = [8, 13, 18, 23];
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    let fits = |(at, byte): (usize, u8)| is_digit(byte) || (byte == b'-' && HYPHEN_POSITIONS.contains(&at));
    name.bytes().filter(|byte| is_digit(*byte)).count() >= SHORTEST_PREFIX
        && name.bytes().enumerate().all(fits)
}

fn unknown(text: &str) -> RepositoryError {
    RepositoryError::NoVersion { text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up() {
        for (text, name, steps) in [
            ("HEAD", "HEAD", 0),
            ("HEAD~", "HEAD", 1),
            ("HEAD~3~1", "HEAD", 4),
            ("HEAD~~", "HEAD", 2),
            ("a~b~2", "a~b", 2),
        ] {
            assert_eq!(split_steps(text), (name, steps), "{text}");
        }
    }

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
