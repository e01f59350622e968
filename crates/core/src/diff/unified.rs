//! A diff as people read it: hunks of lines with some context, each line cut into segments that say what differs.
//!
//! Owns which lines are shown and what in them is marked. Does not know colours: a terminal, a page and a plain file each
//! make of the segments what they can.

use super::text::{Change, TextDiff};
use super::words::{Budget, Edit};
use std::ops::Range;

/// How much of a diff is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Equal lines shown before and after a change.
    pub context: usize,
    /// Whether words that differ are looked for within changed lines.
    pub words: bool,
    /// Equal text longer than this within a line is shortened in its middle. None keeps every line whole.
    pub longest: Option<usize>,
    /// No more lines than this are shown, of all hunks together: nobody reads more, and each costs memory.
    pub most: usize,
}

impl Default for View {
    /// Three lines of context, words marked, lines of minified pages shortened.
    fn default() -> Self {
        Self { context: 3, words: true, longest: Some(400), most: 50_000 }
    }
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// In both.
    Context,
    /// Only in the base.
    Removed,
    /// Only in the head.
    Added,
}

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its text, without the end of the line.
    pub text: &'a str,
    /// Whether it is what differs within the line.
    pub emphasis: bool,
    /// Whether text was left out here; `text` then stands for it.
    pub elided: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine<'a> {
    /// What it is.
    pub style: Style,
    /// Its number in the base, from 1.
    pub base: Option<usize>,
    /// Its number in the head, from 1.
    pub head: Option<usize>,
    /// Its text. Nothing when the line is empty.
    pub segments: Vec<Segment<'a>>,
    /// Whether the text ends here without the end of a line.
    pub unended: bool,
}

/// Changes that are near each other, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Lines of the base, numbered from 0.
    pub base: Range<usize>,
    /// Lines of the head, numbered from 0.
    pub head: Range<usize>,
    /// Its lines, in order.
    pub lines: Vec<HunkLine<'a>>,
    /// Whether there are more lines, here or in later hunks, than are shown.
    pub cut: bool,
}

impl Hunk<'_> {
    /// The line that opens the hunk in a unified diff.
    pub fn title(&self) -> String {
        let side = |lines: &Range<usize>| match lines.len() {
            0 => format!("{},0", lines.start),
            1 => format!("{}", lines.start + 1),
            count => format!("{},{count}", lines.start + 1),
        };
        format!("@@ -{} +{} @@", side(&self.base), side(&self.head))
    }
}

/// The hunks of a diff.
pub fn unified<'d>(diff: &'d TextDiff<'_>, view: &View) -> Vec<Hunk<'d>> {
    unified_changes(diff, diff.changes(), view)
}

/// The hunks of some of the changes of a diff, as [`TextDiff::changes_without`] gives them.
pub fn unified_changes<'d>(diff: &'d TextDiff<'_>, changes: &[Change], view: &View) -> Vec<Hunk<'d>> {
    let mut writer = Writer { diff, view, budget: Budget::default(), left: view.most };
    let mut hunks: Vec<Hunk<'d>> = Vec::new();
    let mut rest = changes;
    while !rest.is_empty() {
        if let Some(last) = hunks.last_mut().filter(|_| writer.left == 0) {
            last.cut = true;
            break;
        }
        let near = 1 + rest
            .windows(2)
            .take_while(|pair| pair[1].base_lines.start - pair[0].base_lines.end <= view.context * 2)
            .count();
        let (together, others) = rest.split_at(near);
        hunks.push(writer.hunk(together));
        rest = others;
    }
    hunks
}

/// Hunks as text without colour, as `diff -u` writes them.
pub fn plain_text(hunks: &[Hunk<'_>]) -> String {
    let mut text = String::new();
    for hunk in hunks {
        text += &hunk.title();
        text.push('\n');
        for line in &hunk.lines {
            text.push(match line.style {
                Style::Context => ' ',
                Style::Removed => '-',
                Style::Added => '+',
            });
            text.extend(line.segments.iter().map(|segment| segment.text));
            text += if line.unended { "\n\\ No newline at end of file\n" } else { "\n" };
        }
    }
    text
}

struct Writer<'d, 'a, 'w> {
    diff: &'d TextDiff<'a>,
    view: &'w View,
    budget: Budget,
    /// So many lines may still be shown.
    left: usize,
}

impl<'d> Writer<'d, '_, '_> {
    fn hunk(&mut self, changes: &[Change]) -> Hunk<'d> {
        let (first, last) = (&changes[0], &changes[changes.len() - 1]);
        let before = self.view.context.min(first.base_lines.start).min(first.head_lines.start);
        let (left_base, left_head) =
            (self.diff.base().count() - last.base_lines.end, self.diff.head().count() - last.head_lines.end);
        let after = self.view.context.min(left_base).min(left_head);
        let base = first.base_lines.start - before..last.base_lines.end + after;
        let head = first.head_lines.start - before..last.head_lines.end + after;
        let mut lines = Vec::new();
        let (mut at_base, mut at_head) = (base.start, head.start);
        for change in changes {
            self.context(&mut lines, at_base..change.base_lines.start, at_head);
            self.change(&mut lines, change);
            (at_base, at_head) = (change.base_lines.end, change.head_lines.end);
        }
        self.context(&mut lines, at_base..base.end, at_head);
        let changed = |change: &Change| change.base_lines.len() + change.head_lines.len();
        let removed: usize = changes.iter().map(|change| change.base_lines.len()).sum();
        let whole = changes.iter().map(changed).sum::<usize>() + base.len() - removed;
        let cut = lines.len() < whole;
        Hunk { base, head, lines, cut }
    }

    /// The first of these lines, as many as may still be shown.
    fn affordable(&mut self, lines: Range<usize>) -> Range<usize> {
        let shown = lines.len().min(self.left);
        self.left -= shown;
        lines.start..lines.start + shown
    }

    /// Equal lines, shown as the head has them.
    fn context(&mut self, lines: &mut Vec<HunkLine<'d>>, base: Range<usize>, head: usize) {
        for (step, number) in self.affordable(base).enumerate() {
            let range = self.diff.head().range(&(head + step..head + step + 1));
            let mut line = self.line(Style::Context, self.diff.head().text(), range, &[]);
            (line.base, line.head) = (Some(number + 1), Some(head + step + 1));
            lines.push(line);
        }
    }

    fn change(&mut self, lines: &mut Vec<HunkLine<'d>>, change: &Change) {
        let both = self.view.words && !change.base.is_empty() && !change.head.is_empty();
        let edits = if both { self.diff.edits(change, &mut self.budget).list } else { Vec::new() };
        let (base, head) = (self.diff.base(), self.diff.head());
        let from: Vec<_> = edits.iter().map(|Edit { base, .. }| base.clone()).collect();
        let to: Vec<_> = edits.into_iter().map(|Edit { head, .. }| head).collect();
        for number in self.affordable(change.base_lines.clone()) {
            let mut line = self.line(Style::Removed, base.text(), base.range(&(number..number + 1)), &from);
            line.base = Some(number + 1);
            lines.push(line);
        }
        for number in self.affordable(change.head_lines.clone()) {
            let mut line = self.line(Style::Added, head.text(), head.range(&(number..number + 1)), &to);
            line.head = Some(number + 1);
            lines.push(line);
        }
    }

    /// One line, cut where the marked ranges, which are in order, begin and end.
    fn line(
        &self,
        style: Style,
        text: &'d str,
        range: Range<usize>,
        marked: &[Range<usize>],
    ) -> HunkLine<'d> {
        let whole = &text[range.clone()];
        let bare = whole.strip_suffix('\n').map_or(whole, |bare| bare.strip_suffix('\r').unwrap_or(bare));
        let end = range.start + bare.len();
        let mut segments = Vec::new();
        let mut at = range.start;
        let first = marked.partition_point(|mark| mark.end <= range.start);
        for mark in marked[first..].iter().take_while(|mark| mark.start < end) {
            let (from, to) = (mark.start.clamp(at, end), mark.end.clamp(at, end));
            self.segment(&mut segments, &text[at..from], false);
            self.segment(&mut segments, &text[from..to], true);
            at = to;
        }
        self.segment(&mut segments, &text[at..end], false);
        // A mark over the whole line says nothing that its style does not say.
        if let [only] = segments.as_mut_slice() {
            only.emphasis = false;
        }
        HunkLine { style, base: None, head: None, segments, unended: !whole.ends_with('\n') }
    }

    fn segment(&self, segments: &mut Vec<Segment<'d>>, text: &'d str, emphasis: bool) {
        let plain = |text| Segment { text, emphasis, elided: false };
        match self.view.longest {
            Some(longest) if text.len() > longest => {
                let start = text.floor_char_boundary(longest / 2);
                let end = text.ceil_char_boundary(text.len() - longest / 2);
                segments.push(plain(&text[..start]));
                segments.push(Segment { text: " … ", emphasis: false, elided: true });
                segments.push(plain(&text[end..]));
            }
            _ if text.is_empty() => {}
            _ => segments.push(plain(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Options;
    use super::*;

    fn text(base: &str, head: &str, view: View) -> String {
        plain_text(&unified(&TextDiff::between(base, head, Options::default()), &view))
    }

    #[test]
    fn text_is_that_of_diff_u() {
        let base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let head = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13";
        insta::assert_snapshot!(text(base, head, View { context: 2, ..View::default() }), @r"
        @@ -3,5 +3,5 @@
         3
         4
        -5
        +five
         6
         7
        @@ -11,2 +11,3 @@
         11
         12
        +13
        \ No newline at end of file
        ");
    }

    #[test]
    fn words_are_marked() {
        let diff = TextDiff::between("<p>one two</p>\r\n", "<p>one 2</p>\n", Options::default());
        let hunks = unified(&diff, &View::default());
        let marked = |line: &HunkLine<'_>| -> Vec<_> {
            line.segments
                .iter()
                .filter(|segment| segment.emphasis)
                .map(|segment| segment.text.to_owned())
                .collect()
        };
        assert_eq!(hunks[0].lines.iter().map(marked).collect::<Vec<_>>(), [["two"], ["2"]]);
    }

    #[test]
    fn long_equal_text_is_shortened() {
        let line = "<b>é</b>".repeat(500);
        let (base, head) = (format!("{line}x{line}"), format!("{line}y{line}"));
        let short = text(&base, &head, View::default());
        assert!(short.len() < 2000 && short.contains(" … "), "{short}");
        let whole = text(&base, &head, View { longest: None, ..View::default() });
        assert!(whole.contains(&base));
    }

    #[test]
    fn no_more_lines_are_shown_than_anyone_reads() {
        let shown = |base: &str, head: &str, most| {
            let diff = TextDiff::between(base, head, Options::default());
            let hunks = unified(&diff, &View { context: 1, most, ..View::default() });
            let lines: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
            (hunks.len(), lines, hunks.last().is_some_and(|hunk| hunk.cut))
        };
        let (base, head) = ("a\n1\n2\n3\n4\nb\n5\n", "A\n1\n2\n3\n4\nB\n5\n");
        assert_eq!(shown(base, head, 7), (2, 7, false));
        assert_eq!(shown(base, head, 6), (2, 6, true));
        assert_eq!(shown(base, head, 3), (1, 3, true));
        assert_eq!(shown("", &"x\n".repeat(100), 10), (1, 10, true));
    }

    #[test]
    fn a_new_text_opens_at_nought() {
        assert!(text("", "a\n", View::default()).starts_with("@@ -0,0 +1 @@\n"));
    }
}
