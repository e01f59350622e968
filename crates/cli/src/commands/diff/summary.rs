//! The summary of a diff: how many pages changed, and why the others do not count as changed.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use varve_archive::verbs::diff::{BodySimilarity, InsignificantChange, Totals};

use crate::printer::counted;

/// The counts as a sentence.
pub(super) fn sentence(totals: &Totals) -> String {
    let mut parts = Vec::new();
    for (count, word) in [
        (totals.changed, "changed"),
        (totals.added, "added"),
        (totals.back, "back"),
        (totals.gone, "gone"),
        (totals.removed, "removed"),
        (totals.unreachable, "unreachable"),
        (totals.unchanged, "unchanged"),
        (totals.not_asked, "not asked"),
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

/// The number of pages of each kind, as JSON.
pub(super) fn summary_json(totals: &Totals) -> Value {
    json!({
        "added": totals.added,
        "alike": totals.same_text + totals.same_nodes,
        "back": totals.back,
        "changed": totals.changed,
        "gone": totals.gone,
        "noise": totals.noise,
        "not_asked": totals.not_asked,
        "removed": totals.removed,
        "unchanged": totals.unchanged,
        "unreachable": totals.unreachable,
    })
}

/// The pages that do not count as changed, as JSON. `unnamed` is the number beyond those listed.
pub(super) fn insignificant_json(totals: &Totals) -> Value {
    let (mut noise, mut alike) = (Vec::new(), Vec::new());
    for InsignificantChange { url, path, rules, alike: same } in &totals.insignificant {
        let Some(same) = same else {
            noise.push(json!({ "url": url, "path": path, "rules": rules }));
            continue;
        };
        let mut row = json!({ "url": url, "path": path, "same": same });
        if !rules.is_empty() {
            row["rules"] = json!(rules);
        }
        alike.push(row);
    }
    let all = totals.noise + totals.same_text + totals.same_nodes;
    let mut row = json!({ "noise": noise, "alike": alike, "summary": summary_json(totals) });
    if all > totals.insignificant.len() as u64 {
        row["unnamed"] = json!(all - totals.insignificant.len() as u64);
    }
    row
}
