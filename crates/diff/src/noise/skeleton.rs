//! What stays in a text that differs each time.

use crate::text::{Budget, Options, TextDiff};
use std::ops::Range;

/// Letters and digits that must have stayed for a skeleton to mean anything by itself.
const LEAST_FIXED: usize = 8;

/// The longest gap of a skeleton.
const MOST_GAP: usize = 256;

/// The parts of a text that stayed, in order. The first and the last are its ends, and may be empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Skeleton(Vec<String>);

impl Skeleton {
    /// What two texts share. None where they are the same, or too different to be compared.
    pub(super) fn of(from: &str, to: &str) -> Option<Self> {
        let diff = TextDiff::between(from, to, Options::default());
        let mut budget = Budget::of(20_000);
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

    /// Whether so much stayed that it is known by that alone.
    pub(super) fn is_telling(&self) -> bool {
        let letters = self.0.iter().flat_map(|part| part.chars());
        letters.filter(|letter| letter.is_alphanumeric()).count() >= LEAST_FIXED
    }

    /// Whether a text has all the parts in order, and between them only short text without tags.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.gaps(text).is_some()
    }

    /// Where a text that fits has its gaps.
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
            |gap: &Range<usize>| gap.len() <= MOST_GAP && !text[gap.clone()].contains(['<', '>']);
        gaps.iter().all(is_harmless).then_some(gaps)
    }
}

/// A line without its end.
pub(super) fn bare(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}
