//! `/versions` and `/version`: the list of versions, and the pages that changed in one.

use std::sync::Arc;

use http::request::Parts;
use maud::{Markup, html};
use varve_archive::VersionId;
use varve_archive::history::{CapturePair, resolve_version};
use varve_archive::verbs::log::{ListCursor, VersionFilter};
use varve_archive::verbs::show::{self, PageChange, VersionInfo};

use super::{PageResult, UiError, page_frame, required};
use crate::app_state::AppState;
use crate::formatting::{counted, grouped, human_size, visible};
use crate::request::RequestParts;

/// Versions on one page of the list.
const LIST_VERSIONS: usize = 100;
/// Pages of a version that are shown.
const MAX_SHOWN_PAGES: usize = 500;
/// Pages of a version that are read.
const MAX_READ_PAGES: u64 = 100_000;

pub(super) fn list(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let after = request.parameter("after").and_then(|text| text.parse::<VersionId>().ok());
    let found = state
        .history
        .catalog()
        .versions(&VersionFilter::default(), ListCursor { after, limit: LIST_VERSIONS })?;
    let head = state.history.head()?;
    let next = found.last().filter(|_| found.len() == LIST_VERSIONS);
    Ok(page_frame::page(
        state,
        "Versions",
        "",
        html! {
            h1 { "Versions" }
            @if found.is_empty() { p.quiet { "No versions." } }
            ol.list.walk { @for info in &found { (page_frame::version_item(info, head == Some(info.version.id))) } }
            @if let Some(last) = next { p { a.more rel="next" href=(format!("/versions?after={}", last.version.id)) { "Older versions" } } }
        },
    ))
}

pub(super) fn page(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let text = required(request, "id")?;
    let all = request.parameter("all").is_some();
    let history = &state.history;
    let id = resolve_version(history, &text).map_err(|error| UiError::NotFound(error.to_string()))?;
    let info = show::version(history, &id).map_err(|error| UiError::NotFound(error.to_string()))?;
    let pages = ListedChanges::read(state, &info, all)?;
    Ok(page_frame::page(
        state,
        page_frame::first_line(&info.version.message),
        "",
        html! {
            h1 { (visible(page_frame::first_line(&info.version.message))) }
            (about(&info))
            p.summary {
                @for (count, word, class) in pages.counts() {
                    @if count > 0 { span.change.(class) { (grouped(count)) " " (word) } " " }
                }
            }
            (table(&pages.shown))
            @if pages.is_truncated { p.quiet { "The list is truncated. Run " code { "varve show " (page_frame::short_id(&id.to_string())) } " for all pages." } }
            @if !all && pages.unchanged > 0 { p { a.more href=(format!("/version?id={id}&all=1")) { "Also show unchanged pages" } } }
        },
    ))
}

fn about(info: &VersionInfo) -> Markup {
    let version = &info.version;
    let rest: Vec<_> = version.message.lines().skip(1).collect();
    html! {
        @if rest.iter().any(|line| !line.trim().is_empty()) { pre.message { (visible_lines(&rest)) } }
        p.about {
            (page_frame::time(version.time)) " UTC"
            @if let Some(author) = &version.author { " · " (visible(author)) }
            " · " (counted(info.captures, "capture"))
            @for tag in &info.tags { " " span.tag { (visible(tag)) } }
            " · " code { (version.id) }
            @if let Some(parent) = &version.parent { " · since " a href=(format!("/version?id={parent}")) { code { (page_frame::short_id(&parent.to_string())) } } }
        }
    }
}

fn visible_lines(lines: &[&str]) -> String {
    lines.iter().map(|line| visible(line)).collect::<Vec<_>>().join("\n")
}

/// The pages of a version, counted by change.
#[derive(Default)]
struct ListedChanges {
    shown: Vec<CapturePair>,
    added: u64,
    back: u64,
    changed: u64,
    gone: u64,
    unreachable: u64,
    unchanged: u64,
    is_truncated: bool,
}

impl ListedChanges {
    fn read(state: &AppState, info: &VersionInfo, all: bool) -> Result<Self, UiError> {
        let mut pairs = show::pages(&state.history, info, all)?;
        let mut changes = Self::default();
        let mut seen = 0;
        for pair in &mut pairs {
            let pair = pair?;
            let change = pair.lasting_change();
            match change {
                PageChange::Added => changes.added += 1,
                PageChange::Back => changes.back += 1,
                PageChange::Changed => changes.changed += 1,
                PageChange::Gone | PageChange::Removed => changes.gone += 1,
                PageChange::Unreachable => changes.unreachable += 1,
                PageChange::Unchanged => changes.unchanged += 1,
            }
            seen += 1;
            if seen >= MAX_READ_PAGES {
                changes.is_truncated = true;
                return Ok(changes);
            }
            if change == PageChange::Unchanged && !all {
                continue;
            }
            match changes.shown.len() < MAX_SHOWN_PAGES {
                true => changes.shown.push(pair),
                false => changes.is_truncated = true,
            }
        }
        changes.unchanged += pairs.left_out();
        Ok(changes)
    }

    fn counts(&self) -> [(u64, &'static str, &'static str); 6] {
        [
            (self.changed, "changed", "changed"),
            (self.added, "added", "added"),
            (self.back, "back", "added"),
            (self.gone, "gone", "removed"),
            (self.unreachable, "unreachable", "removed"),
            (self.unchanged, "unchanged", "unchanged"),
        ]
    }
}

fn table(pairs: &[CapturePair]) -> Markup {
    html! {
        @if pairs.is_empty() { p.quiet { "No page changed." } } @else {
            table.captures.walk {
                thead { tr { th { "Change" } th { "Page" } th { "Status" } th { "Type" } th.number { "Length" } } }
                tbody { @for pair in pairs { (row(pair)) } }
            }
        }
    }
}

fn row(pair: &CapturePair) -> Markup {
    let any = pair.any();
    let (word, class) = match pair.lasting_change() {
        change @ (PageChange::Added | PageChange::Back) => (change.word(), "added"),
        PageChange::Changed => ("changed", "changed"),
        change @ (PageChange::Gone | PageChange::Removed | PageChange::Unreachable) => {
            (change.word(), "removed")
        }
        PageChange::Unchanged => ("same", "unchanged"),
    };
    html! {
        tr {
            td {
                @match (&pair.base, &pair.head) {
                    (Some(base), Some(head)) if pair.lasting_change() == PageChange::Changed && base.url == head.url =>
                        a.change.(class) href=(page_frame::diff_path(base, head)) { (word) },
                    _ => span.change.(class) { (word) },
                }
            }
            td { a.url href=(page_frame::view_path(&any.url, any.time)) { (visible(&any.url)) } " " a.quiet href=(page_frame::history_path(&any.url)) { "history" } }
            td { (page_frame::status(any)) }
            td { (page_frame::media_type(any)) }
            td.number { @if let Some(length) = any.length { (human_size(length)) } }
        }
    }
}
