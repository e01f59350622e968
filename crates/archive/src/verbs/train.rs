//! `train`: makes a dictionary from the content of an archive, for future silos.
//!
//! Pages of a site have much in common. A dictionary at the beginning of each zstd silo holds that
//! common text once, so every record is smaller. It consists of the text that many records share,
//! followed by pages of the newest version. The next capture of such a page then packs to little
//! more than its differences.
//!
//! Existing silos stay as they are. The next writer closes the growing silo, because records must
//! be packed with the dictionary at the beginning of their silo. Every silo can therefore be read
//! on its own.

use std::collections::HashSet;
use std::io::Read;
use varve_repository::RepositoryError;

use varve_core::RecordId;
use varve_core::history::{Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_store::dictionary_samples::samples;
use varve_store::silo::SiloFiles;
use varve_warc::write::{DictionaryDraft, train_dictionary};

use crate::error::ArchiveError;
use varve_repository::atomic_replace::replace;
use varve_repository::history::{ArchiveHistoryWriter, HistoryReader, StatePages};
use varve_repository::settings::PackingMethod;

pub use varve_repository::settings::MAX_DICTIONARY_BYTES;
/// Maximum size of the trained part of the dictionary, in bytes: the default of zstd's own tools.
const IN_COMMON: usize = 112 << 10;
/// Maximum number of bytes of records to sample.
const LOOKED_AT: u64 = 16 << 20;
/// Maximum number of pages of the newest version to consider.
const MAX_SAMPLED_PAGES: usize = 20_000;
/// Maximum number of bytes of those pages to read.
const MAX_SAMPLED_BYTES: u64 = 512 << 20;
/// Number of recent captures from which the change frequency of a page is derived.
const LAST_CAPTURES: usize = 16;

/// The result of a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Trained {
    /// Number of sampled records.
    pub samples: u64,
    /// Their total length in bytes.
    pub bytes: u64,
    /// Number of pages in the dictionary.
    pub pages: u64,
    /// Size of the dictionary in bytes.
    pub size: u64,
    /// Its compressed size in each silo, in bytes.
    pub packed: u64,
}

/// Makes a dictionary of at most `size` bytes and stores it for future silos.
pub fn train(history: &ArchiveHistoryWriter, size: usize) -> Result<Trained, ArchiveError> {
    let writer = history.writer();
    if writer.settings().packing != PackingMethod::Zstd {
        return Err(ArchiveError::NotZstd);
    }
    let (made, stored) = make(history, &writer.backends().silos(), size, &|_| true)?;
    let path = writer.layout().dictionary();
    replace(writer.layout().files(), &path, &mut stored.as_slice(), true)
        .map_err(ArchiveError::write(&path))?;
    Ok(made)
}

/// Makes a dictionary of at most `size` bytes from the `wanted` records, and from pages whose
/// bodies are `wanted`. Returns it in its file format.
pub(crate) fn make(
    history: &HistoryReader,
    files: &SiloFiles,
    size: usize,
    wanted: &dyn Fn(RecordId) -> bool,
) -> Result<(Trained, Vec<u8>), ArchiveError> {
    let samples = samples(files, LOOKED_AT, wanted)?;
    let (count, bytes) = (samples.len() as u64, samples.iter().map(|one| one.len() as u64).sum());
    let no_dictionary = |source| ArchiveError::NoDictionary { samples: count, source };
    let trained = train_dictionary(&samples, size.min(IN_COMMON)).map_err(no_dictionary)?;
    let mut draft = DictionaryDraft::new(trained, size.min(MAX_DICTIONARY_BYTES));
    add_pages(history, &mut draft, wanted)?;
    let made = draft.finish().map_err(no_dictionary)?;
    let trained = Trained {
        samples: count,
        bytes,
        pages: made.pages as u64,
        size: made.size as u64,
        packed: made.stored.len() as u64,
    };
    Ok((trained, made.stored))
}

/// Adds pages of the version at HEAD until the dictionary is full, the most frequently changed
/// first.
fn add_pages(
    history: &HistoryReader,
    draft: &mut DictionaryDraft,
    wanted: &dyn Fn(RecordId) -> bool,
) -> Result<(), ArchiveError> {
    let (mut seen, mut left) = (HashSet::new(), MAX_SAMPLED_BYTES);
    for page in ranked(history)? {
        let body = RecordId::of_body(page.body);
        if !wanted(body) || !page.record.is_none_or(wanted) {
            continue;
        }
        let length = page.length.unwrap_or(0);
        if draft.is_full() || length > left {
            break;
        }
        if !seen.insert(page.body) {
            continue;
        }
        let unread = |source| RepositoryError::ReadObject { id: page.body.to_string(), source };
        let mut bytes = Vec::new();
        match history.open_body(&page) {
            Ok(mut body) => body.read_to_end(&mut bytes).map_err(unread)?,
            // Removed by a purge.
            Err(RepositoryError::Absent { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        left -= length;
        draft.add(&bytes).map_err(unread)?;
    }
    Ok(())
}

/// Pages in the state of HEAD that fit in a dictionary, the most frequently changed first, then
/// the smaller first.
fn ranked(history: &HistoryReader) -> Result<Vec<Capture>, ArchiveError> {
    let mut ranked: Vec<(usize, u64, Capture)> = Vec::new();
    for page in StatePages::new(history.catalog(), history.head()?).take(MAX_SAMPLED_PAGES) {
        let Some(page) = page?.into_shown() else { continue };
        if let Some(length) = page.length.filter(|length| (1..=MAX_DICTIONARY_BYTES as u64).contains(length))
        {
            ranked.push((changes(history, &page.url)?, length, page));
        }
    }
    ranked.sort_by(|one, other| (other.0, one.1, &one.2.url).cmp(&(one.0, other.1, &other.2.url)));
    Ok(ranked.into_iter().map(|(_, _, page)| page).collect())
}

/// Number of different bodies in the recent captures of a page.
fn changes(history: &HistoryReader, url: &str) -> Result<usize, ArchiveError> {
    let page = ListCursor::first(LAST_CAPTURES);
    let last = history.catalog().captures_of(url, &CaptureFilter::default(), TimeOrder::NewestFirst, page)?;
    Ok(last.iter().map(|capture| capture.body).collect::<HashSet<_>>().len())
}
