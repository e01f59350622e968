//! Normalising and resolving against the pairs that crawlers agree on.

use crate::{fixture, json_list};
use varve_core::url::{UrlProblem, normalise, resolve, tree_path};

/// The fields of each line that is not a comment, with quotes resolved; white space around the last is dropped.
fn records(text: &str) -> Vec<Vec<String>> {
    let lines = text.split('\n').filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(fields).collect()
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.last_mut().unwrap();
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' if quoted => quoted = false,
            '"' if field.trim().is_empty() => quoted = true,
            ',' if !quoted => fields.push(String::new()),
            _ => field.push(character),
        }
    }
    fields.iter_mut().skip(1).for_each(|field| *field = field.trim().to_owned());
    fields
}

const NO_HOST: &str = "a web URL without a host names no server and is refused";
const NO_SCHEME: &str = "what has no scheme is no URL; guessing one is the caller's business";
const EMPTY_SEGMENT: &str = "an empty segment is a segment: servers may tell `//` from `/`";
const EMPTY_QUERY: &str = "an empty query is not the same as none (RFC 3986, 6.2.3)";
const TRAILING_DOT: &str = "the dot is part of the name that TLS and the server see";
const PARAMETERS: &str = "parameters belong to the server: order, doubles and empty ones may mean something";

/// The pairs that are deliberately not followed, each with its reason.
const DEPARTURES: [(&str, &str); 25] = [
    ("http:////", NO_HOST),
    ("http:///////", NO_HOST),
    ("foo.com/index.html", NO_SCHEME),
    ("http://foo.com//aa/bb/foo.html", EMPTY_SEGMENT),
    ("http://foo.com/aa//bb/foo.html", EMPTY_SEGMENT),
    ("http://foo.com/aa/bb//foo.html", EMPTY_SEGMENT),
    ("http://foo.com//aa//bb//foo.html", EMPTY_SEGMENT),
    ("http://foo.com////aa////bb//foo.html", EMPTY_SEGMENT),
    ("http://foo.com////aa////bb////foo.html", EMPTY_SEGMENT),
    ("file:/var/www/html/////./bar/index.html", EMPTY_SEGMENT),
    ("http://example.com?", EMPTY_QUERY),
    ("http://example.com/?", EMPTY_QUERY),
    ("http://example.com/?", EMPTY_QUERY),
    ("https://www.example.org./", TRAILING_DOT),
    ("http://example.com/?b=1&a=1", PARAMETERS),
    ("http://foo.com/foo.html?b=1&a=1", PARAMETERS),
    ("http://foo.com/index?b=2&a=1", PARAMETERS),
    ("http://foo.com/index?b=2&a=1#c", PARAMETERS),
    ("http://foo.com/index?a=1&b=", PARAMETERS),
    ("http://foo.com/index?b&a=1", PARAMETERS),
    ("http://foo.com/index?b=&a=1", PARAMETERS),
    ("http://foo.com/index?b=1&a=1&", PARAMETERS),
    ("http://foo.com/index?&b=1&a=1", PARAMETERS),
    ("http://foo.com/index?&=1&a=1", PARAMETERS),
    ("http://foo.com/index?=1&b=1&a=1", PARAMETERS),
];

#[test]
fn weird_urls_become_normal() {
    let Some(text) = fixture("vectors/crawler-commons-weirdToNormalizedUrls.csv") else {
        return;
    };
    let (mut followed, mut departed) = (0, 0);
    for record in records(&text) {
        let [url, expected] = &record[..] else { panic!("{record:?}") };
        let agrees = normalise(url).as_deref() == Ok(expected);
        let departure = DEPARTURES.iter().find(|(departure, _)| departure == url);
        assert_eq!(
            agrees,
            departure.is_none(),
            "{url:?} is {:?}, not {expected:?}: {departure:?}",
            normalise(url)
        );
        if agrees { followed += 1 } else { departed += 1 }
    }
    assert_eq!((followed, departed), (87, DEPARTURES.len()));
}

#[test]
fn invalid_urls_are_refused() {
    let Some(text) = fixture("vectors/crawler-commons-invalidUrls.csv") else { return };
    let problems: Vec<_> =
        records(&text).iter().map(|record| normalise(&record[0]).unwrap_err().problem).collect();
    assert_eq!(problems, [UrlProblem::BadEscape, UrlProblem::HostNotText]);
}

#[test]
fn references_resolve() {
    let Some(text) = fixture("vectors/crawler-commons-url-resolve.csv") else { return };
    let records = records(&text);
    assert_eq!(records.len(), 22);
    for record in records {
        let [reference, base, expected] = &record[..] else { panic!("{record:?}") };
        assert_eq!(resolve(base, reference).as_deref(), Ok(expected.as_str()), "{reference} on {base}");
    }
}

#[test]
fn working_tree_paths() {
    let Some(cases) = json_list("moku/vectors/url_paths.json") else { return };
    assert_eq!(cases.len(), 34);
    for case in cases {
        let text = |field: &str| case[field].as_str().unwrap().to_owned();
        let url = text("URL");
        let path = tree_path(&url);
        assert_eq!(path.is_err(), !text("Err").is_empty(), "{url}");
        if let Ok(path) = path {
            assert_eq!(String::from_utf8_lossy(&path), text("Path"), "{url}");
        }
    }
}
