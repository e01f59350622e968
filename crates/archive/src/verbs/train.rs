//! `train`: makes a dictionary from what an archive holds, for the silos to come.
//!
//! Pages of a site say much the same. A dictionary says it once, at the beginning of each silo that is packed by zstd, and every
//! record is smaller for it. It is what many records have in common, and behind that pages of the newest version, what they share only once: the
//! next capture of such a page packs to little more than what differs. Silos that exist stay as they are. The one that grows
//! is closed by the next who writes, because what stands behind a beginning must be packed by it; so a silo is always
//! read by itself alone.

use std::collections::HashSet;
use std::io::Read;
use varve_repository::RepositoryError;

use varve_core::RecordId;
use varve_core::history::{Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_store::purge::samples;
use varve_store::silo::SiloFiles;
use varve_warc::write::{DictionaryDraft, train_dictionary};

use crate::error::ArchiveError;
use varve_repository::archive::open_silo_files;
use varve_repository::history::{ArchiveHistoryWriter, HistoryReader, VersionPages, replace};
use varve_repository::settings::PackingMethod;

pub use varve_repository::settings::MAX_DICTIONARY_BYTES;
/// What records have in common gets so much of it: the size that zstd's own tools choose.
const IN_COMMON: usize = 112 << 10;
/// So many bytes of records are looked at.
const LOOKED_AT: u64 = 16 << 20;
/// So many pages of the newest version are looked at.
const MOST_PAGES: usize = 20_000;
/// So many bytes of them are looked at.
const MOST_BYTES: u64 = 512 << 20;
/// How often a page changed is known from so many captures.
const LAST_CAPTURES: usize = 16;

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trained {
    /// Records that were looked at.
    pub samples: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pages that are found in the dictionary.
    pub pages: u64,
    /// The size of the dictionary.
    pub size: u64,
    /// Its size in each silo, where it is packed.
    pub packed: u64,
}

/// Makes a dictionary of at most `size` bytes, and leaves it for the silos to come.
pub fn train(history: &ArchiveHistoryWriter, size: usize) -> Result<Trained, ArchiveError> {
    let writer = history.writer();
    if writer.settings().packing != PackingMethod::Zstd {
        return Err(ArchiveError::NotZstd);
    }
    let (made, stored) = make(history, &open_silo_files(writer.layout()), size, &|_| true)?;
    let path = writer.layout().dictionary();
    replace(&path, &mut stored.as_slice(), true).map_err(ArchiveError::write(&path))?;
    Ok(made)
}

/// Makes a dictionary of at most `size` bytes from those records that are `wanted`, and the pages whose bodies are; gives it as it
/// stands in a file.
pub(crate) fn make(
    holdings: &dyn HistoryReader,
    files: &SiloFiles,
    size: usize,
    wanted: &dyn Fn(RecordId) -> bool,
) -> Result<(Trained, Vec<u8>), ArchiveError> {
    let samples = samples(files, LOOKED_AT, wanted)?;
    let (count, bytes) = (samples.len() as u64, samples.iter().map(|one| one.len() as u64).sum());
    let no_dictionary = |source| ArchiveError::NoDictionary { samples: count, source };
    let trained = train_dictionary(&samples, size.min(IN_COMMON)).map_err(no_dictionary)?;
    let mut draft = DictionaryDraft::new(trained, size.min(MAX_DICTIONARY_BYTES));
    add_pages(holdings, &mut draft, wanted)?;
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

/// Adds pages of the version at HEAD while there is room. Those that change the most come first.
fn add_pages(
    holdings: &dyn HistoryReader,
    draft: &mut DictionaryDraft,
    wanted: &dyn Fn(RecordId) -> bool,
) -> Result<(), ArchiveError> {
    let (mut seen, mut left) = (HashSet::new(), MOST_BYTES);
    for page in ranked(holdings)? {
        let body = RecordId::new(page.body.into_inner());
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
        match holdings.open_body(&page) {
            Ok(mut body) => body.read_to_end(&mut bytes).map_err(unread)?,
            // Taken out by a rewrite.
            Err(RepositoryError::Absent { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        left -= length;
        draft.add(&bytes).map_err(unread)?;
    }
    Ok(())
}

/// Pages of the version at HEAD that could stand in a dictionary, those that change the most first, then small ones.
fn ranked(holdings: &dyn HistoryReader) -> Result<Vec<Capture>, ArchiveError> {
    let mut ranked: Vec<(usize, u64, Capture)> = Vec::new();
    for page in VersionPages::new(holdings.catalog(), holdings.head()?).take(MOST_PAGES) {
        let page = page?;
        if let Some(length) = page.length.filter(|length| (1..=MAX_DICTIONARY_BYTES as u64).contains(length))
        {
            ranked.push((changes(holdings, &page.url)?, length, page));
        }
    }
    ranked.sort_by(|one, other| (other.0, one.1, &one.2.url).cmp(&(one.0, other.1, &other.2.url)));
    Ok(ranked.into_iter().map(|(_, _, page)| page).collect())
}

/// How many different bodies a page had lately.
fn changes(holdings: &dyn HistoryReader, url: &str) -> Result<usize, ArchiveError> {
    let page = ListCursor::first(LAST_CAPTURES);
    let last =
        holdings.catalog().captures_of(url, &CaptureFilter::default(), TimeOrder::NewestFirst, page)?;
    Ok(last.iter().map(|capture| capture.body).collect::<HashSet<_>>().len())
}
