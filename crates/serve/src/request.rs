//! What is asked, as far as it matters here: nothing in a body is ever read.

use http::HeaderMap;
use http::request::Parts;

/// A request without its body.
#[derive(Debug)]
pub(crate) struct Request {
    /// Whether only the head of the answer is wanted; none where it is neither GET nor HEAD.
    pub(crate) method: Option<Method>,
    /// The path, as it came.
    pub(crate) path: String,
    /// The query, as it came.
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
}

/// What may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
}

impl Request {
    pub(crate) fn of(parts: Parts) -> Self {
        let method = match parts.method {
            http::Method::GET => Some(Method::Get),
            http::Method::HEAD => Some(Method::Head),
            _ => None,
        };
        let path = parts.uri.path().to_owned();
        Self { method, path, query: parts.uri.query().map(str::to_owned), headers: parts.headers }
    }

    /// A header as text; none where it is no text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Path and query, as they came.
    pub(crate) fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// The values of a query parameter, decoded, in order.
    pub(crate) fn parameters<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let query = self.query.as_deref().unwrap_or_default();
        query.split('&').filter_map(move |pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key) == name).then(|| decoded(value))
        })
    }

    /// The first value of a query parameter that is not empty.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        self.parameters(name).find(|value| !value.is_empty())
    }
}

fn decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
}
