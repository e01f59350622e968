//! Feeds the tokens of a page to [`PageLinks`], decoded by the encoding that the page turns out to
//! have.

use super::page::PageLinks;
use super::tag::{LinkTag, TagDecoding};
use crate::links::source::charset;
use crate::tokenizer::{HtmlToken, Namespace, StartTag, Tokenizer};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Reads a page.
pub(super) struct LinkScanner {
    tokenizer: Tokenizer,
    encoding: &'static Encoding,
    /// Whether a `meta` element of the page may still name the encoding.
    is_guess: bool,
}

impl LinkScanner {
    /// A scanner at the beginning of a page in that encoding. If it is a guess, the page may change
    /// it.
    pub(super) fn new(encoding: &'static Encoding, is_guess: bool) -> Self {
        Self { tokenizer: Tokenizer::default(), encoding, is_guess }
    }

    /// Reads the bytes at this offset of the page as far as they are whole tokens, and returns how
    /// far that is.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        offset: u64,
        is_last: bool,
        page: &mut PageLinks<'_, '_>,
    ) -> usize {
        let mut at = 0;
        while !page.emitter.is_full() {
            let Some((length, token)) = self.tokenizer.next(&bytes[at..], is_last) else { break };
            let offset = offset + at as u64;
            match token {
                HtmlToken::Text(text) => page.text(text, offset),
                HtmlToken::ElementText(text) => page.element_text(text, offset),
                HtmlToken::End(name) => page.end_tag(name, self.encoding),
                HtmlToken::Start(tag) => {
                    let decoding = TagDecoding {
                        encoding: self.encoding,
                        is_guess: self.is_guess,
                        max_value_bytes: page.emitter.limits.inline,
                        offset,
                    };
                    let decoded = LinkTag::of(&tag, decoding);
                    page.start_tag(&decoded, tag.namespace == Namespace::Svg, self.encoding);
                    let encoding = encoding_named_by(&tag, &decoded).filter(|_| self.is_guess);
                    if let Some(encoding) = encoding {
                        self.take_encoding(encoding);
                    }
                }
                HtmlToken::Comment | HtmlToken::Declaration => {}
            }
            at += length;
        }
        at
    }

    /// The encoding that the page turned out to have.
    pub(super) fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Drops the token that was begun and is too long to be kept in memory.
    pub(super) fn skip_unfinished(&mut self) {
        self.tokenizer.skip_unfinished();
    }

    /// Takes the encoding that a page names. A page whose `meta` could be read is not in UTF-16.
    fn take_encoding(&mut self, encoding: &'static Encoding) {
        self.is_guess = false;
        self.encoding = match encoding {
            wide if wide == UTF_16LE || wide == UTF_16BE => UTF_8,
            other if other.is_ascii_compatible() => other,
            _ => self.encoding,
        };
    }
}

/// The encoding that a `meta` element names.
fn encoding_named_by(tag: &StartTag<'_, '_>, decoded: &LinkTag<'_>) -> Option<&'static Encoding> {
    if !tag.is("meta") || tag.namespace != Namespace::Html {
        return None;
    }
    let by_content = || {
        let is_type = decoded.text("http-equiv").trim().eq_ignore_ascii_case("content-type");
        charset(decoded.text("content")).filter(|_| is_type)
    };
    Encoding::for_label(decoded.text("charset").trim().as_bytes()).or_else(by_content)
}
