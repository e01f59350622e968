//! The history of a page: when it was captured, what each capture was, and where it changed.

use std::sync::Arc;

use maud::{Markup, html};
use varve_archive::verbs::cat::version_of;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::verbs::replay::{known_as, others};
use varve_archive::{Capture, Moment};

use super::{Paged, Trouble, calendar, frame};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::text::{grouped, readable, value, visible};

/// So many captures are listed on one page.
const LISTED: usize = 200;

pub(super) fn page(shelf: &Arc<Shelf>, request: &Request) -> Paged {
    let asked = request
        .parameter("url")
        .ok_or_else(|| Trouble::Unclear("Which page? `url` is missing.".to_owned()))?;
    let url = meant(shelf, &asked)?;
    let until = request.parameter("until").and_then(|text| text.parse::<Moment>().ok());
    let filter = CaptureFilter { until, ..CaptureFilter::default() };
    let mut captures = captures(&*shelf.holdings, &url, &filter, ListCursor::first(LISTED + 1))?;
    let older = (captures.len() > LISTED).then(|| captures.pop()).flatten();
    let days = calendar::days(&*shelf.holdings, &url)?;
    Ok(frame::page(
        shelf,
        &url,
        &url,
        html! {
            h1.url { (visible(&url)) }
            p.about {
                (grouped(days.total)) @if days.is_cut { "+" } @if days.total == 1 { " capture" } @else { " captures" }
                @if let Some(newest) = captures.first() {
                    " · " a.button href=(frame::view_of(&url, newest.time)) { "Show the newest" }
                }
                @if url.starts_with("http") { " · " a href=(url) rel="noreferrer noopener nofollow" { "on the live web" } }
            }
            (calendar::draw(&days, &url))
            form.walk action="/diff" {
                input type="hidden" name="url" value=(url);
                (table(&captures, older.as_ref()))
                @if captures.len() > 1 { p.compare { button { "Compare the two that are marked" } } }
            }
            @if let Some(older) = &older {
                p { a.more rel="next" href=(format!("/page?url={}&until={}", value(&url), value(&older.time.to_string()))) { "Older captures" } }
            }
        },
    ))
}

/// The URL that is known, of what was asked for.
fn meant(shelf: &Shelf, asked: &str) -> Result<String, Trouble> {
    let whole = if asked.contains("://") { asked.to_owned() } else { format!("http://{asked}") };
    for candidate in std::iter::once(whole.clone()).chain(others(&whole)) {
        if let Some(known) = known_as(&*shelf.holdings, &candidate)? {
            return Ok(known);
        }
    }
    Err(Trouble::NotFound(format!("Nothing was captured of {}", visible(asked))))
}

fn table(captures: &[Capture], older: Option<&Capture>) -> Markup {
    html! {
        table.captures {
            thead { tr { th { "From" } th { "To" } th { "Captured (UTC)" } th { "Answer" } th { "Type" } th.number { "Length" } th { "Since the one before" } th { "Version" } } }
            tbody {
                @for (place, capture) in captures.iter().enumerate() {
                    (row(capture, captures.get(place + 1).or(older), place, captures.len()))
                }
            }
        }
    }
}

/// Whether two captures are of the same answer. A server that says that nothing changed means the one before.
fn is_same(before: &Capture, capture: &Capture) -> bool {
    const NOT_MODIFIED: u16 = 304;
    let says_so = [before, capture].iter().any(|capture| capture.status == NOT_MODIFIED);
    before.body == capture.body && (says_so || before.status == capture.status)
}

fn row(capture: &Capture, before: Option<&Capture>, place: usize, count: usize) -> Markup {
    let time = capture.time.to_string();
    let version = version_of(capture);
    html! {
        tr {
            td { input type="radio" name="base" value=(time) checked[place == 1.min(count - 1)] aria-label=(format!("compare from {time}")); }
            td { input type="radio" name="head" value=(time) checked[place == 0] aria-label=(format!("compare to {time}")); }
            td { a href=(frame::view_of(&capture.url, capture.time)) { (frame::time(capture.time)) } }
            td { (frame::status(capture)) }
            td { (frame::kind(capture)) }
            td.number { @if let Some(length) = capture.length { (readable(length)) } }
            td {
                @match before {
                    None => span.quiet { "first" },
                    Some(before) if is_same(before, capture) => span.quiet { "unchanged" },
                    Some(before) => a href=(frame::diff_of(before, capture)) { "changed" },
                }
            }
            td { @if let Some(version) = version { a href=(format!("/version?id={version}")) { code { (frame::short(&version.to_string())) } } } }
        }
    }
}
