//! From a WARC or ARC file to the lines of its index.
//!
//! A line is made for each `response`, `revisit`, `resource` and `metadata` record with a target
//! URI, except `application/warc-fields`. The digest is the one that the record states; without
//! one the payload is read and its SHA-1 is given in Base32, as other indexers do. A request that is
//! not a GET changes the key of the response that it belongs to, if the two records are neighbours.

use std::io::{self, BufRead, Read};

use data_encoding::{BASE32, HEXLOWER};
use sha2::{Digest as _, Sha256};
use varve_core::url::surt::{Flavour, surt};
use varve_warc::digest::Algorithm;
use varve_warc::payload::{PayloadKind, PayloadTracker};
use varve_warc::record::{RecordHeader, RecordType, media_type};
use varve_warc::rules::WarcFinding;
use varve_warc::{Encoding, Error, Record, WarcReader};
use varve_wire::{HeadCollector, MessageHead, ReadAt, ReadAtCursor, StartLine};

use crate::entry::CdxEntry;
use crate::request_key::{MAX_REQUEST_BODY_BYTES, request_key_url, request_query};

/// The media type of records with fields, which are about other records.
const FIELDS_MEDIA_TYPE: &[u8] = b"application/warc-fields";
/// The media type that indexes give to revisits.
const REVISIT_MIME: &str = "warc/revisit";
/// Varve's digest of a chunked payload, for which the standard's field is disputed.
const OWN_PAYLOAD_DIGEST: &str = "Varve-Payload-Digest";

/// What the lines of a file say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexingOptions {
    /// The name of the file in its lines.
    pub filename: String,
    /// Whether lines have the digest of the record's bytes in the file.
    pub record_digests: bool,
}

/// What was found in a file.
#[derive(Debug, Default)]
pub struct IndexedFile {
    /// Lines.
    pub lines: u64,
    /// Records that do not begin a compressed member of their own: no line can say where they are.
    pub unaddressable: u64,
    /// Defects of the file.
    pub findings: Vec<WarcFinding>,
}

/// Makes the lines of a file and passes them on, in the order of the records. `progress` is called
/// with the number of further bytes that were read.
pub fn index_file<S: ReadAt>(
    source: S,
    options: &IndexingOptions,
    progress: &dyn Fn(u64),
    each: &mut dyn FnMut(CdxEntry) -> io::Result<()>,
) -> Result<IndexedFile, Error> {
    let mut reader = WarcReader::new(source)?;
    let mut indexer = RecordIndexer::new(options.clone());
    let mut indexed = IndexedFile::default();
    let (mut reported, mut last_offset) = (0, None);
    let mut pass = |entry, offset| {
        indexed.lines += 1;
        each(entry).map_err(|source| Error::Io { offset, source })
    };
    while let Some(mut record) = reader.next_record()? {
        let offset = record.offset();
        let is_alone = last_offset.replace(offset) != Some(offset);
        let failed = |source| Error::Io { offset, source };
        indexer.begin(&mut record).map_err(failed)?;
        record.for_each_piece(|_| {}).map_err(failed)?;
        let block_end = reader.position();
        reader.finish_record()?;
        // The separator between two records of a plain file is not counted, as in other indexes.
        let end = if reader.encoding() == Encoding::Plain { block_end } else { reader.record_end() };
        indexed.findings.append(&mut reader.take_findings());
        if !is_alone && reader.encoding() != Encoding::Plain {
            indexed.unaddressable += u64::from(indexer.skip());
        } else {
            indexer.end(offset, end, reader.source()).map_err(failed)?;
        }
        while let Some(entry) = indexer.take() {
            pass(entry, offset)?;
        }
        progress(reader.position().saturating_sub(reported));
        reported = reader.position();
    }
    let end = reader.position();
    indexer.finish();
    while let Some(entry) = indexer.take() {
        pass(entry, end)?;
    }
    indexed.findings.append(&mut reader.take_findings());
    Ok(indexed)
}

/// Makes lines from records that are passed one after another.
pub struct RecordIndexer {
    options: IndexingOptions,
    parser: HeadCollector,
    tracker: PayloadTracker,
    current: Option<IndexedRecord>,
    /// The last record, whose request or response the next one may be.
    previous: Option<IndexedRecord>,
    ready: std::collections::VecDeque<CdxEntry>,
}

/// A record with what its line and its neighbour need.
#[derive(Default)]
struct IndexedRecord {
    entry: Option<CdxEntry>,
    kind: RecordRole,
    id: Vec<u8>,
    target: Vec<u8>,
    concurrent_to: Option<Vec<u8>>,
}

#[derive(Default)]
enum RecordRole {
    /// A response or revisit.
    Response,
    /// A request that is not a GET: its method and its body as a query.
    Request { method: String, query: String },
    /// Any other record.
    #[default]
    Other,
}

impl RecordIndexer {
    /// An indexer for one file.
    pub fn new(options: IndexingOptions) -> Self {
        Self {
            options,
            parser: HeadCollector::new(),
            tracker: PayloadTracker::new(),
            current: None,
            previous: None,
            ready: std::collections::VecDeque::new(),
        }
    }

    /// Reads of a record what its line needs. The caller passes the rest of it over and calls
    /// [`end`](Self::end).
    pub fn begin<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> io::Result<()> {
        let header = record.header();
        let record_type = header.record_type();
        let target = header.target_uri().unwrap_or_default().to_vec();
        let mut indexed = IndexedRecord {
            id: header.record_id().unwrap_or_default().to_vec(),
            concurrent_to: header.reference("WARC-Concurrent-To").map(<[u8]>::to_vec),
            ..IndexedRecord::default()
        };
        if target.is_empty() {
            self.current = Some(indexed);
            return Ok(());
        }
        match record_type {
            RecordType::Request => indexed.kind = self.request(record)?,
            RecordType::Response | RecordType::Revisit => {
                indexed.kind = RecordRole::Response;
                indexed.entry = Some(self.entry(record, &target)?);
            }
            RecordType::Resource | RecordType::Metadata if !has_fields(header) => {
                indexed.entry = Some(self.entry(record, &target)?);
            }
            _ => {}
        }
        indexed.target = target;
        self.current = Some(indexed);
        Ok(())
    }

    /// Method and body of a request.
    fn request<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> io::Result<RecordRole> {
        if record.fill_buf()?.starts_with(b"GET ") {
            return Ok(RecordRole::Other);
        }
        let Some(head) = self.head(record)? else { return Ok(RecordRole::Other) };
        let StartLine::Request { method, .. } = &head.start_line else { return Ok(RecordRole::Other) };
        let method = String::from_utf8_lossy(method).to_ascii_uppercase();
        if method == "GET" {
            return Ok(RecordRole::Other);
        }
        let mut body = Vec::new();
        record.take(MAX_REQUEST_BODY_BYTES as u64).read_to_end(&mut body)?;
        let content_type = head.headers.get_text("Content-Type").unwrap_or_default();
        let query = request_query(&method, &content_type, &body);
        Ok(RecordRole::Request { method, query })
    }

    fn entry<S: ReadAt>(&mut self, record: &mut Record<'_, S>, target: &[u8]) -> io::Result<CdxEntry> {
        let header = record.header();
        let record_type = header.record_type();
        let url = String::from_utf8_lossy(target).replace(' ', "%20");
        let timestamp = header.date().map(|date| date.digits()).unwrap_or_else(|| "0".repeat(14));
        let is_http = header.is_http();
        let stated = header.fields.get("WARC-Payload-Digest").or(header.fields.get(OWN_PAYLOAD_DIGEST));
        let digest = stated.map(|digest| String::from_utf8_lossy(digest).into_owned());
        let own_type = header.fields.get("Content-Type").map(essence);
        let payload = PayloadKind::of(header);
        let head = if is_http { self.head(record)? } else { None };
        let digest = match digest {
            Some(digest) => Some(digest),
            None if record_type == RecordType::Revisit => None,
            None => self.payload_digest(record, payload, head.as_ref())?,
        };
        let mime = match (record_type, is_http) {
            (RecordType::Revisit, _) => Some(REVISIT_MIME.to_owned()),
            (_, true) => head.as_ref().and_then(|head| head.headers.get("Content-Type")).map(essence),
            (_, false) => own_type,
        };
        let status = head.as_ref().and_then(MessageHead::status).map(|status| status.to_string());
        Ok(CdxEntry {
            key: surt(&url, Flavour::Ia).unwrap_or_else(|_| url.clone()),
            timestamp,
            url,
            mime: mime.filter(|mime| !mime.is_empty()),
            status,
            digest,
            filename: Some(self.options.filename.clone()),
            ..CdxEntry::default()
        })
    }

    /// The head of the HTTP message in a block; `None` if there is none.
    fn head<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> io::Result<Option<MessageHead>> {
        self.parser.reset();
        loop {
            let bytes = record.fill_buf()?;
            if bytes.is_empty() {
                return Ok(self.parser.head());
            }
            let (taken, complete) = self.parser.push(bytes);
            record.consume(taken);
            if complete {
                return Ok(self.parser.head());
            }
        }
    }

    /// The SHA-1 of the payload in Base32. `head` was read.
    fn payload_digest<S: ReadAt>(
        &mut self,
        record: &mut Record<'_, S>,
        payload: PayloadKind,
        head: Option<&MessageHead>,
    ) -> io::Result<Option<String>> {
        let hasher = Some(Algorithm::Sha1.hasher());
        match (payload, head) {
            (PayloadKind::None | PayloadKind::Request | PayloadKind::Revisit, _) => return Ok(None),
            (PayloadKind::Response, Some(head)) => self.tracker.begin_after(head, hasher),
            (PayloadKind::Response, None) => {
                self.tracker.begin(PayloadKind::Block, hasher);
                self.tracker.push(self.parser.bytes());
            }
            (PayloadKind::Block, _) => self.tracker.begin(payload, hasher),
        }
        let tracker = &mut self.tracker;
        record.for_each_piece(|bytes| tracker.push(bytes))?;
        let digest = tracker.finish().digest;
        Ok(digest.map(|digest| format!("sha1:{}", BASE32.encode(digest.bytes()))))
    }

    /// Ends the record that was begun: it is at `offset..end` of `source`.
    pub fn end<S: ReadAt>(&mut self, offset: u64, end: u64, source: &S) -> io::Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let length = end.saturating_sub(offset);
        if let Some(entry) = &mut current.entry {
            (entry.offset, entry.length) = (Some(offset), Some(length));
            if self.options.record_digests {
                entry.record_digest = Some(bytes_digest(source, offset, length)?);
            }
        }
        let previous = self.previous.take();
        match previous {
            Some(mut previous) if belong_together(&previous, &current) => {
                join(&mut previous, &mut current);
                self.ready.extend([previous.entry, current.entry].into_iter().flatten());
            }
            previous => {
                self.ready.extend(previous.and_then(|previous| previous.entry));
                self.previous = Some(current);
            }
        }
        Ok(())
    }

    /// Drops the record that was begun. Returns whether it would have had a line.
    fn skip(&mut self) -> bool {
        self.current.take().is_some_and(|record| record.entry.is_some())
    }

    /// The file ends.
    pub fn finish(&mut self) {
        self.ready.extend(self.previous.take().and_then(|previous| previous.entry));
    }

    /// The next line that is complete.
    pub fn take(&mut self) -> Option<CdxEntry> {
        self.ready.pop_front()
    }
}

/// Whether a record has fields about another record.
fn has_fields(header: &RecordHeader) -> bool {
    let kind = header.fields.get("Content-Type").map(media_type);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(FIELDS_MEDIA_TYPE))
}

/// A media type without its parameters, as the server wrote it.
fn essence(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == b';' || byte.is_ascii_whitespace());
    String::from_utf8_lossy(&value[..end.unwrap_or(value.len())]).into_owned()
}

/// Whether two neighbours are the request and the response of one exchange.
fn belong_together(one: &IndexedRecord, other: &IndexedRecord) -> bool {
    let is_pair = matches!(
        (&one.kind, &other.kind),
        (RecordRole::Response, RecordRole::Request { .. })
            | (RecordRole::Request { .. }, RecordRole::Response)
    );
    let names = |one: &IndexedRecord, other: &IndexedRecord| one.concurrent_to.as_ref() == Some(&other.id);
    is_pair && one.target == other.target && (names(one, other) || names(other, one))
}

/// Gives the response the key of its request.
fn join(one: &mut IndexedRecord, other: &mut IndexedRecord) {
    let (request, response) = match &one.kind {
        RecordRole::Request { .. } => (one, other),
        _ => (other, one),
    };
    let (RecordRole::Request { method, query }, Some(entry)) = (&request.kind, &mut response.entry) else {
        return;
    };
    let url = request_key_url(&entry.url, method, query);
    entry.key = surt(&url, Flavour::Ia).unwrap_or(url);
    entry.request_body = Some(query.clone());
    entry.method = Some(method.clone());
}

fn bytes_digest(source: &impl ReadAt, offset: u64, length: u64) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut reader = ReadAtCursor::new(source, offset).take(length);
    let mut buffer = vec![0; 32 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(format!("sha256:{}", HEXLOWER.encode(&hasher.finalize()))),
            count => hasher.update(&buffer[..count]),
        }
    }
}
