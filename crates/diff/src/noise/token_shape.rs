//! The shape of a value: a token, a hash, or something that people write.
//!
//! A value that may be a word, an address, a path or a number that people count with is neither
//! token nor hash.

use std::borrow::Cow;

/// Whether a value under the name of a token can be one. A value without digits or without letters
/// is rather a setting (`lax`, `required`, `3600`), unless it is long and looks random.
pub(super) fn is_token(value: &str) -> bool {
    let value = &*without_references(value);
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|byte| kind(&byte));
    let of_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_=.~-".contains(&byte);
    if !value.bytes().all(of_alphabet) || value.starts_with("0x") || is_path(value) || is_host(value) {
        return false;
    }
    match (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic)) {
        (true, true) => true,
        (true, false) => value.len() >= 16,
        // Base64 that happens to have no digit looks random as well.
        (false, _) => {
            let is_mixed = value.len() >= 16 && is_cased(value) && is_random(value);
            is_mixed || (value.len() >= 10 && is_hexadecimal(value))
        }
    }
}

/// Base64 has slashes, and so do paths. A long value with upper case, lower case and digits is no
/// path.
fn is_path(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_random = value.len() >= 16 && !value.contains('.') && is_cased(value) && has_digit;
    value.contains('/') && !is_random
}

/// Tokens of several parts have dots, and so do names of hosts and files, which have words between
/// the dots.
fn is_host(value: &str) -> bool {
    let is_word =
        |part: &str| (2..16).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    value.contains('.') && (value.len() < 20 || value.split('.').any(is_word))
}

/// The value with the characters of base64 that are escaped in HTML and in URLs.
fn without_references(value: &str) -> Cow<'_, str> {
    #[rustfmt::skip]
    const ESCAPES: [(&str, &str); 13] = [
        ("&#43;", "+"), ("&#x2B;", "+"), ("&#x2b;", "+"), ("&#47;", "/"), ("&#x2F;", "/"), ("&#61;", "="), ("&#x3D;", "="),
        ("%2B", "+"), ("%2b", "+"), ("%2F", "/"), ("%2f", "/"), ("%3D", "="), ("%3d", "="),
    ];
    if !value.contains(['&', '%']) {
        return Cow::Borrowed(value);
    }
    let plain = ESCAPES.iter().fold(value.to_owned(), |plain, (written, sign)| plain.replace(written, sign));
    Cow::Owned(plain)
}

/// Whether a part of an address is a hash and not a word, a number, or both (`bootstrap336`,
/// `20260101`). Hexadecimal with letters and digits is a hash. With other letters it must look
/// random and contain no word.
pub(super) fn is_hash(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|byte| kind(&byte));
    if !has(u8::is_ascii_digit) || !has(u8::is_ascii_alphabetic) {
        return false;
    }
    if value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        || (value.len() >= 16 && is_hexadecimal(value))
    {
        return true;
    }
    let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain || is_cased(value)) && is_random(value)
}

/// Whether a value can be the id of one request: a hash or a UUID, also with a time behind it.
pub(super) fn is_request_id(value: &str) -> bool {
    let lengths = || value.split('-').map(str::len);
    let is_uuid = (lengths().eq([8, 4, 4, 4, 12]) || lengths().eq([8, 4, 4, 4, 12, 10]))
        && value.split('-').all(is_hexadecimal);
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_uuid || is_hash(value) || (value.len() >= 10 && has_letter && is_hexadecimal(value))
}

/// The mail address in a scrambled one. The first byte is the key of the others.
pub(super) fn unscrambled_address(value: &str) -> Option<Vec<u8>> {
    let pairs = (0..value.len() / 2).map(|pair| value.get(2 * pair..2 * pair + 2));
    let bytes: Vec<u8> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<_>>()?;
    let (key, letters) = bytes.split_first()?;
    Some(letters.iter().map(|letter| letter ^ key).collect())
}

fn is_hexadecimal(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_cased(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_uppercase()) && value.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Length of a row of letters of one kind that is a word.
const WORD_LETTERS: usize = 5;

fn is_random(value: &str) -> bool {
    let runs: Vec<usize> =
        value.as_bytes().chunk_by(|one, next| kind_of(*one) == kind_of(*next)).map(<[u8]>::len).collect();
    runs.len() > (value.len() / 4).max(3) && runs.iter().all(|run| *run < WORD_LETTERS)
}

fn kind_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => b'0',
        b'a'..=b'z' => b'a',
        b'A'..=b'Z' => b'A',
        _ => b'-',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_neither_words_nor_numbers_nor_addresses() {
        for token in [
            "abc123",
            "a1b2",
            "tok-11111111",
            "ffffffffff",
            "q8vX/2bKz+Yt7LmN&#43;w==",
            "/wEPDwUKMTY1NDU2MTA1MmRk",
            "aBcDeFgHiJkLmNoP",
            "eyJhbGciOi1.c2Vzc2lvbjE.x9-Yk2",
        ] {
            assert!(is_token(token), "{token}");
        }
        for other in [
            "disabled",
            "student-alice",
            "3600",
            "10000001",
            "https://evil.example/1",
            "//evil.example/1",
            "/api/v1/csrf",
            "https%3A%2F%2Fevil.example%2F1",
            "%2Fapi%2Fv1%2Fcsrf",
            "evil1.example.com",
            "cdn1.attacker-host.example",
            "0x4f2a1b9c",
            "javascript:a1()",
            "two words1",
        ] {
            assert!(!is_token(other), "{other}");
        }
    }

    #[test]
    fn scrambled_addresses_are_read() {
        assert_eq!(unscrambled_address("4223022c6c2d").as_deref(), Some(&b"a@n.o"[..]));
        assert_eq!(unscrambled_address("é"), None);
        assert_eq!(unscrambled_address(""), None);
    }
}
