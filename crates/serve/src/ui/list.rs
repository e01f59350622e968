//! The pages of an archive, by the beginning of their URL.

use std::sync::Arc;

use maud::html;
use varve_archive::verbs::log::ListCursor;

use super::{Paged, frame};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::text::{value, visible};

/// So many are on one page.
const PIECE: usize = 200;

pub(super) fn page(shelf: &Arc<Shelf>, request: &Request) -> Paged {
    let asked = request.parameter("prefix").unwrap_or_default();
    let after = request.parameter("after");
    let asked = asked.trim();
    let catalog = shelf.holdings.catalog();
    let mut found = Vec::new();
    let mut prefix = asked.to_owned();
    for candidate in beginnings(asked) {
        found = catalog.urls(&candidate, ListCursor { after: after.as_deref(), limit: PIECE })?;
        prefix = candidate;
        if !found.is_empty() {
            break;
        }
    }
    let next = found.last().filter(|_| found.len() == PIECE);
    Ok(frame::page(
        shelf,
        "Pages",
        asked,
        html! {
            h1 { @if asked.is_empty() { "All pages" } @else { "Pages that begin with " span.url { (visible(&prefix)) } } }
            @if found.is_empty() {
                p.quiet { "There is none" @if after.is_some() { " behind that" } "." }
            }
            ul.list.walk {
                @for url in &found {
                    li { a.url href=(frame::history_of(url)) { (visible(url)) } }
                }
            }
            @if let Some(last) = next {
                p { a.more rel="next" href=(format!("/pages?prefix={}&after={}", value(&prefix), value(last))) { "Next " (PIECE) } }
            }
        },
    ))
}

/// What somebody may mean who leaves out the beginning of the beginning.
fn beginnings(asked: &str) -> Vec<String> {
    match asked.is_empty() || asked.contains("://") {
        true => vec![asked.to_owned()],
        false => ["", "https://", "http://", "https://www.", "http://www."]
            .iter()
            .map(|front| format!("{front}{asked}"))
            .collect(),
    }
}
