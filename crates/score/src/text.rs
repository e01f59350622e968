//! The text of attribute values: bytes to characters, character references resolved, length held in bounds; and the
//! same text back as part of a selector.

/// Values are cut to so many bytes: enough for every address that people use, and no row grows with a `data:` URL.
const LONGEST_VALUE: usize = 2048;
/// In a selector, a longer value is matched by its beginning.
const LONGEST_IN_SELECTOR: usize = 200;

/// Named references that hide addresses or words in attributes. Others stay as they are written.
const REFERENCES: [(&str, char); 16] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("colon", ':'),
    ("sol", '/'),
    ("period", '.'),
    ("equals", '='),
    ("quest", '?'),
    ("lowbar", '_'),
    ("commat", '@'),
    ("num", '#'),
    ("Tab", '\t'),
    ("NewLine", '\n'),
];

/// The text of a raw attribute value.
pub(crate) fn decode(raw: &[u8]) -> String {
    // A reference is never longer than what it stands for times twelve, so the rest cannot matter.
    let raw = &raw[..raw.len().min(LONGEST_VALUE * 12)];
    let text = String::from_utf8_lossy(raw);
    let mut out = String::with_capacity(text.len().min(LONGEST_VALUE));
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match reference(rest) {
            Some((letter, length)) => {
                out.push(letter);
                rest = &rest[length..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    cut(&out, LONGEST_VALUE).to_owned()
}

/// The character that a reference stands for, and how long the reference is behind its `&`.
fn reference(text: &str) -> Option<(char, usize)> {
    if let Some(number) = text.strip_prefix('#') {
        return numeric(number).map(|(letter, length)| (letter, length + 1));
    }
    let (name, letter) = REFERENCES.iter().find(|(name, _)| text.starts_with(name))?;
    let is_closed = text[name.len()..].starts_with(';');
    // Only the oldest names may go without their semicolon.
    let may_be_open = matches!(*name, "amp" | "lt" | "gt" | "quot" | "nbsp");
    let is_longer_word =
        text[name.len()..].starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '=');
    (is_closed || (may_be_open && !is_longer_word)).then_some((*letter, name.len() + usize::from(is_closed)))
}

/// A numeric reference, behind its `#`.
fn numeric(text: &str) -> Option<(char, usize)> {
    let (digits, radix, before) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16, 1),
        None => (text, 10, 0),
    };
    let length = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
    let value = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
    let letter =
        char::from_u32(value).filter(|&letter| letter != '\0').unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((letter, before + length + usize::from(digits[length..].starts_with(';'))))
}

/// The text, or its beginning of at most so many bytes.
pub(crate) fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// `[name="value"]`, as a selector has it.
pub(crate) fn attribute_selector(name: &str, value: &str) -> String {
    let beginning = cut(value, LONGEST_IN_SELECTOR);
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
        assert_eq!(
            said("https&colon;&sol;&#x2f;e&#46;x&#0;&#xffffffffff;"),
            "https://e.x\u{fffd}&#xffffffffff;"
        );
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
            prop_assert!(value.len() <= LONGEST_VALUE);
        }
    }
}
