//! Revisits whose original is dropped: the first becomes a response, the others refer to it.
//!
//! The new response has the revisit's head and the original's payload. If only one of them is
//! chunked, the payload is reframed to match the head. A 304 revisit has no payload of its own: it
//! becomes a copy of the response that it confirmed.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};

use varve_core::RecordId;
use varve_warc::payload::PayloadKind;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::{Draft, PackedRecord, Packer, pack_reader};
use varve_wire::{DecodeLimits, MessageHead, open_payload};

use super::copy_record::{draft_of, invalid_record, is_own, text};
use super::{PromotedRevisit, SiloRewriter};
use crate::body::read_head;
use crate::error::{StoreError, parse_record_uri};
use crate::exchange::{RevisitOriginal, is_capture};
use crate::reader::{LocatedRecord, StoreReader};
use crate::record::field;
use crate::record::record_uri;

/// Fields that a response does not have.
const REVISIT_ONLY_FIELDS: [&str; 5] = [
    "WARC-Profile",
    "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date",
    "WARC-Truncated",
    field::NOT_MODIFIED_HEAD,
];
const NOT_MODIFIED_STATUS: u16 = 304;
const PAYLOAD_DIGEST_FIELD: &str = "WARC-Payload-Digest";

impl SiloRewriter<'_> {
    /// Copies a revisit of a dropped record.
    pub(super) fn copy_revisit(
        &mut self,
        header: &RecordHeader,
        id: RecordId,
        original: RecordId,
        block: &mut impl BufRead,
    ) -> Result<(), StoreError> {
        let Some(other) = self.originals.get(&original) else {
            return self.promote(header, id, original, block);
        };
        let is_moved = |name: &str| name == "WARC-Refers-To-Target-URI" || name == "WARC-Refers-To-Date";
        let draft = draft_of(RecordType::Revisit, header, &|name| !is_own(name) && !is_moved(name))?
            .refers_to(record_uri(&other.record))
            .field("WARC-Refers-To-Target-URI", &other.url)
            .field("WARC-Refers-To-Date", &other.date);
        self.pack(header, draft, block)
    }

    fn promote(
        &mut self,
        header: &RecordHeader,
        id: RecordId,
        original: RecordId,
        block: &mut impl BufRead,
    ) -> Result<(), StoreError> {
        let (record, located) =
            revisit_as_response(self.source, &mut self.packer, header, (id, original), block)?;
        let url = text(header.target_uri().unwrap_or_default());
        let is = parse_record_uri(&record.id)?;
        self.target.keep(record)?;
        let date = text(header.fields.get("WARC-Date").unwrap_or_default());
        let (body, length) = (located.id.body(), 0);
        let payload = located.header.payload_digest().and_then(Result::ok);
        // An exchange that is not a capture is never an original: the next revisit becomes one.
        if is_capture(header) {
            self.originals.insert(
                original,
                RevisitOriginal { record: is, url: url.clone(), date, payload, body, length },
            );
        }
        self.replaced.insert(id, is);
        self.done.promoted.push(PromotedRevisit { was: id, is, url });
        Ok(())
    }
}

/// Makes a response of a revisit: its head with the payload of the record that it refers to. Also
/// returns that record.
pub fn revisit_as_response(
    source: &StoreReader,
    packer: &mut Packer,
    header: &RecordHeader,
    (id, original): (RecordId, RecordId),
    block: &mut impl BufRead,
) -> Result<(PackedRecord, LocatedRecord), StoreError> {
    let mut bytes = Vec::new();
    block.read_to_end(&mut bytes).map_err(StoreError::Content)?;
    let lost = || StoreError::Content(invalid_record("the original of a revisit cannot be found", id));
    let located = source.find(&original)?.ok_or_else(lost)?;
    let mut held = BufReader::new(source.record_at(located.place)?.ok_or_else(lost)?);
    let wanted = |name: &str| !is_own(name) && !REVISIT_ONLY_FIELDS.contains(&name);
    let draft = draft_of(RecordType::Response, header, &wanted)?.http();
    let head = MessageHead::parse(&bytes);
    let record = match head {
        Some(head) if head.status() != Some(NOT_MODIFIED_STATUS) => {
            let (draft, kind) = with_payload(draft, header, header, head.headers.is_chunked());
            let mut content = io::Cursor::new(&bytes[..head.length]).chain(framed(&head, held)?);
            pack_reader(packer, &draft, kind, &mut content)?
        }
        _ => {
            let is_disputed = located.header.fields.get(PAYLOAD_DIGEST_FIELD).is_none();
            let (draft, kind) = with_payload(draft, header, &located.header, is_disputed);
            pack_reader(packer, &draft, kind, &mut held)?
        }
    };
    Ok((record, located))
}

/// States the payload digest of a response: in the standard's field, or in our own where tools
/// disagree on the standard's. `of` has the payload digest; the body, unless the revisit states it,
/// is the payload.
fn with_payload(
    mut draft: Draft,
    revisit: &RecordHeader,
    of: &RecordHeader,
    is_disputed: bool,
) -> (Draft, PayloadKind) {
    if !is_disputed {
        return (draft, PayloadKind::Response);
    }
    let said = |name: &str| of.fields.get(name).map(text);
    if let Some(payload) = said(PAYLOAD_DIGEST_FIELD).or_else(|| said(field::PAYLOAD_DIGEST)) {
        if revisit.fields.get(field::BODY_DIGEST).is_none() {
            draft = draft.field(field::BODY_DIGEST, &payload);
        }
        draft = draft.field(field::PAYLOAD_DIGEST, &payload);
    }
    (draft, PayloadKind::None)
}

/// The payload behind the head in `held`, framed as `head` states.
fn framed(head: &MessageHead, mut held: impl BufRead + Send + 'static) -> Result<Box<dyn Read>, StoreError> {
    let none = || io::Error::new(io::ErrorKind::InvalidData, "the record holds no HTTP response");
    let own =
        read_head(&mut held).and_then(|found| found.head().ok_or_else(none)).map_err(StoreError::Content)?;
    if own.headers.is_chunked() == head.headers.is_chunked() {
        return Ok(Box::new(held));
    }
    let mut payload =
        open_payload(&own.headers, held, DecodeLimits::default()).map_err(StoreError::Content)?;
    if !head.headers.is_chunked() {
        return Ok(Box::new(payload));
    }
    let mut spool = tempfile::tempfile().map_err(StoreError::Content)?;
    let length = io::copy(&mut payload, &mut spool).map_err(StoreError::Content)?;
    spool.flush().and_then(|()| spool.seek(SeekFrom::Start(0))).map_err(StoreError::Content)?;
    let (begin, end) = (format!("{length:x}\r\n").into_bytes(), b"\r\n0\r\n\r\n".to_vec());
    // An empty payload is only the last chunk.
    match length {
        0 => Ok(Box::new(io::Cursor::new(b"0\r\n\r\n".to_vec()))),
        _ => Ok(Box::new(io::Cursor::new(begin).chain(spool).chain(io::Cursor::new(end)))),
    }
}
