//! Style sheets: `url()`, `@import` and `image-set()`, wherever they are nested.
//!
//! Tokens only. What a rule means, and whether its media query holds, is not looked at: an archive wants what any
//! screen may ask for. Blocks nested deeper than the parser's own limit are read flat, which finds the same URLs.

use super::emit::{Emitter, Found};
use super::link::{Place, Role};
use cssparser::{ParseError, Parser, Token};
use std::ops::Range;

/// What is being read, and so what a string means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Block,
    /// After `@import`, until its URL.
    Import,
    /// After `@namespace`, whose URL is a name.
    Namespace,
    /// In a function whose strings are URLs.
    Images,
}

/// Hands over all links of a style sheet, each at the place that `place` names for it. `offset` is where the text
/// begins in the body.
pub(super) fn links<'a>(
    text: &str,
    offset: Option<u64>,
    place: impl Fn(bool) -> Place<'a>,
    emitter: &mut Emitter<'_>,
) {
    each(text, &mut |address| {
        let offset = offset.map(|offset| offset + address.range.start as u64);
        emitter.emit(Found::new(address.url, place(address.import), Role::Embed).at(offset));
    });
}

/// An address in a style sheet.
pub(crate) struct Address<'a> {
    /// What it says, with escapes undone.
    pub(crate) url: &'a str,
    /// Whether `@import` asks for it.
    pub(crate) import: bool,
    /// Where it stands: a string with its quotes, or `url(…)` whole.
    pub(crate) range: Range<usize>,
    /// Whether it is a string.
    pub(crate) quoted: bool,
}

/// Takes the addresses of a style sheet, one after the other.
type Each<'e> = dyn FnMut(Address<'_>) + 'e;

/// Hands over all addresses of a style sheet, in order.
pub(crate) fn each(text: &str, each: &mut Each<'_>) {
    read(&mut Parser::new(text), Inside::Block, each);
}

/// Reads to the end of a block.
fn read(parser: &mut Parser<'_>, outer: Inside, emit: &mut Each<'_>) {
    let mut inside = outer;
    loop {
        parser.skip_whitespace();
        let at = parser.position().byte_index();
        let Ok(token) = parser.next_including_whitespace().cloned() else { return };
        let range = at..parser.position().byte_index();
        match token {
            Token::UnquotedUrl(url) => {
                if inside != Inside::Namespace {
                    emit(Address { url: &url, import: inside == Inside::Import, range, quoted: false });
                }
                inside = outer;
            }
            Token::QuotedString(url) if inside == Inside::Import => {
                emit(Address { url: &url, import: true, range, quoted: true });
                inside = outer;
            }
            Token::QuotedString(url) if inside == Inside::Images => {
                emit(Address { url: &url, import: false, range, quoted: true });
            }
            Token::AtKeyword(name) => inside = at_rule(&name),
            Token::Function(name) => {
                let urls = if is_url(&name) { address_function(inside) } else { function(&name) };
                nested(parser, urls, emit);
                if inside == Inside::Import {
                    inside = outer;
                }
            }
            Token::CurlyBracketBlock | Token::ParenthesisBlock | Token::SquareBracketBlock => {
                nested(parser, Inside::Block, emit);
                inside = outer;
            }
            Token::Semicolon => inside = outer,
            _ => {}
        }
    }
}

fn nested(parser: &mut Parser<'_>, inside: Inside, emit: &mut Each<'_>) {
    // Too deep is the only error; what is there is then read by the caller, as if the block were not.
    let _: Result<(), ParseError<()>> = parser.parse_nested_block(|parser| {
        read(parser, inside, emit);
        Ok(())
    });
}

fn at_rule(name: &str) -> Inside {
    match name {
        _ if name.eq_ignore_ascii_case("import") => Inside::Import,
        _ if name.eq_ignore_ascii_case("namespace") => Inside::Namespace,
        _ => Inside::Block,
    }
}

/// What strings mean in `url("…")`.
fn address_function(outside: Inside) -> Inside {
    match outside {
        Inside::Import => Inside::Import,
        Inside::Namespace => Inside::Block,
        _ => Inside::Images,
    }
}

fn function(name: &str) -> Inside {
    let is_set = name.eq_ignore_ascii_case("image-set") || name.eq_ignore_ascii_case("-webkit-image-set");
    if is_set { Inside::Images } else { Inside::Block }
}

fn is_url(name: &str) -> bool {
    ["url", "src", "image"].iter().any(|function| name.eq_ignore_ascii_case(function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::link::{Limits, Link};
    use proptest::prelude::*;
    use varve_core::url::Base;

    fn found(text: &str) -> Vec<(String, bool, u64)> {
        let mut found = Vec::new();
        let mut sink = |link: Link<'_>| {
            let Place::Style { import } = link.place else { panic!("{link:?}") };
            found.push((link.reference.into_owned(), import, link.offset.unwrap()));
        };
        let mut emitter = Emitter::new(Base::parse("http://h/").unwrap(), Limits::default(), &mut sink);
        links(text, Some(0), |import| Place::Style { import }, &mut emitter);
        found
    }

    fn urls(text: &str) -> Vec<String> {
        found(text).into_iter().map(|(url, ..)| url).collect()
    }

    #[test]
    fn urls_are_found_wherever_they_stand() {
        let sheet = "@charset \"x\"; @import 'i'; @import url(j) print; @import url(\"k\");
            @namespace svg url(http://n/); @namespace \"http://m/\";
            a { b: url( c ) ; content: \"no\"; d: url('e f') }
            @media x { @supports (y) { g { h: image-set('l' 1x, url(m) 2x) } } }
            @font-face { src: local('Arial'), url(n\\.woff) format('woff2') }";
        assert_eq!(urls(sheet), ["i", "j", "k", "c", "e f", "l", "m", "n.woff"]);
        let imports: Vec<_> = found(sheet).into_iter().map(|(_, import, _)| import).collect();
        assert_eq!(imports, [true, true, true, false, false, false, false, false]);
    }

    #[test]
    fn positions_are_those_of_the_text() {
        let sheet = "a{b:url(c)} @import 'd';";
        assert_eq!(found(sheet), [("c".to_owned(), false, 4), ("d".to_owned(), true, 20)]);
    }

    #[test]
    fn broken_and_deep_sheets_end() {
        assert_eq!(urls("a{b:url(c"), ["c"]);
        assert_eq!(urls("}}} a{b:url(c)}"), ["c"]);
        assert_eq!(urls(&format!("{}b:url(c)", "a{".repeat(200_000))), ["c"]);
        assert_eq!(urls(&format!("{}b:url(c)", "a(".repeat(200_000))), ["c"]);
    }

    proptest! {
        #[test]
        fn no_sheet_breaks_it(text in "[@a-cimport{}()\\[\\];:'\"\\\\/* url\n]{0,60}") {
            found(&text);
        }
    }
}
