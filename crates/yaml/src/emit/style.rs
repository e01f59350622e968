//! In which style a scalar is written: plain if it may, else in single quotes if it may, else in double quotes.

use crate::resolve::{Implicit, resolve};
use crate::value::{Kind, Scalar};

/// The styles that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// Which styles a text allows.
#[derive(Debug)]
pub(super) struct Analysis {
    /// It has line breaks.
    pub(super) multiline: bool,
    plain: bool,
    single: bool,
}

/// Break a line for a reader of YAML 1.1, besides CR.
fn is_break(letter: char) -> bool {
    matches!(letter, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What separates words, and what stands for the end of the text.
fn is_white(letter: char) -> bool {
    matches!(letter, '\0' | ' ' | '\t' | '\r') || is_break(letter)
}

/// Must be escaped.
pub(super) fn is_special(letter: char) -> bool {
    !matches!(letter, '\n' | ' '..='~')
}

impl Analysis {
    /// Looks through a text once.
    pub(super) fn of(text: &str) -> Self {
        let special = text.contains(is_special);
        let multiline = text.contains(is_break);
        let broken_space = has_space_beside_break(text);
        let edge = |letter: Option<char>| letter.is_none_or(|letter| letter == ' ' || is_break(letter));
        let edges = edge(text.chars().next()) || edge(text.chars().next_back());
        Self {
            multiline,
            plain: !special && !multiline && !edges && !has_indicator(text),
            single: !special && !broken_space,
        }
    }
}

fn has_space_beside_break(text: &str) -> bool {
    let mut previous = None;
    text.chars().any(|letter| {
        let found = match previous {
            Some(' ') => is_break(letter),
            Some(before) => is_break(before) && letter == ' ',
            None => false,
        };
        previous = Some(letter);
        found
    })
}

/// Whether some sign would be read as structure in a block.
fn has_indicator(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let mut letters = text.chars().peekable();
    let mut before = None;
    while let Some(letter) = letters.next() {
        let white_after = letters.peek().is_none_or(|next| is_white(*next));
        let found = match (letter, before) {
            ('#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>', None) => true,
            ('\'' | '"' | '%' | '@' | '`', None) => true,
            ('?' | '-', None) | (':', _) => white_after,
            ('#', Some(before)) => is_white(before),
            _ => false,
        };
        if found {
            return true;
        }
        before = Some(letter);
    }
    false
}

impl Style {
    /// The style for a scalar; `key` is one on the line of its value.
    pub(super) fn choose(scalar: &Scalar, analysis: &Analysis, key: bool) -> Self {
        if scalar.kind == Kind::Binary {
            return if key || scalar.text.is_empty() { Self::Double } else { Self::Literal };
        }
        let implicit = match &scalar.kind {
            Kind::Text => resolve(&scalar.text) == Implicit::Text,
            Kind::Tagged(_) => false,
            _ => true,
        };
        if implicit && analysis.plain {
            Self::Plain
        } else if analysis.single && !(key && analysis.multiline) {
            Self::Single
        } else {
            Self::Double
        }
    }
}
