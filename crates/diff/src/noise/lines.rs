//! Which changed lines are noise.
//!
//! Lines are ranges of two [documents](super::document). A change of lines is split where some of
//! its lines are noise and others are edits, so that the edits are shown alone.

use super::document::{BodySyntax, DocumentIndex, SourceDocument};
use super::explain::DocumentPair;
use super::learned_noise::Volatile;
use super::rules::NoiseRule;
use super::swapped_links::{SwappedLinks, swapped_links};
use crate::text::{LineChange, TextDiff, TokenBudget, sequence};
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

/// Maximum number of bytes of changed lines that are split, each multiplied by the
/// [weight](Volatile::weight) of the learned lines.
const MAX_SPLIT_BYTES: usize = 4 << 20;

/// Steps that may be taken to pair the lines of one change.
const PAIRING_STEPS: usize = 100_000;

/// Splits the changes of a diff into noise and edits, and returns for each change the rule that
/// explains it.
pub fn classify_lines(
    diff: &mut TextDiff<'_>,
    syntaxes: [BodySyntax; 2],
    volatile: &Volatile,
) -> Vec<Option<NoiseRule>> {
    let indexes = syntaxes.map(DocumentIndex::new);
    let parsed_slots = Cell::default();
    let partners = {
        let search = LineSearch::new(diff, &indexes, &parsed_slots, volatile);
        let left = Cell::new(MAX_SPLIT_BYTES);
        diff.changes().iter().map(|change| search.partners(change, &left)).collect::<Vec<_>>()
    };
    diff.split_changes(&partners);
    let search = LineSearch::new(diff, &indexes, &parsed_slots, volatile);
    diff.changes().iter().map(|change| search.classify(change)).collect()
}

/// The input of the classification of lines.
struct LineSearch<'s, 'd> {
    diff: &'s TextDiff<'d>,
    documents: [SourceDocument<'s>; 2],
    swapped: SwappedLinks<'s>,
    parsed_slots: &'s Cell<usize>,
    volatile: &'s Volatile,
}

impl<'s, 'd> LineSearch<'s, 'd> {
    fn new(
        diff: &'s TextDiff<'d>,
        indexes: &'s [DocumentIndex; 2],
        parsed_slots: &'s Cell<usize>,
        volatile: &'s Volatile,
    ) -> Self {
        let [base, head] = [diff.base().text(), diff.head().text()];
        let documents = [
            SourceDocument { text: base, index: &indexes[0] },
            SourceDocument { text: head, index: &indexes[1] },
        ];
        let swapped = swapped_links(move || [Cow::Borrowed(base), Cow::Borrowed(head)]);
        Self { diff, documents, swapped, parsed_slots, volatile }
    }

    /// The rule that explains a change.
    fn classify(&self, change: &LineChange) -> Option<NoiseRule> {
        let lines = (change.base_lines.clone(), change.head_lines.clone());
        if lines.0.len() == lines.1.len() && self.volatile.explains_lines(self.diff, self.documents, lines) {
            return Some(NoiseRule::Learned);
        }
        self.explain(&change.base, &change.head)
    }

    fn explain(&self, base: &Range<usize>, head: &Range<usize>) -> Option<NoiseRule> {
        let pair = DocumentPair {
            base: self.documents[0],
            head: self.documents[1],
            swapped: &self.swapped,
            diff: Some(self.diff),
            parsed_slots: self.parsed_slots,
        };
        pair.explain(base.clone(), head.clone())
    }

    /// Pairs of lines of a change that are the same but for noise, in the order of both sides. None
    /// for a change that is noise as a whole. Lines are paired by position if both sides have
    /// equally many, else by what is left of them without noise.
    fn partners(&self, change: &LineChange, left: &Cell<usize>) -> Vec<(usize, usize)> {
        let cost = (change.base.len() + change.head.len()) * self.volatile.weight();
        let is_pair = change.base_lines.len() + change.head_lines.len() <= 2;
        if is_pair || change.base.is_empty() || change.head.is_empty() || cost > left.get() {
            return Vec::new();
        }
        if self.explain(&change.base, &change.head).is_some() {
            return Vec::new();
        }
        left.set(left.get() - cost);
        let opposite = self.partners_by_position(change);
        if opposite.len() == change.base_lines.len() {
            return opposite;
        }
        let masked = self.partners_by_mask(change);
        if masked.len() > opposite.len() { masked } else { opposite }
    }

    fn partners_by_position(&self, change: &LineChange) -> Vec<(usize, usize)> {
        if change.base_lines.len() != change.head_lines.len() {
            return Vec::new();
        }
        let is_noise = |(base, head): &(usize, usize)| {
            let (from, to) = (*base..base + 1, *head..head + 1);
            let ranges = (self.diff.base().range(&from), self.diff.head().range(&to));
            self.volatile.explains_lines(self.diff, self.documents, (from, to))
                || self.explain(&ranges.0, &ranges.1).is_some()
        };
        change.base_lines.clone().zip(change.head_lines.clone()).filter(is_noise).collect()
    }

    fn partners_by_mask(&self, change: &LineChange) -> Vec<(usize, usize)> {
        let Some(before) = self.masks(0, &change.base_lines) else { return Vec::new() };
        let Some(after) = self.masks(1, &change.head_lines) else { return Vec::new() };
        let found = sequence::compare(before.iter(), after.iter(), &mut TokenBudget::of(PAIRING_STEPS));
        let mut partners = Vec::new();
        let (mut from, mut to) = (0, 0);
        let end = (before.len()..before.len(), after.len()..after.len());
        for (gone, come) in found.list.into_iter().chain([end]) {
            let (base, head) = (change.base_lines.start, change.head_lines.start);
            partners.extend((base + from..base + gone.start).zip(head + to..head + come.start));
            (from, to) = (gone.end, come.end);
        }
        partners
    }

    /// What is left of some lines of a side without noise. `None` if no line has noise.
    fn masks(&self, side: usize, lines: &Range<usize>) -> Option<Vec<LineMask>> {
        let all = if side == 0 { self.diff.base() } else { self.diff.head() };
        let mask = |number: usize| {
            let line = all.line(number);
            if let Some(known) = self.volatile.number_of_line(line) {
                return LineMask::Noise(format!("\u{3}{known}"));
            }
            let range = all.range(&(number..number + 1));
            let masked = self.documents[side].masked(range);
            masked.map_or(LineMask::Edit(side, number), LineMask::Noise)
        };
        let masks: Vec<_> = lines.clone().map(mask).collect();
        masks.iter().any(|mask| matches!(mask, LineMask::Noise(_))).then_some(masks)
    }
}

/// What is left of a line without noise. Lines without noise have no partner: side and number keep
/// them apart.
#[derive(PartialEq, Eq, Hash)]
enum LineMask {
    Noise(String),
    Edit(usize, usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineOptions;

    const HTML: [BodySyntax; 2] = [BodySyntax::Html; 2];

    fn rules(base: &str, head: &str) -> Vec<Option<NoiseRule>> {
        let mut diff = TextDiff::between(base, head, LineOptions::default());
        classify_lines(&mut diff, HTML, &Volatile::default())
    }

    /// The new lines of the changes that are edits.
    fn edits(base: &str, head: &str, volatile: &Volatile) -> Vec<String> {
        let mut diff = TextDiff::between(base, head, LineOptions::default());
        let rules = classify_lines(&mut diff, HTML, volatile);
        let shown = diff.changes_without(|change| rules[change].is_some());
        shown.iter().map(|change| diff.added(change).to_owned()).collect()
    }

    #[test]
    fn each_change_is_explained_alone() {
        let base = "<p nonce=\"aaaaaaaa1\">\nx\n<p>one</p>\nx\n<!-- 2024-01-01T00:00:00Z -->\r\n";
        let head = "<p nonce=\"bbbbbbbb2\">\nx\n<p>two</p>\nx\n<!-- 2024-01-02T00:00:00Z -->\n";
        assert_eq!(rules(base, head), [Some(NoiseRule::Nonce), None, Some(NoiseRule::Timestamp)]);
    }

    #[test]
    fn a_page_of_one_line_is_compared_token_by_token() {
        let page = |nonce: &str, text: &str| {
            let filler = "<p>filler</p>".repeat(3000);
            format!("<script nonce=\"{nonce}\"></script>{filler}<b>{text}</b>{filler}")
        };
        assert_eq!(rules(&page("aaaaaaaa1", "x"), &page("bbbbbbbb2", "x")), [Some(NoiseRule::Nonce)]);
        assert_eq!(rules(&page("aaaaaaaa1", "x"), &page("bbbbbbbb2", "y")), [None]);
    }

    #[test]
    fn a_long_script_of_one_line_is_compared_where_it_differs() {
        let page = |token: &str, price: &str| {
            let filler = "a();".repeat(100_000);
            format!("<script>{filler}var csrf_token = \"{token}\";var price = {price};{filler}</script>")
        };
        assert_eq!(rules(&page("a1b2c3d4", "1"), &page("d4c3b2a1", "1")), [Some(NoiseRule::CsrfToken)]);
        assert_eq!(rules(&page("a1b2c3d4", "1"), &page("d4c3b2a1", "2")), [None]);
    }

    #[test]
    fn noise_next_to_edits_is_split_off() {
        let base = "<p nonce=\"aaaaaaaa1\">\n<p>one</p>\n<!-- 2024-01-01T00:00:00Z -->\n";
        let head = "<p nonce=\"bbbbbbbb2\">\n<p>two</p>\n<p>three</p>\n<!-- 2024-01-02T00:00:00Z -->\n";
        assert_eq!(rules(base, head), [Some(NoiseRule::Nonce), None, Some(NoiseRule::Timestamp)]);
        assert_eq!(edits(base, head, &Volatile::default()), ["<p>two</p>\n<p>three</p>\n"]);
    }

    #[test]
    fn advertisements_are_noise_in_lines_but_not_in_scripts() {
        let page = |ad: &str| format!("<p>a</p>\n<ins class=\"adsbygoogle\">{ad}</ins>\n<p>b</p>\n");
        assert_eq!(rules(&page("Buy this"), &page("Buy that")), [Some(NoiseRule::AdSlot)]);
        assert_eq!(rules(&page("x"), &page("<script>evil()</script>")), [None]);
        let script = |ad: &str| format!("<script>`\n{}`</script>", page(ad));
        assert_eq!(rules(&script("${a()}"), &script("${b()}")), [None]);
    }

    #[test]
    fn volatile_lines_are_split_from_edits_next_to_them() {
        let visits = |number: &str| format!("<div class=visits>Visits today: {number}</div>\n");
        let mut volatile = Volatile::default();
        volatile.learn_lines(&TextDiff::between(visits("17"), visits("18"), LineOptions::default()), HTML);
        let base = format!("<p>same</p>\n{}<p>old</p>\n", visits("5"));
        let one = format!("<p>same</p>\n{}<p>new</p>\n", visits("900"));
        assert_eq!(edits(&base, &one, &volatile), ["<p>new</p>\n"]);
        let more = format!("<p>same</p>\n<p>first</p>\n{}<p>new</p>\n", visits("900"));
        assert_eq!(edits(&base, &more, &volatile), ["<p>first</p>\n", "<p>new</p>\n"]);
        let evil = format!("<p>same</p>\n{}<p>new</p>\n", visits("<script>evil()</script>"));
        assert!(edits(&base, &evil, &volatile).concat().contains("evil()"));
    }

    #[test]
    fn new_lines_are_a_change() {
        assert_eq!(rules("a\n", "a\n<!-- 2024-01-01T00:00:00Z -->\n"), [None]);
    }
}
