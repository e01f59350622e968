//! Character references in HTML: `&amp;`, `&#233;`, and those that people forgot to close.
//!
//! The names come from the table of the XML reader. A reference ends by the rules for attributes,
//! where the `&copy` of `?a=1&copy=2` is no reference.

use quick_xml::escape::resolve_html5_entity;
use std::borrow::Cow;

/// Names that need no semicolon, where neither a letter, a digit nor `=` follows. Browsers know a
/// hundred of them; these occur in URLs and titles.
const UNTERMINATED_NAMES: [&str; 7] = ["amp", "lt", "gt", "quot", "nbsp", "copy", "reg"];

/// Longer than every name in the table.
const MAX_NAME_BYTES: usize = 34;

/// The text with all references resolved.
pub fn decode_references(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = push_reference(rest, &mut decoded);
        rest = &rest[length..];
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// Appends the character of the reference at the start of the text, or the ampersand if there is
/// none. Returns the length that was read.
fn push_reference(text: &str, decoded: &mut String) -> usize {
    if let Some((character, length)) = numeric(text) {
        decoded.push(character);
        return length;
    }
    if let Some((characters, length)) = named(text) {
        decoded.push_str(characters);
        return length;
    }
    decoded.push('&');
    1
}

/// `&#233;` and `&#xe9;`, closed or not.
fn numeric(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("&#")?;
    let (digits, radix, before) = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16, 3),
        None => (digits, 10, 2),
    };
    let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
    if length == 0 {
        return None;
    }
    let number = u32::from_str_radix(&digits[..length], radix).unwrap_or(0);
    let character = char::from_u32(number).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER);
    let closed = usize::from(digits.as_bytes().get(length) == Some(&b';'));
    Some((character, before + length + closed))
}

/// `&amp;`, and `&amp` where nothing follows that would make it another name.
fn named(text: &str) -> Option<(&'static str, usize)> {
    let length = text.bytes().skip(1).take(MAX_NAME_BYTES).take_while(u8::is_ascii_alphanumeric).count();
    let name = &text[1..=length];
    match text.as_bytes().get(length + 1) {
        Some(b';') => Some((resolve_html5_entity(name)?, length + 2)),
        Some(b'=') => None,
        _ if UNTERMINATED_NAMES.contains(&name) => Some((resolve_html5_entity(name)?, length + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_are_resolved_as_in_attributes() {
        assert_eq!(decode_references("x&amp;y"), "x&y");
        assert_eq!(decode_references("?a=1&copy=2&lt=3&amp"), "?a=1&copy=2&lt=3&");
        assert_eq!(decode_references("&#233;&#xE9;&#x2f;a&eacute;"), "éé/aé");
        assert_eq!(decode_references("&#0;&#xffffffff1;&#;&;&nosuch;&"), "\u{fffd}\u{fffd}&#;&;&nosuch;&");
        assert_eq!(decode_references("&ampx;"), "&ampx;");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[&#xa;é0-9amp= ]{0,40}") {
            let decoded = decode_references(&text);
            prop_assert!(decoded.len() <= text.len() + 8);
        }
    }
}
