//! Headers in two parts: what answers of a server have in common, kept once, and what each has for itself.
//!
//! Nearly every answer has a clock in it, so whole sets of headers are hardly ever equal; without the headers that
//! change from answer to answer they nearly always are. Put together again they are what they were.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use sha2::{Digest, Sha256};
use varve_core::headers::{HeaderView, is_benign};

/// The JSON of the headers that may be shared, and of those that may not; none where there are none.
pub(super) fn split(headers: &HeaderView) -> (Option<String>, Option<String>) {
    let (mut shared, mut own) = (Vec::new(), Vec::new());
    for (name, values) in headers.iter() {
        let part = if is_benign(name) { &mut own } else { &mut shared };
        part.push(if part.is_empty() { b'{' } else { b',' });
        write(part, name);
        part.push(b':');
        write(part, values);
    }
    (closed(shared), closed(own))
}

fn write(part: &mut Vec<u8>, value: impl serde::Serialize) {
    serde_json::to_writer(part, &value).expect("texts are JSON, and memory takes them");
}

fn closed(mut part: Vec<u8>) -> Option<String> {
    if part.is_empty() {
        return None;
    }
    part.push(b'}');
    Some(String::from_utf8(part).expect("JSON is UTF-8"))
}

/// The headers that were split.
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

/// The number by which a set of headers is found.
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
        fn what_was_split_is_joined(
            pairs in proptest::collection::vec(("(date|etag|vary|server|x-[a-c]|[a-c]{1,2})", ".{0,6}"), 0..8),
        ) {
            let view = HeaderView::from_pairs(pairs, Redaction::Off);
            let (shared, own) = split(&view);
            prop_assert_eq!(join(shared.as_deref(), own.as_deref()).unwrap(), view);
        }
    }

    #[test]
    fn clocks_are_not_shared() {
        let view = HeaderView::from_pairs([("Date", "now"), ("Content-Type", "text/html")], Redaction::On);
        let (shared, own) = split(&view);
        assert_eq!(shared.as_deref(), Some(r#"{"content-type":["text/html"]}"#));
        assert_eq!(own.as_deref(), Some(r#"{"date":["now"]}"#));
    }
}
