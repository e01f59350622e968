//! An answer: status, headers, and a body that may still have to be made.

use std::io::{self, Write};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use maud::Markup;

/// Writes a body.
pub(crate) type Produce = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// What is answered instead when a body cannot be made, as long as nothing of it went out.
pub(crate) type Instead = Box<dyn FnOnce(&io::Error) -> Answer + Send>;

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// The body of an answer.
pub(crate) enum Body {
    /// It is here.
    Whole(Bytes),
    /// It is made while it goes out. The length is what it will have, where that is known.
    Made { length: Option<u64>, produce: Produce, instead: Instead },
}

impl Answer {
    /// An answer without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: HeaderMap::new(), body: Body::Whole(Bytes::new()) }
    }

    /// A text of some type.
    pub(crate) fn text(status: u16, media_type: &'static str, text: impl Into<Bytes>) -> Self {
        Self { body: Body::Whole(text.into()), ..Self::empty(status) }
            .with(header::CONTENT_TYPE, HeaderValue::from_static(media_type))
    }

    /// A page of ours.
    pub(crate) fn page(status: u16, page: Markup) -> Self {
        Self::text(status, "text/html; charset=utf-8", page.into_string())
    }

    /// Go there, this time.
    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::empty(status).with_text(header::LOCATION, &crate::text::header_url(location))
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets a header to a text; a text that no header can hold is left out.
    pub(crate) fn with_text(self, name: HeaderName, text: &str) -> Self {
        match HeaderValue::from_str(text) {
            Ok(value) => self.with(name, value),
            Err(_) => self,
        }
    }

    /// Sets a header unless it is there.
    pub(crate) fn or(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.entry(name).or_insert(HeaderValue::from_static(value));
        self
    }
}
