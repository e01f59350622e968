//! `Range`, `If-None-Match` and `Accept-Encoding`: which part of a body a client wants, and in
//! which coding.

/// A range of a body: `length` bytes from `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestedRange {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// What a `Range` means for a body of a known length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeRequest {
    /// The whole body: no range was requested, or not one that is answered partially.
    Whole,
    /// One range.
    Range(RequestedRange),
    /// A range outside the body.
    Unsatisfiable,
}

/// Parses a `Range` header for a body of `length` bytes. A request for several ranges is answered
/// with the whole body.
pub(super) fn requested_range(range: Option<&str>, length: u64) -> RangeRequest {
    let Some(spec) = range.and_then(|range| range.trim().strip_prefix("bytes=")) else {
        return RangeRequest::Whole;
    };
    let Some((first, last)) = spec.split_once('-').filter(|_| !spec.contains(',')) else {
        return RangeRequest::Whole;
    };
    let (first, last) = (first.trim(), last.trim());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
    let (start, end) = match (first, last) {
        ("", last) if is_number(last) => (length.saturating_sub(number(last)), length),
        (first, "") if is_number(first) => (number(first), length),
        (first, last) if is_number(first) && is_number(last) && number(first) <= number(last) => {
            (number(first), number(last).saturating_add(1).min(length))
        }
        _ => return RangeRequest::Whole,
    };
    if start >= length || (first.is_empty() && number(last) == 0) {
        return RangeRequest::Unsatisfiable;
    }
    RangeRequest::Range(RequestedRange { start, length: end - start })
}

/// Whether `If-None-Match` lists this ETag.
pub(super) fn matches_etag(if_none_match: Option<&str>, tag: &str) -> bool {
    if_none_match.is_some_and(|tags| {
        tags.trim() == "*" || tags.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)
    })
}

/// Content codings that are sent to clients that accept them.
const KNOWN_CODINGS: [&str; 5] = ["br", "deflate", "gzip", "x-gzip", "zstd"];

/// Whether a client with this `Accept-Encoding` accepts all these codings.
pub(super) fn accepts_codings(accept_encoding: Option<&str>, codings: &str) -> bool {
    let accepted = accept_encoding.unwrap_or_default().to_ascii_lowercase();
    let takes = |coding: &str| {
        accepted.split(',').any(|one| {
            let (name, weight) = one.split_once(';').unwrap_or((one, ""));
            let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            name.trim() == coding && weight != Some(0.0)
        })
    };
    codings.split(',').map(str::trim).all(|coding| KNOWN_CODINGS.contains(&coding) && takes(coding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_parsed() {
        let part = |start, length| RangeRequest::Range(RequestedRange { start, length });
        for (range, expected) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-", part(2, 8)),
            ("bytes=-3", part(7, 3)),
            ("bytes=-30", part(0, 10)),
            ("bytes=5-99", part(5, 5)),
            ("bytes=10-", RangeRequest::Unsatisfiable),
            ("bytes=-0", RangeRequest::Unsatisfiable),
            ("bytes=3-2", RangeRequest::Whole),
            ("bytes=0-1,3-4", RangeRequest::Whole),
            ("bytes=x-", RangeRequest::Whole),
            ("bytes=99999999999999999999-", RangeRequest::Unsatisfiable),
            ("bytes=0-99999999999999999999", part(0, 10)),
            ("lines=0-1", RangeRequest::Whole),
        ] {
            assert_eq!(requested_range(Some(range), 10), expected, "{range}");
        }
        assert_eq!(requested_range(None, 10), RangeRequest::Whole);
    }

    #[test]
    fn etags_are_compared() {
        assert!(matches_etag(Some("\"a\", W/\"b\""), "\"b\"") && matches_etag(Some("*"), "\"b\""));
        assert!(!matches_etag(Some("\"a\""), "\"b\"") && !matches_etag(None, "\"b\""));
    }

    #[test]
    fn codings_are_sent_to_clients_that_accept_them() {
        for (accepted, codings, expected) in [
            (Some("gzip, deflate, br"), "gzip", true),
            (Some("GZIP;q=0.5"), "gzip", true),
            (Some("gzip;q=0, br"), "gzip", false),
            (Some("gzip;q=0.000"), "gzip", false),
            (Some("br, gzip"), "gzip, br", true),
            (Some("gzip"), "gzip, br", false),
            (Some("*"), "gzip", false),
            (Some("mine"), "mine", false),
            (Some("identity"), "identity", false),
            (Some("gzip"), "", false),
            (None, "gzip", false),
        ] {
            assert_eq!(accepts_codings(accepted, codings), expected, "{accepted:?} {codings}");
        }
    }

    proptest! {
        #[test]
        fn a_range_is_always_inside_the_body(range in "bytes=[0-9,-]{0,12}", whole in 0u64..50) {
            if let RangeRequest::Range(part) = requested_range(Some(&range), whole) {
                prop_assert!(part.length > 0 && part.start + part.length <= whole);
            }
        }
    }
}
