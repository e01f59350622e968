//! Aliases: prefixes of URLs that users map to other prefixes.
//!
//! An alias is one of three ways in which one URL leads to another, beside redirects of servers and
//! canonical URLs of pages. Each format with external targets defines how it writes them.

use serde::{Deserialize, Serialize};

/// Maps one prefix of URLs to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// The prefix of the URLs that it applies to.
    pub source: String,
    /// The prefix that replaces the source.
    pub target: String,
    /// Whether the target is on the live web, outside of the archive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
}

/// The result of an alias.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AliasTarget {
    /// Another URL of the archive.
    Internal(String),
    /// A URL on the live web, which is never captured.
    External(String),
}

impl AliasTarget {
    /// The URL of either kind.
    pub fn url(&self) -> &str {
        match self {
            Self::Internal(url) | Self::External(url) => url,
        }
    }
}

impl Alias {
    /// Applies the alias to a URL. Returns `None` if the URL does not begin with its source.
    pub fn apply(&self, url: &str) -> Option<AliasTarget> {
        let rest = url.strip_prefix(&self.source)?;
        let url = format!("{}{rest}", self.target);
        Some(if self.external { AliasTarget::External(url) } else { AliasTarget::Internal(url) })
    }
}

/// Aliases in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Aliases(
    /// The aliases.
    pub Vec<Alias>,
);

impl Aliases {
    /// Applies the first alias whose source begins the URL. The result is not mapped again, so that
    /// aliases cannot form cycles.
    pub fn apply(&self, url: &str) -> Option<AliasTarget> {
        self.0.iter().find_map(|alias| alias.apply(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alias(source: &str, target: &str, external: bool) -> Alias {
        Alias { source: source.into(), target: target.into(), external }
    }

    #[test]
    fn the_first_that_fits_decides() {
        let aliases = Aliases(vec![
            alias("https://old.com/a/", "https://new.com/b/", false),
            alias("https://old.com/", "https://live.com/", true),
        ]);
        assert_eq!(
            aliases.apply("https://old.com/a/x"),
            Some(AliasTarget::Internal("https://new.com/b/x".into()))
        );
        assert_eq!(
            aliases.apply("https://old.com/q"),
            Some(AliasTarget::External("https://live.com/q".into()))
        );
        assert_eq!(aliases.apply("https://new.com/"), None);
    }

    #[test]
    fn internal_is_left_unsaid_in_json() {
        let json = serde_json::to_string(&alias("a", "b", false)).unwrap();
        assert_eq!(json, r#"{"source":"a","target":"b"}"#);
        assert!(!serde_json::from_str::<Alias>(&json).unwrap().external);
    }
}
