//! WARC-Date: the W3C profile of ISO 8601, and the 14-digit times of ARC and CDX.
//!
//! The instant and the written precision are both kept, since 1.1 allows anything from a year to
//! nanoseconds and an archive must not invent digits. Real files also hold lower-case `t` and `z`,
//! offsets other than UTC and no zone at all; such dates are parsed and marked as not exact.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};

/// An instant with its written precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// The instant; unwritten parts have their smallest value.
    pub instant: DateTime<Utc>,
    /// The written precision.
    pub precision: Precision,
    /// Whether it is written exactly as the profile requires.
    pub well_formed: bool,
}

/// The written precision of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Only the year.
    Year,
    /// Year and month.
    Month,
    /// Year, month and day.
    Day,
    /// Down to the minute.
    Minute,
    /// Down to the second.
    Second,
    /// With this number of digits of a second.
    Fraction(u8),
}

impl Date {
    /// Reads a WARC-Date.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut cursor = DateCursor { text, well_formed: true };
        let year = cursor.number(4)?;
        let mut parts = DateParts::of_year(year);
        let precision = cursor.month_onwards(&mut parts)?;
        let offset = if precision >= Precision::Minute { cursor.zone()? } else { 0 };
        if !cursor.text.is_empty() {
            return None;
        }
        let instant = parts.instant()?.checked_sub_signed(TimeDelta::minutes(offset))?;
        Some(Self { instant, precision, well_formed: cursor.well_formed })
    }

    /// Reads the digits of an ARC or CDX time: 14, or fewer from the left, or 17 with milliseconds.
    pub fn parse_digits(text: &[u8]) -> Option<Self> {
        if !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let mut cursor = DateCursor { text, well_formed: true };
        let mut parts = DateParts::of_year(cursor.number(4)?);
        let fields: [(&mut u32, Precision); 5] = [
            (&mut parts.month, Precision::Month),
            (&mut parts.day, Precision::Day),
            (&mut parts.hour, Precision::Day),
            (&mut parts.minute, Precision::Minute),
            (&mut parts.second, Precision::Second),
        ];
        let mut precision = Precision::Year;
        for (field, reached) in fields {
            if cursor.text.is_empty() {
                break;
            }
            *field = cursor.number(2)?;
            precision = reached;
        }
        if cursor.text.len() == 3 {
            parts.nanosecond = cursor.number(3)? * 1_000_000;
            precision = Precision::Fraction(3);
        }
        let well_formed = precision >= Precision::Second;
        cursor.text.is_empty().then_some(Self { instant: parts.instant()?, precision, well_formed })
    }

    /// An instant, written with microseconds.
    pub fn from_instant(instant: DateTime<Utc>) -> Self {
        Self { instant, precision: Precision::Fraction(6), well_formed: true }
    }

    /// An instant, written with whole seconds.
    pub fn at_second(instant: impl Into<DateTime<Utc>>) -> Self {
        Self { instant: instant.into(), precision: Precision::Second, well_formed: true }
    }

    /// The time in 14 digits, truncated or filled with the smallest.
    pub fn digits(&self) -> String {
        self.instant.format("%Y%m%d%H%M%S").to_string()
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (date, time) = (self.instant.date_naive(), self.instant.time());
        let is_plain = (0..=9999).contains(&date.year()) && time.nanosecond() < 1_000_000_000;
        if self.precision == Precision::Second && is_plain {
            // Nearly all dates have this form, and a general formatter takes longer.
            let (year, month, day) = (date.year(), date.month(), date.day());
            let (hour, minute, second) = (time.hour(), time.minute(), time.second());
            return write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        }
        let pattern = match self.precision {
            Precision::Year => "%Y",
            Precision::Month => "%Y-%m",
            Precision::Day => "%Y-%m-%d",
            Precision::Minute => "%Y-%m-%dT%H:%MZ",
            Precision::Second => "%Y-%m-%dT%H:%M:%SZ",
            Precision::Fraction(digits) => {
                // In a leap second the nanoseconds count on past the second before.
                let nanoseconds = format!("{:09}", self.instant.timestamp_subsec_nanos() % 1_000_000_000);
                let shown = &nanoseconds[..usize::from(digits).min(9)];
                return write!(formatter, "{}.{shown}Z", self.instant.format("%Y-%m-%dT%H:%M:%S"));
            }
        };
        write!(formatter, "{}", self.instant.format(pattern))
    }
}

struct DateParts {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
}

impl DateParts {
    fn of_year(year: u32) -> Self {
        Self { year, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanosecond: 0 }
    }

    fn instant(&self) -> Option<DateTime<Utc>> {
        let date = NaiveDate::from_ymd_opt(i32::try_from(self.year).ok()?, self.month, self.day)?;
        // A leap second is the last instant of its minute.
        let (second, leap) = if self.second == 60 { (59, 1_000_000_000) } else { (self.second, 0) };
        let time = NaiveTime::from_hms_nano_opt(
            self.hour,
            self.minute,
            second,
            (self.nanosecond + leap).min(1_999_999_999),
        )?;
        Some(NaiveDateTime::new(date, time).and_utc())
    }
}

struct DateCursor<'a> {
    text: &'a [u8],
    well_formed: bool,
}

impl DateCursor<'_> {
    /// Exactly `count` digits.
    fn number(&mut self, digits: usize) -> Option<u32> {
        let (head, tail) = self.text.split_at_checked(digits)?;
        self.text = tail;
        head.iter()
            .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0')))
    }

    fn take(&mut self, expected: u8) -> bool {
        let found = self.text.first() == Some(&expected);
        if found {
            self.text = &self.text[1..];
        }
        found
    }

    fn month_onwards(&mut self, parts: &mut DateParts) -> Option<Precision> {
        if !self.take(b'-') {
            return Some(Precision::Year);
        }
        parts.month = self.number(2)?;
        if !self.take(b'-') {
            return Some(Precision::Month);
        }
        parts.day = self.number(2)?;
        if !self.take(b'T') {
            if !self.take(b't') && !self.take(b' ') {
                return Some(Precision::Day);
            }
            self.well_formed = false;
        }
        self.time(parts)
    }

    fn time(&mut self, parts: &mut DateParts) -> Option<Precision> {
        parts.hour = self.number(2)?;
        if !self.take(b':') {
            return None;
        }
        parts.minute = self.number(2)?;
        if !self.take(b':') {
            return Some(Precision::Minute);
        }
        parts.second = self.number(2)?;
        if !self.take(b'.') {
            return Some(Precision::Second);
        }
        let digits = self.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        parts.nanosecond = self.number(digits)? * 10u32.pow(9 - digits as u32);
        Some(Precision::Fraction(digits as u8))
    }

    /// Minutes east of UTC.
    fn zone(&mut self) -> Option<i64> {
        if self.take(b'Z') {
            return Some(0);
        }
        self.well_formed = false;
        if self.text.is_empty() || self.take(b'z') {
            return Some(0);
        }
        let sign = if self.take(b'+') {
            1
        } else if self.take(b'-') {
            -1
        } else {
            return None;
        };
        let hours = self.number(2)?;
        self.take(b':');
        let minutes = self.number(2)?;
        Some(sign * i64::from(hours * 60 + minutes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_precision_comes_back_as_written() {
        for text in [
            "2026",
            "2026-11",
            "2026-11-15",
            "2026-11-15T23:30Z",
            "2026-11-15T23:30:01Z",
            "2026-11-15T23:30:01.5Z",
            "2026-11-15T23:30:01.123456789Z",
            "2016-12-31T23:59:60Z",
            "2016-12-31T23:59:60.25Z",
        ] {
            let date = Date::parse(text.as_bytes()).expect(text);
            assert!(date.well_formed, "{text}");
            assert_eq!(date.to_string(), text);
        }
    }

    #[test]
    fn dates_of_real_files() {
        let lower = Date::parse(b"2008-04-30t20:48:25z").expect("read");
        assert!(!lower.well_formed);
        assert_eq!(lower.digits(), "20080430204825");
        let offset = Date::parse(b"2020-01-01T01:00:00+02:00").expect("read");
        assert_eq!((offset.digits().as_str(), offset.well_formed), ("20191231230000", false));
        assert!(Date::parse(b"2016-12-31T23:59:60Z").is_some());
    }

    #[test]
    fn invalid_dates() {
        for text in ["", "blue monday", "2020-13-01", "2020-02-30T00:00:00Z", "2020-01-01T00:00:00Zx", "20"] {
            assert_eq!(Date::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Date::parse(b"2020-01-01T00:00:00.1234567890Z"), None);
        assert_eq!(Date::parse(b"2020-01-01T00:00:00-99:99"), Date::parse(b"2020-01-05T04:39:00"));
    }

    #[test]
    fn digits() {
        assert_eq!(
            Date::parse_digits(b"20010121183500").map(|date| date.digits()),
            Some("20010121183500".into())
        );
        let short = Date::parse_digits(b"200101211835").expect("12 digits");
        assert_eq!((short.digits().as_str(), short.well_formed), ("20010121183500", false));
        assert_eq!(Date::parse_digits(b"20010121183500123").expect("17").precision, Precision::Fraction(3));
        assert_eq!(Date::parse_digits(b"20011321183500"), None);
        assert_eq!(Date::parse_digits(b"2001012"), None);
    }
}
