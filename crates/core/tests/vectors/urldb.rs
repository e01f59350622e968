//! The URL database: every vector that the original produced, byte for byte.

use crate::{fixture, json_list};
use serde_json::Value as Json;
use varve_core::yaml::{Entry, Kind, Value, emit, parse};

const NAMES: [&str; 10] = [
    "01-minimal",
    "02-metadata",
    "03-unicode",
    "04-quoting",
    "05-query",
    "06-long",
    "07-static",
    "08-extras",
    "09-order",
    "10-redirects",
];

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::null(),
        Json::Bool(value) => Value::bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::int(value),
            (_, Some(value)) => Value::int(value),
            _ => Value::float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::text(text),
        Json::Array(items) => Value::sequence(items.iter().map(value).collect()),
        Json::Object(map) => {
            Value::mapping(map.iter().map(|(key, item)| Entry::new(key, value(item))).collect())
        }
    }
}

/// Whether they say the same; dates are texts in JSON, and keys come in any order.
fn same(yaml: &Value, json: &Json) -> bool {
    match (yaml, json) {
        (Value::Scalar(scalar), Json::String(text)) if scalar.kind == Kind::Timestamp => scalar.text == *text,
        (Value::Scalar(_), _) => *yaml == value(json),
        (Value::Sequence(list), Json::Array(items)) => {
            list.items.len() == items.len()
                && list.items.iter().zip(items).all(|(yaml, json)| same(yaml, json))
        }
        (Value::Mapping(map), Json::Object(object)) => {
            map.entries.len() == object.len()
                && object.iter().all(|(key, json)| map.get(key).is_some_and(|yaml| same(yaml, json)))
        }
        _ => false,
    }
}

#[test]
fn files_are_read_and_written_byte_for_byte() {
    for name in NAMES {
        let test = "files_are_read_and_written_byte_for_byte";
        let Some(text) = fixture(test, &format!("urldb/{name}.example.com.yaml")) else { return };
        let documents = parse(&text).unwrap();
        let written = emit(documents.iter().map(|document| &document.value));
        assert_eq!(written, text, "{name}");
        let json = json_list(test, &format!("urldb/{name}.example.com.json")).unwrap();
        assert_eq!(documents.len(), json.len(), "{name}");
        for (document, json) in documents.iter().zip(&json) {
            assert!(same(&document.value, json), "{name}: {document:?} is not {json}");
        }
        if name != "08-extras" {
            let values: Vec<Value> = json.iter().map(value).collect();
            assert_eq!(emit(&values), text, "{name}");
        }
    }
}

#[test]
fn each_text_is_spelled_as_the_original_spells_it() {
    let test = "each_text_is_spelled_as_the_original_spells_it";
    let Some(lines) = fixture(test, "urldb/emit_vectors.jsonl") else { return };
    let mut count = 0;
    for line in lines.lines() {
        let vector: Json = serde_json::from_str(line).unwrap();
        let text = vector["s"].as_str().unwrap();
        let as_value = Value::mapping(vec![Entry::new("_path", Value::text(text))]);
        let as_item = Value::sequence(vec![Value::text(text)]);
        for (wanted, value) in [(&vector["map"], as_value), (&vector["item"], as_item)] {
            let written = emit([&value]);
            assert_eq!(written.strip_prefix("---\n"), wanted.as_str(), "{text:?}");
            assert_eq!(parse(&written).unwrap()[0].value, value, "{text:?}");
        }
        count += 1;
    }
    assert!(count > 2000);
}
