//! The key of a request that is not a GET: its method and its body become part of the query.
//!
//! Indexes and replay agree on the form by the guideline for non-GET requests of the IIPC: the URL
//! gets `__wb_method=POST` and, behind it, the body as a query. A form is its own query; JSON is
//! flattened to its leaves; parts of a multipart body are its fields; anything else is Base64 in
//! `__wb_post_data`.

use std::collections::HashMap;

use data_encoding::BASE64;
use serde_json::Value;

use crate::multipart::{boundary_of, multipart_fields};

/// Bytes of a request body that are looked at.
pub const MAX_REQUEST_BODY_BYTES: usize = 1 << 20;
/// A longer query is cut.
const MAX_QUERY_CHARS: usize = 4096;

/// The body of a request as a query; empty for a method whose body has no meaning.
pub fn request_query(method: &str, content_type: &str, body: &[u8]) -> String {
    if !matches!(method, "POST" | "PUT") {
        return String::new();
    }
    let body = &body[..body.len().min(MAX_REQUEST_BODY_BYTES)];
    let is = |kind: &str| content_type.starts_with(kind);
    let query = if is("application/x-www-form-urlencoded") {
        form_query(body).unwrap_or_else(|| binary_query(body))
    } else if is("multipart/") {
        match boundary_of(content_type) {
            Some(boundary) => encode_pairs(&multipart_fields(body, boundary)),
            None => binary_query(body),
        }
    } else if is("application/json") {
        json_query(body).unwrap_or_default()
    } else if is("text/plain") {
        json_query(body).unwrap_or_else(|| binary_query(body))
    } else {
        binary_query(body)
    };
    match query.char_indices().nth(MAX_QUERY_CHARS) {
        Some((end, _)) => query[..end].to_owned(),
        None => query,
    }
}

/// The URL that the key of a request is made of.
pub fn request_key_url(url: &str, method: &str, query: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    let more = if query.is_empty() { "" } else { "&" };
    format!("{url}{joint}__wb_method={method}{more}{query}")
}

fn binary_query(body: &[u8]) -> String {
    format!("__wb_post_data={}", BASE64.encode(body))
}

/// A form with its escapes decoded; `None` if it is not UTF-8.
fn form_query(body: &[u8]) -> Option<String> {
    let text = str::from_utf8(body).ok()?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        let escape = match (first, behind) {
            (b'%', [high, low, ..]) => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        match (escape, first) {
            (Some((high, low)), _) => {
                bytes.push(high << 4 | low);
                rest = &behind[2..];
            }
            (None, b'+') => bytes.push(b' '),
            (None, other) => bytes.push(*other),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The leaves of a JSON document, or of one document a line.
fn json_query(body: &[u8]) -> Option<String> {
    let mut leaves = JsonLeaves::default();
    if let Ok(document) = serde_json::from_slice(body) {
        leaves.add(&document, "");
        return Some(encode_pairs(&leaves.pairs));
    }
    if !body.contains(&b'\n') {
        return None;
    }
    for line in body.split(|byte| *byte == b'\n') {
        leaves.add(&serde_json::from_slice(line).ok()?, "");
    }
    Some(encode_pairs(&leaves.pairs))
}

/// The named leaves of JSON documents. A second `a` is named `a.2_`.
#[derive(Default)]
struct JsonLeaves {
    pairs: Vec<(String, Vec<u8>)>,
    /// How often each name occurred.
    counts: HashMap<String, u64>,
}

impl JsonLeaves {
    fn add(&mut self, value: &Value, name: &str) {
        // Each leaf takes two characters of the query at least, and the rest would be cut.
        if self.pairs.len() > MAX_QUERY_CHARS {
            return;
        }
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| self.add(value, name)),
            Value::Array(values) => values.iter().for_each(|value| self.add(value, name)),
            _ if name.is_empty() => {}
            leaf => {
                let count = self.counts.entry(name.to_owned()).or_default();
                *count += 1;
                let name = if *count == 1 { name.to_owned() } else { format!("{name}.{count}_") };
                self.pairs.push((name, python_text(leaf).into_bytes()));
            }
        }
    }
}

/// A leaf as Python prints it: the guideline was written for it.
fn python_text(leaf: &Value) -> String {
    match leaf {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => python_float(float),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Rust and Python choose the same digits, but write exponents differently: `1e16`, `1e+16`.
fn python_float(float: f64) -> String {
    let is_plain = float == 0.0 || (1e-4..1e16).contains(&float.abs());
    if is_plain {
        return format!("{float:?}");
    }
    let text = format!("{float:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// Fields as a query, with the escapes of Python's `urlencode`.
fn encode_pairs(pairs: &[(String, Vec<u8>)]) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        if !query.is_empty() {
            query.push('&');
        }
        encode_plus(name.as_bytes(), &mut query);
        query.push('=');
        encode_plus(value, &mut query);
    }
    query
}

fn encode_plus(bytes: &[u8], query: &mut String) {
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                query.push(char::from(*byte));
            }
            b' ' => query.push('+'),
            other => query.push_str(&format!("%{other:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bodies_become_queries() {
        let post = |kind: &str, body: &str| request_query("POST", kind, body.as_bytes());
        assert_eq!(post("application/x-www-form-urlencoded", "a=b+c&d=%C3%A9%2"), "a=b c&d=\u{e9}%2");
        let json =
            r#"{"a": 1, "b": [{"a": true}, {"a": null, "c": "x y"}], "d": 1.0, "e": 1e16, "f": 0.00001}"#;
        let query = "a=1&a.2_=True&a.3_=None&c=x+y&d=1.0&e=1e%2B16&f=1e-05";
        assert_eq!(post("application/json; charset=utf-8", json), query);
        assert_eq!(post("text/plain", "{\"a\": 1}\n{\"a\": 2}"), "a=1&a.2_=2");
        assert_eq!(post("application/json", "{"), "");
        assert_eq!(post("text/plain", "hello"), "__wb_post_data=aGVsbG8=");
        assert_eq!(post("", "hello"), "__wb_post_data=aGVsbG8=");
        assert_eq!(request_query("HEAD", "application/json", b"{\"a\": 1}"), "");
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"a b\"\r\n\r\n1&2\r\n--x--\r\n";
        assert_eq!(post("multipart/form-data; boundary=x", multipart), "a+b=1%262");
        assert_eq!(post("multipart/form-data", "hello"), "__wb_post_data=aGVsbG8=");
    }

    #[test]
    fn the_url_gets_method_and_query() {
        assert_eq!(request_key_url("http://a/", "POST", "b=c"), "http://a/?__wb_method=POST&b=c");
        assert_eq!(request_key_url("http://a/?d", "HEAD", ""), "http://a/?d&__wb_method=HEAD");
    }

    #[test]
    fn long_bodies_are_cut() {
        let body = "x".repeat(MAX_REQUEST_BODY_BYTES + 5);
        assert_eq!(request_query("POST", "", body.as_bytes()).len(), MAX_QUERY_CHARS);
        let leaves = format!("[{}]", r#"{"a":1},"#.repeat(100_000).trim_end_matches(','));
        assert_eq!(request_query("POST", "application/json", leaves.as_bytes()).len(), MAX_QUERY_CHARS);
    }

    proptest! {
        #[test]
        fn no_body_panics(body in proptest::collection::vec(any::<u8>(), 0..60), kind in 0usize..5) {
            let kinds = ["application/x-www-form-urlencoded", "multipart/a; boundary=x", "application/json", "text/plain", ""];
            let _ = request_query("POST", kinds[kind], &body);
            let _ = request_query("POST", kinds[kind], &[b"--x\r\n", body.as_slice(), b"\r\n--x"].concat());
        }
    }
}
