//! Small pages that say why a request has no other answer. They load nothing, so they work on both
//! origins.

use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderValue};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::response::{self, ResponseHeaders};

/// An error page loads nothing and runs nothing.
const ERROR_PAGE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const ERROR_PAGE_STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.55 system-ui,sans-serif;max-width:44rem;margin:12vh auto 4rem;padding:0 1.25rem;overflow-wrap:anywhere}\
h1{font-size:1.35rem;margin:0 0 .75rem;border-left:.3rem solid #c2703d;padding-left:.75rem}\
code{font:.9em ui-monospace,monospace;background:#8881;padding:.1em .3em;border-radius:.2em}\
a{color:#0b63b8}@media(prefers-color-scheme:dark){a{color:#7ab8ff}}\
dt{font-size:.8rem;opacity:.7;margin-top:.5rem}dd{margin:0}li{margin:.2rem 0}";

/// A page with a heading and an explanation.
pub(crate) fn error(status: StatusCode, title: &str, content: Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) }
                style { (PreEscaped(ERROR_PAGE_STYLE)) }
            }
            body { main { h1 { (title) } (content) } }
        }
    };
    response::page(status, page)
        .with(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(ERROR_PAGE_POLICY))
        .with(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

/// A page with a heading and at most one paragraph.
pub(crate) fn plain(status: StatusCode, title: &str, more: &str) -> Response {
    error(status, title, html! { @if !more.is_empty() { p { (more) } } })
}
