//! The calendar of a page: a square for each day, one row of weeks a year.

use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate};
use maud::{Markup, html};
use varve_archive::history::Holdings;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::{ArchiveError, Capture, Moment};

use super::frame;

/// So many captures are looked at.
const MOST: u64 = 10_000;
const PIECE: usize = 1_000;
/// So many years are drawn.
const YEARS: usize = 12;
/// A square and the space beside it.
const STEP: u32 = 13;

/// On which days a page was captured.
#[derive(Default)]
pub(super) struct Days {
    pub(super) total: u64,
    /// There were more.
    pub(super) is_cut: bool,
    days: BTreeMap<NaiveDate, Day>,
}

struct Day {
    captures: u64,
    /// The last capture of the day.
    last: Moment,
    /// Whether some answer was not good.
    is_bad: bool,
}

/// Reads the days of a page.
pub(super) fn days(holdings: &dyn Holdings, url: &str) -> Result<Days, ArchiveError> {
    let mut days = Days::default();
    let mut after: Option<Capture> = None;
    loop {
        let page = ListCursor { after: after.as_ref(), limit: PIECE };
        let piece = captures(holdings, url, &CaptureFilter::default(), page)?;
        piece.iter().for_each(|capture| days.count(capture));
        if piece.len() < PIECE {
            return Ok(days);
        }
        if days.total >= MOST {
            days.is_cut = true;
            return Ok(days);
        }
        after = piece.into_iter().last();
    }
}

impl Days {
    fn count(&mut self, capture: &Capture) {
        self.total += 1;
        let date = capture.time.utc().date_naive();
        let is_bad = capture.status == 0 || capture.status >= 400;
        let day = self.days.entry(date).or_insert(Day { captures: 0, last: capture.time, is_bad: false });
        day.captures += 1;
        day.last = day.last.max(capture.time);
        day.is_bad |= is_bad;
    }
}

/// Draws the years, the newest first.
pub(super) fn draw(days: &Days, url: &str) -> Markup {
    let mut years: Vec<i32> = days.days.keys().map(Datelike::year).collect();
    years.dedup();
    years.reverse();
    html! {
        section.calendar aria-label="Calendar" {
            @for year in years.into_iter().take(YEARS) { (draw_year(days, url, year)) }
        }
    }
}

fn draw_year(days: &Days, url: &str, year: i32) -> Markup {
    let (Some(first), Some(last)) =
        (NaiveDate::from_ymd_opt(year, 1, 1), NaiveDate::from_ymd_opt(year, 12, 31))
    else {
        return html! {};
    };
    let offset = first.weekday().num_days_from_monday();
    let place = |date: NaiveDate| {
        let number = date.ordinal0() + offset;
        (number / 7 * STEP, number % 7 * STEP + 16)
    };
    let months = (1..=12).filter_map(|month| NaiveDate::from_ymd_opt(year, month, 1));
    html! {
        figure {
            figcaption { (year) }
            svg viewBox=(format!("0 0 {} {}", 54 * STEP, 7 * STEP + 16)) role="img" aria-label=(format!("captures in {year}")) {
                @for month in months { text x=(place(month).0) y="10" { (month.format("%b")) } }
                @for date in first.iter_days().take_while(|date| *date <= last) {
                    @let (x, y) = place(date);
                    @match days.days.get(&date) {
                        None => rect.none x=(x) y=(y) width="11" height="11" rx="2" {},
                        Some(day) => a href=(frame::view_of(url, day.last)) {
                            rect.(level(day)) x=(x) y=(y) width="11" height="11" rx="2" { title { (date) ": " (day.captures) @if day.captures == 1 { " capture" } @else { " captures" } } }
                        },
                    }
                }
            }
        }
    }
}

fn level(day: &Day) -> &'static str {
    match (day.is_bad, day.captures) {
        (true, _) => "trouble",
        (_, 1) => "one",
        (_, 2..=4) => "few",
        _ => "many",
    }
}
