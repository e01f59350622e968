//! The names of the files in the index folder, and the ids that belong in each.
//!
//! There is no manifest that could disagree with the files. A sorted file is named after the
//! hexadecimal digits that its ids begin with, so the names alone prove that every id has a file
//! ([`cover`]).

use std::ffi::OsStr;
use std::fmt;

use super::entry::{IndexPrefix, PrefixRange};

/// The live appendix.
pub(super) const APPENDIX_FILE: &str = "appendix";
const ROTATED_PREFIX: &str = "appendix-";
const SORTED_PREFIX: &str = "sorted";
/// The name prefix of unfinished files. They are removed when the index is opened for writing.
pub(super) const UNFINISHED_PREFIX: &str = "tmp-";

/// The ids of a sorted file: those that begin with these hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ShardName {
    value: u16,
    digits: u8,
}

impl ShardName {
    /// The shard of all ids.
    pub(super) const ROOT: Self = Self { value: 0, digits: 0 };
    /// Sixteen bits of prefix make at most 65,536 files, each of which may hold millions of
    /// entries.
    pub(super) const MAX_DIGITS: u8 = 4;

    pub(super) fn new(digits: u8, value: u16) -> Option<Self> {
        let fits = digits <= Self::MAX_DIGITS && u32::from(value) < 1 << (4 * u32::from(digits));
        fits.then_some(Self { value, digits })
    }

    pub(super) fn digits(self) -> u8 {
        self.digits
    }

    pub(super) fn value(self) -> u16 {
        self.value
    }

    /// The number of leading bits that all ids of this shard share.
    pub(super) fn bits(self) -> u32 {
        4 * u32::from(self.digits)
    }

    pub(super) fn range(self) -> PrefixRange {
        let value = u64::from(self.value).checked_shl(64 - self.bits()).unwrap_or(0);
        PrefixRange::leading(value, self.bits())
    }

    /// The sixteen shards that this one splits into; `None` at the maximum number of digits.
    pub(super) fn children(self) -> Option<impl Iterator<Item = Self>> {
        let digits = self.digits + 1;
        let value = self.value << 4;
        (digits <= Self::MAX_DIGITS).then(|| (0..16).map(move |digit| Self { value: value | digit, digits }))
    }

    /// Whether this shard's ids include all ids of `other`.
    pub(super) fn holds(self, other: Self) -> bool {
        self.digits <= other.digits
            && u32::from(other.value) >> (other.bits() - self.bits()) == u32::from(self.value)
    }

    fn parse(digits: &str) -> Option<Self> {
        let lower_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let count = u8::try_from(digits.len()).ok()?;
        if !lower_hex || count == 0 || count > Self::MAX_DIGITS {
            return None;
        }
        Self::new(count, u16::from_str_radix(digits, 16).ok()?)
    }
}

impl fmt::Display for ShardName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits == 0 {
            return formatter.write_str(SORTED_PREFIX);
        }
        write!(formatter, "{SORTED_PREFIX}-{:0width$x}", self.value, width = usize::from(self.digits))
    }
}

/// A parsed file name of the index folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexFileName {
    Appendix,
    /// A rotated appendix; greater numbers are newer.
    Rotated(u64),
    Sorted(ShardName),
    Unfinished,
    Foreign,
}

impl IndexFileName {
    pub(super) fn parse(name: &OsStr) -> Self {
        let Some(name) = name.to_str() else { return Self::Foreign };
        if name == APPENDIX_FILE {
            return Self::Appendix;
        }
        if name == SORTED_PREFIX {
            return Self::Sorted(ShardName::ROOT);
        }
        if name.starts_with(UNFINISHED_PREFIX) {
            return Self::Unfinished;
        }
        let rotated = || {
            let number: u64 = name.strip_prefix(ROTATED_PREFIX)?.parse().ok()?;
            (rotated(number) == name).then_some(Self::Rotated(number))
        };
        let sorted = || {
            let digits = name.strip_prefix(SORTED_PREFIX)?.strip_prefix('-')?;
            ShardName::parse(digits).map(Self::Sorted)
        };
        rotated().or_else(sorted).unwrap_or(Self::Foreign)
    }
}

/// The name of a rotated appendix.
pub(super) fn rotated(number: u64) -> String {
    format!("{ROTATED_PREFIX}{number}")
}

/// The temporary name of a file that is being written.
pub(super) fn unfinished(name: &impl fmt::Display) -> String {
    format!("{UNFINISHED_PREFIX}{name}")
}

/// The shards that together contain every id once: those inside no other.
///
/// The error is the first id without a shard. Names outside the cover remain from an interrupted
/// split or rebuild; their entries are valid duplicates.
pub(super) fn cover(names: &[ShardName]) -> Result<Vec<ShardName>, IndexPrefix> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable_by_key(|name| (name.range().first, name.digits()));
    let mut covering: Vec<ShardName> = Vec::new();
    let mut next = Some(IndexPrefix::MIN);
    for name in sorted {
        if covering.last().is_some_and(|last| last.holds(name)) {
            continue;
        }
        match next {
            Some(first) if first == name.range().first => covering.push(name),
            Some(first) => return Err(first),
            None => break,
        }
        next = name.range().last.0.checked_add(1).map(IndexPrefix);
    }
    match next {
        Some(first) => Err(first),
        None => Ok(covering),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shard(digits: &str) -> ShardName {
        if digits.is_empty() { ShardName::ROOT } else { ShardName::parse(digits).unwrap() }
    }

    #[test]
    fn names_come_back_and_strangers_are_strangers() {
        for name in [
            "appendix",
            "appendix-1",
            "appendix-20",
            "sorted",
            "sorted-0",
            "sorted-0a",
            "sorted-beef",
            "tmp-x",
        ] {
            assert_ne!(IndexFileName::parse(OsStr::new(name)), IndexFileName::Foreign, "{name}");
        }
        for name in ["appendix-", "appendix-01", "sorted-", "sorted-A", "sorted-12345", "sorted-+1", "x", ""]
        {
            assert_eq!(IndexFileName::parse(OsStr::new(name)), IndexFileName::Foreign, "{name}");
        }
        assert_eq!(IndexFileName::parse(OsStr::new("sorted-0a")), IndexFileName::Sorted(shard("0a")));
        assert_eq!(shard("0a").to_string(), "sorted-0a");
        assert_eq!(ShardName::ROOT.to_string(), "sorted");
    }

    #[test]
    fn a_shard_holds_what_begins_with_its_digits() {
        assert_eq!(shard("a3").range(), PrefixRange::leading(0xa3 << 56, 8));
        assert_eq!(ShardName::ROOT.range(), PrefixRange::ALL);
        assert!(shard("a").holds(shard("a3")) && ShardName::ROOT.holds(shard("ffff")));
        assert!(!shard("a3").holds(shard("a")) && !shard("a").holds(shard("b3")));
        assert!(shard("ffff").children().is_none());
        assert_eq!(ShardName::new(1, 16), None);
    }

    #[test]
    fn a_missing_shard_is_noticed() {
        let mut names: Vec<_> = ShardName::ROOT.children().unwrap().collect();
        assert_eq!(cover(&names).unwrap().len(), 16);
        names.remove(15);
        assert_eq!(cover(&names), Err(IndexPrefix(0xf << 60)));
        names.remove(2);
        assert_eq!(cover(&names), Err(IndexPrefix(2 << 60)));
        assert_eq!(cover(&[]), Err(IndexPrefix(0)));
    }

    #[test]
    fn leftovers_do_not_disturb_the_cover() {
        let names = [shard("0"), shard("ff"), ShardName::ROOT, shard("f")];
        assert_eq!(cover(&names), Ok(vec![ShardName::ROOT]));
    }

    proptest! {
        #[test]
        fn any_tree_of_shards_covers_and_loses_it_with_any_leaf(splits in prop::collection::vec(any::<u16>(), 0..12)) {
            let mut leaves = vec![ShardName::ROOT];
            for pick in splits {
                let at = usize::from(pick) % leaves.len();
                if let Some(children) = leaves[at].children() {
                    let children: Vec<_> = children.collect();
                    leaves.splice(at..=at, children);
                }
            }
            prop_assert_eq!(cover(&leaves).unwrap(), leaves.clone());
            for lost in 0..leaves.len() {
                let mut rest = leaves.clone();
                let gone = rest.remove(lost);
                prop_assert_eq!(cover(&rest), Err(gone.range().first));
            }
        }
    }
}
