//! JSON responses of the API: one object, or an array whose elements are made while it is sent.
//!
//! The line breaks of arrays are those of scrape. Readers of JSON ignore them.

use std::io;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderValue};
use serde_json::Value;

use crate::response::{self, ResponseHeaders};

const JSON_MEDIA_TYPE: &str = "application/json";
/// The indentation of one level.
const INDENT_STEP: &str = "  ";

/// A response with one object.
pub(super) fn object(status: StatusCode, value: &Value, is_pretty: bool) -> Response {
    let text = if is_pretty { format!("{value:#}\n") } else { format!("{value}\n") };
    response::text(status, JSON_MEDIA_TYPE, text)
}

/// A response for JSON that is still to come.
pub(super) fn empty(status: StatusCode) -> Response {
    response::empty(status).with(header::CONTENT_TYPE, HeaderValue::from_static(JSON_MEDIA_TYPE))
}

/// The chunks of an array.
pub(super) fn array_chunks(
    values: impl Iterator<Item = io::Result<Value>>,
    is_pretty: bool,
) -> impl Iterator<Item = io::Result<Bytes>> {
    let mut values = values.fuse();
    let mut count: usize = 0;
    let mut is_ended = false;
    std::iter::from_fn(move || {
        let Some(value) = values.next() else {
            let end = if count == 0 { "[]\n" } else { "\n]\n" };
            return (!std::mem::replace(&mut is_ended, true)).then(|| Ok(Bytes::from_static(end.as_bytes())));
        };
        let start = if count == 0 { "[\n" } else { ",\n" };
        count += 1;
        let text = |value: Value| if is_pretty { indented(&value) } else { value.to_string() };
        Some(value.map(|value| Bytes::from([start, &text(value)].concat())))
    })
}

/// An element with each of its lines indented by one level. JSON strings have no line breaks.
fn indented(value: &Value) -> String {
    format!("{INDENT_STEP}{}", format!("{value:#}").replace('\n', &format!("\n{INDENT_STEP}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(values: &[Value], is_pretty: bool) -> String {
        let values = values.iter().cloned().map(Ok);
        let chunks: Vec<Bytes> = array_chunks(values, is_pretty).collect::<io::Result<_>>().unwrap();
        String::from_utf8(chunks.concat()).unwrap()
    }

    #[test]
    fn arrays_have_the_line_breaks_of_scrape() {
        let (one, two) = (json!({ "url": "a", "n": [] }), json!("b\nc"));
        assert_eq!(written(&[], false), "[]\n");
        assert_eq!(written(std::slice::from_ref(&one), false), "[\n{\"url\":\"a\",\"n\":[]}\n]\n");
        assert_eq!(
            written(&[one, two], true),
            "[\n  {\n    \"url\": \"a\",\n    \"n\": []\n  },\n  \"b\\nc\"\n]\n"
        );
    }
}
