//! `export --format warc`: captures as a WARC file.
//!
//! A record of an archive is copied with its id and its headers, and its packed bytes where both files
//! are packed with gzip; each was read and verified first. With a response come its request, its
//! renderings, and the description of its run. Where there is no record of an exchange, the file gets
//! a `response` with the bytes from the wire or, if there are none, a `resource` with the body.
//!
//! A revisit refers to a record that may not be in the file. [`RevisitHandling`] says whether it is
//! written as it is, as a full response, or both are written with each payload once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use varve_core::history::{Capture, CaptureOwner};
use varve_core::receipt::Renderings;
use varve_core::secret::ShownUrl;
use varve_core::{RecordId, VersionId};
use varve_repository::RepositoryError;
use varve_repository::archive_writer::Clock;
use varve_repository::history::HistoryReader;
use varve_store::exchange::renderings_of;
use varve_store::purge::{copied_draft, draft_of_revisit, revisit_as_response};
use varve_store::record::{parse_id, record_uri};
use varve_store::{StoreError, StoreReader, VerifiedRecord};
use varve_warc::date::{Date, Precision};
use varve_warc::digest::Digest;
use varve_warc::payload::PayloadKind;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::{
    Draft, PackedRecord, Packer, Packing, Profile, RecordPackError, RecordUri, WarcWriter, pack_reader,
    warc_fields,
};

use super::output::ExportTarget;
use super::selection::{ExportSelection, each_capture};
use crate::error::ArchiveError;
use crate::verbs::seal::prove_versions;
use crate::verbs::verify::PROOF_MEDIA_TYPE;

/// The media type of a body without one.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";
/// Maximum number of findings that are kept; the others are counted.
const MAX_FINDINGS: usize = 100;

/// What becomes of revisits, and of responses with the payload of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RevisitHandling {
    /// Records as they are stored.
    #[default]
    AsStored,
    /// Each revisit becomes a response, so that the file stands alone.
    Closed,
    /// The file stands alone and has each payload once: the first response with it is complete, and
    /// the others are revisits of that one.
    Deduplicated,
}

/// What the file says about itself, and how it is written.
pub struct WarcRequest<'a> {
    /// What to export.
    pub selection: ExportSelection,
    /// What becomes of revisits.
    pub revisits: RevisitHandling,
    /// The program.
    pub software: &'a str,
    /// The clock.
    pub clock: Clock,
    /// Whether the file gets a record with the proof that its captures are in the sealed log.
    pub with_proof: bool,
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturesExported {
    /// The file; `-` for a stream.
    pub path: PathBuf,
    /// Captures in the file.
    pub captures: u64,
    /// Records, without the description of the file.
    pub records: u64,
    /// Revisits among them.
    pub revisits: u64,
    /// Revisits of records that are not in the file.
    pub unresolved: u64,
    /// Captures whose URL has a user name or a password, which are not exported.
    pub with_user_info: u64,
    /// Captures that are damaged or missing, with the reason.
    pub findings: Vec<ExportFinding>,
    /// The number of findings, with those that were not kept.
    pub finding_count: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
}

/// A capture that could not be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFinding {
    /// Its URL.
    pub url: String,
    /// Why.
    pub message: String,
}

/// Writes captures into a WARC file, which is packed with gzip unless its name ends with `.warc`.
/// `progress` is called for each capture.
pub fn export(
    history: &HistoryReader,
    request: &WarcRequest<'_>,
    target: ExportTarget<'_>,
    progress: &dyn Fn(u64),
) -> Result<CapturesExported, ArchiveError> {
    let path = target.path();
    let packing = if is_plain(&path) { Packing::Plain } else { Packing::Gzip };
    let temporary = target.temporary_folder();
    target.write(|output| {
        let packer = Packer::new(packing.clone(), temporary).map_err(ArchiveError::write(&path))?;
        let mut exporter = WarcExporter::new(history, request, (&path, &packing), packer, output)?;
        each_capture(history, &request.selection, &mut |capture| {
            exporter.capture(&capture)?;
            progress(1);
            Ok(())
        })?;
        if request.with_proof {
            exporter.add_proof(&(request.clock)())?;
        }
        Ok(exporter.finish())
    })
}

/// Whether a file name selects no compression.
fn is_plain(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("warc"))
}

/// The record with a payload that is in the file.
struct WrittenPayload {
    record: RecordUri,
    url: String,
    date: String,
}

/// Writes captures into a file.
pub(super) struct WarcExporter<'a> {
    history: &'a HistoryReader,
    revisits: RevisitHandling,
    packer: Packer,
    writer: WarcWriter<&'a mut dyn Write>,
    is_gzip: bool,
    written: HashSet<RecordId>,
    /// The records that written revisits refer to.
    referred: Vec<RecordId>,
    payloads: HashMap<Vec<u8>, WrittenPayload>,
    /// The versions that the captures belong to.
    versions: BTreeSet<VersionId>,
    exported: CapturesExported,
}

impl<'a> WarcExporter<'a> {
    /// Begins a file with its description.
    pub(super) fn new(
        history: &'a HistoryReader,
        request: &WarcRequest<'_>,
        (path, packing): (&Path, &Packing),
        packer: Packer,
        output: &'a mut dyn Write,
    ) -> Result<Self, ArchiveError> {
        let writer = WarcWriter::new(output, packing).map_err(ArchiveError::write(path))?;
        let mut exporter = Self {
            history,
            revisits: request.revisits,
            packer,
            writer,
            is_gzip: !matches!(packing, Packing::Plain),
            written: HashSet::new(),
            referred: Vec::new(),
            payloads: HashMap::new(),
            versions: BTreeSet::new(),
            exported: CapturesExported { path: path.to_owned(), ..CapturesExported::default() },
        };
        let block = warc_fields([("software", request.software), ("format", "WARC File Format 1.1")]);
        let mut draft = Draft::new(RecordType::Warcinfo, &(request.clock)());
        if let Some(name) = path.file_name().filter(|name| name.to_str() != Some("-")) {
            let plain: String =
                name.to_string_lossy().chars().filter(|letter| !letter.is_control()).collect();
            draft = draft.field("WARC-Filename", &plain);
        }
        let draft = draft.content_type("application/warc-fields");
        let record = exporter.packer.pack(&draft, PayloadKind::None, &block).map_err(StoreError::from)?;
        exporter.append(record)?;
        exporter.exported.records = 0;
        Ok(exporter)
    }

    /// Writes a capture. One that cannot be read is a finding. Returns whether it was written.
    pub(super) fn capture(&mut self, capture: &Capture) -> Result<bool, ArchiveError> {
        if ShownUrl(&capture.url).has_user_info() {
            self.exported.with_user_info += 1;
            return Ok(false);
        }
        let written = match (self.history, capture.record) {
            (HistoryReader::Archive(archive), Some(record)) => {
                self.stored(archive.archive().store(), &record)
            }
            _ => Ok(false),
        };
        let written = match written {
            Ok(false) => self.built(capture),
            written => written.map(|_| ()),
        };
        match written {
            Ok(()) => {
                self.exported.captures += 1;
                if let CaptureOwner::Version(version) = capture.owner {
                    self.versions.insert(version);
                }
            }
            Err(error) if is_of_the_target(&error) => return Err(error),
            Err(error) => {
                self.exported.finding_count += 1;
                if self.exported.findings.len() < MAX_FINDINGS {
                    let message = varve_store::error_text(&error);
                    self.exported.findings.push(ExportFinding { url: capture.url.clone(), message });
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the proof that the versions of all captures are in the sealed log.
    fn add_proof(&mut self, date: &Date) -> Result<(), ArchiveError> {
        let versions: Vec<VersionId> = self.versions.iter().copied().collect();
        let evidence = prove_versions(self.history, &versions)?;
        let json = serde_json::to_vec(&evidence).map_err(|error| StoreError::Content(error.into()))?;
        let draft = Draft::new(RecordType::Metadata, date).content_type(PROOF_MEDIA_TYPE);
        let record = self.packer.pack(&draft, PayloadKind::None, &json).map_err(StoreError::from)?;
        self.append(record)
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> CapturesExported {
        let written = &self.written;
        self.exported.unresolved =
            self.referred.iter().filter(|original| !written.contains(original)).count() as u64;
        self.exported.bytes = self.writer.offset();
        self.exported
    }

    fn append(&mut self, record: PackedRecord) -> Result<(), ArchiveError> {
        if let Some(id) = parse_id(record.id.as_str().as_bytes()) {
            self.written.insert(id);
        }
        self.writer.append(record).map_err(ArchiveError::write(&self.exported.path))?;
        self.exported.records += 1;
        Ok(())
    }

    /// Writes the records of an exchange. Returns false if the record is not one of an exchange.
    fn stored(&mut self, store: &StoreReader, id: &RecordId) -> Result<bool, ArchiveError> {
        let Some(record) = store.verified_record(id)? else { return Ok(false) };
        let kind = record.header().record_type();
        if !matches!(kind, RecordType::Response | RecordType::Revisit) {
            return Ok(false);
        }
        if let Some(run) = record.header().reference("WARC-Warcinfo-ID").and_then(parse_id) {
            self.copy_by_id(store, &run, None)?;
        }
        let full = match self.revisits {
            RevisitHandling::AsStored => None,
            _ if kind == RecordType::Response => None,
            _ => self.resolve(store, &record)?,
        };
        let header = full.as_ref().map_or_else(|| record.header().clone(), PackedRecord::header);
        let renamed = match self.repeated(store, &record, &header)? {
            Some(revisit) => Some(self.append_new(revisit)?),
            None => {
                let renamed = match full {
                    Some(full) => Some(self.append_new(full)?),
                    None => {
                        self.copy(store, &record, None)?;
                        None
                    }
                };
                self.remember(&header);
                renamed
            }
        };
        let renamed = renamed.as_ref().map(|is| (record.id(), is));
        let Renderings { document, screenshot } = renderings_of(record.header());
        if let Some(document) = document {
            self.copy_by_id(store, &document, renamed)?;
        }
        if let Some(screenshot) = screenshot {
            self.copy_by_id(store, &screenshot, None)?;
        }
        if let Some(request) = store.request_of(&record)? {
            self.copy(store, &request, renamed)?;
        }
        Ok(true)
    }

    /// Appends a record that is not stored so. Returns its id.
    fn append_new(&mut self, record: PackedRecord) -> Result<RecordUri, ArchiveError> {
        let id = record.id.clone();
        self.append(record)?;
        Ok(id)
    }

    fn copy_by_id(
        &mut self,
        store: &StoreReader,
        id: &RecordId,
        renamed: Option<(RecordId, &RecordUri)>,
    ) -> Result<(), ArchiveError> {
        match store.verified_record(id)? {
            // Parts of a large object are no records of their own here.
            Some(record) if !record.header().is_segment() => self.copy(store, &record, renamed),
            _ => Ok(()),
        }
    }

    /// Copies a record, unless the file has it.
    fn copy(
        &mut self,
        store: &StoreReader,
        record: &VerifiedRecord,
        renamed: Option<(RecordId, &RecordUri)>,
    ) -> Result<(), ArchiveError> {
        if !self.written.insert(record.id()) {
            return Ok(());
        }
        let header = record.header();
        if header.record_type() == RecordType::Revisit {
            self.exported.revisits += 1;
            self.referred.extend(header.reference("WARC-Refers-To").and_then(parse_id));
        }
        let member = if renamed.is_none() && self.is_gzip { record.gzip_member() } else { None };
        if let Some(mut member) = member {
            self.writer.append_packed(&mut member).map_err(ArchiveError::write(&self.exported.path))?;
            self.exported.records += 1;
            return Ok(());
        }
        let Some(mut block) = store.block_of(record)? else { return Ok(()) };
        let draft = copied_draft(header, renamed)?;
        let kind = match header.fields.get("WARC-Payload-Digest") {
            Some(_) => PayloadKind::of(header),
            None => PayloadKind::None,
        };
        let packed = pack_reader(&mut self.packer, &draft, kind, &mut block).map_err(StoreError::from)?;
        self.append(packed)
    }

    /// A revisit as a full response; `None` if it does not name its original.
    fn resolve(
        &mut self,
        store: &StoreReader,
        revisit: &VerifiedRecord,
    ) -> Result<Option<PackedRecord>, ArchiveError> {
        let original = revisit.header().reference("WARC-Refers-To").and_then(parse_id);
        let (Some(original), Some(mut block)) = (original, store.block_of(revisit)?) else { return Ok(None) };
        // It is verified: its payload becomes part of a record with a new digest.
        store.verified_record(&original)?;
        let ids = (revisit.id(), original);
        let (record, _) = revisit_as_response(store, &mut self.packer, revisit.header(), ids, &mut block)?;
        Ok(Some(record))
    }

    /// A response whose payload is in the file already, as a revisit of the record that has it.
    fn repeated(
        &mut self,
        store: &StoreReader,
        record: &VerifiedRecord,
        header: &RecordHeader,
    ) -> Result<Option<PackedRecord>, ArchiveError> {
        if self.revisits != RevisitHandling::Deduplicated {
            return Ok(None);
        }
        let Some(digest) = payload_digest(header) else { return Ok(None) };
        let Some(original) = self.payloads.get(digest.bytes()) else { return Ok(None) };
        let Some(head) = store.response_head(&record.id())? else { return Ok(None) };
        let profile = Profile::IdenticalPayloadDigest(digest);
        let draft = draft_of_revisit(header)?.revisit_of(
            profile,
            original.record.clone(),
            &original.url,
            &original.date,
        );
        let revisit = self.packer.pack(&draft, PayloadKind::Revisit, &head).map_err(StoreError::from)?;
        self.exported.revisits += 1;
        Ok(Some(revisit))
    }

    /// Remembers the payload of a response that was written.
    fn remember(&mut self, header: &RecordHeader) {
        let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        if self.revisits == RevisitHandling::Deduplicated
            && let Some(digest) = payload_digest(header)
            && let Ok(record) = text(header.record_id()).parse()
        {
            let (url, date) = (text(header.target_uri()), text(header.fields.get("WARC-Date")));
            self.payloads.insert(digest.bytes().to_vec(), WrittenPayload { record, url, date });
        }
    }

    /// Writes a capture that has no record of an exchange.
    fn built(&mut self, capture: &Capture) -> Result<(), ArchiveError> {
        let date = Date { precision: Precision::Second, ..Date::from_instant(capture.time.utc()) };
        let wire = self.history.open_wire(capture)?;
        let (draft, kind, mut content) = match wire {
            Some(wire) => (Draft::new(RecordType::Response, &date).http(), PayloadKind::Response, wire),
            None => {
                let stated = capture.headers.get("content-type").and_then(|values| values.first());
                let stated = stated.map(|kind| kind.trim()).filter(|kind| !kind.is_empty());
                let draft = Draft::new(RecordType::Resource, &date)
                    .content_type(stated.unwrap_or(UNKNOWN_MEDIA_TYPE));
                (draft, PayloadKind::Block, self.history.open_body(capture)?)
            }
        };
        let mut draft = draft.target_uri(&capture.url);
        if capture.truncated {
            draft = draft.truncated("unspecified");
        }
        // The id of a resource follows from its content, by which the log knows a committed page. A second
        // capture of that content needs another one.
        let is_first = matches!(self.history, HistoryReader::Archive(_))
            && !self.written.contains(&RecordId::of_body(capture.body));
        if !is_first || kind != PayloadKind::Block {
            draft = draft.id(record_uri(&RecordId::new(derived_id(capture))));
        }
        match pack_reader(&mut self.packer, &draft, kind, &mut content) {
            Ok(record) => self.append(record),
            Err(RecordPackError::Io(source)) => {
                Err(RepositoryError::ReadObject { id: capture.body.to_string(), source }.into())
            }
            Err(error) => Err(StoreError::from(error).into()),
        }
    }
}

/// An id for the record of a capture, which is the same in each export.
fn derived_id(capture: &Capture) -> [u8; 32] {
    use sha2::{Digest as _, Sha256};
    let mut hasher = Sha256::new();
    hasher.update(b"varve export\n");
    hasher.update(capture.id.to_string().as_bytes());
    hasher.finalize().into()
}

/// The digest by which other programs find a payload. Truncated payloads, and those of chunked
/// responses, for which programs disagree, have none.
fn payload_digest(header: &RecordHeader) -> Option<Digest> {
    if header.record_type() != RecordType::Response || header.is_truncated() {
        return None;
    }
    header.payload_digest()?.ok()
}

/// Whether writing failed, and not reading.
fn is_of_the_target(error: &ArchiveError) -> bool {
    matches!(error, ArchiveError::Repository(RepositoryError::Write { .. }))
}
