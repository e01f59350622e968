//! Sorting the query: parameters in the order of their names, without those that track.
//!
//! Less than [cleaning](mod@super::clean): each parameter stays as it is spelled, and none is
//! dropped because it cannot be decoded. Cleaning makes `?wsdl=` of `?wsdl` and nothing of
//! `?p=linux.git;a=summary`: an identity that other programs share, but another page to the server.

use super::clean::TRACKING_PARAMETERS;
use super::query::unescape;

/// The URL with its query sorted and without tracking parameters. It must have no fragment.
///
/// ```
/// # use varve_core::url::sort_query;
/// assert_eq!(sort_query("https://example.com/?b&utm_source=x&a=1;c"), "https://example.com/?a=1;c&b");
/// ```
pub fn sort_query(url: &str) -> String {
    let Some((before, query)) = url.split_once('?').filter(|(_, query)| !query.is_empty()) else {
        return url.to_owned();
    };
    let mut pieces: Vec<&str> =
        query.split('&').filter(|piece| !piece.is_empty() && !is_tracking(piece)).collect();
    pieces.sort_by(|left, right| unescape(name(left)).cmp(&unescape(name(right))));
    if pieces.is_empty() { before.to_owned() } else { format!("{before}?{}", pieces.join("&")) }
}

/// Whether [`sort_query`] leaves a query that is not empty as it is.
pub(super) fn is_sorted(query: &str) -> bool {
    let mut last = std::borrow::Cow::Borrowed(&b""[..]);
    !query.is_empty()
        && query.split('&').all(|piece| {
            let name = unescape(name(piece));
            let is_kept = !piece.is_empty() && !is_tracking_name(&name) && last <= name;
            last = name;
            is_kept
        })
}

fn name(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}

fn is_tracking(piece: &str) -> bool {
    is_tracking_name(&unescape(name(piece)))
}

fn is_tracking_name(name: &[u8]) -> bool {
    TRACKING_PARAMETERS.iter().any(|tracking| name == tracking.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_tracking_parameters_are_removed() {
        for (url, sorted) in [
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
            assert_eq!(sort_query(url), sorted, "{url}");
        }
    }

    proptest! {
        #[test]
        fn sorting_is_idempotent(url in "http://h/[a-z]{0,2}(\\?[a-z%25&=;+/ ]{0,20})?") {
            let once = sort_query(&url);
            prop_assert_eq!(&sort_query(&once), &once);
            if let Some((_, query)) = url.split_once('?').filter(|(_, query)| !query.is_empty()) {
                prop_assert_eq!(is_sorted(query), once == url);
            }
        }

        #[test]
        fn every_other_piece_stays(pieces in proptest::collection::vec("[a-z%=;+/]{1,6}", 0..6)) {
            let sorted = sort_query(&format!("http://h/?{}", pieces.join("&")));
            let query = sorted.split_once('?').map_or("", |(_, query)| query);
            let mut kept: Vec<&str> = query.split('&').filter(|piece| !piece.is_empty()).collect();
            let mut given: Vec<&str> = pieces.iter().map(String::as_str).collect();
            kept.sort_unstable();
            given.sort_unstable();
            prop_assert_eq!(kept, given);
        }
    }
}
