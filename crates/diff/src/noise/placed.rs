//! Lines that differ each time and have so little in them that stays that any other line might be one of them: `<b>17</b>`.
//!
//! Such a line is known by what stayed of it together with where it stands: so many lines above and below it, as they are in both
//! twins, that only one line of the page fits. Where a line stands says nothing about what runs or loads something: a gap counts
//! only in text, and never in a tag, a script or a style.

use super::skeleton::{Skeleton, bare};
use super::slots::RawParts;
use crate::text::{Lines, TextDiff};
use std::cell::OnceCell;

/// So many lines above and below are looked at for what tells a line from others.
const MOST_AROUND: usize = 8;

/// Lines that are looked at in all. Past it nothing more is learned.
const MOST_LOOKS: usize = 4_000_000;

/// How far before a gap the last tag is looked for. What has none in all of that may be within a very long one.
const FAR: usize = 64 << 10;

/// A line by what stays of it and of those around it, the nearest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    skeleton: Skeleton,
    above: Vec<String>,
    below: Vec<String>,
}

impl Placed {
    /// Whether a line is this one.
    pub(super) fn fits(&self, lines: &Lines<'_>, at: usize) -> bool {
        let near = |way: Way, texts: &[String]| {
            texts.iter().enumerate().all(|(steps, text)| way.line(lines, at, steps) == Some(text))
        };
        self.skeleton.fits(bare(lines.line(at)))
            && near(Way::Up, &self.above)
            && near(Way::Down, &self.below)
            && varies_in_text(&self.skeleton, lines, at)
    }
}

/// A direction in which lines are looked at.
#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

impl Way {
    /// The line that stands so many lines beyond the next one.
    fn line<'l>(self, lines: &'l Lines<'_>, at: usize, steps: usize) -> Option<&'l str> {
        let place = match self {
            Self::Up => at.checked_sub(steps + 1)?,
            Self::Down => at + steps + 1,
        };
        (place < lines.count()).then(|| bare(lines.line(place)))
    }
}

/// Whether a line fits a skeleton, and all that may differ in it is text.
fn varies_in_text(skeleton: &Skeleton, lines: &Lines<'_>, at: usize) -> bool {
    let Some(gaps) = skeleton.gaps(bare(lines.line(at))) else { return false };
    let start = lines.range(&(at..at + 1)).start;
    let is_text = |place: usize| {
        let from = (start + place).saturating_sub(FAR);
        let before = &lines.text().as_bytes()[from..start + place];
        memchr::memrchr2(b'<', b'>', before).map_or(from == 0, |tag| before[tag] == b'>')
    };
    gaps.iter().all(|gap| is_text(gap.start))
}

/// The pages of twins, in which lines are to be placed.
pub(super) struct Places<'t> {
    sides: [&'t Lines<'t>; 2],
    raw: [OnceCell<RawParts>; 2],
    looks: usize,
}

impl<'t> Places<'t> {
    pub(super) fn of(twins: &'t TextDiff<'t>) -> Self {
        Self { sides: [twins.base(), twins.head()], raw: Default::default(), looks: MOST_LOOKS }
    }

    /// The place of a line that is known only with those around it. None where several lines are alike in all that is near them.
    pub(super) fn place(&mut self, skeleton: Skeleton, base: usize, head: usize) -> Option<Placed> {
        let lines = self.sides.iter().map(|lines| lines.count()).sum();
        self.looks = self.looks.checked_sub(lines)?;
        let at = [base, head];
        if ![0, 1].into_iter().all(|side| self.is_text(&skeleton, side, at[side])) {
            return None;
        }
        let fitting = |lines: &Lines<'_>| -> Vec<usize> {
            (0..lines.count()).filter(|place| skeleton.fits(bare(lines.line(*place)))).collect()
        };
        let mut candidates = self.sides.map(fitting);
        let mut placed = Placed { skeleton, above: Vec::new(), below: Vec::new() };
        for step in 0..2 * MOST_AROUND {
            if candidates.iter().all(|places| places.len() == 1) {
                return Some(placed);
            }
            let (steps, way) = (step / 2, if step % 2 == 0 { Way::Up } else { Way::Down });
            let known = if step % 2 == 0 { &mut placed.above } else { &mut placed.below };
            // Beyond a line that differs as well, or the end of the page, nothing more is known in that direction.
            let [one, other] = [0, 1].map(|side| way.line(self.sides[side], at[side], steps));
            let Some(text) = one.filter(|_| known.len() == steps && one == other) else { continue };
            for (side, places) in candidates.iter_mut().enumerate() {
                places.retain(|place| way.line(self.sides[side], *place, steps) == Some(text));
            }
            known.push(text.to_owned());
        }
        None
    }

    /// Whether what differs in a line is text, and neither in a tag nor in a script or a style.
    fn is_text(&self, skeleton: &Skeleton, side: usize, at: usize) -> bool {
        let lines = self.sides[side];
        let raw = self.raw[side].get_or_init(|| RawParts::of(lines.text()));
        varies_in_text(skeleton, lines, at) && !raw.touch(&lines.range(&(at..at + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NoiseRule, Volatile, classify_lines};
    use crate::text::{Options, TextDiff};

    /// The rules of each change between two pages, of which a twin of the newer one taught what differs each time.
    fn rules(base: &str, head: &str, twin: &str) -> Vec<Option<NoiseRule>> {
        let mut volatile = Volatile::default();
        volatile.learn_lines(&TextDiff::between(head, twin, Options::default()));
        classify_lines(&TextDiff::between(base, head, Options::default()), &volatile)
    }

    const TWINS: Option<NoiseRule> = Some(NoiseRule::Twins);

    #[test]
    fn a_short_line_is_known_by_where_it_stands() {
        let page = |visits: &str, price: &str| {
            format!(
                "<h2>Visits</h2>\n<td>\n<b>{visits}</b>\n</td>\n<h2>Price</h2>\n<td>\n<b>{price}</b>\n</td>\n"
            )
        };
        let twin = page("18", "5");
        assert_eq!(rules(&page("3", "5"), &page("17", "5"), &twin), [TWINS]);
        assert_eq!(
            rules(&page("3", "4"), &page("17", "5"), &twin),
            [TWINS, None],
            "the other one is an edit"
        );
        let alone = |number: &str| format!("<p>x</p>\n{number}\n<p>y</p>\n");
        assert_eq!(rules(&alone("1"), &alone("2"), &alone("3")), [TWINS]);
        assert_eq!(rules(&alone("1"), &alone("2 <script>evil()</script>"), &alone("3")), [None]);
    }

    #[test]
    fn lines_that_nothing_tells_apart_are_not_learned() {
        let page = |first: &str, second: &str| {
            let row = |cell: &str| format!("{}<td>\n{cell}\n</td>\n", "<br>\n".repeat(9));
            row("0") + &row(first) + &row(second) + &row("9")
        };
        assert_eq!(rules(&page("1", "5"), &page("2", "5"), &page("3", "5")), [None]);
    }

    #[test]
    fn where_a_line_stands_explains_nothing_that_runs_or_loads() {
        for around in [
            ["<script>\n", "\n</script>\n"],
            ["<style>\n", "\n</style>\n"],
            ["<a href=", ">\n"],
            ["<img\nsrc=\"/", "\">\n"],
        ] {
            let page = |value: &str| format!("<p>x\n{}{value}{}", around[0], around[1]);
            assert_eq!(rules(&page("a1"), &page("b2"), &page("c3")), [None], "{around:?}");
        }
        // Nor in the older page, where the same line may have been something else.
        let text = |value: &str| format!("<p>\n{value}\n</p>\n");
        let script = "<script>\n1\n</p>\n</script>";
        assert!(rules(script, &text("2"), &text("3")).contains(&None));
    }
}
