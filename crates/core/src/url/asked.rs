//! The URL as it is asked for: what any client makes of a text before it sends it, and nothing more.
//!
//! As browsers read it, because servers expect their spelling: the fragment goes, scheme and host become lower-case, dot
//! segments are resolved, and what may not stand in a request is escaped. The order of parameters, the escapes that are there
//! already and everything else stays, because a server may tell it apart. A name and a password go as well: they are no part of
//! what is asked for.

use url::Url;

/// The URL as it is asked for; none for what is not on the web.
///
/// ```
/// # use varve_core::url::asked;
/// let url = asked("HTTP://Example.com:80/a/../q?b=%7e1&a=é#top");
/// assert_eq!(url.as_deref(), Some("http://example.com/q?b=%7e1&a=%C3%A9"));
/// ```
pub fn asked(text: &str) -> Option<String> {
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
            assert_eq!(asked(url).as_deref(), Some(url));
        }
        assert_eq!(asked(" http://me:secret@H/x y#z\n").as_deref(), Some("http://h/x%20y"));
        for text in ["", "/a", "ftp://h/", "mailto:a@h", "http://"] {
            assert_eq!(asked(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_asked_is_asked_so_again(text in "https?://[a-zA-Z0-9.:@]{1,12}[a-z%0-9.?&=;+/~#é| \\[\\]]{0,30}") {
            if let Some(once) = asked(&text) {
                prop_assert_eq!(asked(&once), Some(once));
            }
        }
    }
}
