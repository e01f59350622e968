//! Reading a request head: headers as text, the raw target, decoded query parameters.
//!
//! Paths are never decoded or normalised here: a replay path holds a URL, with slashes, escapes and
//! a query of its own.

use http::request::Parts;

/// Readers for the head of a request.
pub(crate) trait RequestParts {
    /// A header as text, or none where it is missing or not text.
    fn header(&self, name: &str) -> Option<&str>;

    /// Path and query as they were sent.
    fn target(&self) -> &str;

    /// The decoded values of a query parameter, in order.
    fn parameters(&self, name: &str) -> impl Iterator<Item = String>;

    /// The first value of a query parameter that is not empty.
    fn parameter(&self, name: &str) -> Option<String> {
        self.parameters(name).find(|value| !value.is_empty())
    }
}

impl RequestParts for Parts {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn target(&self) -> &str {
        self.uri.path_and_query().map_or("/", |target| target.as_str())
    }

    fn parameters(&self, name: &str) -> impl Iterator<Item = String> {
        form_values(self.uri.query().unwrap_or_default(), name)
    }
}

/// The decoded values of a name in a form or a query, in order.
pub(crate) fn form_values(text: &str, name: &str) -> impl Iterator<Item = String> {
    text.split('&').filter_map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key) == name).then(|| decode(value))
    })
}

fn decode(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
}
