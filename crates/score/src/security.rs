//! Two scores of one page side by side: by how much it became better or worse, and what changed on its surface.
//!
//! Owns the shape of a security diff as JSON. `url` is the address of the page; the path in the working tree stands
//! beside it. A page that came or went is compared with an empty one, headers apart: they protect nothing else. Of a page
//! one of whose bodies cannot be had, headers and cookies are compared, and every number that would need the body is unknown.

use crate::changes::{Change, Compared, changes};
use crate::pack::Pack;
use crate::surface::Surface;
use crate::{Category, PageScore, RuleId};
use serde::Serialize;

/// A server that says so sends few headers, which says nothing of those it leaves out.
const NOT_MODIFIED: u16 = 304;

/// How two versions of a page differ in what they expose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecurityDiff {
    /// The address of the page.
    pub url: String,
    /// Its path in the working tree.
    pub file_path: String,
    /// The version before; empty if the page is new.
    pub base_version_id: String,
    /// The version after; empty if the page is gone.
    pub head_version_id: String,
    /// The capture before.
    pub base_snapshot_id: String,
    /// The capture after.
    pub head_snapshot_id: String,
    /// The score before, 0 without a page; none if the body that it had is not known.
    pub score_base: Option<f64>,
    /// The score after, likewise.
    pub score_head: Option<f64>,
    /// After less before, if both are known.
    pub score_delta: Option<f64>,
    /// Exposure after less before, if both are known.
    pub exposure_delta: Option<f64>,
    /// Hardening after less before.
    pub hardening_delta: f64,
    /// Whether the score went up, if that is known.
    pub regressed: Option<bool>,
    /// Whether bodies were compared, and not only headers and cookies.
    pub bodies_compared: bool,
    /// Whether anything on the surface changed.
    pub attack_surface_changed: bool,
    /// What changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attack_surface_changes: Vec<Change>,
    /// Rules that found something now and nothing before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_rules: Vec<RuleId>,
}

/// One side of a page: what was found there, and whether its body was looked at.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What was found; without a body, what address and headers tell.
    pub score: &'a PageScore,
    /// Whether there was a body to look at.
    pub has_body: bool,
}

impl<'a> Side<'a> {
    /// A page whose body was looked at.
    pub const fn whole(score: &'a PageScore) -> Self {
        Self { score, has_body: true }
    }
}

impl SecurityDiff {
    /// Compares a page with itself in another version; none if neither has it.
    pub fn between(pack: &Pack, base: Option<&PageScore>, head: Option<&PageScore>) -> Option<Self> {
        Self::as_far_as_known(pack, base.map(Side::whole), head.map(Side::whole))
    }

    /// The same of sides that may lack their bodies.
    pub fn as_far_as_known(pack: &Pack, base: Option<Side<'_>>, head: Option<Side<'_>>) -> Option<Self> {
        let page = head.or(base)?.score;
        let bodies_compared = base.iter().chain(&head).all(|side| side.has_body);
        let compared = Compared { bodies: bodies_compared, headers: is_answer(base) && is_answer(head) };
        let name = |side: Option<Side<'_>>, value: fn(&PageScore) -> &String| {
            side.map(|side| value(side.score).clone()).unwrap_or_default()
        };
        let nothing = Surface::default();
        let before = base.map_or(&nothing, |side| &side.score.surface);
        let after = head.map_or(&nothing, |side| &side.score.surface);
        let attack_surface_changes = changes(pack, before, after, compared);
        let score_delta = delta(base, head, |page| page.score);
        let hardening = |side: Option<Side<'_>>| side.map_or(0.0, |side| side.score.hardening);
        Some(Self {
            url: page.url.clone(),
            file_path: page.file_path.clone(),
            base_version_id: name(base, |page| &page.version_id),
            head_version_id: name(head, |page| &page.version_id),
            base_snapshot_id: name(base, |page| &page.snapshot_id),
            head_snapshot_id: name(head, |page| &page.snapshot_id),
            score_base: known(base, |page| page.score),
            score_head: known(head, |page| page.score),
            score_delta,
            exposure_delta: delta(base, head, |page| page.exposure),
            hardening_delta: hardening(head) - hardening(base),
            regressed: score_delta.map(|delta| delta > 0.0),
            bodies_compared,
            attack_surface_changed: !attack_surface_changes.is_empty(),
            attack_surface_changes,
            new_rules: new_rules(base, head),
        })
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        let moved = self.score_delta.is_some_and(|delta| delta.abs() >= 1e-9);
        !self.attack_surface_changed && !moved && self.new_rules.is_empty()
    }

    /// What there is to tell, the worst first.
    pub(crate) fn worst_first(&self) -> Vec<&Change> {
        let mut changes: Vec<_> = self.attack_surface_changes.iter().collect();
        changes.sort_by(|left, right| {
            right.severity.cmp(&left.severity).then(right.score.total_cmp(&left.score))
        });
        changes
    }
}

/// A number of a side: 0 without a page, none without its body.
fn known(side: Option<Side<'_>>, value: fn(&PageScore) -> f64) -> Option<f64> {
    match side {
        Some(side) => side.has_body.then(|| value(side.score)),
        None => Some(0.0),
    }
}

/// By how much a number moved, if it is known on both sides.
fn delta(base: Option<Side<'_>>, head: Option<Side<'_>>, value: fn(&PageScore) -> f64) -> Option<f64> {
    Some(known(head, value)? - known(base, value)?)
}

/// Whether a side has the headers of an answer.
fn is_answer(side: Option<Side<'_>>) -> bool {
    side.is_some_and(|side| side.score.surface.status_code != NOT_MODIFIED)
}

/// The rules that only the head has evidence of, in order; where a body is not known, those that look at no body.
fn new_rules(base: Option<Side<'_>>, head: Option<Side<'_>>) -> Vec<RuleId> {
    let with_bodies = base.iter().chain(&head).all(|side| side.has_body);
    let needs_no_body = |category| matches!(category, Category::Cookie | Category::Header);
    let rules = |side: Option<Side<'_>>| -> std::collections::BTreeSet<RuleId> {
        let evidence = side.into_iter().flat_map(|side| &side.score.evidence);
        evidence.filter(|piece| with_bodies || needs_no_body(piece.category)).map(|piece| piece.key).collect()
    };
    rules(head).difference(&rules(base)).copied().collect()
}
