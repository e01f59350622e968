//! Spans of time as people write them: `500ms`, `2s`, `10m`, `1h`, `3d`.

use std::time::Duration;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a span of time: a whole number and a unit, seconds if there is none.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim());
    let wrong = || "write a whole number and `ms`, `s`, `m`, `h` or `d`: `500ms`, `2s`".to_owned();
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let factor = match unit {
        "" => 1000,
        unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1,
    };
    number.checked_mul(factor).map(Duration::from_millis).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time() {
        for (text, millis) in [("0", 0), ("3", 3000), ("500ms", 500), ("2 s", 2000), ("1h", 3_600_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "1.5s", "1 week", "99999999999999999999s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
