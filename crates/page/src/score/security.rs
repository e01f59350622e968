//! Two scores of one page side by side: by how much it became better or worse, and what changed on its surface.
//!
//! Owns the shape of a security diff as JSON. `url` is the address of the page; the path in the working tree stands
//! beside it. A page that came or went is compared with an empty one, headers apart: they protect nothing else.

use super::changes::{Change, changes};
use super::pack::Pack;
use super::surface::Surface;
use super::{PageScore, RuleId};
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
    /// The score before, 0 without a page.
    pub score_base: f64,
    /// The score after.
    pub score_head: f64,
    /// After less before.
    pub score_delta: f64,
    /// Exposure after less before.
    pub exposure_delta: f64,
    /// Hardening after less before.
    pub hardening_delta: f64,
    /// Whether the score went up.
    pub regressed: bool,
    /// Whether anything on the surface changed.
    pub attack_surface_changed: bool,
    /// What changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attack_surface_changes: Vec<Change>,
    /// Rules that found something now and nothing before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_rules: Vec<RuleId>,
}

impl SecurityDiff {
    /// Compares a page with itself in another version; none if neither has it.
    pub fn between(pack: &Pack, base: Option<&PageScore>, head: Option<&PageScore>) -> Option<Self> {
        let page = head.or(base)?;
        let of = |side: Option<&PageScore>, value: fn(&PageScore) -> f64| side.map_or(0.0, value);
        let delta = |value| of(head, value) - of(base, value);
        let name = |side: Option<&PageScore>, value: fn(&PageScore) -> &String| side.map(value).cloned();
        let nothing = Surface::default();
        let before = base.map_or(&nothing, |page| &page.surface);
        let after = head.map_or(&nothing, |page| &page.surface);
        let is_answer =
            |side: Option<&PageScore>| side.is_some_and(|page| page.surface.status_code != NOT_MODIFIED);
        let attack_surface_changes = changes(pack, before, after, is_answer(base) && is_answer(head));
        Some(Self {
            url: page.url.clone(),
            file_path: page.file_path.clone(),
            base_version_id: name(base, |page| &page.version_id).unwrap_or_default(),
            head_version_id: name(head, |page| &page.version_id).unwrap_or_default(),
            base_snapshot_id: name(base, |page| &page.snapshot_id).unwrap_or_default(),
            head_snapshot_id: name(head, |page| &page.snapshot_id).unwrap_or_default(),
            score_base: of(base, |page| page.score),
            score_head: of(head, |page| page.score),
            score_delta: delta(|page| page.score),
            exposure_delta: delta(|page| page.exposure),
            hardening_delta: delta(|page| page.hardening),
            regressed: delta(|page| page.score) > 0.0,
            attack_surface_changed: !attack_surface_changes.is_empty(),
            attack_surface_changes,
            new_rules: new_rules(base, head),
        })
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        !self.attack_surface_changed && self.score_delta.abs() < 1e-9 && self.new_rules.is_empty()
    }

    /// What there is to tell, the worst first.
    pub(super) fn worst_first(&self) -> Vec<&Change> {
        let mut changes: Vec<_> = self.attack_surface_changes.iter().collect();
        changes.sort_by(|left, right| {
            right.severity.cmp(&left.severity).then(right.score.total_cmp(&left.score))
        });
        changes
    }
}

/// The rules that only the head has evidence of, in order.
fn new_rules(base: Option<&PageScore>, head: Option<&PageScore>) -> Vec<RuleId> {
    let rules = |side: Option<&PageScore>| -> std::collections::BTreeSet<RuleId> {
        side.into_iter().flat_map(|page| &page.evidence).map(|piece| piece.key).collect()
    };
    rules(head).difference(&rules(base)).copied().collect()
}
