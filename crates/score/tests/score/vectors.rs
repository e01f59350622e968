//! The numbers of the program that these rules come from, wherever it was right.

use super::{fixture, scored_with};
use serde_json::Value;
use std::collections::BTreeMap;
use varve_core::headers::{HeaderView, Redaction};
use varve_score::security::SecurityDiff;
use varve_score::{PageScore, RuleId, RulePack};

/// The rules that left evidence there.
const KNOWN: [&str; 14] = [
    "form_admin",
    "form_auth",
    "form_upload",
    "form",
    "input_file",
    "input_password",
    "session_cookie_no_httponly",
    "cookie_no_httponly",
    "cookie_no_secure",
    "csp_missing",
    "hsts_missing",
    "xfo_missing",
    "xcto_missing",
    "referrer_policy_missing",
];

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

fn headers(value: &Value) -> HeaderView {
    let map: BTreeMap<String, Vec<String>> = serde_json::from_value(value.clone()).unwrap_or_default();
    let pairs = map.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
    HeaderView::from_pairs(pairs.filter(|(name, _)| *name != "Status-Code"), Redaction::Off)
}

fn saturated() -> RulePack {
    let text = include_str!("../../rules/exposure-1.toml");
    let caps = "\n[saturation]\ninline_scripts = 10\nexternal_scripts = 10\nparameters = 15\n";
    RulePack::parse(&text.replacen("\n[[rule]]", &format!("{caps}\n[[rule]]"), 1)).unwrap()
}

/// Evidence as `key|severity|points`, of those rules that left evidence there.
fn evidence(score: &PageScore) -> Vec<String> {
    let known = score.evidence.iter().filter(|piece| KNOWN.contains(&piece.key.name()));
    let severity = |piece| serde_json::to_value(piece).unwrap()["severity"].as_str().unwrap().to_owned();
    known.map(|piece| format!("{}|{}|{}", piece.key.name(), severity(piece), piece.exposure)).collect()
}

/// The surface as JSON, without when and in a fixed order of query parameters.
fn surface(mut value: Value) -> Value {
    let fields = value.as_object_mut().unwrap();
    fields.shift_remove("collected_at");
    if let Some(Value::Array(parameters)) = fields.get_mut("get_params") {
        parameters.sort_by_key(|parameter| parameter["name"].as_str().unwrap_or_default().to_owned());
    }
    value
}

#[test]
fn vectors_are_reproduced() {
    let Some(text) = fixture("moku/vectors/scoring.json") else { return };
    let vectors: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(vectors.len(), 10);
    for vector in &vectors {
        let name = vector["Name"].as_str().unwrap();
        let (url, body) = (vector["URL"].as_str().unwrap(), vector["Body"].as_str().unwrap().as_bytes());
        let view = headers(&vector["Headers"]);
        let score = scored_with(RulePack::exposure_1(), url, &view, body);
        if name == "redacted cookie" {
            // There it was scored as a cookie without flags.
            assert_eq!((score.exposure, score.normalized), (0.0, 0));
            assert!(score.evidence.iter().any(|piece| piece.key == RuleId::CookieRedacted));
            assert!(near(score.confidence, 0.25));
            continue;
        }
        assert!(
            near(score.exposure, vector["Exposure"].as_f64().unwrap()),
            "{name}: exposure {}",
            score.exposure
        );
        // There hardening went beyond 1, and the normalised score beyond 100.
        assert!(
            near(score.hardening, vector["Hardening"].as_f64().unwrap().min(1.0)),
            "{name}: {}",
            score.hardening
        );
        assert!(
            near(score.score, vector["Score"].as_f64().unwrap().max(0.0)),
            "{name}: score {}",
            score.score
        );
        assert_eq!(i64::from(score.normalized), vector["Normalized"].as_i64().unwrap().min(100), "{name}");
        let expected: Vec<String> = serde_json::from_value(vector["Evidence"].clone()).unwrap_or_default();
        assert_eq!(evidence(&score), expected, "{name}");
        let ours = surface(serde_json::to_value(&score.surface).unwrap());
        assert_eq!(ours, surface(vector["Surface"].clone()), "{name}");
        let capped = scored_with(&saturated(), url, &view, body).exposure;
        assert!(near(capped, vector["ExposureSaturated"].as_f64().unwrap()), "{name}: saturated {capped}");
    }
}

/// The steps that a scored site went through there, if they are at hand.
fn steps() -> Option<Vec<Value>> {
    let text = fixture("moku/b-pending-batch-scored.expected.json")?;
    Some(serde_json::from_str(&text).unwrap())
}

/// The snapshots of those steps, by id.
fn snapshots(steps: &[Value]) -> BTreeMap<&str, &Value> {
    let all = steps.iter().filter_map(|step| step["out"]["Snapshots"].as_array()).flatten();
    all.map(|snapshot| (snapshot["id"].as_str().unwrap(), snapshot)).collect()
}

/// The score of such a snapshot.
fn scored_snapshot(snapshot: &Value) -> PageScore {
    let body = data_encoding::BASE64.decode(snapshot["body"].as_str().unwrap().as_bytes()).unwrap();
    scored_with(
        RulePack::exposure_1(),
        snapshot["url"].as_str().unwrap(),
        &headers(&snapshot["headers"]),
        &body,
    )
}

#[test]
fn stored_security_diffs_are_reproduced() {
    let Some(steps) = steps() else { return };
    let snapshots = snapshots(&steps);
    let expected = &steps.iter().find(|step| step["step"] == "security diff").unwrap()["out"];
    let page = |side: &str| scored_snapshot(snapshots[expected[side].as_str().unwrap()]);
    let (base, head) = (page("base_snapshot_id"), page("head_snapshot_id"));
    let diff = SecurityDiff::between(RulePack::exposure_1(), Some(&base), Some(&head)).unwrap();
    let json = serde_json::to_value(&diff).unwrap();
    for key in ["score_base", "score_head", "score_delta", "exposure_delta", "hardening_delta"] {
        assert!(near(json[key].as_f64().unwrap(), expected[key].as_f64().unwrap()), "{key}");
    }
    let brief =
        |change: &Value| (change["kind"].clone(), change["category"].clone(), change["score"].clone());
    // There headers came and went when only the case of their names changed.
    let is_header = |change: &&Value| change["kind"].as_str().unwrap().starts_with("header_");
    let theirs = expected["attack_surface_changes"].as_array().unwrap().iter();
    let ours = json["attack_surface_changes"].as_array().unwrap().iter();
    let mut left = ours.clone().map(brief);
    for wanted in theirs.filter(|change| !is_header(change)).map(brief) {
        assert!(left.any(|change| change == wanted), "{wanted:?} is missing or out of order");
    }
    let headers: Vec<_> = ours.filter(is_header).map(|change| change["detail"].as_str().unwrap()).collect();
    let policy = "Content-Security-Policy protects less than before: \
        `default-src 'self'; script-src 'self' 'unsafe-inline'` before, nothing now.";
    let frames = "A protecting header changed: x-frame-options, `DENY` before, `SAMEORIGIN` now.";
    assert_eq!(headers, [policy, frames]);
}

#[test]
fn stored_scores_are_reproduced() {
    let Some(steps) = steps() else { return };
    let snapshots = snapshots(&steps);
    let scores: Vec<&Value> =
        steps.iter().map(|step| &step["out"]).filter(|out| out["exposure_score"].is_number()).collect();
    assert_eq!(scores.len(), 5);
    for expected in scores {
        let snapshot = snapshots[expected["snapshot_id"].as_str().unwrap()];
        let score = scored_snapshot(snapshot);
        assert!(near(score.exposure, expected["exposure_score"].as_f64().unwrap()));
        assert!(near(score.hardening, expected["hardening_score"].as_f64().unwrap()));
        assert!(near(score.score, expected["score"].as_f64().unwrap()));
        let theirs =
            expected["evidence"].as_array().unwrap().iter().map(|piece| piece["key"].as_str().unwrap());
        // There a header was missing unless its name was in lower case.
        let is_there = score.surface.headers.contains_key("x-frame-options");
        let theirs: Vec<_> = theirs.filter(|key| !(is_there && *key == "xfo_missing")).collect();
        let ours: Vec<_> =
            score.evidence.iter().map(|piece| piece.key.name()).filter(|key| KNOWN.contains(key)).collect();
        assert_eq!(ours, theirs, "{}", score.url);
        let json: Value = serde_json::from_str(&score.to_json()).unwrap();
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(json[key].is_number(), value.is_number(), "{key}");
            assert_eq!(json[key].is_object(), value.is_object(), "{key}");
        }
        assert_eq!(json["attack_surface"]["url"], snapshot["url"]);
        let forms = |json: &Value| json["attack_surface"]["forms"].as_array().map_or(0, Vec::len);
        assert_eq!(forms(&json), forms(expected));
    }
}
