//! RFC 2047 encoded words in field values, which WARC readers shall understand (ISO 28500, clause
//! 4).
//!
//! UTF-8, US-ASCII and ISO 8859-1 are decoded. A word in another charset, or a broken one, stays as
//! written: a guess would change the content of the archive.

use data_encoding::BASE64;

/// The value as text, encoded words decoded, bytes that are not UTF-8 read as Latin-1.
pub fn text(value: &[u8]) -> String {
    let raw = match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect(),
    };
    if !raw.contains("=?") {
        return raw;
    }
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw.as_str();
    let mut after_word = false;
    while let Some(at) = rest.find("=?") {
        let (before, candidate) = rest.split_at(at);
        match word(candidate) {
            Some((text, length)) => {
                // White space between two encoded words is not part of the text.
                if !(after_word && before.chars().all(char::is_whitespace)) {
                    decoded.push_str(before);
                }
                decoded.push_str(&text);
                rest = &candidate[length..];
                after_word = true;
            }
            None => {
                decoded.push_str(before);
                decoded.push_str("=?");
                rest = &candidate[2..];
                after_word = false;
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// One encoded word at the start of `text`: its text and its length.
fn word(text: &str) -> Option<(String, usize)> {
    let mut parts = text[2..].splitn(4, '?');
    let (charset, encoding, payload, rest) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if !rest.starts_with('=') || payload.contains(char::is_whitespace) || !payload.is_ascii() {
        return None;
    }
    let bytes = match encoding {
        "B" | "b" => BASE64.decode(payload.as_bytes()).ok()?,
        "Q" | "q" => quoted(payload.as_bytes())?,
        _ => return None,
    };
    let charset = charset.split('*').next().unwrap_or_default().to_ascii_lowercase();
    let decoded = match charset.as_str() {
        "utf-8" | "us-ascii" => String::from_utf8(bytes).ok()?,
        "iso-8859-1" => bytes.into_iter().map(char::from).collect(),
        _ => return None,
    };
    Some((decoded, text.len() - rest.len() + 1))
}

fn quoted(payload: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(payload.len());
    let mut rest = payload;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'_' => bytes.push(b' '),
            b'=' => {
                let (digits, tail) = rest.split_at_checked(2)?;
                bytes.extend(data_encoding::HEXLOWER_PERMISSIVE.decode(digits).ok()?);
                rest = tail;
            }
            other => bytes.push(*other),
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::text;
    use proptest::prelude::*;

    /// Bytes that are not ASCII are decoded as Latin-1 once; decoding them again would give other
    /// letters.
    #[test]
    fn a_word_must_be_ascii() {
        assert_eq!(text(b"=?iso-8859-1?Q?caf\xe9?="), "=?iso-8859-1?Q?caf\u{e9}?=");
        assert_eq!(text(b"=?iso-8859-1?Q?caf=e9?="), "caf\u{e9}");
    }

    #[test]
    fn words() {
        assert_eq!(text(b"=?utf-8?Q?caf=C3=A9_noir?="), "café noir");
        assert_eq!(text(b"a =?UTF-8?B?w6k=?= =?iso-8859-1?q?=E9?= b"), "a éé b");
        assert_eq!(text("schön".as_bytes()), "schön");
        assert_eq!(text(b"sch\xf6n"), "schön");
    }

    #[test]
    fn invalid_words_stay() {
        for raw in ["=?", "=?utf-8?Q?=C3?=", "=?koi8-r?Q?x?=", "=?utf-8?X?a?=", "=?utf-8?Q?a b?="] {
            assert_eq!(text(raw.as_bytes()), raw);
        }
    }

    proptest! {
        #[test]
        fn any_bytes(value in proptest::collection::vec(any::<u8>(), 0..80)) {
            text(&value);
        }
    }
}
