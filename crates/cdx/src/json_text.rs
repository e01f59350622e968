//! JSON as Python's `json.dumps` writes it: ASCII only, with a space after each comma and colon.
//!
//! Indexes made by `cdxj-indexer` have this form, and lines are compared and sorted as bytes, so
//! the same record must give the same bytes.

use std::io;

use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use serde_json::value::Map;

/// Appends a text in quotes.
pub(crate) fn push_string(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    push_fragment(line, text);
    line.push(b'"');
}

fn push_fragment(line: &mut Vec<u8>, text: &str) {
    // Nearly all texts need no escapes.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        return line.extend_from_slice(text.as_bytes());
    }
    for letter in text.chars() {
        match letter {
            '"' => line.extend_from_slice(b"\\\""),
            '\\' => line.extend_from_slice(b"\\\\"),
            '\n' => line.extend_from_slice(b"\\n"),
            '\r' => line.extend_from_slice(b"\\r"),
            '\t' => line.extend_from_slice(b"\\t"),
            '\u{8}' => line.extend_from_slice(b"\\b"),
            '\u{c}' => line.extend_from_slice(b"\\f"),
            ' '..='\u{7f}' => line.push(letter as u8),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    line.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
}

/// Appends the members of an object, each after a comma.
pub(crate) fn push_members(line: &mut Vec<u8>, members: &Map<String, Value>) {
    for (name, value) in members {
        line.extend_from_slice(b", ");
        push_string(line, name);
        line.extend_from_slice(b": ");
        push_value(line, value);
    }
}

fn push_value(line: &mut Vec<u8>, value: &Value) {
    let before = line.len();
    let mut serializer = Serializer::with_formatter(&mut *line, AsciiFormatter);
    // Writing to memory does not fail, and all keys are texts.
    if serde::Serialize::serialize(value, &mut serializer).is_err() {
        line.truncate(before);
        line.extend_from_slice(b"null");
    }
}

struct AsciiFormatter;

impl Formatter for AsciiFormatter {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(fragment.len());
        push_fragment(&mut bytes, fragment);
        writer.write_all(&bytes)
    }
}
