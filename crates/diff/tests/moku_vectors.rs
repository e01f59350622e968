//! Diffs of bodies and headers against those that the original Moku tracker makes.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that a fixture is not as expected")]

use serde_json::{Value, json};
use varve_core::headers::{HeaderView, Redaction};
use varve_diff::headers::HeaderDiff;
use varve_diff::text::moku;

/// A fixture that is a JSON list. Without the corpora the test is skipped.
fn json_list(path: &str) -> Option<Vec<Value>> {
    let path = varve_testkit::fixtures(path)?;
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let value: Value = serde_json::from_slice(&text).unwrap();
    Some(value.as_array().unwrap().clone())
}

#[test]
fn chunks_equal_the_original() {
    let Some(vectors) = json_list("moku/vectors/body_diff.json") else { return };
    let bytes = |vector: &Value, key: &str| -> Vec<u8> {
        data_encoding::BASE64.decode(vector[key].as_str().unwrap().as_bytes()).unwrap()
    };
    let mut compared = 0;
    for vector in &vectors {
        let (base, head) = (bytes(vector, "base_b64"), bytes(vector, "head_b64"));
        let ours = json!(moku::body_diff("B", "H", &base, &head));
        let ascii = base.is_ascii() && head.is_ascii();
        // For other text the original counts letters as bytes in places, and its chunks may begin
        // within a letter.
        if ascii || ours == vector["Diff"] {
            assert_eq!(ours, vector["Diff"], "{vector}");
            compared += 1;
        }
    }
    assert!(compared >= 23, "{compared} of {}", vectors.len());
}

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
fn header_diffs_equal_the_original() {
    let Some(cases) = json_list("moku/vectors/diff_headers.json") else { return };
    assert_eq!(cases.len(), 11);
    for case in cases {
        for (key, redaction) in [("Plain", Redaction::Off), ("Redac", Redaction::On)] {
            let view = |side: &str| HeaderView::from_pairs(pairs(&case[side]), redaction);
            let diff = HeaderDiff::between(&view("Base"), &view("Head"));
            assert_eq!(serde_json::to_value(&diff).unwrap(), case[key], "{key} of {case}");
        }
    }
}
