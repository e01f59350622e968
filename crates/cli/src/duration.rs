//! Durations as people write them: `500ms`, `2s`, `10m`, `1h`, `3d`, `2w`, `1y`.

use std::time::Duration;

/// Units in milliseconds. A year has 365.25 days.
const TIME_UNITS: [(&str, u64); 7] = [
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
    ("y", 31_557_600_000),
];

/// Parses a duration: a whole number and a unit, seconds without one.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    read(text, Some(1000)).ok_or_else(|| {
        "write a whole number and `ms`, `s`, `m`, `h`, `d`, `w` or `y`: `500ms`, `2s`".to_owned()
    })
}

/// Parses a duration that must have a unit: for removals, and where a bare number is a year.
pub(crate) fn parse_with_unit(text: &str) -> Result<Duration, String> {
    read(text, None)
        .ok_or_else(|| "write a whole number followed by `s`, `m`, `h`, `d`, `w` or `y`: `90d`".to_owned())
}

fn read(text: &str, without_unit: Option<u64>) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim());
    let number: u64 = digits.parse().ok()?;
    let factor = match unit {
        "" => without_unit?,
        unit => TIME_UNITS.iter().find(|(name, _)| *name == unit)?.1,
    };
    number.checked_mul(factor).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        for (text, millis) in [("0", 0), ("3", 3000), ("500ms", 500), ("2 s", 2000), ("1h", 3_600_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "1.5s", "1 week", "99999999999999999999s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_required_unit() {
        assert_eq!(parse_with_unit("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert_eq!(parse_with_unit("0s"), Ok(Duration::ZERO));
        assert_eq!(parse_with_unit("2w"), Ok(Duration::from_secs(14 * 86_400)));
        for wrong in ["", "d", "90", "-1d", "1.5d", "99999999999999999999y", "9é"] {
            assert!(parse_with_unit(wrong).is_err(), "{wrong}");
        }
    }
}
