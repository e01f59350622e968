//! Which chunks of a diff moved the score, and by how much.
//!
//! The change of a score is taken apart without remainder. With exposure E and hardening H before
//! and after,
//!
//! ```text
//! E₁(1−H₁) − E₀(1−H₀)  =  (E₁−E₀) × (1 − (H₀+H₁)/2)  −  (H₁−H₀) × (E₀+E₁)/2
//! ```
//!
//! so each added or removed finding weighs its points times the mean of what headers leave of them,
//! and each added or removed header its credit times the mean exposure. A finding of both versions
//! weighs nothing, even if it moved. A finding belongs to the chunk that covers most of the bytes
//! of its start tag.
//!
//! The score of a version is that of its most exposed page. So one page moves it: up by the most
//! exposed page of the head, down by that of the base. If those are two pages, the page moved
//! further than the score, and its findings are scaled. So contributions add up to the change, and
//! other pages contribute nothing.
//!
//! Headers are in no chunk of a body. Shares are percentages of all movement, up and down: they add
//! up to 100, unless nothing moved.

use crate::evidence::{EvidenceLocation, LocationKind};
use crate::rule_id::RuleId;
use crate::{HardeningCredit, PageScore};
use std::collections::BTreeMap;
use std::ops::Range;

/// Smaller movements are rounding errors.
const MIN_MOVEMENT: f64 = 1e-12;

/// A chunk of a diff: the bytes it replaces in the base, and by which bytes of the head. One of
/// them may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributedChunk {
    /// In the base.
    pub base: Range<usize>,
    /// In the head.
    pub head: Range<usize>,
}

impl AttributedChunk {
    /// A chunk by its offset and length on each side.
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
    pub chunks: &'a [AttributedChunk],
}

/// The cause of a movement.
#[derive(Debug, Clone, PartialEq)]
pub enum ShareCause {
    /// Evidence of the head that the base does not have, or has with fewer points.
    Came(EvidenceRef),
    /// Evidence of the base that the head does not have.
    Went(EvidenceRef),
    /// A header protects more or less.
    Protection {
        /// The header, in lower case.
        header: String,
        /// The directive, if the header is a Content-Security-Policy.
        directive: Option<String>,
    },
}

/// One finding: a place of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceRef {
    /// The number of the evidence in its page.
    pub evidence: usize,
    /// The number of the place in it. `None` for places that are counted and not listed.
    pub location: Option<usize>,
}

/// The share of one cause in the movement.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreShare {
    /// The pair of pages.
    pub page: usize,
    /// The cause.
    pub cause: ShareCause,
    /// The chunk of the diff of the page, if it is in one.
    pub chunk: Option<usize>,
    /// The movement of the score, positive if up.
    pub contribution: f64,
    /// The part of all movement, in per cent.
    pub percent: f64,
}

/// The movement of the score between two versions.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreMovement<'a> {
    /// The most exposed page of the base.
    pub base: Option<&'a PageScore>,
    /// The most exposed page of the head.
    pub head: Option<&'a PageScore>,
    /// Whether both are the same page.
    pub is_one_page: bool,
    /// The pair of pages that moved the score, if any did.
    pub mover: Option<usize>,
    /// The shares, largest first; equal shares in the order of evidence.
    pub shares: Vec<ScoreShare>,
}

impl ScoreMovement<'_> {
    /// The movement of the score, positive if up: the sum of the contributions.
    pub fn change(&self) -> f64 {
        let score = |page: Option<&PageScore>| page.map_or(0.0, |page| page.score);
        score(self.head) - score(self.base)
    }
}

/// Attributes the movement of the score of a version. `pairs` are the pages that differ; `same` is
/// the most exposed of the others.
pub fn attribute<'a>(pairs: &[PagePair<'a>], same: Option<&'a PageScore>) -> ScoreMovement<'a> {
    let unmoved = same.map(|page| PagePair { base: Some(page), head: Some(page), chunks: &[] });
    let all: Vec<PagePair<'a>> = pairs.iter().copied().chain(unmoved).collect();
    let (base, head) = makers(&all);
    let is_one_page = base.is_some() && base == head;
    let page = |index: Option<usize>, side: fn(&PagePair<'a>) -> Option<&'a PageScore>| {
        index.and_then(|index| all.get(index)).and_then(side)
    };
    let mut movement = ScoreMovement {
        base: page(base, |pair| pair.base),
        head: page(head, |pair| pair.head),
        is_one_page,
        mover: None,
        shares: Vec::new(),
    };
    let change = movement.change();
    movement.mover = match () {
        () if change > MIN_MOVEMENT => head,
        () if change < -MIN_MOVEMENT => base,
        // Movements that cancel out.
        () => head.filter(|_| is_one_page),
    };
    movement.mover = movement.mover.filter(|index| *index < pairs.len());
    movement.shares = movement.mover.map(|index| shares_of(index, &all[index], change)).unwrap_or_default();
    movement
}

/// The pairs with the most exposed page before and after: one pair if it has both, and the last of
/// several, which may be the unchanged page.
fn makers(pairs: &[PagePair<'_>]) -> (Option<usize>, Option<usize>) {
    let sides: [fn(&PagePair<'_>) -> Option<f64>; 2] =
        [|pair| pair.base.map(|page| page.score), |pair| pair.head.map(|page| page.score)];
    let [base, head] = sides.map(|score| {
        let highest = pairs.iter().filter_map(score).fold(f64::NEG_INFINITY, f64::max);
        let makes_it = |pair: &PagePair<'_>| score(pair).is_some_and(|score| score >= highest - MIN_MOVEMENT);
        pairs.iter().map(makes_it).collect::<Vec<bool>>()
    });
    let first = |makes_it: &[bool]| makes_it.iter().position(|makes_it| *makes_it);
    match base.iter().zip(&head).rposition(|(before, after)| *before && *after) {
        Some(both) => (Some(both), Some(both)),
        None => (first(&base), first(&head)),
    }
}

/// The shares of the pair that moved the score by `change`.
fn shares_of(page: usize, pair: &PagePair<'_>, change: f64) -> Vec<ScoreShare> {
    let mut shares: Vec<ScoreShare> = Vec::new();
    pair_shares(page, pair, &mut shares);
    shares.retain(|share| share.contribution.abs() > MIN_MOVEMENT);
    let moved = own_movement(pair);
    if moved.abs() > MIN_MOVEMENT {
        shares.iter_mut().for_each(|share| share.contribution *= change / moved);
    }
    shares.sort_by(|left, right| right.contribution.abs().total_cmp(&left.contribution.abs()));
    set_percentages(&mut shares);
    shares
}

/// The movement of the score of a page. A missing page has the score 0.
pub(crate) fn own_movement(pair: &PagePair<'_>) -> f64 {
    let score = |page: Option<&PageScore>| page.map_or(0.0, |page| page.score);
    score(pair.head) - score(pair.base)
}

/// Whether a page moved further than the score of the version.
pub(crate) fn exceeds(pair: &PagePair<'_>, movement: &ScoreMovement<'_>) -> bool {
    (own_movement(pair) - movement.change()).abs() > MIN_MOVEMENT
}

/// Sets percentages that add up to 100: the first and largest takes the rounding error.
fn set_percentages(shares: &mut [ScoreShare]) {
    let all: f64 = shares.iter().map(|share| share.contribution.abs()).sum();
    for share in shares.iter_mut() {
        share.percent = 100.0 * share.contribution.abs() / all;
    }
    if let Some((first, others)) = shares.split_first_mut() {
        first.percent = (100.0 - others.iter().map(|share| share.percent).sum::<f64>()).max(0.0);
    }
}

/// The shares of one page.
fn pair_shares(page: usize, pair: &PagePair<'_>, shares: &mut Vec<ScoreShare>) {
    // A missing page exposes nothing. It gets the headers of the other page.
    let (Some(before), Some(after)) = (pair.base.or(pair.head), pair.head.or(pair.base)) else { return };
    let kept = 1.0 - f64::midpoint(before.hardening, after.hardening);
    for (cause, chunk, points) in moved_finds(pair) {
        shares.push(ScoreShare { page, cause, chunk, contribution: points * kept, percent: 0.0 });
    }
    if let (Some(base), Some(head)) = (pair.base, pair.head) {
        let mean = f64::midpoint(base.exposure, head.exposure);
        for (cause, points) in moved_credits(&base.credits, &head.credits) {
            shares.push(ScoreShare { page, cause, chunk: None, contribution: -points * mean, percent: 0.0 });
        }
    }
}

/// Headers and directives whose credit changed.
fn moved_credits(base: &[HardeningCredit], head: &[HardeningCredit]) -> Vec<(ShareCause, f64)> {
    let mut moved: BTreeMap<(&str, Option<&str>), f64> = BTreeMap::new();
    for (credits, sign) in [(base, -1.0), (head, 1.0)] {
        for credit in credits {
            *moved.entry((&credit.header, credit.directive.as_deref())).or_default() += sign * credit.points;
        }
    }
    let cause = |(header, directive): (&str, Option<&str>)| ShareCause::Protection {
        header: header.to_owned(),
        directive: directive.map(str::to_owned),
    };
    moved.into_iter().map(|(key, points)| (cause(key), points)).collect()
}

/// The key of a finding in both versions.
type Key<'a> = (RuleId, Option<(LocationKind, &'a str, &'a str)>);

/// A finding with its points and its place.
struct ScoredUnit<'a> {
    find: EvidenceRef,
    points: f64,
    chunk: Option<usize>,
    key: Key<'a>,
}

/// Findings that were added, removed or changed their points, with the chunk and the points.
fn moved_finds(pair: &PagePair<'_>) -> Vec<(ShareCause, Option<usize>, f64)> {
    let mut known: BTreeMap<Key<'_>, [Vec<ScoredUnit<'_>>; 2]> = BTreeMap::new();
    let spans = [Spans::new(pair.chunks, |chunk| &chunk.base), Spans::new(pair.chunks, |chunk| &chunk.head)];
    for (side, score) in [pair.base, pair.head].into_iter().enumerate() {
        for unit in score.into_iter().flat_map(|score| units(score, &spans[side])) {
            known.entry(unit.key).or_default()[side].push(unit);
        }
    }
    let mut moved: Vec<_> = known.into_values().flat_map(|[base, head]| match_units(base, head)).collect();
    moved.sort_by_key(|(cause, ..)| match cause {
        ShareCause::Came(find) => (0, find.evidence, find.location),
        ShareCause::Went(find) => (1, find.evidence, find.location),
        ShareCause::Protection { .. } => (2, 0, None),
    });
    moved
}

/// Pairs findings of the same key. If one side has more, those in a chunk are the surplus.
fn match_units(
    mut base: Vec<ScoredUnit<'_>>,
    mut head: Vec<ScoredUnit<'_>>,
) -> Vec<(ShareCause, Option<usize>, f64)> {
    base.sort_by_key(|unit| unit.chunk.is_some());
    head.sort_by_key(|unit| unit.chunk.is_some());
    let both = base.len().min(head.len());
    let went = base.drain(both..).map(|unit| (ShareCause::Went(unit.find), unit.chunk, -unit.points));
    let mut moved: Vec<_> = went.collect();
    moved.extend(head.drain(both..).map(|unit| (ShareCause::Came(unit.find), unit.chunk, unit.points)));
    let changed = base.into_iter().zip(head);
    moved.extend(changed.map(|(old, new)| (ShareCause::Came(new.find), new.chunk, new.points - old.points)));
    moved.retain(|(_, _, points)| points.abs() > MIN_MOVEMENT);
    moved
}

/// The findings of a page that score. Those that are counted and not listed are one together.
fn units<'a>(score: &'a PageScore, spans: &Spans) -> Vec<ScoredUnit<'a>> {
    let mut found = Vec::new();
    for (evidence, piece) in score.evidence.iter().enumerate().filter(|(_, piece)| piece.exposure > 0.0) {
        let each = piece.exposure_each();
        for (location, place) in piece.locations.iter().enumerate() {
            found.push(ScoredUnit {
                find: EvidenceRef { evidence, location: Some(location) },
                points: each,
                chunk: spans.best(place),
                key: (piece.key, Some(place.identity())),
            });
        }
        let rest = piece.count.saturating_sub(piece.locations.len());
        if rest > 0 {
            let find = EvidenceRef { evidence, location: None };
            found.push(ScoredUnit { find, points: each * rest as f64, chunk: None, key: (piece.key, None) });
        }
    }
    found
}

/// The chunks of one side, in order of their offsets.
struct Spans(Vec<(usize, usize, usize)>);

impl Spans {
    fn new(chunks: &[AttributedChunk], side: fn(&AttributedChunk) -> &Range<usize>) -> Self {
        let span = |(index, chunk)| (side(chunk).start, side(chunk).end, index);
        let mut spans: Vec<_> = chunks.iter().enumerate().map(span).collect();
        spans.sort_unstable();
        Self(spans)
    }

    /// The chunk that covers most of a place, the first of equal ones. A chunk that is empty on
    /// this side counts if it is inside of the place.
    fn best(&self, place: &EvidenceLocation) -> Option<usize> {
        let (start, end) = (place.byte_start?, place.byte_end?);
        let from = self.0.partition_point(|&(_, span_end, _)| span_end <= start);
        let touching = self.0[from..].iter().take_while(|&&(span_start, ..)| span_start < end);
        let covered = touching.map(|&(span_start, span_end, index)| {
            (span_end.min(end).saturating_sub(span_start.max(start)), std::cmp::Reverse(index))
        });
        covered.max().map(|(_, std::cmp::Reverse(index))| index)
    }
}
