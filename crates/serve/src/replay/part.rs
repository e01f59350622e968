//! `Range`, `If-None-Match` and `Accept-Encoding`: the part of a body that is wanted, if any, and in which form.

use std::io::{self, Read, Write};

/// A part of a body: from `start`, `length` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// What a `Range` means for a body of a known length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it: nothing was asked, or not in a way that is answered in parts.
    All,
    /// One part.
    Part(Part),
    /// What is not there.
    Nothing,
}

/// Reads a `Range`. Several parts at once are answered with the whole, which is always allowed.
pub(super) fn wanted(range: Option<&str>, whole: u64) -> Wanted {
    let Some(spec) = range.and_then(|range| range.trim().strip_prefix("bytes=")) else { return Wanted::All };
    let Some((first, last)) = spec.split_once('-').filter(|_| !spec.contains(',')) else {
        return Wanted::All;
    };
    let (first, last) = (first.trim(), last.trim());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
    let (start, end) = match (first, last) {
        ("", last) if is_number(last) => (whole.saturating_sub(number(last)), whole),
        (first, "") if is_number(first) => (number(first), whole),
        (first, last) if is_number(first) && is_number(last) && number(first) <= number(last) => {
            (number(first), number(last).saturating_add(1).min(whole))
        }
        _ => return Wanted::All,
    };
    if start >= whole || (first.is_empty() && number(last) == 0) {
        return Wanted::Nothing;
    }
    Wanted::Part(Part { start, length: end - start })
}

/// Whether one of the tags in `If-None-Match` is this one.
pub(super) fn is_known(if_none_match: Option<&str>, tag: &str) -> bool {
    if_none_match.is_some_and(|tags| {
        tags.trim() == "*" || tags.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)
    })
}

/// The content codings that may be passed on: who accepts one undoes it.
const CODINGS: [&str; 5] = ["br", "deflate", "gzip", "x-gzip", "zstd"];

/// Whether someone who says that in `Accept-Encoding` undoes all these codings.
pub(super) fn accepts(accept_encoding: Option<&str>, codings: &str) -> bool {
    let accepted = accept_encoding.unwrap_or_default().to_ascii_lowercase();
    let takes = |coding: &str| {
        accepted.split(',').any(|one| {
            let (name, weight) = one.split_once(';').unwrap_or((one, ""));
            let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            name.trim() == coding && weight != Some(0.0)
        })
    };
    codings.split(',').map(str::trim).all(|coding| CODINGS.contains(&coding) && takes(coding))
}

/// Copies a part of a body. One that ends early is an error: what was promised is not there.
pub(super) fn copy(part: &mut dyn Read, length: u64, output: &mut dyn Write) -> io::Result<()> {
    match io::copy(&mut part.take(length), output)? == length {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the body is shorter than it should be")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_read() {
        let part = |start, length| Wanted::Part(Part { start, length });
        for (range, expected) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-", part(2, 8)),
            ("bytes=-3", part(7, 3)),
            ("bytes=-30", part(0, 10)),
            ("bytes=5-99", part(5, 5)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=3-2", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=x-", Wanted::All),
            ("bytes=99999999999999999999-", Wanted::Nothing),
            ("bytes=0-99999999999999999999", part(0, 10)),
            ("lines=0-1", Wanted::All),
        ] {
            assert_eq!(wanted(Some(range), 10), expected, "{range}");
        }
        assert_eq!(wanted(None, 10), Wanted::All);
    }

    #[test]
    fn tags_are_compared() {
        assert!(is_known(Some("\"a\", W/\"b\""), "\"b\"") && is_known(Some("*"), "\"b\""));
        assert!(!is_known(Some("\"a\""), "\"b\"") && !is_known(None, "\"b\""));
    }

    #[test]
    fn codings_are_passed_to_those_who_undo_them() {
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
            assert_eq!(accepts(accepted, codings), expected, "{accepted:?} {codings}");
        }
    }

    proptest! {
        #[test]
        fn a_part_is_always_inside(range in "bytes=[0-9,-]{0,12}", whole in 0u64..50) {
            if let Wanted::Part(part) = wanted(Some(&range), whole) {
                prop_assert!(part.length > 0 && part.start + part.length <= whole);
            }
        }
    }
}
