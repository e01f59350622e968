//! The header that an imported record had in the file it came from, in a field of its record here.
//!
//! A record here has fields and an id of its own, from which rows and index entries are made. The
//! field keeps what the source says: its id, its digests, and every field that this program does
//! not know. The index finds a record by its id in the source and by the payload digest there,
//! because the revisits of other programs name their originals in these ways.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_encode};
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::record::{RecordHeader, RecordType, WarcVersion};
use varve_wire::Headers;

use super::field;
use crate::index::IndexPrefix;

/// Maximum length of the field in bytes. Some programs reject longer ones.
pub const MAX_SOURCE_HEADER_BYTES: usize = 32 << 10;

const ENCODED_BYTES: &AsciiSet = &CONTROLS.add(b'%');

/// The value of [`field::SOURCE_HEADER`] for a record of a WARC file, and whether all fields fit.
/// The last fields that do not fit are left out.
pub fn source_header_field(header: &RecordHeader) -> (String, bool) {
    let version = header.version;
    let mut value = encode(format!("WARC/{}.{}\r\n", version.major, version.minor).as_bytes());
    for (name, content) in header.fields.iter() {
        let line = encode(&[name, b": ", content, b"\r\n"].concat());
        if value.len() + line.len() > MAX_SOURCE_HEADER_BYTES {
            return (value, false);
        }
        value.push_str(&line);
    }
    (value, true)
}

/// The value for a record of an ARC file: the line before it.
pub fn source_line_field(line: &[u8]) -> (String, bool) {
    let value = encode(line);
    let is_whole = value.len() <= MAX_SOURCE_HEADER_BYTES;
    let mut kept = value;
    kept.truncate(MAX_SOURCE_HEADER_BYTES);
    (kept, is_whole)
}

fn encode(bytes: &[u8]) -> String {
    percent_encode(bytes, ENCODED_BYTES).to_string()
}

/// The header that an imported record had in a WARC file.
pub fn source_header(header: &RecordHeader) -> Option<RecordHeader> {
    let text: Vec<u8> = percent_decode(header.fields.get(field::SOURCE_HEADER)?).collect();
    let line_end = memchr::memchr(b'\n', &text)?;
    let version = WarcVersion::parse(text[..line_end].trim_ascii_end())?;
    Some(RecordHeader { version, fields: Headers::parse(&text[line_end + 1..], |_, _| {}) })
}

/// A property of a record in its source, by which the index finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKey {
    /// Its id there.
    Record(Vec<u8>),
    /// The digest of its payload there. Only responses are found, since a revisit holds no payload.
    Payload(Digest),
}

impl SourceKey {
    /// The prefix of its index entries.
    pub(crate) fn prefix(&self) -> IndexPrefix {
        let digest = match self {
            Self::Record(id) => Algorithm::Sha256.digest(&[b"source record\n", id.as_slice()].concat()),
            Self::Payload(digest) => Algorithm::Sha256.digest(format!("source payload\n{digest}").as_bytes()),
        };
        let leading = digest.bytes().first_chunk().copied().unwrap_or_default();
        IndexPrefix(u64::from_be_bytes(leading))
    }
}

/// The properties of an imported record by which the index finds it.
pub(crate) fn source_keys(header: &RecordHeader) -> impl Iterator<Item = SourceKey> + use<> {
    let source = source_header(header);
    let id = source.as_ref().and_then(|source| source.record_id()).map(<[u8]>::to_vec);
    let payload = source.as_ref().and_then(RecordHeader::payload_digest).and_then(Result::ok);
    let payload = payload.filter(|_| header.record_type() == RecordType::Response);
    id.map(SourceKey::Record).into_iter().chain(payload.map(SourceKey::Payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(source: &RecordHeader) -> RecordHeader {
        let mut header = RecordHeader::default();
        header.fields.push("WARC-Type", "response");
        header.fields.push(field::SOURCE_HEADER, source_header_field(source).0);
        header
    }

    #[test]
    fn a_header_comes_back() {
        let mut source = RecordHeader { version: WarcVersion::V1_0, ..RecordHeader::default() };
        source.fields.push("WARC-Record-ID", "<urn:uuid:1>");
        source.fields.push("X-Odd", [b'%', 0xe9, b' ', b'"']);
        source.fields.push("WARC-Payload-Digest", "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        let found = source_header(&imported(&source)).unwrap();
        assert_eq!(found.version, WarcVersion::V1_0);
        assert_eq!(found.fields, source.fields);
        let keys: Vec<SourceKey> = source_keys(&imported(&source)).collect();
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[0], SourceKey::Record(b"urn:uuid:1".to_vec()));
        assert_ne!(keys[0].prefix(), keys[1].prefix());
    }

    #[test]
    fn a_long_header_loses_its_last_fields() {
        let mut source = RecordHeader::default();
        source.fields.push("WARC-Record-ID", "<urn:uuid:1>");
        source.fields.push("X-Long", vec![b'x'; MAX_SOURCE_HEADER_BYTES]);
        let (value, is_whole) = source_header_field(&source);
        assert!(!is_whole && value.len() < MAX_SOURCE_HEADER_BYTES);
        assert!(source_header(&imported(&source)).unwrap().record_id().is_some());
        assert!(!source_line_field(&[b'a'; MAX_SOURCE_HEADER_BYTES + 1]).1);
    }

    proptest::proptest! {
        #[test]
        fn any_field_is_read_without_panic(value in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let mut header = RecordHeader::default();
            header.fields.push(field::SOURCE_HEADER, value);
            source_keys(&header).for_each(drop);
        }
    }
}
