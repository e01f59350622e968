//! The expected id of a record, computed from the rest of its header.

use std::borrow::Cow;

use varve_warc::digest::Digest;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::RecordUri;

use super::parse_id;

/// The id that a record with this block digest must have, if its header states another. `None` when
/// the stated id is right or absent.
pub fn expected_record_id(header: &RecordHeader, block: &Digest) -> Option<RecordUri> {
    let stated = header.record_id()?;
    let record_type = header.record_type();
    let whole = if header.is_segment() { header.payload_digest().and_then(Result::ok) } else { None };
    let content = match record_type {
        RecordType::Continuation => *block,
        _ => whole.unwrap_or(*block),
    };
    let expected = match record_type {
        RecordType::Resource | RecordType::Warcinfo | RecordType::Continuation => {
            // The common case, without formatting an id.
            if parse_id(stated).is_some_and(|stated| content.sha256() == Some(stated.into_inner())) {
                return None;
            }
            RecordUri::of_content(&content)
        }
        RecordType::Metadata => RecordUri::of_metadata(&text(header.reference("WARC-Refers-To")), &content),
        other => {
            let (target, date) = (text(header.target_uri()), text(header.fields.get("WARC-Date")));
            RecordUri::of_event(other, &target, &date, block)
        }
    };
    (expected.as_str().as_bytes() != stated).then_some(expected)
}

fn text(value: Option<&[u8]>) -> Cow<'_, str> {
    value.map(String::from_utf8_lossy).unwrap_or_default()
}
