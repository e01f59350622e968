//! The corrected header of a record, made from the original one.

use crate::date::Date;
use crate::record::{RecordHeader, RecordType, decimal, unbracketed};
use crate::validate_header;
use crate::validate_record::{CheckedRecord, DigestVerdict};
use crate::write::{Draft, OWN_FIELDS, RecordUri, escaped};
use varve_wire::is_token;

/// The date of a record that has none and follows none.
pub(super) const NO_DATE: &str = "1970-01-01T00:00:00Z";

/// The corrected header without the fields that depend on the block. A record without a date gets
/// that of the last one.
pub(super) fn draft(header: &RecordHeader, last_date: &mut String) -> Draft {
    let date = header.date().unwrap_or_else(|| {
        Date::parse(last_date.as_bytes()).unwrap_or_else(|| Date::from_instant(Default::default()))
    });
    *last_date = date.to_string();
    let record_type = header.record_type();
    let mut draft = Draft::new(record_type, &date);
    if record_type == RecordType::Other {
        draft = draft.type_name(&token(header.fields.get("WARC-Type").unwrap_or_default()));
    }
    if let Some(id) = header.record_id() {
        draft = draft.id(RecordUri::escaped(&uri(id)));
    }
    if record_type != RecordType::Warcinfo {
        match header.target_uri() {
            Some(target) => draft = draft.target_uri(&uri(target)),
            None if needs_target(record_type) => draft = draft.target_uri("urn:unknown:target"),
            None => {}
        }
    }
    if let Some(refers_to) = header.reference("WARC-Refers-To")
        && validate_header::may_have(record_type, "WARC-Refers-To")
    {
        draft = draft.refers_to(RecordUri::escaped(&uri(refers_to)));
    }
    match header.fields.get("Content-Type") {
        Some(content_type) if validate_header::is_media_type(content_type) => {
            draft = draft.content_type(&printable(&lossless(content_type)));
        }
        _ if record_type != RecordType::Continuation => {
            draft = draft.content_type("application/octet-stream")
        }
        _ => {}
    }
    if record_type == RecordType::Revisit && header.reference("WARC-Profile").is_none() {
        draft = draft.field("WARC-Profile", "urn:unknown:profile");
    }
    other_fields(draft, header)
}

/// Adds the fields that depend on the block: matching digests, and WARC-Truncated when the block is
/// not complete.
pub(super) fn mended(mut draft: Draft, header: &RecordHeader, checked: &CheckedRecord, cut: bool) -> Draft {
    let payload = header.fields.get("WARC-Payload-Digest");
    let keeps_payload_digest = match checked.payload {
        DigestVerdict::Right => !checked.framed,
        DigestVerdict::Unchecked => {
            header.payload_digest().is_some_and(|digest| digest.is_ok()) && stays_segment(header)
        }
        DigestVerdict::Wrong | DigestVerdict::Absent => false,
    };
    let has_place = validate_header::may_have(header.record_type(), "WARC-Payload-Digest");
    if keeps_payload_digest
        && has_place
        && let Some(digest) = payload
    {
        draft = draft.field("WARC-Payload-Digest", &printable(&lossless(digest)));
    }
    if cut && !header.is_truncated() {
        draft = draft.truncated("unspecified");
    }
    draft
}

/// Whether a segment stays recognisable as one. An invalid number is left out, and then its digest
/// has no meaning.
fn stays_segment(header: &RecordHeader) -> bool {
    let number = header.fields.get("WARC-Segment-Number");
    header.record_type() == RecordType::Continuation || number.is_none_or(|number| decimal(number).is_some())
}

/// All other fields that the record type may have, once each unless they may be repeated.
fn other_fields(mut draft: Draft, header: &RecordHeader) -> Draft {
    let record_type = header.record_type();
    let mut seen = validate_header::SeenNames::default();
    for (name, value) in header.fields.iter() {
        let Ok(text) = std::str::from_utf8(name) else { continue };
        let repeated = seen.has_or_adds(name) && !validate_header::may_repeat(name);
        let has_place = OWN_FIELDS.iter().any(|own| own.eq_ignore_ascii_case(text));
        let is_blank = printable(&lossless(value)).trim().is_empty();
        if has_place || repeated || is_blank || !name.iter().all(|byte| is_token(*byte)) {
            continue;
        }
        if !validate_header::may_have(record_type, text) || !validate_header::is_value(text, value) {
            continue;
        }
        let value = if validate_header::is_reference(text) {
            format!("<{}>", uri(unbracketed(value)))
        } else {
            printable(&lossless(value))
        };
        draft = draft.field(text, &value);
    }
    draft
}

fn needs_target(record_type: RecordType) -> bool {
    !matches!(record_type, RecordType::Warcinfo | RecordType::Metadata | RecordType::Other)
}

/// Bytes as text: UTF-8, or else each byte a Latin-1 letter.
pub(super) fn lossless(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

pub(super) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A URI that a header can hold: absolute, without white space.
fn uri(bytes: &[u8]) -> String {
    let text = escaped(&lossless(bytes));
    if validate_header::has_scheme(bytes) { text } else { format!("urn:unknown:{text}") }
}

fn token(bytes: &[u8]) -> String {
    let token: String = bytes.iter().filter(|byte| is_token(**byte)).map(|byte| char::from(*byte)).collect();
    // The rest of a damaged name may be that of another type, whose rules this record does not
    // follow.
    match RecordType::parse(token.as_bytes()) {
        RecordType::Other if !token.is_empty() => token,
        _ => format!("unknown{token}"),
    }
}

/// A header as text, for the repair record.
pub(super) fn header_text(header: &RecordHeader) -> String {
    let mut text = format!("WARC/{}.{}\n", header.version.major, header.version.minor);
    for (name, value) in header.fields.iter() {
        text.extend([&lossless(name), ": ", &lossless(value), "\n"].map(AsRef::<str>::as_ref));
    }
    text
}
