//! Keys of the Internet Archive's flavour, and each step to them, against the pairs its own tests hold.

use crate::fixture;
use varve_core::url::surt::ia::{KeyOptions, LooseUrl, WaybackOptions, key};

/// What a Python string literal means; nothing for `None`.
fn literal(repr: &str) -> Option<String> {
    let inner = repr.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match (character, if character == '\\' { characters.next() } else { None }) {
            ('\\', Some('t')) => text.push('\t'),
            ('\\', Some('r')) => text.push('\r'),
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('x')) => {
                let digits: String = characters.by_ref().take(2).collect();
                text.push(char::from(u8::from_str_radix(&digits, 16).unwrap()));
            }
            ('\\', Some(escaped)) => text.push(escaped),
            _ => text.push(character),
        }
    }
    Some(text)
}

fn options(text: &str) -> KeyOptions {
    let mut options = KeyOptions::default();
    for option in text.split(';').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap();
        let value = value == "True";
        match name {
            "with_scheme" => options.with_scheme = value,
            "trailing_comma" => options.trailing_comma = value,
            "host_massage" => options.wayback.strip_www = value,
            "query_lowercase" => options.wayback.lower_query = value,
            _ => panic!("unknown option {name}"),
        }
    }
    options
}

fn steps(url: &str, safe_browsing: bool, wayback: Option<WaybackOptions>) -> LooseUrl {
    let mut loose = LooseUrl::parse(url).unwrap().unwrap();
    if safe_browsing {
        loose.canonicalise_for_safe_browsing();
    }
    if let Some(wayback) = wayback {
        loose.canonicalise_for_wayback(&wayback);
    }
    loose
}

fn answer(kind: &str, url: &str, given: &str) -> String {
    if given.starts_with("canonicalizer=lambda") {
        return steps(url, false, None).to_key(&KeyOptions::default());
    }
    let options = options(given);
    match kind {
        "GoogleURLCanonicalizer" => steps(url, true, None).to_url(),
        "IAURLCanonicalizer" => steps(url, false, Some(options.wayback)).to_url(),
        "DefaultIAURLCanonicalizer" => steps(url, true, Some(options.wayback)).to_url(),
        "surt" => key(url, &options).unwrap(),
        _ => panic!("unknown kind {kind}"),
    }
}

#[test]
fn keys_and_steps() {
    let Some(text) = fixture("vectors/surt_ia_python.tsv") else { return };
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    assert_eq!(lines.len(), 102);
    for line in lines {
        let fields: Vec<_> = line.split('\t').collect();
        let [kind, url, expected, given] = fields[..] else { panic!("{line}") };
        let url = literal(url).unwrap_or_default();
        assert_eq!(Some(answer(kind, &url, given)), literal(expected), "{line}");
    }
}
