//! Two sequences of tokens compared in bounded time.
//!
//! The histogram algorithm reads best and is quickest on what people write, but it looks at the rest of both sequences
//! once for each stretch that they share: sequences that share many short stretches cost their length squared. So its cost
//! is estimated first, from the tokens that each side has once. Where it would be too much, those tokens are taken as
//! anchors, the longest run of them that stands in the same order on both sides, and only what lies between two anchors
//! is compared. A gap that has none holds a few kinds of tokens again and again: what only one side has is put aside, and
//! the rest is compared window by window, while the [`Budget`] lasts. Past it the gap is called replaced.
//!
//! Myers' algorithm as the library has it is not asked about long gaps: for each frequent token it looks back over all
//! that came before, which again is the length squared.

use super::words::Budget;
use imara_diff::{Algorithm, Diff, InternedInput, Interner, Token};
use std::hash::Hash;
use std::ops::Range;

/// Steps that the histogram algorithm may take on whole sequences.
const MOST_STEPS: usize = 100_000_000;

/// Gaps with fewer tokens are compared by histogram without asking: even the worst costs little.
const SMALL: usize = 2048;

/// What a window may cost at worst, for each of its tokens.
const WINDOW_COST: usize = 300;

/// So many tokens in a row are shared by more than chance.
const LONG_STRETCH: usize = 32;

/// How often a gap may be cut by anchors of its own.
const MOST_ROUNDS: usize = 4;

/// Tokens of the first sequence, and the tokens of the second that stand in their place.
pub type Replaced = (Range<usize>, Range<usize>);

/// How two sequences differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Differences {
    /// What was replaced by what, in order. One of the two ranges may be empty.
    pub list: Vec<Replaced>,
    /// Whether the budget did not suffice, so that something is called replaced that was not compared.
    pub truncated: bool,
}

/// Compares two sequences of anything.
pub fn compare<T: Eq + Hash>(
    before: impl Iterator<Item = T>,
    after: impl Iterator<Item = T>,
    budget: &mut Budget,
) -> Differences {
    let input = intern(before, after);
    compare_interned(&input, budget, |diff, input| diff.postprocess_no_heuristic(input))
}

/// Gives each token its number.
pub(super) fn intern<T: Eq + Hash>(
    before: impl Iterator<Item = T>,
    after: impl Iterator<Item = T>,
) -> InternedInput<T> {
    let expected = before.size_hint().0 + after.size_hint().0;
    let mut input =
        InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(expected / 2) };
    input.update_before(before);
    input.update_after(after);
    input
}

/// Compares what has numbers. `tidy` may move changes to where they read best; it is not asked when the sequences are hard.
pub(super) fn compare_interned<T>(
    input: &InternedInput<T>,
    budget: &mut Budget,
    tidy: impl FnOnce(&mut Diff, &InternedInput<T>),
) -> Differences {
    let kinds = input.interner.num_tokens();
    let mut search = Search::new(&input.before, &input.after, kinds, budget);
    if search.is_easy() {
        let mut diff = Diff::compute(Algorithm::Histogram, input);
        tidy(&mut diff, input);
        let wide = |range: Range<u32>| range.start as usize..range.end as usize;
        let list = diff.hunks().map(|hunk| (wide(hunk.before), wide(hunk.after))).collect();
        return Differences { list, truncated: false };
    }
    search.run();
    search.differences()
}

struct Search<'a, 'b> {
    before: &'a [Token],
    after: &'a [Token],
    removed: Vec<bool>,
    added: Vec<bool>,
    /// For each kind of token, what is known of it in the gap at hand.
    sightings: Vec<Sighting>,
    budget: &'b mut Budget,
    truncated: bool,
}

/// How often a kind of token was seen on each side of a gap (2 stands for more), and where in the first sequence.
#[derive(Clone, Copy, Default)]
struct Sighting {
    before: u8,
    after: u8,
    place: u32,
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(before: &'a [Token], after: &'a [Token], kinds: u32, budget: &'b mut Budget) -> Self {
        let (removed, added) = (vec![false; before.len()], vec![false; after.len()]);
        let sightings = vec![Sighting::default(); kinds as usize];
        Self { before, after, removed, added, sightings, budget, truncated: false }
    }

    /// Whether the histogram algorithm is quick on the whole: shared stretches, at most as many as there are shared tokens
    /// between anchors and gaps between those, times the length.
    fn is_easy(&mut self) -> bool {
        let whole = strip(self.before, self.after, (0..self.before.len(), 0..self.after.len()));
        let length = whole.0.len() + whole.1.len();
        if length <= SMALL {
            return true;
        }
        let anchors = self.anchors(&whole);
        let mut steps = 0_usize;
        for gap in gaps(&whole, &anchors) {
            let (from, to) = strip(self.before, self.after, gap);
            let shared = |tokens: &[Token], other: fn(&Sighting) -> u8| {
                tokens.iter().filter(|token| other(&self.sightings[token.0 as usize]) > 0).count()
            };
            let stretches = shared(&self.before[from.clone()], |seen| seen.after)
                .min(shared(&self.after[to.clone()], |seen| seen.before));
            steps += stretches + usize::from(!from.is_empty() || !to.is_empty());
        }
        let cost = steps.saturating_mul(length);
        cost <= MOST_STEPS && self.budget.work(cost)
    }

    fn run(&mut self) {
        let mut open = vec![((0..self.before.len(), 0..self.after.len()), 0)];
        while let Some((gap, round)) = open.pop() {
            let gap = strip(self.before, self.after, gap);
            let length = gap.0.len() + gap.1.len();
            if gap.0.is_empty() || gap.1.is_empty() {
                self.replace(gap);
            } else if length <= SMALL {
                let (from, to): (Vec<_>, Vec<_>) = (gap.0.collect(), gap.1.collect());
                let found = self.leave(&from, &to);
                self.mark(&from, &to, found.into_iter());
            } else {
                let anchors = self.anchors(&gap);
                if anchors.is_empty() || round >= MOST_ROUNDS {
                    self.by_windows(gap);
                } else {
                    open.extend(gaps(&gap, &anchors).map(|gap| (gap, round + 1)));
                }
            }
        }
    }

    /// What was marked. Where a window ended, what went may begin or end as what came does: that is no difference.
    fn differences(&self) -> Differences {
        let bare = |hunk| strip(self.before, self.after, hunk);
        let is_left = |(from, to): &Replaced| !from.is_empty() || !to.is_empty();
        let list = hunks(&self.removed, &self.added).into_iter().map(bare).filter(is_left).collect();
        Differences { list, truncated: self.truncated }
    }

    fn replace(&mut self, (from, to): Replaced) {
        self.removed[from].fill(true);
        self.added[to].fill(true);
    }

    /// Compares a gap whose tokens were just counted by what both sides have, window by window. What is in step is passed over, and
    /// each window begins where the one before it ends in a long stretch that both sides share. Windows that were cut at fixed places
    /// would part what belongs together once anything came or went: it would be told as gone here and as come there.
    fn by_windows(&mut self, (from, to): Replaced) {
        let shared =
            |tokens: &[Token], range: Range<usize>, marks: &mut [bool], other: fn(&Sighting) -> u8| {
                let (kept, apart): (Vec<_>, Vec<_>) =
                    range.partition(|place| other(&self.sightings[tokens[*place].0 as usize]) > 0);
                apart.into_iter().for_each(|place| marks[place] = true);
                kept
            };
        let before = shared(self.before, from, &mut self.removed, |seen| seen.after);
        let after = shared(self.after, to, &mut self.added, |seen| seen.before);
        let (mut from, mut to) = (&before[..], &after[..]);
        loop {
            let in_step = from.iter().zip(to).take_while(|(one, other)| self.same(**one, **other)).count();
            (from, to) = (&from[in_step..], &to[in_step..]);
            if from.is_empty() || to.is_empty() {
                break;
            }
            if !self.budget.work(SMALL * WINDOW_COST) {
                self.truncated = true;
                break;
            }
            let window = window(from.len(), to.len());
            let found = self.leave(&from[..window.0], &to[..window.1]);
            let is_last = window == (from.len(), to.len());
            let end = if is_last { window } else { sure_end(&found, window) };
            self.mark(from, to, found.into_iter().filter(|(gone, come)| (gone.end, come.end) <= end));
            (from, to) = (&from[end.0..], &to[end.1..]);
        }
        from.iter().for_each(|place| self.removed[*place] = true);
        to.iter().for_each(|place| self.added[*place] = true);
    }

    fn same(&self, before: usize, after: usize) -> bool {
        self.before[before] == self.after[after]
    }

    /// Marks what was found among these places.
    fn mark(&mut self, from: &[usize], to: &[usize], found: impl Iterator<Item = Replaced>) {
        for (gone, come) in found {
            from[gone].iter().for_each(|place| self.removed[*place] = true);
            to[come].iter().for_each(|place| self.added[*place] = true);
        }
    }

    /// Lets the library compare a few tokens. Its tables are as large as the highest number of a token, so these are numbered
    /// anew.
    fn leave(&mut self, from: &[usize], to: &[usize]) -> Vec<Replaced> {
        let tokens =
            |all: &[Token], places: &[usize]| places.iter().map(|place| all[*place]).collect::<Vec<_>>();
        let (mut before, mut after) = (tokens(self.before, from), tokens(self.after, to));
        let mut numbers: Vec<u32> = before.iter().chain(&after).map(|token| token.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for (number, token) in (0..).zip(&numbers) {
            self.sightings[*token as usize].place = number;
        }
        for token in before.iter_mut().chain(&mut after) {
            token.0 = self.sightings[token.0 as usize].place;
        }
        let mut diff = Diff::default();
        diff.compute_with(
            Algorithm::Histogram,
            &before,
            &after,
            u32::try_from(numbers.len()).unwrap_or(u32::MAX),
        );
        let wide = |range: Range<u32>| range.start as usize..range.end as usize;
        diff.hunks().map(|hunk| (wide(hunk.before), wide(hunk.after))).collect()
    }

    /// Places of tokens that each side of the gap has once, in the order of both.
    fn anchors(&mut self, (from, to): &Replaced) -> Vec<(usize, usize)> {
        let (before, after) = (&self.before[from.clone()], &self.after[to.clone()]);
        for token in before.iter().chain(after) {
            self.sightings[token.0 as usize] = Sighting::default();
        }
        for (place, token) in (0..).zip(before) {
            let seen = &mut self.sightings[token.0 as usize];
            (seen.before, seen.place) = ((seen.before + 1).min(2), place);
        }
        for token in after {
            let seen = &mut self.sightings[token.0 as usize];
            seen.after = (seen.after + 1).min(2);
        }
        let once = after.iter().enumerate().filter_map(|(place, token)| {
            let seen = &self.sightings[token.0 as usize];
            (seen.before == 1 && seen.after == 1)
                .then_some((from.start + seen.place as usize, to.start + place))
        });
        longest_rising(once.collect())
    }
}

/// How many tokens of each side the next window has, of so many: as many of a side as it has a share in what is left.
fn window(from: usize, to: usize) -> (usize, usize) {
    if from + to <= SMALL {
        return (from, to);
    }
    let share = (SMALL * from / (from + to)).clamp(1, SMALL - 1);
    (share.min(from), (SMALL - share).min(to))
}

/// Where a window can be ended without parting what belongs together: behind the last long stretch that both sides share, or else
/// the longest near its end. That is not always the last one: short ones at its end are shared by chance. Without such a stretch the
/// window ends where it was cut. A short one is not worth comparing much again.
fn sure_end(found: &[Replaced], window: (usize, usize)) -> (usize, usize) {
    let starts = std::iter::once((0, 0)).chain(found.iter().map(|(gone, come)| (gone.end, come.end)));
    let ends = found.iter().map(|(gone, come)| (gone.start, come.start)).chain(std::iter::once(window));
    let stretches = starts.zip(ends).map(|(start, end)| ((end.0 - start.0).min(LONG_STRETCH), end));
    let is_worth = |length: usize, end: (usize, usize)| {
        let left = window.0 + window.1 - end.0 - end.1;
        length > 0 && left <= (window.0 + window.1) / if length == LONG_STRETCH { 2 } else { 8 }
    };
    stretches
        .filter(|(length, end)| is_worth(*length, *end))
        .max_by_key(|(length, _)| *length)
        .map_or(window, |(_, end)| end)
}

/// The gap without the tokens that both sides begin and end with.
fn strip(before: &[Token], after: &[Token], (mut from, mut to): Replaced) -> Replaced {
    let same = |pair: &(&Token, &Token)| pair.0 == pair.1;
    let start = before[from.clone()].iter().zip(&after[to.clone()]).take_while(same).count();
    (from.start, to.start) = (from.start + start, to.start + start);
    let end = before[from.clone()].iter().rev().zip(after[to.clone()].iter().rev()).take_while(same).count();
    (from.end, to.end) = (from.end - end, to.end - end);
    (from, to)
}

/// What lies before, between and after anchors.
fn gaps<'g>((from, to): &'g Replaced, anchors: &'g [(usize, usize)]) -> impl Iterator<Item = Replaced> + 'g {
    let starts = std::iter::once((from.start, to.start)).chain(anchors.iter().map(|(b, a)| (b + 1, a + 1)));
    let ends = anchors.iter().copied().chain(std::iter::once((from.end, to.end)));
    starts.zip(ends).map(|(start, end)| (start.0..end.0, start.1..end.1))
}

/// Of pairs that rise in their second part, the most that rise in their first as well: patience sorting.
pub fn longest_rising(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut tops: Vec<usize> = Vec::new();
    let mut previous = vec![usize::MAX; pairs.len()];
    for (place, pair) in pairs.iter().enumerate() {
        // Mostly nothing is out of order, and then no pile has to be looked for.
        let rises = tops.last().is_none_or(|top| pairs[*top].0 < pair.0);
        let pile = if rises { tops.len() } else { tops.partition_point(|top| pairs[*top].0 < pair.0) };
        if pile > 0 {
            previous[place] = tops[pile - 1];
        }
        if pile == tops.len() {
            tops.push(place);
        } else {
            tops[pile] = place;
        }
    }
    let mut rising = Vec::with_capacity(tops.len());
    let mut at = tops.last().copied();
    while let Some(place) = at {
        rising.push(pairs[place]);
        at = (previous[place] != usize::MAX).then_some(previous[place]);
    }
    rising.reverse();
    rising
}

/// Stretches of marks on both sides, with what is unmarked in step.
fn hunks(removed: &[bool], added: &[bool]) -> Vec<Replaced> {
    let marked =
        |marks: &[bool], start: usize| start + marks[start..].iter().take_while(|mark| **mark).count();
    let mut list = Vec::new();
    let (mut from, mut to) = (0, 0);
    while from < removed.len() || to < added.len() {
        let (from_end, to_end) = (marked(removed, from), marked(added, to));
        if from_end > from || to_end > to {
            list.push((from..from_end, to..to_end));
        }
        (from, to) = (from_end + 1, to_end + 1);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the search finds when it may not take the easy way.
    fn hard(before: &[u32], after: &[u32], work: usize) -> Differences {
        let input = intern(before.iter(), after.iter());
        let mut budget = Budget::of(usize::MAX).with_work(work);
        let mut search = Search::new(&input.before, &input.after, input.interner.num_tokens(), &mut budget);
        search.run();
        search.differences()
    }

    fn apply(before: &[u32], after: &[u32], differences: &Differences) -> Vec<u32> {
        let (mut made, mut at) = (Vec::new(), 0);
        for (from, to) in &differences.list {
            made.extend(&before[at..from.start]);
            made.extend(&after[to.clone()]);
            at = from.end;
        }
        made.extend(&before[at..]);
        made
    }

    /// Sequences long enough to need anchors, with some kinds of tokens that are rare and some that are not.
    fn long(kinds: u32) -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::vec(prop_oneof![0..kinds, Just(7)], 0..3000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn first_and_differences_give_the_second(
            (before, after) in prop_oneof![(long(9), long(9)), (long(4000), long(4000))], work in 0..300_000usize,
        ) {
            let found = hard(&before, &after, work);
            prop_assert_eq!(apply(&before, &after, &found), after.clone());
            let easy = compare(before.iter(), after.iter(), &mut Budget::default());
            prop_assert_eq!(apply(&before, &after, &easy), after);
        }
    }

    #[test]
    fn every_second_token_is_kept() {
        let side =
            |offset: u32| (0..20_000).map(|n| if n % 2 == 0 { n } else { n + offset }).collect::<Vec<_>>();
        let found = hard(&side(100_000), &side(200_000), 0);
        assert_eq!((found.list.len(), found.truncated), (10_000, false));
    }

    #[test]
    fn what_came_and_went_among_common_tokens_is_told_alone() {
        // Every token is there some hundred times, so that none is an anchor.
        let before: Vec<u32> = (0..60_000_u32).map(|n| n.wrapping_mul(2_654_435_761) >> 23).collect();
        let mut after = before.clone();
        for place in [50_000, 41_000, 27_000, 12_345, 300] {
            after.remove(place);
        }
        for place in [55_000, 33_000, 9_000] {
            after.insert(place, after[place - 700]);
        }
        let found = hard(&before, &after, usize::MAX);
        assert_eq!((found.list.len(), found.truncated), (8, false), "{:?}", found.list);
        let told: usize = found.list.iter().map(|(from, to)| from.len() + to.len()).sum();
        assert_eq!(told, 8);
    }

    #[test]
    fn no_anchors_and_no_budget_is_replaced() {
        let (before, after) = ([1, 2, 2].repeat(1000), [2, 1, 1].repeat(1000));
        let found = hard(&before, &after, 0);
        assert_eq!((found.list.len(), found.truncated), (1, true));
        assert!(!hard(&before, &after, usize::MAX).truncated);
    }
}
