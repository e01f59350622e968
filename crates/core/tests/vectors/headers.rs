//! Header views and header diffs against what Moku answers.

use crate::json_list;
use serde_json::Value;
use varve_core::headers::{HeaderDiff, HeaderView, Redaction};

/// A JSON map of names to lists of values, or null, as the pairs in it.
fn pairs(map: &Value) -> Vec<(String, String)> {
    let Some(map) = map.as_object() else { return Vec::new() };
    let values = |values: &Value| values.as_array().unwrap().clone();
    map.iter()
        .flat_map(|(name, list)| values(list).into_iter().map(move |value| (name.clone(), value)))
        .map(|(name, value)| (name, value.as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn views() {
    let Some(cases) = json_list("header views", "moku/vectors/normalize_headers.json") else { return };
    assert_eq!(cases.len(), 9);
    for case in cases {
        for (key, redaction) in [("plain", Redaction::Off), ("redacted", Redaction::On)] {
            let view = HeaderView::from_pairs(pairs(&case["in"]), redaction);
            assert_eq!(serde_json::to_value(&view).unwrap(), case[key], "{} of {}", key, case["in"]);
        }
    }
}

#[test]
fn diffs() {
    let Some(cases) = json_list("header diffs", "moku/vectors/diff_headers.json") else { return };
    assert_eq!(cases.len(), 11);
    for case in cases {
        for (key, redaction) in [("Plain", Redaction::Off), ("Redac", Redaction::On)] {
            let view = |side: &str| HeaderView::from_pairs(pairs(&case[side]), redaction);
            let diff = HeaderDiff::between(&view("Base"), &view("Head"));
            assert_eq!(serde_json::to_value(&diff).unwrap(), case[key], "{key} of {case}");
        }
    }
}
