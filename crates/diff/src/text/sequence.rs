//! Two sequences of tokens compared in bounded time.
//!
//! The histogram algorithm gives the most readable diffs and is fast on ordinary text. But it reads
//! the rest of both sequences once for each shared run, which is quadratic for many short runs. So
//! its cost is estimated first, from the tokens that each side has once. If it is too high, those
//! tokens become anchors: the longest list of them that is in the same order on both sides. Only
//! the gaps between anchors are compared. A gap without anchors repeats a few kinds of tokens:
//! tokens of only one side are set aside, and the rest is compared in windows while the
//! [`TokenBudget`] lasts. The remainder is reported as replaced.
//!
//! Myers' algorithm in the library is not used for long gaps, because it is quadratic in frequent
//! tokens.

use super::words::TokenBudget;
use imara_diff::{Algorithm, Diff, InternedInput, Interner, Token};
use std::hash::Hash;
use std::ops::Range;

/// Maximum number of steps of the histogram algorithm on whole sequences.
const MAX_HISTOGRAM_STEPS: usize = 100_000_000;

/// Number of tokens up to which a gap is always compared by histogram.
const SMALL_GAP_TOKENS: usize = 2048;

/// Maximum cost of a window for each of its tokens.
const WINDOW_COST: usize = 300;

/// Number of tokens in a row that are not shared by chance.
const LONG_RUN_TOKENS: usize = 32;

/// Maximum number of times that a gap is split by its own anchors.
const MAX_ANCHOR_ROUNDS: usize = 4;

/// Tokens of the first sequence and the tokens of the second that replace them.
pub type Replaced = (Range<usize>, Range<usize>);

/// How two sequences differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Differences {
    /// The replaced ranges, in order. One of the two ranges may be empty.
    pub list: Vec<Replaced>,
    /// Whether the budget was exhausted, so that parts are reported as replaced without a
    /// comparison.
    pub truncated: bool,
}

/// Compares two sequences of anything.
pub fn compare<T: Eq + Hash>(
    before: impl Iterator<Item = T>,
    after: impl Iterator<Item = T>,
    budget: &mut TokenBudget,
) -> Differences {
    let input = intern(before, after);
    compare_interned(&input, budget, |diff, input| diff.postprocess_no_heuristic(input))
}

/// Numbers the tokens.
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

/// Compares numbered tokens. `tidy` may move changes to more readable places; it is not used for
/// expensive sequences.
pub(super) fn compare_interned<T>(
    input: &InternedInput<T>,
    budget: &mut TokenBudget,
    tidy: impl FnOnce(&mut Diff, &InternedInput<T>),
) -> Differences {
    let kinds = input.interner.num_tokens();
    let mut search = WindowSearch::new(&input.before, &input.after, kinds, budget);
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

struct WindowSearch<'a, 'b> {
    before: &'a [Token],
    after: &'a [Token],
    removed: Vec<bool>,
    added: Vec<bool>,
    /// For each kind of token, its counts in the current gap.
    sightings: Vec<Sighting>,
    budget: &'b mut TokenBudget,
    truncated: bool,
}

/// The count of a kind of token on each side of a gap, at most 2, and its index in the first
/// sequence.
#[derive(Clone, Copy, Default)]
struct Sighting {
    before: u8,
    after: u8,
    place: u32,
}

impl<'a, 'b> WindowSearch<'a, 'b> {
    fn new(before: &'a [Token], after: &'a [Token], kinds: u32, budget: &'b mut TokenBudget) -> Self {
        let (removed, added) = (vec![false; before.len()], vec![false; after.len()]);
        let sightings = vec![Sighting::default(); kinds as usize];
        Self { before, after, removed, added, sightings, budget, truncated: false }
    }

    /// Whether the histogram algorithm is fast on the whole sequences: the number of shared runs
    /// times the length.
    fn is_easy(&mut self) -> bool {
        let whole = strip(self.before, self.after, (0..self.before.len(), 0..self.after.len()));
        let length = whole.0.len() + whole.1.len();
        if length <= SMALL_GAP_TOKENS {
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
        cost <= MAX_HISTOGRAM_STEPS && self.budget.work(cost)
    }

    fn run(&mut self) {
        let mut open = vec![((0..self.before.len(), 0..self.after.len()), 0)];
        while let Some((gap, round)) = open.pop() {
            let gap = strip(self.before, self.after, gap);
            let length = gap.0.len() + gap.1.len();
            if gap.0.is_empty() || gap.1.is_empty() {
                self.replace(gap);
            } else if length <= SMALL_GAP_TOKENS {
                let (from, to): (Vec<_>, Vec<_>) = (gap.0.collect(), gap.1.collect());
                let found = self.leave(&from, &to);
                self.mark(&from, &to, found.into_iter());
            } else {
                let anchors = self.anchors(&gap);
                if anchors.is_empty() || round >= MAX_ANCHOR_ROUNDS {
                    self.by_windows(gap);
                } else {
                    open.extend(gaps(&gap, &anchors).map(|gap| (gap, round + 1)));
                }
            }
        }
    }

    /// The marked ranges. At the end of a window a removed range may share its ends with the added
    /// one, which is no difference.
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

    /// Compares a gap, whose tokens were just counted, in windows. Equal tokens at the start are
    /// skipped. Each window begins behind a long run that both sides share in the window before.
    /// Windows of fixed length would split such runs after an insertion, and report them as removed
    /// and added.
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
            if !self.budget.work(SMALL_GAP_TOKENS * WINDOW_COST) {
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

    /// Marks the differences at these indexes.
    fn mark(&mut self, from: &[usize], to: &[usize], found: impl Iterator<Item = Replaced>) {
        for (gone, come) in found {
            from[gone].iter().for_each(|place| self.removed[*place] = true);
            to[come].iter().for_each(|place| self.added[*place] = true);
        }
    }

    /// Compares a few tokens by the library. Its tables are as large as the highest token number,
    /// so tokens are renumbered.
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

    /// Indexes of tokens that each side of the gap has once, in the order of both.
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

/// The number of tokens of each side in the next window, in proportion to what is left of each
/// side.
fn window(from: usize, to: usize) -> (usize, usize) {
    if from + to <= SMALL_GAP_TOKENS {
        return (from, to);
    }
    let share = (SMALL_GAP_TOKENS * from / (from + to)).clamp(1, SMALL_GAP_TOKENS - 1);
    (share.min(from), (SMALL_GAP_TOKENS - share).min(to))
}

/// The end of a window that splits no shared run: behind the last long run that both sides share,
/// else behind the longest run near its end. Without such a run the window ends where it was cut.
fn sure_end(found: &[Replaced], window: (usize, usize)) -> (usize, usize) {
    let starts = std::iter::once((0, 0)).chain(found.iter().map(|(gone, come)| (gone.end, come.end)));
    let ends = found.iter().map(|(gone, come)| (gone.start, come.start)).chain(std::iter::once(window));
    let stretches = starts.zip(ends).map(|(start, end)| ((end.0 - start.0).min(LONG_RUN_TOKENS), end));
    let is_worth = |length: usize, end: (usize, usize)| {
        let left = window.0 + window.1 - end.0 - end.1;
        length > 0 && left <= (window.0 + window.1) / if length == LONG_RUN_TOKENS { 2 } else { 8 }
    };
    stretches
        .filter(|(length, end)| is_worth(*length, *end))
        .max_by_key(|(length, _)| *length)
        .map_or(window, |(_, end)| end)
}

/// The gap without the tokens that both sides share at its ends.
fn strip(before: &[Token], after: &[Token], (mut from, mut to): Replaced) -> Replaced {
    let same = |pair: &(&Token, &Token)| pair.0 == pair.1;
    let start = before[from.clone()].iter().zip(&after[to.clone()]).take_while(same).count();
    (from.start, to.start) = (from.start + start, to.start + start);
    let end = before[from.clone()].iter().rev().zip(after[to.clone()].iter().rev()).take_while(same).count();
    (from.end, to.end) = (from.end - end, to.end - end);
    (from, to)
}

/// The gaps before, between and after anchors.
fn gaps<'g>((from, to): &'g Replaced, anchors: &'g [(usize, usize)]) -> impl Iterator<Item = Replaced> + 'g {
    let starts = std::iter::once((from.start, to.start)).chain(anchors.iter().map(|(b, a)| (b + 1, a + 1)));
    let ends = anchors.iter().copied().chain(std::iter::once((from.end, to.end)));
    starts.zip(ends).map(|(start, end)| (start.0..end.0, start.1..end.1))
}

/// The longest list of pairs that increase in both parts, of pairs that increase in the second:
/// patience sorting.
pub fn longest_rising(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut tops: Vec<usize> = Vec::new();
    let mut previous = vec![usize::MAX; pairs.len()];
    for (place, pair) in pairs.iter().enumerate() {
        // Usually nothing is out of order, and no pile has to be searched.
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

/// Runs of marks on both sides, between unmarked tokens in step.
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
        let mut budget = TokenBudget::of(usize::MAX).with_work(work);
        let mut search =
            WindowSearch::new(&input.before, &input.after, input.interner.num_tokens(), &mut budget);
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

    /// Sequences long enough to need anchors, with some kinds of tokens that are rare and some that
    /// are not.
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
            let easy = compare(before.iter(), after.iter(), &mut TokenBudget::default());
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
    fn insertions_among_common_tokens_are_reported_alone() {
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
