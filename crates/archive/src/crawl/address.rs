//! The two texts of a URL that a crawl knows: the one that it asks for, and its [identity](varve_core::url::PageUrl).
//!
//! What is asked for is the URL as it was found: a server may want its parameters in the order that it gave them. The
//! address is the same for all spellings of a URL, and tells whether it was asked for already. Names
//! and passwords in URLs are dropped: they would end up in records. Whoever needs them gives credentials.

use varve_core::url::request_url;

/// What is asked for when a text is a URL of the web; none for what is none.
pub(crate) fn asked(text: &str) -> Option<String> {
    request_url(text)
}

/// Whether it has a name or a password in it.
pub(crate) fn has_user_info(url: &str) -> bool {
    authority(url).contains('@')
}

/// The host of an address, with its port where that is not the usual one: what politeness and robots are about.
pub(crate) fn host_of(url: &str) -> &str {
    let authority = authority(url);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Scheme and host, as the address of what lies at the root of a site begins.
pub(crate) fn origin_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use varve_core::url::page_identity;

    #[test]
    fn no_query_is_asked_for_but_the_one_that_was_found() {
        for url in ["http://h/q?b=1&a=2", "http://h/land?utm_source=home", "http://h/%7e?sig=%2f"] {
            assert_eq!(asked(url).as_deref(), Some(url));
        }
    }

    #[test]
    fn hosts_and_origins() {
        assert_eq!(host_of("http://a@h:81/x@y"), "h:81");
        assert_eq!(origin_of("http://h:81/x"), "http://h:81");
        assert_eq!(origin_of("http://h?x"), "http://h");
        assert!(has_user_info("http://a@h/") && !has_user_info("http://h/a@b"));
    }

    proptest! {
        /// So that it does not matter of which of the two texts an address is made.
        #[test]
        fn what_is_asked_for_keeps_its_address(text in "https?://[a-z]{1,3}[a-z%0-9.?&=;+/~#é ]{0,30}") {
            if let Some(asked) = asked(&text) {
                prop_assert!(page_identity(&asked).is_some());
                prop_assert_eq!(super::asked(&asked), Some(asked));
            }
        }
    }
}
