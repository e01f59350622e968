//! The calendar of a page: one SVG per year, with a square for each day.

use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate};
use maud::{Markup, html};
use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::{ArchiveError, Capture, Moment};

use super::page_frame;

/// Captures that are counted; the calendar leaves out older ones.
const MAX_CAPTURES: u64 = 10_000;
/// Captures that are read from the catalog at a time.
const BATCH_CAPTURES: usize = 1_000;
/// Years that are drawn, from the newest.
const MAX_YEARS: usize = 12;
/// Distance between two squares in SVG units.
const SQUARE_STEP: u32 = 13;

/// The days on which a page was captured.
#[derive(Default)]
pub(super) struct CaptureDays {
    pub(super) total: u64,
    /// There are more captures than were counted.
    pub(super) is_truncated: bool,
    days: BTreeMap<NaiveDate, CaptureDay>,
}

struct CaptureDay {
    captures: u64,
    /// The last capture of the day.
    last: Moment,
    /// Whether a capture of the day failed.
    has_failure: bool,
}

/// Counts the captures of a page by day.
pub(super) fn count_days(history: &HistoryReader, url: &str) -> Result<CaptureDays, ArchiveError> {
    let mut days = CaptureDays::default();
    let mut after: Option<Capture> = None;
    loop {
        let cursor = ListCursor { after: after.as_ref(), limit: BATCH_CAPTURES };
        let batch = captures(history, url, &CaptureFilter::default(), cursor)?;
        batch.iter().for_each(|capture| days.count(capture));
        if batch.len() < BATCH_CAPTURES {
            return Ok(days);
        }
        if days.total >= MAX_CAPTURES {
            days.is_truncated = true;
            return Ok(days);
        }
        after = batch.into_iter().last();
    }
}

impl CaptureDays {
    fn count(&mut self, capture: &Capture) {
        self.total += 1;
        let date = capture.time.utc().date_naive();
        let is_failure = capture.status == 0 || capture.status >= 400;
        let day = self.days.entry(date).or_insert(CaptureDay {
            captures: 0,
            last: capture.time,
            has_failure: false,
        });
        day.captures += 1;
        day.last = day.last.max(capture.time);
        day.has_failure |= is_failure;
    }
}

/// The calendar, newest year first.
pub(super) fn render(days: &CaptureDays, url: &str) -> Markup {
    let mut years: Vec<i32> = days.days.keys().map(Datelike::year).collect();
    years.dedup();
    years.reverse();
    html! {
        section.calendar aria-label="Calendar" {
            @for year in years.into_iter().take(MAX_YEARS) { (render_year(days, url, year)) }
        }
    }
}

fn render_year(days: &CaptureDays, url: &str, year: i32) -> Markup {
    let (Some(first), Some(last)) =
        (NaiveDate::from_ymd_opt(year, 1, 1), NaiveDate::from_ymd_opt(year, 12, 31))
    else {
        return html! {};
    };
    let offset = first.weekday().num_days_from_monday();
    let place = |date: NaiveDate| {
        let number = date.ordinal0() + offset;
        (number / 7 * SQUARE_STEP, number % 7 * SQUARE_STEP + 16)
    };
    let months = (1..=12).filter_map(|month| NaiveDate::from_ymd_opt(year, month, 1));
    html! {
        figure {
            figcaption { (year) }
            svg viewBox=(format!("0 0 {} {}", 54 * SQUARE_STEP, 7 * SQUARE_STEP + 16)) role="img" aria-label=(format!("captures in {year}")) {
                @for month in months { text x=(place(month).0) y="10" { (month.format("%b")) } }
                @for date in first.iter_days().take_while(|date| *date <= last) {
                    @let (x, y) = place(date);
                    @match days.days.get(&date) {
                        None => rect.none x=(x) y=(y) width="11" height="11" rx="2" {},
                        Some(day) => a href=(page_frame::view_path(url, day.last)) {
                            rect.(level(day)) x=(x) y=(y) width="11" height="11" rx="2" { title { (date) ": " (day.captures) @if day.captures == 1 { " capture" } @else { " captures" } } }
                        },
                    }
                }
            }
        }
    }
}

fn level(day: &CaptureDay) -> &'static str {
    match (day.has_failure, day.captures) {
        (true, _) => "trouble",
        (_, 1) => "one",
        (_, 2..=4) => "few",
        _ => "many",
    }
}
