//! Page lists: the pages that the manifests of several versions share.
//!
//! A manifest of many pages would repeat data that hardly changes, and digests do not compress. So
//! the pages are written once, as a list, and manifests reference the list and state only the
//! deviations. A manifest references only the last list written before it, so a reader of the silos
//! from the beginning holds one list. A new list is written when the total deviations from the old
//! one reach the size of the list.
//!
//! Manifests of earlier builds may reference an older list, where a site had returned to an earlier
//! state. Older lists are therefore kept as well: some in memory, the others in an unnamed
//! temporary file.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};

use serde::de::Error as _;
use varve_catalog::{CatalogRow, LatestPageList};
use varve_core::RecordId;
use varve_core::fact::{FactError, ListedPage, Manifest, ManifestPage, PageList, media_type};

use super::ArchiveHistoryWriter;
use crate::error::RepositoryError;

/// Minimum number of pages for which a version uses a list.
const MIN_LISTED_PAGES: usize = 24;

/// Maximum total number of pages of older lists held in memory.
const MAX_PAGES_IN_MEMORY: usize = 1 << 16;

/// Finds a list by its record. `None` if the list is not stored here.
pub type FindPageList<'a> = Box<dyn Fn(RecordId) -> Option<PageList> + 'a>;

/// The page lists known while silos are read.
#[derive(Default)]
pub struct PageLists<'a> {
    /// The list that was read or referenced last.
    pub held: Option<(RecordId, PageList)>,
    /// Older lists held in memory.
    earlier: VecDeque<(RecordId, PageList)>,
    /// Older lists in the temporary file.
    laid_by: SpilledLists,
    /// The number of deviations from the held list so far.
    pub spent: u64,
    /// Finds lists that were not read, for a reader that does not start at the beginning.
    pub find: Option<FindPageList<'a>>,
}

impl<'a> PageLists<'a> {
    /// For a reader that resumes where `spent` deviations from the last list were counted. `find`
    /// finds that list.
    pub fn behind(spent: u64, find: FindPageList<'a>) -> Self {
        Self { spent, find: Some(find), ..Self::default() }
    }

    /// Adds the next list read from the silos.
    pub fn hear(&mut self, record: RecordId, list: PageList) -> CatalogRow {
        self.hold(record, list);
        self.spent = 0;
        CatalogRow::PageList(LatestPageList { record, deviations: 0 })
    }

    fn hold(&mut self, record: RecordId, list: PageList) {
        self.earlier.extend(self.held.replace((record, list)));
        let mut pages: usize = self.earlier.iter().map(|(_, list)| list.pages.len()).sum();
        while pages > MAX_PAGES_IN_MEMORY
            && let Some((record, list)) = self.earlier.front()
            // If the file cannot be written, the lists stay in memory.
            && self.laid_by.put(*record, list).is_ok()
        {
            pages -= list.pages.len();
            self.earlier.pop_front();
        }
    }

    /// All pages of a manifest.
    pub fn pages_of(&mut self, manifest: &Manifest) -> Result<Vec<ManifestPage>, FactError> {
        let Some(record) = manifest.list else { return Ok(manifest.pages.clone()) };
        if self.held.as_ref().is_none_or(|(held, _)| *held != record) {
            let list = self.look_for(record)?.ok_or_else(|| missing(record))?;
            if self.held.is_some() {
                // The writer of the manifest did the same: counting deviations from this list
                // starts again.
                self.spent = 0;
            }
            self.hold(record, list);
        }
        Ok(self.held.as_ref().map(|(_, list)| manifest.all_pages(list)).unwrap_or_default())
    }

    /// Finds a list other than the held one.
    fn look_for(&mut self, record: RecordId) -> Result<Option<PageList>, FactError> {
        if let Some(place) = self.earlier.iter().position(|(earlier, _)| *earlier == record) {
            return Ok(self.earlier.remove(place).map(|(_, list)| list));
        }
        match self.laid_by.get(record)? {
            None => Ok(self.find.as_ref().and_then(|find| find(record))),
            found => Ok(found),
        }
    }

    /// Counts the deviations of a manifest from its list.
    pub fn spend(&mut self, manifest: &Manifest) -> Option<CatalogRow> {
        let record = manifest.list?;
        self.spent += deviations_of(manifest);
        Some(CatalogRow::PageList(LatestPageList { record, deviations: self.spent }))
    }
}

/// Lists in an unnamed temporary file, which is deleted with this value.
#[derive(Default)]
struct SpilledLists {
    file: Option<File>,
    /// The offset and length of each list.
    places: HashMap<RecordId, (u64, u64)>,
}

impl SpilledLists {
    fn put(&mut self, record: RecordId, list: &PageList) -> io::Result<()> {
        if self.places.contains_key(&record) {
            return Ok(());
        }
        let json = serde_json::to_vec(list)?;
        let mut file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        let start = file.seek(SeekFrom::End(0))?;
        file.write_all(&json)?;
        self.places.insert(record, (start, json.len() as u64));
        Ok(())
    }

    fn get(&self, record: RecordId) -> Result<Option<PageList>, FactError> {
        let Some(((start, length), mut file)) = self.places.get(&record).copied().zip(self.file.as_ref())
        else {
            return Ok(None);
        };
        let sought = file.seek(SeekFrom::Start(start)).map_err(serde_json::Error::io);
        let list = sought.and_then(|_| serde_json::from_reader(BufReader::new(file.take(length))));
        list.map(Some).map_err(|source| FactError { media_type: media_type::PAGES.to_owned(), source })
    }
}

fn missing(record: RecordId) -> FactError {
    let message = format!("the list of pages that it names, {record}, does not stand before it");
    FactError { media_type: media_type::VERSION.to_owned(), source: serde_json::Error::custom(message) }
}

/// The number of deviations of a manifest from its list.
fn deviations_of(manifest: &Manifest) -> u64 {
    (manifest.pages.len() + manifest.without.len()) as u64
}

/// Returns the manifest in the form to be written, and the catalog row of its list. A manifest of
/// many pages references a list, which is written first if necessary. `manifest` holds all pages.
pub fn manifest_with_list(
    history: &ArchiveHistoryWriter,
    manifest: &Manifest,
) -> Result<(Manifest, Option<CatalogRow>), RepositoryError> {
    // A page with its own time, as one captured earlier has, is always stated in the manifest
    // itself.
    let shared = || manifest.pages.iter().filter(|page| page.time == manifest.time && page.record.is_none());
    if shared().count() < MIN_LISTED_PAGES {
        return Ok((manifest.clone(), None));
    }
    if let Some((last, list)) = history.latest_page_list()? {
        let short = manifest.against(&list, last.record);
        let spent = last.deviations + deviations_of(&short);
        if spent <= manifest.pages.len() as u64 {
            return Ok((short, Some(CatalogRow::PageList(LatestPageList { deviations: spent, ..last }))));
        }
    }
    let list = PageList { time: Some(manifest.time), pages: shared().map(ListedPage::from).collect() };
    let json = serde_json::to_vec(&list).expect("a list of pages can be written as JSON");
    // The list is about nothing but itself.
    let about = format!("urn:uuid:{}", Manifest::version_id(&json));
    let record = history.append_fact(&about, media_type::PAGES, &json)?;
    let short = manifest.against(&list, record);
    let row = CatalogRow::PageList(LatestPageList { record, deviations: deviations_of(&short) });
    Ok((short, Some(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::{BodyId, Moment};

    const PAGES: usize = MAX_PAGES_IN_MEMORY / 2;

    fn record(number: u8) -> RecordId {
        RecordId::new([number; 32])
    }

    /// A list whose pages have `number` as status, so that the test can recognize it.
    fn list(number: u8) -> PageList {
        let page = |page| ListedPage {
            url: format!("https://e.org/{page}"),
            path: format!("/{page}"),
            status: u16::from(number),
            headers: Default::default(),
            body: BodyId::new([0; 32]),
            length: 0,
        };
        PageList { time: None, pages: (0..PAGES).map(page).collect() }
    }

    fn naming(number: u8) -> Manifest {
        let json = serde_json::json!({ "parent": null, "message": "", "time": Moment::from_micros(0), "list": record(number) });
        serde_json::from_value(json).expect("a manifest")
    }

    #[test]
    fn a_list_is_known_however_many_came_behind_it() {
        let mut lists = PageLists::default();
        for number in 0..5 {
            lists.hear(record(number), list(number));
        }
        let held: usize = lists.earlier.iter().map(|(_, list)| list.pages.len()).sum();
        assert!(held <= MAX_PAGES_IN_MEMORY && !lists.laid_by.places.is_empty());
        for number in [0, 3, 0, 4] {
            let pages = lists.pages_of(&naming(number)).expect("known");
            assert_eq!((pages.len(), pages[PAGES - 1].status), (PAGES, u16::from(number)));
        }
        assert!(lists.pages_of(&naming(9)).is_err());
    }
}
