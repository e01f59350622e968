//! Which changed lines are noise.

use super::context::{Context, text_of, unix};
use super::learn::Volatile;
use super::mask::{MOST_MASKED, explain, mask, may_have_values};
use super::pages::{Pages, Swapped};
use super::rules::NoiseRule;
use super::slots::{SlotPair, Stretch, differ_by_advertisement};
use crate::text::{Budget, Change, Edit, Options, TextDiff, sequence};
use std::cell::Cell;
use std::ops::Range;

/// How much around an edit within a long line is looked at, on each side.
const AROUND: usize = 200;

/// Text that is searched in all. Past it nothing more is called noise.
const MOST_SEARCHED: usize = 4 << 20;

/// Lines that are parsed in all, to see whether an advertisement in them changed.
const MOST_PARSED: usize = 1000;

/// Lines up to this length are searched whole, together with what stands before them.
const LONGEST_WHOLE: usize = MOST_MASKED - (5 << 10);

/// Cuts the changes of a diff so that lines which are noise stand apart from the edits next to them.
pub fn separate_noise(diff: &mut TextDiff<'_>, volatile: &Volatile) {
    let left = Cell::new(MOST_SEARCHED);
    let parses = Parses::default();
    let context = Context::default();
    let swapped = Swapped::default();
    diff.split_changes(|diff, change| {
        let long = (change.base.len() + change.head.len()) * volatile.weight();
        let lines = change.base_lines.len() + change.head_lines.len();
        let affordable = left.get() >= long && !change.base.is_empty() && !change.head.is_empty();
        if lines <= 2 || !affordable {
            return Vec::new();
        }
        let pages = pages_of(diff).with(&swapped);
        let search = Search { diff, volatile, pages: &pages, context: &context, parses: &parses };
        if search.explain(&change.base, &change.head).is_some() {
            return Vec::new();
        }
        left.set(left.get() - long);
        search.partners(change)
    });
}

/// The pages that two texts are.
fn pages_of<'d>(diff: &'d TextDiff<'_>) -> Pages<'d> {
    Pages::of(|| [diff.base().text().to_owned(), diff.head().text().to_owned()])
}

/// The rule that explains why two long texts differ, if each of their lines is noise or the same.
pub(super) fn explain_long(base: &str, head: &str, pages: &Pages<'_>) -> Option<NoiseRule> {
    let mut diff = TextDiff::between(base, head, Options::default());
    let volatile = Volatile::default();
    separate_noise(&mut diff, &volatile);
    let rules: Option<Vec<_>> = classify(&diff, &volatile, pages).into_iter().collect();
    rules.filter(|_| !diff.truncated())?.into_iter().min()
}

/// What is needed to look at lines.
struct Search<'s, 'd> {
    diff: &'s TextDiff<'d>,
    volatile: &'s Volatile,
    pages: &'s Pages<'s>,
    context: &'s Context,
    parses: &'s Parses,
}

impl Search<'_, '_> {
    /// The rule that explains why two stretches differ, seen with what stands before them.
    fn explain(&self, base: &Range<usize>, head: &Range<usize>) -> Option<NoiseRule> {
        let (from, to) = (&self.diff.base().text()[base.clone()], &self.diff.head().text()[head.clone()]);
        if !may_have_values(from) || !may_have_values(to) {
            return None;
        }
        let before = self.context.shared(self.diff, base.start, head.start)?;
        explain(&format!("{before}{}", unix(from)), &format!("{before}{}", unix(to)), self.pages)
    }

    /// Lines of a change that are the same but for noise, in the order of both sides. Where as many came as went they may stand
    /// opposite each other; else, or where more are found so, they are sought by what is left of them without noise.
    fn partners(&self, change: &Change) -> Vec<(usize, usize)> {
        let opposite = self.opposite_partners(change);
        if opposite.len() == change.base_lines.len() {
            return opposite;
        }
        let sought = self.sought_partners(change);
        if sought.len() > opposite.len() { sought } else { opposite }
    }

    fn opposite_partners(&self, change: &Change) -> Vec<(usize, usize)> {
        if change.base_lines.len() != change.head_lines.len() {
            return Vec::new();
        }
        let diff = self.diff;
        let is_noise = |(base, head): &(usize, usize)| {
            let lines = (*base..base + 1, *head..head + 1);
            let (from, to) = (diff.base().range(&lines.0), diff.head().range(&lines.1));
            // Here lines are only set apart: whether they are noise is decided later, and then with a look at where they stand.
            self.volatile.explains_lines(diff, lines, &|_, _| false)
                || self.explain(&from, &to).is_some()
                || self.parses.differ_by_advertisement(diff.base().line(*base), diff.head().line(*head))
        };
        change.base_lines.clone().zip(change.head_lines.clone()).filter(is_noise).collect()
    }

    fn sought_partners(&self, change: &Change) -> Vec<(usize, usize)> {
        let Some(before) = self.rests(0, &change.base_lines) else { return Vec::new() };
        let Some(after) = self.rests(1, &change.head_lines) else { return Vec::new() };
        let found = sequence::compare(before.iter(), after.iter(), &mut Budget::of(100_000));
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

    /// What is left of some lines of a side. None if nothing is known of any of them.
    fn rests(&self, side: usize, range: &Range<usize>) -> Option<Vec<Rest>> {
        let lines = if side == 0 { self.diff.base() } else { self.diff.head() };
        let rest = |number: usize| {
            let line = lines.line(number);
            if let Some(known) = self.volatile.number_of_line(line) {
                return Rest::Known(format!("\u{3}{known}"));
            }
            let masked = || {
                let opening = self.context.opening(self.diff, side, lines.range(&(number..number + 1)).start);
                opening.and_then(|opening| mask(&format!("{opening}{}", unix(line))))
            };
            let masked = may_have_values(line).then(masked).flatten();
            masked.map_or(Rest::Unknown(side, number), Rest::Known)
        };
        let rests: Vec<_> = range.clone().map(rest).collect();
        rests.iter().any(|rest| matches!(rest, Rest::Known(_))).then_some(rests)
    }

    /// Whether two lines stand in a script, a style or the like.
    fn is_raw(&self, base: &Range<usize>, head: &Range<usize>) -> bool {
        self.context.raw(self.diff, 0).touch(base) || self.context.raw(self.diff, 1).touch(head)
    }

    fn is_advertisement(&self, change: &Change) -> bool {
        self.is_line_of_advertisement(change) || self.is_in_slots(change)
    }

    /// Whether a change is of what the slots show that it is in, or that are in it, and of nothing else.
    fn is_in_slots(&self, change: &Change) -> bool {
        let stretch = |side: usize, range: &Range<usize>| {
            Stretch::of(text_of(self.diff, side), range.clone(), self.context.slots(self.diff, side))
        };
        let is_aligned = |base: usize, head: usize| self.is_aligned(base, head);
        let others = stretch(0, &change.base).other_slots(&stretch(1, &change.head), is_aligned);
        others
            .is_some_and(|slots| !slots.is_empty() && slots.iter().all(|slot| self.parses.shows_other(slot)))
    }

    /// Whether a place of the base is the same as one of the head, or changed together with it.
    fn is_aligned(&self, base: usize, head: usize) -> bool {
        let changes = self.diff.changes();
        let next = changes.partition_point(|change| change.base.end <= base);
        let before = |end: fn(&Change) -> usize| next.checked_sub(1).map_or(0, |last| end(&changes[last]));
        let in_change = changes.get(next).is_some_and(|change| change.base.start <= base);
        if in_change {
            return changes[next].head.contains(&head);
        }
        let distance = base - before(|change| change.base.end);
        let is_before_next = changes.get(next).is_none_or(|change| head < change.head.start);
        is_before_next && head.checked_sub(before(|change| change.head.end)) == Some(distance)
    }

    fn is_line_of_advertisement(&self, change: &Change) -> bool {
        change.base_lines.len() == 1
            && change.head_lines.len() == 1
            && self.parses.may_have_advertisement(self.diff.removed(change))
            && !self.context.raw(self.diff, 0).cut(&change.base)
            && !self.context.raw(self.diff, 1).cut(&change.head)
            && self.parses.differ_by_advertisement(self.diff.removed(change), self.diff.added(change))
    }

    /// A change of long lines is noise if each of its edits is, seen with what stands around it.
    fn long_change(&self, change: &Change, budget: &mut Budget, left: &mut usize) -> Option<NoiseRule> {
        let edits = self.diff.edits(change, budget);
        if edits.truncated {
            return None;
        }
        let mut rules = Vec::new();
        for near in near_each_other(edits.list) {
            let base = around(self.diff.base().text(), &near.base);
            let head = around(self.diff.head().text(), &near.head);
            *left = left.checked_sub(base.len())?;
            rules.push(self.explain(&base, &head)?);
        }
        rules.into_iter().min()
    }
}

/// What is left of a line without noise. Lines that neither twins nor rules know anything of have no partner: side and number keep
/// them apart.
#[derive(PartialEq, Eq, Hash)]
enum Rest {
    Known(String),
    Unknown(usize, usize),
}

/// Counts the lines that are parsed.
#[derive(Debug, Default)]
struct Parses(Cell<usize>);

impl Parses {
    /// Whether two lines are the same but for what an advertisement shows. Only lines that may have one are parsed.
    fn differ_by_advertisement(&self, from: &str, to: &str) -> bool {
        let may = self.may_have_advertisement(from);
        if may {
            self.0.set(self.0.get() + 1);
        }
        may && differ_by_advertisement(from, to)
    }

    /// Whether a slot is the same but for what an advertisement shows.
    fn shows_other(&self, slot: &SlotPair<'_>) -> bool {
        self.0.set(self.0.get() + 1);
        self.0.get() <= MOST_PARSED && slot.shows_other()
    }

    fn may_have_advertisement(&self, line: &str) -> bool {
        let is_ad =
            |at: usize| line.as_bytes()[at..].get(..2).is_some_and(|word| word.eq_ignore_ascii_case(b"ad"));
        self.0.get() < MOST_PARSED && memchr::memchr2_iter(b'a', b'A', line.as_bytes()).any(is_ad)
    }
}

/// For each change of a diff the rule that explains it, if one does. Only lines that have a partner can be noise, or those in the slot
/// of an advertisement.
pub fn classify_lines(diff: &TextDiff<'_>, volatile: &Volatile) -> Vec<Option<NoiseRule>> {
    classify(diff, volatile, &pages_of(diff))
}

fn classify(diff: &TextDiff<'_>, volatile: &Volatile, pages: &Pages<'_>) -> Vec<Option<NoiseRule>> {
    let mut budget = Budget::default();
    let mut left = MOST_SEARCHED;
    let (context, parses) = (Context::default(), Parses::default());
    let search = Search { diff, volatile, pages, context: &context, parses: &parses };
    let is_raw = |base: usize, head: usize| {
        search.is_raw(&diff.base().range(&(base..base + 1)), &diff.head().range(&(head..head + 1)))
    };
    let advertisement = |change: &Change| search.is_advertisement(change).then_some(NoiseRule::AdSlot);
    let classify = |change: &Change| {
        if change.base_lines.len() != change.head_lines.len() {
            return advertisement(change);
        }
        let lines = (change.base_lines.clone(), change.head_lines.clone());
        if volatile.explains_lines(diff, lines, &is_raw) {
            return Some(NoiseRule::Twins);
        }
        let long = change.base.len().max(change.head.len());
        left = left.checked_sub(long.min(MOST_MASKED))?;
        if long <= LONGEST_WHOLE {
            search.explain(&change.base, &change.head).or_else(|| advertisement(change))
        } else {
            let whole = || search.explain(&change.base, &change.head).or_else(|| advertisement(change));
            search.long_change(change, &mut budget, &mut left).or_else(whole)
        }
    };
    diff.changes().iter().map(classify).collect()
}

/// Joins edits that would be seen with each other.
fn near_each_other(edits: Vec<Edit>) -> Vec<Edit> {
    let mut joined: Vec<Edit> = Vec::new();
    for edit in edits {
        match joined.last_mut() {
            Some(last) if edit.base.start - last.base.end <= AROUND => {
                last.base.end = edit.base.end;
                last.head.end = edit.head.end;
            }
            _ => joined.push(edit),
        }
    }
    joined
}

fn around(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(range.start.saturating_sub(AROUND));
    start..text.ceil_char_boundary((range.end + AROUND).min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Options;

    fn rules(base: &str, head: &str) -> Vec<Option<NoiseRule>> {
        classify_lines(&TextDiff::between(base, head, Options::default()), &Volatile::default())
    }

    #[test]
    fn each_change_is_explained_alone() {
        let base = "<p nonce=\"aaaaaaaa1\">\nx\n<p>one</p>\nx\n<!-- 2024-01-01T00:00:00Z -->\r\n";
        let head = "<p nonce=\"bbbbbbbb2\">\nx\n<p>two</p>\nx\n<!-- 2024-01-02T00:00:00Z -->\n";
        assert_eq!(rules(base, head), [Some(NoiseRule::Nonce), None, Some(NoiseRule::Timestamp)]);
    }

    #[test]
    fn one_line_of_a_whole_page_is_looked_at_piece_by_piece() {
        let page = |nonce: &str, text: &str| {
            let filler = "<p>filler</p>".repeat(3000);
            format!("<script nonce=\"{nonce}\"></script>{filler}<b>{text}</b>{filler}")
        };
        assert_eq!(rules(&page("aaaaaaaa1", "x"), &page("bbbbbbbb2", "x")), [Some(NoiseRule::Nonce)]);
        assert_eq!(rules(&page("aaaaaaaa1", "x"), &page("bbbbbbbb2", "y")), [None]);
    }

    #[test]
    fn noise_next_to_edits_stands_apart() {
        let base = "<p nonce=\"aaaaaaaa1\">\n<p>one</p>\n<!-- 2024-01-01T00:00:00Z -->\n";
        let head = "<p nonce=\"bbbbbbbb2\">\n<p>two</p>\n<p>three</p>\n<!-- 2024-01-02T00:00:00Z -->\n";
        let mut diff = TextDiff::between(base, head, Options::default());
        separate_noise(&mut diff, &Volatile::default());
        let rules = classify_lines(&diff, &Volatile::default());
        assert_eq!(rules, [Some(NoiseRule::Nonce), None, Some(NoiseRule::Timestamp)]);
        let shown = diff.changes_without(|place| rules[place].is_some());
        assert_eq!((shown.len(), diff.added(&shown[0])), (1, "<p>two</p>\n<p>three</p>\n"));
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
    fn volatile_lines_stand_apart_from_edits_next_to_them() {
        let visits = |number: &str| format!("<div class=visits>Visits today: {number}</div>\n");
        let mut volatile = Volatile::default();
        volatile.learn_lines(&TextDiff::between(visits("17"), visits("18"), Options::default()));
        let shown = |base: &str, head: &str| {
            let mut diff = TextDiff::between(base, head, Options::default());
            separate_noise(&mut diff, &volatile);
            let rules = classify_lines(&diff, &volatile);
            let shown = diff.changes_without(|place| rules[place].is_some());
            shown.iter().map(|change| diff.added(change).to_owned()).collect::<Vec<_>>()
        };
        let base = format!("<p>same</p>\n{}<p>old</p>\n", visits("5"));
        let one = format!("<p>same</p>\n{}<p>new</p>\n", visits("900"));
        assert_eq!(shown(&base, &one), ["<p>new</p>\n"]);
        let more = format!("<p>same</p>\n<p>first</p>\n{}<p>new</p>\n", visits("900"));
        assert_eq!(shown(&base, &more), ["<p>first</p>\n", "<p>new</p>\n"]);
        let evil = format!("<p>same</p>\n{}<p>new</p>\n", visits("<script>evil()</script>"));
        assert!(shown(&base, &evil).concat().contains("evil()"));
    }

    #[test]
    fn what_comes_or_goes_is_a_change() {
        assert_eq!(rules("a\n", "a\n<!-- 2024-01-01T00:00:00Z -->\n"), [None]);
    }
}
