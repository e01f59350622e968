//! A capture in a frame, with a line above it that says what it is and leads to its neighbours.
//!
//! The frame is of the other origin, and the policy of this page lets it show nothing but that origin: even a page that sends itself away
//! does not leave the archive.

use std::sync::Arc;

use maud::{DOCTYPE, Markup, html};
use varve_archive::verbs::replay::{Found, Known, When, find};
use varve_archive::{Capture, Moment};

use super::{Paged, Trouble, frame};
use crate::answer::Answer;
use crate::replay::Address;
use crate::request::Request;
use crate::shelf::Shelf;
use crate::text::{value, visible};

/// What a replayed page may do. Not: send away the page around it, unless somebody clicked.
const SANDBOX: &str = "allow-scripts allow-same-origin allow-forms allow-popups allow-modals allow-downloads \
                       allow-top-navigation-by-user-activation";

pub(super) fn page(shelf: &Arc<Shelf>, request: &Request) -> Paged {
    let url = request
        .parameter("url")
        .ok_or_else(|| Trouble::Unclear("Which page? `url` is missing.".to_owned()))?;
    let time = match request.parameter("time") {
        None => None,
        Some(text) => Some(
            when(&text).ok_or_else(|| Trouble::Unclear(format!("“{}” is not a time.", visible(&text))))?,
        ),
    };
    let found = match find(&*shelf.holdings, &url, time)? {
        Known::Here(found) => found,
        Known::There(other) => return Ok(Answer::redirect(302, &elsewhere(&other, request))),
        Known::No => return Err(Trouble::NotFound(format!("Nothing was captured of {}", visible(&url)))),
    };
    let capture = &found.capture;
    let source = format!("{}{}", shelf.replay_origin(request), Address::of(&found).path());
    Ok(Answer::page(
        200,
        html! {
            (DOCTYPE)
            html.view lang="en" {
                (frame::head(&format!("{url} · {}", capture.time.for_people())))
                body {
                    (bar(shelf, &found, &source))
                    iframe name="replay" src=(source) sandbox=(SANDBOX) title=(format!("{url} as it was at {}", capture.time.for_people())) {}
                }
            }
        },
    ))
}

/// Digits, or a time as people write it.
fn when(text: &str) -> Option<When> {
    When::read(text).or_else(|| text.parse::<Moment>().ok().map(When::exactly))
}

/// The same time of another URL.
fn elsewhere(url: &str, request: &Request) -> String {
    let time = request.parameter("time").map(|time| format!("time={}&", value(&time))).unwrap_or_default();
    format!("/view?{time}url={}", value(url))
}

/// The line above the page.
fn bar(shelf: &Shelf, found: &Found, source: &str) -> Markup {
    let capture = &found.capture;
    html! {
        header.bar {
            a.home href="/" title=(visible(&shelf.name)) { (frame::mark()) }
            (step(found.previous.as_ref(), "← older", "prev"))
            strong { (frame::time(capture.time)) }
            (step(found.next.as_ref(), "newer →", "next"))
            (frame::status(capture))
            a.url href=(frame::history_of(&capture.url)) title="history of this page" { (visible(&capture.url)) }
            @if let Some(previous) = found.previous.as_ref().filter(|previous| previous.body != capture.body) {
                a.step href=(frame::diff_of(previous, capture)) { "what changed" }
            }
            a.step href=(source) { "without this line" }
        }
    }
}

/// A link to a neighbour, or the place where it would be.
fn step(to: Option<&Capture>, word: &str, relation: &str) -> Markup {
    html! {
        @match to {
            Some(to) => a.step rel=(relation) href=(frame::view_of(&to.url, to.time)) title=(to.time.for_people()) { (word) },
            None => span.step.off { (word) },
        }
    }
}
