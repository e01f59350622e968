//! Texts as `libyaml-safer` can scan them: two of its states, which it takes for impossible, are kept from it.
//!
//! It looks one character beyond a backslash, so a text gets a last line break. And it panics where a comma directly
//! follows a tag, as in `[!a, b]`; a blank between the two changes nothing for a reader. Whether what looks like a tag is
//! one is known only to the scanner, so it is asked with a blank at every such comma, and those that were none are left.

use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{Scanner, TokenData};

/// The same text for a reader, and a safe one for the scanner. Lines are the same.
pub(super) fn scannable(text: &str) -> Cow<'_, str> {
    let text = if text.ends_with('\n') { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}\n")) };
    let commas = commas_behind_tags(&text);
    if commas.is_empty() {
        return text;
    }
    let spaced = with_blanks(&text, &commas);
    // What cannot be scanned will be refused with all blanks as well.
    let Some(ends) = tag_ends(&spaced) else { return Cow::Owned(spaced) };
    let mut number = 0;
    let real = |at: &usize| {
        number += 1;
        // Each blank before it has moved it by one.
        ends.contains(&((at + number - 1) as u64))
    };
    let real: Vec<usize> = commas.iter().copied().filter(real).collect();
    Cow::Owned(with_blanks(&text, &real))
}

/// Where a comma ends a run of letters in which a tag may begin.
fn commas_behind_tags(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut tag = false;
    // Between `!<` and `>` a comma belongs to the tag.
    let mut verbatim = false;
    let mut before = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'>' => verbatim = false,
            b' ' | b'\t' | b'\n' | b'\r' => (tag, verbatim) = (false, false),
            _ if verbatim => {}
            b',' => {
                if tag {
                    found.push(at);
                }
                tag = false;
            }
            b'[' | b'{' | b']' | b'}' => tag = false,
            b'!' => tag = true,
            b'<' => verbatim = before == b'!',
            _ => {}
        }
        before = byte;
    }
    found
}

fn with_blanks(text: &str, places: &[usize]) -> String {
    let mut out = String::with_capacity(text.len() + places.len());
    let mut done = 0;
    for place in places {
        out.push_str(&text[done..*place]);
        out.push(' ');
        done = *place;
    }
    out + &text[done..]
}

fn tag_ends(text: &str) -> Option<HashSet<u64>> {
    let scan = || {
        let mut bytes = text.as_bytes();
        let mut scanner = Scanner::new();
        scanner.set_input_string(&mut bytes);
        let mut ends = HashSet::new();
        for token in scanner {
            let token = token.ok()?;
            if matches!(token.data, TokenData::Tag { .. }) {
                ends.insert(token.end_mark.index);
            }
        }
        Some(ends)
    };
    catch_unwind(AssertUnwindSafe(scan)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_get_a_blank() {
        assert_eq!(
            scannable("a: [!x, 'so !y, z', !<t>, {!w, b}]"),
            "a: [!x , 'so !y, z', !<t> , {!w , b}]\n"
        );
        assert_eq!(scannable("a: so !y, z\n"), "a: so !y, z\n");
        assert_eq!(scannable("[!<a,b>, c]\n"), "[!<a,b> , c]\n");
        assert!(matches!(scannable("a: b\n"), Cow::Borrowed(_)));
    }
}
