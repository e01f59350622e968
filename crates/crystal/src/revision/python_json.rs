//! JSON as Python writes it by default, byte for byte.
//!
//! Crystal compares texts (`error != "null"`), and people compare databases, so what is written
//! here is what Crystal would have written: a space behind commas and colons, and everything but
//! printable ASCII escaped.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut units = [0; 2];
        for character in fragment.chars() {
            match character {
                ' '..='~' => writer.write_all(&[character as u8])?,
                _ => {
                    for unit in character.encode_utf16(&mut units) {
                        write!(writer, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The text that Python's `json.dumps` gives for the same value.
pub(crate) fn to_text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, Python))
        .expect("plain values with texts as keys serialise, and a vector takes every byte");
    String::from_utf8(bytes).expect("only ASCII was written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn texts_are_those_of_python() {
        for (value, text) in [
            (json!(null), "null"),
            (json!([1, [], {}, "a"]), r#"[1, [], {}, "a"]"#),
            (json!({"b": 1, "a": [true, null]}), r#"{"b": 1, "a": [true, null]}"#),
            (json!("\"\\/\n\r\t\u{8}\u{c}"), r#""\"\\/\n\r\t\b\f""#),
            (json!("\u{0}\u{1f}\u{7f}\u{80}"), r#""\u0000\u001f\u007f\u0080""#),
            (json!("é\u{20ac}\u{1f600}"), r#""\u00e9\u20ac\ud83d\ude00""#),
        ] {
            assert_eq!(to_text(&value), text);
        }
    }

    proptest! {
        #[test]
        fn every_text_is_ascii_and_reads_back(text: String, key: String) {
            let value = json!({ key: [text] });
            let written = to_text(&value);
            prop_assert!(written.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        }
    }
}
