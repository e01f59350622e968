//! Parses text into values.
//!
//! The scanner's events are assembled with an explicit stack, so nesting cannot overflow the thread's
//! stack. An alias shares the value it refers to, so a small text cannot expand into gigabytes. Only
//! `<<` copies entries, up to a limit.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use libyaml_safer::{Event, EventData, Mark, Parser, ScalarStyle};

use super::error::{Place, YamlError};
use super::scannable::scannable;
use super::value::{Entry, Kind, Mapping, Scalar, Sequence, Value};

/// Maximum length of a text in bytes.
pub const MAX_TEXT_BYTES: usize = 64 << 20;
/// Maximum depth of nesting.
const MAX_NESTING_DEPTH: usize = 100;
/// Maximum number of entries that `<<` copies.
const MAX_MERGED_ENTRIES: usize = 100_000;
/// Maximum number of `%TAG` lines. The scanner compares each with all before it.
const MAX_TAG_LINES: usize = 100;
/// The prefix of the names of YAML's own types.
pub(super) const YAML_TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// One document of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Where it begins.
    pub place: Place,
    /// Its value; null if the document is empty.
    pub value: Value,
    /// Keys that occur twice in one mapping, in order. The last value wins, as in PyYAML; a caller
    /// that would lose the other value checks this list.
    pub repeated_keys: Vec<RepeatedKey>,
}

/// A key that occurs twice in one mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedKey {
    /// The key as text.
    pub key: String,
    /// The earlier one.
    pub first: Place,
    /// The later one, whose value wins.
    pub second: Place,
}

/// Parses all documents of `text`.
pub fn parse(text: &str) -> Result<Vec<Document>, YamlError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(YamlError::TooLong);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.lines().filter(|line| line.starts_with("%TAG")).count() > MAX_TAG_LINES {
        return Err(syntax(Place::START, "too many `%TAG` lines"));
    }
    // The scanner may panic on some input; no text may end the process.
    catch_unwind(AssertUnwindSafe(|| read(text)))
        .unwrap_or_else(|_| Err(syntax(Place::START, "the scanner cannot read this text")))
}

fn read(text: &str) -> Result<Vec<Document>, YamlError> {
    let whole = scannable(text);
    let mut bytes = whole.as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut reader = Reader::default();
    loop {
        let event = parser.parse().map_err(|error| wrong(&error, text))?;
        if matches!(event.data, EventData::StreamEnd) {
            return Ok(reader.documents);
        }
        reader.take(event)?;
    }
}

fn syntax(place: Place, problem: &str) -> YamlError {
    YamlError::Syntax { place, problem: problem.to_owned() }
}

fn place(mark: Mark) -> Place {
    Place { line: mark.line + 1, column: mark.column + 1 }
}

fn wrong(error: &libyaml_safer::Error, text: &str) -> YamlError {
    let place = match error.problem_mark() {
        Some(mark) => place(mark),
        None => first_forbidden(text),
    };
    let problem = match error.context() {
        Some(context) => format!("{} {context}", error.problem()),
        None => error.problem().to_owned(),
    };
    YamlError::Syntax { place, problem }
}

/// The position of the first character that YAML forbids. The scanner rejects those before it counts
/// lines.
fn first_forbidden(text: &str) -> Place {
    let allowed = |letter: char| {
        matches!(letter, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
            && letter != '\u{feff}'
    };
    let before = &text[..text.find(|letter| !allowed(letter)).unwrap_or(0)];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    Place { line, column }
}

/// A value with its depth.
#[derive(Clone)]
struct Built {
    value: Value,
    height: usize,
}

/// A list or mapping that is not complete.
struct Open {
    content: Content,
    anchor: Option<String>,
    tag: Option<String>,
    height: usize,
}

enum Content {
    Sequence(Vec<Value>),
    Mapping { entries: Entries, key: Option<(Value, Place)>, merged: Vec<(Value, Place)> },
}

/// Entries of a mapping. Of equal keys the last value wins, in the order of the first.
#[derive(Default)]
struct Entries {
    list: Vec<Entry>,
    places: HashMap<(Kind, String), usize>,
}

impl Entries {
    /// Adds an entry, and returns the one that it replaces.
    fn put(&mut self, entry: Entry) -> Option<Entry> {
        let scalar = entry.key.as_scalar()?;
        let identity = (scalar.kind.clone(), scalar.text.clone());
        match self.places.get(&identity) {
            Some(&at) => Some(std::mem::replace(&mut self.list[at], entry)),
            None => {
                self.places.insert(identity, self.list.len());
                self.list.push(entry);
                None
            }
        }
    }
}

impl Extend<Entry> for Entries {
    fn extend<T: IntoIterator<Item = Entry>>(&mut self, entries: T) {
        for entry in entries {
            self.put(entry);
        }
    }
}

#[derive(Default)]
struct Reader {
    documents: Vec<Document>,
    begin: Option<Place>,
    open: Vec<Open>,
    anchors: HashMap<String, Built>,
    merged: usize,
    repeated_keys: Vec<RepeatedKey>,
}

impl Reader {
    fn take(&mut self, event: Event) -> Result<(), YamlError> {
        let at = place(event.start_mark);
        match event.data {
            EventData::DocumentStart { .. } => {
                self.anchors.clear();
                self.begin = Some(at);
                Ok(())
            }
            EventData::Alias { anchor } => {
                let built = self.anchors.get(&anchor).cloned();
                let built = built.ok_or(YamlError::Alias { place: at, name: anchor })?;
                self.put(built, at)
            }
            EventData::Scalar { anchor, tag, value, style, .. } => {
                let tag = tag.map(mended);
                let scalar = scalar(value, tag.as_deref(), style == ScalarStyle::Plain);
                let built = Built { value: Value::Scalar(Arc::new(scalar)), height: 0 };
                self.finish(built, anchor, at)
            }
            EventData::SequenceStart { anchor, tag, .. } => {
                self.begin(Content::Sequence(Vec::new()), anchor, foreign(tag, "seq"), at)
            }
            EventData::MappingStart { anchor, tag, .. } => {
                let content = Content::Mapping { entries: Entries::default(), key: None, merged: Vec::new() };
                self.begin(content, anchor, foreign(tag, "map"), at)
            }
            EventData::SequenceEnd | EventData::MappingEnd => self.end(at),
            EventData::StreamStart { .. } | EventData::StreamEnd | EventData::DocumentEnd { .. } => Ok(()),
        }
    }

    fn begin(
        &mut self,
        content: Content,
        anchor: Option<String>,
        tag: Option<String>,
        at: Place,
    ) -> Result<(), YamlError> {
        if self.open.len() >= MAX_NESTING_DEPTH {
            return Err(YamlError::TooDeep { place: at });
        }
        self.open.push(Open { content, anchor, tag, height: 0 });
        Ok(())
    }

    fn end(&mut self, at: Place) -> Result<(), YamlError> {
        let Some(Open { content, anchor, tag, height }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            Content::Sequence(items) => Value::Sequence(Arc::new(Sequence { tag, items })),
            Content::Mapping { entries, merged, .. } => {
                let entries = if merged.is_empty() { entries } else { self.merge(entries, merged)? };
                Value::Mapping(Arc::new(Mapping { tag, entries: entries.list }))
            }
        };
        self.finish(Built { value, height: height + 1 }, anchor, at)
    }

    fn finish(&mut self, built: Built, anchor: Option<String>, at: Place) -> Result<(), YamlError> {
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, built.clone());
        }
        self.put(built, at)
    }

    /// Adds a complete value to the innermost open collection, or to the documents.
    fn put(&mut self, Built { value, height }: Built, at: Place) -> Result<(), YamlError> {
        // An alias may bring many levels at once.
        if self.open.len() + height > MAX_NESTING_DEPTH {
            return Err(YamlError::TooDeep { place: at });
        }
        let Some(open) = self.open.last_mut() else {
            let place = self.begin.take().unwrap_or(at);
            let repeated_keys = std::mem::take(&mut self.repeated_keys);
            self.documents.push(Document { place, value, repeated_keys });
            return Ok(());
        };
        open.height = open.height.max(height);
        match &mut open.content {
            Content::Sequence(items) => items.push(value),
            Content::Mapping { entries, key, merged } => match key.take() {
                None => *key = Some((as_key(value, at)?, at)),
                Some((name, place)) if is_merge(&name) => merged.push((value, place)),
                Some((key, place)) => {
                    if let Some(replaced) = entries.put(Entry { key: as_text(key), value, place }) {
                        let key = replaced.key.as_scalar().map(|key| key.text.clone()).unwrap_or_default();
                        self.repeated_keys.push(RepeatedKey { key, first: replaced.place, second: place });
                    }
                }
            },
        }
        Ok(())
    }

    /// Merged entries come first, and the entries of the mapping itself override them.
    fn merge(&mut self, own: Entries, merged: Vec<(Value, Place)>) -> Result<Entries, YamlError> {
        let mut all = Entries::default();
        for (value, place) in merged {
            let sources = match &value {
                Value::Sequence(list) => list.items.iter().rev().collect(),
                single => vec![single],
            };
            for source in sources {
                let Value::Mapping(source) = source else { return Err(YamlError::Merge { place }) };
                self.merged += source.entries.len();
                if self.merged > MAX_MERGED_ENTRIES {
                    return Err(YamlError::TooMuchMerged { place });
                }
                all.extend(source.entries.iter().cloned());
            }
        }
        all.extend(own.list);
        Ok(all)
    }
}

fn as_key(value: Value, place: Place) -> Result<Value, YamlError> {
    match value {
        Value::Scalar(_) => Ok(value),
        _ => Err(YamlError::Key { place }),
    }
}

fn is_merge(key: &Value) -> bool {
    key.as_scalar().is_some_and(|scalar| scalar.kind == Kind::Plain && scalar.text == "<<")
}

/// As a key, `=` is a text.
fn as_text(key: Value) -> Value {
    match key.as_scalar() {
        Some(scalar) if scalar.kind == Kind::Plain && scalar.text == "=" => Value::text("="),
        _ => key,
    }
}

/// Decodes the escaped bytes of a tag as UTF-8. The scanner returns each of them as one character;
/// the rest of a tag is ASCII.
fn mended(tag: String) -> String {
    let bytes: Option<Vec<u8>> = tag.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(tag)
}

/// The tag, unless it names the default type of the value.
fn foreign(tag: Option<String>, usual: &str) -> Option<String> {
    tag.map(mended).filter(|tag| tag != "!" && tag.strip_prefix(YAML_TAG_PREFIX) != Some(usual))
}

fn scalar(text: String, tag: Option<&str>, plain: bool) -> Scalar {
    let whole = |kind| Scalar { kind, text: text.clone(), written: None };
    let Some(tag) = tag else {
        return if plain { Scalar::of_plain(&text) } else { whole(Kind::Text) };
    };
    let wanted = match tag.strip_prefix(YAML_TAG_PREFIX) {
        Some("str") => return whole(Kind::Text),
        Some("binary") => return binary(&text).unwrap_or_else(|| whole(Kind::Tagged(tag.to_owned()))),
        Some("null") => {
            return Scalar { kind: Kind::Null, text: "null".to_owned(), written: Some(text.clone()) };
        }
        Some("bool") => Kind::Bool,
        Some("int") => Kind::Int,
        Some("float") => Kind::Float,
        Some("timestamp") => Kind::Timestamp,
        _ if tag == "!" => return whole(Kind::Text),
        _ => return whole(Kind::Tagged(tag.to_owned())),
    };
    let read = Scalar::of_plain(&text);
    match (&read.kind, &wanted) {
        (found, wanted) if found == wanted => read,
        (Kind::Int, Kind::Float) => Scalar::of_plain(&format!("{}.0", read.text)),
        _ => whole(Kind::Tagged(tag.to_owned())),
    }
}

/// Binary data, in the base64 form that the emitter writes.
fn binary(text: &str) -> Option<Scalar> {
    let letters: String = text.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    let bytes = data_encoding::BASE64.decode(letters.as_bytes()).ok()?;
    let encoded = data_encoding::BASE64.encode(&bytes);
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / 76 + 1);
    for line in encoded.as_bytes().chunks(76) {
        lines.extend(line.iter().map(|byte| char::from(*byte)));
        lines.push('\n');
    }
    Some(Scalar { kind: Kind::Binary, text: lines, written: Some(text.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Value {
        parse(text).unwrap().remove(0).value
    }

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn documents_know_where_they_begin() {
        let documents = parse("# x\n---\na: 1\n---\n---\nb\n").unwrap();
        let lines: Vec<u64> = documents.iter().map(|document| document.place.line).collect();
        assert_eq!(lines, [2, 4, 5]);
        assert!(documents[1].value.is_null());
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn repeated_keys_are_listed_and_merged_keys_are_not() {
        let text = "a: 1\nb: {c: 1,\n  c: 2}\na: 3\n---\nx: &x {a: 1}\ny: {<<: *x, a: 2}\n";
        let documents = parse(text).unwrap();
        let lines: Vec<_> = documents[0]
            .repeated_keys
            .iter()
            .map(|repeated| (repeated.key.as_str(), repeated.first.line, repeated.second.line))
            .collect();
        assert_eq!(lines, [("c", 2, 3), ("a", 1, 4)]);
        assert_eq!(documents[1].repeated_keys, []);
    }

    #[test]
    fn the_last_of_equal_keys_wins_and_merged_ones_lose() {
        let Value::Mapping(map) = one("a: 1\nb: 2\na: 3\n") else { panic!() };
        assert_eq!(map.get("a"), Some(&Value::int(3)));
        assert_eq!(map.entries.len(), 2);
        let Value::Mapping(map) = one("x: &x {a: 1, b: 2}\ny: {<<: [{b: 5, c: 6}, *x], a: 9}\n") else {
            panic!()
        };
        let Some(Value::Mapping(merged)) = map.get("y") else { panic!() };
        assert_eq!(merged.get("a"), Some(&Value::int(9)));
        assert_eq!(merged.get("b"), Some(&Value::int(5)));
        assert_eq!(merged.get("c"), Some(&Value::int(6)));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        assert!(
            refused("a: 1\nb: [1, 2\n").starts_with("line 3, column 1: "),
            "{}",
            refused("a: 1\nb: [1, 2\n")
        );
        assert_eq!(refused("a: *nothing\n"), "line 1, column 4: `*nothing` stands for no value before it");
        assert_eq!(refused("a: 1\n? [1]\n: 2\n"), "line 2, column 5: a key must be a single value");
        assert_eq!(refused("a:\n  <<: 5\n"), "line 2, column 3: only mappings can be merged");
        assert_eq!(refused("a: &a [*a]\n"), "line 1, column 8: `*a` stands for no value before it");
        assert!(
            refused("a: b\nc: \u{1}\n").starts_with("line 2, column 4: "),
            "{}",
            refused("a: b\nc: \u{1}\n")
        );
    }

    #[test]
    fn depth_and_growth_have_an_end() {
        assert!(matches!(parse(&"[".repeat(1_000_000)), Err(YamlError::TooDeep { .. })));
        let mut stairs = String::from("a0: &a0 [x]\n");
        for level in 1..=120 {
            stairs.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
        }
        assert!(matches!(parse(&stairs), Err(YamlError::TooDeep { .. })));
        let mut laughs = String::from("a0: &a0 {x: 1}\n");
        for level in 1..=20 {
            let list = format!("*a{}, ", level - 1).repeat(9000);
            laughs.push_str(&format!("a{level}: &a{level}\n  <<: [{list}]\n"));
        }
        assert!(matches!(parse(&laughs), Err(YamlError::TooMuchMerged { .. })));
    }

    #[test]
    fn what_the_scanner_would_choke_on_is_read() {
        assert_eq!(one("[!a, b]"), one("- !a ''\n- b\n"));
        assert!(refused("a: \"b\\").starts_with("line "), "{}", refused("a: \"b\\"));
    }
}
