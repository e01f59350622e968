//! Which versions are wanted, as far as both databases decide it alike.

use uuid::Uuid;
use varve_core::Moment;

use crate::read::{VersionFilter, VersionInfo};

/// The least and the greatest id that begin with these hex digits, whose hyphens may be left out. None if these are
/// no digits of an id.
pub(crate) fn id_range(prefix: &str) -> Option<(Uuid, Uuid)> {
    let digits: Vec<u8> =
        prefix.chars().filter(|&letter| letter != '-').map(digit).collect::<Option<Vec<_>>>()?;
    if digits.len() > 32 {
        return None;
    }
    let (mut first, mut last) = (0u128, 0u128);
    for place in 0..32 {
        let digit = digits.get(place).copied().map(u128::from);
        first = first << 4 | digit.unwrap_or(0);
        last = last << 4 | digit.unwrap_or(0xf);
    }
    Some((Uuid::from_u128(first), Uuid::from_u128(last)))
}

fn digit(letter: char) -> Option<u8> {
    letter.to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The first and the last microsecond at which a version may have been made.
pub(crate) fn bounds(filter: &VersionFilter) -> (i64, i64) {
    (filter.since.map_or(i64::MIN, Moment::micros), filter.until.map_or(i64::MAX, Moment::micros))
}

/// What no index can find: texts within texts, and a tag besides.
pub(crate) struct Wanted<'a> {
    author: Option<String>,
    message: Option<String>,
    tag: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// What the filter asks for.
    pub(crate) fn new(filter: &'a VersionFilter) -> Self {
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        Self { author: lower(&filter.author), message: lower(&filter.message), tag: filter.tag.as_deref() }
    }

    /// Whether this version is wanted.
    pub(crate) fn is(&self, info: &VersionInfo) -> bool {
        let within = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| text.to_lowercase().contains(wanted))
        };
        within(&self.message, &info.version.message)
            && within(&self.author, info.version.author.as_deref().unwrap_or_default())
            && self.tag.is_none_or(|tag| info.tags.iter().any(|name| name == tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_become_ranges() {
        let (first, last) = id_range("2B1f8e1e-8a3").unwrap();
        assert_eq!(first.to_string(), "2b1f8e1e-8a30-0000-0000-000000000000");
        assert_eq!(last.to_string(), "2b1f8e1e-8a3f-ffff-ffff-ffffffffffff");
        assert_eq!(id_range("").unwrap().1, Uuid::max());
        assert!(id_range("xyz").is_none() && id_range(&"0".repeat(33)).is_none());
    }
}
