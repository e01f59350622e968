//! The one function that makes a receipt from a record.

use std::borrow::Cow;

use varve_core::receipt::{Receipt, Renderings};
use varve_core::{BodyId, Moment};
use varve_warc::digest::Digest;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::Profile;
use varve_wire::MessageHead;

use super::not_modified_head;
use crate::record::{body_of_digest, field, parse_id};

/// Whether a record is a capture: a response or revisit without the non-capture mark.
pub fn is_capture(header: &RecordHeader) -> bool {
    matches!(header.record_type(), RecordType::Response | RecordType::Revisit)
        && header.fields.get(field::NON_CAPTURE_METHOD).is_none()
}

/// The receipt of a record; `None` when it is not a capture or not written by varve. `head` is the
/// head of the response in its block; that of a 304 is in the header.
pub fn receipt_of(header: &RecordHeader, head: Option<&MessageHead>) -> Option<Receipt> {
    if !is_capture(header) {
        return None;
    }
    let is_revisit = header.record_type() == RecordType::Revisit;
    let not_modified = not_modified_head(header).and_then(|head| MessageHead::parse(&head));
    let head = not_modified.as_ref().or(head);
    let text = |name: &str| header.fields.get(name).and_then(|value| std::str::from_utf8(value).ok());
    let length = text(field::BODY_LENGTH)?.parse().ok()?;
    let renderings = renderings_of(header);
    Some(Receipt {
        renderings,
        record: header.record_id().and_then(parse_id)?,
        run: text(field::RUN_ID).and_then(|run| run.parse().ok()),
        url: String::from_utf8_lossy(header.target_uri()?).into_owned(),
        time: Moment::from(header.date()?.instant),
        status: head.and_then(MessageHead::status).unwrap_or(0),
        headers: head.map(|head| head.headers.clone()).unwrap_or_default(),
        body: body(header)?,
        length,
        truncated: text("WARC-Truncated").filter(|_| !is_revisit).map(str::to_owned),
        revisit_of: header.reference("WARC-Refers-To").and_then(parse_id),
        not_modified: is_revisit
            && (not_modified.is_some() || text("WARC-Profile") == Some(Profile::ServerNotModified.uri())),
    })
}

/// The ids of the renderings of the response in a record.
pub fn renderings_of(header: &RecordHeader) -> Renderings {
    let text = header.fields.get(field::RENDERING_IDS).and_then(|value| std::str::from_utf8(value).ok());
    text.map(Renderings::parse).unwrap_or_default()
}

/// The prefix of a document's target URI, so that no program takes it for the page.
const DOCUMENT_TARGET_PREFIX: &str = "urn:dom:";

/// The target URI of a page's rendered document.
pub(crate) fn target_of_document(url: &str) -> String {
    format!("{DOCUMENT_TARGET_PREFIX}{url}")
}

/// The page URL of a record: its target URI, without the prefix of a rendered document.
pub fn page_of(header: &RecordHeader) -> Option<Cow<'_, str>> {
    let target = header.target_uri()?;
    let behind = target.strip_prefix(DOCUMENT_TARGET_PREFIX.as_bytes());
    let is_document = header.record_type() == RecordType::Conversion;
    Some(String::from_utf8_lossy(behind.filter(|_| is_document).unwrap_or(target)))
}

/// The payload digest of a response or revisit.
pub(crate) fn payload_of(header: &RecordHeader) -> Option<Digest> {
    match header.fields.get(field::PAYLOAD_DIGEST) {
        Some(text) => Digest::parse(text).ok(),
        None => header.payload_digest()?.ok(),
    }
}

/// The body of a capture: the stated body, else the payload, else the block.
fn body(header: &RecordHeader) -> Option<BodyId> {
    let digest = match header.fields.get(field::BODY_DIGEST) {
        Some(text) => Digest::parse(text).ok()?,
        None => header.payload_digest().or_else(|| header.block_digest())?.ok()?,
    };
    body_of_digest(&digest)
}
