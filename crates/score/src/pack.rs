//! Rule packs: which rules there are, what each is worth, and how it is told.
//!
//! Owns the shape of a pack's file and what makes one acceptable. Deliberately does not know how a rule finds
//! anything: [detectors](crate::measure) are code, named by [`RuleId`]; a pack chooses among them, weighs them and
//! lends them words. A pack is read as data from anywhere, so its numbers are checked before they are used.

use crate::rule::{Category, ChangeKind, RuleId, Severity};
use serde::Deserialize;
use std::sync::LazyLock;

/// The most points that anything may be worth, so that no sum of them leaves the range of sane numbers.
const GREATEST_POINTS: f64 = 10.0;

/// The first pack, as it stands in `rules/exposure-1.toml`.
static EXPOSURE_1: LazyLock<Pack> = LazyLock::new(|| {
    Pack::parse(include_str!("../rules/exposure-1.toml")).expect("the pack that is compiled in is acceptable")
});

/// A set of rules with weights and wording.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// What scores made with this pack are marked with. Other weights need another mark.
    pub scoring_version: String,
    /// The confidence of a score for which everything could be read, 0 to 1.
    pub confidence: f64,
    /// What remains of a directive's credit for each of `'unsafe-inline'` and `'unsafe-eval'`, 0 to 1.
    pub unsafe_credit: f64,
    /// Parts of names that tell what things are for.
    pub words: Words,
    /// How many of a kind count at most; everything counts where this is not given.
    #[serde(default)]
    pub saturation: Saturation,
    /// What is looked for.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// The headers that protect by being there.
    #[serde(rename = "header")]
    pub headers: Vec<ProtectingHeader>,
    /// The directives of a Content-Security-Policy that protect.
    #[serde(rename = "directive")]
    pub directives: Vec<Directive>,
    /// What changes between versions are worth and how they are told.
    #[serde(rename = "change")]
    pub changes: Vec<ChangeRule>,
}

/// Parts of names, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
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

/// How many of a kind count at most.
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

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which detector.
    pub id: RuleId,
    /// What it is about.
    pub category: Category,
    /// How bad it is.
    pub severity: Severity,
    /// What each find adds to the exposure.
    pub points: f64,
    /// What it is called.
    pub title: String,
    /// How it is told, with `{count}` and `{what}`.
    pub sentence: String,
}

/// A header that protects by being there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectingHeader {
    /// Its name in lower case.
    pub name: String,
    /// What it adds to the hardening.
    pub points: f64,
    /// The rule that tells of its absence.
    pub missing: RuleId,
}

/// A directive of a Content-Security-Policy that protects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directive {
    /// Its name in lower case.
    pub name: String,
    /// What it adds to the hardening, with full credit.
    pub points: f64,
}

/// What a change between versions is worth.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRule {
    /// Which change.
    pub kind: ChangeKind,
    /// What it is about, in the words of the diff.
    pub category: String,
    /// How much it matters.
    pub points: f64,
    /// How it is told, with `{what}`.
    pub sentence: String,
}

/// Why a pack cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PackError {
    /// It is not TOML, or not of this shape; the message says where.
    #[error("rule pack: {0}")]
    Shape(String),
    /// A number is outside its range.
    #[error("rule pack: {what}: {value} is not between 0 and {greatest}")]
    Range {
        /// Where the number stands.
        what: String,
        /// The number.
        value: f64,
        /// The greatest that is allowed.
        greatest: f64,
    },
    /// Something stands there twice.
    #[error("rule pack: {0} stands there twice")]
    Twice(String),
}

impl Pack {
    /// The first pack.
    pub fn exposure_1() -> &'static Self {
        &EXPOSURE_1
    }

    /// Reads a pack.
    pub fn parse(text: &str) -> Result<Self, PackError> {
        let pack: Self = toml::from_str(text).map_err(|error| PackError::Shape(error.to_string()))?;
        pack.check_ranges()?;
        pack.check_unique()?;
        Ok(pack)
    }

    /// The rule of that id, if the pack has it.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// The change of that kind, if the pack has it.
    pub fn change(&self, kind: ChangeKind) -> Option<&ChangeRule> {
        self.changes.iter().find(|change| change.kind == kind)
    }

    /// Whether every number is within its range.
    fn check_ranges(&self) -> Result<(), PackError> {
        in_range("confidence", self.confidence, 1.0)?;
        in_range("unsafe_credit", self.unsafe_credit, 1.0)?;
        for rule in &self.rules {
            in_range(rule.id.name(), rule.points, GREATEST_POINTS)?;
        }
        for change in &self.changes {
            in_range(change.kind.name(), change.points, GREATEST_POINTS)?;
        }
        for (name, points) in self.protections() {
            in_range(name, points, 1.0)?;
        }
        Ok(())
    }

    /// Whether nothing is listed twice, which would leave it open which one counts.
    fn check_unique(&self) -> Result<(), PackError> {
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

/// Whether a number is between 0 and the greatest.
fn in_range(what: &str, value: f64, greatest: f64) -> Result<(), PackError> {
    if (0.0..=greatest).contains(&value) {
        return Ok(());
    }
    Err(PackError::Range { what: what.to_owned(), value, greatest })
}

/// Whether no name comes twice.
fn once_each<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), PackError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(PackError::Twice(name.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pack_has_every_rule_and_every_change() {
        let pack = Pack::exposure_1();
        for id in RuleId::ALL {
            assert!(pack.rule(id).is_some(), "{} is missing", id.name());
        }
        for kind in ChangeKind::ALL {
            assert!(pack.change(kind).is_some(), "{} is missing", kind.name());
        }
    }

    #[test]
    fn bad_packs_say_what_is_wrong() {
        let good = include_str!("../rules/exposure-1.toml");
        let said = |from: &str, to: &str| Pack::parse(&good.replacen(from, to, 1)).unwrap_err().to_string();
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
