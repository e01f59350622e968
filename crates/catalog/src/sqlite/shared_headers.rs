//! Splits the headers of a response into those that many responses share and those of its own.
//!
//! Nearly every response has a date, so whole sets of headers are almost never equal. Without the
//! headers that differ between responses they almost always are. [`join`] restores the original.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use sha2::{Digest, Sha256};
use varve_core::headers::{HeaderView, is_benign};

/// The JSON of the shared headers and of the others. `None` for an empty set.
pub(super) fn split(headers: &HeaderView) -> (Option<String>, Option<String>) {
    let (mut shared, mut own) = (Vec::new(), Vec::new());
    for (name, values) in headers.iter() {
        let part = if is_benign(name) { &mut own } else { &mut shared };
        part.push(if part.is_empty() { b'{' } else { b',' });
        write_json(part, name);
        part.push(b':');
        write_json(part, values);
    }
    (close_object(shared), close_object(own))
}

fn write_json(part: &mut Vec<u8>, value: impl serde::Serialize) {
    serde_json::to_writer(part, &value).expect("strings are valid JSON, and writing to memory cannot fail");
}

fn close_object(mut part: Vec<u8>) -> Option<String> {
    if part.is_empty() {
        return None;
    }
    part.push(b'}');
    Some(String::from_utf8(part).expect("JSON is UTF-8"))
}

/// The headers that [`split`] divided.
pub(super) fn join(shared: Option<&str>, own: Option<&str>) -> serde_json::Result<HeaderView> {
    let Some(own) = own else {
        return shared.map_or_else(|| Ok(HeaderView::default()), serde_json::from_str);
    };
    let mut all: BTreeMap<String, Vec<String>> = serde_json::from_str(own)?;
    if let Some(shared) = shared {
        all.extend(serde_json::from_str::<BTreeMap<String, Vec<String>>>(shared)?);
    }
    HeaderView::deserialize(all.into_deserializer())
}

/// The value by which a set of headers is looked up.
pub(super) fn digest(json: &str) -> i64 {
    let digest = Sha256::digest(json.as_bytes());
    i64::from_be_bytes(digest[..8].try_into().expect("a SHA-256 has more than eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use varve_core::headers::Redaction;

    proptest! {
        #[test]
        fn join_restores_what_split_divided(
            pairs in proptest::collection::vec(("(date|etag|vary|server|x-[a-c]|[a-c]{1,2})", ".{0,6}"), 0..8),
        ) {
            let view = HeaderView::from_pairs(pairs, Redaction::Off);
            let (shared, own) = split(&view);
            prop_assert_eq!(join(shared.as_deref(), own.as_deref()).unwrap(), view);
        }
    }

    #[test]
    fn dates_are_not_shared() {
        let view = HeaderView::from_pairs([("Date", "now"), ("Content-Type", "text/html")], Redaction::On);
        let (shared, own) = split(&view);
        assert_eq!(shared.as_deref(), Some(r#"{"content-type":["text/html"]}"#));
        assert_eq!(own.as_deref(), Some(r#"{"date":["now"]}"#));
    }
}
