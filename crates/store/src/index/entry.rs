//! The index entry: the prefix of an id and the place of its record.
//!
//! Sixteen bytes, big-endian, so that byte order equals value order. Does not know files.

use std::fmt;

use varve_core::RecordId;
use varve_core::id::IdPrefix;

/// The size of an entry in bytes.
pub const ENTRY_SIZE: usize = 16;

const OFFSET_BITS: u32 = 44;

/// Minimum number of hex digits of an id that is looked up without counting the matches: as many as
/// an index entry has.
pub const MIN_LOOKUP_DIGITS: usize = 16;

/// The first 64 bits of an id. Two ids may share them, so a prefix only finds candidates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexPrefix(pub u64);

impl IndexPrefix {
    /// The smallest prefix.
    pub const MIN: Self = Self(0);
    /// The greatest prefix.
    pub const MAX: Self = Self(u64::MAX);

    /// The prefix of a record id.
    pub fn of(id: &RecordId) -> Self {
        let (first, _) = id.as_bytes().split_first_chunk().expect("32 bytes begin with 8");
        Self(u64::from_be_bytes(*first))
    }

    /// The prefix of ids that begin with these digits, of which there are at least
    /// [`MIN_LOOKUP_DIGITS`].
    pub fn leading(digits: &IdPrefix) -> Self {
        Self::of(&RecordId::new(*digits.range().start()))
    }
}

impl fmt::Debug for IndexPrefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Prefix({:016x})", self.0)
    }
}

impl fmt::Display for IndexPrefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

/// The prefixes from `first` to `last`, inclusive: those that an abbreviated id matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixRange {
    /// The smallest.
    pub first: IndexPrefix,
    /// The greatest.
    pub last: IndexPrefix,
}

impl PrefixRange {
    /// Every prefix there is.
    pub const ALL: Self = Self { first: IndexPrefix::MIN, last: IndexPrefix::MAX };

    /// The prefixes whose first `bits` bits are those of `value`. More than 64 bits count as 64.
    pub fn leading(value: u64, bits: u32) -> Self {
        let free = u64::MAX.checked_shr(bits).unwrap_or(0);
        Self { first: IndexPrefix(value & !free), last: IndexPrefix(value | free) }
    }

    /// Whether a prefix lies in the range.
    pub fn contains(self, prefix: IndexPrefix) -> bool {
        self.first <= prefix && prefix <= self.last
    }

    /// The intersection of two ranges.
    pub(super) fn intersection(self, other: Self) -> Option<Self> {
        let common = Self { first: self.first.max(other.first), last: self.last.min(other.last) };
        (common.first <= common.last).then_some(common)
    }
}

/// The place of a record: a silo number (20 bits) and an offset in the silo (44 bits).
///
/// Ordered by silo, then by offset: the order of writing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiloPlace(u64);

impl SiloPlace {
    /// The greatest silo number that an entry can hold.
    pub const GREATEST_SILO: u32 = (1 << (64 - OFFSET_BITS)) - 1;
    /// The greatest offset that an entry can hold, just under 16 TiB.
    pub const GREATEST_OFFSET: u64 = (1 << OFFSET_BITS) - 1;

    pub(super) const MIN: Self = Self(0);
    pub(super) const MAX: Self = Self(u64::MAX);

    /// A place; fails when a number does not fit an entry.
    pub fn new(silo: u32, offset: u64) -> Result<Self, PlaceError> {
        if silo > Self::GREATEST_SILO {
            return Err(PlaceError::Silo(silo));
        }
        if offset > Self::GREATEST_OFFSET {
            return Err(PlaceError::Offset(offset));
        }
        Ok(Self(u64::from(silo) << OFFSET_BITS | offset))
    }

    /// The number of the silo.
    pub fn silo(self) -> u32 {
        (self.0 >> OFFSET_BITS) as u32
    }

    /// The offset in the silo.
    pub fn offset(self) -> u64 {
        self.0 & Self::GREATEST_OFFSET
    }

    /// The place as one number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The place with this number. Every number is a place.
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Debug for SiloPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Place({}, {})", self.silo(), self.offset())
    }
}

impl fmt::Display for SiloPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "silo {} offset {}", self.silo(), self.offset())
    }
}

/// A place that does not fit an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The silo's number needs more than 20 bits.
    #[error("silo number {0} is past the greatest that the index can hold, {max}", max = SiloPlace::GREATEST_SILO)]
    Silo(u32),
    /// The offset needs more than 44 bits.
    #[error("offset {0} is past the greatest that the index can hold, {max}", max = SiloPlace::GREATEST_OFFSET)]
    Offset(u64),
}

/// An index entry. Ordered by prefix, then by place, which is also the byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexEntry {
    /// The first 64 bits of the id.
    pub prefix: IndexPrefix,
    /// The place of the record.
    pub place: SiloPlace,
}

impl IndexEntry {
    /// Encodes the entry.
    pub fn to_bytes(self) -> [u8; ENTRY_SIZE] {
        (u128::from(self.prefix.0) << 64 | u128::from(self.place.0)).to_be_bytes()
    }

    /// Decodes an entry. Any sixteen bytes are valid.
    #[inline]
    pub fn from_bytes(bytes: &[u8; ENTRY_SIZE]) -> Self {
        let both = u128::from_be_bytes(*bytes);
        Self { prefix: IndexPrefix((both >> 64) as u64), place: SiloPlace(both as u64) }
    }

    pub(super) fn first_of(prefix: IndexPrefix) -> Self {
        Self { prefix, place: SiloPlace::MIN }
    }

    pub(super) fn last_of(prefix: IndexPrefix) -> Self {
        Self { prefix, place: SiloPlace::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_is_big_endian() {
        let entry = IndexEntry {
            prefix: IndexPrefix(0x0123_4567_89ab_cdef),
            place: SiloPlace::new(0xfedcb, 0x12).unwrap(),
        };
        let expected = [
            0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, // prefix
            0xfe, 0xdc, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x12, // silo, offset
        ];
        assert_eq!(entry.to_bytes(), expected);
    }

    #[test]
    fn places_past_the_limits_are_refused() {
        assert!(SiloPlace::new(SiloPlace::GREATEST_SILO, SiloPlace::GREATEST_OFFSET).is_ok());
        assert_eq!(SiloPlace::new(1 << 20, 0), Err(PlaceError::Silo(1 << 20)));
        assert_eq!(SiloPlace::new(0, 1 << 44), Err(PlaceError::Offset(1 << 44)));
    }

    #[test]
    fn a_shortened_id_stands_for_a_range() {
        let range = PrefixRange::leading(0xabcd_0000_0000_0000, 12);
        assert_eq!(range.first, IndexPrefix(0xabc0_0000_0000_0000));
        assert_eq!(range.last, IndexPrefix(0xabcf_ffff_ffff_ffff));
        assert_eq!(PrefixRange::leading(7, 0), PrefixRange::ALL);
        assert_eq!(PrefixRange::leading(7, 64), PrefixRange { first: IndexPrefix(7), last: IndexPrefix(7) });
        assert_eq!(PrefixRange::leading(7, 99), PrefixRange { first: IndexPrefix(7), last: IndexPrefix(7) });
    }

    proptest! {
        #[test]
        fn entries_come_back_and_keep_their_order(a: [u8; 16], b: [u8; 16]) {
            let (first, second) = (IndexEntry::from_bytes(&a), IndexEntry::from_bytes(&b));
            prop_assert_eq!(first.to_bytes(), a);
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        }
    }
}
