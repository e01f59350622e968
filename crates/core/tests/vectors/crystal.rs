//! Group patterns and URL alternatives against what Crystal answers.

use crate::{fixture, json_list};
use serde_json::Value;
use varve_core::alias::{Alias, Aliases};
use varve_core::pattern::{AtSign, GroupPattern};
use varve_core::url::{SiteRules, alternatives};

#[test]
fn group_patterns() {
    let Some(cases) = json_list("crystal/vectors/url_patterns.json") else { return };
    assert_eq!(cases.len(), 47);
    for case in cases {
        let text = |field: &str| case[field].as_str().unwrap();
        let pattern = GroupPattern::new(text("pattern"), AtSign::Literal);
        assert_eq!(pattern.matches(text("url")), case["matches"], "{case}");
        assert_eq!(pattern.literal_prefix(), text("literal_prefix"), "{case}");
    }
}

#[test]
fn url_alternatives() {
    let Some(text) = fixture("crystal/vectors/url_normalization.json") else { return };
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let aliases: Vec<(String, String, bool)> = serde_json::from_value(vectors["aliases"].clone()).unwrap();
    let alias = |(source, target, external)| Alias { source, target, external };
    let aliases = Aliases(aliases.into_iter().map(alias).collect());
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 71);
    for case in cases {
        let found = alternatives(case["url"].as_str().unwrap(), &SiteRules::built_in(), &aliases);
        let external = found.external.map(|url| format!("crystal://external/{url}"));
        let all: Vec<_> = found.urls.into_iter().chain(external).collect();
        assert_eq!(serde_json::to_value(&all).unwrap(), case["alternatives"]);
    }
}
