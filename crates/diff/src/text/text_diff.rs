//! The diff of two texts by lines.

use super::lines::{LineOptions, TextLines};
use super::sequence;
use super::words::{TokenBudget, WordEdits, refine};
use std::borrow::Cow;
use std::ops::Range;

/// Maximum number of lines that are compared. A longer text is reported as replaced. This keeps the
/// tables of the comparison below a gigabyte.
const MAX_COMPARED_LINES: usize = 16 << 20;

/// Lines of the base that were replaced by lines of the head. One of the two may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// The removed lines, numbered from 0.
    pub base_lines: Range<usize>,
    /// The added lines, numbered from 0.
    pub head_lines: Range<usize>,
    /// The removed bytes.
    pub base: Range<usize>,
    /// The added bytes.
    pub head: Range<usize>,
    /// Whether both are equal without white space.
    pub whitespace_only: bool,
}

/// The kind of a run of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRunKind {
    /// Both sides have it.
    Equal,
    /// Only the base has it.
    Removed,
    /// Only the head has it.
    Added,
}

/// A run of lines of one kind. On a side that does not have it, the ranges are empty at its
/// position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRun {
    /// Its kind.
    pub kind: LineRunKind,
    /// Its lines in the base, numbered from 0.
    pub base_lines: Range<usize>,
    /// Its lines in the head, numbered from 0.
    pub head_lines: Range<usize>,
    /// Its bytes in the base.
    pub base: Range<usize>,
    /// Its bytes in the head.
    pub head: Range<usize>,
}

/// The diff of two texts by lines.
#[derive(Debug, Clone)]
pub struct TextDiff<'a> {
    base: TextLines<'a>,
    head: TextLines<'a>,
    changes: Vec<LineChange>,
    truncated: bool,
}

impl<'a> TextDiff<'a> {
    /// Compares two texts.
    pub fn between(
        base: impl Into<Cow<'a, str>>,
        head: impl Into<Cow<'a, str>>,
        options: LineOptions,
    ) -> Self {
        let (base, head) = (TextLines::of(base), TextLines::of(head));
        let found = if base.text() == head.text() {
            sequence::Differences::default()
        } else if base.count().max(head.count()) > MAX_COMPARED_LINES {
            sequence::Differences { list: vec![(0..base.count(), 0..head.count())], truncated: true }
        } else {
            let input = sequence::intern(base.tokens(options), head.tokens(options));
            sequence::compare_interned(&input, &mut TokenBudget::default(), |diff, input| {
                diff.postprocess_lines(input)
            })
        };
        let change = |(from, to)| LineChange::of(&base, &head, from, to);
        let changes = found.list.into_iter().map(change).collect();
        Self { base, head, changes, truncated: found.truncated }
    }

    /// The base.
    pub const fn base(&self) -> &TextLines<'a> {
        &self.base
    }

    /// The head.
    pub const fn head(&self) -> &TextLines<'a> {
        &self.head
    }

    /// The changes, in order. No two changes touch, unless they were
    /// [split](TextDiff::split_changes).
    pub fn changes(&self) -> &[LineChange] {
        &self.changes
    }

    /// Whether nothing changed.
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether the texts were too long or too repetitive to be compared completely.
    pub const fn truncated(&self) -> bool {
        self.truncated
    }

    /// The removed text of a change.
    pub fn removed(&self, change: &LineChange) -> &str {
        &self.base.text()[change.base.clone()]
    }

    /// The added text of a change.
    pub fn added(&self, change: &LineChange) -> &str {
        &self.head.text()[change.head.clone()]
    }

    /// The words that differ in a change, as far as the budget lasts.
    pub fn edits(&self, change: &LineChange, budget: &mut TokenBudget) -> WordEdits {
        refine(self.base.text(), self.head.text(), change.base.clone(), change.head.clone(), budget)
    }

    /// One line of each side as a change.
    pub(super) fn line_pair(&self, base: usize, head: usize) -> LineChange {
        LineChange::of(&self.base, &self.head, base..base + 1, head..head + 1)
    }

    /// Both texts as runs.
    pub fn runs(&self) -> Vec<LineRun> {
        let mut runs = Vec::with_capacity(self.changes.len() * 3 + 1);
        let (mut base, mut head) = (0, 0);
        for change in &self.changes {
            let (from, to) = (&change.base_lines, &change.head_lines);
            self.run(&mut runs, LineRunKind::Equal, base..from.start, head..to.start);
            self.run(&mut runs, LineRunKind::Removed, from.clone(), to.start..to.start);
            self.run(&mut runs, LineRunKind::Added, from.end..from.end, to.clone());
            (base, head) = (from.end, to.end);
        }
        self.run(&mut runs, LineRunKind::Equal, base..self.base.count(), head..self.head.count());
        runs
    }

    /// The changes without those for whose index in [`TextDiff::changes`] `hide` is true. Their
    /// lines then count as equal, so a change with different numbers of lines on both sides stays.
    pub fn changes_without(&self, hide: impl Fn(usize) -> bool) -> Vec<LineChange> {
        let hidden = |(place, change): &(usize, &LineChange)| {
            change.base_lines.len() == change.head_lines.len() && hide(*place)
        };
        self.changes
            .iter()
            .enumerate()
            .filter(|change| !hidden(change))
            .map(|(_, change)| change.clone())
            .collect()
    }

    /// Splits changes so that each pair of partner lines is a change of its own. `partners` has a
    /// list for each change: pairs of a line of the base and a line of the head, in order. Pairs
    /// outside of their change are ignored.
    pub fn split_changes(&mut self, partners: &[Vec<(usize, usize)>]) {
        let mut changes = Vec::with_capacity(self.changes.len());
        for (change, partners) in self.changes.iter().zip(partners) {
            let (mut from, mut to) = (change.base_lines.start, change.head_lines.start);
            for &(base, head) in partners {
                let within = (from..change.base_lines.end).contains(&base)
                    && (to..change.head_lines.end).contains(&head);
                if within {
                    self.part(&mut changes, from..base, to..head);
                    self.part(&mut changes, base..base + 1, head..head + 1);
                    (from, to) = (base + 1, head + 1);
                }
            }
            self.part(&mut changes, from..change.base_lines.end, to..change.head_lines.end);
        }
        self.changes = changes;
    }

    fn part(&self, changes: &mut Vec<LineChange>, base_lines: Range<usize>, head_lines: Range<usize>) {
        if !base_lines.is_empty() || !head_lines.is_empty() {
            changes.push(LineChange::of(&self.base, &self.head, base_lines, head_lines));
        }
    }

    fn run(
        &self,
        runs: &mut Vec<LineRun>,
        kind: LineRunKind,
        base_lines: Range<usize>,
        head_lines: Range<usize>,
    ) {
        if !base_lines.is_empty() || !head_lines.is_empty() {
            let (base, head) = (self.base.range(&base_lines), self.head.range(&head_lines));
            runs.push(LineRun { kind, base_lines, head_lines, base, head });
        }
    }
}

impl LineChange {
    fn of(
        base: &TextLines<'_>,
        head: &TextLines<'_>,
        base_lines: Range<usize>,
        head_lines: Range<usize>,
    ) -> Self {
        let (from, to) = (base.range(&base_lines), head.range(&head_lines));
        let whitespace_only = same_but_for_whitespace(&base.text()[from.clone()], &head.text()[to.clone()]);
        Self { base_lines, head_lines, base: from, head: to, whitespace_only }
    }
}

fn same_but_for_whitespace(base: &str, head: &str) -> bool {
    let visible = |letter: &char| !letter.is_whitespace();
    base.chars().filter(visible).eq(head.chars().filter(visible))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The head, made from the base and the diff.
    fn apply(diff: &TextDiff<'_>) -> String {
        let side = |run: LineRun| match run.kind {
            LineRunKind::Equal => &diff.base().text()[run.base],
            LineRunKind::Added => &diff.head().text()[run.head],
            LineRunKind::Removed => "",
        };
        diff.runs().into_iter().map(side).collect()
    }

    fn exact() -> LineOptions {
        LineOptions { line_endings: true, ..LineOptions::default() }
    }

    fn text() -> impl Strategy<Value = String> {
        let line =
            prop_oneof![Just("a\n"), Just("b\n"), Just("a\r\n"), Just("\n"), Just(" a\n"), Just("é x\n")];
        (proptest::collection::vec(line, 0..12), "[ab]{0,2}").prop_map(|(lines, end)| lines.concat() + &end)
    }

    proptest! {
        #[test]
        fn base_and_diff_give_the_head(base in text(), head in text()) {
            prop_assert_eq!(apply(&TextDiff::between(&base, &head, exact())), head.clone());
            let loose = apply(&TextDiff::between(&base, &head, LineOptions::default()));
            prop_assert_eq!(loose.replace("\r\n", "\n"), head.replace("\r\n", "\n"));
        }

        #[test]
        fn a_text_does_not_differ_from_itself(text in text()) {
            prop_assert!(TextDiff::between(&text, &text, exact()).is_empty());
            let crlf = text.replace("\r\n", "\n").replace('\n', "\r\n");
            prop_assert!(TextDiff::between(&text, &crlf, LineOptions::default()).is_empty());
        }

        #[test]
        fn runs_cover_both_texts_without_gaps(base in text(), head in text()) {
            let diff = TextDiff::between(&base, &head, LineOptions::default());
            let (mut at_base, mut at_head) = (0, 0);
            for run in diff.runs() {
                prop_assert_eq!((run.base.start, run.head.start), (at_base, at_head));
                (at_base, at_head) = (run.base.end, run.head.end);
            }
            prop_assert_eq!((at_base, at_head), (base.len(), head.len()));
        }
    }

    #[test]
    fn white_space_edits_are_flagged() {
        let diff = TextDiff::between("a\n  b\nc\n", "a\n\tb \nd\n", LineOptions::default());
        assert_eq!(diff.changes().len(), 1);
        assert!(!diff.changes()[0].whitespace_only);
        let diff = TextDiff::between("a\n  b\nc\n", "a\n\tb \nc\n", LineOptions::default());
        assert!(diff.changes()[0].whitespace_only);
        assert_eq!(diff.changes()[0].base_lines, 1..2);
    }

    #[test]
    fn changes_can_be_split_at_partners() {
        let mut diff = TextDiff::between("a\nb\nc\n", "x\ny\nz\nw\n", LineOptions::default());
        diff.split_changes(&[vec![(1, 2), (0, 3), (2, 3), (9, 9)]]);
        let lines: Vec<_> = diff
            .changes()
            .iter()
            .map(|change| (change.base_lines.clone(), change.head_lines.clone()))
            .collect();
        assert_eq!(lines, [(0..1, 0..2), (1..2, 2..3), (2..3, 3..4)]);
        assert_eq!(apply(&diff), "x\ny\nz\nw\n");
    }

    #[test]
    fn only_lines_with_partners_can_be_hidden() {
        let diff = TextDiff::between("a\nb\nc\n", "x\nb\n", LineOptions::default());
        assert_eq!(diff.changes().len(), 2);
        let shown = diff.changes_without(|_| true);
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].base_lines, 2..3);
    }
}
