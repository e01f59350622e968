//! The security diff of one page between two versions: the scores and the changes of its attack
//! surface.
//!
//! Owns the JSON form of a security diff. A page that is new or gone is compared with an empty one,
//! without headers. If a body is not available, headers and cookies are compared, and numbers that
//! need the body are unknown.

use crate::changes::{ComparedParts, SurfaceChange, changes};
use crate::rule_pack::RulePack;
use crate::surface::AttackSurface;
use crate::{PageScore, RuleCategory, RuleId};
use serde::Serialize;

/// Status of a response with few headers. Missing headers in it mean nothing.
const NOT_MODIFIED: u16 = 304;

/// The differences in exposure between two versions of a page.
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
    /// The scores of both versions.
    #[serde(flatten)]
    pub scores: ScoreDelta,
    /// Whether bodies were compared, and not only headers and cookies.
    pub bodies_compared: bool,
    /// Whether anything on the surface changed.
    pub attack_surface_changed: bool,
    /// What changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attack_surface_changes: Vec<SurfaceChange>,
    /// Rules that found something now and nothing before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_rules: Vec<RuleId>,
}

/// The scores of a page in two versions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreDelta {
    /// The score before: 0 without a page, `None` if its body is unknown.
    pub score_base: Option<f64>,
    /// The score after, likewise.
    pub score_head: Option<f64>,
    /// The score after minus the score before, if both are known.
    pub score_delta: Option<f64>,
    /// The exposure after minus the exposure before, if both are known.
    pub exposure_delta: Option<f64>,
    /// The hardening after minus the hardening before.
    pub hardening_delta: f64,
    /// Whether the score increased, if that is known.
    pub regressed: Option<bool>,
}

impl ScoreDelta {
    fn between(base: Option<ScoredSide<'_>>, head: Option<ScoredSide<'_>>) -> Self {
        let score_delta = delta(base, head, |page| page.score);
        let hardening = |side: Option<ScoredSide<'_>>| side.map_or(0.0, |side| side.score.hardening);
        Self {
            score_base: known(base, |page| page.score),
            score_head: known(head, |page| page.score),
            score_delta,
            exposure_delta: delta(base, head, |page| page.exposure),
            hardening_delta: hardening(head) - hardening(base),
            regressed: score_delta.map(|delta| delta > 0.0),
        }
    }
}

/// One version of a page: its score, and whether its body is known.
#[derive(Debug, Clone, Copy)]
pub struct ScoredSide<'a> {
    /// The score. Without a body, that of address and headers.
    pub score: &'a PageScore,
    /// Whether the body is available.
    pub has_body: bool,
}

impl<'a> ScoredSide<'a> {
    /// A page whose body is available.
    pub const fn whole(score: &'a PageScore) -> Self {
        Self { score, has_body: true }
    }
}

impl SecurityDiff {
    /// Compares two versions of a page. `None` if neither has it.
    pub fn between(pack: &RulePack, base: Option<&PageScore>, head: Option<&PageScore>) -> Option<Self> {
        Self::between_sides(pack, base.map(ScoredSide::whole), head.map(ScoredSide::whole))
    }

    /// Compares two versions of a page whose bodies may be unavailable.
    pub fn between_sides(
        pack: &RulePack,
        base: Option<ScoredSide<'_>>,
        head: Option<ScoredSide<'_>>,
    ) -> Option<Self> {
        let page = head.or(base)?.score;
        let bodies_compared = base.iter().chain(&head).all(|side| side.has_body);
        let compared = ComparedParts { bodies: bodies_compared, headers: is_answer(base) && is_answer(head) };
        let name = |side: Option<ScoredSide<'_>>, value: fn(&PageScore) -> &String| {
            side.map(|side| value(side.score).clone()).unwrap_or_default()
        };
        let nothing = AttackSurface::default();
        let before = base.map_or(&nothing, |side| &side.score.surface);
        let after = head.map_or(&nothing, |side| &side.score.surface);
        let attack_surface_changes = changes(pack, before, after, compared);
        Some(Self {
            url: page.url.clone(),
            file_path: page.file_path.clone(),
            base_version_id: name(base, |page| &page.version_id),
            head_version_id: name(head, |page| &page.version_id),
            base_snapshot_id: name(base, |page| &page.snapshot_id),
            head_snapshot_id: name(head, |page| &page.snapshot_id),
            scores: ScoreDelta::between(base, head),
            bodies_compared,
            attack_surface_changed: !attack_surface_changes.is_empty(),
            attack_surface_changes,
            new_rules: new_rules(base, head),
        })
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        let moved = self.scores.score_delta.is_some_and(|delta| delta.abs() >= 1e-9);
        !self.attack_surface_changed && !moved && self.new_rules.is_empty()
    }

    /// The changes, the worst first.
    pub(crate) fn worst_first(&self) -> Vec<&SurfaceChange> {
        let mut changes: Vec<_> = self.attack_surface_changes.iter().collect();
        changes.sort_by(|left, right| {
            right.severity.cmp(&left.severity).then(right.score.total_cmp(&left.score))
        });
        changes
    }
}

/// A number of one version: 0 without a page, `None` without its body.
fn known(side: Option<ScoredSide<'_>>, value: fn(&PageScore) -> f64) -> Option<f64> {
    match side {
        Some(side) => side.has_body.then(|| value(side.score)),
        None => Some(0.0),
    }
}

/// The difference of a number, if it is known in both versions.
fn delta(
    base: Option<ScoredSide<'_>>,
    head: Option<ScoredSide<'_>>,
    value: fn(&PageScore) -> f64,
) -> Option<f64> {
    Some(known(head, value)? - known(base, value)?)
}

/// Whether a version has the headers of a full response.
fn is_answer(side: Option<ScoredSide<'_>>) -> bool {
    side.is_some_and(|side| side.score.surface.status_code != NOT_MODIFIED)
}

/// The rules with evidence only in the head, in order. Without a body, only rules that need none.
fn new_rules(base: Option<ScoredSide<'_>>, head: Option<ScoredSide<'_>>) -> Vec<RuleId> {
    let with_bodies = base.iter().chain(&head).all(|side| side.has_body);
    let needs_no_body = |category| matches!(category, RuleCategory::Cookie | RuleCategory::Header);
    let rules = |side: Option<ScoredSide<'_>>| -> std::collections::BTreeSet<RuleId> {
        let evidence = side.into_iter().flat_map(|side| &side.score.evidence);
        evidence.filter(|piece| with_bodies || needs_no_body(piece.category)).map(|piece| piece.key).collect()
    };
    rules(head).difference(&rules(base)).copied().collect()
}
