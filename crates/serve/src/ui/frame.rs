//! What stands around every page: its head, the way home, the search, and the pieces that several pages share.

use maud::{DOCTYPE, Markup, html};
use varve_archive::verbs::log::VersionInfo;
use varve_archive::verbs::replay::precise_digits;
use varve_archive::{Capture, Moment};

use crate::answer::Answer;
use crate::shelf::Shelf;
use crate::text::{counted, value, visible};

/// A page.
pub(super) fn page(shelf: &Shelf, title: &str, search: &str, content: Markup) -> Answer {
    let versions = shelf.holdings.has_versions();
    Answer::page(
        200,
        html! {
            (DOCTYPE)
            html lang="en" {
                (head(&format!("{title} · {}", shelf.name)))
                body {
                    a.skip href="#content" { "To the content" }
                    header.top {
                        a.home href="/" { (mark()) span { (visible(&shelf.name)) } }
                        form.search action="/pages" role="search" {
                            input #search type="search" name="prefix" value=(search) placeholder="https://… the beginning of a URL" aria-label="Search pages by the beginning of their URL" autocomplete="off" spellcheck="false";
                            button { "Search" }
                        }
                        nav {
                            a href="/pages" { "Pages" }
                            @if versions { a href="/versions" { "Versions" } }
                        }
                    }
                    main #content { (content) }
                    footer { "varve " (env!("CARGO_PKG_VERSION")) " · " kbd { "/" } " search · " kbd { "j" } " " kbd { "k" } " move · " kbd { "Enter" } " open" }
                }
            }
        },
    )
}

/// The head of a page.
pub(super) fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (visible(title)) }
            link rel="icon" href="/icon.svg" type="image/svg+xml";
            link rel="stylesheet" href="/style.css";
            script src="/keys.js" defer {}
        }
    }
}

/// Three layers.
pub(super) fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" {
            path d="M2 6.5c5-2.5 8 2.5 20 0" {}
            path d="M2 12c5-2.5 8 2.5 20 0" {}
            path d="M2 17.5c5-2.5 8 2.5 20 0" {}
        }
    }
}

/// An instant, for people and machines.
pub(super) fn time(time: Moment) -> Markup {
    html! { time datetime=(time) title=(format!("{time}")) { (time.for_people()) } }
}

/// The status of a capture.
pub(super) fn status(capture: &Capture) -> Markup {
    let (class, text) = match capture.status {
        0 => ("bad", "failed".to_owned()),
        status @ 200..=299 | status @ 304 => ("good", status.to_string()),
        status @ 300..=399 => ("moved", status.to_string()),
        status => ("bad", status.to_string()),
    };
    html! { span.status.(class) { (text) } @if capture.truncated { " " span.status.bad title="the answer was cut short" { "cut" } } }
}

/// The type of a capture, without its parameters.
pub(super) fn kind(capture: &Capture) -> String {
    let declared = capture.headers.get("content-type").and_then(|values| values.first());
    let essence = declared.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    visible(essence.trim()).into_owned()
}

/// Where the history of a page is.
pub(super) fn history_of(url: &str) -> String {
    format!("/page?url={}", value(url))
}

/// Where a capture is replayed.
pub(super) fn view_of(url: &str, time: Moment) -> String {
    let digits = if time.micros() % 1_000_000 == 0 { time.digits() } else { precise_digits(time) };
    format!("/view?time={digits}&url={}", value(url))
}

/// Where two captures are compared.
pub(super) fn diff_of(base: &Capture, head: &Capture) -> String {
    format!(
        "/diff?url={}&base={}&head={}",
        value(&head.url),
        value(&base.time.to_string()),
        value(&head.time.to_string())
    )
}

/// One version in a list.
pub(super) fn version_line(info: &VersionInfo, is_head: bool) -> Markup {
    let version = &info.version;
    html! {
        li.version {
            a.message href=(format!("/version?id={}", version.id)) { (visible(first_line(&version.message))) }
            @if is_head { " " span.tag { "HEAD" } }
            @for tag in &info.tags { " " span.tag { (visible(tag)) } }
            div.about {
                (time(version.time))
                @if let Some(author) = &version.author { " · " (visible(author)) }
                " · " (counted(info.captures, "capture"))
                " · " code { (short(&version.id.to_string())) }
            }
        }
    }
}

/// The first line of a message; something to click on where there is none.
pub(super) fn first_line(message: &str) -> &str {
    message.lines().find(|line| !line.trim().is_empty()).unwrap_or("(no message)")
}

/// The beginning of an id.
pub(super) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
