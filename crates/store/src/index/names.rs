//! The names of the files in the index folder, and which ids belong in which.
//!
//! The naming is the whole catalogue: there is no list of files that could disagree with the files. A sorted file is
//! named after the hexadecimal digits that its ids begin with, and whoever opens the index proves from the names alone
//! that every id has a file ([`cover`]).

use std::ffi::OsStr;
use std::fmt;

use super::entry::{Prefix, PrefixRange};

/// The appendix that is written to.
pub(super) const APPENDIX: &str = "appendix";
const ROTATED: &str = "appendix-";
const SORTED: &str = "sorted";
/// How the names of unfinished files begin; they mean nothing and are swept when the index is opened for writing.
pub(super) const UNFINISHED: &str = "tmp-";

/// Which ids a sorted file holds: those whose hexadecimal form begins with these digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ShardName {
    value: u16,
    digits: u8,
}

impl ShardName {
    /// The shard of all ids, as long as there are few.
    pub(super) const ROOT: Self = Self { value: 0, digits: 0 };
    /// Sixteen bits of prefix make at most 65,536 files, each of which may hold millions of entries.
    pub(super) const MOST_DIGITS: u8 = 4;

    pub(super) fn new(digits: u8, value: u16) -> Option<Self> {
        let fits = digits <= Self::MOST_DIGITS && u32::from(value) < 1 << (4 * u32::from(digits));
        fits.then_some(Self { value, digits })
    }

    pub(super) fn digits(self) -> u8 {
        self.digits
    }

    pub(super) fn value(self) -> u16 {
        self.value
    }

    /// How many leading bits all ids of this shard share.
    pub(super) fn bits(self) -> u32 {
        4 * u32::from(self.digits)
    }

    pub(super) fn range(self) -> PrefixRange {
        let value = u64::from(self.value).checked_shl(64 - self.bits()).unwrap_or(0);
        PrefixRange::leading(value, self.bits())
    }

    /// The sixteen shards that this one splits into; `None` when it has all the digits a name may have.
    pub(super) fn children(self) -> Option<impl Iterator<Item = Self>> {
        let digits = self.digits + 1;
        let value = self.value << 4;
        (digits <= Self::MOST_DIGITS).then(|| (0..16).map(move |digit| Self { value: value | digit, digits }))
    }

    /// Whether the other's ids are all among this one's.
    pub(super) fn holds(self, other: Self) -> bool {
        self.digits <= other.digits
            && u32::from(other.value) >> (other.bits() - self.bits()) == u32::from(self.value)
    }

    fn parse(digits: &str) -> Option<Self> {
        let lower_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let count = u8::try_from(digits.len()).ok()?;
        if !lower_hex || count == 0 || count > Self::MOST_DIGITS {
            return None;
        }
        Self::new(count, u16::from_str_radix(digits, 16).ok()?)
    }
}

impl fmt::Display for ShardName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits == 0 {
            return formatter.write_str(SORTED);
        }
        write!(formatter, "{SORTED}-{:0width$x}", self.value, width = usize::from(self.digits))
    }
}

/// What a name in the index folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileName {
    Appendix,
    /// An appendix being merged; greater numbers were written later.
    Rotated(u64),
    Sorted(ShardName),
    Unfinished,
    Foreign,
}

impl FileName {
    pub(super) fn parse(name: &OsStr) -> Self {
        let Some(name) = name.to_str() else { return Self::Foreign };
        if name == APPENDIX {
            return Self::Appendix;
        }
        if name == SORTED {
            return Self::Sorted(ShardName::ROOT);
        }
        if name.starts_with(UNFINISHED) {
            return Self::Unfinished;
        }
        let rotated = || {
            let number: u64 = name.strip_prefix(ROTATED)?.parse().ok()?;
            (rotated(number) == name).then_some(Self::Rotated(number))
        };
        let sorted = || {
            let digits = name.strip_prefix(SORTED)?.strip_prefix('-')?;
            ShardName::parse(digits).map(Self::Sorted)
        };
        rotated().or_else(sorted).unwrap_or(Self::Foreign)
    }
}

/// The name of an appendix that is being merged.
pub(super) fn rotated(number: u64) -> String {
    format!("{ROTATED}{number}")
}

/// The name under which a file is written before it is finished.
pub(super) fn unfinished(name: &impl fmt::Display) -> String {
    format!("{UNFINISHED}{name}")
}

/// Which of these shards, side by side, hold every id once: those that lie in no other.
///
/// The error is the first id that has none. More names than the cover are what a split or a rebuild leaves behind when
/// it is interrupted: their entries are right, only double.
pub(super) fn cover(names: &[ShardName]) -> Result<Vec<ShardName>, Prefix> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable_by_key(|name| (name.range().first, name.digits()));
    let mut covering: Vec<ShardName> = Vec::new();
    let mut next = Some(Prefix::MIN);
    for name in sorted {
        if covering.last().is_some_and(|last| last.holds(name)) {
            continue;
        }
        match next {
            Some(first) if first == name.range().first => covering.push(name),
            Some(first) => return Err(first),
            None => break,
        }
        next = name.range().last.0.checked_add(1).map(Prefix);
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
            assert_ne!(FileName::parse(OsStr::new(name)), FileName::Foreign, "{name}");
        }
        for name in ["appendix-", "appendix-01", "sorted-", "sorted-A", "sorted-12345", "sorted-+1", "x", ""]
        {
            assert_eq!(FileName::parse(OsStr::new(name)), FileName::Foreign, "{name}");
        }
        assert_eq!(FileName::parse(OsStr::new("sorted-0a")), FileName::Sorted(shard("0a")));
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
        assert_eq!(cover(&names), Err(Prefix(0xf << 60)));
        names.remove(2);
        assert_eq!(cover(&names), Err(Prefix(2 << 60)));
        assert_eq!(cover(&[]), Err(Prefix(0)));
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
