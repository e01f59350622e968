//! `export --format wacz`: captures as one file with their records, an index and a list of pages.
//!
//! The records are first written to a temporary file, because the index needs their places and the
//! package their digest; memory does not grow with them. Pages are HTML documents with a successful
//! response. Those that the user or the plan names are in `pages.jsonl`, others in
//! `extraPages.jsonl`; without such names all are in the first.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use varve_cdx::{CdxEntry, IndexingOptions, LineSorter, ZipNumStyle, ZipNumWriter, index_file};
use varve_core::history::Capture;
use varve_core::url::page_identity;
use varve_file::TemporaryFolder;
use varve_page::kind::BodyKind;
use varve_repository::history::HistoryReader;
use varve_repository::search::page_text;
use varve_search::PassageKind;
use varve_wacz::write::{PackageDescription, PackageWriter};
use varve_wacz::{PageEntry, PageListHeader};
use varve_warc::write::{Packer, Packing};

use super::output::ExportTarget;
use super::selection::{ExportPages, each_capture};
use super::warc::{CapturesExported, WarcExporter, WarcRequest};
use crate::error::ArchiveError;
use crate::verbs::plan;

/// The files of a package.
const RECORDS_NAME: &str = "data.warc.gz";
const RECORDS_FILE: &str = "archive/data.warc.gz";
const BLOCKS_NAME: &str = "index.cdx.gz";
const BLOCKS_FILE: &str = "indexes/index.cdx.gz";
const SUMMARY_FILE: &str = "indexes/index.idx";
const PAGES_FILE: &str = "pages/pages.jsonl";
const EXTRA_PAGES_FILE: &str = "pages/extraPages.jsonl";
/// Lines of a block of the index: a viewer loads one block for each request.
const LINES_PER_BLOCK: usize = 300;
/// The text of longer pages is not in the list.
const MAX_PAGE_BYTES: u64 = 8 << 20;
/// Text of a page in the list, at most.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// A package to write.
pub struct WaczRequest<'a> {
    /// Its records.
    pub records: WarcRequest<'a>,
    /// Its title.
    pub title: Option<String>,
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaczExported {
    /// The records.
    pub records: CapturesExported,
    /// Pages in `pages.jsonl`.
    pub pages: u64,
    /// Pages in `extraPages.jsonl`.
    pub extra_pages: u64,
    /// Lines of the index.
    pub lines: u64,
    /// The size of the package in bytes.
    pub bytes: u64,
}

/// Writes captures into a WACZ file. `progress` is called for each capture.
pub fn export(
    history: &HistoryReader,
    request: &WaczRequest<'_>,
    target: ExportTarget<'_>,
    progress: &dyn Fn(u64),
) -> Result<WaczExported, ArchiveError> {
    let path = target.path();
    let failed = |source| ArchiveError::write(&path)(source);
    let temporary = target.temporary_folder();
    let main_urls = main_urls(history, &request.records.selection.pages)?;
    target.write(|output| {
        let file = || temporary_file(temporary.as_ref()).map_err(failed);
        let (mut records, mut blocks, mut summary) = (file()?, file()?, file()?);
        let mut pages = PageLists::new(main_urls, [file()?, file()?]);
        let mut exported = WaczExported {
            records: write_records(history, request, (&records, temporary.clone()), &mut pages, progress)?,
            ..WaczExported::default()
        };
        exported.records.path.clone_from(&path);
        let sorter = LineSorter::new(temporary.clone());
        exported.lines = write_index(&records, sorter, (&blocks, &summary)).map_err(failed)?;
        let (lists, main_page) = pages.finish().map_err(failed)?;
        let mut package = PackageWriter::new(output);
        let mut add = |name: &str, file: &mut File| package.add(name, file).map_err(failed);
        add(RECORDS_FILE, &mut records)?;
        add(BLOCKS_FILE, &mut blocks)?;
        add(SUMMARY_FILE, &mut summary)?;
        for ((name, (mut file, count)), total) in [PAGES_FILE, EXTRA_PAGES_FILE]
            .into_iter()
            .zip(lists)
            .zip([&mut exported.pages, &mut exported.extra_pages])
        {
            *total = count;
            if count > 0 || name == PAGES_FILE {
                add(name, &mut file)?;
            }
        }
        let about = PackageDescription {
            title: request.title.clone(),
            created: (request.records.clock)().instant.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            software: request.records.software.to_owned(),
            main_page,
        };
        exported.bytes = package.finish(&about).map_err(failed)?;
        Ok(exported)
    })
}

fn temporary_file(folder: Option<&TemporaryFolder>) -> io::Result<File> {
    match folder {
        Some(folder) => folder.unnamed_file(),
        None => tempfile::tempfile(),
    }
}

/// The identities of the pages that the user or the plan names.
fn main_urls(history: &HistoryReader, pages: &ExportPages) -> Result<HashSet<String>, ArchiveError> {
    let identity = |url: &str| page_identity(url).unwrap_or_else(|| url.to_owned());
    if let ExportPages::Urls(urls) | ExportPages::Documents(urls) = pages {
        return Ok(urls.iter().map(|url| identity(url)).collect());
    }
    let HistoryReader::Archive(archive) = history else { return Ok(HashSet::new()) };
    let plan = plan::load(archive.archive().layout())?.plan;
    Ok(plan.roots.iter().map(|root| identity(&root.url)).collect())
}

fn write_records(
    history: &HistoryReader,
    request: &WaczRequest<'_>,
    (file, temporary): (&File, Option<TemporaryFolder>),
    pages: &mut PageLists,
    progress: &dyn Fn(u64),
) -> Result<CapturesExported, ArchiveError> {
    let path = std::path::Path::new(RECORDS_NAME);
    let packing = Packing::Gzip;
    let packer = Packer::new(packing.clone(), temporary).map_err(ArchiveError::write(path))?;
    let mut output = BufWriter::new(file);
    let mut exporter = WarcExporter::new(history, &request.records, (path, &packing), packer, &mut output)?;
    each_capture(history, &request.records.selection, &mut |capture| {
        if exporter.capture(&capture)? {
            pages.add(history, &capture).map_err(ArchiveError::write(path))?;
        }
        progress(1);
        Ok(())
    })?;
    let exported = exporter.finish();
    output.flush().map_err(ArchiveError::write(path))?;
    Ok(exported)
}

/// Indexes the records. Returns the number of lines.
fn write_index(records: &File, mut sorter: LineSorter, (blocks, summary): (&File, &File)) -> io::Result<u64> {
    let options = IndexingOptions { filename: RECORDS_NAME.to_owned(), record_digests: true };
    let mut push = |entry: CdxEntry| sorter.push(|line| entry.write_cdxj(line));
    index_file(records, &options, &|_| {}, &mut push).map_err(io::Error::other)?;
    let mut sorted = sorter.finish()?;
    let (blocks, summary) = (BufWriter::new(blocks), BufWriter::new(summary));
    let mut writer = ZipNumWriter::new(blocks, summary, ZipNumStyle::Wacz, BLOCKS_NAME)
        .with_lines_per_block(LINES_PER_BLOCK);
    let mut line = Vec::new();
    while sorted.next_line(&mut line)? {
        writer.line(&line)?;
    }
    let (mut blocks, mut summary, written) = writer.finish()?;
    blocks.flush()?;
    summary.flush()?;
    Ok(written.lines)
}

/// The two lists of pages.
struct PageLists {
    main_urls: HashSet<String>,
    main: PageListWriter,
    extra: PageListWriter,
    /// The first page of the first list, and when it was captured.
    main_page: Option<(String, String)>,
}

struct PageListWriter {
    output: BufWriter<File>,
    count: u64,
}

impl PageLists {
    fn new(main_urls: HashSet<String>, [main, extra]: [File; 2]) -> Self {
        let writer = |file| PageListWriter { output: BufWriter::new(file), count: 0 };
        Self { main_urls, main: writer(main), extra: writer(extra), main_page: None }
    }

    /// Adds a capture if it is a page. A body that cannot be read has no text: the capture itself was
    /// read and verified.
    fn add(&mut self, history: &HistoryReader, capture: &Capture) -> io::Result<()> {
        let stated = capture.headers.get("content-type").and_then(|values| values.first());
        let is_html = stated.is_some_and(|kind| BodyKind::of(b"", Some(kind)) == BodyKind::Html);
        if !is_html || !(200..300).contains(&capture.status) {
            return Ok(());
        }
        let mut body = Vec::new();
        let is_read = history.read_body(capture, MAX_PAGE_BYTES, &mut body).unwrap_or(false);
        let text = page_text(if is_read { &body } else { b"" }, stated.map(String::as_str));
        let (mut title, mut words) = (None, String::new());
        for passage in text.into_iter().flat_map(|text| text.passages) {
            match passage.kind {
                PassageKind::Title if title.is_none() => title = Some(passage.text),
                _ if words.len() < MAX_TEXT_BYTES => {
                    words.push_str(&passage.text);
                    words.push('\n');
                }
                _ => {}
            }
        }
        let timestamp = capture.time.utc().format("%Y-%m-%dT%H:%M:%SZ").to_string();
        let identity = page_identity(&capture.url).unwrap_or_else(|| capture.url.clone());
        let is_main = self.main_urls.is_empty() || self.main_urls.contains(&identity);
        if is_main && self.main_page.is_none() {
            self.main_page = Some((capture.url.clone(), timestamp.clone()));
        }
        let page = PageEntry {
            url: capture.url.clone(),
            timestamp: Some(timestamp),
            title,
            id: Some(capture.id.to_string()),
            text: Some(words.trim_end().to_owned()),
            is_seed: is_main.then_some(true),
        };
        let list = if is_main { &mut self.main } else { &mut self.extra };
        list.add(&page, is_main)
    }

    /// Each list with the number of its pages, and the main page.
    #[expect(clippy::type_complexity, reason = "two files with their counts, used once")]
    fn finish(self) -> io::Result<([(File, u64); 2], Option<(String, String)>)> {
        let finish = |mut list: PageListWriter, is_main| {
            if list.count == 0 {
                list.begin(is_main)?;
            }
            let mut file = list.output.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.rewind()?;
            Ok::<_, io::Error>((file, list.count))
        };
        Ok(([finish(self.main, true)?, finish(self.extra, false)?], self.main_page))
    }
}

impl PageListWriter {
    fn begin(&mut self, is_main: bool) -> io::Result<()> {
        let (id, title) = if is_main { ("pages", "Pages") } else { ("extra-pages", "Other pages") };
        let header =
            PageListHeader { id: Some(id.to_owned()), title: Some(title.to_owned()), has_text: true };
        writeln!(self.output, "{}", header.to_line())
    }

    fn add(&mut self, page: &PageEntry, is_main: bool) -> io::Result<()> {
        if self.count == 0 {
            self.begin(is_main)?;
        }
        self.count += 1;
        writeln!(self.output, "{}", page.to_line())
    }
}
