//! Small pages that say why there is nothing else to see. They need nothing but themselves, on either origin.

use http::header::{self, HeaderValue};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::answer::Answer;

/// Such a page loads nothing and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.55 system-ui,sans-serif;max-width:44rem;margin:12vh auto 4rem;padding:0 1.25rem;overflow-wrap:anywhere}\
h1{font-size:1.35rem;margin:0 0 .75rem;border-left:.3rem solid #c2703d;padding-left:.75rem}\
code{font:.9em ui-monospace,monospace;background:#8881;padding:.1em .3em;border-radius:.2em}\
a{color:#0b63b8}@media(prefers-color-scheme:dark){a{color:#7ab8ff}}\
dt{font-size:.8rem;opacity:.7;margin-top:.5rem}dd{margin:0}li{margin:.2rem 0}";

/// A page with a heading and whatever explains it.
pub(crate) fn error(status: u16, title: &str, content: Markup) -> Answer {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { h1 { (title) } (content) } }
        }
    };
    Answer::page(status, page)
        .with(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))
        .with(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

/// A page with a sentence or two.
pub(crate) fn plain(status: u16, title: &str, more: &str) -> Answer {
    error(status, title, html! { @if !more.is_empty() { p { (more) } } })
}
