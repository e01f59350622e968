//! `/pages`: captured URLs by prefix.

use std::sync::Arc;

use http::request::Parts;
use maud::html;
use varve_archive::verbs::log::ListCursor;

use super::{PageResult, page_frame};
use crate::app_state::AppState;
use crate::formatting::{query_value, visible};
use crate::request::RequestParts;

/// URLs on one page of the list.
const LIST_URLS: usize = 200;

pub(super) fn page(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let requested = request.parameter("prefix").unwrap_or_default();
    let after = request.parameter("after");
    let requested = requested.trim();
    let catalog = state.history.catalog();
    let mut found = Vec::new();
    let mut prefix = requested.to_owned();
    for candidate in possible_prefixes(requested) {
        found = catalog.urls(&candidate, ListCursor { after: after.as_deref(), limit: LIST_URLS })?;
        prefix = candidate;
        if !found.is_empty() {
            break;
        }
    }
    let next = found.last().filter(|_| found.len() == LIST_URLS);
    Ok(page_frame::page(
        state,
        "Pages",
        requested,
        html! {
            h1 { @if requested.is_empty() { "All pages" } @else { "Pages with the prefix " span.url { (visible(&prefix)) } } }
            @if found.is_empty() {
                p.quiet { "No " @if after.is_some() { "further " } "pages." }
            }
            ul.list.walk {
                @for url in &found {
                    li { a.url href=(page_frame::history_path(url)) { (visible(url)) } }
                }
            }
            @if let Some(last) = next {
                p { a.more rel="next" href=(format!("/pages?prefix={}&after={}", query_value(&prefix), query_value(last))) { "Next " (LIST_URLS) } }
            }
        },
    ))
}

/// Prefixes that a user may mean who leaves out scheme or `www.`.
fn possible_prefixes(requested: &str) -> Vec<String> {
    match requested.is_empty() || requested.contains("://") {
        true => vec![requested.to_owned()],
        false => ["", "https://", "http://", "https://www.", "http://www."]
            .iter()
            .map(|front| format!("{front}{requested}"))
            .collect(),
    }
}
