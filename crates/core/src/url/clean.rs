//! Cleaning: the same page without tracking parameters and fragment, in a spelling that other
//! programs share.
//!
//! Changes only the query and the fragment. The tracking parameters are a short, closed list of
//! exact names. A guess that a parameter has no meaning loses pages, and a growing list changes the
//! identity of archived pages.

use super::escape::EscapeSink;
use super::query::{QueryParameter, UrlQuery};
use super::{Reference, UrlError};

/// The parameters that cleaning removes.
pub const TRACKING_PARAMETERS: [&str; 6] =
    ["utm_brand", "utm_campaign", "utm_content", "utm_medium", "utm_source", "utm_term"];

/// Cleans the text of a URL.
///
/// ```
/// # use varve_core::url::clean;
/// let cleaned = clean("https://example.com/?b=2&utm_source=x&a=1#top");
/// assert_eq!(cleaned.as_deref(), Ok("https://example.com/?a=1&b=2"));
/// ```
pub fn clean(url: &str) -> Result<String, UrlError> {
    Reference::parse(url).map(|reference| reference.clean())
}

impl Reference<'_> {
    /// The text of this reference, [cleaned](self).
    pub fn clean(&self) -> String {
        let mut text = String::with_capacity(self.raw_query().map_or(0, str::len) + 64);
        self.write_before_query(&mut text);
        match self.raw_query() {
            Some("") => text.byte(b'?'),
            Some(raw) => write_clean_query(raw, &mut text),
            None => {}
        }
        text
    }
}

/// Writes the cleaned query with its question mark, if anything is left of it.
fn write_clean_query(raw: &str, text: &mut String) {
    let mut query = UrlQuery::parse(raw);
    remove_tracking(&mut query);
    if query.parameters.is_empty() {
        return;
    }
    query.sort();
    text.byte(b'?');
    query.write(text);
}

/// Removes the parameters that track.
pub(crate) fn remove_tracking(query: &mut UrlQuery<'_>) {
    query.parameters.retain(|parameter| !is_tracking(parameter));
}

/// Whether cleaning removes the parameter.
pub(crate) fn is_tracking(parameter: &QueryParameter<'_>) -> bool {
    TRACKING_PARAMETERS.iter().any(|name| parameter.name == name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_escaped_tracking_name_is_still_one() {
        assert_eq!(clean("https://a/?utm%5Fsource=x").as_deref(), Ok("https://a/"));
    }

    #[test]
    fn a_bare_question_mark_stays() {
        assert_eq!(clean("https://a/?#f").as_deref(), Ok("https://a/?"));
        assert_eq!(clean("https://a/?&").as_deref(), Ok("https://a/"));
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(url in "(https?://)?[a-z%.@:/?&=;+# é]{0,40}") {
            if let Ok(once) = clean(&url) {
                prop_assert_eq!(clean(&once), Ok(once));
            }
        }
    }
}
