//! The clock. Rooms below are told the time and never ask for it.

use std::time::SystemTime;

use varve_archive::Date;

/// The present, to the second: the precision that a repair or a note is worth.
pub(crate) fn now() -> Date {
    Date::at_second(SystemTime::now())
}

/// The number of the day, counted from 1970.
pub(crate) fn day() -> u64 {
    seconds() / 86_400
}

/// Seconds since 1970; a clock that is before that counts as being at it.
fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The beginning of a day that a person gives as `2026-11-15`, in seconds since 1970; years and months will do.
pub(crate) fn parse_day(text: &str) -> Result<i64, String> {
    let date = Date::parse(text.as_bytes()).ok_or("not a date such as 2026-11-15")?;
    Ok(date.instant.timestamp())
}
