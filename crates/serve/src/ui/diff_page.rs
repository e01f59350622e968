//! `/diff`: two captures of a page side by side.

use std::sync::Arc;

use http::request::Parts;
use maud::{Markup, html};
use varve_archive::verbs::diff::{
    self, CaptureComparison, CompareOptions, DiffMode, DiffStyle, DiffView, Hunk, HunkLine, LineSide,
    side_by_side,
};
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::verbs::replay::nearest;
use varve_archive::{Capture, Moment};

use super::replay_page::parse_time;
use super::{PageResult, UiError, page_frame, required};
use crate::app_state::AppState;
use crate::formatting::visible;
use crate::request::RequestParts;

/// Longer bodies are not compared here.
const MAX_BODY_BYTES: u64 = 8 << 20;
/// Hunks, or changed nodes, that are shown.
const MAX_HUNKS: usize = 300;

pub(super) fn page(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let url = required(request, "url")?;
    let capture = |name: &str| find_capture(state, &url, &required(request, name)?);
    let (base, head) = (capture("base")?, capture("head")?);
    let all = request.parameter("all").is_some();
    let mode = request.parameter("mode").unwrap_or_default();
    let mode = if mode == "dom" { DiffMode::Dom } else { DiffMode::Lines };
    let options = CompareOptions { mode, ..CompareOptions::default() };
    let compared = diff::captures(&state.history, [&base, &head], &options, MAX_BODY_BYTES, |comparison| {
        render_comparison(comparison, all)
    })?;
    Ok(page_frame::page(
        state,
        &format!("Changes of {url}"),
        &url,
        html! {
            h1 { "What changed" }
            p.about { a.url href=(page_frame::history_path(&url)) { (visible(&url)) } }
            (sides(&base, &head))
            (switches(&base, &head, mode, all))
            @match compared {
                Some(markup) => (markup),
                None => p { "These captures cannot be compared here: a body is too long, or was removed. Run " code { "varve diff" } " for the reason." },
            }
        },
    ))
}

/// The capture of a URL at this microsecond, or else the one nearest to this time.
fn find_capture(state: &AppState, url: &str, text: &str) -> Result<Capture, UiError> {
    let time: Moment = text.parse().map_err(|_| UiError::bad_time(text))?;
    let filter = CaptureFilter { since: Some(time), until: Some(time), committed_only: false };
    let exact = captures(&state.history, url, &filter, ListCursor::first(1))?;
    if let Some(capture) = exact.into_iter().next() {
        return Ok(capture);
    }
    let nearest_to = parse_time(text).ok_or_else(|| UiError::bad_time(text))?;
    let found = nearest(&state.history, url, nearest_to)?;
    found.map(|found| found.capture).ok_or_else(|| UiError::not_captured(state, url))
}

fn sides(base: &Capture, head: &Capture) -> Markup {
    html! {
        div.sides {
            @for (capture, word) in [(base, "before"), (head, "after")] {
                div {
                    span.quiet { (word) } " "
                    a href=(page_frame::view_path(&capture.url, capture.time)) { (page_frame::time(capture.time)) }
                    " " (page_frame::status(capture))
                }
            }
        }
    }
}

fn switches(base: &Capture, head: &Capture, mode: DiffMode, all: bool) -> Markup {
    let place = |mode: DiffMode, all: bool| {
        let more = [(mode == DiffMode::Dom, "&mode=dom"), (all, "&all=1")];
        let more: String = more.iter().filter(|(is_on, _)| *is_on).map(|(_, text)| *text).collect();
        format!("{}{more}", page_frame::diff_path(base, head))
    };
    let swapped = page_frame::diff_path(head, base);
    html! {
        p.switches {
            a href=(place(DiffMode::Lines, all)) aria-current=[(mode == DiffMode::Lines).then_some("true")] { "by lines" } " "
            a href=(place(DiffMode::Dom, all)) aria-current=[(mode == DiffMode::Dom).then_some("true")] { "by nodes" } " "
            a href=(place(mode, !all)) aria-current=[all.then_some("true")] { "with noise" } " "
            a href=(swapped) { "swap" }
        }
    }
}

fn render_comparison(comparison: &CaptureComparison<'_>, all: bool) -> Markup {
    let hunks = comparison.hunks(&DiffView::default(), all);
    html! {
        @for note in comparison.notes() { p.quiet { (visible(&note)) } }
        @for table in comparison.tables(all) { (render_table(&table)) }
        @for (number, hunk) in hunks.iter().take(MAX_HUNKS).enumerate() { (render_hunk(hunk, number + 1, hunks.len())) }
        @if hunks.len() > MAX_HUNKS { p.quiet { "Only the first " (MAX_HUNKS) " changes are shown." } }
        @if hunks.is_empty() && !comparison.is_changed() { p.calm { "No changes, apart from noise." } }
    }
}

/// Headers or nodes, each change with its value on both sides.
fn render_table(table: &diff::html::Table) -> Markup {
    let rows = &table.rows;
    html! {
        @if !rows.is_empty() {
            h2 { (table.title) }
            table.plain {
                thead { tr { th { "Change" } th { "Where" } th { "Before" } th { "After" } } }
                tbody {
                    @for row in rows.iter().take(MAX_HUNKS) {
                        tr {
                            td {
                                (row.what)
                                @if let Some(rule) = &row.noise { " " small.quiet { "noise: " (rule) } }
                            }
                            td { code { (visible(&row.place)) } }
                            (value(&row.from, "removed"))
                            (value(&row.to, "added"))
                        }
                    }
                }
            }
            @if rows.len() > MAX_HUNKS { p.quiet { "Only the first " (MAX_HUNKS) " changes are shown." } }
        }
    }
}

fn value(text: &str, class: &str) -> Markup {
    html! {
        @if text.is_empty() { td {} } @else { td.(class) { @for line in text.trim().lines() { div { (visible(line)) } } } }
    }
}

fn render_hunk(hunk: &Hunk<'_>, number: usize, count: usize) -> Markup {
    html! {
        h2.hunk id=(format!("change-{number}")) {
            a href=(format!("#change-{number}")) { "Change " (number) " of " (count) }
            @if number < count { " " a.quiet href=(format!("#change-{}", number + 1)) { "next" } }
        }
        div.scroll {
            table.lines {
                @for [base, head] in side_by_side(&hunk.lines) {
                    tr {
                        (cells(base, base.and_then(HunkLine::base_side), true))
                        (cells(head, head.and_then(HunkLine::head_side), false))
                    }
                }
            }
        }
    }
}

fn cells(line: Option<&HunkLine<'_>>, of_side: Option<LineSide<'_>>, is_base: bool) -> Markup {
    match (line, of_side) {
        (Some(line), Some(of_side)) => side(line, &of_side, is_base),
        _ => html! { td.line {} td.nothing {} },
    }
}

/// One side of a row, with its own bytes.
fn side(line: &HunkLine<'_>, side: &LineSide<'_>, is_base: bool) -> Markup {
    let class = match line.style {
        DiffStyle::Context => "same",
        DiffStyle::Removed => "removed",
        DiffStyle::Added => "added",
    };
    html! {
        td.line { (side.number) }
        td.(class).noise[line.noise.is_some()] {
            @for segment in side.segments {
                @match (segment.emphasis, is_base) {
                    (true, true) => del { (visible(&segment.text)) },
                    (true, false) => ins { (visible(&segment.text)) },
                    (false, _) => (visible(&segment.text)),
                }
            }
            @if let Some(rule) = line.noise { " " small.quiet { "noise: " (rule) } }
            @if side.unended { " " small.quiet { (diff::NO_NEWLINE_NOTE) } }
        }
    }
}
