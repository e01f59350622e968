//! Which words differ within changed lines.
//!
//! A minified page is one line of megabytes. So a long change is first split at tags and
//! statements, which is cheap, and only the pieces that differ are compared by words. Each token is
//! taken from a [`TokenBudget`]; when that is spent, the rest is one edit.

use super::sequence;
use std::ops::Range;

/// Length of both sides of a change from which it is split into pieces.
const LONG_CHANGE_BYTES: usize = 16 << 10;

/// The work that may still be done. One budget is used for all changes between two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBudget {
    tokens: usize,
    work: usize,
}

impl Default for TokenBudget {
    /// Enough for two pages of ten megabytes and some seconds of work.
    fn default() -> Self {
        Self::of(8 << 20)
    }
}

impl TokenBudget {
    /// A budget of a number of tokens.
    pub const fn of(tokens: usize) -> Self {
        Self { tokens, work: 400_000_000 }
    }

    /// The same with a number of steps for expensive comparisons.
    #[cfg(test)]
    pub(super) const fn with_work(self, work: usize) -> Self {
        Self { work, ..self }
    }

    /// Takes tokens from the budget, or says that there are not enough left.
    fn spend(&mut self, tokens: usize) -> bool {
        self.tokens.checked_sub(tokens).map(|rest| self.tokens = rest).is_some()
    }

    /// Takes steps from the budget, or says that there are not enough left.
    pub(super) fn work(&mut self, steps: usize) -> bool {
        self.work.checked_sub(steps).map(|rest| self.work = rest).is_some()
    }
}

/// Bytes of the base that gave way to bytes of the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordEdit {
    /// What went.
    pub base: Range<usize>,
    /// What came.
    pub head: Range<usize>,
}

/// The edits of a change, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordEdits {
    /// The edits. None touches the next.
    pub list: Vec<WordEdit>,
    /// Whether the budget did not suffice, so that some edit is coarser than it could be.
    pub truncated: bool,
}

/// Finds the words that differ between two stretches.
pub(super) fn refine(
    base: &str,
    head: &str,
    from: Range<usize>,
    to: Range<usize>,
    budget: &mut TokenBudget,
) -> WordEdits {
    let mut edits = WordEdits::default();
    if from.len() + to.len() <= LONG_CHANGE_BYTES {
        edits.words(base, head, from, to, budget);
    } else {
        for piece in compare(base, head, &from, &to, pieces, budget, &mut edits.truncated) {
            edits.words(base, head, piece.base, piece.head, budget);
        }
    }
    edits.list = join_near(base, edits.list);
    // Joined with what stands between them, two edits may undo each other.
    edits.list.retain(|edit| base[edit.base.clone()] != head[edit.head.clone()]);
    edits
}

impl WordEdits {
    fn words(
        &mut self,
        base: &str,
        head: &str,
        from: Range<usize>,
        to: Range<usize>,
        budget: &mut TokenBudget,
    ) {
        if from.is_empty() || to.is_empty() {
            self.list.push(WordEdit { base: from, head: to });
        } else {
            self.list.extend(compare(base, head, &from, &to, words, budget, &mut self.truncated));
        }
    }
}

/// Compares two stretches token by token, or calls them replaced when they have more tokens than
/// the budget allows.
fn compare<'a>(
    base: &'a str,
    head: &'a str,
    from: &Range<usize>,
    to: &Range<usize>,
    cut: fn(&'a str) -> Vec<&'a str>,
    budget: &mut TokenBudget,
    truncated: &mut bool,
) -> Vec<WordEdit> {
    // A token has a byte at least: what could not be paid for even then is not cut up to see.
    let most = from.len() + to.len();
    if budget.tokens < most / 64 {
        *truncated = true;
        return vec![WordEdit { base: from.clone(), head: to.clone() }];
    }
    let (before, after) = (cut(&base[from.clone()]), cut(&head[to.clone()]));
    if !budget.spend(before.len() + after.len()) {
        *truncated = true;
        return vec![WordEdit { base: from.clone(), head: to.clone() }];
    }
    let bounds = |tokens: &[&str], start: usize| -> Vec<usize> {
        let ends = tokens.iter().scan(start, |end, token| {
            *end += token.len();
            Some(*end)
        });
        std::iter::once(start).chain(ends).collect()
    };
    let (base_bounds, head_bounds) = (bounds(&before, from.start), bounds(&after, to.start));
    let found = sequence::compare(before.into_iter(), after.into_iter(), budget);
    *truncated |= found.truncated;
    let range = |bounds: &[usize], tokens: Range<usize>| bounds[tokens.start]..bounds[tokens.end];
    found
        .list
        .into_iter()
        .map(|(from, to)| WordEdit { base: range(&base_bounds, from), head: range(&head_bounds, to) })
        .collect()
}

/// Cuts at the places where a line of source would end: before a tag and after one, after a
/// statement.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (place, byte) in text.bytes().enumerate() {
        let end = match byte {
            b'<' => place,
            b'>' | b';' | b'{' | b'}' | b',' | b'\n' => place + 1,
            _ => continue,
        };
        if end > start {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    pieces.extend((start < text.len()).then(|| &text[start..]));
    pieces
}

/// Cuts into words, stretches of white space, and single other characters.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::with_capacity(text.len() / 4);
    let mut start = 0;
    let mut last = None;
    for (place, letter) in text.char_indices() {
        let class = class(letter);
        if place > start && (last != Some(class) || class == CharacterClass::Single) {
            words.push(&text[start..place]);
            start = place;
        }
        last = Some(class);
    }
    words.extend((start < text.len()).then(|| &text[start..]));
    words
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    Word,
    Space,
    Single,
}

/// Scripts that are written without spaces count letter by letter.
fn class(letter: char) -> CharacterClass {
    if letter.is_ascii() {
        return match letter as u8 {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => CharacterClass::Word,
            b' ' | b'\t'..=b'\r' => CharacterClass::Space,
            _ => CharacterClass::Single,
        };
    }
    match letter {
        '\u{2e80}'.. => CharacterClass::Single,
        _ if letter.is_alphanumeric() => CharacterClass::Word,
        _ if letter.is_whitespace() => CharacterClass::Space,
        _ => CharacterClass::Single,
    }
}

/// Joins edits with no more between them than a space or a sign: two words that gave way to two
/// others read better as one edit than as two.
fn join_near(base: &str, edits: Vec<WordEdit>) -> Vec<WordEdit> {
    let mut joined: Vec<WordEdit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match joined.last_mut() {
            Some(last) if is_slight(&base[last.base.end..edit.base.start]) => {
                last.base.end = edit.base.end;
                last.head.end = edit.head.end;
            }
            _ => joined.push(edit),
        }
    }
    joined
}

fn is_slight(between: &str) -> bool {
    between.is_empty() || between == " " || matches!(between, "." | "-" | "/" | ":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edits(base: &str, head: &str, budget: usize) -> WordEdits {
        refine(base, head, 0..base.len(), 0..head.len(), &mut TokenBudget::of(budget))
    }

    fn shown<'a>(base: &'a str, head: &'a str) -> Vec<(&'a str, &'a str)> {
        let list = edits(base, head, 1000).list;
        list.into_iter().map(|edit| (&base[edit.base], &head[edit.head])).collect()
    }

    #[test]
    fn words_that_differ_are_found() {
        assert_eq!(shown("<p>one two</p>", "<p>one 2</p>"), [("two", "2")]);
        assert_eq!(shown("a b c d", "a x y d"), [("b c", "x y")]);
        assert_eq!(shown("日本語", "日本人語"), [("", "人")]);
        assert_eq!(shown("same", "same"), []);
    }

    #[test]
    fn a_spent_budget_is_reported() {
        let coarse = edits("a b c", "a x c", 3);
        assert!(coarse.truncated);
        assert_eq!(coarse.list, [WordEdit { base: 0..5, head: 0..5 }]);
    }

    #[test]
    fn long_lines_are_cut_into_pieces() {
        let base = "<li>item</li>".repeat(3000);
        let head = base.clone() + "<li>new</li>";
        let edits = edits(&base, &head, 20_000);
        assert_eq!(
            edits,
            WordEdits {
                list: vec![WordEdit { base: 39_000..39_000, head: 39_000..39_012 }],
                truncated: false
            }
        );
    }

    proptest! {
        #[test]
        fn text_between_edits_is_equal(base in "[ab .<>é]{0,40}", head in "[ab .<>é]{0,40}", budget in 0..60usize) {
            let (mut at_base, mut at_head, mut made) = (0, 0, String::new());
            for edit in edits(&base, &head, budget).list {
                prop_assert_eq!(&base[at_base..edit.base.start], &head[at_head..edit.head.start]);
                made += &base[at_base..edit.base.start];
                made += &head[edit.head.clone()];
                (at_base, at_head) = (edit.base.end, edit.head.end);
            }
            prop_assert_eq!(made + &base[at_base..], head);
        }

        #[test]
        fn nothing_is_lost_by_cutting(text in ".{0,60}") {
            prop_assert_eq!(words(&text).concat(), text.clone());
            prop_assert_eq!(pieces(&text).concat(), text);
        }
    }
}
