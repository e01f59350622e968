//! Group patterns: which URLs belong together.
//!
//! | in a pattern | stands for |
//! | --- | --- |
//! | `**` | any text without a line end, even none |
//! | `*` | any text without `/`, `?`, `=` and `&`, even none |
//! | `#` | one or more digits |
//! | `@` | itself, or one or more letters, as [`AtSign`] says |
//! | the rest | itself; there is no way to write a literal `*` or `#` |
//!
//! A pattern matches a whole URL, letter for letter; neither is normalised. It is compiled once and
//! then matches without backtracking. All possible matches are followed at the same time, as bits.
//! So the cost for any pattern and URL is at most the product of their lengths divided by 64.

mod flat;
mod machine;
mod suggest;

pub use flat::{SuggestedGroups, suggest_groups_on};
pub use suggest::{SuggestedGroup, suggest_groups, suggest_pattern};

use machine::{Element, Machine, PatternClass};
use std::fmt;

/// The meaning of `@` in a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AtSign {
    /// The character itself, which patterns such as `https://medium.com/@user/**` rely on.
    #[default]
    Literal,
    /// One or more letters, as the documentation of the format specifies.
    Letters,
}

/// A compiled pattern.
#[derive(Clone)]
pub struct GroupPattern {
    text: String,
    /// The number of literal bytes at the beginning.
    literal: usize,
    /// The number of literal bytes at the end.
    ending: usize,
    /// The automaton for the part after the literal beginning.
    machine: Machine,
}

impl GroupPattern {
    /// Compiles a pattern. Any text is valid.
    pub fn new(text: &str, at_sign: AtSign) -> Self {
        let is_wild = |byte: u8| matches!(byte, b'*' | b'#') || byte == b'@' && at_sign == AtSign::Letters;
        let literal = text.bytes().position(is_wild).unwrap_or(text.len());
        let ending = text.bytes().rev().position(is_wild).unwrap_or(0);
        let machine = Machine::new(&elements(&text.as_bytes()[literal..], at_sign));
        Self { text: text.to_owned(), literal, ending, machine }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The literal prefix of every URL of the group: the range to scan in a sorted list. An `@`
    /// ends it in every flavour, so that both readings of a pattern scan the same range.
    pub fn literal_prefix(&self) -> &str {
        &self.text[..self.text.find(['*', '#', '@']).unwrap_or(self.text.len())]
    }

    /// Whether the URL belongs to the group. One line end after it is ignored.
    pub fn matches(&self, url: &str) -> bool {
        self.matches_whole(url.as_bytes())
            || url.strip_suffix('\n').is_some_and(|url| self.matches_whole(url.as_bytes()))
    }

    fn matches_whole(&self, url: &[u8]) -> bool {
        let (beginning, rest) = self.text.as_bytes().split_at(self.literal);
        let ending = &rest[rest.len() - self.ending..];
        url.strip_prefix(beginning).is_some_and(|url| url.ends_with(ending) && self.machine.accepts(url))
    }
}

impl fmt::Display for GroupPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for GroupPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupPattern({:?})", self.text)
    }
}

/// The elements of a pattern, longest signs first: `***` is `**` and `*`.
fn elements(mut pattern: &[u8], at_sign: AtSign) -> Vec<Element> {
    let mut elements: Vec<Element> = Vec::with_capacity(pattern.len());
    while let Some((&byte, rest)) = pattern.split_first() {
        pattern = rest;
        match byte {
            b'*' if rest.first() == Some(&b'*') => {
                pattern = &rest[1..];
                push_any_number(&mut elements, PatternClass::NotLineEnd);
            }
            b'*' => push_any_number(&mut elements, PatternClass::InSegment),
            b'#' => push_some(&mut elements, PatternClass::Digit),
            b'@' if at_sign == AtSign::Letters => push_some(&mut elements, PatternClass::Letter),
            _ => elements.push(Element::One(PatternClass::Byte(byte))),
        }
    }
    elements
}

/// Adds any number of a class; twice any number is once.
fn push_any_number(elements: &mut Vec<Element>, class: PatternClass) {
    if elements.last() != Some(&Element::AnyNumber(class)) {
        elements.push(Element::AnyNumber(class));
    }
}

/// Adds one or more of a class.
fn push_some(elements: &mut Vec<Element>, class: PatternClass) {
    elements.extend([Element::One(class), Element::AnyNumber(class)]);
}

#[cfg(test)]
mod tests;
