//! How two captures of a page differ, side by side.

use std::sync::Arc;

use maud::{Markup, html};
use varve_archive::verbs::diff::{self, Comparison, Hunk, HunkLine, Mode, Options, Style, View};
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::verbs::replay::{When, nearest};
use varve_archive::{Capture, Moment};

use super::{Paged, Trouble, frame};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::text::{value, visible};

/// Longer bodies are only weighed.
const LONGEST: u64 = 8 << 20;
/// So many hunks are shown.
const HUNKS: usize = 300;

pub(super) fn page(shelf: &Arc<Shelf>, request: &Request) -> Paged {
    let asked =
        |name: &str| request.parameter(name).ok_or_else(|| Trouble::Unclear(format!("`{name}` is missing.")));
    let url = asked("url")?;
    let (base, head) = (capture(shelf, &url, &asked("base")?)?, capture(shelf, &url, &asked("head")?)?);
    let all = request.parameter("all").is_some();
    let mode = request.parameter("mode").unwrap_or_default();
    let mode = if mode == "dom" { Mode::Dom } else { Mode::Lines };
    let options = Options { mode, ..Options::default() };
    let compared = diff::captures(&*shelf.holdings, [&base, &head], &options, LONGEST, |comparison| {
        shown(comparison, all)
    })?;
    Ok(frame::page(
        shelf,
        &format!("Changes of {url}"),
        &url,
        html! {
            h1 { "What changed" }
            p.about { a.url href=(frame::history_of(&url)) { (visible(&url)) } }
            (sides(&base, &head))
            (switches(&base, &head, mode, all))
            @match compared {
                Some(markup) => (markup),
                None => p { "These bodies cannot be compared here: one is too long, or not in the archive any more. " code { "varve diff" } " says which." },
            }
        },
    ))
}

/// The capture of a URL at an instant, to the microsecond; else the nearest to its second.
fn capture(shelf: &Shelf, url: &str, text: &str) -> Result<Capture, Trouble> {
    let time: Moment =
        text.parse().map_err(|_| Trouble::Unclear(format!("“{}” is not a time.", visible(text))))?;
    let filter = CaptureFilter { since: Some(time), until: Some(time), committed_only: false };
    let exact = captures(&*shelf.holdings, url, &filter, ListCursor::first(1))?;
    if let Some(capture) = exact.into_iter().next() {
        return Ok(capture);
    }
    let found = nearest(&*shelf.holdings, url, When::second(time))?;
    found
        .map(|found| found.capture)
        .ok_or_else(|| Trouble::NotFound(format!("Nothing was captured of {}", visible(url))))
}

fn sides(base: &Capture, head: &Capture) -> Markup {
    html! {
        div.sides {
            @for (capture, word) in [(base, "before"), (head, "after")] {
                div {
                    span.quiet { (word) } " "
                    a href=(frame::view_of(&capture.url, capture.time)) { (frame::time(capture.time)) }
                    " " (frame::status(capture))
                }
            }
        }
    }
}

fn switches(base: &Capture, head: &Capture, mode: Mode, all: bool) -> Markup {
    let place = |mode: Mode, all: bool| {
        let more = [(mode == Mode::Dom, "&mode=dom"), (all, "&all=1")];
        let more: String = more.iter().filter(|(is_on, _)| *is_on).map(|(_, text)| *text).collect();
        format!("{}{more}", frame::diff_of(base, head))
    };
    let swapped = format!(
        "/diff?url={}&base={}&head={}",
        value(&head.url),
        value(&head.time.to_string()),
        value(&base.time.to_string())
    );
    html! {
        p.switches {
            a href=(place(Mode::Lines, all)) aria-current=[(mode == Mode::Lines).then_some("true")] { "by lines" } " "
            a href=(place(Mode::Dom, all)) aria-current=[(mode == Mode::Dom).then_some("true")] { "by nodes" } " "
            a href=(place(mode, !all)) aria-current=[all.then_some("true")] { "with noise" } " "
            a href=(swapped) { "swap" }
        }
    }
}

fn shown(comparison: &Comparison<'_>, all: bool) -> Markup {
    let hunks = comparison.hunks(&View::default(), all);
    html! {
        @for note in comparison.notes(all) { p.quiet { (visible(&note)) } }
        (headers(comparison, all))
        (nodes(comparison, all))
        @for (number, hunk) in hunks.iter().take(HUNKS).enumerate() { (draw_hunk(hunk, number + 1, hunks.len())) }
        @if hunks.len() > HUNKS { p.quiet { "There are more changes than are shown here." } }
        @if hunks.is_empty() && !comparison.is_changed() { p.calm { "Nothing changed that matters." } }
    }
}

fn headers(comparison: &Comparison<'_>, all: bool) -> Markup {
    let diff = comparison.headers_diff(all);
    let none: &[String] = &[];
    let changed = diff.changed.iter().map(|(name, change)| (name.as_str(), &change.from[..], &change.to[..]));
    let added = diff.added.iter().map(|(name, to)| (name.as_str(), none, &to[..]));
    let removed = diff.removed.iter().map(|(name, from)| (name.as_str(), &from[..], none));
    let hidden = &[diff::REDACTED.to_owned()][..];
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

fn nodes(comparison: &Comparison<'_>, all: bool) -> Markup {
    let diff::Body::Dom(_) = &comparison.body else { return html! {} };
    let chunks = comparison.body_diff(all).chunks;
    html! {
        @if !chunks.is_empty() {
            h2 { "Nodes" }
            table.plain {
                thead { tr { th { "Where" } th { "What" } } }
                tbody {
                    @for chunk in chunks.iter().take(HUNKS) {
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

fn draw_hunk(hunk: &Hunk<'_>, number: usize, count: usize) -> Markup {
    html! {
        h2.hunk id=(format!("change-{number}")) {
            a href=(format!("#change-{number}")) { "Change " (number) " of " (count) }
            @if number < count { " " a.quiet href=(format!("#change-{}", number + 1)) { "next" } }
        }
        div.scroll {
            table.lines {
                @for (base, head) in paired(&hunk.lines) { tr { (side(base, true)) (side(head, false)) } }
            }
        }
    }
}

/// Lines beside each other: removed ones beside the added ones that follow them.
fn paired<'l, 'a>(lines: &'l [HunkLine<'a>]) -> Vec<(Option<&'l HunkLine<'a>>, Option<&'l HunkLine<'a>>)> {
    let mut rows = Vec::new();
    let mut rest = lines;
    while let Some(line) = rest.first() {
        if line.style == Style::Context {
            rows.push((Some(line), Some(line)));
            rest = &rest[1..];
            continue;
        }
        let run = |lines: &[HunkLine<'_>], style| lines.iter().take_while(|line| line.style == style).count();
        let (removed, others) = rest.split_at(run(rest, Style::Removed));
        let (added, others) = others.split_at(run(others, Style::Added));
        rows.extend((0..removed.len().max(added.len())).map(|row| (removed.get(row), added.get(row))));
        rest = others;
    }
    rows
}

fn side(line: Option<&HunkLine<'_>>, is_base: bool) -> Markup {
    let Some(line) = line else { return html! { td.line {} td.nothing {} } };
    let number = if is_base { line.base } else { line.head };
    let class = match line.style {
        Style::Context => "same",
        Style::Removed => "removed",
        Style::Added => "added",
    };
    html! {
        td.line { @if let Some(number) = number { (number) } }
        td.(class) {
            @for segment in &line.segments {
                @match (segment.emphasis, line.style) {
                    (true, Style::Removed) => del { (visible(&segment.text)) },
                    (true, Style::Added) => ins { (visible(&segment.text)) },
                    _ => (visible(&segment.text)),
                }
            }
            @if let Some(rule) = line.noise { " " small.quiet { "noise: " (rule) } }
            @if line.unended { " " small.quiet { (diff::UNENDED) } }
        }
    }
}
