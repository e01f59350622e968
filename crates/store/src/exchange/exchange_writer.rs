//! Writes exchanges: packs request, response, revisit and rendering as records, and hands them to
//! the writer of the store. Whether a response is a revisit is decided by [`Deduplicator`].

use std::io::{self, Read};
use std::sync::{PoisonError, RwLock};

use varve_core::RecordId;
use varve_core::receipt::{Receipt, Renderings};
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::payload::PayloadKind;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::{
    BlockFacts, Draft, PackedRecord, Packer, Profile, RecordPackError, RecordUri, pack_reader,
};

use varve_wire::ReadAtCursor;

use super::deduplication::Deduplicator;
use super::examined_response::{ExaminedResponse, STATUS_NOT_MODIFIED, examine};
use super::{
    ExchangeRun, NewExchange, NewRendering, NewRenderings, RevisitOriginal, not_modified_field, receipt_of,
    target_of_document,
};
use crate::error::{StoreError, parse_record_uri};
use crate::record::{field, record_and_body_ids, record_uri};
use crate::writer::{KeptRecord, NewObject, StoreWriter, Ticket};

/// Responses up to this size are packed in memory.
const MAX_IN_MEMORY_BYTES: u64 = 1 << 20;

/// Requests are truncated at this size; only scripts send longer ones.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// Writes exchanges. Many threads may share it, each with its own packer.
pub struct ExchangeWriter<'a> {
    writer: &'a StoreWriter,
    deduplicator: Deduplicator<'a>,
    /// Locked exclusively for records that must be consecutive.
    consecutive_records: RwLock<()>,
}

/// A stored exchange.
#[derive(Clone, Debug)]
pub struct KeptExchange {
    /// The receipt of its record.
    pub receipt: Receipt,
    /// Whether it was new; otherwise this exchange was already stored.
    pub new: bool,
    /// The record with its payload, which is another one for a revisit. `None` if no revisit may refer
    /// to it.
    pub original: Option<RevisitOriginal>,
    /// To wait for before acknowledging the record.
    pub ticket: Ticket,
}

/// A stored exchange that is not a capture.
#[derive(Clone, Debug)]
pub struct KeptNonCapture {
    /// The record of the response.
    pub record: RecordId,
    /// The status of the response; 0 when unreadable.
    pub status: u16,
    /// The length of its body.
    pub length: u64,
    /// To wait for before acknowledging the record.
    pub ticket: Ticket,
}

/// The records written for an exchange.
struct WrittenExchange<'a> {
    /// The header of the response record.
    header: RecordHeader,
    examined: ExaminedResponse<'a>,
    /// The record that it repeats.
    repeated: Option<RevisitOriginal>,
    new: bool,
    ticket: Ticket,
}

impl<'a> ExchangeWriter<'a> {
    /// Writes exchanges to a store.
    pub fn new(writer: &'a StoreWriter) -> Self {
        Self { writer, deduplicator: Deduplicator::new(writer), consecutive_records: RwLock::default() }
    }

    /// Stores an exchange. It is durable once its ticket was waited for.
    pub fn keep(&self, packer: &mut Packer, exchange: &NewExchange<'_>) -> Result<KeptExchange, StoreError> {
        self.keep_rendered(packer, exchange, &NewRenderings::default())
    }

    /// Stores an exchange with its renderings. The response record names the renderings and is
    /// written after them, so a stored response has all of them even after a crash.
    pub fn keep_rendered(
        &self,
        packer: &mut Packer,
        exchange: &NewExchange<'_>,
        renderings: &NewRenderings<'_>,
    ) -> Result<KeptExchange, StoreError> {
        let WrittenExchange { header, examined, repeated, new, ticket } =
            self.write(packer, exchange, renderings)?;
        let receipt = receipt_of(&header, examined.head.as_deref()).ok_or_else(|| no_receipt(&header))?;
        let own = self.deduplicator.remember(&header, &examined, &receipt);
        Ok(KeptExchange { receipt, new, original: repeated.or(own), ticket })
    }

    /// Stores an exchange that is not a capture. It may be a revisit, and no revisit refers to it.
    pub fn keep_non_capture(
        &self,
        packer: &mut Packer,
        exchange: &NewExchange<'_>,
        renderings: &NewRenderings<'_>,
    ) -> Result<KeptNonCapture, StoreError> {
        let WrittenExchange { header, examined, ticket, .. } = self.write(packer, exchange, renderings)?;
        let (record, _) = record_and_body_ids(&header);
        let record = record.ok_or_else(|| no_receipt(&header))?;
        let status = examined.status().unwrap_or(0);
        Ok(KeptNonCapture { record, status, length: examined.body_length, ticket })
    }

    fn write<'e>(
        &self,
        packer: &mut Packer,
        exchange: &NewExchange<'e>,
        renderings: &NewRenderings<'_>,
    ) -> Result<WrittenExchange<'e>, StoreError> {
        let is_truncated = exchange.truncated.is_some();
        let examined =
            examine(exchange.response, exchange.head, is_truncated).map_err(StoreError::Content)?;
        let named = self.name_renderings(packer, exchange, renderings)?;
        let repeats = self.deduplicator.find_original(exchange, &examined)?;
        let record = match &repeats {
            Some((profile, original)) => {
                pack_revisit(packer, exchange, &examined, *profile, original, &named)?
            }
            None => pack_response(packer, exchange, &examined, &named)?,
        };
        let (id, header) = (record.id.clone(), record.header());
        if let Some(document) = renderings.document {
            self.writer.keep(pack_document(packer, exchange, &document, id.clone())?)?;
        }
        let request = match exchange.request {
            [] => None,
            _ => Some(pack_request(packer, exchange, &id)?),
        };
        let (kept, ticket) = self.write_both(exchange, record, request)?;
        let repeated = repeats.map(|(_, original)| original);
        Ok(WrittenExchange { header, examined, repeated, new: kept.new, ticket })
    }

    /// Writes a response and its request. For an exchange that is not a capture they are
    /// consecutive: URL indexers such as pywb only then see that the request was not a plain GET.
    fn write_both(
        &self,
        exchange: &NewExchange<'_>,
        response: PackedRecord,
        request: Option<PackedRecord>,
    ) -> Result<(KeptRecord, Ticket), StoreError> {
        let is_aside = exchange.non_capture_method.is_some();
        let _alone =
            is_aside.then(|| self.consecutive_records.write().unwrap_or_else(PoisonError::into_inner));
        let _beside =
            (!is_aside).then(|| self.consecutive_records.read().unwrap_or_else(PoisonError::into_inner));
        let kept = self.writer.keep(response)?;
        let ticket = request.map(|request| self.writer.keep(request)).transpose()?;
        let ticket = ticket.map_or(kept.ticket, |kept| kept.ticket);
        Ok((kept, ticket))
    }

    /// The ids of the renderings. A screenshot is stored at once; a document is stored after its
    /// response was packed.
    fn name_renderings(
        &self,
        packer: &mut Packer,
        exchange: &NewExchange<'_>,
        renderings: &NewRenderings<'_>,
    ) -> Result<Renderings, StoreError> {
        let mut named = Renderings::default();
        if let Some(picture) = renderings.screenshot {
            let content_type = picture.media_type.to_owned();
            let object = NewObject { date: exchange.date, content_type, refers_to: None, known: None };
            named.screenshot = Some(self.writer.store_bytes(packer, &object, picture.content)?.id);
        }
        if let Some(document) = renderings.document {
            let block = Algorithm::Sha256.digest(document.content);
            let date = exchange.date.to_string();
            let target = target_of_document(exchange.url);
            let uri = RecordUri::of_event(RecordType::Conversion, &target, &date, &block);
            named.document = Some(parse_record_uri(&uri)?);
        }
        Ok(named)
    }
}

/// The error for a written record without a valid id or body.
fn no_receipt(header: &RecordHeader) -> StoreError {
    let id = String::from_utf8_lossy(header.record_id().unwrap_or_default()).into_owned();
    StoreError::NoReceipt { id }
}

/// The fields of every record of an exchange.
fn draft(exchange: &NewExchange<'_>, record_type: RecordType) -> Draft {
    let mut draft = Draft::new(record_type, &exchange.date).target_uri(exchange.url);
    if let Some(ip) = exchange.ip {
        draft = draft.ip_address(ip);
    }
    for protocol in exchange.protocols {
        draft = draft.field("WARC-Protocol", protocol);
    }
    if let Some(cipher) = exchange.cipher {
        draft = draft.field("WARC-Cipher-Suite", cipher);
    }
    draft = with_run(draft, exchange);
    if let Some(method) = exchange.non_capture_method {
        draft = draft.field(field::NON_CAPTURE_METHOD, method);
    }
    draft.http()
}

/// Adds the run that the exchange belongs to.
fn with_run(draft: Draft, exchange: &NewExchange<'_>) -> Draft {
    match exchange.run {
        Some(ExchangeRun::Capture(run)) => draft.field(field::RUN_ID, &run.to_string()),
        Some(ExchangeRun::Check(run)) => draft.field(field::CHECK_RUN_ID, &run.to_string()),
        None => draft,
    }
}

/// The further fields of a response or revisit record.
fn answer(
    exchange: &NewExchange<'_>,
    record_type: RecordType,
    body: (Option<&Digest>, u64),
    renderings: &Renderings,
) -> Draft {
    let mut draft = draft(exchange, record_type);
    // The other records name the response and need not repeat this.
    if let Some(warcinfo) = exchange.warcinfo {
        draft = draft.field("WARC-Warcinfo-ID", &format!("<{warcinfo}>"));
    }
    if !renderings.is_empty() {
        draft = draft.field(field::RENDERING_IDS, &renderings.to_string());
    }
    for trailer in exchange.trailers {
        draft = draft.field(field::TRAILER_LINE, trailer);
    }
    if let Some(timing) = exchange.timing {
        draft = draft.field(field::FETCH_TIMING, timing);
    }
    if let Some(source) = &exchange.source {
        draft = draft.field(field::SOURCE_HEADER, source.response_header);
    }
    if let Some(digest) = body.0 {
        draft = draft.field(field::BODY_DIGEST, &digest.to_string());
    }
    draft.field(field::BODY_LENGTH, &body.1.to_string())
}

fn pack_response(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    examined: &ExaminedResponse<'_>,
    renderings: &Renderings,
) -> Result<PackedRecord, StoreError> {
    let is_disputed = examined.head.as_ref().is_none_or(|head| head.headers.is_chunked());
    let differs = is_disputed || examined.facts.payload != Some(examined.body);
    let body = differs.then_some(&examined.body);
    let mut draft = answer(exchange, RecordType::Response, (body, examined.body_length), renderings);
    // Half of the tools hash a chunked payload with its framing, and some find a head in a block
    // without one. No value of the standard's field is right for all of them.
    if let (true, Some(payload)) = (is_disputed, &examined.facts.payload) {
        draft = draft.field(field::PAYLOAD_DIGEST, &payload.to_string());
    }
    if let Some(reason) = exchange.truncated {
        draft = draft.truncated(reason);
    }
    let mut block = ReadAtCursor::new(exchange.response, 0);
    if examined.facts.length > MAX_IN_MEMORY_BYTES {
        if let (false, Some(payload)) = (is_disputed, &examined.facts.payload) {
            draft = draft.field("WARC-Payload-Digest", &payload.to_string());
        }
        let record = pack_reader(packer, &draft, PayloadKind::None, &mut block)?;
        let is_same = record.block.digest == examined.facts.digest;
        return if is_same { Ok(record) } else { Err(changed_response()) };
    }
    let mut bytes = Vec::with_capacity(examined.facts.length as usize);
    block.read_to_end(&mut bytes).map_err(StoreError::Content)?;
    if bytes.len() as u64 != examined.facts.length {
        return Err(changed_response());
    }
    let payload = examined.facts.payload.filter(|_| !is_disputed);
    Ok(packer.pack_known(&draft, BlockFacts { payload, ..examined.facts.clone() }, &bytes)?)
}

fn changed_response() -> StoreError {
    StoreError::Content(io::Error::other("the response changed while it was read"))
}

/// A revisit contains only the head of the response. The head of a 304 is in a field, because
/// programs would show it in place of the original.
fn pack_revisit(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    examined: &ExaminedResponse<'_>,
    profile: Profile,
    original: &RevisitOriginal,
    renderings: &Renderings,
) -> Result<PackedRecord, StoreError> {
    let length = examined.head.as_ref().map_or(0, |head| head.length);
    let mut block = vec![0; length];
    ReadAtCursor::new(exchange.response, 0).read_exact(&mut block).map_err(StoreError::Content)?;
    let is_not_modified = exchange.unchanged.is_some() && examined.status() == Some(STATUS_NOT_MODIFIED);
    let not_modified = if is_not_modified { not_modified_field(&block) } else { None };
    let profile = match profile {
        _ if is_not_modified && not_modified.is_none() => Profile::ServerNotModified,
        profile => profile,
    };
    let of_original = Digest::of_sha256(original.body.as_bytes());
    let says_payload =
        matches!(&profile, Profile::IdenticalPayloadDigest(payload) if *payload == of_original);
    let body = (!says_payload).then_some(&of_original);
    let mut draft = answer(exchange, RecordType::Revisit, (body, original.length), renderings);
    if let Some(head) = not_modified {
        draft = draft.field(field::NOT_MODIFIED_HEAD, &head);
        block.clear();
    }
    let draft = draft.revisit_of(profile, record_uri(&original.record), &original.url, &original.date);
    Ok(packer.pack(&draft, PayloadKind::Revisit, &block)?)
}

/// A document has the date of the response, and its URL with a prefix.
fn pack_document(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    document: &NewRendering<'_>,
    of: RecordUri,
) -> Result<PackedRecord, RecordPackError> {
    let draft = Draft::new(RecordType::Conversion, &exchange.date)
        .target_uri(&target_of_document(exchange.url))
        .refers_to(of)
        .content_type(document.media_type);
    packer.pack(&with_run(draft, exchange), PayloadKind::Block, document.content)
}

fn pack_request(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    response: &RecordUri,
) -> Result<PackedRecord, RecordPackError> {
    let mut draft = draft(exchange, RecordType::Request).concurrent_to(response);
    if let Some(header) = exchange.source.as_ref().and_then(|source| source.request_header) {
        draft = draft.field(field::SOURCE_HEADER, header);
    }
    let kept = &exchange.request[..exchange.request.len().min(MAX_REQUEST_BYTES)];
    if kept.len() < exchange.request.len() {
        draft = draft.truncated("length");
    }
    packer.pack(&draft, PayloadKind::Request, kept)
}
