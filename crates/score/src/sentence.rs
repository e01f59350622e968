//! Text from a page in sentences: short, and without control characters that a terminal would obey.

/// Maximum length of a name from a page in a sentence.
const MAX_NAME_BYTES: usize = 120;

/// Maximum length of the description of a change.
const MAX_CHANGE_BYTES: usize = 500;

/// A name from a page, short and printable.
pub(crate) fn printable(name: &str) -> String {
    without_controls(crate::text::cut(name, MAX_NAME_BYTES))
}

fn without_controls(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// A sentence with its `{count}` and `{what}`. The inserted text is not searched again.
pub(crate) fn fill_sentence(sentence: &str, count: usize, what: &str) -> String {
    let parts = sentence.split("{what}").map(|part| part.replace("{count}", &count.to_string()));
    parts.collect::<Vec<_>>().join(what)
}

/// The sentence of a change.
pub(crate) fn fill_change(sentence: &str, what: &str) -> String {
    fill_sentence(sentence, 1, &without_controls(crate::text::cut(what, MAX_CHANGE_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_text_is_not_searched_again() {
        assert_eq!(fill_sentence("{count} of {what}, {x", 2, "{count}{what}"), "2 of {count}{what}, {x");
        assert_eq!(fill_change("new: {what}", "a\u{1b}b"), "new: a\u{fffd}b");
    }
}
