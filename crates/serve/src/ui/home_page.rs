//! `/`: the archive at a glance, with its size and its newest versions and pages.

use std::sync::Arc;

use http::request::Parts;
use maud::{Markup, html};
use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, VersionFilter, VersionInfo};
use varve_archive::{ArchiveError, Capture};

use super::{PageResult, page_frame};
use crate::app_state::{AppState, ArchiveTotals};
use crate::formatting::{grouped, human_size, visible};

/// Newest versions, or captures, that are shown.
const MAX_NEWEST: usize = 15;
/// Pages that are shown.
const MAX_PAGES: usize = 12;
/// Versions that are read from the catalog at a time.
const BATCH_VERSIONS: usize = 500;
/// Versions that are counted at most.
const MAX_COUNTED_VERSIONS: u64 = 50_000;

pub(super) fn page(state: &Arc<AppState>, _: &Parts) -> PageResult {
    let history = &state.history;
    let newest = history.catalog().versions(&VersionFilter::default(), ListCursor::first(MAX_NEWEST))?;
    let captures = match history {
        HistoryReader::Archive(_) | HistoryReader::Moku(_) | HistoryReader::WebArchive(_) => Vec::new(),
        HistoryReader::Crystal(project) => {
            project.latest_captures(&CaptureFilter::default(), ListCursor::first(MAX_NEWEST))?
        }
    };
    let pages = history.catalog().urls("", ListCursor::first(MAX_PAGES))?;
    let totals = count_totals(state, newest.first())?;
    let head = history.head()?;
    Ok(page_frame::page(
        state,
        "Archive",
        "",
        html! {
            h1.glance { (visible(&state.name)) }
            (tiles(state, &totals, &newest, &captures))
            div.columns {
                section {
                    @if history.has_versions() {
                        h2 { "Newest versions" }
                        @if newest.is_empty() { p.quiet { "No versions yet. Run " code { "varve capture URL" } " to make the first one." } }
                        ol.list { @for info in &newest { (page_frame::version_item(info, head == Some(info.version.id))) } }
                        @if totals.versions > newest.len() as u64 { p { a.more href="/versions" { "All versions" } } }
                    } @else {
                        h2 { "Newest captures" }
                        ol.list { @for capture in &captures { (capture_item(capture)) } }
                    }
                }
                section {
                    h2 { "Pages" }
                    @if pages.is_empty() { p.quiet { "No captures yet." } }
                    ul.list { @for url in &pages { li { a.url href=(page_frame::history_path(url)) { (visible(url)) } } } }
                    @if pages.len() == MAX_PAGES { p { a.more href="/pages" { "All pages" } } }
                }
            }
        },
    ))
}

fn tiles(state: &AppState, totals: &ArchiveTotals, newest: &[VersionInfo], captures: &[Capture]) -> Markup {
    let last = newest
        .first()
        .map(|info| info.version.time)
        .into_iter()
        .chain(captures.first().map(|capture| capture.time))
        .max();
    let has_versions = state.history.has_versions();
    html! {
        dl.tiles {
            @if has_versions { div { dt { "Versions" } dd { (grouped(totals.versions)) @if totals.is_truncated { "+" } } } }
            div { dt { @if has_versions { "Captures" } @else { "Pages" } } dd { (grouped(totals.captures)) @if totals.is_truncated { "+" } } }
            @if let Some(size) = (state.size)() { div { dt { "Size" } dd { (human_size(size)) } } }
            @if let Some(last) = last { div { dt { "Newest" } dd.when { (page_frame::time(last)) } } }
        }
    }
}

fn capture_item(capture: &Capture) -> Markup {
    html! {
        li {
            a.url href=(page_frame::history_path(&capture.url)) { (visible(&capture.url)) }
            div.about { (page_frame::time(capture.time)) " · " (page_frame::status(capture)) " " (page_frame::media_type(capture)) }
        }
    }
}

/// The totals of the archive, counted once for each newest version.
fn count_totals(state: &AppState, newest: Option<&VersionInfo>) -> Result<ArchiveTotals, ArchiveError> {
    let newest = newest.map(|info| info.version.id);
    if let Some(known) = state.cached_totals().filter(|totals| totals.newest == newest) {
        return Ok(known);
    }
    let mut totals = ArchiveTotals { newest, ..ArchiveTotals::default() };
    let mut after = None;
    loop {
        let batch = state
            .history
            .catalog()
            .versions(&VersionFilter::default(), ListCursor { after, limit: BATCH_VERSIONS })?;
        totals.versions += batch.len() as u64;
        totals.captures += batch.iter().map(|info| info.captures).sum::<u64>();
        after = batch.last().map(|info| info.version.id);
        totals.is_truncated = totals.versions >= MAX_COUNTED_VERSIONS;
        if batch.len() < BATCH_VERSIONS || totals.is_truncated {
            state.cache_totals(totals.clone());
            return Ok(totals);
        }
    }
}
