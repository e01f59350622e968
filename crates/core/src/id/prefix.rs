//! The beginning of a digest, as users type it. It knows how to match and which range to scan. The
//! store that holds the ids finds the one that matches, and reports when several do.

use super::form::{URN_PREFIX, check_hex};
use super::{IdError, RecordId};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Minimum number of digits: with fewer, a typing error could match an id.
const MIN_HEX_DIGITS: usize = 4;
/// Maximum number of digits: a whole digest.
const MAX_HEX_DIGITS: usize = 64;
const PREFIX_KIND: &str = "id prefix";

/// The first hex digits of a [`BodyId`](super::BodyId) or [`RecordId`], at least four.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdPrefix {
    /// The digits, followed by zeroes.
    first: [u8; 32],
    digits: u8,
}

impl IdPrefix {
    /// How many hex digits there are.
    pub const fn digits(&self) -> usize {
        self.digits as usize
    }

    /// Whether the digest begins with these digits.
    pub fn matches(&self, digest: &[u8; 32]) -> bool {
        self.range().contains(digest)
    }

    /// Whether the id of a record begins with these digits.
    pub fn matches_record(&self, id: &RecordId) -> bool {
        self.matches(id.as_bytes())
    }

    /// The smallest and the greatest digest that match: the range to scan in a sorted list.
    pub fn range(&self) -> RangeInclusive<[u8; 32]> {
        let mut last = self.first;
        for digit in self.digits()..MAX_HEX_DIGITS {
            last[digit / 2] |= if digit % 2 == 0 { 0xf0 } else { 0x0f };
        }
        self.first..=last
    }
}

impl FromStr for IdPrefix {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let digits = text.strip_prefix(URN_PREFIX).unwrap_or(text);
        check_hex(digits, text.len() - digits.len(), PREFIX_KIND)?;
        let found = digits.len();
        if !(MIN_HEX_DIGITS..=MAX_HEX_DIGITS).contains(&found) {
            return Err(IdError::PrefixLength {
                kind: PREFIX_KIND,
                least: MIN_HEX_DIGITS,
                most: MAX_HEX_DIGITS,
                found,
            });
        }
        let mut first = [0; 32];
        for (place, digit) in digits.chars().enumerate() {
            let value = digit.to_digit(16).expect("hex digits, checked above") as u8;
            first[place / 2] |= if place % 2 == 0 { value << 4 } else { value };
        }
        Ok(Self { first, digits: found as u8 })
    }
}

impl fmt::Display for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; MAX_HEX_DIGITS];
        let digits = data_encoding::HEXLOWER.encode_mut_str(&self.first, &mut digits);
        f.pad(&digits[..self.digits()])
    }
}

impl fmt::Debug for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdPrefix({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BodyId;
    use proptest::prelude::*;

    #[test]
    fn lengths_and_digits_are_checked() {
        let said = |text: &str| text.parse::<IdPrefix>().unwrap_err().to_string();
        assert_eq!(said("abc"), "id prefix: expected 4 to 64 hex digits, found 3");
        assert_eq!(said(&"a".repeat(65)), "id prefix: expected 4 to 64 hex digits, found 65");
        assert_eq!(said("abcz"), "id prefix: `z` at position 3 is not a hex digit");
        assert_eq!(said("urn:sha256:abcz"), "id prefix: `z` at position 14 is not a hex digit");
        assert_eq!("urn:sha256:ABCDE".parse::<IdPrefix>().unwrap().to_string(), "abcde");
    }

    #[test]
    fn an_odd_digit_matches_half_a_byte() {
        let prefix: IdPrefix = "abcd1".parse().unwrap();
        let mut digest = [0; 32];
        digest[..3].copy_from_slice(&[0xab, 0xcd, 0x1f]);
        assert!(prefix.matches(&digest));
        digest[2] = 0x20;
        assert!(!prefix.matches(&digest));
    }

    proptest! {
        #[test]
        fn a_prefix_matches_what_its_text_begins(digest: [u8; 32], other: [u8; 32], length in 4usize..=64) {
            let (id, other) = (BodyId::new(digest), BodyId::new(other));
            let text = &id.to_string()[..length];
            let prefix: IdPrefix = text.parse().unwrap();
            prop_assert!(prefix.matches(id.as_bytes()));
            prop_assert_eq!(prefix.matches(other.as_bytes()), other.to_string().starts_with(text));
            prop_assert_eq!(prefix.to_string(), text);
        }
    }
}
