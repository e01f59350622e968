//! Imports the records of one WARC or ARC file.
//!
//! Each `warcinfo` that is followed by captures begins a version; captures before the first belong
//! to the version of the file. A response or revisit becomes an exchange with its block as it is,
//! and the header that it had in its file is kept in a field. A resource with the URL of a page
//! becomes a page of the version. Every other record is kept as metadata about the record that it
//! was, so nothing is lost that was readable.
//!
//! The run of a version is a digest of the file's digest and of the offset, so the same part of the
//! same file is the same run at every import.

use varve_catalog::CatalogRow;
use varve_core::fact::{ManifestPage, VersionSource};
use varve_core::headers::{HeaderView, Headers};
use varve_core::history::uuid_of;
use varve_core::secret::ShownUrl;
use varve_core::{Moment, RunId, VersionId};
use varve_repository::RepositoryError;
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::page_path::page_path;
use varve_repository::rows::row_of_receipt;
use varve_store::NewObject;
use varve_store::StoreError;
use varve_store::exchange::{
    ExchangeRun, ExchangeSource, ExchangeWriter, NewExchange, NewRenderings, RevisitOriginal,
};
use varve_store::record::{field, source_header_field, source_line_field};
use varve_warc::digest::Algorithm;
use varve_warc::payload::PayloadKind;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::rules::{RuleSeverity, WarcFinding};
use varve_warc::validate_header::{has_scheme, is_media_type};
use varve_warc::validate_record::RecordChecker;
use varve_warc::write::{Draft, Packer, RecordPackError, RecordUri, pack_reader};
use varve_warc::{Error, Record, WarcReader};
use varve_wire::{ReadAt, ReadAtCursor};

use super::imported_version::{NewImportedVersion, VersionMaker};
use super::originals::Originals;
use super::pending_exchange::{PendingExchange, ReadExchange, ReadRecord, Ready};
use super::record_block::RecordBlock;
use super::report::FileImported;
use super::source_file::SourceFile;
use crate::error::ArchiveError;

/// Rows per sync and transaction.
const ROWS_PER_BATCH: usize = 1000;
/// Bytes of a request that are examined for its method.
const MAX_METHOD_BYTES: usize = 32;
/// The reasons that WARC defines for a truncated record.
const TRUNCATION_REASONS: [&str; 4] = ["length", "time", "disconnect", "unspecified"];
/// The media type of a block of which the type is not known.
const DEFAULT_CONTENT_TYPE: &str = "application/octet-stream";
/// Media types with this prefix are facts of this program, which an imported record never is.
const OWN_TYPE_PREFIX: &str = "application/vnd.varve.";

/// A part of a file that becomes a version.
pub(super) struct ImportPart {
    run: RunId,
    source: VersionSource,
    /// The time of the newest capture; `None` without captures.
    pub(super) newest: Option<Moment>,
    pages: Vec<ManifestPage>,
    /// The offsets of revisits whose original was not found yet.
    pub(super) unresolved: Vec<u64>,
}

impl ImportPart {
    fn new(file: &SourceFile, offset: u64) -> Self {
        let text = format!("varve import\n{}\n{offset}\n", file.hex_digest());
        let digest = Algorithm::Sha256.digest(text.as_bytes()).sha256().unwrap_or_default();
        Self {
            run: RunId::new(uuid_of(&digest)),
            source: file.version_source(offset),
            newest: None,
            pages: Vec::new(),
            unresolved: Vec::new(),
        }
    }

    fn add_time(&mut self, time: Moment) {
        self.newest = Some(self.newest.map_or(time, |newest| newest.max(time)));
    }
}

/// What all files of an import share.
pub(super) struct WarcImport<'a> {
    history: &'a ArchiveHistoryWriter,
    exchanges: ExchangeWriter<'a>,
    packer: Packer,
    originals: Originals<'a>,
    versions: VersionMaker<'a>,
    message: Option<String>,
    author: Option<String>,
    rows: Vec<CatalogRow>,
}

/// The import of one file.
struct FileImport<'i, 'a> {
    shared: &'i mut WarcImport<'a>,
    file: &'i SourceFile,
    report: &'i mut FileImported,
    part: ImportPart,
    /// Whether the current part is a version already.
    is_known: bool,
    pending: PendingExchange,
    /// The parts that were read.
    parts: Vec<ImportPart>,
}

impl<'a> WarcImport<'a> {
    pub(super) fn new(
        history: &'a ArchiveHistoryWriter,
        message: Option<String>,
        author: Option<String>,
    ) -> Result<Self, ArchiveError> {
        let store = history.writer().store();
        Ok(Self {
            history,
            exchanges: ExchangeWriter::new(store),
            packer: store.packer()?,
            originals: Originals::new(history),
            versions: VersionMaker::new(history)?,
            message,
            author,
            rows: Vec::new(),
        })
    }

    /// Stores the records of a file. Returns the parts that become versions. `progress` gets the number
    /// of bytes just read.
    pub(super) fn file(
        &mut self,
        file: &SourceFile,
        report: &mut FileImported,
        progress: &dyn Fn(u64),
    ) -> Result<Vec<ImportPart>, ArchiveError> {
        let mut reader = WarcReader::new(&*file.bytes).map_err(|source| unreadable(file, source))?;
        let part = ImportPart::new(file, 0);
        let is_known = self.versions.version_of(&part.run).is_some();
        let mut import = FileImport {
            shared: self,
            file,
            report,
            part,
            is_known,
            pending: PendingExchange::default(),
            parts: Vec::new(),
        };
        import.records(&mut reader, progress)?;
        import.end_part();
        Ok(import.parts)
    }

    /// Imports the revisits of a part whose originals were not found before all files were read.
    pub(super) fn late_revisits(
        &mut self,
        file: &SourceFile,
        part: &mut ImportPart,
        report: &mut FileImported,
    ) -> Result<(), ArchiveError> {
        let unresolved = std::mem::take(&mut part.unresolved);
        let placeholder = ImportPart::new(file, part.source.offset);
        let mut import = FileImport {
            shared: self,
            file,
            report,
            part: std::mem::replace(part, placeholder),
            is_known: false,
            pending: PendingExchange::default(),
            parts: Vec::new(),
        };
        for offset in unresolved {
            import.late_revisit(offset)?;
        }
        *part = import.part;
        Ok(())
    }

    /// Makes the version of a part.
    pub(super) fn make_version(&mut self, part: ImportPart) -> Result<Option<VersionId>, ArchiveError> {
        self.store_rows()?;
        let Some(time) = part.newest else { return Ok(None) };
        let (message, author) = (self.message.clone(), self.author.clone());
        let ImportPart { run, source, pages, .. } = part;
        self.versions.make(NewImportedVersion { run, source, message, author, time, pages })
    }

    /// Makes the version that adds older pages to HEAD, if it lacks some.
    pub(super) fn add_to_head(&mut self) -> Result<(), ArchiveError> {
        self.versions.add_to_head(self.message.clone(), self.author.clone())?;
        Ok(())
    }

    /// Stores the rows made so far. What they are made from is synced first.
    pub(super) fn store_rows(&mut self) -> Result<(), ArchiveError> {
        Ok(self.history.apply(std::mem::take(&mut self.rows))?)
    }
}

impl FileImport<'_, '_> {
    fn records<S: ReadAt>(
        &mut self,
        reader: &mut WarcReader<S>,
        progress: &dyn Fn(u64),
    ) -> Result<(), ArchiveError> {
        let mut checker = RecordChecker::default();
        let mut position = 0;
        loop {
            self.add_findings(reader.take_findings());
            let Some(mut record) = reader.next_record().map_err(|error| unreadable(self.file, error))? else {
                break;
            };
            self.report.records += 1;
            self.begin_part_at(&record)?;
            let read = match self.is_known {
                true => self.check(&mut record, &mut checker)?,
                false => self.read(&mut record, &mut checker)?,
            };
            reader.finish_record().map_err(|error| unreadable(self.file, error))?;
            if let Some(read) = read {
                self.record(read)?;
            }
            let now = reader.position();
            progress(now.saturating_sub(position));
            position = now;
        }
        self.add_findings(reader.take_findings());
        let ready = self.pending.take();
        self.ready(ready)
    }

    fn add_findings(&mut self, findings: impl IntoIterator<Item = WarcFinding>) {
        for finding in findings {
            if finding.rule.severity() == RuleSeverity::Error {
                self.report.add_finding(finding.offset, finding.message);
            }
        }
    }

    /// Begins a part at a `warcinfo`, if the last one has captures.
    fn begin_part_at<S: ReadAt>(&mut self, record: &Record<'_, S>) -> Result<(), ArchiveError> {
        if record.header().record_type() != RecordType::Warcinfo || record.offset() == 0 {
            return Ok(());
        }
        let ready = self.pending.take();
        self.ready(ready)?;
        self.end_part();
        self.part = ImportPart::new(self.file, record.offset());
        self.is_known = self.shared.versions.version_of(&self.part.run).is_some();
        Ok(())
    }

    /// Checks a record that is stored already, so that damage is reported by every import.
    fn check<S: ReadAt>(
        &mut self,
        record: &mut Record<'_, S>,
        checker: &mut RecordChecker,
    ) -> Result<Option<ReadRecord>, ArchiveError> {
        checker.check(record, false).map_err(|error| unreadable(self.file, error))?;
        self.add_findings(checker.take_findings());
        Ok(None)
    }

    /// Reads a record and checks it. `None` if its block is too long.
    fn read<S: ReadAt>(
        &mut self,
        record: &mut Record<'_, S>,
        checker: &mut RecordChecker,
    ) -> Result<Option<ReadRecord>, ArchiveError> {
        let (header, offset) = (record.header().clone(), record.offset());
        let (source_header, is_whole) = match record.arc_line() {
            [] => source_header_field(&header),
            line => source_line_field(line),
        };
        if !is_whole {
            self.report.add_finding(offset, "the header of the record is too long to be kept as a whole");
        }
        checker.begin(record, false);
        let temporary = self.shared.history.writer().layout().temporary_folder();
        let block = RecordBlock::read(record, checker, &temporary)
            .map_err(|source| unreadable(self.file, Error::Io { offset, source }))?;
        checker.finish(record);
        self.add_findings(checker.take_findings());
        let Some(block) = block else {
            self.report.add_finding(offset, "the record is too long, and was left out");
            return Ok(None);
        };
        Ok(Some(ReadRecord { header, source_header, block, offset, is_cut: record.is_cut() }))
    }

    fn record(&mut self, record: ReadRecord) -> Result<(), ArchiveError> {
        if record.header.target_uri().is_some_and(|url| ShownUrl(&text(url)).has_user_info()) {
            self.report.with_user_info += 1;
            return Ok(());
        }
        let is_whole = !record.header.is_segment() && record.header.date().is_some();
        let is_web = record.header.target_uri().is_some_and(is_web_url);
        let is_http = record.header.is_http();
        match record.header.record_type() {
            RecordType::Response if is_whole && is_web && is_http => {
                let ready = self.pending.push_response(record);
                self.ready(ready)
            }
            RecordType::Revisit if is_whole && is_web => {
                let ready = self.pending.push_response(record);
                self.ready(ready)
            }
            RecordType::Request if is_whole && is_web && is_http => {
                let ready = self.pending.push_request(record);
                self.ready(ready)
            }
            RecordType::Resource | RecordType::Response if is_whole && is_web => self.page(record),
            _ => self.other_record(record),
        }
    }

    fn ready(&mut self, ready: Vec<Ready>) -> Result<(), ArchiveError> {
        for one in ready {
            match one {
                Ready::Exchange(exchange) => self.exchange(*exchange)?,
                Ready::Request(request) => self.other_record(*request)?,
            }
        }
        Ok(())
    }

    fn exchange(&mut self, exchange: ReadExchange) -> Result<(), ArchiveError> {
        let ReadExchange { response, request } = exchange;
        if response.header.record_type() != RecordType::Revisit {
            self.report.captures += 1;
            return self.store_exchange(&response, request.as_ref(), None);
        }
        match self.shared.originals.find(&response.header)? {
            Some(original) => {
                self.report.captures += 1;
                self.store_exchange(&response, request.as_ref(), Some(original))
            }
            None => {
                self.part.unresolved.push(response.offset);
                request.map_or(Ok(()), |request| self.other_record(request))
            }
        }
    }

    /// Stores a response, or a revisit of `original`, with its request.
    fn store_exchange(
        &mut self,
        response: &ReadRecord,
        request: Option<&ReadRecord>,
        original: Option<RevisitOriginal>,
    ) -> Result<(), ArchiveError> {
        let header = &response.header;
        let Some(date) = header.date() else { return Ok(()) };
        let url = text(header.target_uri().unwrap_or_default());
        let method = request.map_or(Ok("GET".to_owned()), method_of).map_err(StoreError::Content)?;
        let protocols: Vec<String> = header
            .fields
            .get_all("WARC-Protocol")
            .flat_map(|value| {
                plain_text(value).split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>()
            })
            .filter(|protocol| !protocol.is_empty())
            .collect();
        let cipher = header.fields.get("WARC-Cipher-Suite").map(plain_text);
        let is_revisit = original.is_some();
        let truncated = truncation(header, response.is_cut).filter(|_| !is_revisit);
        let exchange = NewExchange {
            url: &url,
            date,
            request: request.map_or(&[], |request| request.block.in_memory()),
            response: &response.block,
            head: None,
            ip: header.fields.get("WARC-IP-Address").and_then(|ip| plain_text(ip).parse().ok()),
            protocols: &protocols,
            cipher: cipher.as_deref(),
            trailers: &[],
            timing: None,
            truncated,
            run: Some(ExchangeRun::Capture(self.part.run)),
            warcinfo: None,
            unchanged: original.clone(),
            non_capture_method: (method != "GET").then_some(method.as_str()),
            source: Some(ExchangeSource {
                response_header: &response.source_header,
                request_header: request.map(|request| request.source_header.as_str()),
                repeats: original,
            }),
        };
        let shared = &mut *self.shared;
        if exchange.non_capture_method.is_some() {
            let nothing = NewRenderings::default();
            shared.exchanges.keep_non_capture(&mut shared.packer, &exchange, &nothing)?;
            self.report.other += 1;
            return Ok(());
        }
        let kept = shared.exchanges.keep(&mut shared.packer, &exchange)?;
        if let Some(original) = kept.original {
            shared.originals.remember(header, original);
        }
        self.part.add_time(kept.receipt.time);
        if kept.new {
            self.report.new += 1;
            shared.rows.extend(row_of_receipt(&kept.receipt, shared.history.redaction()));
        }
        if shared.rows.len() >= ROWS_PER_BATCH { shared.store_rows() } else { Ok(()) }
    }

    /// Imports a revisit that was read before, if its original is here now.
    fn late_revisit(&mut self, offset: u64) -> Result<(), ArchiveError> {
        let reader =
            WarcReader::at(&*self.file.bytes, offset).map_err(|error| unreadable(self.file, error))?;
        let owned = reader.into_record().map_err(|error| unreadable(self.file, error))?;
        let Some(mut owned) = owned else { return Ok(()) };
        let mut checker = RecordChecker::default();
        let Some(record) = self.read(&mut owned.as_record(), &mut checker)? else { return Ok(()) };
        match self.shared.originals.find(&record.header)? {
            Some(original) => {
                self.report.captures += 1;
                self.store_exchange(&record, None, Some(original))
            }
            None => {
                let url = text(record.header.target_uri().unwrap_or_default());
                let message =
                    format!("the original of the revisit of {url} is not here, so it is no capture");
                self.report.add_finding(offset, message);
                self.other_record(record)
            }
        }
    }

    /// Stores the content of a record that is no HTTP message as a page of the version.
    fn page(&mut self, record: ReadRecord) -> Result<(), ArchiveError> {
        let Some(date) = record.header.date() else { return Ok(()) };
        self.report.captures += 1;
        let content_type = content_type_of(&record.header);
        let object = NewObject { date, content_type: content_type.clone(), refers_to: None, known: None };
        let shared = &mut *self.shared;
        let mut content = ReadAtCursor::new(&record.block, 0);
        let stored =
            shared.history.writer().store().store_reader(&mut shared.packer, &object, &mut content)?;
        self.report.new += u64::from(stored.new);
        let url = text(record.header.target_uri().unwrap_or_default());
        let mut headers = Headers::default();
        headers.push("Content-Type", content_type);
        let time = Moment::from(date.instant);
        self.part.add_time(time);
        self.part.pages.push(ManifestPage {
            path: page_path(&url),
            url,
            time,
            status: 200,
            headers: HeaderView::of(&headers, shared.history.redaction()),
            body: stored.id.body(),
            length: record.block.length(),
            record: None,
            truncated: record.is_cut,
        });
        Ok(())
    }

    /// Keeps a record that is no capture.
    fn other_record(&mut self, record: ReadRecord) -> Result<(), ArchiveError> {
        self.report.other += 1;
        let id = record.header.record_id().filter(|id| has_scheme(id));
        let about = match id {
            Some(id) => RecordUri::escaped(&text(id)),
            None => RecordUri::escaped(&format!("urn:sha256:{}#{}", self.file.hex_digest(), record.offset)),
        };
        let content_type = content_type_of(&record.header);
        let is_own = content_type.to_ascii_lowercase().starts_with(OWN_TYPE_PREFIX);
        let content_type = if is_own { DEFAULT_CONTENT_TYPE } else { &content_type };
        let date = record.header.date().unwrap_or_else(|| self.shared.history.writer().now());
        let draft = Draft::new(RecordType::Metadata, &date)
            .refers_to(about)
            .content_type(content_type)
            .field(field::RUN_ID, &self.part.run.to_string())
            .field(field::SOURCE_HEADER, &record.source_header);
        let mut block = ReadAtCursor::new(&record.block, 0);
        let packed = pack_reader(&mut self.shared.packer, &draft, PayloadKind::None, &mut block);
        self.shared.history.writer().store().keep(packed.map_err(store_error)?)?;
        Ok(())
    }

    /// Ends the current part.
    fn end_part(&mut self) {
        let next = ImportPart::new(self.file, self.part.source.offset);
        match self.shared.versions.version_of(&self.part.run) {
            Some(version) => self.report.versions.push(version),
            None => self.parts.push(std::mem::replace(&mut self.part, next)),
        }
    }
}

fn unreadable(file: &SourceFile, source: Error) -> ArchiveError {
    ArchiveError::ImportRead { path: file.path.clone(), source }
}

fn store_error(error: RecordPackError) -> ArchiveError {
    ArchiveError::from(RepositoryError::from(StoreError::from(error)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A value that a header can hold.
fn plain_text(bytes: &[u8]) -> String {
    text(bytes).chars().filter(|letter| !letter.is_control()).collect()
}

/// The media type of a block; the default where the header has none, or something else.
fn content_type_of(header: &RecordHeader) -> String {
    let stated = header.fields.get("Content-Type").filter(|stated| is_media_type(stated));
    stated.map_or_else(|| DEFAULT_CONTENT_TYPE.to_owned(), |stated| plain_text(stated.trim_ascii()))
}

/// Whether a URL is one of a page.
fn is_web_url(url: &[u8]) -> bool {
    let begins =
        |scheme: &[u8]| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    [&b"http://"[..], b"https://", b"ftp://"].into_iter().any(begins)
}

/// The method of a request. One that is no plain word is called `OTHER`.
fn method_of(request: &ReadRecord) -> std::io::Result<String> {
    let start = request.block.start(MAX_METHOD_BYTES)?;
    let word = start.split(|byte| *byte == b' ').next().unwrap_or_default();
    let is_word = !word.is_empty() && word.len() < start.len() && word.iter().all(u8::is_ascii_alphabetic);
    Ok(if is_word { text(word).to_ascii_uppercase() } else { "OTHER".to_owned() })
}

/// Why a response is truncated.
fn truncation(header: &RecordHeader, is_cut: bool) -> Option<&'static str> {
    let stated = header.fields.get("WARC-Truncated").map(|reason| text(reason).to_ascii_lowercase());
    match stated {
        Some(stated) => {
            TRUNCATION_REASONS.into_iter().find(|reason| *reason == stated.trim()).or(Some("unspecified"))
        }
        None => is_cut.then_some("unspecified"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_of_pages() {
        assert!(is_web_url(b"HTTPS://e/") && is_web_url(b"ftp://e/"));
        assert!(!is_web_url(b"dns:e") && !is_web_url(b"metadata://gnu.org/") && !is_web_url(b"http:"));
    }
}
