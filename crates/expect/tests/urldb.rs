//! The URL database: every vector that the original produced, byte for byte.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that a fixture is not as expected")]

use serde_json::Value as Json;
use varve_expect::{DomainFile, Expectation, Target};
use varve_yaml::{Entry, Kind, Value, emit, parse};

/// The text of a fixture. Without the corpora the test is skipped.
fn fixture(path: &str) -> Option<String> {
    let path = varve_testkit::fixtures(path)?;
    Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A fixture that is a JSON list.
fn json_list(path: &str) -> Option<Vec<Json>> {
    let value: Json = serde_json::from_str(&fixture(path)?).unwrap();
    Some(value.as_array().unwrap().clone())
}

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
        let Some(text) = fixture(&format!("urldb/{name}.example.com.yaml")) else { return };
        let documents = parse(&text).unwrap();
        let written = emit(documents.iter().map(|document| &document.value));
        assert_eq!(written, text, "{name}");
        let json = json_list(&format!("urldb/{name}.example.com.json")).unwrap();
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
    let Some(lines) = fixture("urldb/emit_vectors.jsonl") else { return };
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

#[test]
fn domain_files_come_through_the_model_byte_for_byte() {
    for name in NAMES {
        let Some(text) = fixture(&format!("urldb/{name}.example.com.yaml")) else { return };
        let file = DomainFile::parse("example.com", &text).unwrap();
        assert_eq!(file.text(), text, "{name}");
        assert_eq!(file.canonical().text(), text, "{name}");
    }
}

#[test]
fn seed_files_are_read() {
    let Some(text) = fixture("urldb/00-seed-cnames.example.com.yaml") else { return };
    let file = DomainFile::parse("example.com", &text).unwrap();
    assert_eq!(
        (file.domain.cnames().len(), file.records.as_slice()),
        (1, [Expectation::new("/")].as_slice())
    );
    assert_eq!(file.text(), text);
    let text = fixture("urldb/00-seed-minimal.example.com.yaml").unwrap();
    assert_eq!(DomainFile::parse("example.com", &text).unwrap().records, [Expectation::new("/")]);
}

#[test]
fn insertion_gives_what_the_original_gives() {
    for letter in ["a", "b", "c"] {
        let Some(before) = fixture(&format!("urldb/insert-{letter}-before.yaml")) else { return };
        let mut file = DomainFile::parse("example.com", &before).unwrap();
        for record in json_list(&format!("urldb/insert-{letter}-records.json")).unwrap() {
            let text = format!("---\n{}", emit([&value(&record)]));
            file.insert(DomainFile::parse("", &text).unwrap().records.remove(0));
        }
        let after = fixture(&format!("urldb/insert-{letter}-after.yaml")).unwrap();
        assert_eq!(file.text(), after, "{letter}");
    }
}

#[test]
fn urls_have_the_stored_path_of_the_original() {
    let Some(table) = fixture("urldb/normalize.tsv") else {
        return;
    };
    let mut case_sensitive = DomainFile::new("example.com");
    case_sensitive.domain.cnames = Some(vec!["www.example.com".into()]);
    let mut other = DomainFile::new("ci.example.com");
    other.domain.case_sensitive_paths = Some(false);
    let files = [case_sensitive, other];
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let found = Target::parse(columns[0]).ok().and_then(|target| {
            let file = files.iter().find(|file| target.is_of(file))?;
            Some((file.name.as_str(), target.path_in(file)))
        });
        let found = found.as_ref().map_or(("", ""), |(name, path)| (name, path.as_str()));
        let wanted = match columns[0] {
            // The original loses the meaning here: a slash, a question mark and a hash become real
            // ones.
            "http://example.com/a%2Fb%3Fc%23d" => ("example.com", "/a%2Fb%3Fc%23d"),
            // And here it takes the path for a host.
            "http://example.com//dbl" => ("example.com", "/dbl"),
            // Hosts have no case, 80 is the port of http, and a scheme may be missing.
            "http://EXAMPLE.com/x" | "http://example.com:80/x" | "example.com/x" => ("example.com", "/x"),
            _ if columns[1].starts_with("ERROR") => ("", ""),
            _ => (columns[1], columns[2]),
        };
        assert_eq!(found, wanted, "{}", columns[0]);
    }
}
