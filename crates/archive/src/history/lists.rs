//! Lists of pages: what the manifests of several versions have in common.
//!
//! A manifest of many pages would say each time what hardly changes, and digests do not pack. So the pages are written
//! down once, as a list, and manifests name it and say what differs. A manifest only ever names the list that was
//! written last before it: whoever reads the silos from their beginning needs to hold no other. A list is written anew
//! when all that was said against the old one, taken together, is as much as the list itself.
//!
//! Manifests of earlier builds may name one from further back, where a site had become what it was before. So some of those are held
//! as well, and others are looked for in the silos.

use std::collections::VecDeque;

use serde::de::Error as _;
use varve_catalog::{LastList, Row};
use varve_core::RecordId;
use varve_core::fact::{Fact, FactError, ListedPage, Manifest, Page, PageList, media_type};
use varve_store::exchange::{Scanned, scan};
use varve_store::silo::SiloFiles;

use super::HistoryWriter;
use crate::error::ArchiveError;

/// A version of fewer pages lists them itself.
const FEWEST: usize = 24;

/// Lists from further back are held while they have no more pages than this, together.
const MOST_HELD: usize = 1 << 16;

/// Finds a list by its record; none when it is not here.
pub(crate) type FindList<'a> = Box<dyn Fn(RecordId) -> Option<PageList> + 'a>;

/// What is known of lists while silos are read.
#[derive(Default)]
pub(crate) struct Lists<'a> {
    /// The one that was heard or named last.
    pub(crate) held: Option<(RecordId, PageList)>,
    /// Some of those before it.
    earlier: VecDeque<(RecordId, PageList)>,
    /// How much was said against it.
    pub(crate) spent: u64,
    /// Where others are found, for who does not read from the beginning.
    pub(crate) find: Option<FindList<'a>>,
}

impl<'a> Lists<'a> {
    /// For who reads these silos from their beginning.
    pub(crate) fn from_beginning(files: SiloFiles) -> Self {
        let find = move |record| find_in_silos(&files, record);
        Self { find: Some(Box::new(find)), ..Self::default() }
    }

    /// For who reads on from where so much was said against the last list, which `find` finds.
    pub(crate) fn behind(spent: u64, find: FindList<'a>) -> Self {
        Self { spent, find: Some(find), ..Self::default() }
    }

    /// Takes in a list that comes next.
    pub(crate) fn hear(&mut self, record: RecordId, list: PageList) -> Row {
        self.hold(record, list);
        self.spent = 0;
        Row::List(LastList { record, spent: 0 })
    }

    fn hold(&mut self, record: RecordId, list: PageList) {
        self.earlier.extend(self.held.replace((record, list)));
        let mut pages: usize = self.earlier.iter().map(|(_, list)| list.pages.len()).sum();
        while pages > MOST_HELD
            && let Some((_, list)) = self.earlier.pop_front()
        {
            pages -= list.pages.len();
        }
    }

    /// All pages of a manifest.
    pub(crate) fn pages_of(&mut self, manifest: &Manifest) -> Result<Vec<Page>, FactError> {
        let Some(record) = manifest.list else { return Ok(manifest.pages.clone()) };
        if self.held.as_ref().is_none_or(|(held, _)| *held != record) {
            let list = self.look_for(record).ok_or_else(|| missing(record))?;
            if self.held.is_some() {
                // As it was when the manifest was written: what is said against this list begins anew.
                self.spent = 0;
            }
            self.hold(record, list);
        }
        Ok(self.held.as_ref().map(|(_, list)| manifest.all_pages(list)).unwrap_or_default())
    }

    /// A list that is not the last one.
    fn look_for(&mut self, record: RecordId) -> Option<PageList> {
        match self.earlier.iter().position(|(earlier, _)| *earlier == record) {
            Some(place) => self.earlier.remove(place).map(|(_, list)| list),
            None => self.find.as_ref().and_then(|find| find(record)),
        }
    }

    /// Counts what a manifest says against its list.
    pub(crate) fn spend(&mut self, manifest: &Manifest) -> Option<Row> {
        let record = manifest.list?;
        self.spent += said(manifest);
        Some(Row::List(LastList { record, spent: self.spent }))
    }
}

/// Reads silos again for a list in them. What cannot be read there is named by whoever reads them for its own sake.
fn find_in_silos(files: &SiloFiles, wanted: RecordId) -> Option<PageList> {
    let mut found = None;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let read = scan(files, threads, &|_| {}, &mut |scanned| {
        if let Scanned::Fact { record, media_type, json, .. } = scanned
            && record == wanted
            && let Some(Ok(Fact::Pages(list))) = Fact::parse(&media_type, &json)
        {
            found = Some(list);
        }
        Ok(())
    });
    found.filter(|_| read.is_ok())
}

fn missing(record: RecordId) -> FactError {
    let message = format!("the list of pages that it names, {record}, does not stand before it");
    FactError { media_type: media_type::VERSION.to_owned(), source: serde_json::Error::custom(message) }
}

/// How much a manifest says against its list.
fn said(manifest: &Manifest) -> u64 {
    (manifest.pages.len() + manifest.without.len()) as u64
}

/// The manifest as it is written down, and the row that goes with it: where there are many pages, it names a list, which
/// is written first if need be. `manifest` has all pages.
pub(crate) fn shortened(
    history: &dyn HistoryWriter,
    manifest: &Manifest,
) -> Result<(Manifest, Option<Row>), ArchiveError> {
    // A page with a time of its own, as those have that were captured before, is told by the manifest in any case.
    let shared = || manifest.pages.iter().filter(|page| page.time == manifest.time && page.record.is_none());
    if shared().count() < FEWEST {
        return Ok((manifest.clone(), None));
    }
    if let Some((last, list)) = history.last_list()? {
        let short = manifest.against(&list, last.record);
        let spent = last.spent + said(&short);
        if spent <= manifest.pages.len() as u64 {
            return Ok((short, Some(Row::List(LastList { spent, ..last }))));
        }
    }
    let list = PageList { time: Some(manifest.time), pages: shared().map(ListedPage::from).collect() };
    let json = serde_json::to_vec(&list).expect("a list of pages can be written as JSON");
    // It is about nothing but itself.
    let about = format!("urn:uuid:{}", Manifest::version_id(&json));
    let Some(record) = history.write_fact(&about, media_type::PAGES, &json)? else {
        return Ok((manifest.clone(), None));
    };
    let short = manifest.against(&list, record);
    let row = Row::List(LastList { record, spent: said(&short) });
    Ok((short, Some(row)))
}
