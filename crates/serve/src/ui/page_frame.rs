//! The frame of every page (head, search, navigation) and the elements that several pages share.

use axum::response::Response;
use http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use varve_archive::verbs::log::VersionInfo;
use varve_archive::verbs::replay::precise_digits;
use varve_archive::{Capture, Moment};

use crate::app_state::AppState;
use crate::formatting::{counted, query_value, visible};
use crate::response;

/// A page with its frame.
pub(super) fn page(state: &AppState, title: &str, search: &str, content: Markup) -> Response {
    let versions = state.history.has_versions();
    response::page(
        StatusCode::OK,
        html! {
            (DOCTYPE)
            html lang="en" {
                (head(&format!("{title} · {}", state.name)))
                body {
                    a.skip href="#content" { "Skip to content" }
                    header.top {
                        a.home href="/" { (logo()) span { (visible(&state.name)) } }
                        form.search action="/pages" role="search" {
                            input #search type="search" name="prefix" value=(search) placeholder="https://… prefix of a URL" aria-label="Search pages by URL prefix" autocomplete="off" spellcheck="false";
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

/// The `<head>` of a page.
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

/// The logo: three layers.
pub(super) fn logo() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" {
            path d="M2 6.5c5-2.5 8 2.5 20 0" {}
            path d="M2 12c5-2.5 8 2.5 20 0" {}
            path d="M2 17.5c5-2.5 8 2.5 20 0" {}
        }
    }
}

/// A time, readable for people and programs.
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
    html! { span.status.(class) { (text) } @if capture.truncated { " " span.status.bad title="the response is incomplete" { "truncated" } } }
}

/// The media type of a capture, without parameters.
pub(super) fn media_type(capture: &Capture) -> String {
    let declared = capture.headers.get("content-type").and_then(|values| values.first());
    let essence = declared.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    visible(essence.trim()).into_owned()
}

/// The path of the history of a page.
pub(super) fn history_path(url: &str) -> String {
    format!("/page?url={}", query_value(url))
}

/// The path of a replayed capture.
pub(super) fn view_path(url: &str, time: Moment) -> String {
    let digits = if time.micros() % 1_000_000 == 0 { time.digits() } else { precise_digits(time) };
    format!("/view?time={digits}&url={}", query_value(url))
}

/// The path of the comparison of two captures.
pub(super) fn diff_path(base: &Capture, head: &Capture) -> String {
    format!(
        "/diff?url={}&base={}&head={}",
        query_value(&head.url),
        query_value(&base.time.to_string()),
        query_value(&head.time.to_string())
    )
}

/// A version as an item of a list.
pub(super) fn version_item(info: &VersionInfo, is_head: bool) -> Markup {
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
                " · " code { (short_id(&version.id.to_string())) }
            }
        }
    }
}

/// The first line of a message, or a text to click on if there is none.
pub(super) fn first_line(message: &str) -> &str {
    message.lines().find(|line| !line.trim().is_empty()).unwrap_or("(no message)")
}

/// The first characters of an id.
pub(super) fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
