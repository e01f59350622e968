//! What these tests share: both layouts in folders, a clock that ticks, pages.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use varve_archive::history::{HistoryReader, HistoryWriter, StatePages, open_reader, open_writer};
use varve_archive::verbs::checkout::{self, CheckoutReport, FileOptions, FolderLayout};
use varve_archive::verbs::commit::{NewBody, NewPage, Report, Request, commit};
use varve_archive::verbs::init::init;
use varve_archive::{ArchiveError, Capture, Date, Headers, VersionId, WriterOptions};
use varve_core::history::PageState;

/// The layouts that history can be added to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Archive,
    Moku,
}

pub(crate) const KINDS: [Kind; 2] = [Kind::Archive, Kind::Moku];

/// Makes an empty layout of that kind.
pub(crate) fn make(kind: Kind, root: &Path) {
    match kind {
        Kind::Archive => {
            init(root, &varve_archive::ArchiveSettings::new("test"), opening()).expect("made");
        }
        Kind::Moku => std::fs::create_dir_all(root.join(".moku")).expect("made"),
    }
}

/// The clock of these tests: each look at it is a second later.
pub(crate) static SECONDS: AtomicI64 = AtomicI64::new(1_700_000_000);

/// A process that opens an archive, a second after the last one did.
pub(crate) fn opening() -> WriterOptions {
    let clock = || {
        let seconds = SECONDS.fetch_add(1, Ordering::SeqCst);
        Date::at_second(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.unsigned_abs()))
    };
    WriterOptions { holder: "a test".to_owned(), software: "varve test".to_owned(), clock: Arc::new(clock) }
}

pub(crate) fn history(root: &Path) -> HistoryWriter {
    open_writer(root, opening()).expect("opened for writing")
}

pub(crate) fn reader(root: &Path) -> HistoryReader {
    open_reader(root).expect("opened for reading")
}

pub(crate) fn page(url: &str, body: &str) -> NewPage {
    let mut headers = Headers::new();
    headers.push("Content-Type", "text/html");
    headers.push("Set-Cookie", "secret=1");
    NewPage { url: url.to_owned(), time: None, status: 200, headers, body: NewBody::Bytes(body.into()) }
}

pub(crate) fn commit_pages(history: &HistoryWriter, message: &str, pages: &[(&str, &str)]) -> Report {
    let pages: Vec<_> = pages.iter().map(|(url, body)| page(url, body)).collect();
    let covers = Some(String::new());
    let request = Request { message: message.to_owned(), threads: 2, covers, ..Request::default() };
    commit(history, &request, pages, &|_| {}).expect("committed")
}

pub(crate) fn body(reader: &HistoryReader, capture: &Capture) -> String {
    let mut text = String::new();
    reader.open_body(capture).expect("opened").read_to_string(&mut text).expect("read");
    text
}

/// URL and body of every page in the state of a version.
pub(crate) fn contents(reader: &HistoryReader, version: VersionId) -> Vec<(String, String)> {
    let pages = StatePages::new(reader.catalog(), Some(version)).map(|page| page.expect("read"));
    let shown = pages.filter_map(PageState::into_shown);
    shown.map(|page| (page.url.clone(), body(reader, &page))).collect()
}

/// Writes a version to a folder in the layout of Moku.
pub(crate) fn export(
    reader: &HistoryReader,
    version: VersionId,
    to: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, ArchiveError> {
    checkout::export(reader, version, to, FolderLayout::Moku, progress)
}

/// Writes a version to a folder as files.
pub(crate) fn export_files(
    reader: &HistoryReader,
    version: VersionId,
    to: &Path,
    options: FileOptions,
) -> CheckoutReport {
    checkout::export(reader, version, to, FolderLayout::Files(options), &mut |_| {}).expect("written")
}

/// Every row, as text.
pub(crate) fn rows(reader: &HistoryReader) -> Vec<String> {
    let mut rows = Vec::new();
    let mut each = |row: &str| {
        rows.push(row.to_owned());
        Ok(())
    };
    varve_catalog::dump_rows(reader.catalog(), &mut each).expect("read");
    rows
}

/// Number of records that a purge removed, by kind.
pub(crate) fn by_kind(receipt: &varve_archive::verbs::purge::Report) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for tombstone in &receipt.tombstones {
        *counts.entry(tombstone.kind.name()).or_default() += 1;
    }
    counts
}
