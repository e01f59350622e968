//! The clock, and times as people write them. The crates below get the time from their caller.

use std::time::SystemTime;

use varve_archive::{Date, Moment};

use crate::duration;

/// The current time, to the second.
pub(crate) fn now() -> Date {
    Date::at_second(SystemTime::now())
}

/// The current time, to the microsecond, for comparing with file times.
pub(crate) fn moment() -> Moment {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// The number of the day, counted from 1970.
pub(crate) fn day() -> u64 {
    u64::try_from(seconds()).unwrap_or(0) / 86_400
}

/// Seconds since 1970; 0 if the clock is earlier.
pub(crate) fn seconds() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Parses a time, or an age such as `90m`, `2d` or `1w ago`.
pub(crate) fn parse_moment(text: &str) -> Result<Moment, String> {
    match (text.parse(), parse_ago(text)) {
        (Ok(time), _) => Ok(time),
        (Err(_), Some(time)) => Ok(time),
        (Err(error), None) => Err(format!("{error}; or an age: `90m`, `2d`, `1w`")),
    }
}

/// Parses the end of a period: a day, month, year or second counts to its end.
pub(crate) fn parse_end(text: &str) -> Result<Moment, String> {
    Moment::parse_end(text).or_else(|_| parse_moment(text))
}

/// Parses an age. `None` if the result is out of range.
pub(crate) fn parse_ago(text: &str) -> Option<Moment> {
    let text = text.trim();
    let span = duration::parse_with_unit(text.strip_suffix(" ago").unwrap_or(text)).ok()?;
    // Not rounded to seconds, so that something made just now is before now.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let micros = now.checked_sub(span)?.as_micros();
    i64::try_from(micros).ok().map(Moment::from_micros)
}

/// Parses the start of a day such as `2026-11-15`, of a month or a year, or an age; returns seconds
/// since 1970.
pub(crate) fn parse_day(text: &str) -> Result<i64, String> {
    match (Date::parse(text.as_bytes()), parse_ago(text)) {
        (Some(date), _) => Ok(date.instant.timestamp()),
        (None, Some(time)) => Ok(time.seconds()),
        (None, None) => Err("not a date such as 2026-11-15, nor an age such as 30d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_be_ages() {
        let seconds = |text: &str| parse_moment(text).unwrap().seconds();
        let now = now().instant.timestamp();
        for (text, ago) in [("90m", 5400), ("2d", 172_800), ("1w ago", 604_800), ("0s", 0)] {
            assert!((now - ago..=now - ago + 5).contains(&seconds(text)), "{text}");
            assert!((now - ago..=now - ago + 5).contains(&parse_day(text).unwrap()), "{text}");
        }
        // A bare number is a year and not a span.
        assert_eq!(seconds("2026"), seconds("2026-01-01"));
        for wrong in ["", "2", "d", "2 fortnights", "9999y", "-1d", "99999999999999999999d"] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
    }
}
