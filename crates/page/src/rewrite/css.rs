//! Rewrites the links of style sheets. Only the addresses change; comments, hacks and mistakes stay as
//! they are.

use super::{LinkRewriter, ReplacedText};
use crate::links::css;
use std::borrow::Cow;

/// The style sheet with other links.
pub fn css<'t>(text: &'t str, links: &LinkRewriter) -> Cow<'t, str> {
    let mut pieces = ReplacedText::new(text);
    css::each(text, &mut |address| {
        let Some(link) = links.leads(address.url) else { return };
        let link = quoted(&link);
        match address.quoted {
            true => pieces.replace(address.range, &link),
            false => pieces.replace(address.range, &format!("url({link})")),
        }
    });
    pieces.finish()
}

/// A string of CSS.
fn quoted(text: &str) -> String {
    let mut string = String::with_capacity(text.len() + 2);
    string.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                string.push('\\');
                string.push(letter);
            }
            // A style sheet may be in an element, whose end tag must not appear in it.
            '<' => string.push_str("\\3c "),
            _ if letter.is_control() => string.push_str(&format!("\\{:x} ", u32::from(letter))),
            _ => string.push(letter),
        }
    }
    string.push('"');
    string
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rewritten(text: &str) -> String {
        let to = |url: &str| format!("/W/{url}");
        css(text, &LinkRewriter::new("http://h/d/s.css", to).unwrap()).into_owned()
    }

    #[test]
    fn addresses_change_and_nothing_else() {
        for (from, to) in [
            ("a{b:url(c)}", "a{b:url(\"/W/http://h/d/c\")}"),
            ("a{b:url( 'c' )}", "a{b:url( \"/W/http://h/d/c\" )}"),
            ("@import \"c\" print;/* url(x) */", "@import \"/W/http://h/d/c\" print;/* url(x) */"),
            ("@import url(//g/c);", "@import url(\"/W/http://g/c\");"),
            (
                "a{b:image-set('c' 1x, url(d) 2x)}",
                "a{b:image-set(\"/W/http://h/d/c\" 1x, url(\"/W/http://h/d/d\") 2x)}",
            ),
            ("a{b:url(data:x)}", "a{b:url(data:x)}"),
            ("a{b:url(#c)}", "a{b:url(#c)}"),
            ("@namespace url(http://n/);", "@namespace url(http://n/);"),
            ("a{b:url(c\\\"\\).d)}", "a{b:url(\"/W/http://h/d/c%22).d\")}"),
            ("a{b:url(c", "a{b:url(\"/W/http://h/d/c\")"),
            ("a{*zoom:1;content:'url(c)'}", "a{*zoom:1;content:'url(c)'}"),
        ] {
            assert_eq!(rewritten(from), to, "{from}");
        }
    }

    proptest! {
        #[test]
        fn no_sheet_breaks_it(text in "[@a-cimport{}()\\[\\];:'\"\\\\/* url\né]{0,60}") {
            rewritten(&text);
        }

        #[test]
        fn without_addresses_nothing_changes(text in "[@a-c{}:;é/* ]{0,60}") {
            prop_assert_eq!(rewritten(&text), text);
        }
    }
}
