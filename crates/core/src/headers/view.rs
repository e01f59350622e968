//! The normalised view of headers: lower-case names, trimmed and sorted values, secrets redacted.
//!
//! Only for comparison and display: it drops case, order and white space, so an archive is never
//! rebuilt from it.

use super::names::is_order_sensitive;
use super::redaction::{REDACTED_VALUE, Redaction, is_sensitive};
use super::{Headers, decode_header_text};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Headers in the form in which they are compared. In JSON `{name: [values]}` with sorted names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HeaderView(BTreeMap<String, Vec<String>>);

impl HeaderView {
    /// The view of headers as they were on the wire.
    pub fn of(headers: &Headers, redaction: Redaction) -> Self {
        let pairs = headers.iter().map(|(name, value)| (decode_header_text(name), decode_header_text(value)));
        Self::from_pairs(pairs, redaction)
    }

    /// The view of names and values from any source, in order; a name may occur more than once.
    pub fn from_pairs<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
        redaction: Redaction,
    ) -> Self {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in pairs {
            let value = value.as_ref().trim();
            if !value.is_empty() {
                values.entry(lower_case(name.as_ref())).or_default().push(value.to_owned());
            }
        }
        for (name, values) in &mut values {
            sort_or_redact(name, values, redaction);
        }
        Self(values)
    }

    /// The same view under another redaction. Redacted values cannot be restored.
    pub fn with_redaction(&self, redaction: Redaction) -> Self {
        Self::from_pairs(self.pairs(), redaction)
    }

    /// The view for display: with redaction, values that were stored without it are hidden too.
    pub fn shown(&self, redaction: Redaction) -> Cow<'_, Self> {
        let is_plain = |(name, values): (&str, &[String])| is_sensitive(name) && values != [REDACTED_VALUE];
        match redaction == Redaction::On && self.iter().any(is_plain) {
            true => Cow::Owned(self.with_redaction(redaction)),
            false => Cow::Borrowed(self),
        }
    }

    /// The values of a header, if it has any. `name` is in lower case.
    pub fn get(&self, name: &str) -> Option<&[String]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The names with their values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// Each single value with its name, by name.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value.as_str())))
    }

    /// Whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Sorts the values of one header, or hides them.
fn sort_or_redact(name: &str, values: &mut Vec<String>, redaction: Redaction) {
    if redaction == Redaction::On && is_sensitive(name) {
        *values = vec![REDACTED_VALUE.to_owned()];
    } else if !is_order_sensitive(name) {
        values.sort_unstable();
    }
}

/// Converts each character to lower case by itself, so that a name keeps its number of characters
/// in every script.
fn lower_case(name: &str) -> String {
    name.chars().filter_map(|letter| letter.to_lowercase().next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wire_headers_become_a_view() {
        let headers =
            Headers::from_iter([("Vary", "b"), ("X", "caf\u{e9}"), ("vary", " a "), ("Cookie", "k")]);
        let view = HeaderView::of(&headers, Redaction::On);
        let json = serde_json::to_string(&view).unwrap();
        assert_eq!(json, r#"{"cookie":["[REDACTED]"],"vary":["a","b"],"x":["café"]}"#);
        assert_eq!(view.get("vary"), Some(&["a".to_owned(), "b".to_owned()][..]));
    }

    proptest! {
        #[test]
        fn a_view_of_a_view_is_the_same(
            pairs in proptest::collection::vec((".{0,6}", ".{0,6}"), 0..6), on: bool,
        ) {
            let redaction = if on { Redaction::On } else { Redaction::Off };
            let view = HeaderView::from_pairs(pairs, redaction);
            prop_assert_eq!(view.with_redaction(redaction), view.clone());
            prop_assert_eq!(view.shown(redaction).into_owned(), view.clone());
            prop_assert_eq!(view.shown(Redaction::On).into_owned(), view.with_redaction(Redaction::On));
        }
    }
}
