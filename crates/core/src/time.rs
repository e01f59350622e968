//! Instants as rows and manifests store them: microseconds since 1970, in UTC.
//!
//! Owns the text forms of an instant: RFC 3339 for machines, and the 14 digits of replay for links.
//! Nothing here reads a clock.

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};

/// An instant, to the microsecond.
///
/// ```
/// # use varve_core::Moment;
/// let moment: Moment = "2026-11-16T02:45:46.5Z".parse().expect("an instant");
/// assert_eq!(moment.to_string(), "2026-11-16T02:45:46.500Z");
/// assert_eq!(moment.digits(), "20261116024546");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(DateTime<Utc>);

/// A text is not an instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\u{201c}{text}\u{201d} is not a time: write 2026-11-16, 2026-11-16T02:45:46Z or 20261116024546")]
pub struct MomentError {
    /// The invalid text.
    pub text: String,
}

impl Moment {
    /// The instant that many microseconds after the beginning of 1970. Years outside of the
    /// calendar's range are clamped.
    pub fn from_micros(micros: i64) -> Self {
        let limit = if micros < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
        Self(DateTime::from_timestamp_micros(micros).unwrap_or(limit))
    }

    /// The instant that many seconds after the beginning of 1970.
    pub fn from_seconds(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(1_000_000))
    }

    /// Microseconds since the beginning of 1970.
    pub fn micros(self) -> i64 {
        self.0.timestamp_micros()
    }

    /// Whole seconds since the beginning of 1970, rounded down.
    pub fn seconds(self) -> i64 {
        self.0.timestamp()
    }

    /// The 14 digits of the instant in replay URLs.
    pub fn digits(self) -> String {
        self.0.format("%Y%m%d%H%M%S").to_string()
    }

    /// The date and the time of day to the second, in UTC, for display.
    pub fn for_people(self) -> String {
        self.0.format("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// The instant as a chrono value.
    pub fn utc(self) -> DateTime<Utc> {
        self.0
    }
}

impl From<DateTime<Utc>> for Moment {
    fn from(instant: DateTime<Utc>) -> Self {
        Self::from_micros(instant.timestamp_micros())
    }
}

impl std::fmt::Display for Moment {
    /// RFC 3339 in UTC, with as many fractional digits as needed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl Moment {
    /// Parses the end of a period, for options such as "until" and "as of". It accepts the texts of
    /// [`str::parse`]. A period that is written by its beginning means its last instant: a year, a
    /// month, a day, an hour, a minute or a second. A time with a fraction means that instant.
    pub fn parse_end(text: &str) -> Result<Self, MomentError> {
        let (begin, precision) =
            read(text.trim()).ok_or_else(|| MomentError { text: text.trim().to_owned() })?;
        let next = match precision {
            TimePrecision::Year => begin.checked_add_months(chrono::Months::new(12)),
            TimePrecision::Month => begin.checked_add_months(chrono::Months::new(1)),
            TimePrecision::Day => begin.checked_add_days(chrono::Days::new(1)),
            TimePrecision::Hour => begin.checked_add_signed(chrono::TimeDelta::hours(1)),
            TimePrecision::Minute => begin.checked_add_signed(chrono::TimeDelta::minutes(1)),
            TimePrecision::Second => begin.checked_add_signed(chrono::TimeDelta::seconds(1)),
            TimePrecision::Instant => return Ok(Self::from(begin)),
        };
        Ok(next.map_or(Self::from(begin), |next| Self::from_micros(Self::from(next).micros() - 1)))
    }
}

/// The smallest part of a time that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimePrecision {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Instant,
}

impl std::str::FromStr for Moment {
    type Err = MomentError;

    /// Parses RFC 3339, a date, a date and time without zone (UTC), or 4 to 14 digits. Missing parts
    /// mean the earliest instant.
    fn from_str(text: &str) -> Result<Self, MomentError> {
        let text = text.trim();
        read(text).map(|(time, _)| Self::from(time)).ok_or_else(|| MomentError { text: text.to_owned() })
    }
}

fn read(text: &str) -> Option<(DateTime<Utc>, TimePrecision)> {
    let of_fraction = if text.contains('.') { TimePrecision::Instant } else { TimePrecision::Second };
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Some((instant.with_timezone(&Utc), of_fraction));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return read_digits(text);
    }
    let text = text.replacen(' ', "T", 1);
    let (whole, precision) = match text.strip_suffix('Z').unwrap_or(&text) {
        month if month.len() == 7 => (format!("{month}-01T00:00:00"), TimePrecision::Month),
        day if day.len() == 10 => (format!("{day}T00:00:00"), TimePrecision::Day),
        hour if hour.len() == 13 => (format!("{hour}:00:00"), TimePrecision::Hour),
        minute if minute.len() == 16 => (format!("{minute}:00"), TimePrecision::Minute),
        second => (second.to_owned(), of_fraction),
    };
    let naive = NaiveDateTime::parse_from_str(&whole, "%Y-%m-%dT%H:%M:%S%.f").ok()?;
    Some((naive.and_utc(), precision))
}

fn read_digits(text: &str) -> Option<(DateTime<Utc>, TimePrecision)> {
    const EARLIEST_DIGITS: &str = "00000101000000";
    let precision = match text.len() {
        4 => TimePrecision::Year,
        6 => TimePrecision::Month,
        8 => TimePrecision::Day,
        10 => TimePrecision::Hour,
        12 => TimePrecision::Minute,
        14 => TimePrecision::Second,
        _ => return None,
    };
    let whole = format!("{text}{}", &EARLIEST_DIGITS[text.len()..]);
    let naive = NaiveDateTime::parse_from_str(&whole, "%Y%m%d%H%M%S").ok()?;
    Some((naive.and_utc(), precision))
}

impl serde::Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Moment {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_day_as_an_end_is_its_end() {
        let end = |text: &str| Moment::parse_end(text).unwrap().to_string();
        for text in ["2024-02-29", "20240229", "202402"] {
            assert!(end(text).starts_with("2024-02-29T23:59:59.999999"), "{text}: {}", end(text));
        }
        assert!(end("2024").starts_with("2024-12-31T23:59:59"));
        assert!(
            end("2024022910").starts_with("2024-02-29T10:59:59")
                && end("202402291000").starts_with("2024-02-29T10:00:59")
        );
        for text in ["2024-02-29T10:00", "2024-02-29 10:00", "2024-02-29T10:00Z"] {
            assert_eq!(end(text), "2024-02-29T10:00:59.999999Z", "{text}");
        }
        assert_eq!(end("2024-02-29T10"), "2024-02-29T10:59:59.999999Z");
        assert_eq!(end("2024-02"), "2024-02-29T23:59:59.999999Z");
        assert!(Moment::parse_end("yesterday").is_err());
    }

    #[test]
    fn a_second_as_an_end_is_its_end_and_a_fraction_is_an_instant() {
        let end = |text: &str| Moment::parse_end(text).unwrap().to_string();
        let moment: Moment = "2024-02-29T10:00:00.25Z".parse().unwrap();
        for text in [
            &moment.digits(),
            &moment.for_people(),
            "2024-02-29T10:00:00",
            "2024-02-29T10:00:00Z",
            "2024-02-29T11:00:00+01:00",
        ] {
            assert_eq!(end(text), "2024-02-29T10:00:00.999999Z", "{text}");
        }
        assert_eq!(end("2024-02-29T10:00:00.25Z"), moment.to_string());
        assert_eq!(end("2024-02-29 10:00:00.0"), "2024-02-29T10:00:00Z");
    }

    #[test]
    fn people_may_write_it_in_many_ways() {
        let whole: Moment = "2026-11-16T00:00:00Z".parse().unwrap();
        for text in
            ["2026-11-16", "20261116", "20261116000000", "2026-11-16 00:00:00", "2026-11-16T01:00:00+01:00"]
        {
            assert_eq!(text.parse(), Ok(whole), "{text}");
        }
        assert_eq!("2026".parse(), "2026-01-01".parse::<Moment>());
        assert_eq!("2026-11".parse(), "2026-11-01".parse::<Moment>());
        assert_eq!("2026-11-16T02:45".parse(), "2026-11-16T02:45:00".parse::<Moment>());
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-13",
            "2026-11-16T25:00",
            "20261",
            "202611160000001",
            "é2026-",
            "2026-11Z0",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn its_text_is_read_back(micros in -62_135_596_800_000_000..253_402_300_799_000_000i64) {
            let moment = Moment::from_micros(micros);
            prop_assert_eq!(moment.to_string().parse(), Ok(moment));
            prop_assert_eq!(moment.micros(), micros);
        }

        #[test]
        fn any_number_is_some_instant(micros: i64) {
            let _ = Moment::from_micros(micros).to_string();
        }
    }
}
