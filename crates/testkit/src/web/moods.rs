//! Servers that answer correctly, but not the same each time.

use super::answer::{Answer, Then};
use super::request::Request;
use super::site::Site;

const TAG: &str = "\"varve-1\"";
const MODIFIED: &str = "Sun, 01 Nov 2026 08:00:00 GMT";

impl Site {
    /// Adds servers that fail at first, are busy, cache, change and redirect.
    #[must_use]
    pub fn with_moods(self) -> Self {
        self.at("/flaky/", |request, connection| {
            if request.times <= request.number(1) {
                return Ok(Then::Close);
            }
            Answer::html("<p>At last.</p>").send(request, connection)
        })
        .computed("/busy/", busy)
        .computed("/cached", cached)
        .computed("/changing", |request| Answer::html(format!("<p>Visit {}.</p>", request.times)))
        .page("/redirect/loop", Answer::redirect(302, "/redirect/loop"))
        .page("/redirect/pair/a", Answer::redirect(301, "b"))
        .page("/redirect/pair/b", Answer::redirect(301, "a"))
        .computed("/redirect/chain/", chain)
        .computed("/redirect/away", |request| {
            Answer::redirect(302, request.query().strip_prefix("to=").unwrap_or("/"))
        })
    }
}

/// `/busy/STATUS/K/S`
fn busy(request: &Request) -> Answer {
    if request.times > request.number(2) {
        return Answer::html("<p>Now I have time.</p>");
    }
    let status = u16::try_from(request.number(1)).unwrap_or(503);
    Answer::status(status).header("Retry-After", &request.number(3).to_string())
}

fn cached(request: &Request) -> Answer {
    let knows = |name: &str, value: &str| request.header(name).is_some_and(|given| given.contains(value));
    let is_known = match request.header("if-none-match") {
        Some(_) => knows("if-none-match", TAG),
        None => knows("if-modified-since", MODIFIED),
    };
    let answer = if is_known { Answer::status(304) } else { Answer::html("<p>As ever.</p>") };
    answer.header("ETag", TAG).header("Last-Modified", MODIFIED)
}

/// `/redirect/chain/N`: N redirects, then a page.
fn chain(request: &Request) -> Answer {
    match request.number(2) {
        0 => Answer::html("<p>The end of the chain.</p>"),
        left => Answer::redirect(307, &(left - 1).to_string()),
    }
}
