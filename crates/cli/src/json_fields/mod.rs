//! The fields of all JSON output, from which `docs/json.md` is generated. It exists in test builds
//! only. `UPDATE_DOCS=1 cargo test -p varve reference` writes the file.
//!
//! The tests in `tests/cli/json_output.rs` run every verb and compare its output with the document,
//! so a field that is missing here, has another type or is no longer printed is found.

mod captures;
mod history;
mod objects;
mod pages;
mod permanence;
mod plans;
mod projects;
mod texts;

use std::path::Path;

use clap::Command;

use crate::arguments;
use crate::json_stream::SCHEMA_NUMBER;

/// A field: its name, its type and its meaning. `a.b` is a field of the object `a`, and `a[]` an
/// element of the array `a`.
type JsonField = (&'static str, &'static str, &'static str);

/// One kind of object that a verb prints.
pub(super) struct JsonObject {
    /// When it is printed.
    when: &'static str,
    fields: &'static [JsonField],
}

/// The objects of a verb.
pub(super) struct JsonVerb {
    verb: &'static str,
    objects: &'static [JsonObject],
}

/// All verbs, in the order of the document.
fn verbs() -> Vec<&'static JsonVerb> {
    let tables = [
        captures::VERB_FIELDS,
        history::VERB_FIELDS,
        texts::VERB_FIELDS,
        plans::VERB_FIELDS,
        permanence::VERB_FIELDS,
        projects::VERB_FIELDS,
        objects::VERB_FIELDS,
        pages::VERB_FIELDS,
    ];
    tables.into_iter().flatten().collect()
}

/// The beginning of the document. `SCHEMA_NUMBER` stands for the number.
const DOCUMENT_HEADER: &str = "\
# JSON output

<!-- Generated from `crates/cli/src/json_fields`; do not edit. UPDATE_DOCS=1 cargo test -p varve reference -->

With `--json`, a verb prints JSON objects on standard output, one per line. A line that begins with `{` is a complete object.

- **Schema**: the first object of a stream has `schema`, a number: SCHEMA_NUMBER. It is increased when a field is removed, renamed or changes its type or meaning.
  New fields do not change it: ignore fields that you do not know.
- **Numbers**: no integer is greater than 2^53 or less than -2^53, so every JSON reader keeps it exactly. A greater one is a string of its decimal digits. Keys of URLs are always strings.
- **Times** are strings in UTC, such as `2026-11-18T02:04:05Z`, with a fraction where it is known.
- **Ids** are strings of hexadecimal digits.
- **Errors** are objects on standard error, one per line: `schema`, and `error` with `message`, `causes` (nearest first) and `hints`, which are lists of strings.
  They are printed as they occur, so standard output has only data. Warnings and other messages on standard error are text for people; `--quiet` suppresses them.
- **Exit codes** are the same as without `--json`: 0 done, 1 done with findings, 2 could not run, 130 stopped, 255 a bug in varve.

In the tables, `a.b` is a field of the object `a`, and `a[]` is an element of the array `a`. A `map` is an object whose names are data, and a `pair` an array of two numbers. An optional field may be absent.
";

fn markdown() -> String {
    let sections = verbs().into_iter().map(section).collect::<String>();
    DOCUMENT_HEADER.replace("SCHEMA_NUMBER", &SCHEMA_NUMBER.to_string()) + &sections
}

fn section(verb: &JsonVerb) -> String {
    let mut text = format!("\n## `varve {}`\n", verb.verb);
    for object in verb.objects {
        text.push_str(&format!("\n{}:\n\n| field | type | meaning |\n| --- | --- | --- |\n", object.when));
        for (name, kind, meaning) in object.fields {
            text.push_str(&format!("| `{name}` | {kind} | {meaning} |\n"));
        }
    }
    text
}

/// The verbs below a command that have `--json`, with the verbs above them.
fn verbs_with_json(above: &str, command: &Command) -> Vec<String> {
    let mut names = Vec::new();
    for verb in command.get_subcommands() {
        let name = format!("{above} {}", verb.get_name()).trim_start().to_owned();
        if verb.get_arguments().any(|argument| argument.get_long() == Some("json")) {
            names.push(name.clone());
        }
        names.extend(verbs_with_json(&name, verb));
    }
    names
}

#[test]
fn the_json_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let wanted = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "`docs/json.md` is out of date: UPDATE_DOCS=1 cargo test -p varve reference");
}

#[test]
fn every_verb_with_json_is_described() {
    let mut described: Vec<String> = verbs().iter().map(|verb| verb.verb.to_owned()).collect();
    let mut wanted = verbs_with_json("", &arguments::root());
    described.sort();
    wanted.sort();
    assert_eq!(described, wanted);
}

#[test]
fn a_field_is_described_once_and_below_its_object() {
    for verb in verbs() {
        for object in verb.objects {
            let mut names: Vec<&str> = object.fields.iter().map(|(name, ..)| *name).collect();
            for name in &names {
                if let Some((above, _)) = name.rsplit_once('.') {
                    let array = above.strip_suffix("[]").unwrap_or(above);
                    assert!(names.contains(&array), "`{name}` of `{}` has no object above it", verb.verb);
                }
            }
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "a field of `{}` is described twice", verb.verb);
        }
    }
}
