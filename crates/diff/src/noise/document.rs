//! A body as source tokens with byte ranges.
//!
//! The index of a document holds no text, so that it outlives changes to the diff that owns the
//! text. It is filled when a token is first asked for. Most changes show no sign of noise and need
//! no token.

use super::ad_slots::{AdSlot, find_ad_slots};
use super::value::NoiseValue;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use varve_page::kind::BodyKind;
use varve_page::tokenizer::{Grammar, HtmlToken, StartTag, TextModel, Tokenizer};

/// Maximum number of tokens of a document. Content behind them is never noise.
const MAX_SOURCE_TOKENS: usize = 2_000_000;

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodySyntax {
    /// Tags and text, with text elements.
    #[default]
    Html,
    /// Tags and text.
    Xml,
    /// A script, a style sheet or data: no tags, and nothing that a reader sees.
    Program,
    /// Text of an unknown kind.
    Plain,
}

impl From<BodyKind> for BodySyntax {
    fn from(kind: BodyKind) -> Self {
        match kind {
            BodyKind::Html => Self::Html,
            BodyKind::Xml => Self::Xml,
            BodyKind::Json | BodyKind::Css | BodyKind::JavaScript => Self::Program,
            BodyKind::Text | BodyKind::Binary => Self::Plain,
        }
    }
}

/// What a source token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceKind {
    /// Text that readers see.
    Text,
    /// The text of a script or a style.
    Program,
    /// All of a body of unknown kind.
    Plain,
    StartTag,
    EndTag,
    Comment,
    Declaration,
    /// A tag that does not end, or content past the maximum.
    Unread,
}

/// A source token. It ends where the next one starts.
#[derive(Debug, Clone, Copy)]
struct SourceToken {
    start: usize,
    kind: SourceKind,
}

/// The tokens of a document, and the values that were found in them.
#[derive(Default)]
pub(super) struct DocumentIndex {
    syntax: BodySyntax,
    tokens: OnceCell<Vec<SourceToken>>,
    slots: OnceCell<Vec<AdSlot>>,
    pub(super) values: RefCell<HashMap<usize, Rc<[NoiseValue]>>>,
    /// Number of bytes that were searched for values.
    pub(super) searched: Cell<usize>,
}

impl DocumentIndex {
    pub(super) fn new(syntax: BodySyntax) -> Self {
        Self { syntax, ..Self::default() }
    }

    /// The index of a fragment, in which no slots of advertisements are looked for.
    pub(super) fn of_fragment(syntax: BodySyntax) -> Self {
        Self { slots: OnceCell::from(Vec::new()), ..Self::new(syntax) }
    }
}

/// A text with its index.
#[derive(Clone, Copy)]
pub(super) struct SourceDocument<'t> {
    pub(super) text: &'t str,
    pub(super) index: &'t DocumentIndex,
}

/// A unit of comparison: a token, or the slot of an advertisement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SourceUnit {
    /// A token by its number, and the part of it that is compared.
    Token(usize, Range<usize>),
    /// A slot by its number.
    Slot(usize),
}

impl<'t> SourceDocument<'t> {
    fn tokens(&self) -> &'t [SourceToken] {
        self.index.tokens.get_or_init(|| read_tokens(self.text, self.index.syntax))
    }

    /// The number of tokens.
    pub(super) fn token_count(&self) -> usize {
        self.tokens().len()
    }

    /// The number of the token that a byte is in.
    pub(super) fn token_at(&self, offset: usize) -> usize {
        self.tokens().partition_point(|token| token.start <= offset).saturating_sub(1)
    }

    /// The kind of a token. A document without text has none.
    pub(super) fn kind(&self, token: usize) -> SourceKind {
        self.tokens().get(token).map_or(SourceKind::Unread, |token| token.kind)
    }

    /// The byte range of a token.
    pub(super) fn range(&self, token: usize) -> Range<usize> {
        let start = |token: usize| self.tokens().get(token).map_or(self.text.len(), |token| token.start);
        start(token)..start(token + 1)
    }

    /// The text of a token.
    pub(super) fn source(&self, token: usize) -> &'t str {
        &self.text[self.range(token)]
    }

    /// Calls a function with the start tag that a token is.
    pub(super) fn with_start_tag<R>(
        &self,
        token: usize,
        read: impl FnOnce(&StartTag<'_, 't>) -> R,
    ) -> Option<R> {
        if self.kind(token) != SourceKind::StartTag {
            return None;
        }
        match Tokenizer::default().next(self.source(token).as_bytes(), true)? {
            (_, HtmlToken::Start(tag)) => Some(read(&tag)),
            _ => None,
        }
    }

    /// The slots of advertisements, in order and without overlap.
    pub(super) fn slots(&self) -> &'t [AdSlot] {
        self.index.slots.get_or_init(|| match self.index.syntax {
            BodySyntax::Html => find_ad_slots(*self),
            BodySyntax::Xml | BodySyntax::Program | BodySyntax::Plain => Vec::new(),
        })
    }

    /// The units that a range has a part in, in order.
    pub(super) fn units(&self, range: Range<usize>) -> impl Iterator<Item = SourceUnit> {
        let (document, slots) = (*self, self.slots());
        let mut at = range.start;
        let mut slot = slots.partition_point(|slot| slot.range.end <= range.start);
        let mut token = self.token_at(at);
        // An empty range has a part in the slot around it.
        let mut is_first = true;
        std::iter::from_fn(move || {
            let around = slots.get(slot).filter(|slot| slot.range.start <= at);
            let is_inside = |slot: &&AdSlot| at < range.end || (is_first && slot.range.start < at);
            if let Some(found) = around.filter(is_inside) {
                (at, is_first) = (found.range.end, false);
                token = document.token_at(at);
                slot += 1;
                return Some(SourceUnit::Slot(slot - 1));
            }
            if at >= range.end {
                return None;
            }
            let end = document.range(token).end.min(range.end);
            let unit = SourceUnit::Token(token, at..end);
            (at, is_first) = (end, false);
            token += 1;
            Some(unit)
        })
    }
}

fn read_tokens(text: &str, syntax: BodySyntax) -> Vec<SourceToken> {
    let grammar = match syntax {
        BodySyntax::Html => Grammar::Html,
        BodySyntax::Xml => Grammar::Xml,
        BodySyntax::Program => return vec![SourceToken { start: 0, kind: SourceKind::Program }],
        BodySyntax::Plain => return vec![SourceToken { start: 0, kind: SourceKind::Plain }],
    };
    let mut tokenizer = Tokenizer::new(grammar);
    let mut tokens: Vec<SourceToken> = Vec::new();
    let mut element_text = SourceKind::Text;
    let mut start = 0;
    while tokens.len() < MAX_SOURCE_TOKENS
        && let Some((length, token)) = tokenizer.next(&text.as_bytes()[start..], true)
    {
        let kind = match token {
            HtmlToken::Text(_) => SourceKind::Text,
            HtmlToken::ElementText(_) => element_text,
            HtmlToken::End(_) => SourceKind::EndTag,
            HtmlToken::Comment => SourceKind::Comment,
            HtmlToken::Declaration => SourceKind::Declaration,
            HtmlToken::Start(tag) => {
                let is_program = tag
                    .text_element
                    .is_some_and(|element| element.model == TextModel::Script || element.name == "style");
                element_text = if is_program { SourceKind::Program } else { SourceKind::Text };
                SourceKind::StartTag
            }
        };
        let continues = kind == SourceKind::Text
            && matches!(tokens.last(), Some(SourceToken { kind: SourceKind::Text, .. }));
        if !continues {
            tokens.push(SourceToken { start, kind });
        }
        start += length;
    }
    if start < text.len() {
        tokens.push(SourceToken { start, kind: SourceKind::Unread });
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_is_split_into_tokens_by_its_syntax() {
        let kinds = |text: &str, syntax| {
            let index = DocumentIndex::new(syntax);
            let document = SourceDocument { text, index: &index };
            (0..document.token_count())
                .map(|token| (document.kind(token), document.source(token).to_owned()))
                .collect::<Vec<_>>()
        };
        let text = "<p>1 < 2<script a='>'>b</script><!-- c --><style-guide>d<p e";
        let found = kinds(text, BodySyntax::Html);
        let sources: Vec<_> = found.iter().map(|(_, source)| source.as_str()).collect();
        assert_eq!(
            sources,
            ["<p>", "1 < 2", "<script a='>'>", "b", "</script>", "<!-- c -->", "<style-guide>", "d", "<p e"]
        );
        assert_eq!(
            (found[3].0, found[7].0, found[8].0),
            (SourceKind::Program, SourceKind::Text, SourceKind::Unread)
        );
        assert_eq!(kinds(text, BodySyntax::Program), [(SourceKind::Program, text.to_owned())]);
    }

    proptest! {
        #[test]
        fn units_cover_a_range(
            text in "(<|</div>|script>|<div class=ad-slot>|<!--|-->|>|x|é|\n){0,20}", from in 0..80_usize, to in 0..80_usize,
        ) {
            let index = DocumentIndex::new(BodySyntax::Html);
            let document = SourceDocument { text: &text, index: &index };
            let [from, to] = [from, to].map(|at| text.floor_char_boundary(at.min(text.len())));
            let range = from.min(to)..from.max(to);
            let mut at = range.start;
            for unit in document.units(range.clone()) {
                let part = match unit {
                    SourceUnit::Token(_, part) => part,
                    SourceUnit::Slot(slot) => document.slots()[slot].range.clone(),
                };
                prop_assert!(part.start <= at && at <= part.end);
                at = part.end;
            }
            prop_assert!(at >= range.end);
        }
    }
}
