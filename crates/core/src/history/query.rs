//! Questions about history, as values: which versions, which captures, in which order, how many.
//!
//! Every layout answers the same queries, so the parts that do not depend on a database are here:
//! which version a filter accepts, and which ids begin with a prefix.

use uuid::Uuid;

use super::Version;
use crate::Moment;

/// Number of hexadecimal digits in the text of a UUID.
const UUID_HEX_DIGITS: usize = 32;

/// A version with the facts that lists of versions show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    /// The version.
    pub version: Version,
    /// The number of captures that it holds.
    pub captures: u64,
    /// The tags that point to it, sorted.
    pub tags: Vec<String>,
}

/// Selects versions. An empty filter selects all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionFilter {
    /// Only versions that hold a capture of this URL.
    pub url: Option<String>,
    /// Only versions made at or after this instant.
    pub since: Option<Moment>,
    /// Only versions made at or before this instant.
    pub until: Option<Moment>,
    /// Only versions whose author contains this text, ignoring case.
    pub author: Option<String>,
    /// Only versions whose message contains this text, ignoring case.
    pub message: Option<String>,
    /// Only versions with this tag.
    pub tag: Option<String>,
}

impl VersionFilter {
    /// Returns whether author, message and tags of a version match. URL and times are not compared.
    pub fn matches(&self, info: &VersionInfo) -> bool {
        self.text_matcher().matches(info)
    }

    /// Prepares the comparison of author, message and tag, to apply it to many versions.
    pub fn text_matcher(&self) -> VersionTextMatcher<'_> {
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        VersionTextMatcher {
            author: lower(&self.author),
            message: lower(&self.message),
            tag: self.tag.as_deref(),
        }
    }
}

/// The part of a [`VersionFilter`] that no index of a database can answer.
#[derive(Debug)]
pub struct VersionTextMatcher<'a> {
    author: Option<String>,
    message: Option<String>,
    tag: Option<&'a str>,
}

impl VersionTextMatcher<'_> {
    /// Returns whether author, message and tags of a version match.
    pub fn matches(&self, info: &VersionInfo) -> bool {
        let contains = |part: &Option<String>, text: &str| {
            part.as_ref().is_none_or(|part| text.to_lowercase().contains(part))
        };
        contains(&self.message, &info.version.message)
            && contains(&self.author, info.version.author.as_deref().unwrap_or_default())
            && self.tag.is_none_or(|tag| info.tags.iter().any(|name| name == tag))
    }
}

/// Selects captures of a URL. An empty filter selects all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFilter {
    /// Only captures at or after this instant.
    pub since: Option<Moment>,
    /// Only captures at or before this instant.
    pub until: Option<Moment>,
    /// Only captures that belong to a version, and not those of a run that has not finished.
    pub committed_only: bool,
}

/// The direction in which captures are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeOrder {
    /// The newest first.
    #[default]
    NewestFirst,
    /// The oldest first.
    OldestFirst,
}

/// The position and size of one batch of a long list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCursor<T> {
    /// The last item of the previous batch. `None` starts at the beginning.
    pub after: Option<T>,
    /// The maximum number of items in this batch.
    pub limit: usize,
}

impl<T> ListCursor<T> {
    /// The first batch of a list.
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }
}

/// Returns the smallest and the largest UUID that begin with `prefix`. Hyphens may be left out.
/// Returns `None` if `prefix` cannot be the beginning of an id.
pub fn uuid_range(prefix: &str) -> Option<(Uuid, Uuid)> {
    let digits: Vec<u128> = prefix
        .chars()
        .filter(|&letter| letter != '-')
        .map(|letter| letter.to_digit(16).map(u128::from))
        .collect::<Option<_>>()?;
    if digits.len() > UUID_HEX_DIGITS {
        return None;
    }
    let filled = |filler: u128| {
        let digit = |place: usize| digits.get(place).copied().unwrap_or(filler);
        (0..UUID_HEX_DIGITS).fold(0, |number, place| number << 4 | digit(place))
    };
    Some((Uuid::from_u128(filled(0)), Uuid::from_u128(filled(0xf))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_becomes_a_range_of_ids() {
        let (first, last) = uuid_range("2B1f8e1e-8a3").unwrap();
        assert_eq!(first.to_string(), "2b1f8e1e-8a30-0000-0000-000000000000");
        assert_eq!(last.to_string(), "2b1f8e1e-8a3f-ffff-ffff-ffffffffffff");
        assert_eq!(uuid_range("").unwrap().1, Uuid::max());
        assert!(uuid_range("xyz").is_none() && uuid_range(&"0".repeat(33)).is_none());
    }
}
