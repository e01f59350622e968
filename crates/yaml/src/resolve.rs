//! Which type a plain word has in YAML 1.1.
//!
//! The patterns are those that PyYAML matches, byte by byte, without a regular-expression engine: a word must match as a
//! whole, so each pattern is a short run over the bytes. They differ from YAML 1.2: `yes`, `0777` and `1:30` are no
//! texts, `1e3` and `0o17` are.

/// What a plain word is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Implicit {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int,
    /// A floating-point number.
    Float,
    /// A date or a time.
    Timestamp,
    /// `<<`, which merges.
    Merge,
    /// `=`.
    Value,
    /// None of these: a text.
    Text,
}

/// What `word` is taken for.
pub(super) fn resolve(word: &str) -> Implicit {
    if let Some(value) = truth(word) {
        return Implicit::Bool(value);
    }
    let bytes = word.as_bytes();
    match word {
        "" | "~" | "null" | "Null" | "NULL" => Implicit::Null,
        "<<" => Implicit::Merge,
        "=" => Implicit::Value,
        _ if is_float(bytes) => Implicit::Float,
        _ if is_int(bytes) => Implicit::Int,
        _ if is_timestamp(bytes) => Implicit::Timestamp,
        _ => Implicit::Text,
    }
}

fn truth(word: &str) -> Option<bool> {
    match word {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// What follows the longest beginning of `bytes` whose bytes are all `wanted`, and how long that was.
fn run(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> (usize, &[u8]) {
    let length = bytes.iter().take_while(|byte| wanted(**byte)).count();
    (length, &bytes[length..])
}

fn digit_or_bar(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

fn unsigned(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+")).unwrap_or(bytes)
}

fn all(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| wanted(*byte))
}

fn is_int(bytes: &[u8]) -> bool {
    let bytes = unsigned(bytes);
    match bytes {
        b"0" => true,
        [b'0', b'b', rest @ ..] => all(rest, |byte| matches!(byte, b'0' | b'1' | b'_')),
        [b'0', b'x', rest @ ..] => all(rest, |byte| byte.is_ascii_hexdigit() || byte == b'_'),
        [b'0', rest @ ..] => all(rest, |byte| matches!(byte, b'0'..=b'7' | b'_')),
        [b'1'..=b'9', rest @ ..] => {
            let (_, rest) = run(rest, digit_or_bar);
            rest.is_empty() || after_sixtieths(rest).is_some_and(<[u8]>::is_empty)
        }
        _ => false,
    }
}

/// What follows one or more of `:59`.
fn after_sixtieths(mut bytes: &[u8]) -> Option<&[u8]> {
    let mut any = false;
    while let [b':', rest @ ..] = bytes {
        bytes = match rest {
            [b'0'..=b'5', b'0'..=b'9', rest @ ..] | [b'0'..=b'9', rest @ ..] => rest,
            _ => return None,
        };
        any = true;
    }
    any.then_some(bytes)
}

fn is_float(bytes: &[u8]) -> bool {
    if let [b'.', b'0'..=b'9', rest @ ..] = bytes {
        return ends_with_exponent(run(rest, digit_or_bar).1);
    }
    if matches!(bytes, b".nan" | b".NaN" | b".NAN") {
        return true;
    }
    match unsigned(bytes) {
        b".inf" | b".Inf" | b".INF" => true,
        [b'0'..=b'9', rest @ ..] => match run(rest, digit_or_bar).1 {
            [b'.', rest @ ..] => ends_with_exponent(run(rest, digit_or_bar).1),
            rest => {
                matches!(after_sixtieths(rest), Some([b'.', rest @ ..]) if rest.iter().all(|byte| digit_or_bar(*byte)))
            }
        },
        _ => false,
    }
}

/// Nothing, or an exponent whose sign must be there.
fn ends_with_exponent(bytes: &[u8]) -> bool {
    match bytes {
        [] => true,
        [b'e' | b'E', b'-' | b'+', rest @ ..] => all(rest, |byte| byte.is_ascii_digit()),
        _ => false,
    }
}

fn is_timestamp(bytes: &[u8]) -> bool {
    super::timestamp::Parts::read(bytes).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_texts() {
        for (word, wanted) in [
            ("yes", Implicit::Bool(true)),
            ("OFF", Implicit::Bool(false)),
            ("", Implicit::Null),
            ("0777", Implicit::Int),
            ("1:30", Implicit::Int),
            ("-0b1_0", Implicit::Int),
            ("1_000.5e+3", Implicit::Float),
            ("1:30.5", Implicit::Float),
            ("-.inf", Implicit::Float),
            (".5", Implicit::Float),
            ("2020-01-02", Implicit::Timestamp),
            ("2020-1-2 3:04:05 Z", Implicit::Timestamp),
            ("<<", Implicit::Merge),
            ("=", Implicit::Value),
        ] {
            assert_eq!(resolve(word), wanted, "{word}");
        }
    }

    #[test]
    fn words_that_only_look_so() {
        for word in
            ["y", "1e3", "0o17", "08", "1.0e3", "-.5", "1:60", "1::2", "2020-1-2", "yEs", "._5", "0b", "+"]
        {
            assert_eq!(resolve(word), Implicit::Text, "{word}");
        }
    }
}
