//! Firehose requests: a payload of JSON in base64 in a URL, in which a session and a referrer
//! change every time.
//!
//! The payload is written again exactly as Python's `json.dumps` writes it, because the text is the
//! identity.

use super::loose::LooseParts;
use super::sites::{integer, single_value};
use data_encoding::BASE64URL;
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};
use serde_json::{Map, Value};
use std::io;
use varve_core::url::query::UrlQuery;

/// The session that all requests are given.
const SESSION_ID: &str = "1xh68gok0s4";

/// The URL with a fixed payload; `None` if it has no payload that can be decoded.
pub(super) fn pin(mut parts: LooseParts) -> Option<String> {
    let time = integer(&parts.query, "_")?.to_string();
    let payload = BASE64URL.decode(single_value(&parts.query, "d")?.as_bytes()).ok()?;
    let mut payload: Map<String, Value> = serde_json::from_slice(&payload).ok()?;
    pin_payload(&mut payload, &parts)?;
    let payload = BASE64URL.encode(&dump(&payload)?);
    parts.query = UrlQuery::from_pairs(&[("_", time), ("d", payload)]).encode();
    Some(parts.to_string())
}

/// Sets a fixed session and an empty referrer, and moves the page to the host of the request.
fn pin_payload(payload: &mut Map<String, Value>, parts: &LooseParts) -> Option<()> {
    let mut nothing = Map::new();
    let properties = object(payload.get_mut("properties"), &mut nothing)?;
    replace(properties, "browserSessionId", |_| SESSION_ID.to_owned());
    let mut nothing = Map::new();
    let context = object(payload.get_mut("context"), &mut nothing)?;
    let mut nothing = Map::new();
    let page = object(context.get_mut("page"), &mut nothing)?;
    replace(page, "referrer", |_| String::new());
    replace(page, "url", |url| {
        let (scheme, authority) = (parts.scheme.clone(), parts.authority.clone());
        LooseParts { scheme, authority, ..LooseParts::of(url) }.to_string()
    });
    Some(())
}

/// The value as an object, or `nothing` if there is no value; `None` if it is not an object.
fn object<'a>(
    value: Option<&'a mut Value>,
    nothing: &'a mut Map<String, Value>,
) -> Option<&'a mut Map<String, Value>> {
    match value {
        Some(value) => value.as_object_mut(),
        None => Some(nothing),
    }
}

/// Replaces a value, if it is there and is text.
fn replace(object: &mut Map<String, Value>, name: &str, new: impl FnOnce(&str) -> String) {
    if let Some(Value::String(text)) = object.get_mut(name) {
        *text = new(text);
    }
}

fn dump(payload: &Map<String, Value>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    payload.serialize(&mut Serializer::with_formatter(&mut bytes, SpacedAscii)).ok()?;
    Some(bytes)
}

/// A space after each comma and colon, and nothing but ASCII.
struct SpacedAscii;

impl Formatter for SpacedAscii {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        for unit in text.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if byte < 0x7f => writer.write_all(&[byte])?,
                _ => write!(writer, "\\u{unit:04x}")?,
            }
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let text: &[u8] = match escape {
            CharEscape::Quote => b"\\\"",
            CharEscape::ReverseSolidus => b"\\\\",
            CharEscape::Solidus => b"/",
            CharEscape::Backspace => b"\\b",
            CharEscape::FormFeed => b"\\f",
            CharEscape::LineFeed => b"\\n",
            CharEscape::CarriageReturn => b"\\r",
            CharEscape::Tab => b"\\t",
            CharEscape::AsciiControl(byte) => return write!(writer, "\\u{byte:04x}"),
        };
        writer.write_all(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(payload: &str) -> String {
        let payload = BASE64URL.encode(payload.as_bytes());
        let pairs = [("x", "1".to_owned()), ("d", payload), ("_", "7".to_owned())];
        format!("https://a.example/api/v1/firehose?{}", UrlQuery::from_pairs(&pairs).encode())
    }

    #[test]
    fn what_changes_is_pinned() {
        let given = r#"{"properties":{"browserSessionId":"abc","n":[1,2.5,null]},
            "context":{"page":{"referrer":"https://r/","url":"https://b.example/p?q=é"}}}"#;
        let pinned = pin(LooseParts::of(&url(given))).unwrap();
        let query = LooseParts::of(&pinned).query;
        let payload = BASE64URL.decode(single_value(&query, "d").unwrap().as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(payload).unwrap(),
            r#"{"properties": {"browserSessionId": "1xh68gok0s4", "n": [1, 2.5, null]}, "context": {"page": {"referrer": "", "url": "https://a.example/p?q=\u00e9"}}}"#
        );
        assert!(pinned.starts_with("https://a.example/api/v1/firehose?_=7&d="));
        assert_eq!(pin(LooseParts::of(&pinned)), Some(pinned));
    }

    #[test]
    fn what_cannot_be_read_stays() {
        for payload in ["", "[]", "{", r#"{"context":1}"#, r#"{"context":{"page":[]}}"#] {
            assert_eq!(pin(LooseParts::of(&url(payload))), None, "{payload}");
        }
        assert!(pin(LooseParts::of(&url("{}"))).is_some());
    }
}
