//! The URL that a client sends for a text, and nothing more.
//!
//! Written as browsers write it, because servers expect that form. The fragment is dropped, scheme
//! and host become lower-case, dot segments are resolved, and characters that a request must not
//! contain are escaped. The order of parameters, existing escapes and everything else stay, because
//! a server may distinguish them. User information is removed: it does not belong to the resource.

use std::fmt;
use std::ops::Deref;

use url::Url;

use super::web_url::{WebUrl, scan};
use super::{PageUrl, page_identity};

/// A URL as it is sent, with the identity of the page that it names.
///
/// Parsed once. A clone shares the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestUrl {
    url: WebUrl,
    page: PageUrl,
}

impl RequestUrl {
    /// The URL that a client sends for `text`; `None` for text that is no `http` or `https` URL.
    ///
    /// ```
    /// # use varve_core::url::RequestUrl;
    /// let url = RequestUrl::parse("HTTP://Example.com:80/q?b=%7e1&a=é#top").unwrap();
    /// assert_eq!(url.as_str(), "http://example.com/q?b=%7e1&a=%C3%A9");
    /// assert_eq!(url.page().as_str(), "http://example.com/q?a=%C3%A9&b=~1");
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(scanned) = scan(text) {
            let url = WebUrl::new(scanned.request)?;
            let page = match scanned.is_page {
                true => PageUrl::of_normal(url.clone()),
                false => PageUrl::parse(scanned.request)?,
            };
            return Some(Self { url, page });
        }
        // A host that only a browser accepts has no identity, and is not requested.
        let sent = parsed(text)?;
        Some(Self { url: WebUrl::new(&sent)?, page: PageUrl::parse(&sent)? })
    }

    /// A URL whose text is sent and compared as it is, for layouts with their own rules of
    /// identity.
    pub fn verbatim(text: &str) -> Option<Self> {
        let url = WebUrl::new(text)?;
        Some(Self { page: PageUrl::verbatim(url.clone()), url })
    }

    /// The identity of the page: the same for all spellings of its URL.
    pub fn page(&self) -> &PageUrl {
        &self.page
    }
}

impl Deref for RequestUrl {
    type Target = WebUrl;

    fn deref(&self) -> &WebUrl {
        &self.url
    }
}

impl fmt::Display for RequestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl fmt::Debug for RequestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

/// The text of the URL that a client sends; `None` if `text` is not a web URL.
pub fn request_url(text: &str) -> Option<String> {
    match scan(text) {
        Some(scanned) => Some(scanned.request.to_owned()),
        None => parsed(text).filter(|url| page_identity(url).is_some()),
    }
}

/// The same by the general parser, for any text.
pub(super) fn parsed(text: &str) -> Option<String> {
    let mut url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        url.set_password(None).ok()?;
        url.set_username("").ok()?;
    }
    Some(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_server_could_tell_apart_stays() {
        for url in [
            "http://h/?file=z&expires=1&sig=abc",
            "http://h/?b=1&a=2&utm_source=x",
            "http://h/%7euser/%61?x=%c3",
            "http://h/?filter[a]=1|2",
            "http://h/?wsdl",
            "http://h//a/",
            "http://h/?",
        ] {
            assert_eq!(request_url(url).as_deref(), Some(url));
        }
        assert_eq!(request_url(" http://me:secret@H/x y#z\n").as_deref(), Some("http://h/x%20y"));
        for text in ["", "/a", "ftp://h/", "mailto:a@h", "http://"] {
            assert_eq!(request_url(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_is_idempotent(text in "https?://[a-zA-Z0-9.:@]{1,12}[a-z%0-9.?&=;+/~#é| \\[\\]]{0,30}") {
            if let Some(once) = request_url(&text) {
                prop_assert_eq!(request_url(&once), Some(once));
            }
        }
    }
}
