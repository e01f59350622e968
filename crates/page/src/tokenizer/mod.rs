//! The HTML tokenizer: tags, text, comments and their byte offsets.
//!
//! Links, noise detection and scoring all need to know where the tags of a page are, and a page is
//! read for each capture. So there is one tokenizer, it allocates nothing per token, and it builds
//! no tree. `dom` uses html5ever where a tree is needed, and `rewrite` uses lol_html where a page
//! is rewritten.
//!
//! A caller passes the bytes from the current position on; [`Tokenizer::next`] returns one token
//! and its length. With `is_last` unset the bytes may be a prefix of the rest, and `None` asks for
//! more of them. Every byte sequence is accepted, each byte belongs to one token, and time is
//! linear in the length as long as the caller doubles what it passes after `None`.
//!
//! The rules are those of the HTML standard, section 13.2.5, with scripting on. The tokenizer
//! tracks three things that the standard takes from the tree: whether a text element
//! (`text_element`) is open, whether SVG or MathML is open (`foreign`), and whether a `plaintext`
//! was seen. Content that only a tree can classify, such as a `textarea` in a `select`, is read as
//! if it stood in `body`.

mod character_reference;
mod foreign;
mod tag;
mod text_element;

pub use character_reference::decode_references;
pub use foreign::Namespace;
pub use tag::{AttributeSpan, MAX_TAG_ATTRIBUTES, StartTag};
pub use text_element::{TextElement, TextModel};

use foreign::ForeignContent;
use tag::{EndTag, read_end_tag};
use text_element::{OpenTextElement, TextEnd};

/// One token of a page.
#[derive(Debug)]
pub enum HtmlToken<'t, 'b> {
    /// Text between tags, character references as written. Long text may come in several tokens.
    Text(&'b [u8]),
    /// Text of a text element or behind `plaintext`, in one or several tokens.
    ElementText(&'b [u8]),
    /// A start tag.
    Start(StartTag<'t, 'b>),
    /// An end tag, by its name as written.
    End(&'b [u8]),
    /// A comment from `<!--` to `-->`, in one or several tokens.
    Comment,
    /// A doctype, a processing instruction, or what browsers treat as such a comment.
    Declaration,
}

/// The grammar of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// HTML.
    Html,
    /// XML: there are no text elements, and `CDATA` sections may stand anywhere.
    Xml,
}

/// What the tokenizer is inside of.
#[derive(Debug, Clone, Copy)]
enum TokenizerState {
    Data,
    Comment,
    Declaration,
    CharacterData,
    Text(OpenTextElement),
    Plaintext,
}

/// Splits a page into tokens.
#[derive(Debug)]
pub struct Tokenizer {
    grammar: Grammar,
    state: TokenizerState,
    foreign: ForeignContent,
    /// The attributes of the last start tag. The buffer is reused for each tag.
    attributes: Vec<AttributeSpan>,
}

/// The bytes from the current position on.
#[derive(Clone, Copy)]
struct TokenizerInput<'b> {
    bytes: &'b [u8],
    is_last: bool,
}

const COMMENT_START: &[u8] = b"<!--";
const CHARACTER_DATA_START: &[u8] = b"<![CDATA[";

impl Default for Tokenizer {
    fn default() -> Self {
        Self::new(Grammar::Html)
    }
}

impl Tokenizer {
    /// A tokenizer at the start of a body.
    pub fn new(grammar: Grammar) -> Self {
        let (state, foreign) = (TokenizerState::Data, ForeignContent::default());
        Self { grammar, state, foreign, attributes: Vec::new() }
    }

    /// The next token and its length in bytes. `None` if the bytes end before the token does, or
    /// are empty; with `is_last` the remaining bytes then are an unfinished tag, which browsers
    /// drop.
    pub fn next<'t, 'b>(&'t mut self, bytes: &'b [u8], is_last: bool) -> Option<(usize, HtmlToken<'t, 'b>)> {
        if bytes.is_empty() {
            return None;
        }
        let input = TokenizerInput { bytes, is_last };
        if let TokenizerState::Text(_) = self.state {
            let length = self.read_element_text(bytes, is_last);
            if length > 0 {
                return Some((length, HtmlToken::ElementText(&bytes[..length])));
            }
        }
        match self.state {
            TokenizerState::Data => match memchr::memchr(b'<', bytes) {
                Some(0) => self.read_markup(input),
                found => {
                    let length = found.unwrap_or(bytes.len());
                    Some((length, HtmlToken::Text(&bytes[..length])))
                }
            },
            TokenizerState::Text(_) => None,
            TokenizerState::Comment => self.read_until(input, 0, comment_end, HtmlToken::Comment),
            TokenizerState::Declaration => self.read_until(input, 0, declaration_end, HtmlToken::Declaration),
            TokenizerState::CharacterData => self.read_character_data(input),
            TokenizerState::Plaintext => Some((bytes.len(), HtmlToken::ElementText(bytes))),
        }
    }

    /// The length of the element text that the bytes begin with: 0 unless a text element is open,
    /// or if more bytes are needed.
    pub fn read_element_text(&mut self, bytes: &[u8], is_last: bool) -> usize {
        let TokenizerState::Text(element) = &mut self.state else { return 0 };
        match element.find_end(bytes, is_last) {
            TextEnd::At(length) => {
                self.state = TokenizerState::Data;
                length
            }
            TextEnd::NotBefore(length) => length,
        }
    }

    /// Drops the unfinished token, for a caller that skips the bytes it is in.
    pub fn skip_unfinished(&mut self) {
        self.state = TokenizerState::Data;
    }

    /// Reads what begins with `<`.
    fn read_markup<'t, 'b>(&'t mut self, input: TokenizerInput<'b>) -> Option<(usize, HtmlToken<'t, 'b>)> {
        let byte = |at: usize| input.bytes.get(at).copied();
        match (byte(1), byte(2)) {
            (Some(letter), _) if letter.is_ascii_alphabetic() => self.read_start_tag(input.bytes),
            (Some(b'/'), Some(letter)) if letter.is_ascii_alphabetic() => {
                let EndTag { name, length } = read_end_tag(input.bytes)?;
                self.foreign.close(name);
                Some((length, HtmlToken::End(name)))
            }
            (Some(b'/'), Some(b'>')) => Some((3, HtmlToken::Declaration)),
            (None, _) | (Some(b'/'), None) if !input.is_last => None,
            (Some(b'!'), _) => self.read_declaration(input),
            (Some(b'/'), Some(_)) | (Some(b'?'), _) => {
                self.state = TokenizerState::Declaration;
                self.read_until(input, 2, declaration_end, HtmlToken::Declaration)
            }
            _ => Some((1, HtmlToken::Text(&input.bytes[..1]))),
        }
    }

    fn read_declaration<'t, 'b>(
        &'t mut self,
        input: TokenizerInput<'b>,
    ) -> Option<(usize, HtmlToken<'t, 'b>)> {
        let bytes = input.bytes;
        if bytes.len() < CHARACTER_DATA_START.len() && !input.is_last {
            return None;
        }
        if let Some(text) = bytes.strip_prefix(COMMENT_START) {
            // `<!-->` and `<!--->` are whole comments.
            let whole = [&b">"[..], b"->"].into_iter().find(|end| text.starts_with(end));
            if let Some(end) = whole {
                return Some((COMMENT_START.len() + end.len(), HtmlToken::Comment));
            }
            self.state = TokenizerState::Comment;
            return self.read_until(input, COMMENT_START.len(), comment_end, HtmlToken::Comment);
        }
        let has_character_data = self.grammar == Grammar::Xml || !self.foreign.is_html();
        if bytes.starts_with(CHARACTER_DATA_START) && has_character_data {
            self.state = TokenizerState::CharacterData;
            return Some((CHARACTER_DATA_START.len(), HtmlToken::Declaration));
        }
        self.state = TokenizerState::Declaration;
        self.read_until(input, 2, declaration_end, HtmlToken::Declaration)
    }

    /// Reads to the end that `find_end` finds behind `from`, or as far as the end cannot have
    /// begun.
    fn read_until<'t, 'b>(
        &'t mut self,
        input: TokenizerInput<'b>,
        from: usize,
        find_end: fn(&[u8]) -> Result<usize, usize>,
        token: HtmlToken<'t, 'b>,
    ) -> Option<(usize, HtmlToken<'t, 'b>)> {
        let length = match find_end(&input.bytes[from..]) {
            Ok(end) => {
                self.state = TokenizerState::Data;
                from + end
            }
            Err(_) if input.is_last => input.bytes.len(),
            Err(kept) => input.bytes.len().saturating_sub(kept).max(from),
        };
        (length > 0).then_some((length, token))
    }

    /// The text of a `CDATA` section, or its end mark.
    fn read_character_data<'t, 'b>(
        &'t mut self,
        input: TokenizerInput<'b>,
    ) -> Option<(usize, HtmlToken<'t, 'b>)> {
        const END: &[u8] = b"]]>";
        let bytes = input.bytes;
        match memchr::memmem::find(bytes, END) {
            Some(0) => {
                self.state = TokenizerState::Data;
                Some((END.len(), HtmlToken::Declaration))
            }
            Some(length) => Some((length, HtmlToken::Text(&bytes[..length]))),
            None => {
                let kept = if input.is_last { 0 } else { END.len() - 1 };
                let length = bytes.len().saturating_sub(kept);
                (length > 0).then(|| (length, HtmlToken::Text(&bytes[..length])))
            }
        }
    }

    fn read_start_tag<'t, 'b>(&'t mut self, bytes: &'b [u8]) -> Option<(usize, HtmlToken<'t, 'b>)> {
        let mut tag = StartTag::read(bytes, &mut self.attributes)?;
        if self.grammar == Grammar::Html {
            tag.namespace = self.foreign.open(&tag);
            tag.text_element = TextElement::named(tag.name).filter(|_| tag.namespace == Namespace::Html);
            self.state = match tag.text_element {
                Some(element) if element.model == TextModel::Plaintext => TokenizerState::Plaintext,
                Some(element) => TokenizerState::Text(OpenTextElement::of(element)),
                None => TokenizerState::Data,
            };
        }
        Some((tag.source.len(), HtmlToken::Start(tag)))
    }
}

/// Where a comment ends, or the number of bytes at the end that may be part of its end mark.
fn comment_end(bytes: &[u8]) -> Result<usize, usize> {
    let usual = memchr::memmem::find(bytes, b"-->").map(|at| at + 3);
    let before = &bytes[..usual.unwrap_or(bytes.len())];
    let unusual = memchr::memmem::find(before, b"--!>").map(|at| at + 4);
    unusual.or(usual).ok_or(3)
}

fn declaration_end(bytes: &[u8]) -> Result<usize, usize> {
    memchr::memchr(b'>', bytes).map_or(Err(0), |at| Ok(at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The tokens of a page with their source, read from pieces that are doubled when needed.
    fn tokens(html: &str, piece: usize) -> Vec<(String, String)> {
        let (bytes, mut tokenizer) = (html.as_bytes(), Tokenizer::default());
        let (mut at, mut wanted, mut found) = (0, piece, Vec::<(String, String)>::new());
        while at < bytes.len() {
            let end = bytes.len().min(at + wanted);
            let Some((length, token)) = tokenizer.next(&bytes[at..end], end == bytes.len()) else {
                if end == bytes.len() {
                    break;
                }
                wanted *= 2;
                continue;
            };
            let kind = match token {
                HtmlToken::Text(_) => "text",
                HtmlToken::ElementText(_) => "element text",
                HtmlToken::Start(_) => "start",
                HtmlToken::End(_) => "end",
                HtmlToken::Comment => "comment",
                HtmlToken::Declaration => "declaration",
            };
            let source = String::from_utf8_lossy(&bytes[at..at + length]).into_owned();
            match found.last_mut() {
                Some((last, text)) if last == kind && kind.contains("text") => text.push_str(&source),
                _ => found.push((kind.to_owned(), source)),
            }
            at += length;
            wanted = piece;
        }
        found
    }

    #[test]
    fn pages_are_split_as_browsers_split_them() {
        for (html, sources) in [
            ("a<b>c</b>", &["a", "<b>", "c", "</b>"][..]),
            ("<p title='>'>x", &["<p title='>'>", "x"]),
            ("<!-- <i> --><b>", &["<!-- <i> -->", "<b>"]),
            ("<!--><b><!---><i>", &["<!-->", "<b>", "<!--->", "<i>"]),
            ("<!-- --!><b>", &["<!-- --!>", "<b>"]),
            ("<!doctype html><?x?></ <i>>", &["<!doctype html>", "<?x?>", "</ <i>", ">"]),
            ("<style-guide><b></style-guide>", &["<style-guide>", "<b>", "</style-guide>"]),
            ("<script>'<i>'</scripts></SCRIPT ><b>", &["<script>", "'<i>'</scripts>", "</SCRIPT >", "<b>"]),
            ("<svg><![CDATA[<i>]]><b>", &["<svg>", "<![CDATA[", "<i>", "]]>", "<b>"]),
            ("<svg><style><i></svg><style><i>", &["<svg>", "<style>", "<i>", "</svg>", "<style>", "<i>"]),
            ("<plaintext><b>", &["<plaintext>", "<b>"]),
            ("1 < 2 <b", &["1 < 2 "]),
        ] {
            let found: Vec<_> = tokens(html, 1 << 20).into_iter().map(|(_, source)| source).collect();
            assert_eq!(found, sources, "{html}");
        }
    }

    #[test]
    fn xml_has_no_text_elements() {
        let mut tokenizer = Tokenizer::new(Grammar::Xml);
        let (length, _) = tokenizer.next(b"<title><i>", true).unwrap();
        assert_eq!(length, 7);
        assert!(matches!(tokenizer.next(b"<i>", true), Some((3, HtmlToken::Start(_)))));
    }

    #[test]
    fn long_hostile_input_takes_linear_time() {
        for piece in ["<", "<p ", "<p a=\"", "</p", "<!--", "<script>", "<a><!-- -->", "<p>", "</", "<svg>"] {
            let page = piece.repeat((4 << 20) / piece.len());
            assert!(tokens(&page, page.len()).len() <= page.len());
        }
    }

    proptest! {
        #[test]
        fn pieces_give_the_same_tokens_as_the_whole(
            html in "(<(b|/b|script|/script|svg|/svg|title)|<|>|/|=|'|\"| |x|<!--|-->|<!\\[CDATA\\[|\\]\\]>|\\t){0,24}",
            piece in 1..40_usize,
        ) {
            let join = |tokens: Vec<(String, String)>| {
                let mut joined: Vec<(String, String)> = Vec::new();
                for (kind, source) in tokens {
                    match joined.last_mut() {
                        Some((last, text)) if *last == kind && kind != "start" => text.push_str(&source),
                        _ => joined.push((kind, source)),
                    }
                }
                joined
            };
            prop_assert_eq!(join(tokens(&html, piece)), join(tokens(&html, html.len().max(1))));
        }
    }
}
