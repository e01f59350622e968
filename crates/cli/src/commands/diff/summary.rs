//! The summary of a diff: how many pages changed, and why the others do not count as changed.

use std::collections::BTreeMap;

use serde::Serialize;
use varve_archive::verbs::diff::{BodySimilarity, Quiet, Totals};

use crate::printer::counted;

/// The counts as a sentence.
pub(super) fn sentence(totals: &Totals) -> String {
    let mut parts = Vec::new();
    for (count, word) in [
        (totals.changed, "changed"),
        (totals.added, "added"),
        (totals.removed, "removed"),
        (totals.unchanged, "unchanged"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let shown = parts.len();
    if totals.noise > 0 {
        let rules = rules(&totals.rules);
        parts.push(format!("{} with only noise ({rules})", counted(totals.noise, "page")));
    }
    for (count, alike) in
        [(totals.same_nodes, BodySimilarity::Nodes), (totals.same_text, BodySimilarity::Text)]
    {
        if count > 0 {
            parts.push(format!("{} with different markup ({})", counted(count, "page"), sameness(alike)));
        }
    }
    let more = if parts.len() > shown { ": `--all` shows them" } else { "" };
    if parts.is_empty() { "no pages".to_owned() } else { parts.join(", ") + more }
}

/// Rules with their counts, the most frequent first.
pub(super) fn rules<N: Copy + Ord + std::fmt::Display>(rules: &BTreeMap<&'static str, N>) -> String {
    let mut rules: Vec<_> = rules.iter().collect();
    rules.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
    rules.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// What is the same in two pages.
pub(super) const fn sameness(alike: BodySimilarity) -> &'static str {
    match alike {
        BodySimilarity::Nodes => "the nodes are the same",
        BodySimilarity::Text => "the text is the same",
    }
}

/// The pages that do not count as changed, as JSON.
#[derive(Serialize)]
pub(super) struct UnchangedPagesRow<'a> {
    noise: Vec<NoisePageRow<'a>>,
    alike: Vec<AlikePageRow<'a>>,
    /// Number of pages beyond those listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    unnamed: Option<u64>,
}

#[derive(Serialize)]
struct NoisePageRow<'a> {
    url: &'a str,
    path: &'a str,
    rules: &'a BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct AlikePageRow<'a> {
    url: &'a str,
    path: &'a str,
    same: BodySimilarity,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    rules: &'a BTreeMap<&'static str, usize>,
}

impl<'a> UnchangedPagesRow<'a> {
    pub(super) fn of(totals: &'a Totals) -> Self {
        let line = |page: &'a Quiet| {
            let Quiet { url, path, rules, .. } = page;
            page.alike.is_none().then_some(NoisePageRow { url, path, rules })
        };
        let alike = |page: &'a Quiet| {
            let Quiet { url, path, rules, alike } = page;
            Some(AlikePageRow { url, path, same: (*alike)?, rules })
        };
        let all = totals.noise + totals.same_text + totals.same_nodes;
        Self {
            noise: totals.quiet.iter().filter_map(line).collect(),
            alike: totals.quiet.iter().filter_map(alike).collect(),
            unnamed: Some(all - totals.quiet.len() as u64).filter(|more| *more > 0),
        }
    }
}
