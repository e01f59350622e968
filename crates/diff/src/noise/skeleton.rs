//! The parts of a text that stay while the rest differs in every capture.

use crate::text::{LineOptions, TextDiff, TokenBudget};
use std::ops::Range;

/// Minimum number of letters and digits of a skeleton that identifies a text alone.
const MIN_FIXED_LETTERS: usize = 8;

/// Steps that the comparison of two texts may take.
const COMPARISON_STEPS: usize = 20_000;

/// Maximum length of a gap of a skeleton.
const MAX_GAP_BYTES: usize = 256;

/// The parts of a text that stayed, in order. The first and the last are its ends, and may be
/// empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Skeleton(Vec<String>);

impl Skeleton {
    /// The parts that two texts share. `None` if the texts are the same or too different to be
    /// compared.
    pub(super) fn of(from: &str, to: &str) -> Option<Self> {
        let diff = TextDiff::between(from, to, LineOptions::default());
        let mut budget = TokenBudget::of(COMPARISON_STEPS);
        let mut parts = Vec::new();
        let mut at = 0;
        for change in diff.changes() {
            let edits = diff.edits(change, &mut budget);
            if edits.truncated {
                return None;
            }
            for edit in edits.list {
                parts.push(from[at..edit.base.start].to_owned());
                at = edit.base.end;
            }
        }
        parts.push(from[at..].to_owned());
        (parts.len() > 1).then_some(Self(parts))
    }

    /// Whether the parts identify a text alone.
    pub(super) fn is_distinctive(&self) -> bool {
        let letters = self.0.iter().flat_map(|part| part.chars());
        letters.filter(|letter| letter.is_alphanumeric()).count() >= MIN_FIXED_LETTERS
    }

    /// The gaps of a text that has all the parts in order, and between them only short text without
    /// tags.
    pub(super) fn gaps(&self, text: &str) -> Option<Vec<Range<usize>>> {
        let [first, middle @ .., last] = self.0.as_slice() else { return None };
        text.strip_prefix(first.as_str())?.strip_suffix(last.as_str())?;
        let end = text.len() - last.len();
        let mut gaps = Vec::with_capacity(middle.len() + 1);
        let mut at = first.len();
        for part in middle {
            let place = at + text[at..end].find(part.as_str())?;
            gaps.push(at..place);
            at = place + part.len();
        }
        gaps.push(at..end);
        let is_harmless =
            |gap: &Range<usize>| gap.len() <= MAX_GAP_BYTES && !text[gap.clone()].contains(['<', '>']);
        gaps.iter().all(is_harmless).then_some(gaps)
    }
}

/// A line without its end.
pub(super) fn bare(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}
