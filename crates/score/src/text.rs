//! The text of attribute values: decoded, with character references resolved, and limited in
//! length; and the same text as part of a selector.

use varve_page::tokenizer::decode_references;

/// Maximum length of a value: enough for an address, and a `data:` URL is cut.
const MAX_VALUE_BYTES: usize = 2048;
/// Maximum length of a value in a selector. A longer value is matched by its beginning.
const MAX_SELECTOR_BYTES: usize = 200;

/// The text of a raw attribute value.
pub(crate) fn decode(raw: &[u8]) -> String {
    // A reference is at most twelve times as long as its text, so the rest of the bytes cannot
    // matter.
    let text = String::from_utf8_lossy(&raw[..raw.len().min(MAX_VALUE_BYTES * 12)]);
    cut(&decode_references(&text), MAX_VALUE_BYTES).to_owned()
}

/// The text, cut at a length in bytes.
pub(crate) fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// The selector `[name="value"]`.
pub(crate) fn attribute_selector(name: &str, value: &str) -> String {
    let beginning = cut(value, MAX_SELECTOR_BYTES);
    let operator = if beginning.len() < value.len() { "^=" } else { "=" };
    let mut selector = format!("[{name}{operator}\"");
    for letter in beginning.chars() {
        match letter {
            '"' | '\\' => selector.extend(['\\', letter]),
            letter if letter.is_control() => selector.push_str(&format!("\\{:x} ", u32::from(letter))),
            letter => selector.push(letter),
        }
    }
    selector + "\"]"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_are_resolved() {
        let said = |raw: &str| decode(raw.as_bytes());
        assert_eq!(said("a?b=1&amp;c=2&ampd=3&lt=1&x"), "a?b=1&c=2&ampd=3&lt=1&x");
        assert_eq!(said("https&colon;&sol;&#x2f;e&#46;x&#0;&#xffffffffff;"), "https://e.x\u{fffd}\u{fffd}");
        assert_eq!(said("&"), "&");
    }

    #[test]
    fn selectors_escape_and_shorten() {
        assert_eq!(attribute_selector("a", "x\"\\\n"), "[a=\"x\\\"\\\\\\a \"]");
        let long = "é".repeat(400);
        assert!(attribute_selector("src", &long).starts_with("[src^=\"é"));
    }

    proptest! {
        #[test]
        fn decoding_is_total_and_bounded(raw in proptest::collection::vec(any::<u8>(), 0..64), times in 1_usize..80) {
            let value = decode(&raw.repeat(times));
            prop_assert!(value.len() <= MAX_VALUE_BYTES);
        }
    }
}
