//! Reads the records of a file in their order: captures, `warcinfo`, and requests other than GET.
//!
//! A capture is a response, a revisit or a resource with an `http` or `https` URL. Its body is
//! decoded and hashed while it streams by. Other records have no rows; `doctor` counts them.

use std::io::{self, Read};

use sha2::{Digest, Sha256};
use varve_core::url::PageUrl;
use varve_core::{BodyId, Moment};
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::rules::WarcFinding;
use varve_warc::{Error, Record, WarcReader};
use varve_wire::{Headers, MessageHead, ReadAt};

use crate::response::{BlockForm, decoded_body, digest_of, payload, read_head};

/// Maximum length of the fields of a `warcinfo` record.
const MAX_INFO_BYTES: u64 = 64 << 10;
/// Bytes of a request that show its method.
const METHOD_BYTES: u64 = 32;
/// The status of a resource, which has no response.
const RESOURCE_STATUS: u16 = 200;

/// A digest of the id of a record, by which records refer to each other.
pub(crate) type IdDigest = [u8; 16];

/// A capture, as its record says.
#[derive(Debug)]
pub(crate) struct ScannedCapture {
    /// The id of the record, if it has one.
    pub(crate) id: Option<IdDigest>,
    pub(crate) offset: u64,
    /// The number of records before it at the same offset: a member may hold several.
    pub(crate) ordinal: u32,
    pub(crate) url: String,
    pub(crate) time: Moment,
    pub(crate) status: u16,
    /// The bytes of the HTTP head, or of a `Content-Type` line for a resource.
    pub(crate) head: Vec<u8>,
    pub(crate) form: BlockForm,
    pub(crate) body: BodyId,
    pub(crate) length: u64,
    pub(crate) is_truncated: bool,
    pub(crate) payload_digest: Option<String>,
    pub(crate) revisit: Option<Revisit>,
    /// The record that this one was written together with.
    pub(crate) concurrent: Option<IdDigest>,
}

/// What a revisit record says about the record that it repeats.
#[derive(Debug, Default)]
pub(crate) struct Revisit {
    pub(crate) refers_to: Option<IdDigest>,
    pub(crate) refers_url: Option<String>,
    pub(crate) refers_time: Option<Moment>,
    /// Whether the server answered that nothing changed.
    pub(crate) is_not_modified: bool,
}

/// A `warcinfo` record.
#[derive(Debug)]
pub(crate) struct ScannedInfo {
    pub(crate) offset: u64,
    pub(crate) part_of: Option<String>,
    pub(crate) operator: Option<String>,
}

/// A record that the index needs.
#[derive(Debug)]
pub(crate) enum IndexableRecord {
    Capture(Box<ScannedCapture>),
    Info(ScannedInfo),
    /// The ids of a request with a method other than GET, and of the records written with it.
    OtherMethod(Vec<IdDigest>),
}

/// The records of a part of a file.
#[derive(Debug, Default)]
pub(crate) struct ScannedPart {
    pub(crate) records: Vec<IndexableRecord>,
    pub(crate) findings: Vec<WarcFinding>,
}

/// Reads the records up to `until`.
pub(crate) fn scan_part<S: ReadAt>(
    reader: &mut WarcReader<S>,
    until: u64,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<ScannedPart, Error> {
    let mut part = ScannedPart { findings: reader.take_findings(), ..ScannedPart::default() };
    let mut done = reader.position();
    let mut last = (u64::MAX, 0);
    let mut before: Option<ExchangeHalf> = None;
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        let offset = record.offset();
        last = if last.0 == offset { (offset, last.1 + 1) } else { (offset, 0) };
        let mut half = ExchangeHalf::of(record.header());
        let scanned = scan_record(&mut record, last).map_err(|source| Error::Io { offset, source })?;
        match scanned {
            RecordScan::Known(record) => {
                if let (Some(half), Some(IndexableRecord::OtherMethod(_))) = (&mut half, &record) {
                    half.is_other_method = true;
                }
                part.records.extend(record);
            }
            RecordScan::ReadAgain(form) => {
                let capture = scan_again(reader, last, form)?;
                part.records.extend(capture.map(IndexableRecord::Capture));
            }
        }
        reader.finish_record()?;
        let response = before.as_ref().zip(half.as_ref()).and_then(|(one, other)| one.other_response(other));
        part.records.extend(response.map(|id| IndexableRecord::OtherMethod(vec![id])));
        before = half;
        part.findings.append(&mut reader.take_findings());
        let position = reader.position();
        progress(position.saturating_sub(done));
        done = position;
    }
    part.findings.append(&mut reader.take_findings());
    Ok(part)
}

/// A request or a response that may belong to the record beside it. Some programs write no ids that
/// say so; then both have one URL and one instant.
struct ExchangeHalf {
    url: Vec<u8>,
    date: Vec<u8>,
    /// The id, if it is a response.
    response: Option<IdDigest>,
    /// Whether it is a request with a method other than GET.
    is_other_method: bool,
}

impl ExchangeHalf {
    fn of(header: &RecordHeader) -> Option<Self> {
        let id = || header.record_id().map(id_digest);
        let response = match header.record_type() {
            RecordType::Request => None,
            RecordType::Response | RecordType::Revisit => Some(id()?),
            _ => return None,
        };
        let url = header.target_uri()?.to_vec();
        let date = header.fields.get("WARC-Date")?.to_vec();
        Some(Self { url, date, response, is_other_method: false })
    }

    /// The id of the response of these two, if the other is a request with a method other than GET.
    fn other_response(&self, other: &Self) -> Option<IdDigest> {
        let is_pair = self.url == other.url && self.date == other.date;
        let has_other_method = self.is_other_method || other.is_other_method;
        self.response.xor(other.response).filter(|_| is_pair && has_other_method)
    }
}

enum RecordScan {
    Known(Option<IndexableRecord>),
    /// The block was read, and its body is in another form than was assumed.
    ReadAgain(AssumedForm),
}

/// The form that the block of a capture is assumed to have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AssumedForm {
    /// A head, and a body whose content codings can be removed.
    Decodable,
    /// A head, and a body with a content coding that is broken or unknown.
    Encoded,
    /// No head, although the header of the record promises one.
    Unheaded,
}

enum CaptureScan {
    Done(Box<ScannedCapture>),
    ReadAgain(AssumedForm),
}

fn scan_record<S: ReadAt>(record: &mut Record<'_, S>, place: (u64, u32)) -> io::Result<RecordScan> {
    let header = record.header();
    let known = |record| Ok(RecordScan::Known(Some(record)));
    match header.record_type() {
        RecordType::Warcinfo => known(IndexableRecord::Info(scan_info(record)?)),
        RecordType::Request => {
            let ids = ids_of(header);
            let other = method_is_other(record)?;
            Ok(RecordScan::Known(other.then_some(IndexableRecord::OtherMethod(ids))))
        }
        RecordType::Response | RecordType::Revisit | RecordType::Resource => {
            let Some(capture) = begin_capture(header, place) else { return Ok(RecordScan::Known(None)) };
            match scan_capture(record, capture, AssumedForm::Decodable)? {
                CaptureScan::Done(capture) => known(IndexableRecord::Capture(capture)),
                CaptureScan::ReadAgain(form) => Ok(RecordScan::ReadAgain(form)),
            }
        }
        _ => Ok(RecordScan::Known(None)),
    }
}

/// Reads the capture at a place again, in another form.
fn scan_again<S: ReadAt>(
    reader: &WarcReader<S>,
    place: (u64, u32),
    form: AssumedForm,
) -> Result<Option<Box<ScannedCapture>>, Error> {
    let mut again = WarcReader::resume(reader.source(), place.0, reader.format())?;
    for _ in 0..place.1 {
        again.next_record()?;
    }
    let Some(mut record) = again.next_record()? else { return Ok(None) };
    let Some(capture) = begin_capture(record.header(), place) else { return Ok(None) };
    match scan_capture(&mut record, capture, form).map_err(|source| Error::Io { offset: place.0, source })? {
        CaptureScan::Done(capture) => Ok(Some(capture)),
        CaptureScan::ReadAgain(_) => Ok(None),
    }
}

/// The facts in the header of a record. `None` when it is no capture.
fn begin_capture(header: &RecordHeader, (offset, ordinal): (u64, u32)) -> Option<ScannedCapture> {
    let url = String::from_utf8_lossy(header.target_uri()?).into_owned();
    PageUrl::parse(&url)?;
    let moment = |text: &[u8]| varve_warc::date::Date::parse(text).map(|date| Moment::from(date.instant));
    let time = header.date().map_or(Moment::from_seconds(0), |date| Moment::from(date.instant));
    let revisit = (header.record_type() == RecordType::Revisit).then(|| Revisit {
        refers_to: header.reference("WARC-Refers-To").map(id_digest),
        refers_url: header
            .reference("WARC-Refers-To-Target-URI")
            .map(|url| String::from_utf8_lossy(url).into_owned()),
        refers_time: header.fields.get("WARC-Refers-To-Date").and_then(moment),
        is_not_modified: header
            .fields
            .get("WARC-Profile")
            .is_some_and(|profile| profile.windows(19).any(|part| part == b"server-not-modified")),
    });
    let payload_digest = header.payload_digest().and_then(Result::ok).map(|digest| digest.to_string());
    Some(ScannedCapture {
        id: header.record_id().map(id_digest),
        offset,
        ordinal,
        url,
        time,
        status: 0,
        head: Vec::new(),
        form: BlockForm { has_head: false, decodes: false },
        body: BodyId::new([0; 32]),
        length: 0,
        is_truncated: header.is_truncated() || header.is_segment(),
        payload_digest,
        revisit,
        concurrent: header.reference("WARC-Concurrent-To").map(id_digest),
    })
}

/// Reads the block of a capture.
fn scan_capture<S: ReadAt>(
    record: &mut Record<'_, S>,
    mut capture: ScannedCapture,
    form: AssumedForm,
) -> io::Result<CaptureScan> {
    let header = record.header();
    if !header.is_http() || form == AssumedForm::Unheaded {
        let is_resource = !header.is_http();
        capture.status = if is_resource { RESOURCE_STATUS } else { 0 };
        let named = header.fields.get("Content-Type").filter(|_| is_resource);
        let media_type = named.unwrap_or(b"application/octet-stream");
        capture.head = [b"Content-Type: ", media_type, b"\r\n\r\n"].concat();
        (capture.body, capture.length) = digest_of(&mut *record)?;
        capture.is_truncated |= record.is_cut();
        return Ok(CaptureScan::Done(Box::new(capture)));
    }
    match read_head(record)? {
        Some((head, bytes)) => {
            capture.status = head.status().unwrap_or(0);
            capture.head = bytes;
            capture.form.has_head = true;
            if capture.revisit.is_none() {
                let Some((body, length)) = scan_body(record, &head, form)? else {
                    return Ok(CaptureScan::ReadAgain(AssumedForm::Encoded));
                };
                (capture.body, capture.length) = (body, length);
                capture.form.decodes = form == AssumedForm::Decodable;
            }
        }
        // A revisit may have no block at all.
        None if capture.revisit.is_some() => {}
        None => return Ok(CaptureScan::ReadAgain(AssumedForm::Unheaded)),
    }
    capture.is_truncated |= record.is_cut();
    Ok(CaptureScan::Done(Box::new(capture)))
}

/// Id and length of the body. `None` when its content codings cannot be removed.
fn scan_body<S: ReadAt>(
    record: &mut Record<'_, S>,
    head: &MessageHead,
    form: AssumedForm,
) -> io::Result<Option<(BodyId, u64)>> {
    let has_codings = !head.headers.content_codings().is_empty();
    if !has_codings || form != AssumedForm::Decodable {
        return digest_of(payload(head, record)?).map(Some);
    }
    // A broken coding or a decompression bomb: the body stays encoded.
    Ok(decoded_body(head, record).ok().flatten().and_then(|body| digest_of(body).ok()))
}

fn scan_info<S: ReadAt>(record: &mut Record<'_, S>) -> io::Result<ScannedInfo> {
    let offset = record.offset();
    let mut block = Vec::new();
    record.take(MAX_INFO_BYTES).read_to_end(&mut block)?;
    let fields = Headers::parse(&block, |_, _| {});
    let text = |name: &str| {
        let value = fields.get_text(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    Ok(ScannedInfo { offset, part_of: text("isPartOf"), operator: text("operator") })
}

/// Whether the method of a request is neither GET nor HEAD.
fn method_is_other<S: ReadAt>(record: &mut Record<'_, S>) -> io::Result<bool> {
    let mut start = Vec::new();
    record.take(METHOD_BYTES).read_to_end(&mut start)?;
    let method = start.split(|byte| *byte == b' ').next().unwrap_or_default();
    let is_method =
        !method.is_empty() && method.len() < start.len() && method.iter().all(u8::is_ascii_uppercase);
    Ok(is_method && method != b"GET" && method != b"HEAD")
}

/// The id of a record, and the ids of the records that it was written together with.
fn ids_of(header: &RecordHeader) -> Vec<IdDigest> {
    let concurrent = header.fields.get_all("WARC-Concurrent-To").map(|id| {
        let inner = id.strip_prefix(b"<").and_then(|id| id.strip_suffix(b">"));
        id_digest(inner.unwrap_or(id))
    });
    header.record_id().map(id_digest).into_iter().chain(concurrent).collect()
}

/// The digest of the id of a record.
fn id_digest(id: &[u8]) -> IdDigest {
    let digest: [u8; 32] = Sha256::digest(id).into();
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}
