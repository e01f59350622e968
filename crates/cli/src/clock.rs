//! The clock. Rooms below are told the time and never ask for it.

use std::time::SystemTime;

use varve_archive::{Date, Moment};

use crate::duration;

/// The present, to the second: the precision that a repair or a note is worth.
pub(crate) fn now() -> Date {
    Date::at_second(SystemTime::now())
}

/// The present, to the microsecond: for what is held against the times of files.
pub(crate) fn moment() -> Moment {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// The number of the day, counted from 1970.
pub(crate) fn day() -> u64 {
    seconds() / 86_400
}

/// Seconds since 1970; a clock that is before that counts as being at it.
fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An instant as people give it: a time, or how long ago it is, such as `90m`, `2d` or `1w ago`.
pub(crate) fn parse_moment(text: &str) -> Result<Moment, String> {
    match (text.parse(), parse_ago(text)) {
        (Ok(time), _) => Ok(time),
        (Err(_), Some(time)) => Ok(time),
        (Err(error), None) => Err(format!("{error}; or say how long ago: `90m`, `2d`, `1w`")),
    }
}

/// An instant as people say until when: a day, a month or a year counts to its end, and so does a second.
pub(crate) fn parse_end(text: &str) -> Result<Moment, String> {
    Moment::parse_end(text).or_else(|_| parse_moment(text))
}

/// An instant that is told by how long ago it is. What is beyond the reach of clocks is no instant.
pub(crate) fn parse_ago(text: &str) -> Option<Moment> {
    let text = text.trim();
    let span = duration::parse_with_unit(text.strip_suffix(" ago").unwrap_or(text)).ok()?;
    // Not to the second: what was made just now is before now.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let micros = now.checked_sub(span)?.as_micros();
    i64::try_from(micros).ok().map(Moment::from_micros)
}

/// The beginning of a day that a person gives as `2026-11-15`, in seconds since 1970; years and months will do, and so does
/// how long ago it is.
pub(crate) fn parse_day(text: &str) -> Result<i64, String> {
    match (Date::parse(text.as_bytes()), parse_ago(text)) {
        (Some(date), _) => Ok(date.instant.timestamp()),
        (None, Some(time)) => Ok(time.seconds()),
        (None, None) => Err("not a date such as 2026-11-15, nor how long ago, such as 30d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_be_told_from_now() {
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
