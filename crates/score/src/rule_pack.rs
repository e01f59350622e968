//! Rule packs: the rules, their points and their sentences.
//!
//! Owns the file format of a pack and its validation. [Detectors](crate::detectors) are code, named
//! by [`RuleId`]; a pack selects them and gives them points and words. A pack may come from
//! anywhere, so its numbers are checked.

use crate::rule_id::{ChangeKind, ExposureSeverity, RuleCategory, RuleId};
use serde::Deserialize;
use std::sync::LazyLock;

/// Maximum number of points of a rule, so that sums stay in range.
const MAX_RULE_POINTS: f64 = 10.0;

/// The first pack, from `rules/exposure-1.toml`.
static EXPOSURE_1: LazyLock<RulePack> = LazyLock::new(|| {
    RulePack::parse(include_str!("../rules/exposure-1.toml"))
        .expect("the pack that is compiled in is acceptable")
});

/// A set of rules with weights and wording.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulePack {
    /// The version that is written to scores. Other weights need another version.
    pub scoring_version: String,
    /// The confidence of a complete score, 0 to 1.
    pub confidence: f64,
    /// The factor of the credit of a directive for each of `'unsafe-inline'` and `'unsafe-eval'`, 0
    /// to 1.
    pub unsafe_credit: f64,
    /// Parts of names that show a purpose.
    pub words: RuleWords,
    /// Maximum numbers that count. Without them everything counts.
    #[serde(default)]
    pub saturation: Saturation,
    /// The rules.
    #[serde(rename = "rule")]
    pub rules: Vec<ScoreRule>,
    /// The headers that protect by being there.
    #[serde(rename = "header")]
    pub headers: Vec<ProtectingHeader>,
    /// The directives of a Content-Security-Policy that protect.
    #[serde(rename = "directive")]
    pub directives: Vec<PolicyDirective>,
    /// Points and sentences of changes between versions.
    #[serde(rename = "change")]
    pub changes: Vec<ChangeRule>,
}

/// Parts of names, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleWords {
    /// In the action of a form that leads to administration.
    pub admin: Vec<String>,
    /// In the action of a form that logs in.
    pub auth: Vec<String>,
    /// In the action of a form that takes uploads.
    pub upload: Vec<String>,
    /// In the name of a session's cookie.
    pub session: Vec<String>,
    /// In the name of a parameter worth trying.
    pub suspicious: Vec<String>,
}

/// Maximum numbers that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saturation {
    /// Inline scripts.
    pub inline_scripts: Option<usize>,
    /// External scripts.
    pub external_scripts: Option<usize>,
    /// Parameters, and those of them with telling names.
    pub parameters: Option<usize>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreRule {
    /// The detector.
    pub id: RuleId,
    /// Its category.
    pub category: RuleCategory,
    /// Its severity.
    pub severity: ExposureSeverity,
    /// The points that each finding adds to the exposure.
    pub points: f64,
    /// Its title.
    pub title: String,
    /// Its sentence, with `{count}` and `{what}`.
    pub sentence: String,
}

/// A header that protects by being there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectingHeader {
    /// Its name in lower case.
    pub name: String,
    /// The points that it adds to the hardening.
    pub points: f64,
    /// The rule for its absence.
    pub missing: RuleId,
}

/// A directive of a Content-Security-Policy that protects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyDirective {
    /// Its name in lower case.
    pub name: String,
    /// The points that it adds to the hardening with full credit.
    pub points: f64,
}

/// Points and sentence of a change between versions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRule {
    /// The kind of change.
    pub kind: ChangeKind,
    /// Its category in security diffs.
    pub category: String,
    /// Its weight.
    pub points: f64,
    /// Its sentence, with `{what}`.
    pub sentence: String,
}

/// Why a pack cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RulePackError {
    /// It is not TOML, or not in this format.
    #[error("rule pack: {0}")]
    Shape(String),
    /// A number is outside its range.
    #[error("rule pack: {what}: {value} is not between 0 and {greatest}")]
    Range {
        /// The field of the number.
        what: String,
        /// The number.
        value: f64,
        /// The maximum.
        greatest: f64,
    },
    /// An entry is listed twice.
    #[error("rule pack: {0} stands there twice")]
    Twice(String),
}

impl RulePack {
    /// The first pack.
    pub fn exposure_1() -> &'static Self {
        &EXPOSURE_1
    }

    /// Reads a pack.
    pub fn parse(text: &str) -> Result<Self, RulePackError> {
        let pack: Self = toml::from_str(text).map_err(|error| RulePackError::Shape(error.to_string()))?;
        pack.check_ranges()?;
        pack.check_unique()?;
        Ok(pack)
    }

    /// The rule of that id, if the pack has it.
    pub fn rule(&self, id: RuleId) -> Option<&ScoreRule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// The change of that kind, if the pack has it.
    pub fn change(&self, kind: ChangeKind) -> Option<&ChangeRule> {
        self.changes.iter().find(|change| change.kind == kind)
    }

    /// Checks that every number is in its range.
    fn check_ranges(&self) -> Result<(), RulePackError> {
        in_range("confidence", self.confidence, 1.0)?;
        in_range("unsafe_credit", self.unsafe_credit, 1.0)?;
        for rule in &self.rules {
            in_range(rule.id.name(), rule.points, MAX_RULE_POINTS)?;
        }
        for change in &self.changes {
            in_range(change.kind.name(), change.points, MAX_RULE_POINTS)?;
        }
        for (name, points) in self.protections() {
            in_range(name, points, 1.0)?;
        }
        Ok(())
    }

    /// Checks that nothing is listed twice.
    fn check_unique(&self) -> Result<(), RulePackError> {
        let rules = self.rules.iter().map(|rule| rule.id.name());
        let changes = self.changes.iter().map(|change| change.kind.name());
        once_each(rules)?;
        once_each(changes)?;
        once_each(self.protections().map(|(name, _)| name))
    }

    /// The names and points of headers and directives.
    fn protections(&self) -> impl Iterator<Item = (&str, f64)> {
        let headers = self.headers.iter().map(|header| (header.name.as_str(), header.points));
        headers.chain(self.directives.iter().map(|directive| (directive.name.as_str(), directive.points)))
    }
}

/// Checks that a number is between 0 and the maximum.
fn in_range(what: &str, value: f64, greatest: f64) -> Result<(), RulePackError> {
    if (0.0..=greatest).contains(&value) {
        return Ok(());
    }
    Err(RulePackError::Range { what: what.to_owned(), value, greatest })
}

/// Checks that no name is listed twice.
fn once_each<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), RulePackError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(RulePackError::Twice(name.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pack_has_every_rule_and_every_change() {
        let pack = RulePack::exposure_1();
        for id in RuleId::ALL {
            assert!(pack.rule(id).is_some(), "{} is missing", id.name());
        }
        for kind in ChangeKind::ALL {
            assert!(pack.change(kind).is_some(), "{} is missing", kind.name());
        }
    }

    #[test]
    fn errors_of_rule_packs_name_the_problem() {
        let good = include_str!("../rules/exposure-1.toml");
        let said =
            |from: &str, to: &str| RulePack::parse(&good.replacen(from, to, 1)).unwrap_err().to_string();
        assert_eq!(
            said("confidence = 0.5", "confidence = nan"),
            "rule pack: confidence: NaN is not between 0 and 1"
        );
        assert_eq!(
            said("points = 0.30", "points = -1.0"),
            "rule pack: form_admin: -1 is not between 0 and 10"
        );
        assert_eq!(said("\"form_auth\"", "\"form_admin\""), "rule pack: form_admin stands there twice");
        assert!(said("\"form_auth\"", "\"form_magic\"").contains("form_magic"));
    }
}
