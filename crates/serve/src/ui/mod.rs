//! The first origin: pages for people, and what programs ask.
//!
//! | path | shows |
//! | --- | --- |
//! | `/` | the archive at a glance |
//! | `/pages?prefix=` | its pages, by URL |
//! | `/page?url=` | the history of a page: a calendar, and every capture |
//! | `/versions`, `/version?id=` | versions, and what became of their pages |
//! | `/diff?url=&base=&head=` | how two captures of a page differ |
//! | `/view?url=&time=` | a capture, replayed in a frame, with a line above it that says what it is |
//! | `/cdx` | captures as lines |
//! | `/.well-known/heartbeat` | that it is alive |
//!
//! Pages are made here, whole, with one style sheet and one small script for keys; they work without it. Everything that comes from an archive
//! is text to them: it is escaped by the templates, and a policy forbids all that is not ours.

mod calendar;
mod diff;
mod frame;
mod history;
mod home;
mod list;
mod version;
mod view;

use std::sync::Arc;

use http::header::{self, HeaderName, HeaderValue};
use varve_archive::{ArchiveError, CatalogError};

use crate::answer::Answer;
use crate::request::Request;
use crate::shelf::Shelf;
use crate::{cdx, guard, pages, replay};

/// Answers a request on the origin of the pages for people.
pub(crate) fn answer(shelf: &Arc<Shelf>, request: &Request) -> Answer {
    let answer = match guard::check(request, shelf, shelf.ui, None, false) {
        Ok(()) => route(shelf, request),
        Err(refusal) => replay::refused(refusal),
    };
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; \
         frame-src {}; base-uri 'none'; frame-ancestors 'none'",
        shelf.replay_origin(request)
    );
    let answer = match answer.headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        true => answer,
        false => answer.with_text(header::CONTENT_SECURITY_POLICY, &policy),
    };
    answer
        .or(header::REFERRER_POLICY, "no-referrer")
        .or(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        .or(header::CACHE_CONTROL, "no-cache")
        .or(HeaderName::from_static("cross-origin-resource-policy"), "same-origin")
        .or(HeaderName::from_static("cross-origin-opener-policy"), "same-origin")
}

fn route(shelf: &Arc<Shelf>, request: &Request) -> Answer {
    if request.method.is_none() {
        let answer = pages::plain(405, "This server only reads.", "");
        return answer.with(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    let page = match request.path.as_str() {
        "/" => home::page(shelf),
        "/pages" => list::page(shelf, request),
        "/page" => history::page(shelf, request),
        "/versions" => version::list(shelf, request),
        "/version" => version::page(shelf, request),
        "/diff" => diff::page(shelf, request),
        "/view" => view::page(shelf, request),
        "/cdx" => return cdx::answer(shelf, request),
        "/.well-known/heartbeat" => return Answer::text(200, "text/plain; charset=utf-8", "OK\n"),
        "/style.css" => return asset("text/css; charset=utf-8", include_str!("style.css")),
        "/keys.js" => return asset("text/javascript; charset=utf-8", include_str!("keys.js")),
        "/favicon.ico" | "/icon.svg" => return asset("image/svg+xml", include_str!("icon.svg")),
        _ => Err(Trouble::NotFound("There is nothing here.".to_owned())),
    };
    page.unwrap_or_else(|trouble| trouble.answer())
}

fn asset(kind: &'static str, text: &'static str) -> Answer {
    Answer::text(200, kind, text).with(header::CACHE_CONTROL, HeaderValue::from_static("max-age=300"))
}

/// Why there is no page.
pub(crate) enum Trouble {
    /// What was asked for is not there.
    NotFound(String),
    /// What was asked makes no sense.
    Unclear(String),
    /// The archive could not be asked.
    Archive(ArchiveError),
}

impl<E: Into<ArchiveError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Archive(error.into())
    }
}

impl Trouble {
    fn answer(self) -> Answer {
        match self {
            Self::NotFound(what) => pages::plain(404, &what, ""),
            Self::Unclear(what) => pages::plain(400, &what, ""),
            Self::Archive(ArchiveError::Catalog(error @ CatalogError::Outside { .. })) => {
                pages::plain(404, "This page is not kept here.", &error.to_string())
            }
            Self::Archive(error) => pages::plain(500, "The archive could not answer.", &error.to_string()),
        }
    }
}

/// A page, or why there is none.
type Paged = Result<Answer, Trouble>;
