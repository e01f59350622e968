//! Short ways to make responses and to set their headers.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use maud::Markup;

use crate::formatting::header_url;

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A response with a text of some media type.
pub(crate) fn text(status: StatusCode, media_type: &'static str, text: impl Into<Body>) -> Response {
    let mut response = empty(status).with(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    *response.body_mut() = text.into();
    response
}

/// A page of HTML.
pub(crate) fn page(status: StatusCode, page: Markup) -> Response {
    text(status, "text/html; charset=utf-8", page.into_string())
}

/// A redirect.
pub(crate) fn redirect(status: StatusCode, location: &str) -> Response {
    empty(status).with_text(header::LOCATION, &header_url(location))
}

/// Setting headers of a response.
pub(crate) trait ResponseHeaders: Sized {
    /// Sets a header.
    fn with(self, name: HeaderName, value: HeaderValue) -> Self;

    /// Sets a header to a text. A text that no header can hold is left out.
    fn with_text(self, name: HeaderName, text: &str) -> Self {
        match HeaderValue::from_str(text) {
            Ok(value) => self.with(name, value),
            Err(_) => self,
        }
    }
}

impl ResponseHeaders for Response {
    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers_mut().insert(name, value);
        self
    }
}
