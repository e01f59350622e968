//! `/cdx`: the CDX API, captures as lines, with the parameters of pywb.
//!
//! | parameter | meaning |
//! | --- | --- |
//! | `url` | a URL; with `*` at the end a prefix, with `*.` at the beginning a domain |
//! | `matchType` | `exact`, `prefix`, `host` or `domain` |
//! | `from`, `to` | times in 4 to 14 digits, both inclusive |
//! | `limit` | maximum number of lines |
//! | `page` | number of a page, from 0: a page of all matching captures, before `filter` applies |
//! | `pageSize` | blocks of 3,000 captures in a page; default 10 |
//! | `showNumPages` | `true`: the number of `pages` and `blocks` instead of captures |
//! | `sort` | `reverse`: newest first; `closest`: nearest to `closest` first, for one URL |
//! | `filter` | `[!][=\|~]field:expression`: contains, equals, matches; may be repeated |
//! | `fl`, `fields` | fields, separated by commas; `bodylength` only if it is named |
//! | `output` | `cdxj` (default), `json`: one object per line, `text`: values separated by spaces |
//!
//! Lines are sent while captures are read, so a response of any length needs memory for one batch
//! of rows.

mod capture_cursor;
mod line;
mod query;

use std::io;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderValue};
use http::request::Parts;

use crate::app_state::AppState;
use crate::archive_failure::ArchiveFailure;
use crate::body::{self, CHUNK_BYTES};
use crate::response::{self, ResponseHeaders};
use capture_cursor::CaptureCursor;
use line::CdxLine;
use query::{CdxOutput, CdxQuery, PageRange};

/// Captures that are examined for one chunk, even if no line comes of them: one job on the blocking
/// pool stays short.
const MAX_CAPTURES_PER_CHUNK: usize = 5_000;

/// Answers a query.
pub(crate) fn respond(state: &Arc<AppState>, request: &Parts) -> Response {
    let query = match CdxQuery::parse(request) {
        Ok(query) => query,
        Err(message) => return plain_text(StatusCode::BAD_REQUEST, format!("{message}\n")),
    };
    let media_type = match query.output {
        _ if query.count_pages => "application/json",
        CdxOutput::Json => "application/x-ndjson",
        CdxOutput::Cdxj => "text/x-cdxj; charset=utf-8",
        CdxOutput::Text => "text/plain; charset=utf-8",
    };
    let response = response::empty(StatusCode::OK)
        .with(header::CONTENT_TYPE, HeaderValue::from_static(media_type))
        .with(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let on_error = |error: &io::Error| {
        if error.kind() == io::ErrorKind::InvalidInput {
            return plain_text(StatusCode::BAD_REQUEST, format!("{error}\n"));
        }
        let failure = ArchiveFailure::of_stream(error);
        let remedy = failure.remedy.map(|remedy| format!("{remedy}\n")).unwrap_or_default();
        failure.retried(plain_text(failure.status, format!("{error}\n{remedy}")))
    };
    let state = Arc::clone(state);
    if query.count_pages {
        let count = std::iter::once_with(move || page_count(&state, &query).map(Bytes::from));
        return body::stream(request, response, None, count, on_error);
    }
    body::stream(request, response, None, CdxChunks::new(state, query), on_error)
}

fn plain_text(status: StatusCode, text: String) -> Response {
    response::text(status, "text/plain; charset=utf-8", text)
}

/// The lines of a response.
struct CdxChunks {
    state: Arc<AppState>,
    query: CdxQuery,
    cursor: CaptureCursor,
    /// Matching captures so far, filtered or not.
    matched: u64,
    /// Lines that may still be written.
    remaining: u64,
    is_ended: bool,
}

impl CdxChunks {
    fn new(state: Arc<AppState>, query: CdxQuery) -> Self {
        let (cursor, remaining) = (CaptureCursor::new(&query), query.limit);
        Self { state, query, cursor, matched: 0, remaining, is_ended: remaining == 0 }
    }

    fn next_chunk(&mut self) -> io::Result<Bytes> {
        let mut lines = Vec::new();
        for _ in 0..MAX_CAPTURES_PER_CHUNK {
            if lines.len() >= CHUNK_BYTES || self.is_ended {
                break;
            }
            self.write_next(&mut lines)?;
        }
        Ok(Bytes::from(lines))
    }

    /// Writes the line of the next matching capture, if its page and the filters include it.
    fn write_next(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        let (start, end) = self.query.page.as_ref().map_or((0, u64::MAX), PageRange::captures);
        let Some(capture) = self.cursor.next(&self.state.history, &self.query)? else {
            self.is_ended = true;
            return match &self.query.page {
                Some(page) if page.number > 0 && self.matched <= start => {
                    Err(no_such_page(page, self.matched))
                }
                _ => Ok(()),
            };
        };
        self.matched += 1;
        self.is_ended = self.matched >= end;
        if self.matched <= start || self.matched > end {
            return Ok(());
        }
        let line = CdxLine::new(&self.state.history, &capture);
        if self.query.filters.iter().all(|filter| filter.accepts(&line)) {
            line.write(&self.query, lines)?;
            self.remaining -= 1;
            self.is_ended |= self.remaining == 0;
        }
        Ok(())
    }
}

impl Iterator for CdxChunks {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let chunk = self.next_chunk();
        self.is_ended |= chunk.is_err();
        Some(chunk)
    }
}

/// How many pages there are, as pywb reports it.
fn page_count(state: &AppState, query: &CdxQuery) -> io::Result<String> {
    let mut cursor = CaptureCursor::new(query);
    let mut captures: u64 = 0;
    while cursor.next(&state.history, query)?.is_some() {
        captures += 1;
    }
    let page = query.page.clone().unwrap_or_default();
    let count = serde_json::json!({
        "pages": page.page_count(captures),
        "pageSize": page.blocks,
        "blocks": captures.div_ceil(query::BLOCK_CAPTURES),
    });
    Ok(format!("{count}\n"))
}

fn no_such_page(page: &PageRange, captures: u64) -> io::Error {
    let last = page.page_count(captures).saturating_sub(1);
    let message = format!("Page {} invalid: First Page is 0, Last Page is {last}", page.number);
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
