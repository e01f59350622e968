//! How two views of headers differ. The values of redacted headers are never compared: that a secret changed is itself
//! something to know only from the archive. That one came or went is no secret, and [`HeaderDiff::redacted_sides`] tells it.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use varve_core::headers::{HeaderView, REDACTED, is_benign};

/// The values of a header before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// In the base.
    pub from: Vec<String>,
    /// In the head.
    pub to: Vec<String>,
}

/// What is new, gone, other and hidden. Empty parts are left out of the JSON.
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
    pub changed: BTreeMap<String, Change>,
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

    /// Puts a header of the head where it belongs.
    fn compare(&mut self, name: &str, from: Option<&[String]>, to: &[String]) {
        let name = name.to_owned();
        match from {
            _ if is_redacted(to) => _ = self.redacted.insert(name),
            None => _ = self.added.insert(name, to.to_vec()),
            Some(from) if from != to => {
                _ = self.changed.insert(name, Change { from: from.to_vec(), to: to.to_vec() });
            }
            Some(_) => {}
        }
    }

    /// The redacted headers, each with the side of these two views that has it: the documented shape only names them.
    pub fn redacted_sides(&self, base: &HeaderView, head: &HeaderView) -> BTreeMap<String, RedactedSide> {
        let side = |name: &String| match (base.get(name), head.get(name)) {
            (None, _) => RedactedSide::Added,
            (_, None) => RedactedSide::Removed,
            _ => RedactedSide::Both,
        };
        self.redacted.iter().map(|name| (name.clone(), side(name))).collect()
    }

    /// The diff without changes of [benign](is_benign) headers. Headers that came or went stay.
    #[must_use]
    pub fn without_benign_changes(mut self) -> Self {
        self.changed.retain(|name, _| !is_benign(name));
        self
    }

    /// Whether nothing differs and nothing is hidden.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// On which side a redacted header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RedactedSide {
    /// Only in the head: it came.
    Added,
    /// Only in the base: it went.
    Removed,
    /// In both. Whether its value changed is not told.
    Both,
}

impl RedactedSide {
    /// Whether the header came or went.
    pub const fn is_change(self) -> bool {
        !matches!(self, Self::Both)
    }
}

/// Whether these are the values of a redacted header. Known by the value alone, so that a view read back from a
/// row, made under whatever redaction, is understood.
fn is_redacted(values: &[String]) -> bool {
    matches!(values, [only] if only == REDACTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::headers::Redaction;

    fn view(pairs: &[(&str, &str)]) -> HeaderView {
        HeaderView::from_pairs(pairs.iter().copied(), Redaction::On)
    }

    #[test]
    fn benign_changes_can_be_left_out() {
        let base = view(&[("Date", "1"), ("CSP", "a"), ("Age", "3")]);
        let diff = HeaderDiff::between(&base, &view(&[("Date", "2"), ("CSP", "b")]));
        assert_eq!(diff.changed.len(), 2);
        let diff = diff.without_benign_changes();
        assert_eq!(diff.changed.keys().collect::<Vec<_>>(), ["csp"]);
        assert_eq!(diff.removed.keys().collect::<Vec<_>>(), ["age"]);
    }

    #[test]
    fn a_redacted_header_that_comes_or_goes_is_told_without_its_value() {
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
