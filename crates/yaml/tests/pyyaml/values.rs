//! Made-up values, and made-up texts of the kind that people write by hand.

use proptest::prelude::*;
use varve_yaml::{Entry, Value};

/// Texts that need thought, one way or another.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9/?&=.:#-]{0,12}",
        "[ a'\":#\n-]{0,10}",
        "([a-z']{1,14} {1,2}){0,20}[a-z]",
        "([a-zé\u{a0}\u{2028}\u{85}\u{7f}😀\t\\\\\"]{0,30} ?){0,6}",
        "[-+]?[0-9_]{1,4}([.:][0-9_]{0,3})?([eE][-+]?[0-9]{1,3})?",
        "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,7})?( ?(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?)?",
        proptest::sample::select(vec![
            "yes", "No", "~", "null", "=", "<<", "0x1F", "0b1", "---", "...", "- a", "-", "?", ": x", "!",
            "&a", "*a", "@", "`", "%", "1e3", "0o17", ".inf", "{}", "[]", "a: b", "a #b", "\u{feff}", "\0",
            "it's", "'", "\n", " ",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
        any::<String>(),
        // Keys this long are written with a question mark.
        "[a-z ]{100,140}",
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => text().prop_map(Value::text),
        1 => any::<i64>().prop_map(Value::int),
        1 => any::<f64>().prop_map(Value::float),
        1 => (-1e6..1e6f64).prop_map(Value::float),
        1 => any::<bool>().prop_map(Value::bool),
        1 => Just(Value::null()),
    ]
}

/// Any value of a few levels, now and then with a part that stands in two places.
pub(crate) fn anything() -> impl Strategy<Value = Value> {
    let keys = prop_oneof![9 => text().prop_map(Value::text), 1 => any::<i32>().prop_map(Value::int)];
    scalar().prop_recursive(4, 30, 6, move |inner| {
        let entries = proptest::collection::vec((keys.clone(), inner.clone()), 0..5);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::sequence),
            entries.prop_map(|pairs| Value::mapping(unique(pairs))),
            inner.prop_map(|value| Value::sequence(vec![value.clone(), value])),
        ]
    })
}

fn unique(pairs: Vec<(Value, Value)>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in pairs {
        if !entries.iter().any(|entry| entry.key == key) {
            let mut entry = Entry::new("", value);
            entry.key = key;
            entries.push(entry);
        }
    }
    entries
}

/// Texts that are often YAML, in the many ways of writing it.
pub(crate) fn hand_written() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[a-z]{1,5}",
        2 => "[-+]?[0-9_]{1,4}([.:][0-9_]{0,3})?([eE][-+]?[0-9]{1,3})?",
        1 => "[0-9]{4}-[01]?[0-9]-[0-2]?[0-9]([Tt ][0-9]{1,2}:[0-5][0-9]:[0-5][0-9](\\.[0-9]{0,7})?( ?(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?)?",
        1 => "'[a-z ']{0,6}'",
        1 => "\"[a-z \\\\nx4]{0,6}\"",
        1 => proptest::sample::select(vec![
            "yes", "No", "~", "null", "0x1F", "-0b1_0", "0777", "1:30", ".inf", "-.INF", ".nan", "!!str 12", "!!int 7",
            "!!float 3", "&a x", "*a", "", "!!binary aGVsbG8=", "! 5", "{a: 1, b: [x, y]}", "[]", "{}", "a#b", "x # y",
        ]).prop_map(str::to_owned),
    ];
    let line = (
        0..3usize,
        proptest::sample::select(vec!["", "", "- ", "? ", "---\n", "a: ", "b: ", "c:\n    ", "<<: "]),
        word.clone(),
        word,
    )
        .prop_map(|(indent, lead, first, second)| {
            let blanks = " ".repeat(indent * 2);
            if second.is_empty() || lead == "- " {
                format!("{blanks}{lead}{first}")
            } else {
                format!("{blanks}{lead}{first}: {second}")
            }
        });
    let nice = (
        proptest::sample::select(vec!["\n", "\r\n"]),
        proptest::collection::vec(("[a-z]{1,3}", value_text()), 0..6),
    )
        .prop_map(|(end, pairs)| {
            pairs.into_iter().map(|(key, value)| format!("{key}: {value}{end}")).collect::<String>()
        });
    prop_oneof![1 => proptest::collection::vec(line, 1..6).prop_map(|lines| lines.join("\n")), 3 => nice]
}

fn value_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_.:/+-]{0,8}",
        "[-+]?[0-9_]{1,4}([.:][0-9_]{0,3})?([eE][-+]?[0-9]{1,3})?",
        "[0-9]{4}-[01]?[0-9]-[0-2]?[0-9]([Tt ][0-9]{1,2}:[0-5][0-9]:[0-5][0-9](\\.[0-9]{0,7})?( ?(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?)?",
        "0[xb]?[0-9a-f_]{1,30}",
        "\\[[a-z0-9, ]{0,9}\\]",
        "\\{[a-z]: [0-9]{1,3}, [a-z]: no\\}",
        "'[a-z ]{0,200}'",
        "\"[a-z é]{0,200}\"",
    ]
}

/// What chance does not bring.
pub(crate) const PECULIAR: &[&str] = &[
    "a: &x [1, 2]\nb: *x\nc: *x\n",
    "base: &b {k: 1, l: 2}\nx: {<<: *b, l: 3}\n",
    "x: {<<: [{a: 1}, {a: 2, b: 3}], c: &d {e: f}}\ny: {<<: {z: *d}}\n",
    "d: &d 2020-01-02\ne: *d\n",
    "b: !!binary |\n  R0lGODlhDAAMAIQAAP//9/X17unp5WZmZgAAAOfn515eXvPz7Y6OjuDg4J+fn5OTk6enp\n  56enmlpaWNjY6Ojo4SEhP/++f/++f8=\n",
    "b: !!binary ''\n",
    "!!binary aGk=: x\n",
    "s: !!set {b, a, c}\n",
    "= : 1\n",
    "? long key that is complex\n: value\n",
    "? |\n  two\n  lines\n: - 1\n  - 2\n",
    "--- plain\n",
    "--- 'quoted'\n--- 5\n",
    "--- |\n  text\n\n--- >\n  folded\n  text\n",
    "%YAML 1.1\n---\na: 1\n...\n---\nb: 2\n",
    "a:\n- 1\n-\n  - 2\n  -\n    b: c\n    d:\n    - e\n",
    "1: a\nb: c\n",
    "2: a\n1: b\n10: c\n-3: d\n1.5: e\n",
    "2020-01-02: a\n2019-01-02: b\n",
    "~: a\n",
    "a: 0x_\n",
    "a: 123456789012345678901234567890\nb: 0xFFFFFFFFFFFFFFFFFFFFFFFF\n",
    "a: \"\\x41\\u00e9\\U0001F600\\N\\_\\L\\P\\e\"\n",
    "a: 'it''s'\nb: \"line\\\n  join\"\n",
    "\u{feff}a: 1\n",
    "a: [x, {b: c}, 'd']\n",
    "{}\n",
    "--- {}\n---\n---\n",
];
