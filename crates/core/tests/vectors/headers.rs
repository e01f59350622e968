//! Header views against those that Moku makes.

use crate::json_list;
use serde_json::Value;
use varve_core::headers::{HeaderView, Redaction};

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
    let Some(cases) = json_list("moku/vectors/normalize_headers.json") else { return };
    assert_eq!(cases.len(), 9);
    for case in cases {
        for (key, redaction) in [("plain", Redaction::Off), ("redacted", Redaction::On)] {
            let view = HeaderView::from_pairs(pairs(&case["in"]), redaction);
            assert_eq!(serde_json::to_value(&view).unwrap(), case[key], "{} of {}", key, case["in"]);
        }
    }
}
