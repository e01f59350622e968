//! Sizes as users write them: `1 GiB`, `500 MB`, `1048576`.
//!
//! A size is a whole number and a decimal or binary unit. Fractions are not allowed: `1536 MiB`
//! equals `1.5 GiB` and needs no rounding.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// A text that is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// The text is not a number with a unit.
    #[error("a size is a whole number and a unit, for example `1 GiB` or `500 MB`")]
    Form,
    /// The number of bytes exceeds 64 bits.
    #[error("that is more bytes than can be counted")]
    TooLarge,
}

/// Larger units first, so that the first unit that divides the size gives the shortest text.
const SIZE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1000),
    ("B", 1),
];

impl FromStr for ByteSize {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let text = text.trim();
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = (&text[..end], text[end..].trim_start());
        if digits.is_empty() {
            return Err(SizeError::Form);
        }
        let number: u64 = digits.parse().map_err(|_| SizeError::TooLarge)?;
        let factor = match unit {
            "" => 1,
            unit => {
                SIZE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or(SizeError::Form)?.1
            }
        };
        number.checked_mul(factor).map(Self).ok_or(SizeError::TooLarge)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |(_, factor): &&(&str, u64)| self.0 >= *factor && self.0.is_multiple_of(*factor);
        let (unit, factor) = SIZE_UNITS.iter().find(divides).unwrap_or(&("B", 1));
        write!(formatter, "{} {unit}", self.0 / factor)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a size is a whole number and a unit, for example `1 GiB` or `500 MB`")]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(Self(number)),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// Formats a number of bytes for people: `999 B`, `68.0 MB`.
pub fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    // A value that would be shown as 1000 of one unit is shown as 1 of the next.
    while value >= 999.5 {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_of_thousands_or_of_1024s() {
        for (text, bytes) in [
            ("1 GiB", 1 << 30),
            ("1GiB", 1 << 30),
            ("500 mb", 500_000_000),
            ("7", 7),
            (" 64 kib ", 65536),
            ("0 B", 0),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size() {
        for text in ["", "GiB", "1.5 GiB", "-1", "1 G", "1 GiB more", "one"] {
            assert_eq!(text.parse::<ByteSize>(), Err(SizeError::Form), "{text}");
        }
        assert_eq!("99999999999999999999".parse::<ByteSize>(), Err(SizeError::TooLarge));
        assert_eq!("99999999999 GiB".parse::<ByteSize>(), Err(SizeError::TooLarge));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(bytes: u64, shift in 0u32..64) {
            let size = ByteSize(bytes >> shift);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }

        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = text.parse::<ByteSize>();
        }
    }
}
