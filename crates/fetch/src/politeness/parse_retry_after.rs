//! Parses `Retry-After`: a number of seconds, or a date in one of the three forms of HTTP.

use std::time::Duration;

use varve_core::Moment;

const MONTH_NAMES: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A longer wait is cut to this one, so that no server can stop a run for ever.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long a `Retry-After` asks to wait, seen from `now`: nothing for a date in the past, and at
/// most a week.
///
/// ```
/// # use std::time::Duration;
/// # use varve_fetch::politeness::parse_retry_after;
/// let now = "1994-11-06T08:49:00Z".parse().expect("an instant");
/// assert_eq!(parse_retry_after("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(37)));
/// assert_eq!(parse_retry_after("soon", now), None);
/// ```
pub fn parse_retry_after(value: &str, now: Moment) -> Option<Duration> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let micros = parse_http_date(value)?.micros().saturating_sub(now.micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37
/// 1994`.
fn parse_http_date(text: &str) -> Option<Moment> {
    let words: Vec<&str> = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).take(8).collect();
    let (year, month, day, time) = match words[..] {
        [_, day, month, year, time, "GMT" | "UTC" | "gmt" | "+0000"] => (year, month, day, time),
        [_, month, day, time, year] => (year, month, day, time),
        _ => return None,
    };
    let month = MONTH_NAMES.iter().position(|name| name.eq_ignore_ascii_case(month))? + 1;
    let day: u32 = day.parse().ok()?;
    let year = full_year(year)?;
    format!("{year:04}-{month:02}-{day:02}T{time}Z").parse().ok()
}

/// Two digits up to 69 are of this century (RFC 6265).
fn full_year(text: &str) -> Option<u32> {
    let year: u32 = text.parse().ok()?;
    match text.len() {
        2 if year < 70 => Some(2000 + year),
        2 => Some(1900 + year),
        4 => Some(year),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Moment {
        "1994-11-06T08:49:00Z".parse().unwrap()
    }

    #[test]
    fn seconds_and_dates() {
        for (value, seconds) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("604799", Some(604_799)),
            ("99999999999999999999999", Some(604_800)),
            ("Sun, 06 Nov 2094 08:49:37 GMT", Some(604_800)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(37)),
            ("Sun Nov  6 08:49:37 1994", Some(37)),
            ("Sun, 06 Nov 1994 08:48:00 GMT", Some(0)),
            ("Mon, 07 nov 1994 08:49:00 GMT", Some(86400)),
            ("", None),
            ("-5", None),
            ("1.5", None),
            ("tomorrow", None),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ] {
            assert_eq!(parse_retry_after(value, now()).map(|wait| wait.as_secs()), seconds, "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text: String) {
            let _ = parse_retry_after(&text, now());
        }
    }
}
