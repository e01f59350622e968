//! Aliases: what users say is the same place. A prefix of URLs stands for another.
//!
//! The third of three ways in which one URL leads to another, beside what servers say (redirects) and what pages
//! say (canonical URLs). How an external target is written down is the business of each format that has them.

use serde::{Deserialize, Serialize};

/// One prefix that stands for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// URLs that begin with this …
    pub source: String,
    /// … are meant as URLs that begin with this instead.
    pub target: String,
    /// Whether the target is on the live web, outside of the archive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
}

/// Where an alias leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AliasTarget {
    /// To another URL of the archive.
    Internal(String),
    /// To the live web: never captured.
    External(String),
}

impl AliasTarget {
    /// The URL, wherever it is.
    pub fn url(&self) -> &str {
        match self {
            Self::Internal(url) | Self::External(url) => url,
        }
    }
}

impl Alias {
    /// Where the alias leads a URL, if the URL begins with its source.
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
    /// Where the first alias whose source begins the URL leads it. The result is not tried again, so that aliases
    /// cannot run in circles.
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
