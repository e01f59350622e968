//! Detects the traps that show in a single URL.

use super::{Trap, TrapLimits, TrapUrlParts};

/// Maximum length of a repeated run of segments that is searched for.
const MAX_REPEATED_RUN: usize = 12;

/// Words that name a calendar.
const CALENDAR_WORDS: [&str; 10] = [
    "calendar",
    "kalender",
    "calendrier",
    "calendario",
    "agenda",
    "events",
    "event",
    "cal",
    "schedule",
    "ical",
];

/// Why this URL alone looks like a trap, if it does.
pub fn detect_in_url(url: &str, limits: &TrapLimits) -> Option<Trap> {
    if url.len() > limits.length {
        return Some(Trap::TooLong);
    }
    let parts = TrapUrlParts::of(url);
    let segments: Vec<&str> = parts.segments().collect();
    let parameters: Vec<(&str, &str)> = parts.parameters().collect();
    let traps = [
        (segments.len() > limits.depth, Trap::TooDeep),
        (longest_repetition(&segments) > limits.repeats, Trap::RepeatingSegments),
        (most_repeated(&segments) > limits.scattered, Trap::RepeatingSegments),
        (most_repeated(&parameters) > limits.repeats, Trap::RepeatingParameters),
        (parameters.len() > limits.parameters, Trap::TooManyParameters),
        (url.contains("%252525"), Trap::NestedEscapes),
        (is_distant_calendar(&segments, &parameters, limits), Trap::Calendar),
    ];
    traps.into_iter().find_map(|(is, trap)| is.then_some(trap))
}

/// The maximum number of times that a run of segments follows itself.
fn longest_repetition(segments: &[&str]) -> usize {
    let runs = 1..=MAX_REPEATED_RUN.min(segments.len() / 2);
    runs.map(|run| repetitions(segments, run)).max().unwrap_or(1)
}

/// The maximum number of times that a run of this length follows itself.
fn repetitions(segments: &[&str], run: usize) -> usize {
    let mut equal = 0;
    let mut most = 0;
    for at in run..segments.len() {
        equal = if segments[at] == segments[at - run] { equal + 1 } else { 0 };
        most = most.max(equal);
    }
    most / run + 1
}

/// The number of occurrences of the most frequent item.
fn most_repeated<T: Ord + Clone>(all: &[T]) -> usize {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|one, other| one == other).map(<[_]>::len).max().unwrap_or(0)
}

/// Whether the URL is that of a calendar and shows a year outside of the limits.
fn is_distant_calendar(segments: &[&str], parameters: &[(&str, &str)], limits: &TrapLimits) -> bool {
    let names = segments.iter().chain(parameters.iter().map(|(name, _)| name));
    if !names.flat_map(|name| words(name)).any(is_calendar) {
        return false;
    }
    let in_path = segments.windows(2).filter(|pair| is_month(pair[1])).filter_map(|pair| year(pair[0]));
    let dates = segments.iter().filter_map(|segment| dated(segment));
    let in_query = parameters.iter().filter_map(|(_, value)| dated(value).or_else(|| year(value)));
    in_path.chain(dates).chain(in_query).any(|year| !limits.years.contains(&year))
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty())
}

fn is_calendar(word: &str) -> bool {
    CALENDAR_WORDS.iter().any(|calendar| word.eq_ignore_ascii_case(calendar))
}

/// Parses a year of exactly four digits.
pub(super) fn year(text: &str) -> Option<u16> {
    let is_year = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_year)
}

/// The year of `2031-05` or `2031-05-17`.
fn dated(text: &str) -> Option<u16> {
    let (first, rest) = text.split_once('-')?;
    let month = rest.split('-').next().unwrap_or(rest);
    year(first).filter(|_| is_month(month))
}

pub(super) fn is_month(text: &str) -> bool {
    text.len() <= 2 && text.parse().is_ok_and(|month: u8| (1..=12).contains(&month))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trap(url: &str) -> Option<Trap> {
        detect_in_url(url, &TrapLimits::for_year(2026))
    }

    #[test]
    fn each_trap_and_what_is_none() {
        assert_eq!(trap(&format!("http://h/{}", "x".repeat(2000))), Some(Trap::TooLong));
        let deep: String = (0..25).map(|number| format!("/{number}")).collect();
        assert_eq!(trap(&format!("http://h{deep}")), Some(Trap::TooDeep));
        assert_eq!(trap("http://h/a/a/a/a"), Some(Trap::RepeatingSegments));
        assert_eq!(trap("http://h/x/a/b/a/b/a/b/a/b/y"), Some(Trap::RepeatingSegments));
        assert_eq!(trap("http://h/a/b/a/a/b/b/a/b/b/a/a/c"), None);
        assert_eq!(trap("http://h/a/b/a/a/b/b/a/b/b/a/a/b/a"), Some(Trap::RepeatingSegments));
        assert_eq!(trap("http://h/a/a/a"), None);
        assert_eq!(trap("http://h/a/b/a/c/a/d/a/e"), None);
        assert_eq!(trap("http://h/?a=1&a=1&a=1&a=1"), Some(Trap::RepeatingParameters));
        assert_eq!(trap("http://h/?a=1&a=2&a=3&a=4"), None);
        let many: String = (0..21).map(|number| format!("&p{number}=")).collect();
        assert_eq!(trap(&format!("http://h/?{many}")), Some(Trap::TooManyParameters));
        assert_eq!(trap("http://h/?u=%25252525x"), Some(Trap::NestedEscapes));
        assert_eq!(trap("http://h/a%2520b"), None);
    }

    #[test]
    fn calendars_end() {
        assert_eq!(trap("http://h/calendar/2091/05"), Some(Trap::Calendar));
        assert_eq!(trap("http://h/events/1901/5/17/"), Some(Trap::Calendar));
        assert_eq!(trap("http://h/x?view=1&event-date=1850-01-01"), Some(Trap::Calendar));
        assert_eq!(trap("http://h/calendar?year=2199"), Some(Trap::Calendar));
        assert_eq!(trap("http://h/calendar/2027/05"), None);
        assert_eq!(trap("http://h/calendar/2091/99"), None);
        assert_eq!(trap("http://h/history/1901/05"), None);
        assert_eq!(trap("http://h/calendar/?p=2091x"), None);
    }

    proptest! {
        #[test]
        fn no_url_breaks_it(url in "(http://h|/|a|\\?|&|=|;|#|%|é|2091|calendar|-){0,40}") {
            trap(&url);
        }

        /// Repetitions beyond the limit are found, regardless of the text around them.
        #[test]
        fn repetition_is_found(run in prop::collection::vec("[a-c]{1,2}", 1..4), before in "[x-z]{1,3}") {
            let path = format!("{}/", run.join("/")).repeat(4);
            prop_assert_eq!(trap(&format!("http://h/{before}/{path}")), Some(Trap::RepeatingSegments));
        }
    }
}
