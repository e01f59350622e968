//! The archive at a glance: how much, how far back, what came last.

use std::sync::Arc;

use maud::{Markup, html};
use varve_archive::verbs::log::{CaptureFilter, ListCursor, VersionFilter, VersionInfo};
use varve_archive::{ArchiveError, Capture};

use super::{Paged, frame};
use crate::shelf::{Shelf, Totals};
use crate::text::{grouped, readable, visible};

/// So many versions or captures are shown.
const NEWEST: usize = 15;
/// So many pages are shown, as a beginning.
const PAGES: usize = 12;
/// So many versions are read at a time when they are counted.
const PIECE: usize = 500;
/// More versions than this are not counted.
const MOST: u64 = 50_000;

pub(super) fn page(shelf: &Arc<Shelf>) -> Paged {
    let holdings = &*shelf.holdings;
    let newest = holdings.catalog().versions(&VersionFilter::default(), ListCursor::first(NEWEST))?;
    let captures = match holdings.has_versions() {
        true => Vec::new(),
        false => holdings.latest_captures(&CaptureFilter::default(), ListCursor::first(NEWEST))?,
    };
    let pages = holdings.catalog().urls("", ListCursor::first(PAGES))?;
    let totals = totals(shelf, newest.first())?;
    let head = holdings.head()?;
    Ok(frame::page(
        shelf,
        "Archive",
        "",
        html! {
            h1.glance { (visible(&shelf.name)) }
            (tiles(shelf, &totals, &newest, &captures))
            div.columns {
                section {
                    @if holdings.has_versions() {
                        h2 { "Newest versions" }
                        @if newest.is_empty() { p.quiet { "There is no version yet. " code { "varve capture URL" } " makes the first one." } }
                        ol.list { @for info in &newest { (frame::version_line(info, head == Some(info.version.id))) } }
                        @if totals.versions > newest.len() as u64 { p { a.more href="/versions" { "All versions" } } }
                    } @else {
                        h2 { "Newest captures" }
                        ol.list { @for capture in &captures { (capture_line(capture)) } }
                    }
                }
                section {
                    h2 { "Pages" }
                    @if pages.is_empty() { p.quiet { "Nothing was captured yet." } }
                    ul.list { @for url in &pages { li { a.url href=(frame::history_of(url)) { (visible(url)) } } } }
                    @if pages.len() == PAGES { p { a.more href="/pages" { "All pages" } } }
                }
            }
        },
    ))
}

fn tiles(shelf: &Shelf, totals: &Totals, newest: &[VersionInfo], captures: &[Capture]) -> Markup {
    let last = newest
        .first()
        .map(|info| info.version.time)
        .into_iter()
        .chain(captures.first().map(|capture| capture.time))
        .max();
    let has_versions = shelf.holdings.has_versions();
    html! {
        dl.tiles {
            @if has_versions { div { dt { "Versions" } dd { (grouped(totals.versions)) @if totals.is_cut { "+" } } } }
            div { dt { @if has_versions { "Captures" } @else { "Pages" } } dd { (grouped(totals.captures)) @if totals.is_cut { "+" } } }
            @if let Some(size) = (shelf.size)() { div { dt { "Size" } dd { (readable(size)) } } }
            @if let Some(last) = last { div { dt { "Newest" } dd.when { (frame::time(last)) } } }
        }
    }
}

fn capture_line(capture: &Capture) -> Markup {
    html! {
        li {
            a.url href=(frame::history_of(&capture.url)) { (visible(&capture.url)) }
            div.about { (frame::time(capture.time)) " · " (frame::status(capture)) " " (frame::kind(capture)) }
        }
    }
}

/// How much there is. Counted once for each newest version.
fn totals(shelf: &Shelf, newest: Option<&VersionInfo>) -> Result<Totals, ArchiveError> {
    let of = newest.map(|info| info.version.id);
    if let Some(known) = shelf.totals().filter(|totals| totals.of == of) {
        return Ok(known);
    }
    let mut totals = Totals { of, ..Totals::default() };
    let mut after = None;
    loop {
        let piece = shelf
            .holdings
            .catalog()
            .versions(&VersionFilter::default(), ListCursor { after, limit: PIECE })?;
        totals.versions += piece.len() as u64;
        totals.captures += piece.iter().map(|info| info.captures).sum::<u64>();
        after = piece.last().map(|info| info.version.id);
        totals.is_cut = totals.versions >= MOST;
        if piece.len() < PIECE || totals.is_cut {
            shelf.remember(totals.clone());
            return Ok(totals);
        }
    }
}
