//! Explains every rule for one URL, step by step, with the text before and after.
//!
//! It has no rule of its own: each step runs the code that decides elsewhere, so that an
//! explanation cannot differ from the real result. A rule that cannot be applied reports the
//! reason, and the others continue.

use super::clean::{is_tracking, remove_tracking};
use super::normalise::{NormaliseRule, NormalisedParts};
use super::query::UrlQuery;
use super::surt::{Flavour, surt};
use super::{Reference, UrlError};
use crate::UrlKey;
use crate::alias::{AliasTarget, Aliases};
use crate::pattern::GroupPattern;
use serde::Serialize;

/// One rule applied to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainStep {
    /// The rule, as `family/rule` where a family has several.
    pub rule: String,
    /// The effect of the rule, and its findings in this URL.
    pub explanation: String,
    /// The URL before.
    pub before: String,
    /// The result of the rule.
    pub after: String,
    /// Whether the two differ.
    pub changed: bool,
}

/// Every rule applied to a URL, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The URL as it was given.
    pub url: String,
    /// The rules. Within a family each begins where the one before ended; each family begins with
    /// the URL as given.
    pub steps: Vec<ExplainStep>,
}

/// Applies every rule to a URL. Aliases and patterns are those of the archive, if there is one.
pub fn explain(url: &str, aliases: &Aliases, patterns: &[GroupPattern]) -> Explanation {
    let mut steps = Vec::new();
    match Reference::parse(url) {
        Ok(reference) => explain_reference(url, &reference, &mut steps),
        Err(error) => steps.push(ExplainStep::refused("parse", "the parts of the URL are read", url, error)),
    }
    explain_normalising(url, &mut steps);
    for (rule, flavour) in
        [("surt/ia", Flavour::Ia), ("surt/spec", Flavour::Spec), ("surt/exact", Flavour::Exact)]
    {
        steps.push(match surt(url, flavour) {
            Ok(key) => {
                ExplainStep::new(rule, "the host turned round for sorted indexes".to_owned(), url, key)
            }
            Err(error) => ExplainStep::refused(rule, "the host is turned round", url, error),
        });
    }
    steps.extend(aliases.0.first().map(|_| explain_aliases(url, aliases)));
    steps.extend(patterns.iter().map(|pattern| explain_pattern(url, pattern)));
    Explanation { url: url.to_owned(), steps }
}

impl ExplainStep {
    fn new(rule: &str, explanation: String, before: &str, after: String) -> Self {
        let changed = before != after;
        Self { rule: rule.to_owned(), explanation, before: before.to_owned(), after, changed }
    }

    /// A step that failed.
    fn refused(rule: &str, what: &str, before: &str, error: UrlError) -> Self {
        Self::new(rule, format!("{what}: refused, {error}"), before, before.to_owned())
    }
}

/// Parsing, cleaning and both keys.
fn explain_reference(url: &str, reference: &Reference<'_>, steps: &mut Vec<ExplainStep>) {
    let parsed = reference.to_string();
    steps.push(ExplainStep::new("parse", "the parts read and written again".to_owned(), url, parsed));
    steps.push(explain_key("key", reference));
    explain_cleaning(reference, steps);
    let clean = reference.clean();
    if let Ok(reference) = Reference::parse(&clean) {
        steps.push(explain_key("clean/key", &reference));
    }
}

fn explain_key(rule: &str, reference: &Reference<'_>) -> ExplainStep {
    let key: UrlKey = reference.key();
    let explanation = format!(
        "7 bits from the host ({}: {}) and 56 bits from the whole URL",
        String::from_utf8_lossy(&reference.hostname()).escape_debug(),
        reference.domain_checksum(),
    );
    ExplainStep::new(rule, explanation, &reference.to_string(), key.to_string())
}

/// The sub-steps of cleaning.
fn explain_cleaning(reference: &Reference<'_>, steps: &mut Vec<ExplainStep>) {
    let mut current = reference.to_string();
    let mut step = |rule: &str, explanation: String, after: String| {
        steps.push(ExplainStep::new(rule, explanation, &current, after.clone()));
        current = after;
    };
    let mut query = reference.query();
    let dropped =
        listed("pieces that cannot be read dropped", query.dropped.iter().map(|piece| (*piece).into()));
    let tracking = query.parameters.iter().filter(|parameter| is_tracking(parameter));
    let tracking = tracking.map(|parameter| String::from_utf8_lossy(&parameter.name).into_owned());
    let tracking = listed("tracking parameters removed", tracking);

    step(
        "clean/query",
        format!("the query decoded and encoded again; {dropped}"),
        with_query(reference, &query),
    );
    remove_tracking(&mut query);
    step("clean/tracking", tracking, with_query(reference, &query));
    query.sort();
    step("clean/order", "parameters sorted by name".to_owned(), with_query(reference, &query));
    step("clean/fragment", "the fragment removed".to_owned(), reference.clean());
}

/// The reference with other parameters.
fn with_query(reference: &Reference<'_>, query: &UrlQuery<'_>) -> String {
    let mut text = String::new();
    reference.write_before_query(&mut text);
    if reference.raw_query() == Some("") || !query.parameters.is_empty() {
        text.push('?');
        text.push_str(&query.encode());
    }
    reference.write_fragment(&mut text);
    text
}

/// An action and the names that it applies to.
fn listed(what: &str, names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{}`", name.escape_debug())).collect();
    if names.is_empty() { format!("{what}: none") } else { format!("{what}: {}", names.join(", ")) }
}

/// The sub-steps of normalising.
fn explain_normalising(url: &str, steps: &mut Vec<ExplainStep>) {
    let mut parts = match NormalisedParts::of(url) {
        Ok(parts) => parts,
        Err(error) => {
            return steps.push(ExplainStep::refused(
                "normalise",
                "the URL is put in normal form",
                url,
                error,
            ));
        }
    };
    let mut current = parts.to_string();
    steps.push(ExplainStep::new(
        "normalise/trim",
        "white space around it removed".to_owned(),
        url,
        current.clone(),
    ));
    for rule in NormaliseRule::ALL {
        let name = format!("normalise/{}", rule.name());
        if let Err(error) = parts.apply(rule) {
            return steps.push(ExplainStep::refused(&name, rule.explanation(), &current, error));
        }
        let after = parts.to_string();
        steps.push(ExplainStep::new(&name, rule.explanation().to_owned(), &current, after.clone()));
        current = after;
    }
}

fn explain_aliases(url: &str, aliases: &Aliases) -> ExplainStep {
    let (explanation, after) = match aliases.apply(url) {
        Some(AliasTarget::Internal(target)) => ("an alias leads to another URL of the archive", target),
        Some(AliasTarget::External(target)) => ("an alias leads to the live web", target),
        None => ("no alias applies", url.to_owned()),
    };
    ExplainStep::new("alias", explanation.to_owned(), url, after)
}

fn explain_pattern(url: &str, pattern: &GroupPattern) -> ExplainStep {
    let verdict = if pattern.matches(url) { "belongs" } else { "does not belong" };
    ExplainStep::new("group", format!("the URL {verdict} to the group `{pattern}`"), url, url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alias::Alias;
    use crate::pattern::AtSign;
    use crate::url::{clean, normalise};
    use proptest::prelude::*;

    const URL: &str = "HTTP://Example.com:80/a/../b?z=1&utm_source=x&bad=%zz&a=2#top";

    fn explained(url: &str) -> Explanation {
        explain(url, &Aliases::default(), &[])
    }

    fn after<'a>(explanation: &'a Explanation, rule: &str) -> &'a ExplainStep {
        explanation.steps.iter().find(|step| step.rule == rule).unwrap_or_else(|| panic!("no step {rule}"))
    }

    #[test]
    fn each_rule_is_shown() {
        let explanation = explained(URL);
        let rules: Vec<_> = explanation.steps.iter().map(|step| step.rule.as_str()).collect();
        let expected = "parse key clean/query clean/tracking clean/order clean/fragment clean/key \
            normalise/trim normalise/scheme normalise/host normalise/port normalise/escapes normalise/dots \
            normalise/empty-path normalise/fragment surt/ia surt/spec surt/exact";
        assert_eq!(rules.join(" "), expected);
        let step = |rule| after(&explanation, rule);
        assert_eq!(step("clean/query").after, "http://Example.com:80/a/../b?z=1&utm_source=x&a=2#top");
        assert!(step("clean/query").explanation.ends_with("dropped: `bad=%zz`"));
        assert_eq!(step("clean/tracking").explanation, "tracking parameters removed: `utm_source`");
        assert_eq!(step("clean/order").after, "http://Example.com:80/a/../b?a=2&z=1#top");
        assert_eq!(step("clean/fragment").after, clean(URL).unwrap());
        assert_eq!(step("normalise/fragment").after, normalise(URL).unwrap());
        assert!(!step("normalise/empty-path").changed && step("normalise/port").changed);
        assert!(step("key").explanation.starts_with("7 bits from the host (Example.com: 57)"));
    }

    #[test]
    fn aliases_and_groups_are_shown_if_there_are_any() {
        let aliases =
            Aliases(vec![Alias { source: "http://a/".into(), target: "http://b/".into(), external: true }]);
        let groups = [GroupPattern::new("http://a/#", AtSign::Literal)];
        let explanation = explain("http://a/1", &aliases, &groups);
        assert_eq!(after(&explanation, "alias").after, "http://b/1");
        assert_eq!(after(&explanation, "group").explanation, "the URL belongs to the group `http://a/#`");
    }

    #[test]
    fn a_refused_rule_says_why_and_the_others_go_on() {
        let explanation = explained("http://h/%zz");
        let parse = &explanation.steps[0];
        assert_eq!(
            (parse.explanation.as_str(), parse.changed),
            ("the parts of the URL are read: refused, percent sign without two hex digits at byte 9", false)
        );
        assert_eq!(after(&explanation, "normalise/escapes").after, "http://h/%25zz");
    }

    proptest! {
        #[test]
        fn an_explanation_ends_where_the_rule_does(url in "https?://[a-z%0-9.@:/?&=;#é ]{0,30}") {
            let explanation = explained(&url);
            if let Ok(clean) = clean(&url) {
                prop_assert_eq!(&after(&explanation, "clean/fragment").after, &clean);
            }
            if let Ok(normal) = normalise(&url) {
                prop_assert_eq!(&after(&explanation, "normalise/fragment").after, &normal);
            }
        }
    }
}
