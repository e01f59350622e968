//! The URL of a request: as the client wrote it, cleaned, and as it is sent.

use varve_core::history::KeyedUrl;
use varve_core::secret::ShownUrl;
use varve_core::url::{clean, request_url};

use super::PageError;

/// A request for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UrlRequest {
    /// The URL as the client wrote it.
    pub(super) original: String,
    /// The URL without tracking parameters and fragment, under which the answer is saved.
    pub(super) cleaned: KeyedUrl,
    /// The URL that is sent to the server.
    pub(super) sent: String,
}

impl UrlRequest {
    /// Parses the text of a request.
    pub(super) fn parse(text: &str) -> Result<Self, PageError> {
        let invalid = || PageError::InvalidUrl(text.to_owned());
        if ShownUrl(text).has_user_info() {
            return Err(PageError::UserInfo(ShownUrl(text).to_string()));
        }
        let cleaned = clean(text.trim()).map_err(|_| invalid())?;
        let sent = request_url(&cleaned).ok_or_else(invalid)?;
        let cleaned = KeyedUrl::new(&cleaned).map_err(|_| invalid())?;
        Ok(Self { original: text.to_owned(), cleaned, sent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_cleaned_and_must_be_of_the_web() {
        let request = UrlRequest::parse("https://Example.com/a?utm_source=x&b=1#top").unwrap();
        assert_eq!(request.cleaned.url, "https://Example.com/a?b=1");
        assert_eq!(request.sent, "https://example.com/a?b=1");
        for text in ["", "example.com", "/a", "ftp://h/", "mailto:a@h", "https://"] {
            assert!(matches!(UrlRequest::parse(text), Err(PageError::InvalidUrl(_))), "{text}");
        }
        let secret = UrlRequest::parse("https://me:sesame@h/").unwrap_err();
        assert!(matches!(secret, PageError::UserInfo(_)) && !format!("{secret:?}").contains("sesame"));
    }
}
