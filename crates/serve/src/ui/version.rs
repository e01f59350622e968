//! Versions: the list of them, and what became of the pages in one.

use std::sync::Arc;

use maud::{Markup, html};
use varve_archive::VersionId;
use varve_archive::history::{Pair, resolve_version};
use varve_archive::verbs::log::{ListCursor, VersionFilter};
use varve_archive::verbs::show::{self, Change, VersionInfo};

use super::{Paged, Trouble, frame};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::text::{counted, grouped, readable, visible};

/// So many versions are on one page.
const PIECE: usize = 100;
/// So many pages of a version are shown.
const SHOWN: usize = 500;
/// So many pages of a version are looked at.
const MOST: u64 = 100_000;

pub(super) fn list(shelf: &Arc<Shelf>, request: &Request) -> Paged {
    let after = request.parameter("after").and_then(|text| text.parse::<VersionId>().ok());
    let found =
        shelf.holdings.catalog().versions(&VersionFilter::default(), ListCursor { after, limit: PIECE })?;
    let head = shelf.holdings.head()?;
    let next = found.last().filter(|_| found.len() == PIECE);
    Ok(frame::page(
        shelf,
        "Versions",
        "",
        html! {
            h1 { "Versions" }
            @if found.is_empty() { p.quiet { "There is none." } }
            ol.list.walk { @for info in &found { (frame::version_line(info, head == Some(info.version.id))) } }
            @if let Some(last) = next { p { a.more rel="next" href=(format!("/versions?after={}", last.version.id)) { "Older versions" } } }
        },
    ))
}

pub(super) fn page(shelf: &Arc<Shelf>, request: &Request) -> Paged {
    let text = request
        .parameter("id")
        .ok_or_else(|| Trouble::Unclear("Which version? `id` is missing.".to_owned()))?;
    let all = request.parameter("all").is_some();
    let holdings = &*shelf.holdings;
    let id = resolve_version(holdings, &text).map_err(|error| Trouble::NotFound(error.to_string()))?;
    let info = show::version(holdings, &id).map_err(|error| Trouble::NotFound(error.to_string()))?;
    let pages = Changes::read(shelf, &info, all)?;
    Ok(frame::page(
        shelf,
        frame::first_line(&info.version.message),
        "",
        html! {
            h1 { (visible(frame::first_line(&info.version.message))) }
            (about(&info))
            p.summary {
                @for (count, word, class) in pages.counts() {
                    @if count > 0 { span.change.(class) { (grouped(count)) " " (word) } " " }
                }
            }
            (table(&pages.shown))
            @if pages.is_cut { p.quiet { "There are more; " code { "varve show " (frame::short(&id.to_string())) } " lists all." } }
            @if !all && pages.unchanged > 0 { p { a.more href=(format!("/version?id={id}&all=1")) { "Also show what did not change" } } }
        },
    ))
}

fn about(info: &VersionInfo) -> Markup {
    let version = &info.version;
    let rest: Vec<_> = version.message.lines().skip(1).collect();
    html! {
        @if rest.iter().any(|line| !line.trim().is_empty()) { pre.message { (visible_lines(&rest)) } }
        p.about {
            (frame::time(version.time)) " UTC"
            @if let Some(author) = &version.author { " · " (visible(author)) }
            " · " (counted(info.captures, "capture"))
            @for tag in &info.tags { " " span.tag { (visible(tag)) } }
            " · " code { (version.id) }
            @if let Some(parent) = &version.parent { " · since " a href=(format!("/version?id={parent}")) { code { (frame::short(&parent.to_string())) } } }
        }
    }
}

fn visible_lines(lines: &[&str]) -> String {
    lines.iter().map(|line| visible(line)).collect::<Vec<_>>().join("\n")
}

/// What became of the pages of a version.
#[derive(Default)]
struct Changes {
    shown: Vec<Pair>,
    added: u64,
    changed: u64,
    removed: u64,
    unchanged: u64,
    is_cut: bool,
}

impl Changes {
    fn read(shelf: &Shelf, info: &VersionInfo, all: bool) -> Result<Self, Trouble> {
        let (pairs, unchanged) = show::pages(&*shelf.holdings, info, all)?;
        let mut changes = Self { unchanged, ..Self::default() };
        let mut seen = 0;
        for pair in pairs {
            let pair = pair?;
            let change = pair.lasting_change();
            match change {
                Change::Added => changes.added += 1,
                Change::Changed => changes.changed += 1,
                Change::Removed => changes.removed += 1,
                Change::Unchanged => changes.unchanged += 1,
            }
            seen += 1;
            if seen >= MOST {
                changes.is_cut = true;
                break;
            }
            if change == Change::Unchanged && !all {
                continue;
            }
            match changes.shown.len() < SHOWN {
                true => changes.shown.push(pair),
                false => changes.is_cut = true,
            }
        }
        Ok(changes)
    }

    fn counts(&self) -> [(u64, &'static str, &'static str); 4] {
        [
            (self.changed, "changed", "changed"),
            (self.added, "added", "added"),
            (self.removed, "removed", "removed"),
            (self.unchanged, "unchanged", "unchanged"),
        ]
    }
}

fn table(pairs: &[Pair]) -> Markup {
    html! {
        @if pairs.is_empty() { p.quiet { "No page changed." } } @else {
            table.captures.walk {
                thead { tr { th { "Change" } th { "Page" } th { "Answer" } th { "Type" } th.number { "Length" } } }
                tbody { @for pair in pairs { (row(pair)) } }
            }
        }
    }
}

fn row(pair: &Pair) -> Markup {
    let any = pair.any();
    let (word, class) = match pair.lasting_change() {
        Change::Added => ("added", "added"),
        Change::Changed => ("changed", "changed"),
        Change::Removed => ("removed", "removed"),
        Change::Unchanged => ("same", "unchanged"),
    };
    html! {
        tr {
            td {
                @match (&pair.base, &pair.head) {
                    (Some(base), Some(head)) if pair.lasting_change() == Change::Changed && base.url == head.url =>
                        a.change.(class) href=(frame::diff_of(base, head)) { (word) },
                    _ => span.change.(class) { (word) },
                }
            }
            td { a.url href=(frame::view_of(&any.url, any.time)) { (visible(&any.url)) } " " a.quiet href=(frame::history_of(&any.url)) { "history" } }
            td { (frame::status(any)) }
            td { (frame::kind(any)) }
            td.number { @if let Some(length) = any.length { (readable(length)) } }
        }
    }
}
