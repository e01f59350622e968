//! `/diff`: two captures of a page side by side.

use std::sync::Arc;

use http::request::Parts;
use maud::{Markup, html};
use varve_archive::verbs::diff::{
    self, CaptureComparison, CompareOptions, DiffMode, DiffStyle, DiffView, Hunk, HunkLine,
};
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::verbs::replay::{ReplayTime, nearest};
use varve_archive::{Capture, Moment};

use super::{PageError, PageResult, page_frame, required};
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

/// The capture of a URL at this microsecond, or else the one nearest to this second.
fn find_capture(state: &AppState, url: &str, text: &str) -> Result<Capture, PageError> {
    let time: Moment = text.parse().map_err(|_| PageError::bad_time(text))?;
    let filter = CaptureFilter { since: Some(time), until: Some(time), committed_only: false };
    let exact = captures(&state.history, url, &filter, ListCursor::first(1))?;
    if let Some(capture) = exact.into_iter().next() {
        return Ok(capture);
    }
    let found = nearest(&state.history, url, ReplayTime::second(time))?;
    found.map(|found| found.capture).ok_or_else(|| PageError::not_captured(url))
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
        @for note in comparison.notes(all) { p.quiet { (visible(&note)) } }
        (headers(comparison, all))
        (nodes(comparison, all))
        @for (number, hunk) in hunks.iter().take(MAX_HUNKS).enumerate() { (render_hunk(hunk, number + 1, hunks.len())) }
        @if hunks.len() > MAX_HUNKS { p.quiet { "Only the first " (MAX_HUNKS) " changes are shown." } }
        @if hunks.is_empty() && !comparison.is_changed() { p.calm { "No changes, apart from noise." } }
    }
}

fn headers(comparison: &CaptureComparison<'_>, all: bool) -> Markup {
    let diff = comparison.headers_diff(all);
    let none: &[String] = &[];
    let changed = diff.changed.iter().map(|(name, change)| (name.as_str(), &change.from[..], &change.to[..]));
    let added = diff.added.iter().map(|(name, to)| (name.as_str(), none, &to[..]));
    let removed = diff.removed.iter().map(|(name, from)| (name.as_str(), &from[..], none));
    let hidden = &[diff::REDACTED_VALUE.to_owned()][..];
    let redacted = comparison.redacted_changes(all).map(|(name, side)| match side {
        diff::RedactedSide::Removed => (name, hidden, none),
        _ => (name, none, hidden),
    });
    let rows: Vec<_> = changed.chain(added).chain(removed).chain(redacted).collect();
    html! {
        @if !rows.is_empty() {
            h2 { "Headers" }
            table.plain {
                thead { tr { th { "Header" } th { "Before" } th { "After" } } }
                tbody {
                    @for (name, from, to) in rows {
                        tr { td { code { (visible(name)) } } (cell(from, "removed")) (cell(to, "added")) }
                    }
                }
            }
        }
    }
}

fn cell(values: &[String], class: &str) -> Markup {
    html! {
        @if values.is_empty() { td {} } @else { td.(class) { @for value in values { div { (visible(value)) } } } }
    }
}

fn nodes(comparison: &CaptureComparison<'_>, all: bool) -> Markup {
    let diff::BodyComparison::Dom(_) = &comparison.body else { return html! {} };
    let chunks = comparison.body_diff(all).chunks;
    html! {
        @if !chunks.is_empty() {
            h2 { "Nodes" }
            table.plain {
                thead { tr { th { "Where" } th { "What" } } }
                tbody {
                    @for chunk in chunks.iter().take(MAX_HUNKS) {
                        tr { td { code { (visible(chunk.path.as_deref().unwrap_or_default())) } } td.(class_of(chunk.kind)) { (visible(chunk.content.trim())) } }
                    }
                }
            }
        }
    }
}

fn class_of(kind: diff::ChunkKind) -> &'static str {
    match kind {
        diff::ChunkKind::Added => "added",
        diff::ChunkKind::Removed => "removed",
        diff::ChunkKind::Modified => "modified",
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
                @for (base, head) in pair_lines(&hunk.lines) { tr { (side(base, true)) (side(head, false)) } }
            }
        }
    }
}

/// Rows of two columns: removed lines are beside the added lines that follow them.
fn pair_lines<'l, 'a>(
    lines: &'l [HunkLine<'a>],
) -> Vec<(Option<&'l HunkLine<'a>>, Option<&'l HunkLine<'a>>)> {
    let mut rows = Vec::new();
    let mut rest = lines;
    while let Some(line) = rest.first() {
        if line.style == DiffStyle::Context {
            rows.push((Some(line), Some(line)));
            rest = &rest[1..];
            continue;
        }
        let run = |lines: &[HunkLine<'_>], style| lines.iter().take_while(|line| line.style == style).count();
        let (removed, others) = rest.split_at(run(rest, DiffStyle::Removed));
        let (added, others) = others.split_at(run(others, DiffStyle::Added));
        rows.extend((0..removed.len().max(added.len())).map(|row| (removed.get(row), added.get(row))));
        rest = others;
    }
    rows
}

fn side(line: Option<&HunkLine<'_>>, is_base: bool) -> Markup {
    let Some(line) = line else { return html! { td.line {} td.nothing {} } };
    let number = if is_base { line.base } else { line.head };
    let class = match line.style {
        DiffStyle::Context => "same",
        DiffStyle::Removed => "removed",
        DiffStyle::Added => "added",
    };
    html! {
        td.line { @if let Some(number) = number { (number) } }
        td.(class) {
            @for segment in &line.segments {
                @match (segment.emphasis, line.style) {
                    (true, DiffStyle::Removed) => del { (visible(&segment.text)) },
                    (true, DiffStyle::Added) => ins { (visible(&segment.text)) },
                    _ => (visible(&segment.text)),
                }
            }
            @if let Some(rule) = line.noise { " " small.quiet { "noise: " (rule) } }
            @if line.unended { " " small.quiet { (diff::NO_NEWLINE_NOTE) } }
        }
    }
}
