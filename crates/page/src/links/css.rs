//! Style sheets: `url()`, `@import` and `image-set()`, wherever they are nested.
//!
//! Only tokens are read. Media queries are ignored, because an archive needs the resources for all
//! screens. Blocks nested deeper than the limit of the parser are read flat, which finds the same
//! URLs.

use super::emit::{LinkEmitter, RawLink};
use super::link::{LinkPlace, LinkRole};
use cssparser::{ParseError, Parser, Token};
use std::ops::Range;

/// The context that decides what a string means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CssContext {
    Block,
    /// After `@import`, until its URL.
    Import,
    /// After `@namespace`, whose URL is a name.
    Namespace,
    /// In a function whose strings are URLs.
    Images,
}

/// Emits all links of a style sheet, each with the place that `place` returns. `offset` is the
/// offset of the text in the body.
pub(super) fn links<'a>(
    text: &str,
    offset: Option<u64>,
    place: impl Fn(bool) -> LinkPlace<'a>,
    emitter: &mut LinkEmitter<'_>,
) {
    each(text, &mut |address| {
        let offset = offset.map(|offset| offset + address.range.start as u64);
        emitter.emit(RawLink::new(address.url, place(address.import), LinkRole::Embed).at(offset));
    });
}

/// An address in a style sheet.
pub(crate) struct CssAddress<'a> {
    /// The address, with escapes resolved.
    pub(crate) url: &'a str,
    /// Whether it is in an `@import`.
    pub(crate) import: bool,
    /// The range of the string with its quotes, or of the whole `url(…)`.
    pub(crate) range: Range<usize>,
    /// Whether it is a string.
    pub(crate) quoted: bool,
}

/// Receives the addresses of a style sheet in order.
type Each<'e> = dyn FnMut(CssAddress<'_>) + 'e;

/// Passes all addresses of a style sheet to a function, in order.
pub(crate) fn each(text: &str, each: &mut Each<'_>) {
    read(&mut Parser::new(text), CssContext::Block, each);
}

/// Reads to the end of a block.
fn read(parser: &mut Parser<'_>, outer: CssContext, emit: &mut Each<'_>) {
    let mut inside = outer;
    loop {
        parser.skip_whitespace();
        let at = parser.position().byte_index();
        let Ok(token) = parser.next_including_whitespace().cloned() else { return };
        let range = at..parser.position().byte_index();
        match token {
            Token::UnquotedUrl(url) => {
                if inside != CssContext::Namespace {
                    emit(CssAddress {
                        url: &url,
                        import: inside == CssContext::Import,
                        range,
                        quoted: false,
                    });
                }
                inside = outer;
            }
            Token::QuotedString(url) if inside == CssContext::Import => {
                emit(CssAddress { url: &url, import: true, range, quoted: true });
                inside = outer;
            }
            Token::QuotedString(url) if inside == CssContext::Images => {
                emit(CssAddress { url: &url, import: false, range, quoted: true });
            }
            Token::AtKeyword(name) => inside = at_rule(&name),
            Token::Function(name) => {
                let urls = if is_url(&name) { address_function(inside) } else { function(&name) };
                nested(parser, urls, emit);
                if inside == CssContext::Import {
                    inside = outer;
                }
            }
            Token::CurlyBracketBlock | Token::ParenthesisBlock | Token::SquareBracketBlock => {
                nested(parser, CssContext::Block, emit);
                inside = outer;
            }
            Token::Semicolon => inside = outer,
            _ => {}
        }
    }
}

fn nested(parser: &mut Parser<'_>, inside: CssContext, emit: &mut Each<'_>) {
    // The only error is excessive depth. The caller then reads the content as if there were no
    // block.
    let _: Result<(), ParseError<()>> = parser.parse_nested_block(|parser| {
        read(parser, inside, emit);
        Ok(())
    });
}

fn at_rule(name: &str) -> CssContext {
    match name {
        _ if name.eq_ignore_ascii_case("import") => CssContext::Import,
        _ if name.eq_ignore_ascii_case("namespace") => CssContext::Namespace,
        _ => CssContext::Block,
    }
}

/// The context of strings in `url("…")`.
fn address_function(outside: CssContext) -> CssContext {
    match outside {
        CssContext::Import => CssContext::Import,
        CssContext::Namespace => CssContext::Block,
        _ => CssContext::Images,
    }
}

fn function(name: &str) -> CssContext {
    let is_set = name.eq_ignore_ascii_case("image-set") || name.eq_ignore_ascii_case("-webkit-image-set");
    if is_set { CssContext::Images } else { CssContext::Block }
}

fn is_url(name: &str) -> bool {
    ["url", "src", "image"].iter().any(|function| name.eq_ignore_ascii_case(function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::link::{LinkLimits, PageLink};
    use proptest::prelude::*;
    use varve_core::url::Base;

    fn found(text: &str) -> Vec<(String, bool, u64)> {
        let mut found = Vec::new();
        let mut sink = |link: PageLink<'_>| {
            let LinkPlace::Style { import } = link.place else { panic!("{link:?}") };
            found.push((link.reference.into_owned(), import, link.offset.unwrap()));
        };
        let mut emitter =
            LinkEmitter::new(Base::parse("http://h/").unwrap(), LinkLimits::default(), &mut sink);
        links(text, Some(0), |import| LinkPlace::Style { import }, &mut emitter);
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
