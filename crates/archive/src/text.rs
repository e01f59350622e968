//! Text for people: foreign text with its control characters escaped, and readable numbers.
//!
//! It decides what is safe to show, and not where or in which colour it is shown.

use std::borrow::Cow;

/// `text` from outside, safe to show: control characters, and characters that reverse the writing
/// direction or have no width, are escaped.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_misleading)
}

/// Like [`visible`], for lines of a text: tabs are kept, because they indent lines.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter != '\t' && is_misleading(letter))
}

fn escaped(text: &str, needs_escape: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&needs_escape) {
        return Cow::Borrowed(text);
    }
    let escape = |letter: char| match needs_escape(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Whether a character is displayed as something else. Joiners (U+200C, U+200D) are not: many
/// scripts need them.
fn is_misleading(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misleading_characters_are_escaped() {
        assert_eq!(visible("a\u{1b}[1mb"), "a\\u{1b}[1mb");
        assert_eq!(visible("user\u{202e}txt.exe"), "user\\u{202e}txt.exe");
        assert_eq!(visible("pay\u{200b}pal"), "pay\\u{200b}pal");
        assert_eq!(visible("नमस्‍ते שלום"), "नमस्‍ते שלום");
        assert_eq!((visible("a\tb"), visible_line("a\tb\n")), ("a\\tb".into(), "a\tb\\n".into()));
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (15_553_454, "15,553,454")] {
            assert_eq!(grouped(number), text);
        }
    }
}
