//! Pages for what cannot be shown, each with the reason: not captured, lost, damaged, failed back then.

use maud::html;
use varve_archive::history::Holdings;
use varve_archive::{ArchiveError, Capture, CatalogError};
use varve_core::secret::ShownUrl;

use super::address::{Address, BadAddress};
use crate::answer::Answer;
use crate::pages;
use crate::request::Request;
use crate::shelf::Shelf;

/// So many URLs nearby are named.
const NEAR: usize = 12;
/// So many shorter beginnings of a URL are tried.
const SHORTENED: usize = 6;

pub(super) fn bad_address(why: BadAddress) -> Answer {
    match why {
        BadAddress::Time => pages::plain(
            400,
            "That is not a time.",
            "A time is written in up to 14 digits, such as 2026, 20260131 or 20260131235959.",
        ),
        BadAddress::Url => pages::plain(
            400,
            "That is not the URL of a page.",
            "Write /web/TIME/URL, such as /web/2026/https://example.com/.",
        ),
    }
}

/// Nothing was captured of this URL: says so, and what is near.
pub(super) fn not_captured(shelf: &Shelf, request: &Request, address: &Address) -> Answer {
    let near = near(&*shelf.holdings, &address.url);
    let history =
        format!("{}/pages?prefix={}", shelf.ui_origin(request), crate::text::value(&host_of(&address.url)));
    pages::error(
        404,
        "Not in the archive",
        html! {
            p { "Nothing was captured of " code { (address.url) } "." }
            @if near.is_empty() {
                p { "Nothing is known of its neighbours either." }
            } @else {
                p { "These are near, and were captured:" }
                ul {
                    @for url in &near {
                        li { a href=(Address { url: url.clone(), ..address.clone() }.path()) { (url) } }
                    }
                }
            }
            p { a href=(history) { "All pages of this site" } }
        },
    )
}

/// URLs that begin as this one does, as far as any do.
fn near(holdings: &dyn Holdings, url: &str) -> Vec<String> {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let mut prefix = url;
    for _ in 0..SHORTENED {
        let page = varve_archive::verbs::log::ListCursor::first(NEAR);
        // What cannot be read is not near.
        let found = holdings.catalog().urls(prefix, page).unwrap_or_default();
        if !found.is_empty() {
            return found;
        }
        let shorter = prefix.trim_end_matches(['/', '?', '&']);
        match shorter.rfind(['/', '?', '&']) {
            Some(at) if at >= after_scheme => prefix = &prefix[..=at],
            _ => break,
        }
    }
    Vec::new()
}

fn host_of(url: &str) -> String {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let end = url[after_scheme..].find(['/', '?', '#']).map_or(url.len(), |at| after_scheme + at);
    url[..end].to_owned()
}

/// The capture is known, and was taken out of the archive on purpose.
pub(super) fn taken_out(told: &ArchiveError) -> Answer {
    pages::error(410, "Taken out of this archive", html! { p { (told.to_string()) } })
}

/// The capture is known, and its body cannot be had.
pub(super) fn body_failed(capture: &Capture, error: &dyn std::error::Error, is_failure: bool) -> Answer {
    let title = if is_failure { "The download failed then" } else { "This capture cannot be shown" };
    let mut reasons = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        reasons.push(cause.to_string());
        source = cause.source();
    }
    reasons.dedup();
    pages::error(
        if is_failure { 404 } else { 500 },
        title,
        html! {
            p { code { (capture.url) } ", captured " time { (capture.time.for_people()) " UTC" } ", is known, but " (if is_failure { "nothing was received." } else { "its body cannot be had." }) }
            @for reason in &reasons { p { strong { (reason) } } }
            @if !is_failure {
              dl {
                @if let Some(record) = &capture.record { dt { "Record" } dd { code { (record) } } }
                dt { "Body" } dd { code { "sha256:" (capture.body) } }
                dt { "Capture" } dd { code { (capture.id) } }
              }
              p { "`varve audit` finds out what else is damaged." }
            }
        },
    )
}

/// An alias says that this page is on the live web. Nothing here goes there by itself.
fn outside(url: &str, target: &str) -> Answer {
    let is_web = target.starts_with("http://") || target.starts_with("https://");
    pages::error(
        404,
        "Not kept here",
        html! {
            p { "An alias of this project says that " code { (ShownUrl(url)) } " is on the live web:" }
            p {
                @if is_web { a href=(target) rel="noreferrer" { (ShownUrl(target)) } }
                @else { code { (ShownUrl(target)) } }
            }
        },
    )
}

/// The archive could not be asked.
pub(super) fn failed(error: &ArchiveError) -> Answer {
    if let ArchiveError::Catalog(CatalogError::Outside { url, target }) = error {
        return outside(url, target);
    }
    let status = match error {
        ArchiveError::NoCapture { .. }
        | ArchiveError::NoVersion { .. }
        | ArchiveError::NoVersionYet { .. }
        | ArchiveError::BeforeFirst { .. } => 404,
        _ => 500,
    };
    pages::error(status, "The archive could not answer", html! { p { strong { (error.to_string()) } } })
}
