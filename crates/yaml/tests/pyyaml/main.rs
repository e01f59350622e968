//! Held against the original: what varve writes, PyYAML reads and writes again as the same bytes, and what PyYAML reads
//! and writes varve reads and writes as the same bytes.
//!
//! Skipped without the Python that `./check` installs.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that things are not as expected")]

mod values;

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use varve_yaml::{Value, emit, parse};

const SCRIPT: &str = "
import json, sys, yaml
def again(text):
    try:
        documents = list(yaml.load_all(text, Loader=yaml.SafeLoader))
        return yaml.dump_all(documents, explicit_start=True, sort_keys=True)
    except (yaml.YAMLError, ValueError, TypeError, KeyError, RecursionError, AttributeError):
        return None
json.dump([again(text) for text in json.load(sys.stdin)], sys.stdout)
";

/// What PyYAML writes after reading each text; nothing for one that it refuses.
fn again(python: &std::path::Path, texts: &[String]) -> Vec<Option<String>> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = serde_json::to_vec(texts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_varve_writes_pyyaml_writes_the_same() {
    let Some(python) = varve_testkit::python() else { return };
    let mut runner = TestRunner::deterministic();
    let documents = proptest::collection::vec(values::anything(), 1..4);
    let made: Vec<Vec<Value>> =
        (0..800).map(|_| documents.new_tree(&mut runner).unwrap().current()).collect();
    let texts: Vec<String> = made.iter().map(emit).collect();
    for ((values, text), answer) in made.iter().zip(&texts).zip(again(&python, &texts)) {
        assert_eq!(answer.as_deref(), Some(text.as_str()), "{values:?}");
        let read: Vec<Value> = parse(text).unwrap().into_iter().map(|document| document.value).collect();
        assert_eq!(emit(&read), *text);
    }
}

#[test]
fn what_pyyaml_reads_varve_reads_the_same() {
    let Some(python) = varve_testkit::python() else { return };
    let mut runner = TestRunner::deterministic();
    let text = values::hand_written();
    let mut texts: Vec<String> = (0..2000).map(|_| text.new_tree(&mut runner).unwrap().current()).collect();
    texts.extend(values::PECULIAR.iter().map(|text| (*text).to_owned()));
    let mut read = 0;
    for (text, answer) in texts.iter().zip(again(&python, &texts)) {
        let Some(answer) = answer else { continue };
        read += 1;
        let ours: Vec<Value> = match parse(text) {
            Ok(documents) => documents.into_iter().map(|document| document.value).collect(),
            Err(error) => panic!("{text:?}: {error}"),
        };
        assert_eq!(emit(&ours), answer, "{text:?}");
    }
    assert!(read > texts.len() / 3, "only {read} of {} texts were YAML", texts.len());
}
