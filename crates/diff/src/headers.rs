//! The diff of two header views. Values of redacted headers are never compared, because the change
//! of a secret is a secret as well. [`HeaderDiff::redacted_sides`] reports which of them were added
//! or removed.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use varve_core::headers::{HeaderView, REDACTED_VALUE};

/// The values of a header before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderChange {
    /// In the base.
    pub from: Vec<String>,
    /// In the head.
    pub to: Vec<String>,
}

/// Added, removed, changed and redacted headers. Empty parts are left out of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HeaderDiff {
    /// Headers that only the head has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub added: BTreeMap<String, Vec<String>>,
    /// Headers that only the base has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub removed: BTreeMap<String, Vec<String>>,
    /// Headers with other values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, HeaderChange>,
    /// Headers that are redacted in either, by name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redacted: BTreeSet<String>,
}

impl HeaderDiff {
    /// Compares two views, which should be made with the same redaction.
    pub fn between(base: &HeaderView, head: &HeaderView) -> Self {
        let mut diff = Self::default();
        for (name, to) in head.iter() {
            diff.compare(name, base.get(name), to);
        }
        for (name, from) in base.iter().filter(|(name, _)| head.get(name).is_none()) {
            if is_redacted(from) {
                diff.redacted.insert(name.to_owned());
            } else {
                diff.removed.insert(name.to_owned(), from.to_vec());
            }
        }
        diff
    }

    /// Adds a header of the head.
    fn compare(&mut self, name: &str, from: Option<&[String]>, to: &[String]) {
        let name = name.to_owned();
        match from {
            _ if is_redacted(to) => _ = self.redacted.insert(name),
            None => _ = self.added.insert(name, to.to_vec()),
            Some(from) if from != to => {
                _ = self.changed.insert(name, HeaderChange { from: from.to_vec(), to: to.to_vec() });
            }
            Some(_) => {}
        }
    }

    /// The redacted headers with the sides that have them. The documented JSON only has their
    /// names.
    pub fn redacted_sides(&self, base: &HeaderView, head: &HeaderView) -> BTreeMap<String, RedactedSide> {
        let side = |name: &String| match (base.get(name), head.get(name)) {
            (None, _) => RedactedSide::Added,
            (_, None) => RedactedSide::Removed,
            _ => RedactedSide::Both,
        };
        self.redacted.iter().map(|name| (name.clone(), side(name))).collect()
    }

    /// Whether nothing differs and nothing is redacted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The sides that have a redacted header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RedactedSide {
    /// Only the head: it was added.
    Added,
    /// Only the base: it was removed.
    Removed,
    /// Both. A change of its value is not reported.
    Both,
}

impl RedactedSide {
    /// Whether the header was added or removed.
    pub const fn is_change(self) -> bool {
        !matches!(self, Self::Both)
    }
}

/// Whether these are the values of a redacted header. The value decides, so that views read from
/// rows are understood independently of the redaction under which they were written.
fn is_redacted(values: &[String]) -> bool {
    matches!(values, [only] if only == REDACTED_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::headers::Redaction;

    fn view(pairs: &[(&str, &str)]) -> HeaderView {
        HeaderView::from_pairs(pairs.iter().copied(), Redaction::On)
    }

    #[test]
    fn added_or_removed_redacted_headers_are_reported_without_values() {
        let base = view(&[("cookie", "a"), ("authorization", "b"), ("etag", "1")]);
        let head = view(&[("cookie", "c"), ("set-cookie", "d"), ("etag", "2")]);
        let diff = HeaderDiff::between(&base, &head);
        let json = serde_json::to_string(&diff.redacted_sides(&base, &head)).unwrap();
        assert_eq!(json, r#"{"authorization":"removed","cookie":"both","set-cookie":"added"}"#);
    }

    #[test]
    fn the_json_has_the_documented_shape() {
        let base = view(&[("content-type", "text/html"), ("cookie", "a"), ("old", "1")]);
        let diff = HeaderDiff::between(&base, &view(&[("content-type", "text/plain"), ("new", "2")]));
        let json = serde_json::to_string(&diff).unwrap();
        assert_eq!(
            json,
            r#"{"added":{"new":["2"]},"removed":{"old":["1"]},"changed":{"content-type":{"from":["text/html"],"to":["text/plain"]}},"redacted":["cookie"]}"#
        );
        assert_eq!(serde_json::from_str::<HeaderDiff>(&json).unwrap(), diff);
    }
}
