//! Tidying: what tells a crawl that two spellings are one URL, so that it is asked for once.
//!
//! Less than [cleaning](mod@super::clean): parameters that track are left out and the others are put in order, but each stays as
//! it is spelled, and none is dropped because it cannot be understood. Cleaning makes `?wsdl` of nothing but `?wsdl=`, and
//! nothing at all of `?p=linux.git;a=summary`: that is an identity other programs share, and another page to the server.

use super::clean::TRACKING;
use super::query::unescape;

/// The URL, tidied. Its fragment must be gone.
///
/// ```
/// # use varve_core::url::tidy;
/// assert_eq!(tidy("https://example.com/?b&utm_source=x&a=1;c"), "https://example.com/?a=1;c&b");
/// ```
pub fn tidy(url: &str) -> String {
    let Some((before, query)) = url.split_once('?').filter(|(_, query)| !query.is_empty()) else {
        return url.to_owned();
    };
    let mut pieces: Vec<&str> =
        query.split('&').filter(|piece| !piece.is_empty() && !is_tracking(piece)).collect();
    pieces.sort_by(|left, right| unescape(name(left)).cmp(&unescape(name(right))));
    if pieces.is_empty() { before.to_owned() } else { format!("{before}?{}", pieces.join("&")) }
}

fn name(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}

fn is_tracking(piece: &str) -> bool {
    let name = unescape(name(piece));
    TRACKING.iter().any(|tracking| *name == *tracking.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_lost_but_what_tracks() {
        for (url, tidied) in [
            ("http://h/gitweb?p=linux.git;a=summary", "http://h/gitweb?p=linux.git;a=summary"),
            ("http://h/?wsdl", "http://h/?wsdl"),
            ("http://h/?x=%zz&a=b/c", "http://h/?a=b/c&x=%zz"),
            ("http://h/?q=a+b&p=a%20b", "http://h/?p=a%20b&q=a+b"),
            ("http://h/?b=2&b=1&a", "http://h/?a&b=2&b=1"),
            ("http://h/?utm%5Fsource=x", "http://h/"),
            ("http://h/?", "http://h/?"),
            ("http://h/?&", "http://h/"),
            ("http://h/a", "http://h/a"),
        ] {
            assert_eq!(tidy(url), tidied, "{url}");
        }
    }

    proptest! {
        #[test]
        fn tidying_twice_is_tidying_once(url in "http://h/[a-z]{0,2}(\\?[a-z%25&=;+/ ]{0,20})?") {
            let once = tidy(&url);
            prop_assert_eq!(tidy(&once), once);
        }

        #[test]
        fn every_other_piece_stays(pieces in proptest::collection::vec("[a-z%=;+/]{1,6}", 0..6)) {
            let tidied = tidy(&format!("http://h/?{}", pieces.join("&")));
            let query = tidied.split_once('?').map_or("", |(_, query)| query);
            let mut kept: Vec<&str> = query.split('&').filter(|piece| !piece.is_empty()).collect();
            let mut given: Vec<&str> = pieces.iter().map(String::as_str).collect();
            kept.sort_unstable();
            given.sort_unstable();
            prop_assert_eq!(kept, given);
        }
    }
}
