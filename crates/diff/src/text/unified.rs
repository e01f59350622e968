//! A unified diff: hunks of lines with context, each line split into segments that are marked where
//! it differs.
//!
//! Owns the selection of lines and the marks in them. Does not know colours: terminals, pages and
//! plain files render the segments.
//!
//! Each side is shown with its own bytes. Noise that is left out counts as equal, so its lines may
//! be in the context of other changes. Such a line has the text of both sides and the name of the
//! rule.

use super::chunks::MAX_CONTENT_BYTES;
use super::text_diff::{LineChange, TextDiff};
use super::words::{TokenBudget, WordEdit};
use std::borrow::Cow;
use std::ops::Range;

/// Maximum length of changed text that is shown whole. An edit must not be hidden in the middle of
/// a shortened one.
const MAX_DIFFERING_BYTES: usize = 64 << 10;

/// Options of a unified diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffView {
    /// Number of equal lines before and after a change.
    pub context: usize,
    /// Whether changed words are marked in changed lines.
    pub words: bool,
    /// Maximum length of equal text in a line. Longer text is shortened in its middle. `None` keeps
    /// every line whole.
    pub longest: Option<usize>,
    /// Maximum number of lines of all hunks together.
    pub most: usize,
}

impl Default for DiffView {
    /// Three lines of context, words marked, lines of minified pages shortened.
    fn default() -> Self {
        Self { context: 3, words: true, longest: Some(400), most: 50_000 }
    }
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffStyle {
    /// In both.
    Context,
    /// Only in the base.
    Removed,
    /// Only in the head.
    Added,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineSegment<'a> {
    /// Its text, without the end of the line.
    pub text: Cow<'a, str>,
    /// Whether it differs.
    pub emphasis: bool,
    /// Whether it stands for text that was left out.
    pub elided: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine<'a> {
    /// What it is.
    pub style: DiffStyle,
    /// Its number in the base, from 1.
    pub base: Option<usize>,
    /// Its number in the head, from 1.
    pub head: Option<usize>,
    /// Its text. Nothing when the line is empty.
    pub segments: Vec<LineSegment<'a>>,
    /// Whether the text ends here without a line ending.
    pub unended: bool,
    /// The line of the base, if this is context and the sides differ: by noise, or by white space
    /// that is ignored. Then `segments` are those of the head.
    pub base_line: Option<BaseLine<'a>>,
    /// The rule that explains its change as noise.
    pub noise: Option<&'static str>,
}

/// The line of the base where it differs from the line of the head, and counts as equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseLine<'a> {
    /// Its text.
    pub segments: Vec<LineSegment<'a>>,
    /// Whether the text ends here without a line ending.
    pub unended: bool,
}

/// A line as one side has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSide<'l> {
    /// Its number, from 1.
    pub number: usize,
    /// Its text.
    pub segments: &'l [LineSegment<'l>],
    /// Whether the text ends here without a line ending.
    pub unended: bool,
}

/// A line of a hunk as `diff -u` writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrintedLine<'l> {
    /// The first character.
    pub sign: char,
    /// What it is. A line that differs by noise alone is context with the sign of its side.
    pub style: DiffStyle,
    /// Its text.
    pub segments: &'l [LineSegment<'l>],
    /// Whether the text ends here without a line ending.
    pub unended: bool,
    /// The rule that explains its change as noise.
    pub noise: Option<&'static str>,
}

impl HunkLine<'_> {
    /// The line as the base has it.
    pub fn base_side(&self) -> Option<LineSide<'_>> {
        let number = self.base?;
        Some(match &self.base_line {
            Some(BaseLine { segments, unended }) => LineSide { number, segments, unended: *unended },
            None => LineSide { number, segments: &self.segments, unended: self.unended },
        })
    }

    /// The line as the head has it.
    pub fn head_side(&self) -> Option<LineSide<'_>> {
        Some(LineSide { number: self.head?, segments: &self.segments, unended: self.unended })
    }

    /// The line in a unified diff. Context that differs by noise is two lines, one for each side.
    pub fn printed(&self) -> impl Iterator<Item = PrintedLine<'_>> {
        let (style, noise) = (self.style, self.noise);
        let older = self.base_line.as_ref().filter(|_| noise.is_some());
        let sign = match style {
            DiffStyle::Removed => '-',
            DiffStyle::Added => '+',
            DiffStyle::Context => {
                if older.is_some() {
                    '+'
                } else {
                    ' '
                }
            }
        };
        let older = older.map(|BaseLine { segments, unended }| PrintedLine {
            sign: '-',
            style,
            segments,
            unended: *unended,
            noise,
        });
        let own = PrintedLine { sign, style, segments: &self.segments, unended: self.unended, noise };
        older.into_iter().chain(std::iter::once(own))
    }
}

/// The lines of a hunk in rows of two columns, the base and the head: removed lines are beside the
/// added lines that follow them.
pub fn side_by_side<'l, 'a>(lines: &'l [HunkLine<'a>]) -> Vec<[Option<&'l HunkLine<'a>>; 2]> {
    let mut rows = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(line) = rest.first() {
        if line.style == DiffStyle::Context {
            rows.push([Some(line); 2]);
            rest = &rest[1..];
            continue;
        }
        let run = |lines: &[HunkLine<'_>], style| lines.iter().take_while(|line| line.style == style).count();
        let (removed, others) = rest.split_at(run(rest, DiffStyle::Removed));
        let (added, others) = others.split_at(run(others, DiffStyle::Added));
        rows.extend((0..removed.len().max(added.len())).map(|row| [removed.get(row), added.get(row)]));
        rest = others;
    }
    rows
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
    /// Whether lines of this or later hunks were left out.
    pub cut: bool,
}

impl Hunk<'_> {
    /// The header line of the hunk.
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
pub fn unified<'d>(diff: &'d TextDiff<'_>, view: &DiffView) -> Vec<Hunk<'d>> {
    unified_changes(diff, diff.changes(), view, |_| None)
}

/// The hunks of some changes of a diff, as [`TextDiff::changes_without`] returns them. `noise`
/// returns the rule that explains a change.
pub fn unified_changes<'d>(
    diff: &'d TextDiff<'_>,
    changes: &[LineChange],
    view: &DiffView,
    noise: impl Fn(&LineChange) -> Option<&'static str>,
) -> Vec<Hunk<'d>> {
    let mut writer =
        HunkWriter { diff, view, noise: &noise, budget: TokenBudget::default(), left: view.most };
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

/// The line below a last line without line ending, as in `diff -u`.
pub const NO_NEWLINE_NOTE: &str = "\\ No newline at end of file";

/// Hunks as text without colour, as `diff -u` writes them.
pub fn plain_text(hunks: &[Hunk<'_>]) -> String {
    let mut text = String::new();
    for hunk in hunks {
        text += &hunk.title();
        text.push('\n');
        for line in hunk.lines.iter().flat_map(HunkLine::printed) {
            text.push(line.sign);
            text.extend(line.segments.iter().map(|segment| &*segment.text));
            if let Some(rule) = line.noise {
                text += &format!("  # noise: {rule}");
            }
            text.push('\n');
            if line.unended {
                text += NO_NEWLINE_NOTE;
                text.push('\n');
            }
        }
    }
    text
}

struct HunkWriter<'d, 'a, 'w> {
    diff: &'d TextDiff<'a>,
    view: &'w DiffView,
    noise: &'w dyn Fn(&LineChange) -> Option<&'static str>,
    budget: TokenBudget,
    /// Number of lines that may still be shown.
    left: usize,
}

impl<'d> HunkWriter<'d, '_, '_> {
    fn hunk(&mut self, changes: &[LineChange]) -> Hunk<'d> {
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
        let changed = |change: &LineChange| change.base_lines.len() + change.head_lines.len();
        let removed: usize = changes.iter().map(|change| change.base_lines.len()).sum();
        let whole = changes.iter().map(changed).sum::<usize>() + base.len() - removed;
        let cut = lines.len() < whole;
        Hunk { base, head, lines, cut }
    }

    /// The first of these lines, up to the number that may still be shown.
    fn affordable(&mut self, lines: Range<usize>) -> Range<usize> {
        let shown = lines.len().min(self.left);
        self.left -= shown;
        lines.start..lines.start + shown
    }

    /// Equal lines.
    fn context(&mut self, lines: &mut Vec<HunkLine<'d>>, base: Range<usize>, head: usize) {
        for (step, number) in self.affordable(base).enumerate() {
            lines.push(self.context_line(number, head + step));
        }
    }

    /// A line that counts as equal, with the text of the base if that differs.
    fn context_line(&mut self, base: usize, head: usize) -> HunkLine<'d> {
        let pair = self.diff.line_pair(base, head);
        let (from, to) = (self.diff.base().text(), self.diff.head().text());
        let (old, new) = (&from[pair.base.clone()], &to[pair.head.clone()]);
        let differ = bare(old) != bare(new) || old.ends_with('\n') != new.ends_with('\n');
        let noise = self.hidden_change(base).filter(|_| differ).and_then(self.noise);
        let is_marked = noise.is_some() && self.view.words;
        let edits = if is_marked { self.diff.edits(&pair, &mut self.budget).list } else { Vec::new() };
        let marks = |of: fn(&WordEdit) -> Range<usize>| edits.iter().map(of).collect::<Vec<_>>();
        let (gone, come) = (marks(|edit| edit.base.clone()), marks(|edit| edit.head.clone()));
        let older = differ.then(|| self.line(DiffStyle::Context, from, pair.base, Some(&gone)));
        let base_line = older.map(|line| BaseLine { segments: line.segments, unended: line.unended });
        let line = self.line(DiffStyle::Context, to, pair.head, Some(&come));
        HunkLine { base: Some(base + 1), head: Some(head + 1), base_line, noise, ..line }
    }

    /// The change around a line of the base that is not shown.
    fn hidden_change(&self, base: usize) -> Option<&'d LineChange> {
        let changes = self.diff.changes();
        let next = changes.partition_point(|change| change.base_lines.end <= base);
        changes.get(next).filter(|change| change.base_lines.contains(&base))
    }

    fn change(&mut self, lines: &mut Vec<HunkLine<'d>>, change: &LineChange) {
        let both = self.view.words && !change.base.is_empty() && !change.head.is_empty();
        let edits = both.then(|| self.diff.edits(change, &mut self.budget).list);
        let (base, head) = (self.diff.base(), self.diff.head());
        let side = |of: fn(&WordEdit) -> Range<usize>| {
            edits.as_ref().map(|edits| edits.iter().map(of).collect::<Vec<_>>())
        };
        let (from, to) = (side(|edit| edit.base.clone()), side(|edit| edit.head.clone()));
        let noise = (self.noise)(change);
        for number in self.affordable(change.base_lines.clone()) {
            let range = base.range(&(number..number + 1));
            let line = self.line(DiffStyle::Removed, base.text(), range, from.as_deref());
            lines.push(HunkLine { base: Some(number + 1), noise, ..line });
        }
        for number in self.affordable(change.head_lines.clone()) {
            let range = head.range(&(number..number + 1));
            let line = self.line(DiffStyle::Added, head.text(), range, to.as_deref());
            lines.push(HunkLine { head: Some(number + 1), noise, ..line });
        }
    }

    /// One line, split at the changed ranges, which are in order. Without ranges the whole line is
    /// changed.
    fn line(
        &self,
        style: DiffStyle,
        text: &'d str,
        range: Range<usize>,
        marked: Option<&[Range<usize>]>,
    ) -> HunkLine<'d> {
        let whole = &text[range.clone()];
        let end = range.start + bare(whole).len();
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
        // A mark over the whole line adds nothing to its style.
        if segments.iter().all(|segment| segment.emphasis || segment.elided) {
            segments.iter_mut().for_each(|segment| segment.emphasis = false);
        }
        let unended = !whole.ends_with('\n');
        HunkLine { style, base: None, head: None, segments, unended, base_line: None, noise: None }
    }

    /// Equal text, shortened in its middle.
    fn equal(&self, segments: &mut Vec<LineSegment<'d>>, text: &'d str) {
        let middle = |_| Cow::Borrowed(" … ");
        shorten(segments, text, self.view.longest, false, middle);
    }

    /// Changed text, shown whole up to the maximum. The rest is counted.
    fn differing(&self, segments: &mut Vec<LineSegment<'d>>, text: &'d str) {
        let both = self.diff.base().text().len() + self.diff.head().text().len();
        let has = if both > MAX_CONTENT_BYTES { "has more of them" } else { "has them" };
        let middle = |bytes| Cow::Owned(format!(" … {bytes} bytes left out; `--json` {has} … "));
        shorten(segments, text, self.view.longest.and(Some(MAX_DIFFERING_BYTES)), true, middle);
    }
}

/// A line without its line ending.
fn bare(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |bare| bare.strip_suffix('\r').unwrap_or(bare))
}

/// Adds text without its middle if it is too long. `middle` returns the replacement for a number of
/// bytes.
fn shorten<'d>(
    segments: &mut Vec<LineSegment<'d>>,
    text: &'d str,
    longest: Option<usize>,
    emphasis: bool,
    middle: impl FnOnce(usize) -> Cow<'d, str>,
) {
    let plain = |text| LineSegment { text: Cow::Borrowed(text), emphasis, elided: false };
    match longest {
        Some(longest) if text.len() > longest => {
            let start = text.floor_char_boundary(longest / 2);
            let end = text.ceil_char_boundary(text.len() - longest / 2);
            segments.push(plain(&text[..start]));
            segments.push(LineSegment { text: middle(end - start), emphasis: false, elided: true });
            segments.push(plain(&text[end..]));
        }
        _ if text.is_empty() => {}
        _ => segments.push(plain(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::LineOptions;
    use super::*;

    fn text(base: &str, head: &str, view: DiffView) -> String {
        plain_text(&unified(&TextDiff::between(base, head, LineOptions::default()), &view))
    }

    #[test]
    fn text_is_that_of_diff_u() {
        let base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let head = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13";
        insta::assert_snapshot!(text(base, head, DiffView { context: 2, ..DiffView::default() }), @r"
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
        let diff = TextDiff::between("<p>one two</p>\r\n", "<p>one 2</p>\n", LineOptions::default());
        let hunks = unified(&diff, &DiffView::default());
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
        let short = text(&base, &head, DiffView::default());
        assert!(short.len() < 2000 && short.contains(" … "), "{short}");
        let whole = text(&base, &head, DiffView { longest: None, ..DiffView::default() });
        assert!(whole.contains(&base));
    }

    #[test]
    fn added_and_removed_text_is_never_shortened() {
        let evil = format!(
            "<p>{}<script src=//evil.example/x.js></script>{}</p>",
            "a b ".repeat(200),
            "c d ".repeat(200)
        );
        for (base, head) in [("x\n", format!("x\n{evil}\n")), ("<p>x</p>\n", format!("{evil}\n"))] {
            for words in [true, false] {
                let view = DiffView { words, ..DiffView::default() };
                for text in [text(base, &head, view), text(&head, base, view)] {
                    assert!(text.contains("evil.example/x.js"), "{words}: {text}");
                    assert!(!text.contains('…'), "{words}: {text}");
                }
            }
        }
    }

    #[test]
    fn very_long_text_is_cut_and_its_length_given() {
        let short = text("", &"é".repeat(100_000), DiffView::default());
        assert!(short.contains(" … 134464 bytes left out; `--json` has them … "), "{}", short.len());
        assert!(short.len() < 66_000);
        let larger = text("", &"x".repeat(MAX_CONTENT_BYTES + 1), DiffView::default());
        assert!(larger.contains("has more of them"));
    }

    #[test]
    fn noise_is_named_beside_its_lines() {
        let diff = TextDiff::between("a\n1\nb\nc\n", "a\n2\nb\nd\n", LineOptions::default());
        let rule = |change: &LineChange| (change.base_lines.start == 1).then_some("timestamp");
        insta::assert_snapshot!(plain_text(&unified_changes(&diff, diff.changes(), &DiffView::default(), rule)), @r"
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
    fn hidden_noise_in_the_context_has_the_text_of_each_side() {
        let base = "a\n<i nonce=one>\nb\nc\n";
        let diff = TextDiff::between(base, "a\n<i nonce=two>\nb\nd\n", LineOptions::default());
        let shown = diff.changes_without(|place| place == 0);
        let hunks = unified_changes(&diff, &shown, &DiffView::default(), |_| Some("nonce"));
        let line = &hunks[0].lines[1];
        let text = |side: Option<LineSide<'_>>| -> String {
            side.iter().flat_map(|side| side.segments).map(|segment| &*segment.text).collect()
        };
        assert_eq!(
            (text(line.base_side()), text(line.head_side())),
            ("<i nonce=one>".into(), "<i nonce=two>".into())
        );
        assert_eq!((line.style, line.noise), (DiffStyle::Context, Some("nonce")));
        let without_rule = unified_changes(&diff, &shown, &DiffView::default(), |change| {
            (change.base_lines.start == 1).then_some("nonce")
        });
        insta::assert_snapshot!(plain_text(&without_rule), @r"
        @@ -1,4 +1,4 @@
         a
        -<i nonce=one>  # noise: nonce
        +<i nonce=two>  # noise: nonce
         b
        -c
        +d
        ");
    }

    #[test]
    fn ignored_white_space_is_that_of_each_side() {
        let options = LineOptions { ignore_trailing_whitespace: true, ..LineOptions::default() };
        let diff = TextDiff::between("a \nb\n", "a\nc\n", options);
        let hunks = unified(&diff, &DiffView::default());
        let line = &hunks[0].lines[0];
        assert_eq!(line.base_side().unwrap().segments[0].text, "a ");
        assert_eq!(line.head_side().unwrap().segments[0].text, "a");
        assert!(plain_text(&hunks).starts_with("@@ -1,2 +1,2 @@\n a\n-b\n"));
    }

    #[test]
    fn a_missing_newline_at_the_end_is_noted() {
        insta::assert_snapshot!(text("a\nb", "a\nb\n", DiffView::default()), @r"
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
            let diff = TextDiff::between(base, head, LineOptions::default());
            let hunks = unified(&diff, &DiffView { context: 1, most, ..DiffView::default() });
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
    fn a_new_text_starts_at_line_zero() {
        assert!(text("", "a\n", DiffView::default()).starts_with("@@ -0,0 +1 @@\n"));
    }
}
