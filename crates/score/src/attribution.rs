//! Which chunks of a diff moved the score, and by how much.
//!
//! The change of a score is taken apart without remainder. With exposure E and hardening H before and after,
//!
//! ```text
//! E₁(1−H₁) − E₀(1−H₀)  =  (E₁−E₀) × (1 − (H₀+H₁)/2)  −  (H₁−H₀) × (E₀+E₁)/2
//! ```
//!
//! so that each find that came or went weighs its points times the mean of what headers leave of them, and each header
//! that came or went its credit times the mean exposure. A find that is in both versions weighs nothing, wherever it
//! moved to. It is tied to the chunk that covers most of its start tag, by bytes, not by searching for its text.
//!
//! The score of a version is that of its most exposed page, so it is moved by one page: up by the one that makes it now, down
//! by the one that made it. Where those are two, a page moved further than the score did: its finds weigh in
//! proportion. So contributions add up to the change, and all other pages have none in it.
//!
//! Headers stand in no chunk of a body. Shares are percentages of all movement, up and down alike: they add up to 100,
//! unless nothing moved.

use crate::evidence::{Location, LocationKind};
use crate::rule::RuleId;
use crate::{Credit, PageScore};
use std::collections::BTreeMap;
use std::ops::Range;

/// Movement below this is rounding.
const NOTHING: f64 = 1e-12;

/// A chunk of a diff: the bytes it replaces in the base, and by which bytes of the head. One of them may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// In the base.
    pub base: Range<usize>,
    /// In the head.
    pub head: Range<usize>,
}

impl Chunk {
    /// A chunk as diffs say it: where it begins in each side, and how long it is there.
    pub const fn new(base_start: usize, base_length: usize, head_start: usize, head_length: usize) -> Self {
        Self {
            base: base_start..base_start.saturating_add(base_length),
            head: head_start..head_start.saturating_add(head_length),
        }
    }
}

/// A page before and after, with the chunks of its diff.
#[derive(Debug, Clone, Copy)]
pub struct PagePair<'a> {
    /// Before; none if the page is new.
    pub base: Option<&'a PageScore>,
    /// After; none if the page is gone.
    pub head: Option<&'a PageScore>,
    /// The chunks, in order.
    pub chunks: &'a [Chunk],
}

/// What moved a score.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// Evidence of the head that the base does not have, or has with fewer points.
    Came(Find),
    /// Evidence of the base that the head does not have.
    Went(Find),
    /// A header protects more or less.
    Protection {
        /// The header, in lower case.
        header: String,
        /// The directive, if the header is a Content-Security-Policy.
        directive: Option<String>,
    },
}

/// One find: a place of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Find {
    /// The number of the evidence in its page.
    pub evidence: usize,
    /// The number of the place in it; none for those that are counted and not listed.
    pub location: Option<usize>,
}

/// What one cause has to do with the change.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Which pair of pages.
    pub page: usize,
    /// What it was.
    pub cause: Cause,
    /// The chunk of the page's diff, if it is in one.
    pub chunk: Option<usize>,
    /// By how much it moved the score: positive if up.
    pub contribution: f64,
    /// How much of all movement that is, in per cent.
    pub percent: f64,
}

/// How the score of a version came from that of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Movement<'a> {
    /// The page that made the score before, which is the most exposed; none if there was none.
    pub base: Option<&'a PageScore>,
    /// The page that makes it now.
    pub head: Option<&'a PageScore>,
    /// Those two are one page, before and after.
    pub is_one_page: bool,
    /// The pair of pages that moved the score, if any did.
    pub mover: Option<usize>,
    /// What the change is due to. The greatest share comes first; equal ones stay in the order of evidence.
    pub shares: Vec<Share>,
}

impl Movement<'_> {
    /// By how much the score moved: positive if up. Contributions add up to it.
    pub fn change(&self) -> f64 {
        let score = |page: Option<&PageScore>| page.map_or(0.0, |page| page.score);
        score(self.head) - score(self.base)
    }
}

/// Shares out the change of a version's score. `pairs` are the pages that differ; `same` is the most exposed of those that do not.
pub fn attribute<'a>(pairs: &[PagePair<'a>], same: Option<&'a PageScore>) -> Movement<'a> {
    let unmoved = same.map(|page| PagePair { base: Some(page), head: Some(page), chunks: &[] });
    let all: Vec<PagePair<'a>> = pairs.iter().copied().chain(unmoved).collect();
    let (base, head) = makers(&all);
    let is_one_page = base.is_some() && base == head;
    let page = |index: Option<usize>, side: fn(&PagePair<'a>) -> Option<&'a PageScore>| {
        index.and_then(|index| all.get(index)).and_then(side)
    };
    let mut movement = Movement {
        base: page(base, |pair| pair.base),
        head: page(head, |pair| pair.head),
        is_one_page,
        mover: None,
        shares: Vec::new(),
    };
    let change = movement.change();
    movement.mover = match () {
        () if change > NOTHING => head,
        () if change < -NOTHING => base,
        // Movement that comes to nothing in the end.
        () => head.filter(|_| is_one_page),
    };
    movement.mover = movement.mover.filter(|index| *index < pairs.len());
    movement.shares = movement.mover.map(|index| shares_of(index, &all[index], change)).unwrap_or_default();
    movement
}

/// The pairs whose pages make the score before and after: one pair, if one does both; of several such the last, which may be the
/// one that did not change.
fn makers(pairs: &[PagePair<'_>]) -> (Option<usize>, Option<usize>) {
    let sides: [fn(&PagePair<'_>) -> Option<f64>; 2] =
        [|pair| pair.base.map(|page| page.score), |pair| pair.head.map(|page| page.score)];
    let [base, head] = sides.map(|score| {
        let highest = pairs.iter().filter_map(score).fold(f64::NEG_INFINITY, f64::max);
        let makes_it = |pair: &PagePair<'_>| score(pair).is_some_and(|score| score >= highest - NOTHING);
        pairs.iter().map(makes_it).collect::<Vec<bool>>()
    });
    let first = |makes_it: &[bool]| makes_it.iter().position(|makes_it| *makes_it);
    match base.iter().zip(&head).rposition(|(before, after)| *before && *after) {
        Some(both) => (Some(both), Some(both)),
        None => (first(&base), first(&head)),
    }
}

/// The shares of the one pair that moved the score by `change`.
fn shares_of(page: usize, pair: &PagePair<'_>, change: f64) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    pair_shares(page, pair, &mut shares);
    shares.retain(|share| share.contribution.abs() > NOTHING);
    let moved = own_movement(pair);
    if moved.abs() > NOTHING {
        shares.iter_mut().for_each(|share| share.contribution *= change / moved);
    }
    shares.sort_by(|left, right| right.contribution.abs().total_cmp(&left.contribution.abs()));
    set_percentages(&mut shares);
    shares
}

/// By how much the score of a page moved, whether or not it makes that of its version. One that is not there has none.
pub(crate) fn own_movement(pair: &PagePair<'_>) -> f64 {
    let score = |page: Option<&PageScore>| page.map_or(0.0, |page| page.score);
    score(pair.head) - score(pair.base)
}

/// Whether a page moved further than the score did that it makes.
pub(crate) fn exceeds(pair: &PagePair<'_>, movement: &Movement<'_>) -> bool {
    (own_movement(pair) - movement.change()).abs() > NOTHING
}

/// Sets percentages so that they add up to 100: the first and greatest takes what rounding leaves.
fn set_percentages(shares: &mut [Share]) {
    let all: f64 = shares.iter().map(|share| share.contribution.abs()).sum();
    for share in shares.iter_mut() {
        share.percent = 100.0 * share.contribution.abs() / all;
    }
    if let Some((first, others)) = shares.split_first_mut() {
        first.percent = (100.0 - others.iter().map(|share| share.percent).sum::<f64>()).max(0.0);
    }
}

/// The shares of one page.
fn pair_shares(page: usize, pair: &PagePair<'_>, shares: &mut Vec<Share>) {
    // A page that is not there exposes nothing, whatever its headers would have been: the other's are taken.
    let (Some(before), Some(after)) = (pair.base.or(pair.head), pair.head.or(pair.base)) else { return };
    let kept = 1.0 - f64::midpoint(before.hardening, after.hardening);
    for (cause, chunk, points) in moved_finds(pair) {
        shares.push(Share { page, cause, chunk, contribution: points * kept, percent: 0.0 });
    }
    if let (Some(base), Some(head)) = (pair.base, pair.head) {
        let mean = f64::midpoint(base.exposure, head.exposure);
        for (cause, points) in moved_credits(&base.credits, &head.credits) {
            shares.push(Share { page, cause, chunk: None, contribution: -points * mean, percent: 0.0 });
        }
    }
}

/// Headers and directives whose credit is another.
fn moved_credits(base: &[Credit], head: &[Credit]) -> Vec<(Cause, f64)> {
    let mut moved: BTreeMap<(&str, Option<&str>), f64> = BTreeMap::new();
    for (credits, sign) in [(base, -1.0), (head, 1.0)] {
        for credit in credits {
            *moved.entry((&credit.header, credit.directive.as_deref())).or_default() += sign * credit.points;
        }
    }
    let cause = |(header, directive): (&str, Option<&str>)| Cause::Protection {
        header: header.to_owned(),
        directive: directive.map(str::to_owned),
    };
    moved.into_iter().map(|(key, points)| (cause(key), points)).collect()
}

/// What a find is known by in both versions.
type Key<'a> = (RuleId, Option<(LocationKind, &'a str, &'a str)>);

/// A find with its points and where it stands.
struct Unit<'a> {
    find: Find,
    points: f64,
    chunk: Option<usize>,
    key: Key<'a>,
}

/// Finds that came, went, or weigh otherwise than before, with the chunk and the points.
fn moved_finds(pair: &PagePair<'_>) -> Vec<(Cause, Option<usize>, f64)> {
    let mut known: BTreeMap<Key<'_>, [Vec<Unit<'_>>; 2]> = BTreeMap::new();
    let spans = [Spans::new(pair.chunks, |chunk| &chunk.base), Spans::new(pair.chunks, |chunk| &chunk.head)];
    for (side, score) in [pair.base, pair.head].into_iter().enumerate() {
        for unit in score.into_iter().flat_map(|score| units(score, &spans[side])) {
            known.entry(unit.key).or_default()[side].push(unit);
        }
    }
    let mut moved: Vec<_> = known.into_values().flat_map(|[base, head]| match_units(base, head)).collect();
    moved.sort_by_key(|(cause, ..)| match cause {
        Cause::Came(find) => (0, find.evidence, find.location),
        Cause::Went(find) => (1, find.evidence, find.location),
        Cause::Protection { .. } => (2, 0, None),
    });
    moved
}

/// Pairs finds that are known by the same key. Where one side has more, those count as moved that stand in a chunk.
fn match_units(mut base: Vec<Unit<'_>>, mut head: Vec<Unit<'_>>) -> Vec<(Cause, Option<usize>, f64)> {
    base.sort_by_key(|unit| unit.chunk.is_some());
    head.sort_by_key(|unit| unit.chunk.is_some());
    let both = base.len().min(head.len());
    let went = base.drain(both..).map(|unit| (Cause::Went(unit.find), unit.chunk, -unit.points));
    let mut moved: Vec<_> = went.collect();
    moved.extend(head.drain(both..).map(|unit| (Cause::Came(unit.find), unit.chunk, unit.points)));
    let changed = base.into_iter().zip(head);
    moved.extend(changed.map(|(old, new)| (Cause::Came(new.find), new.chunk, new.points - old.points)));
    moved.retain(|(_, _, points)| points.abs() > NOTHING);
    moved
}

/// The finds of a page that score. Those that are counted and not listed make one together.
fn units<'a>(score: &'a PageScore, spans: &Spans) -> Vec<Unit<'a>> {
    let mut found = Vec::new();
    for (evidence, piece) in score.evidence.iter().enumerate().filter(|(_, piece)| piece.exposure > 0.0) {
        let each = piece.exposure_each();
        for (location, place) in piece.locations.iter().enumerate() {
            found.push(Unit {
                find: Find { evidence, location: Some(location) },
                points: each,
                chunk: spans.best(place),
                key: (piece.key, Some(place.identity())),
            });
        }
        let rest = piece.count.saturating_sub(piece.locations.len());
        if rest > 0 {
            let find = Find { evidence, location: None };
            found.push(Unit { find, points: each * rest as f64, chunk: None, key: (piece.key, None) });
        }
    }
    found
}

/// The chunks as they lie in one side, in order of their beginnings.
struct Spans(Vec<(usize, usize, usize)>);

impl Spans {
    fn new(chunks: &[Chunk], side: fn(&Chunk) -> &Range<usize>) -> Self {
        let span = |(index, chunk)| (side(chunk).start, side(chunk).end, index);
        let mut spans: Vec<_> = chunks.iter().enumerate().map(span).collect();
        spans.sort_unstable();
        Self(spans)
    }

    /// The chunk that covers most of a place; of equal ones the first. A chunk that is empty on this side counts if it
    /// is inside: something was taken out there.
    fn best(&self, place: &Location) -> Option<usize> {
        let (start, end) = (place.byte_start?, place.byte_end?);
        let from = self.0.partition_point(|&(_, span_end, _)| span_end <= start);
        let touching = self.0[from..].iter().take_while(|&&(span_start, ..)| span_start < end);
        let covered = touching.map(|&(span_start, span_end, index)| {
            (span_end.min(end).saturating_sub(span_start.max(start)), std::cmp::Reverse(index))
        });
        covered.max().map(|(_, std::cmp::Reverse(index))| index)
    }
}
