//! Finds the date in a URL, and the shape of the URL around it.
//!
//! A calendar links to its next and previous page without end, and need not have a telling name.
//! Its sign is one shape of URL with ever more dates, up to years in the future. Only common
//! notations of dates count; a long number is not a date.

use super::TrapUrlParts;
use super::single_url::{is_month, year};

/// A date, and the shape of its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dated {
    /// The year.
    pub(super) year: u16,
    /// Path and names of parameters, without the date. The values of other parameters are ignored.
    pub(super) shape: String,
}

impl Dated {
    /// The date in a URL, if there is one.
    pub(super) fn find(parts: TrapUrlParts<'_>) -> Option<Self> {
        let (mut shape, in_path) = without_date(parts);
        let in_query = parts.parameters().find_map(|(_, value)| date(value)).or_else(|| in_two(parts));
        let mut names: Vec<&str> = parts.parameters().map(|(name, _)| name).collect();
        names.sort_unstable();
        shape.extend(names.into_iter().flat_map(|name| ["&", name]));
        Some(Self { year: in_path.or(in_query)?, shape })
    }
}

/// The path without its first date, and the year of that date.
fn without_date(parts: TrapUrlParts<'_>) -> (String, Option<u16>) {
    let mut shape = String::new();
    let mut found = None;
    let mut segments = parts.segments().peekable();
    while let Some(segment) = segments.next() {
        let pair = year(segment).filter(|_| segments.peek().is_some_and(|next| is_month(bare(next))));
        let here = pair.or_else(|| date(bare(segment))).filter(|_| found.is_none());
        if here.is_none() {
            shape.extend(["/", segment]);
            continue;
        }
        found = here;
        shape.push_str("/#");
        // The month, and the day if there is one.
        if pair.is_some() {
            segments.next();
            let _ = segments.next_if(|next| is_day(bare(next)));
        }
    }
    (shape, found)
}

/// The year of `2031-05` or `2031-05-17`; `None` for longer texts.
fn date(text: &str) -> Option<u16> {
    let mut pieces = text.split('-');
    let found = year(pieces.next()?)?;
    let is_date = is_month(pieces.next()?) && pieces.next().is_none_or(is_day) && pieces.next().is_none();
    is_date.then_some(found)
}

/// The year of `year=2031&month=5`.
fn in_two(parts: TrapUrlParts<'_>) -> Option<u16> {
    let named = |wanted: &'static [&'static str]| {
        parts.parameters().find(move |(name, _)| wanted.iter().any(|known| name.eq_ignore_ascii_case(known)))
    };
    let (_, month) = named(&["month", "mon", "mo", "m"])?;
    let (_, found) = named(&["year", "yr", "y"])?;
    year(found).filter(|_| is_month(month))
}

/// A segment without its file extension.
fn bare(segment: &str) -> &str {
    segment.split('.').next().unwrap_or(segment)
}

fn is_day(text: &str) -> bool {
    matches!(text.len(), 1 | 2) && text.parse().is_ok_and(|day: u8| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str) -> Option<(u16, String)> {
        Dated::find(TrapUrlParts::of(url)).map(|dated| (dated.year, dated.shape))
    }

    #[test]
    fn dates_as_people_write_them() {
        for (url, year, shape) in [
            ("http://h/ev/2026-01-01/", 2026, "/ev/#"),
            ("http://h/tribe/month/2031-12", 2031, "/tribe/month/#"),
            ("http://h/2031/05/17/list", 2031, "/#/list"),
            ("http://h/x/2031/5.html", 2031, "/x/#"),
            ("http://h/mo?month=2026-01", 2026, "/mo&month"),
            ("http://h/day?room=3&date=1850-01-01", 1850, "/day&date&room"),
            ("http://h/m?year=2031&month=5", 2031, "/m&month&year"),
        ] {
            assert_eq!(found(url), Some((year, shape.to_owned())), "{url}");
        }
    }

    #[test]
    fn what_is_no_date() {
        for url in [
            "http://h/1912/",
            "http://h/20310517/",
            "http://h/2031-99",
            "http://h/2031-05-17-what-happened",
            "http://h/?year=2031",
            "http://h/?p=2031",
            "http://h/2031/part",
            "http://h/rfc/2616-1-2-3",
        ] {
            assert_eq!(found(url), None, "{url}");
        }
    }
}
