//! The date in the path of a URL, as blogs and newspapers write it.

use super::month::month_number;
use super::written::{DayOrder, first_date};
use chrono::NaiveDate;

/// The day in the path of a URL: `/2024/03/01/`, `/2024/mar/01/`, `/2024-03-01-title`,
/// `/20240301/`.
pub(super) fn day_in_url(url: &str) -> Option<NaiveDate> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').skip(1).take(MAX_PATH_SEGMENTS).collect();
    segments
        .windows(3)
        .find_map(|segments| day_of_segments(segments[0], segments[1], segments[2]))
        .or_else(|| segments.iter().find_map(|segment| day_in_segment(segment)))
}

/// Maximum number of segments of a path that are read.
const MAX_PATH_SEGMENTS: usize = 32;

fn day_of_segments(year: &str, month: &str, day: &str) -> Option<NaiveDate> {
    let is_number =
        |text: &str, length| text.len() <= length && text.bytes().all(|byte| byte.is_ascii_digit());
    let year: i32 = Some(year).filter(|year| year.len() == 4 && is_number(year, 4))?.parse().ok()?;
    let month = if is_number(month, 2) { month.parse().ok()? } else { month_number(month)? };
    // "/2024/03/01-title" and "/2024/03/01.html" have a day, "/2024/03/10-best-things" may have none.
    let day = day.strip_suffix(".html").unwrap_or(day);
    let day = Some(day).filter(|day| !day.is_empty() && is_number(day, 2))?.parse().ok()?;
    NaiveDate::from_ymd_opt(year, month, day)
}

/// A day in one segment: in ISO form with hyphens or underscores, or as eight digits.
fn day_in_segment(segment: &str) -> Option<NaiveDate> {
    let segment = &segment[..segment.floor_char_boundary(MAX_SEGMENT_BYTES.min(segment.len()))];
    let hyphened = segment.replace('_', "-");
    let compact = || {
        let number = segment
            .split(|letter: char| !letter.is_ascii_digit())
            .find(|digits| digits.len() == 8 && (digits.starts_with("20") || digits.starts_with("199")))?;
        let part = |range: std::ops::Range<usize>| number[range].parse::<u32>().ok();
        NaiveDate::from_ymd_opt(number[..4].parse().ok()?, part(4..6)?, part(6..8)?)
    };
    let iso = first_date(&hyphened, DayOrder::DayFirst).filter(|date| {
        let digits = hyphened[date.start..].bytes().take_while(u8::is_ascii_digit).count();
        digits == 4 && date.end - date.start == 10
    });
    iso.map(|date| date.day).or_else(compact)
}

/// Maximum length of a segment that is read.
const MAX_SEGMENT_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_in_paths() {
        for url in [
            "https://a.example/2024/03/01/title",
            "https://a.example/news/2024/3/1/title.html",
            "https://a.example/2024/mar/01/title",
            "https://a.example/blog/2024-03-01-title",
            "https://a.example/blog/title-2024-03-01",
            "https://a.example/blog/2024_03_01.html",
            "https://a.example/20240301/title",
            "https://a.example/story-20240301",
        ] {
            assert_eq!(day_in_url(url).map(|day| day.to_string()).as_deref(), Some("2024-03-01"), "{url}");
        }
    }

    #[test]
    fn paths_without_days() {
        for url in [
            "https://a.example/2024/03/title",
            "https://a.example/2024/03/10-best-things",
            "https://a.example/2024/13/01/",
            "https://a.example/id/99990301123",
            "https://a.example/p?date=2024-03-01",
            "https://2024-03-01.example/",
            "https://a.example/best-of-2024",
            "",
        ] {
            assert_eq!(day_in_url(url), None, "{url}");
        }
    }
}
