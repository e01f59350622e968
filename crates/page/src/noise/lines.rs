//! Which changed lines are noise.

use super::learn::Volatile;
use super::mask::{MOST_MASKED, explain, mask};
use super::rules::NoiseRule;
use super::slots::{RawParts, differ_by_advertisement};
use std::borrow::Cow;
use std::cell::{Cell, LazyCell};
use std::ops::Range;
use varve_core::diff::{Budget, Change, Edit, Lines, TextDiff, sequence};

/// How much around an edit within a long line is looked at, on each side.
const AROUND: usize = 200;

/// Text that is searched in all. Past it nothing more is called noise.
const MOST_SEARCHED: usize = 4 << 20;

/// Lines that are parsed in all, to see whether an advertisement in them changed.
const MOST_PARSED: usize = 1000;

/// Cuts the changes of a diff so that lines which are noise stand apart from the edits next to them.
pub fn separate_noise(diff: &mut TextDiff<'_>, volatile: &Volatile) {
    let left = Cell::new(MOST_SEARCHED);
    let parses = Parses::default();
    diff.split_changes(|diff, change| {
        let long = (change.base.len() + change.head.len()) * volatile.weight();
        let lines = change.base_lines.len() + change.head_lines.len();
        let affordable = left.get() >= long && !change.base.is_empty() && !change.head.is_empty();
        if lines <= 2
            || !affordable
            || explain(&unix(diff.removed(change)), &unix(diff.added(change))).is_some()
        {
            return Vec::new();
        }
        left.set(left.get() - long);
        partners(diff, change, volatile, &parses)
    });
}

/// Lines of a change that are the same but for noise, in the order of both sides. Where as many came as went they may stand
/// opposite each other; else, or where more are found so, they are sought by what is left of them without noise.
fn partners(
    diff: &TextDiff<'_>,
    change: &Change,
    volatile: &Volatile,
    parses: &Parses,
) -> Vec<(usize, usize)> {
    let opposite = opposite_partners(diff, change, volatile, parses);
    if opposite.len() == change.base_lines.len() {
        return opposite;
    }
    let sought = sought_partners(diff, change, volatile);
    if sought.len() > opposite.len() { sought } else { opposite }
}

fn opposite_partners(
    diff: &TextDiff<'_>,
    change: &Change,
    volatile: &Volatile,
    parses: &Parses,
) -> Vec<(usize, usize)> {
    if change.base_lines.len() != change.head_lines.len() {
        return Vec::new();
    }
    let is_noise = |(base, head): &(usize, usize)| {
        let (from, to) = (diff.base().line(*base), diff.head().line(*head));
        // Here lines are only set apart: whether they are noise is decided later, and then with a look at where they stand.
        volatile.explains_lines(diff, (*base..base + 1, *head..head + 1), &|_, _| false)
            || explain(&unix(from), &unix(to)).is_some()
            || parses.differ_by_advertisement(from, to)
    };
    change.base_lines.clone().zip(change.head_lines.clone()).filter(is_noise).collect()
}

/// What is left of a line without noise. Lines that neither twins nor rules know anything of have no partner: side and number keep
/// them apart.
#[derive(PartialEq, Eq, Hash)]
enum Rest {
    Known(String),
    Unknown(usize, usize),
}

fn sought_partners(diff: &TextDiff<'_>, change: &Change, volatile: &Volatile) -> Vec<(usize, usize)> {
    let rests = |lines: &Lines<'_>, range: &Range<usize>, side: usize| -> Option<Vec<Rest>> {
        let rest = |number: usize| {
            let line = lines.line(number);
            let volatile = volatile.number_of_line(line).map(|known| format!("\u{3}{known}"));
            volatile.or_else(|| mask(&unix(line))).map_or(Rest::Unknown(side, number), Rest::Known)
        };
        let rests: Vec<_> = range.clone().map(rest).collect();
        rests.iter().any(|rest| matches!(rest, Rest::Known(_))).then_some(rests)
    };
    let Some(before) = rests(diff.base(), &change.base_lines, 0) else { return Vec::new() };
    let Some(after) = rests(diff.head(), &change.head_lines, 1) else { return Vec::new() };
    let found = sequence::compare(before.iter(), after.iter(), &mut Budget::of(100_000));
    let mut partners = Vec::new();
    let (mut from, mut to) = (0, 0);
    for (gone, come) in found.list.into_iter().chain([(before.len()..before.len(), after.len()..after.len())])
    {
        let (base, head) = (change.base_lines.start, change.head_lines.start);
        partners.extend((base + from..base + gone.start).zip(head + to..head + come.start));
        (from, to) = (gone.end, come.end);
    }
    partners
}

/// Counts the lines that are parsed.
#[derive(Debug, Default)]
struct Parses(Cell<usize>);

impl Parses {
    /// Whether two lines are the same but for what an advertisement shows. Only lines that may have one are parsed.
    fn differ_by_advertisement(&self, from: &str, to: &str) -> bool {
        let is_ad =
            |at: usize| from.as_bytes()[at..].get(..2).is_some_and(|word| word.eq_ignore_ascii_case(b"ad"));
        let may = self.0.get() < MOST_PARSED && memchr::memchr2_iter(b'a', b'A', from.as_bytes()).any(is_ad);
        if may {
            self.0.set(self.0.get() + 1);
        }
        may && differ_by_advertisement(from, to)
    }
}

/// For each change of a diff the rule that explains it, if one does. Only lines that have a partner can be noise.
pub fn classify_lines(diff: &TextDiff<'_>, volatile: &Volatile) -> Vec<Option<NoiseRule>> {
    let mut budget = Budget::default();
    let mut left = MOST_SEARCHED;
    let raw = LazyCell::new(|| [RawParts::of(diff.base().text()), RawParts::of(diff.head().text())]);
    let parses = Parses::default();
    let is_advertisement = |change: &Change| {
        change.base_lines.len() == 1
            && !raw[0].touch(&change.base)
            && !raw[1].touch(&change.head)
            && parses.differ_by_advertisement(diff.removed(change), diff.added(change))
    };
    let is_raw = |base: usize, head: usize| {
        raw[0].touch(&diff.base().range(&(base..base + 1)))
            || raw[1].touch(&diff.head().range(&(head..head + 1)))
    };
    let classify = |change: &Change| {
        if change.base_lines.len() != change.head_lines.len() {
            return None;
        }
        let lines = (change.base_lines.clone(), change.head_lines.clone());
        if volatile.explains_lines(diff, lines, &is_raw) {
            return Some(NoiseRule::Twins);
        }
        let long = change.base.len().max(change.head.len());
        left = left.checked_sub(long.min(MOST_MASKED))?;
        if long <= MOST_MASKED {
            explain(&unix(diff.removed(change)), &unix(diff.added(change)))
                .or_else(|| is_advertisement(change).then_some(NoiseRule::AdSlot))
        } else {
            long_change(diff, change, &mut budget, &mut left)
        }
    };
    diff.changes().iter().map(classify).collect()
}

/// A change of long lines is noise if each of its edits is, seen with what stands around it.
fn long_change(
    diff: &TextDiff<'_>,
    change: &Change,
    budget: &mut Budget,
    left: &mut usize,
) -> Option<NoiseRule> {
    let edits = diff.edits(change, budget);
    if edits.truncated {
        return None;
    }
    let mut rules = Vec::new();
    for near in near_each_other(edits.list) {
        let (from, to) = (around(diff.base().text(), &near.base), around(diff.head().text(), &near.head));
        *left = left.checked_sub(from.len())?;
        rules.push(explain(from, to)?);
    }
    rules.into_iter().min()
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

fn around<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    let start = text.floor_char_boundary(range.start.saturating_sub(AROUND));
    let end = text.ceil_char_boundary((range.end + AROUND).min(text.len()));
    &text[start..end]
}

fn unix(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::diff::Options;

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
        let page = |ad: &str| format!("<p>a</p>\n<div class=\"ad-banner\">{ad}</div>\n<p>b</p>\n");
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
