//! A diff as people read it: hunks of lines with some context, each line cut into segments that say what differs.
//!
//! Owns which lines are shown and what in them is marked. Does not know colours: a terminal, a page and a plain file each
//! make of the segments what they can.

use super::chunks::MOST_CONTENT;
use super::text_diff::{Change, TextDiff};
use super::words::{Budget, Edit};
use std::borrow::Cow;
use std::ops::Range;

/// Text that differs is shown whole up to so many bytes in one stretch: an edit must not hide in its middle. What is longer
/// is no line for a terminal any more.
const LONGEST_DIFFERING: usize = 64 << 10;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its text, without the end of the line.
    pub text: Cow<'a, str>,
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
    /// The rule by which its change is noise, if it is.
    pub noise: Option<&'static str>,
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
    unified_changes(diff, diff.changes(), view, |_| None)
}

/// The hunks of some of the changes of a diff, as [`TextDiff::changes_without`] gives them. `noise` gives the rule by which
/// a change is noise.
pub fn unified_changes<'d>(
    diff: &'d TextDiff<'_>,
    changes: &[Change],
    view: &View,
    noise: impl Fn(&Change) -> Option<&'static str>,
) -> Vec<Hunk<'d>> {
    let mut writer = Writer { diff, view, noise: &noise, budget: Budget::default(), left: view.most };
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

/// What stands below a line with which the text ends and which has no end of its own, as `diff -u` has it.
pub const UNENDED: &str = "\\ No newline at end of file";

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
            text.extend(line.segments.iter().map(|segment| &*segment.text));
            if let Some(rule) = line.noise {
                text += &format!("  # noise: {rule}");
            }
            text.push('\n');
            if line.unended {
                text += UNENDED;
                text.push('\n');
            }
        }
    }
    text
}

struct Writer<'d, 'a, 'w> {
    diff: &'d TextDiff<'a>,
    view: &'w View,
    noise: &'w dyn Fn(&Change) -> Option<&'static str>,
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
            let mut line = self.line(Style::Context, self.diff.head().text(), range, Some(&[]));
            (line.base, line.head) = (Some(number + 1), Some(head + step + 1));
            lines.push(line);
        }
    }

    fn change(&mut self, lines: &mut Vec<HunkLine<'d>>, change: &Change) {
        let both = self.view.words && !change.base.is_empty() && !change.head.is_empty();
        let edits = both.then(|| self.diff.edits(change, &mut self.budget).list);
        let (base, head) = (self.diff.base(), self.diff.head());
        let side = |of: fn(&Edit) -> Range<usize>| {
            edits.as_ref().map(|edits| edits.iter().map(of).collect::<Vec<_>>())
        };
        let (from, to) = (side(|edit| edit.base.clone()), side(|edit| edit.head.clone()));
        let noise = (self.noise)(change);
        for number in self.affordable(change.base_lines.clone()) {
            let range = base.range(&(number..number + 1));
            let line = self.line(Style::Removed, base.text(), range, from.as_deref());
            lines.push(HunkLine { base: Some(number + 1), noise, ..line });
        }
        for number in self.affordable(change.head_lines.clone()) {
            let range = head.range(&(number..number + 1));
            let line = self.line(Style::Added, head.text(), range, to.as_deref());
            lines.push(HunkLine { head: Some(number + 1), noise, ..line });
        }
    }

    /// One line, cut where the ranges that differ, which are in order, begin and end. Without ranges all of it differs.
    fn line(
        &self,
        style: Style,
        text: &'d str,
        range: Range<usize>,
        marked: Option<&[Range<usize>]>,
    ) -> HunkLine<'d> {
        let whole = &text[range.clone()];
        let bare = whole.strip_suffix('\n').map_or(whole, |bare| bare.strip_suffix('\r').unwrap_or(bare));
        let end = range.start + bare.len();
        let mut segments = Vec::new();
        let all = range.start..end;
        let marked = marked.unwrap_or(std::slice::from_ref(&all));
        let mut at = range.start;
        let first = marked.partition_point(|mark| mark.end <= range.start);
        for mark in marked[first..].iter().take_while(|mark| mark.start < end) {
            let (from, to) = (mark.start.clamp(at, end), mark.end.clamp(at, end));
            self.equal(&mut segments, &text[at..from]);
            self.differing(&mut segments, &text[from..to]);
            at = to;
        }
        self.equal(&mut segments, &text[at..end]);
        // A mark over the whole line says nothing that its style does not say.
        if segments.iter().all(|segment| segment.emphasis || segment.elided) {
            segments.iter_mut().for_each(|segment| segment.emphasis = false);
        }
        HunkLine { style, base: None, head: None, segments, unended: !whole.ends_with('\n'), noise: None }
    }

    /// Text that is in both: its middle tells nothing.
    fn equal(&self, segments: &mut Vec<Segment<'d>>, text: &'d str) {
        let middle = |_| Cow::Borrowed(" … ");
        shorten(segments, text, self.view.longest, false, middle);
    }

    /// Text that is in one alone: it is shown whole, as far as anybody could read it, and what is not is counted.
    fn differing(&self, segments: &mut Vec<Segment<'d>>, text: &'d str) {
        let both = self.diff.base().text().len() + self.diff.head().text().len();
        let has = if both > MOST_CONTENT { "has more of them" } else { "has them" };
        let middle = |bytes| Cow::Owned(format!(" … {bytes} bytes left out; `--json` {has} … "));
        shorten(segments, text, self.view.longest.and(Some(LONGEST_DIFFERING)), true, middle);
    }
}

/// Adds text, its middle left out where it is too long. `middle` says what stands there for so many bytes.
fn shorten<'d>(
    segments: &mut Vec<Segment<'d>>,
    text: &'d str,
    longest: Option<usize>,
    emphasis: bool,
    middle: impl FnOnce(usize) -> Cow<'d, str>,
) {
    let plain = |text| Segment { text: Cow::Borrowed(text), emphasis, elided: false };
    match longest {
        Some(longest) if text.len() > longest => {
            let start = text.floor_char_boundary(longest / 2);
            let end = text.ceil_char_boundary(text.len() - longest / 2);
            segments.push(plain(&text[..start]));
            segments.push(Segment { text: middle(end - start), emphasis: false, elided: true });
            segments.push(plain(&text[end..]));
        }
        _ if text.is_empty() => {}
        _ => segments.push(plain(text)),
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
                .map(|segment| segment.text.clone().into_owned())
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
    fn what_came_or_went_is_never_shortened() {
        let evil = format!(
            "<p>{}<script src=//evil.example/x.js></script>{}</p>",
            "a b ".repeat(200),
            "c d ".repeat(200)
        );
        for (base, head) in [("x\n", format!("x\n{evil}\n")), ("<p>x</p>\n", format!("{evil}\n"))] {
            for words in [true, false] {
                let view = View { words, ..View::default() };
                for text in [text(base, &head, view), text(&head, base, view)] {
                    assert!(text.contains("evil.example/x.js"), "{words}: {text}");
                    assert!(!text.contains('…'), "{words}: {text}");
                }
            }
        }
    }

    #[test]
    fn monstrous_text_is_cut_and_counted() {
        let short = text("", &"é".repeat(100_000), View::default());
        assert!(short.contains(" … 134464 bytes left out; `--json` has them … "), "{}", short.len());
        assert!(short.len() < 66_000);
        let larger = text("", &"x".repeat(MOST_CONTENT + 1), View::default());
        assert!(larger.contains("has more of them"));
    }

    #[test]
    fn noise_is_named_beside_its_lines() {
        let diff = TextDiff::between("a\n1\nb\nc\n", "a\n2\nb\nd\n", Options::default());
        let rule = |change: &Change| (change.base_lines.start == 1).then_some("timestamp");
        insta::assert_snapshot!(plain_text(&unified_changes(&diff, diff.changes(), &View::default(), rule)), @r"
        @@ -1,4 +1,4 @@
         a
        -1  # noise: timestamp
        +2  # noise: timestamp
         b
        -c
        +d
        ");
    }

    #[test]
    fn a_missing_end_of_the_last_line_is_said() {
        insta::assert_snapshot!(text("a\nb", "a\nb\n", View::default()), @r"
        @@ -1,2 +1,2 @@
         a
        -b
        \ No newline at end of file
        +b
        ");
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
