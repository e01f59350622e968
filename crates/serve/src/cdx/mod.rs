//! `/cdx`: captures as lines, asked for with the parameters that pywb knows.
//!
//! | parameter | means |
//! | --- | --- |
//! | `url` | what: a URL; one that ends with `*` is a prefix, one that begins with `*.` a domain |
//! | `matchType` | `exact`, `prefix`, `host` or `domain` |
//! | `from`, `to` | when, in 4 to 14 digits, both ends included |
//! | `limit` | at most so many |
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
use query::{Output, Query};

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
    let shelf = Arc::clone(shelf);
    let produce = Box::new(move |output: &mut dyn Write| write(&shelf, &query, output));
    let instead =
        Box::new(|error: &io::Error| Answer::text(500, "text/plain; charset=utf-8", format!("{error}\n")));
    Answer { body: Body::Made { length: None, produce, instead }, ..Answer::empty(200) }
        .with(header::CONTENT_TYPE, HeaderValue::from_static(kind))
        .with(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))
}

fn write(shelf: &Shelf, query: &Query, output: &mut dyn Write) -> io::Result<()> {
    let mut left = query.limit;
    find::each(&*shelf.holdings, query, &mut |capture| {
        let row = row::Row::of(&*shelf.holdings, &capture);
        if !query.filters.iter().all(|filter| filter.holds(&row)) {
            return Ok(true);
        }
        if left == 0 {
            return Ok(false);
        }
        row.write(query, output)?;
        left -= 1;
        Ok(left > 0)
    })
}
