//! Scores as they lie in rows, whoever wrote them.
//!
//! Owns the reading of `score_json` of every age: those of rules and selectors, those of features, and those with an
//! attack surface. What an age did not write is absent or empty; what it wrote beyond this is passed over. Numbers are
//! told as they are stored, also where their writer let them leave their range.

use super::surface::Surface;
use serde::Deserialize;
use serde_json::Value;

/// A score that was stored.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct StoredScore {
    /// The score.
    #[serde(default)]
    pub score: f64,
    /// The score as a whole number; old ones may be above 100.
    #[serde(default)]
    pub normalized: i64,
    /// How sure it was.
    #[serde(default)]
    pub confidence: f64,
    /// The rules that were used.
    #[serde(default)]
    pub version: String,
    /// What was found.
    #[serde(default, deserialize_with = "none_is_empty")]
    pub evidence: Vec<StoredEvidence>,
    /// The points of what was exposed.
    pub exposure_score: Option<f64>,
    /// What headers took back.
    pub hardening_score: Option<f64>,
    /// When, as RFC 3339.
    #[serde(default)]
    pub timestamp: String,
    /// What was looked at.
    pub attack_surface: Option<Surface>,
}

/// A piece of evidence that was stored.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct StoredEvidence {
    /// What it was known by.
    #[serde(default)]
    pub key: String,
    /// The rule.
    #[serde(default)]
    pub rule_id: String,
    /// How bad it was.
    #[serde(default)]
    pub severity: String,
    /// What it was called.
    #[serde(default)]
    pub description: String,
    /// What it added.
    #[serde(default)]
    pub contribution: f64,
    /// Where it was, in the words of its age.
    #[serde(default, deserialize_with = "none_is_empty")]
    pub locations: Vec<Value>,
}

impl StoredScore {
    /// Reads a `score_json`.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// A list, or the word null, which some writers mean an empty one by.
fn none_is_empty<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_rules_and_selectors_are_read() {
        let text = r#"{"score":0.8,"normalized":80,"confidence":0.5,"version":"v0.0.1","evidence":[{"key":"k",
            "rule_id":"js:eval","severity":"critical","description":"d","locations":[{"selector":"p","line_start":3}]}],
            "matched_rules":[{"ID":"x"}],"meta":{"source":"version:1"},"timestamp":"2026-01-01T00:00:00Z"}"#;
        let score = StoredScore::parse(text).unwrap();
        assert_eq!((score.normalized, score.evidence[0].severity.as_str()), (80, "critical"));
        assert_eq!(score.evidence[0].locations[0]["line_start"], 3);
        assert_eq!((score.exposure_score, score.attack_surface), (None, None));
    }

    #[test]
    fn scores_beyond_their_range_and_without_evidence_are_read() {
        let text = r#"{"score":1.4,"normalized":140,"evidence":null,"exposure_score":1.4,"hardening_score":0,
            "attack_surface":{"url":"https://x.test/","status_code":200,"cookies":[{"name":"a","secure":false,"http_only":true}]}}"#;
        let score = StoredScore::parse(text).unwrap();
        assert_eq!((score.normalized, score.evidence.len()), (140, 0));
        assert_eq!(score.attack_surface.unwrap().cookies[0].name, "a");
        assert!(StoredScore::parse("[]").is_err());
    }
}
