//! Keeping an exchange.

use std::io::{self, Read};
use std::sync::{PoisonError, RwLock};

use varve_core::receipt::{Receipt, Renderings};
use varve_core::{BodyId, RecordId};
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::http::Head;
use varve_warc::payload::PayloadKind;
use varve_warc::record::{Header, RecordType};
use varve_warc::write::{BlockFacts, Draft, PackError, PackedRecord, Packer, Profile, pack_reader};

use super::examine::{Cursor, Examined, examine};
use super::recent::Recent;
use super::{NewExchange, NewRendering, NewRenderings, Original, payload_of, receipt_of, target_of_document};
use crate::error::StoreError;
use crate::record::{field, ids};
use crate::writer::{Kept, NewObject, StoreWriter, Ticket};

/// Answers up to this size are packed in memory.
const IN_MEMORY: u64 = 1 << 20;

/// Requests are cut at this size; only what scripts send is ever longer.
const LONGEST_REQUEST: usize = 16 << 20;

/// Keeps exchanges. Many threads may use one, each with a packer of its own.
pub struct ExchangeKeeper<'a> {
    writer: &'a StoreWriter,
    recent: Recent,
    /// Held alone by whoever wants its records in a row.
    in_a_row: RwLock<()>,
}

/// What was kept.
#[derive(Clone, Debug)]
pub struct KeptExchange {
    /// All that the record says.
    pub receipt: Receipt,
    /// Whether it was new; otherwise this very exchange was here already.
    pub new: bool,
    /// To be waited for before anything is promised.
    pub ticket: Ticket,
}

/// What was kept of an exchange that stands aside.
#[derive(Clone, Debug)]
pub struct KeptAside {
    /// The record of the answer.
    pub record: RecordId,
    /// The status of the answer; 0 where it could not be read.
    pub status: u16,
    /// The length of its body.
    pub length: u64,
    /// To be waited for before anything is promised.
    pub ticket: Ticket,
}

/// What was written.
struct Written {
    /// The header of the answer's record.
    header: Header,
    examined: Examined,
    new: bool,
    ticket: Ticket,
}

impl<'a> ExchangeKeeper<'a> {
    /// Keeps exchanges in that store.
    pub fn new(writer: &'a StoreWriter) -> Self {
        Self { writer, recent: Recent::default(), in_a_row: RwLock::default() }
    }

    /// Keeps an exchange. Nothing is promised before its ticket was waited for.
    pub fn keep(&self, packer: &mut Packer, exchange: &NewExchange<'_>) -> Result<KeptExchange, StoreError> {
        self.keep_rendered(packer, exchange, &NewRenderings::default())
    }

    /// Keeps an exchange with what a browser made of it. The answer's record names the others and is written after them:
    /// so whatever ends the process, an answer that is here has all that it names.
    pub fn keep_rendered(
        &self,
        packer: &mut Packer,
        exchange: &NewExchange<'_>,
        renderings: &NewRenderings<'_>,
    ) -> Result<KeptExchange, StoreError> {
        let Written { header, examined, new, ticket } = self.write(packer, exchange, renderings)?;
        let receipt = receipt_of(&header, examined.head.as_ref()).ok_or(StoreError::Stopped)?;
        self.remember(&header, &examined, &receipt);
        Ok(KeptExchange { receipt, new, ticket })
    }

    /// Keeps an exchange that says it stands aside. It may repeat what is here, and nothing will ever refer to it.
    pub fn keep_aside(
        &self,
        packer: &mut Packer,
        exchange: &NewExchange<'_>,
        renderings: &NewRenderings<'_>,
    ) -> Result<KeptAside, StoreError> {
        let Written { header, examined, ticket, .. } = self.write(packer, exchange, renderings)?;
        let (record, _) = ids(&header);
        let record = RecordId::new(record.ok_or(StoreError::Stopped)?);
        let status = examined.head.as_ref().and_then(Head::status).unwrap_or(0);
        Ok(KeptAside { record, status, length: examined.body_length, ticket })
    }

    fn write(
        &self,
        packer: &mut Packer,
        exchange: &NewExchange<'_>,
        renderings: &NewRenderings<'_>,
    ) -> Result<Written, StoreError> {
        let examined =
            examine(exchange.response, exchange.truncated.is_some()).map_err(StoreError::Content)?;
        let named = self.name_renderings(packer, exchange, renderings)?;
        let record = match self.original(exchange, &examined)? {
            Some((profile, original)) => {
                pack_revisit(packer, exchange, &examined, profile, &original, &named)?
            }
            None => pack_response(packer, exchange, &examined, &named)?,
        };
        let (id, header) = (record.id.clone(), record.header());
        if let Some(document) = renderings.document {
            self.writer.keep(pack_document(packer, exchange, &document, &id)?)?;
        }
        let request = match exchange.request {
            [] => None,
            _ => Some(pack_request(packer, exchange, &id)?),
        };
        let (kept, ticket) = self.write_both(exchange, record, request)?;
        Ok(Written { header, examined, new: kept.new, ticket })
    }

    /// Writes an answer and what it answers. Of what stands aside they come in a row: only then do programs that make an index
    /// of URLs, pywb among them, see that it was no plain question.
    fn write_both(
        &self,
        exchange: &NewExchange<'_>,
        response: PackedRecord,
        request: Option<PackedRecord>,
    ) -> Result<(Kept, Ticket), StoreError> {
        let is_aside = exchange.aside.is_some();
        let _alone = is_aside.then(|| self.in_a_row.write().unwrap_or_else(PoisonError::into_inner));
        let _beside = (!is_aside).then(|| self.in_a_row.read().unwrap_or_else(PoisonError::into_inner));
        let kept = self.writer.keep(response)?;
        let ticket = request.map(|request| self.writer.keep(request)).transpose()?;
        let ticket = ticket.map_or(kept.ticket, |kept| kept.ticket);
        Ok((kept, ticket))
    }

    /// The ids that renderings have. A picture is kept at once; a document waits for the record that it was made of.
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
            named.screenshot =
                Some(RecordId::new(self.writer.store_bytes(packer, &object, picture.content)?.id));
        }
        if let Some(document) = renderings.document {
            let block = Algorithm::Sha256.digest(document.content);
            let date = exchange.date.to_string();
            let target = target_of_document(exchange.url);
            let id = varve_warc::write::id::of_event("conversion", &target, &date, &block);
            named.document = crate::record::parse_id(id.as_bytes()).map(RecordId::new);
        }
        Ok(named)
    }

    /// What the answer repeats, if it repeats anything.
    fn original(
        &self,
        exchange: &NewExchange<'_>,
        examined: &Examined,
    ) -> Result<Option<(Profile, Original)>, StoreError> {
        let status = examined.head.as_ref().and_then(Head::status);
        if let (Some(304), Some(original)) = (status, &exchange.unchanged) {
            return Ok(Some((Profile::ServerNotModified, original.clone())));
        }
        let Some(payload) = examined.facts.payload else { return Ok(None) };
        if exchange.truncated.is_some() || examined.payload_length == 0 {
            return Ok(None);
        }
        let Ok(body) = <[u8; 32]>::try_from(examined.body.bytes()) else { return Ok(None) };
        let found = match self.recent.find(&body, &payload) {
            Some(original) => Some(original),
            None => self.kept_before(&body, &payload, examined.body_length)?,
        };
        let date = exchange.date.to_string();
        // What is found may be this very exchange, kept before: it is no visit of itself.
        let another = found.filter(|original| original.url != exchange.url || original.date != date);
        Ok(another.map(|original| (Profile::IdenticalPayloadDigest(payload), original)))
    }

    /// The response in the silos that holds this payload.
    fn kept_before(
        &self,
        body: &[u8; 32],
        payload: &Digest,
        length: u64,
    ) -> Result<Option<Original>, StoreError> {
        let Some(located) = self.writer.find_synced(body)? else { return Ok(None) };
        let same = payload_of(&located.header).as_ref() == Some(payload);
        let is_response = located.header.record_type() == RecordType::Response;
        Ok((same && is_response).then(|| original_of(&located.header, located.id, length)).flatten())
    }

    fn remember(&self, header: &Header, examined: &Examined, receipt: &Receipt) {
        if let (Some(payload), (Some(own), body)) = (examined.facts.payload, ids(header))
            && header.record_type() == RecordType::Response
            && let Some(original) = original_of(header, own, receipt.length)
        {
            self.recent.remember(body.unwrap_or(own), payload, original);
        }
    }
}

fn original_of(header: &Header, id: [u8; 32], length: u64) -> Option<Original> {
    let (_, body) = ids(header);
    Some(Original {
        record: RecordId::new(id),
        url: String::from_utf8_lossy(header.target_uri()?).into_owned(),
        date: String::from_utf8_lossy(header.fields.get("WARC-Date")?).into_owned(),
        body: BodyId::new(body?),
        length,
    })
}

/// What every record of an exchange says.
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
    if let Some(run) = exchange.run {
        draft = draft.field(field::RUN, &run.to_string());
    }
    if let Some(method) = exchange.aside {
        draft = draft.field(field::ASIDE, method);
    }
    draft.http()
}

/// What the record of an answer says besides.
fn answer(
    exchange: &NewExchange<'_>,
    record_type: RecordType,
    body: (Option<&Digest>, u64),
    renderings: &Renderings,
) -> Draft {
    let mut draft = draft(exchange, record_type);
    // What stands beside an answer names it, and need not say this again.
    if let Some(warcinfo) = exchange.warcinfo {
        draft = draft.field("WARC-Warcinfo-ID", &format!("<{warcinfo}>"));
    }
    if !renderings.is_empty() {
        draft = draft.field(field::RENDERINGS, &renderings.to_string());
    }
    for trailer in exchange.trailers {
        draft = draft.field(field::TRAILER, trailer);
    }
    if let Some(timing) = exchange.timing {
        draft = draft.field(field::TIMING, timing);
    }
    if let Some(digest) = body.0 {
        draft = draft.field(field::BODY_DIGEST, &digest.to_string());
    }
    draft.field(field::BODY_LENGTH, &body.1.to_string())
}

fn pack_response(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    examined: &Examined,
    renderings: &Renderings,
) -> Result<PackedRecord, StoreError> {
    let is_disputed = examined.head.as_ref().is_none_or(Head::is_chunked);
    let differs = is_disputed || examined.facts.payload != Some(examined.body);
    let body = differs.then_some(&examined.body);
    let mut draft = answer(exchange, RecordType::Response, (body, examined.body_length), renderings);
    // Half of the tools hash the payload of a chunked answer with its framing, and those that look for a head find one of
    // sorts in an answer without, so no value of the standard's field would be right for all of them.
    if let (true, Some(payload)) = (is_disputed, &examined.facts.payload) {
        draft = draft.field(field::PAYLOAD_DIGEST, &payload.to_string());
    }
    if let Some(reason) = exchange.truncated {
        draft = draft.truncated(reason);
    }
    let mut block = Cursor::new(exchange.response);
    if examined.facts.length > IN_MEMORY {
        let kind = if is_disputed { PayloadKind::None } else { PayloadKind::Response };
        return Ok(pack_reader(packer, &draft, kind, &mut block)?);
    }
    let mut bytes = Vec::with_capacity(examined.facts.length as usize);
    block.read_to_end(&mut bytes).map_err(StoreError::Content)?;
    if bytes.len() as u64 != examined.facts.length {
        return Err(StoreError::Content(io::Error::other("the answer changed while it was read")));
    }
    let payload = examined.facts.payload.filter(|_| !is_disputed);
    Ok(packer.pack_known(&draft, BlockFacts { payload, ..examined.facts.clone() }, &bytes)?)
}

/// A revisit holds the head of the answer alone.
fn pack_revisit(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    examined: &Examined,
    profile: Profile,
    original: &Original,
    renderings: &Renderings,
) -> Result<PackedRecord, StoreError> {
    let length = examined.head.as_ref().map_or(0, |head| head.length);
    let mut block = vec![0; length];
    Cursor::new(exchange.response).read_exact(&mut block).map_err(StoreError::Content)?;
    let of_original = Digest::parse_value(Algorithm::Sha256, original.body.to_string().as_bytes());
    let says_payload =
        matches!(&profile, Profile::IdenticalPayloadDigest(payload) if Some(payload) == of_original.as_ref());
    let body = of_original.as_ref().filter(|_| !says_payload);
    let draft = answer(exchange, RecordType::Revisit, (body, original.length), renderings).revisit_of(
        profile,
        &original.record.to_string(),
        &original.url,
        &original.date,
    );
    Ok(packer.pack(&draft, PayloadKind::Revisit, &block)?)
}

/// A document belongs to the answer: it has its date, and its URL behind a mark.
fn pack_document(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    document: &NewRendering<'_>,
    of: &str,
) -> Result<PackedRecord, PackError> {
    let mut draft = Draft::new(RecordType::Conversion, &exchange.date)
        .target_uri(&target_of_document(exchange.url))
        .refers_to(of)
        .content_type(document.media_type);
    if let Some(run) = exchange.run {
        draft = draft.field(field::RUN, &run.to_string());
    }
    packer.pack(&draft, PayloadKind::Block, document.content)
}

fn pack_request(
    packer: &mut Packer,
    exchange: &NewExchange<'_>,
    response: &str,
) -> Result<PackedRecord, PackError> {
    let mut draft = draft(exchange, RecordType::Request).concurrent_to(response);
    let kept = &exchange.request[..exchange.request.len().min(LONGEST_REQUEST)];
    if kept.len() < exchange.request.len() {
        draft = draft.truncated("length");
    }
    packer.pack(&draft, PayloadKind::Request, kept)
}
