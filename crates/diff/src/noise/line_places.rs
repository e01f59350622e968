//! Lines that are known by the lines around them, because too little of them stays: `<b>17</b>`.
//!
//! Such a line is stored with as many neighbouring lines as are needed to identify it uniquely on
//! the page. The place of a line says nothing about what runs or loads, so the gaps of its skeleton
//! must be in text that readers see.

use super::document::{SourceDocument, SourceKind};
use super::skeleton::{Skeleton, bare};
use crate::text::TextLines;

/// Maximum number of lines above, and of lines below, that are remembered.
const MAX_LINES_AROUND: isize = 8;

/// Maximum number of lines that are read in all. Past it nothing more is learned.
pub(super) const MAX_READ_LINES: usize = 4_000_000;

/// The lines of one capture, and its document.
pub(super) type DocumentLines<'t> = (&'t TextLines<'t>, SourceDocument<'t>);

/// A line by its skeleton and the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinePlace {
    skeleton: Skeleton,
    /// Lines with their number relative to the line.
    around: Vec<(isize, String)>,
}

impl LinePlace {
    /// The place of a line of two captures taken together. `None` if several lines are alike with
    /// all lines around them, or if too many lines were read.
    pub(super) fn find(
        skeleton: Skeleton,
        captures: [DocumentLines<'_>; 2],
        at: [usize; 2],
        left: &mut usize,
    ) -> Option<Self> {
        *left = left.checked_sub(captures.iter().map(|(lines, _)| lines.count()).sum())?;
        if !(0..2).all(|side| varies_in_text(&skeleton, captures[side], at[side])) {
            return None;
        }
        let mut candidates = captures.map(|(lines, _)| -> Vec<usize> {
            (0..lines.count()).filter(|line| skeleton.gaps(bare(lines.line(*line))).is_some()).collect()
        });
        let mut around: Vec<(isize, String)> = Vec::new();
        for steps in (1..=MAX_LINES_AROUND).flat_map(|steps| [-steps, steps]) {
            if candidates.iter().all(|lines| lines.len() == 1) {
                return Some(Self { skeleton, around });
            }
            // Behind a line that differs as well, or the end of the page, nothing more is known in
            // that direction.
            let nearer = steps - steps.signum();
            let is_next = nearer == 0 || around.iter().any(|(known, _)| *known == nearer);
            let [one, other] = [0, 1].map(|side| line_near(captures[side].0, at[side], steps));
            let Some(text) = one.filter(|_| is_next && one == other) else { continue };
            for ((lines, _), candidates) in captures.iter().zip(&mut candidates) {
                candidates.retain(|line| line_near(lines, *line, steps) == Some(text));
            }
            around.push((steps, text.to_owned()));
        }
        None
    }

    /// Whether a line is at this place, and has the skeleton.
    pub(super) fn fits(&self, side: DocumentLines<'_>, line: usize) -> bool {
        self.around.iter().all(|(steps, text)| line_near(side.0, line, *steps) == Some(text))
            && varies_in_text(&self.skeleton, side, line)
    }
}

/// The line that is a number of lines below, or above if that is negative.
fn line_near<'l>(lines: &'l TextLines<'_>, line: usize, steps: isize) -> Option<&'l str> {
    let found = line.checked_add_signed(steps).filter(|line| *line < lines.count())?;
    Some(bare(lines.line(found)))
}

/// Whether a line fits a skeleton, and all of its gaps are in text that readers see.
fn varies_in_text(skeleton: &Skeleton, (lines, document): DocumentLines<'_>, line: usize) -> bool {
    let Some(gaps) = skeleton.gaps(bare(lines.line(line))) else { return false };
    let start = lines.range(&(line..line + 1)).start;
    let is_text = |offset: usize| {
        let token = document.token_at(offset);
        match document.kind(token) {
            SourceKind::Text | SourceKind::Plain => true,
            SourceKind::Program | SourceKind::Unread => false,
            // A gap between two tags is empty on one side, and text on the other.
            _ => document.range(token).start == offset,
        }
    };
    gaps.iter().all(|gap| is_text(start + gap.start))
}

#[cfg(test)]
mod tests {
    use super::super::{BodySyntax, NoiseRule, Volatile, classify_lines};
    use crate::text::{LineOptions, TextDiff};

    /// The rules of the changes between two pages, after learning from a second capture of
    /// the newer one.
    fn rules(base: &str, head: &str, second: &str) -> Vec<Option<NoiseRule>> {
        let mut volatile = Volatile::default();
        volatile.learn_lines(&TextDiff::between(head, second, LineOptions::default()), HTML);
        classify_lines(&mut TextDiff::between(base, head, LineOptions::default()), HTML, &volatile)
    }

    const HTML: [BodySyntax; 2] = [BodySyntax::Html; 2];

    const LEARNED: Option<NoiseRule> = Some(NoiseRule::Learned);

    #[test]
    fn a_short_line_is_known_by_the_lines_around_it() {
        let page = |visits: &str, price: &str| {
            format!(
                "<h2>Visits</h2>\n<td>\n<b>{visits}</b>\n</td>\n<h2>Price</h2>\n<td>\n<b>{price}</b>\n</td>\n"
            )
        };
        let second = page("18", "5");
        assert_eq!(rules(&page("3", "5"), &page("17", "5"), &second), [LEARNED]);
        assert_eq!(
            rules(&page("3", "4"), &page("17", "5"), &second),
            [LEARNED, None],
            "the other one is an edit"
        );
        let alone = |number: &str| format!("<p>x</p>\n{number}\n<p>y</p>\n");
        assert_eq!(rules(&alone("1"), &alone("2"), &alone("3")), [LEARNED]);
        assert_eq!(rules(&alone("1"), &alone("2 <script>evil()</script>"), &alone("3")), [None]);
    }

    #[test]
    fn lines_with_the_same_lines_around_them_are_not_learned() {
        let page = |first: &str, second: &str| {
            let row = |cell: &str| format!("{}<td>\n{cell}\n</td>\n", "<br>\n".repeat(9));
            row("0") + &row(first) + &row(second) + &row("9")
        };
        assert_eq!(rules(&page("1", "5"), &page("2", "5"), &page("3", "5")), [None]);
    }

    #[test]
    fn the_place_of_a_line_explains_nothing_that_runs_or_loads() {
        for around in [
            ["<script>\n", "\n</script>\n"],
            ["<style>\n", "\n</style>\n"],
            ["<a href=", ">\n"],
            ["<img\nsrc=\"/", "\">\n"],
        ] {
            let page = |value: &str| format!("<p>x\n{}{value}{}", around[0], around[1]);
            assert_eq!(rules(&page("a1"), &page("b2"), &page("c3")), [None], "{around:?}");
        }
        // Nor in the older page, where the same line may have been part of a script.
        let text = |value: &str| format!("<p>\n{value}\n</p>\n");
        let script = "<script>\n1\n</p>\n</script>";
        assert!(rules(script, &text("2"), &text("3")).contains(&None));
    }
}
