//! CDXJ: key, time and a JSON object.
//!
//! Numbers are written as texts, as `cdxj-indexer` and pywb do; both forms are read.

use serde_json::Value;

use crate::entry::{CdxEntry, CdxEntryError, push_word, said, shown};
use crate::json_text::{push_members, push_string};

impl CdxEntry {
    /// Parses a line without its line end.
    pub fn parse_cdxj(line: &str) -> Result<Self, CdxEntryError> {
        let mut words = line.splitn(3, ' ');
        let (Some(key), Some(time), Some(json)) = (words.next(), words.next(), words.next()) else {
            return Err(CdxEntryError::TooShort { found: line.splitn(3, ' ').count(), wanted: 3 });
        };
        let timestamp = Self::time(time)?;
        let object = match serde_json::from_str(json) {
            Ok(Value::Object(object)) => object,
            Ok(other) => return Err(CdxEntryError::Json(shown(&other.to_string()))),
            Err(error) => return Err(CdxEntryError::Json(error.to_string())),
        };
        let mut entry = Self { key: key.to_owned(), timestamp, ..Self::default() };
        for (name, value) in object {
            entry.take_member(name, value)?;
        }
        Ok(entry)
    }

    fn take_member(&mut self, name: String, value: Value) -> Result<(), CdxEntryError> {
        match name.as_str() {
            "url" => self.url = text("url", &value)?,
            "mime" => self.mime = said(&text("mime", &value)?),
            "status" => self.status = said(&text("status", &value)?),
            "digest" => self.digest = said(&text("digest", &value)?),
            "length" => self.length = Self::number("length", &text("length", &value)?)?,
            "offset" => self.offset = Self::number("offset", &text("offset", &value)?)?,
            "filename" => self.filename = said(&text("filename", &value)?),
            "recordDigest" => self.record_digest = said(&text("recordDigest", &value)?),
            // An empty body is a value too.
            "requestBody" => self.request_body = Some(text("requestBody", &value)?),
            "method" => self.method = said(&text("method", &value)?),
            _ => drop(self.others.insert(name, value)),
        }
        Ok(())
    }

    /// Appends the line, without a line end.
    pub fn write_cdxj(&self, line: &mut Vec<u8>) {
        push_word(line, &self.key);
        line.push(b' ');
        push_word(line, &self.timestamp);
        line.extend_from_slice(b" {\"url\": ");
        push_string(line, &self.url);
        let numbers = [self.length, self.offset].map(|number| number.map(|number| number.to_string()));
        let members = [
            ("mime", self.mime.as_deref()),
            ("status", self.status.as_deref()),
            ("digest", self.digest.as_deref()),
            ("length", numbers[0].as_deref()),
            ("offset", numbers[1].as_deref()),
            ("filename", self.filename.as_deref()),
            ("recordDigest", self.record_digest.as_deref()),
            ("requestBody", self.request_body.as_deref()),
            ("method", self.method.as_deref()),
        ];
        for (name, value) in members {
            let Some(value) = value else { continue };
            line.extend_from_slice(b", \"");
            line.extend_from_slice(name.as_bytes());
            line.extend_from_slice(b"\": ");
            push_string(line, value);
        }
        push_members(line, &self.others);
        line.push(b'}');
    }
}

/// A text, or a number as text. `null` is an empty text.
fn text(field: &'static str, value: &Value) -> Result<String, CdxEntryError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null => Ok(String::new()),
        other => Err(CdxEntryError::Field {
            field,
            value: shown(&other.to_string()),
            wanted: "a text or a number",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(entry: &CdxEntry) -> String {
        let mut line = Vec::new();
        entry.write_cdxj(&mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_line_of_cdxj_indexer_is_read_and_written() {
        let line = r#"com,example)/caf%c3%a9 20260102030405 {"url": "http://example.com/caf\u00e9", "mime": "text/html", "status": "200", "digest": "sha1:AB", "length": "12", "offset": "345", "filename": "a.warc.gz", "note": [1, {"a": null}]}"#;
        let entry = CdxEntry::parse_cdxj(line).unwrap();
        assert_eq!((entry.length, entry.offset), (Some(12), Some(345)));
        assert_eq!(entry.url, "http://example.com/caf\u{e9}");
        assert_eq!(written(&entry), line);
    }

    #[test]
    fn numbers_and_missing_fields_are_read() {
        let entry = CdxEntry::parse_cdxj(
            r#"k 2026 {"url":"u","status":301,"length":7,"offset":"-","mime":null,"requestBody":""}"#,
        )
        .unwrap();
        assert_eq!((entry.status.as_deref(), entry.length, entry.offset), (Some("301"), Some(7), None));
        assert_eq!((entry.mime, entry.request_body.as_deref()), (None, Some("")));
    }

    #[test]
    fn other_lines_are_errors() {
        use CdxEntryError::{Field, Json, Time, TooShort};
        let error = |line: &str| CdxEntry::parse_cdxj(line).unwrap_err();
        assert_eq!(error(""), TooShort { found: 1, wanted: 3 });
        assert!(matches!(error("!meta 0 {}"), Time(_)));
        assert!(matches!(error("k 20260102 []"), Json(_)));
        assert!(matches!(error("k 20260102 {"), Json(_)));
        assert!(matches!(error(r#"k 20260102 {"offset":"-1"}"#), Field { field: "offset", .. }));
        assert!(matches!(error(r#"k 20260102 {"offset":1e3}"#), Field { field: "offset", .. }));
        assert!(matches!(error(r#"k 20260102 {"url":{}}"#), Field { field: "url", .. }));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            key in "[!-~]{1,9}", timestamp in "[0-9]{14}", url in ".{0,20}", mime in proptest::option::of("[a-z/]{1,9}"),
            length in proptest::option::of(0u64..), filename in proptest::option::of(".{2,9}"), body in proptest::option::of(".{0,9}"),
        ) {
            let entry = CdxEntry { key, timestamp, url, mime, length, filename, request_body: body, ..CdxEntry::default() };
            prop_assert_eq!(CdxEntry::parse_cdxj(&written(&entry)), Ok(entry));
        }

        #[test]
        fn no_line_panics(line in ".{0,80}") {
            let _ = CdxEntry::parse_cdxj(&line);
            let _ = CdxEntry::parse_cdxj(&format!("k 20260102030405 {line}"));
        }
    }
}
