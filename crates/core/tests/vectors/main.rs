//! The published and measured vectors, read from the fixtures folder where there is one.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that a fixture is not as expected")]

mod crawler;
mod crystal;
mod headers;
mod key;
mod robots;
mod surt;

use serde_json::Value;

/// The text of a fixture. Without the corpora the test is skipped.
fn fixture(path: &str) -> Option<String> {
    fixture_bytes(path).map(|bytes| String::from_utf8(bytes).unwrap())
}

/// The bytes of a fixture. Without the corpora the test is skipped.
fn fixture_bytes(path: &str) -> Option<Vec<u8>> {
    let path = varve_testkit::fixtures(path)?;
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A fixture that is a JSON list.
fn json_list(path: &str) -> Option<Vec<Value>> {
    let value: Value = serde_json::from_str(&fixture(path)?).unwrap();
    Some(value.as_array().unwrap().clone())
}
