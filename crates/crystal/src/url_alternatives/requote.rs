//! Escaping as the `requests` library does it: unescape what needs no escape, escape what needs
//! one, and leave the rest as it was written, the case of hex digits included.

use varve_core::url::escape::{ByteSet, escaped_byte, write_byte};

/// Characters that never need an escape.
const UNRESERVED_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~");
/// Characters that are kept, with a percent sign.
const UNQUOTED_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~!#$%&'()*+,/:;=?@[]");
/// Characters that are kept where a percent sign means itself.
const KEPT_WITHOUT_PERCENT: ByteSet = ByteSet::alphanumeric_and(b"-._~!#$&'()*+,/:;=?@[]");

/// Escapes a whole URL again. If a percent sign begins a false escape, all percent signs are taken
/// literally.
pub(super) fn requote(url: &str) -> String {
    let mut quoted = String::with_capacity(url.len());
    if url.match_indices('%').any(|(at, _)| is_false_escape(&url[at + 1..])) {
        url.bytes().for_each(|byte| write_byte(byte, &KEPT_WITHOUT_PERCENT, &mut quoted));
        return quoted;
    }
    let mut rest = url.as_bytes();
    while let Some(&first) = rest.first() {
        match escaped_byte(rest).filter(|byte| UNRESERVED_BYTES.has(*byte)) {
            Some(byte) => {
                quoted.push(char::from(byte));
                rest = &rest[3..];
            }
            None => {
                write_byte(first, &UNQUOTED_BYTES, &mut quoted);
                rest = &rest[1..];
            }
        }
    }
    quoted
}

/// Whether two letters or digits follow that are not hex digits.
fn is_false_escape(after_percent: &str) -> bool {
    let mut characters = after_percent.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) => {
            let pair = [first, second];
            pair.iter().all(|character| character.is_alphanumeric())
                && !pair.iter().all(char::is_ascii_hexdigit)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        for (url, quoted) in [
            ("/%7euser/%2f", "/~user/%2f"),
            ("/100%", "/100%"),
            ("/a%2", "/a%2"),
            ("/%-1 é", "/%-1%20%C3%A9"),
            ("/%GG%41", "/%25GG%2541"),
            ("/%%41", "/%A"),
            ("/a|b", "/a%7Cb"),
        ] {
            assert_eq!(requote(url), quoted);
        }
    }
}
