//! `/cdx`: captures as lines, asked for with the parameters that pywb knows.
//!
//! | parameter | means |
//! | --- | --- |
//! | `url` | what: a URL; one that ends with `*` is a prefix, one that begins with `*.` a domain |
//! | `matchType` | `exact`, `prefix`, `host` or `domain` |
//! | `from`, `to` | when, in 4 to 14 digits, both ends included |
//! | `limit` | at most so many |
//! | `page` | which page, from 0: of all captures that are meant, before `filter` is asked |
//! | `pageSize` | how many blocks of 3,000 captures a page has; 10 unless told |
//! | `showNumPages` | `true`: how many `pages` and `blocks` there are, instead of captures |
//! | `sort` | `reverse`: the newest first; `closest`: nearest to `closest` first, for one URL |
//! | `filter` | `[!][=\|~]field:expression`: contains, is, matches; may be given several times |
//! | `fl`, `fields` | which fields, with commas; `bodylength` only if it is named |
//! | `output` | `cdxj` (unless told), `json`: an object a line, `text`: values with spaces between them |
//!
//! Lines go out as they are found, so that an answer of any length costs a few rows.

mod find;
mod query;
mod row;

use std::io::{self, Write};
use std::sync::Arc;

use http::header::{self, HeaderValue};

use crate::answer::{Answer, Body};
use crate::request::Request;
use crate::shelf::Shelf;
use query::{Output, Paging, Query};

/// Answers a query.
pub(crate) fn answer(shelf: &Arc<Shelf>, request: &Request) -> Answer {
    let query = match Query::read(request) {
        Ok(query) => query,
        Err(why) => return Answer::text(400, "text/plain; charset=utf-8", format!("{why}\n")),
    };
    let kind = match query.output {
        Output::Json => "application/x-ndjson",
        Output::Cdxj => "text/x-cdxj; charset=utf-8",
        Output::Text => "text/plain; charset=utf-8",
    };
    let kind = if query.count_pages { "application/json" } else { kind };
    let shelf = Arc::clone(shelf);
    let produce = Box::new(move |output: &mut dyn Write| write(&shelf, &query, output));
    let instead = Box::new(|error: &io::Error| {
        let status = if error.kind() == io::ErrorKind::InvalidInput { 400 } else { 500 };
        Answer::text(status, "text/plain; charset=utf-8", format!("{error}\n"))
    });
    Answer { body: Body::Made { length: None, produce, instead }, ..Answer::empty(200) }
        .with(header::CONTENT_TYPE, HeaderValue::from_static(kind))
        .with(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))
}

fn write(shelf: &Shelf, query: &Query, output: &mut dyn Write) -> io::Result<()> {
    if query.count_pages {
        return write_count(shelf, query, output);
    }
    let (first, behind) = query.page.as_ref().map_or((0, u64::MAX), Paging::captures);
    let (mut left, mut met) = (query.limit, 0);
    find::each(&*shelf.holdings, query, &mut |capture| {
        met += 1;
        if met <= first || met > behind {
            return Ok(met < behind);
        }
        let row = row::Row::of(&*shelf.holdings, &capture);
        if !query.filters.iter().all(|filter| filter.holds(&row)) {
            return Ok(true);
        }
        if left == 0 {
            return Ok(false);
        }
        row.write(query, output)?;
        left -= 1;
        Ok(left > 0 && met < behind)
    })?;
    match &query.page {
        Some(paging) if paging.number > 0 && met <= first => Err(no_such_page(paging, met)),
        _ => Ok(()),
    }
}

/// How many pages there are, as pywb says it.
fn write_count(shelf: &Shelf, query: &Query, output: &mut dyn Write) -> io::Result<()> {
    let mut captures: u64 = 0;
    find::each(&*shelf.holdings, query, &mut |_| {
        captures += 1;
        Ok(true)
    })?;
    let paging = query.page.clone().unwrap_or_default();
    let told = serde_json::json!({
        "pages": paging.pages_of(captures),
        "pageSize": paging.blocks,
        "blocks": captures.div_ceil(query::BLOCK),
    });
    writeln!(output, "{told}")
}

fn no_such_page(paging: &Paging, captures: u64) -> io::Error {
    let last = paging.pages_of(captures).saturating_sub(1);
    let message = format!("Page {} invalid: First Page is 0, Last Page is {last}", paging.number);
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
