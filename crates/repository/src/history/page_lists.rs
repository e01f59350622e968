//! Page lists: the pages that the manifests of several versions share.
//!
//! A manifest of many pages would repeat data that hardly changes, and digests do not compress. So
//! the pages are written once, as a list, and manifests reference the list and state only the
//! deviations. A manifest references only the last list written before it, so a reader of the silos
//! from the beginning holds one list. A new list is written when the total deviations from the old
//! one reach the size of the list.

use serde::de::Error as _;
use varve_catalog::{CatalogRow, LatestPageList};
use varve_core::RecordId;
use varve_core::fact::{FactError, ListedPage, Manifest, ManifestPage, PageList, media_type};

use super::ArchiveHistoryWriter;
use crate::error::RepositoryError;

/// Minimum number of pages for which a version uses a list.
const MIN_LISTED_PAGES: usize = 24;

/// Finds a list by its record. `None` if the list is not stored here.
pub type FindPageList<'a> = Box<dyn Fn(RecordId) -> Option<PageList> + 'a>;

/// The page lists known while silos are read.
#[derive(Default)]
pub struct PageLists<'a> {
    /// The last list.
    held: Option<(RecordId, PageList)>,
    /// The number of deviations from it so far.
    spent: u64,
    /// Finds the last list before the first record read, for a reader that does not start at the
    /// beginning.
    find: Option<FindPageList<'a>>,
}

impl<'a> PageLists<'a> {
    /// For a reader that resumes where `spent` deviations from the last list were counted. `find`
    /// finds that list.
    pub fn behind(spent: u64, find: FindPageList<'a>) -> Self {
        Self { spent, find: Some(find), ..Self::default() }
    }

    /// Adds the next list read from the silos.
    pub fn hear(&mut self, record: RecordId, list: PageList) -> CatalogRow {
        self.held = Some((record, list));
        self.spent = 0;
        CatalogRow::PageList(LatestPageList { record, deviations: 0 })
    }

    /// All pages of a manifest.
    pub fn pages_of(&mut self, manifest: &Manifest) -> Result<Vec<ManifestPage>, FactError> {
        let Some(record) = manifest.list else { return Ok(manifest.pages.clone()) };
        if self.held.is_none() {
            self.held = self.find.as_ref().and_then(|find| find(record)).map(|list| (record, list));
        }
        match &self.held {
            Some((held, list)) if *held == record => Ok(manifest.all_pages(list)),
            _ => Err(missing(record)),
        }
    }

    /// Counts the deviations of a manifest from its list.
    pub fn spend(&mut self, manifest: &Manifest) -> Option<CatalogRow> {
        let record = manifest.list?;
        self.spent += deviations_of(manifest);
        Some(CatalogRow::PageList(LatestPageList { record, deviations: self.spent }))
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
    let list = PageList { time: manifest.time, pages: shared().map(ListedPage::from).collect() };
    let json = serde_json::to_vec(&list).expect("a list of pages can be written as JSON");
    // The list is about nothing but itself.
    let about = format!("urn:uuid:{}", Manifest::version_id(&json));
    let (record, is_last) = history.append_fact(&about, media_type::PAGES, &json)?;
    if !is_last {
        // By the clock, a version of the same pages was committed at the same moment.
        return Ok((manifest.clone(), None));
    }
    let short = manifest.against(&list, record);
    let row = CatalogRow::PageList(LatestPageList { record, deviations: deviations_of(&short) });
    Ok((short, Some(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::Moment;

    fn record(number: u8) -> RecordId {
        RecordId::new([number; 32])
    }

    fn list() -> PageList {
        PageList { time: Moment::from_micros(0), pages: Vec::new() }
    }

    fn naming(number: u8) -> Manifest {
        let json = serde_json::json!({ "parent": null, "message": "", "time": Moment::from_micros(0), "list": record(number) });
        serde_json::from_value(json).expect("a manifest")
    }

    #[test]
    fn a_manifest_names_the_last_list_before_it() {
        let mut lists = PageLists::default();
        assert!(lists.pages_of(&naming(1)).is_err());
        lists.hear(record(1), list());
        assert!(lists.pages_of(&naming(1)).is_ok());
        lists.hear(record(2), list());
        assert!(lists.pages_of(&naming(2)).is_ok());
        assert!(lists.pages_of(&naming(1)).is_err());
    }

    #[test]
    fn a_reader_that_starts_later_finds_the_list_from_before() {
        let mut lists = PageLists::behind(3, Box::new(|found| (found == record(1)).then(list)));
        assert!(lists.pages_of(&naming(2)).is_err());
        assert!(lists.pages_of(&naming(1)).is_ok());
    }
}
